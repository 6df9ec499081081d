// How long one waits: for the first compilation of a program, for the same from the cache, for the whole
// command, and for the fusion of long programs.
#include "base/error.h"
#include "base/files.h"
#include "bench/arrays.h"
#include "bench/case.h"
#include "driver/compile.h"
#include "program/text.h"
#include "run/npy.h"
#include "run/process.h"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>

namespace twill::bench {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double first_limit_ms = 1500, cached_limit_ms = 20;
constexpr double fusion_limit_ms = 0.5;  // per stage
constexpr int fusion_samples = 5;
constexpr int first_samples = 5, cached_samples = 50, spawned_samples = 50;

/// Corners in a colour picture: ten stages, stencils and formulas.
constexpr const char* ten_stages = R"(def corners(img: f32[3, H, W]) -> strength {
  grey[y, x] = 0.299 * img[0, y, x] + 0.587 * img[1, y, x] + 0.114 * img[2, y, x]
  d = [-1.0, 0.0, 1.0]
  s = [0.25, 0.5, 0.25]
  gx[y, x]  = sum(j < 3, k < 3) s[j] * (d[k] * grey[clamp(y + j - 1), clamp(x + k - 1)])
  gy[y, x]  = sum(j < 3, k < 3) d[j] * (s[k] * grey[clamp(y + j - 1), clamp(x + k - 1)])
  gxx[y, x] = gx[y, x] * gx[y, x]
  gxy[y, x] = gx[y, x] * gy[y, x]
  gyy[y, x] = gy[y, x] * gy[y, x]
  sxx[y, x] = sum(j < 3, k < 3) gxx[clamp(y + j - 1), clamp(x + k - 1)]
  sxy[y, x] = sum(j < 3, k < 3) gxy[clamp(y + j - 1), clamp(x + k - 1)]
  syy[y, x] = sum(j < 3, k < 3) gyy[clamp(y + j - 1), clamp(x + k - 1)]
  strength[y, x] = sxx[y, x] * syy[y, x] - sxy[y, x] * sxy[y, x] - 0.04 * (sxx[y, x] + syy[y, x]) * (sxx[y, x] + syy[y, x])
}
)";

const std::vector<std::int64_t> picture_shape = {3, 64, 64};

double since_ms(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Row new_row(const Session& session, std::string name) {
  Row row;
  row.name = std::move(name);
  row.size = "10 stages";
  row.threads = session.threads();
  row.tolerance = likely_error(Scalar::F32, 100);
  row.reference = "interpreter";
  return row;
}

void judge(Row& row, const std::vector<Data>& results, const std::vector<Data>& inputs) {
  row.max_error = worst_error(results, interpret(parse_program("corners", ten_stages), inputs).results);
  row.verified = row.max_error <= row.tolerance;
}

std::vector<Data> picture() {
  std::vector<Data> inputs;
  inputs.push_back(uniform(picture_shape, 1));
  return inputs;
}

/// From text to a loaded kernel, with this directory as the cache.
Kernel from_text(const Session& session, const fs::path& cache) {
  Options options;
  options.keep_plans = true;
  options.compiler = session.options().compiler;
  options.compiler.cache = cache;
  return *compile(program_from("corners", ten_stages), session.machine(), options).kernel;
}

Row first_compile(Session& session) {
  Row row = new_row(session, "first compile");
  row.limit_ms = first_limit_ms;
  std::vector<double> samples;
  for (int i = 0; i < (session.options().small ? 1 : first_samples); ++i) {
    const WorkDirectory cache(temporary_directory());
    const auto start = Clock::now();
    const Kernel kernel = from_text(session, cache.path());
    samples.push_back(since_ms(start));
    const std::vector<Data> inputs = picture();
    judge(row, kernel.run(inputs).results, inputs);
  }
  row.ours = summarize(samples);
  row.compile_ms = row.ours->best;
  return row;
}

Row cached_compile(Session& session) {
  Row row = new_row(session, "cached compile");
  row.limit_ms = cached_limit_ms;
  const WorkDirectory cache(temporary_directory());
  const auto first = Clock::now();
  const std::vector<Data> inputs = picture();
  judge(row, from_text(session, cache.path()).run(inputs).results, inputs);
  row.compile_ms = since_ms(first);
  std::vector<double> samples;
  for (int i = 0; i < cached_samples; ++i) {
    const auto start = Clock::now();
    const Kernel kernel = from_text(session, cache.path());
    samples.push_back(since_ms(start));
    ensure(kernel.library().cached, "a program that was compiled is compiled again");
  }
  row.ours = summarize(samples);
  return row;
}

/// `twill run` as somebody would type it, with everything in the cache.
Row cached_run(Session& session) {
  Row row = new_row(session, "cached twill run");
  row.limit_ms = cached_limit_ms;
  const fs::path twill =
      session.options().twill.empty() ? fs::read_symlink("/proc/self/exe") : session.options().twill;
  const WorkDirectory work(temporary_directory());
  const fs::path text = work.path() / "corners.twill", in = work.path() / "img.npy",
                 out = work.path() / "strength.npy";
  const std::vector<Data> inputs = picture();
  write_file(text, ten_stages);
  save_npy(in, inputs[0]);
  const std::vector<std::string> command = {twill.string(),
                                            "run",
                                            text.string(),
                                            "--in",
                                            "img=" + in.string(),
                                            "--out",
                                            "strength=" + out.string()};
  const auto once = [&] {
    const auto start = Clock::now();
    const ExitReport report = run_program(command, {{"TWILL_CACHE", (work.path() / "cache").string()}});
    const double ms = since_ms(start);
    if (report.status != 0)
      fail(Fault::System, "E0732", {},
           "`" + twill.string() + " run` failed with status " + std::to_string(report.status), report.output);
    return ms;
  };
  row.compile_ms = once();
  std::vector<double> samples;
  for (int i = 0; i < (session.options().small ? 2 : spawned_samples); ++i) samples.push_back(once());
  row.ours = summarize(samples);
  std::vector<Data> results;
  results.push_back(load_npy(out));
  judge(row, results, inputs);
  return row;
}

/// Maps one after the other.
std::string chain_text(int stages) {
  std::string text = "def chain(x: f32[N]) -> y {\n  s1[i] = x[i] + 1\n";
  for (int k = 2; k < stages; ++k) text += fmt::format("  s{}[i] = 0.5 * s{}[i] + {}\n", k, k - 1, k % 7);
  return text + fmt::format("  y[i] = 0.5 * s{}[i]\n}}\n", stages - 1);
}

/// A straight pipeline becomes one pass: from the program to a legal plan.
Row fuse_chain(Session& session, int stages) {
  Row row = new_row(session, "fuse a chain");
  row.size = fmt::format("{} stages", stages);
  row.limit_ms = fusion_limit_ms * stages;
  row.tolerance = 0;
  const std::shared_ptr<const Program> program = program_from("chain", chain_text(stages));
  Options options;
  options.stop_after = "elaborate";
  std::vector<double> samples;
  std::optional<Compilation> fused;
  for (int i = 0; i < (session.options().small ? 1 : fusion_samples); ++i) {
    fused.reset();
    const auto start = Clock::now();
    fused.emplace(compile(program, session.machine(), options));
    samples.push_back(since_ms(start));
  }
  row.ours = summarize(samples);
  row.notes.push_back(fmt::format("{:.1f} us per stage", 1000 * row.ours->best / stages));
  std::vector<Data> inputs;
  inputs.push_back(uniform({7}, 1));
  row.max_error =
      worst_error(interpret(*fused->program, inputs).results, interpret(*program, inputs).results);
  row.verified = row.max_error == 0 && fused->program->stages.size() == 1;
  return row;
}

}  // namespace

std::vector<Entry> compile_entries() {
  return {
      {"fuse a chain", [](Session& s) { return fuse_chain(s, 100); }},
      {"fuse a chain", [](Session& s) { return fuse_chain(s, 1'000); }},
      {"fuse a chain", [](Session& s) { return fuse_chain(s, 10'000); }},
      {"first compile", first_compile},
      {"cached compile", cached_compile},
      {"cached twill run", cached_run},
  };
}

}  // namespace twill::bench

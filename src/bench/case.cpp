// One benchmark: compiles ours, prepares the peers, and checks every result.
#include "bench/case.h"

#include "base/error.h"
#include "bench/arrays.h"
#include "bench/floor.h"
#include "bench/texts.h"
#include "driver/compile.h"
#include "driver/fusion_report.h"
#include "plan/traffic.h"
#include "program/text.h"

#include <fmt/format.h>
#include <omp.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <list>
#include <map>
#include <optional>

namespace twill::bench {

namespace {

/// Arrays of the same types and shapes.
std::vector<Data> like(const std::vector<Data>& arrays) {
  std::vector<Data> result;
  for (const Data& a : arrays) result.emplace_back(a.type(), a.shape());
  return result;
}

/// The number of threads of OpenMP's loops, ours among them, while this lives.
class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) {
    if (count > 0) omp_set_num_threads(count);
  }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

/// Ours or a peer, with the place of its results and what was found out about them.
struct Runner {
  std::string name;
  std::function<void()> run;
  std::vector<Data>* results;
  bool own_threads = false;
  std::string variant = {};
  double error = 0;
};

std::string title_of(const std::string& name, const std::string& variant) {
  return variant.empty() ? name : fmt::format("{} ({})", name, variant);
}

/// Runs once into poisoned memory and remembers the worst error seen so far.
void verify(Runner& runner, const std::vector<Data>& reference) {
  poison(*runner.results);
  runner.run();
  const double error = worst_error(*runner.results, reference);
  runner.error = std::max(runner.error, error);
}

std::vector<Data> compute_reference(const Case& job, const std::vector<Data>& results, bool small) {
  if (!job.reference || small) return interpret(*job.program, job.inputs).results;
  std::vector<Data> reference = like(results);
  poison(reference);
  job.reference(job.inputs, reference);
  return reference;
}

/// The peers whose results are right, with the fastest variant of each, and notes about the others.
void note_peers(Row& row, std::span<const Runner> peers, std::span<const Timing> timings) {
  std::map<std::string, std::vector<std::pair<double, std::string>>> variants;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const auto& [name, variant] = std::pair(peers[i].name, peers[i].variant);
    if (!(peers[i].error <= row.tolerance)) {
      row.notes.push_back(
          fmt::format("{}: its result is wrong by {:.2g}", title_of(name, variant), peers[i].error));
      continue;
    }
    const auto known = row.peers.try_emplace(name, timings[i]).first;
    if (timings[i].best < known->second.best) known->second = timings[i];
    if (!variant.empty()) variants[name].push_back({timings[i].best, variant});
  }
  for (auto& [name, list] : variants) {
    std::sort(list.begin(), list.end());
    std::string note = fmt::format("{}: {} is the fastest", name, list.front().second);
    for (std::size_t v = 1; v < list.size(); ++v)
      note += fmt::format("{} {} {:.2f}x", v == 1 ? ";" : ",", list[v].second, list[v].first / list[0].first);
    row.notes.push_back(std::move(note));
  }
}

/// What the clusters make of the program.
std::string structure_of(const std::string& way, const Compilation& compilation) {
  const Traffic traffic = traffic_of(*compilation.schedule, compilation.options.known);
  std::string text =
      fmt::format("{}: {} passes, {} buffers, {:.1f} MB moved", way, compilation.schedule->passes,
                  compilation.schedule->buffers, 1e-6 * (traffic.read + traffic.written));
  if (compilation.proof) text += "; " + proof_text(*compilation.proof, compilation.options.cost);
  return text;
}

}  // namespace

Way unfused() {
  Way way{"unfused", {}};
  way.options.simplify = false;
  way.options.clusters = Clusters::None;
  return way;
}

Peer onednn_peer(Session& session, const std::function<OneDnnPrimitive(const OneDnn&)>& make, std::size_t a,
                 std::size_t b) {
  if (!session.options().installed) return {"onednn", {}, "left out"};
  const OneDnn& dnn = session.onednn();
  if (!dnn.available()) return {"onednn", {}, dnn.missing()};
  const OneDnnPrimitive primitive = make(dnn);
  if (!primitive) return {"onednn", {}, "it has only a reference implementation for this layout"};
  return {"onednn",
          [=](std::span<const Data> in, std::vector<Data>& out) {
            primitive.run(in[a].as<float>().data(), in[b].as<float>().data(), out[0].as<float>().data());
          },
          {}};
}

std::shared_ptr<const Program> example(const std::string& file, const std::string& definition) {
  const Module module = parse(file + ".twill", std::string(example_text(file)));
  const Program* program = module.find(definition);
  ensure(program != nullptr, "an example has the definition that a benchmark asks for");
  return std::make_shared<const Program>(*program);
}

std::shared_ptr<const Program> program_from(const std::string& name, const std::string& text) {
  return std::make_shared<const Program>(parse_program(name, text));
}

Entry entry(std::string name, std::function<Case(Session&)> make) {
  return {name, [name, make = std::move(make)](Session& session) {
            Case job = make(session);
            job.name = name;
            return measure_case(session, std::move(job));
          }};
}

namespace {

/// How long it took until the plan was there.
double plan_ms(const Compilation& compilation) {
  double sum = 0;
  for (const auto& [pass, ms] : compilation.pass_ms) {
    sum += ms;
    if (pass == "plan") break;
  }
  return sum;
}

}  // namespace

Row measure_case(Session& session, Case job) {
  const BenchOptions& options = session.options();
  Row row;
  row.name = job.name;
  row.size = job.size;
  row.threads = job.threads > 0 ? job.threads : session.threads();
  row.tolerance = job.tolerance;
  row.held_to_floor = job.held_to_floor && !options.small;  // caches hold small arrays
  const bool interpreted = !job.reference || options.small;
  row.reference = interpreted ? "interpreter" : job.reference_name;

  const Threads threads(job.threads);
  Options compiling = job.ours;
  compiling.compiler = options.compiler;
  compiling.known = known_sizes(*job.program, job.inputs);
  const auto start = std::chrono::steady_clock::now();
  const Compilation compilation = compile(job.program, session.machine(), compiling);
  row.compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  row.plan_ms = plan_ms(compilation);
  if (job.published_plan_ms > 0)
    row.notes.push_back(fmt::format("planned in {:.3g} s; published: {:.3g} s", 1e-3 * row.plan_ms,
                                    1e-3 * job.published_plan_ms));

  Invocation invocation = compilation.kernel->prepare(job.inputs);
  invocation.run();  // so that results whose size is born have memory
  std::vector<Data> theirs = like(invocation.results());
  std::vector<Runner> runners;
  runners.push_back({"ours", [&] { invocation.run(); }, &invocation.results()});
  std::list<Invocation> others;
  if (job.ways.size() > 1) row.notes.push_back(structure_of("ours", compilation));
  for (const Way& way : job.ways) {
    compiling = way.options;
    compiling.compiler = options.compiler;
    compiling.known = known_sizes(*job.program, job.inputs);
    const Compilation other = compile(job.program, session.machine(), compiling);
    if (job.ways.size() > 1) row.notes.push_back(structure_of(way.name, other));
    Invocation& own = others.emplace_back(other.kernel->prepare(job.inputs));
    own.run();
    runners.push_back({way.name, [&own] { own.run(); }, &own.results()});
  }
  for (Peer& peer : job.peers) {
    if (peer.run)
      runners.push_back(
          {peer.name, [&] { peer.run(job.inputs, theirs); }, &theirs, peer.own_threads, peer.variant});
    else
      row.notes.push_back(title_of(peer.name, peer.variant) + ": " + peer.missing);
  }

  const std::vector<Data> reference = compute_reference(job, invocation.results(), options.small);
  for (Runner& runner : runners) verify(runner, reference);
  std::vector<Contender> contenders;
  for (const Runner& runner : runners) contenders.push_back({runner.name, runner.run, runner.own_threads});
  std::optional<MemoryFloor> floor;
  if (row.held_to_floor) floor.emplace(job.inputs, invocation.results());
  if (floor) contenders.insert(contenders.end(), floor->contenders().begin(), floor->contenders().end());
  const std::vector<Timing> timings = contest(contenders, options.small ? 0 : options.seconds);
  for (Runner& runner : runners) verify(runner, reference);

  row.ours = timings[0];
  row.max_error = runners[0].error;
  row.verified = row.max_error <= row.tolerance;
  note_peers(row, std::span(runners).subspan(1), std::span(timings).subspan(1, runners.size() - 1));
  // The rates are those of all cores.
  if (row.threads == session.threads())
    row.floor_ms = (floor ? floor->rated(session.machine(), std::span(timings).subspan(runners.size()))
                          : session.machine())
                       .floor_ms(job.work.operations, job.work.bytes_read, job.work.bytes_written,
                                 job.work.element_bytes);
  return row;
}

}  // namespace twill::bench

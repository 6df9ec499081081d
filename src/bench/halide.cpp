// Compiles Halide programs, lets them write pipelines, and calls those.
#include "bench/halide.h"

#include "base/error.h"
#include "base/files.h"
#include "bench/texts.h"
#include "machine/cpu.h"
#include "run/process.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <optional>

namespace twill::bench {

namespace fs = std::filesystem;

namespace {

constexpr const char* not_installed =
    "Halide 14 is not installed (Debian: apt-get install libhalide14-0-dev)";
const fs::path headers = "/usr/include/halide14";
constexpr std::array<const char*, 2> library_directories = {"/usr/lib/x86_64-linux-gnu",
                                                            "/usr/lib/aarch64-linux-gnu"};
constexpr int most_seconds = 120;  // for a scheduler to find a schedule

constexpr const char* adapter = R"c(/* A Halide pipeline behind plain functions. */
#include <HalideRuntime.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { most_arrays = 8, most_dimensions = 4 };

typedef struct {
  void *elements;
  const int64_t *extents; /* the last dimension lies next to itself in memory */
  int64_t dimensions, code, bits;
} Array;

int pipeline_argv(void **arguments);

/* Memory that pipelines gave back is kept for their next run, as everybody else's is. */
typedef struct Block {
  size_t size;
  struct Block *next;
} Block;
enum { block_header = 128 }; /* as aligned as Halide wants it */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Block *kept;

static void *keeping_malloc(void *context, size_t size) {
  Block **best = NULL, *block;
  (void)context;
  pthread_mutex_lock(&lock);
  for (Block **at = &kept; *at; at = &(*at)->next)
    if ((*at)->size >= size && (*at)->size / 2 <= size && (!best || (*at)->size < (*best)->size)) best = at;
  block = best ? *best : NULL;
  if (block) *best = block->next;
  pthread_mutex_unlock(&lock);
  if (!block) {
    size = (size + block_header - 1) / block_header * block_header;
    block = aligned_alloc(block_header, size + 2 * block_header); /* vectors may read beyond the end */
    if (!block) return NULL;
    block->size = size;
  }
  return (char *)block + block_header;
}

static void keeping_free(void *context, void *memory) {
  (void)context;
  if (!memory) return;
  Block *block = (Block *)((char *)memory - block_header);
  pthread_mutex_lock(&lock);
  block->next = kept;
  kept = block;
  pthread_mutex_unlock(&lock);
}

__attribute__((destructor)) static void end(void) {
  while (kept) {
    Block *block = kept;
    kept = block->next;
    free(block);
  }
}

/* A pipeline that fails has not written its result, and that is found out. */
static void ignore_error(void *context, const char *message) { (void)context, (void)message; }

void begin(int threads) {
  halide_set_error_handler(ignore_error);
  halide_set_custom_malloc(keeping_malloc);
  halide_set_custom_free(keeping_free);
  halide_set_num_threads(threads);
}

int run_pipeline(const Array *arrays, int64_t count) {
  halide_buffer_t buffers[most_arrays];
  halide_dimension_t dimensions[most_arrays][most_dimensions];
  void *arguments[most_arrays];
  if (count > most_arrays) return -1;
  memset(buffers, 0, sizeof buffers);
  memset(dimensions, 0, sizeof dimensions);
  for (int64_t a = 0; a < count; ++a) {
    int32_t stride = 1;
    if (arrays[a].dimensions > most_dimensions) return -1;
    for (int64_t d = 0; d < arrays[a].dimensions; ++d) {
      dimensions[a][d].extent = (int32_t)arrays[a].extents[arrays[a].dimensions - 1 - d];
      dimensions[a][d].stride = stride;
      stride *= dimensions[a][d].extent;
    }
    buffers[a].host = arrays[a].elements;
    buffers[a].type.code = arrays[a].code;
    buffers[a].type.bits = arrays[a].bits;
    buffers[a].type.lanes = 1;
    buffers[a].dimensions = (int32_t)arrays[a].dimensions;
    buffers[a].dim = dimensions[a];
    arguments[a] = &buffers[a];
  }
  return pipeline_argv(arguments);
}
)c";

/// As the adapter has it.
struct Array {
  const void* elements;
  const std::int64_t* extents;
  std::int64_t dimensions, code, bits;
};
using RunPipeline = int(const Array* arrays, std::int64_t count);

Array array_of(const Data& data) {
  const Scalar scalar = data.type().scalar();
  constexpr int integer = 0, natural = 1, floating = 2;  // of halide_type_code_t
  const int code = is_float(scalar) ? floating : is_signed(scalar) ? integer : natural;
  return {data.bytes(), data.shape().data(), static_cast<std::int64_t>(data.shape().size()), code,
          static_cast<std::int64_t>(8 * byte_size(data.type()))};
}

/// Where libHalide14 is.
std::optional<fs::path> library_directory() {
  std::error_code ignored;
  for (const char* directory : library_directories)
    if (fs::exists(fs::path(directory) / "libHalide14.so", ignored) && fs::exists(headers, ignored))
      return directory;
  return std::nullopt;
}

/// A way to schedule: the argument of the programs, and its name for people.
struct Scheduler {
  std::string argument, name;
};

std::vector<Scheduler> schedulers(const fs::path& directory) {
  std::vector<Scheduler> found;
  std::error_code ignored;
  const std::string mark = "libautoschedule_";
  for (const fs::directory_entry& file : fs::directory_iterator(directory / "halide14", ignored)) {
    const std::string stem = file.path().stem();
    if (stem.starts_with(mark) && file.path().extension() == ".so")
      found.push_back({file.path(), stem.substr(mark.size())});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  found.insert(found.begin(), {"manual", "manual"});
  return found;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// An object file with a pipeline, or why there is none.
struct Pipeline {
  fs::path object;
  std::string missing;
};

/// One of the programs, compiled when the first pipeline that is not in the cache is due.
class HalideProgram {
 public:
  HalideProgram(const fs::path& cache, std::string name, fs::path libraries)
      : name_(std::move(name)), libraries_(std::move(libraries)), cache_(cache / "halide") {}

  Pipeline pipeline(const Scheduler& scheduler, const std::vector<std::int64_t>& sizes, int threads) {
    std::vector<std::string> arguments = {std::to_string(threads), scheduler.argument};
    for (const std::int64_t size : sizes) arguments.push_back(std::to_string(size));
    const std::string key = key_of(arguments);
    // What a scheduler cannot do takes as long as what it can, and is remembered as well.
    const fs::path object = cache_ / (key + ".o"), failure = cache_ / (key + ".txt");
    if (fs::exists(object)) return {object, {}};
    if (fs::exists(failure)) return {{}, read_file(failure)};
    fs::create_directories(cache_);
    if (!directory_) compile();
    if (!problem_.empty()) return {{}, problem_};
    const fs::path made = directory_->path() / (key + ".o");
    arguments.insert(arguments.begin(), {(directory_->path() / "program").string(), made.string()});
    if (const auto timeout = find_program("timeout"))
      arguments.insert(arguments.begin(), {timeout->string(), std::to_string(most_seconds)});
    const ExitReport report = run_program(arguments);
    if (report.status == 0 && fs::exists(made)) {
      fs::rename(made, object);
      return {object, {}};
    }
    constexpr int timed_out = 124;
    const std::string reason =
        report.status == timed_out
            ? fmt::format("it found no schedule in {} s", most_seconds)
            : fmt::format("it failed with status {}: {}", report.status, first_line(report.output));
    write_file(failure, reason);
    return {{}, reason};
  }

 private:
  std::string key_of(const std::vector<std::string>& arguments) const {
    const fs::path library = libraries_ / "libHalide14.so";
    return hash_of({peer_text("program.h"), peer_text(name_ + ".cpp"),
                    fmt::format("{}", fmt::join(arguments, "\n")), identify_cpu().features,
                    fmt::format("{} {}", fs::file_size(library),
                                fs::last_write_time(library).time_since_epoch().count())});
  }

  void compile() {
    directory_.emplace(cache_);
    const fs::path& root = directory_->path();
    fs::create_directories(root / "bench/peers");
    write_file(root / "bench/peers/program.h", peer_text("program.h"));
    write_file(root / "program.cpp", peer_text(name_ + ".cpp"));
    std::optional<fs::path> compiler;
    for (const char* name : {"c++", "g++", "clang++"})
      if (!compiler) compiler = find_program(name);
    if (!compiler) {
      problem_ = "there is no C++ compiler (Debian: apt-get install g++)";
      return;
    }
    const ExitReport report =
        run_program({compiler->string(), "-std=c++17", "-I" + headers.string(), "-I" + root.string(), "-o",
                     (root / "program").string(), (root / "program.cpp").string(), "-lHalide14"});
    if (report.status != 0) problem_ = "its program was not compiled: " + first_line(report.output);
  }

  std::string name_;
  fs::path libraries_, cache_;
  std::optional<WorkDirectory> directory_;  // with the compiled program
  std::string problem_;                     // why it is not there
};

/// Loads a pipeline, which brings its own threads along.
Action loaded(Session& session, const fs::path& object, int threads) {
  CompileOptions options = session.options().compiler;
  options.flags = {"-std=c11", "-O2", "-I" + headers.string()};
  options.libraries = {object.string()};
  const Library library = compile_and_load(adapter, options);
  library.function<void(int)>("begin")(threads);
  RunPipeline* run = library.function<RunPipeline>("run_pipeline");
  return [library, run](std::span<const Data> inputs, std::vector<Data>& results) {
    std::vector<Array> arrays;
    for (const Data& data : inputs) arrays.push_back(array_of(data));
    for (const Data& data : results) arrays.push_back(array_of(data));
    run(arrays.data(), static_cast<std::int64_t>(arrays.size()));
  };
}

}  // namespace

std::vector<Peer> halide_peers(Session& session, const std::string& name,
                               const std::vector<std::int64_t>& sizes, int threads) {
  if (!session.options().installed) return {};
  const auto libraries = library_directory();
  if (!libraries) return {{"halide", {}, not_installed}};
  HalideProgram program(session.options().compiler.cache, name, *libraries);
  std::vector<Peer> peers;
  for (const Scheduler& scheduler : schedulers(*libraries)) {
    Peer peer{"halide", {}, {}, threads > 1, scheduler.name};
    const Pipeline pipeline = program.pipeline(scheduler, sizes, threads);
    peer.missing = pipeline.missing;
    if (peer.missing.empty()) peer.run = loaded(session, pipeline.object, threads);
    peers.push_back(std::move(peer));
  }
  return peers;
}

}  // namespace twill::bench

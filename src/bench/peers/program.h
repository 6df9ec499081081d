// What the Halide programs here have in common: borders, vectors and the command line. They are no part of
// Twill: `twill bench` carries their texts and compiles them where Halide is installed. Each one computes the
// same function as the example of its name in `examples/`, with the borders of every stage where that has
// them, and is scheduled by hand as the published version of its algorithm is (strips, tiles and what is
// computed where).
//   PROGRAM OBJECT THREADS SCHEDULE SIZE…
// writes the pipeline to an object file. SCHEDULE is `manual` or the path of a plugin,
// libautoschedule_NAME.so.
#pragma once

#include <Halide.h>

#include <cctype>
#include <iostream>
#include <string>
#include <vector>

using namespace Halide;

/// A pipeline. Inputs come in the order of the example's inputs.
struct Built {
  Func result;
  std::vector<Argument> inputs;
};

/// Defined by each program: the pipeline for pictures of about these sizes (rows, columns), which schedulers
/// may rely on and the code may not; with its own schedule or with none.
Built build(const std::vector<int>& sizes, bool manual);

/// Floats in a vector.
/// This machine. Halide 14 takes every processor with bfloat16 lanes for one that has float16 lanes as well.
inline Target this_machine() {
  const Target host = get_host_target();
  return __builtin_cpu_supports("avx512fp16") ? host : host.without_feature(Target::AVX512_SapphireRapids);
}

inline int lanes() { return this_machine().natural_vector_size<float>(); }

/// Says how large an input (or, through its buffer, a result) is; its last dimension is x.
template <class Buffer>
void set_size(Buffer& buffer, const std::vector<int>& sizes) {
  int stride = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const int extent = sizes[sizes.size() - 1 - d];
    buffer.dim(static_cast<int>(d)).set_bounds(0, extent).set_stride(stride).set_estimate(0, extent);
    stride *= extent;
  }
}

inline void set_result_size(Func& result, const std::vector<int>& sizes) {
  auto buffer = result.output_buffer();
  set_size(buffer, sizes);
}

/// `f` with its nearest element where it is read outside of 0 ≤ x < width, 0 ≤ y < height (its first
/// dimensions).
template <class F>
Func edge(const F& f, int width, int height) {
  return BoundaryConditions::repeat_edge(f, {{0, width}, {0, height}});
}
/// libautoschedule_NAME.so is the plugin of the scheduler Name.
inline std::string scheduler_of(const std::string& plugin) {
  const std::string mark = "libautoschedule_";
  const std::size_t from = plugin.rfind(mark) + mark.size();
  std::string name = plugin.substr(from, plugin.rfind(".so") - from);
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name;
}

int main(int count, char** arguments) {
  if (count < 4) return 2;
  const std::string object = arguments[1], schedule = arguments[3];
  const int threads = std::stoi(arguments[2]);
  std::vector<int> sizes;
  for (int i = 4; i < count; ++i) sizes.push_back(std::stoi(arguments[i]));
  try {
    const Target target = this_machine();
    const Built built = build(sizes, schedule == "manual");
    Pipeline pipeline(built.result);
    if (schedule != "manual") {
      const MachineParams usual = MachineParams::generic();
      load_plugin(schedule);
      pipeline.auto_schedule(scheduler_of(schedule), target,
                             MachineParams(threads, usual.last_level_cache_size, usual.balance));
    }
    pipeline.compile_to_object(object, built.inputs, "pipeline", target);
  } catch (const Error& error) {
    std::cerr << error.what();
    return 1;
  }
}

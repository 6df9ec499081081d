// Which processor this is, from /proc/cpuinfo.
#include "machine/cpu.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#define TWILL_X86 1
#endif

namespace twill {

namespace {

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));  // more CPUs than a cpu_set_t holds
}

#ifdef TWILL_X86

/// The registers eax, ebx, ecx, edx of a cpuid leaf; zeros where the CPU has no such leaf.
std::array<unsigned, 4> cpuid(unsigned leaf, unsigned sub) {
  std::array<unsigned, 4> r{};
  __get_cpuid_count(leaf, sub, &r[0], &r[1], &r[2], &r[3]);
  return r;
}

std::string brand() {
  std::string name;
  for (unsigned leaf : {0x80000002u, 0x80000003u, 0x80000004u}) {
    const std::array<unsigned, 4> r = cpuid(leaf, 0);
    char text[sizeof r];
    std::memcpy(text, r.data(), sizeof r);
    name.append(text, strnlen(text, sizeof text));
  }
  const std::size_t begin = name.find_first_not_of(' ');
  if (begin == std::string::npos) return "x86";
  return name.substr(begin, name.find_last_not_of(' ') + 1 - begin);
}

void fill(Cpu& cpu) {
  // Leaf 1's ebx holds the number of the CPU one happens to run on, so only the feature words are taken.
  const auto basic = cpuid(1, 0), extended = cpuid(7, 0), more = cpuid(7, 1), amd = cpuid(0x80000001, 0);
  cpu.model = brand();
  cpu.features = fmt::format("x86:{:x}-{:x}-{:x}-{:x}-{:x}-{:x}-{:x}-{:x}-{:x}", basic[0], basic[2], basic[3],
                             extended[1], extended[2], extended[3], more[0], amd[2], amd[3]);
  __builtin_cpu_init();
  const bool wide = __builtin_cpu_supports("avx512f");
  cpu.vector_bytes = wide ? 64 : __builtin_cpu_supports("avx2") ? 32 : 16;
  cpu.vector_registers = wide ? 32 : 16;
}

#else

/// From the first block of /proc/cpuinfo, without the lines that change from moment to moment.
void fill(Cpu& cpu) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    const std::string key = line.substr(0, line.find_last_not_of("\t ", colon == 0 ? 0 : colon - 1) + 1);
    if (colon == std::string::npos || key == "processor" || key.find("MHz") != std::string::npos) continue;
    const std::string value = line.substr(std::min(line.size(), colon + 2));
    if (key == "model name" || key == "cpu" || key == "uarch") cpu.model = value;
    cpu.features += key + "=" + value + ";";
  }
  if (cpu.model.empty()) cpu.model = "CPU";
  cpu.vector_registers = 32;
}

#endif

}  // namespace

Cpu identify_cpu() {
  Cpu cpu;
  cpu.cpus = usable_cpus();
  fill(cpu);
  return cpu;
}

}  // namespace twill

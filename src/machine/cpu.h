// The identity of the CPU this process runs on, cheap enough to ask at every start.
#pragma once

#include <string>

namespace twill {

struct Cpu {
  std::string model;      // as the vendor names it
  std::string features;   // the instruction sets, as an opaque text that is equal only for equal sets
  int cpus = 1;           // logical CPUs that this process may use
  int vector_bytes = 16;  // the widest vector register
  int vector_registers = 16;
};

Cpu identify_cpu();

}  // namespace twill

// From a nest to C11 with OpenMP: readable, self-contained, with restrict parameters, needing only libm.
#pragma once

#include "emit/nest.h"

namespace twill {

/// What a call of the emitted entry point can report: `code` is the entry's return value, from 1.
struct CError {
  std::string text;
};

/// One parameter of the emitted function, in order.
struct CParameter {
  enum class Kind {
    Input,        // const T *restrict
    Scalar,       // T, by value
    Size,         // int64_t
    Output,       // T *restrict, memory of the caller
    BornOutput,   // T **, set to memory from malloc; followed by its shape
    BornShape,    // int64_t *, rank entries
  };
  Kind kind;
  std::string name;
  int position;   // of the input, size symbol (among those bound by inputs) or result
};

struct CSource {
  std::string text;          // one translation unit
  std::string header;        // declares the function; needs no other header of ours
  std::string function;      // its name
  std::vector<CParameter> parameters;
  std::vector<CError> errors;  // errors[code - 1]
};

/// For `twill build` the prefix keeps several kernels in one program apart; names are derived from the program's.
CSource print_c(const nest::Nest& nest);

}  // namespace twill

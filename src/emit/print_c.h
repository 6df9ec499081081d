// From a nest to C11 with OpenMP: readable, self-contained, with restrict parameters, needing only libm.
#pragma once

#include "emit/nest.h"

namespace twill {

/// One parameter of the emitted function, in order.
struct CParameter {
  enum class Kind {
    Input,       // const T *restrict
    Scalar,      // T, by value
    Size,        // int64_t
    Output,      // T *restrict, memory of the caller
    BornOutput,  // T **, set to memory from malloc; followed by its shape
    BornShape,   // int64_t *, rank entries
  };
  Kind kind;
  std::string name;
  int position;                  // of the input, size symbol (among those bound by inputs) or result
  std::vector<Expr> shape = {};  // of an Output; in the pool of the program
};

/// The text of the error that is no mistake of the program.
inline constexpr const char* out_of_memory = "there is not enough memory";

struct CSource {
  std::string text;      // one translation unit
  std::string header;    // declares the function; needs no other header of ours
  std::string function;  // its name
  std::vector<CParameter> parameters;
  std::vector<std::string> errors;  // what the return value means: errors[code - 1]
  std::vector<Effect> effects;      // by the number that the host is given
};

/// The function is called like the program.
CSource print_c(const nest::Nest& nest);

}  // namespace twill

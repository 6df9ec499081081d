// Random well-formed programs over the whole model, and inputs for them.
#pragma once

#include "fuzz/rng.h"
#include "program/data.h"
#include "program/program.h"

#include <map>

namespace twill {

/// How large a generated program may become.
struct Budget {
  int stages = 5;       // at most, on the outermost level
  int depth = 2;        // of nested blocks
  int nodes = 10;       // of an expression, about
  bool strict = false;  // Program::strict. Without it, floats stay so tame that a useful error bound exists
};

/// Always passes the checker.
Program random_program(Rng& rng, const Budget& budget);

/// Inputs for a program: small sizes, zero and one often, and values that make data extents and scalars which
/// are used as sizes meaningful. `most_points` bounds the work of the interpreter, about.
std::vector<Data> random_inputs(const Program& program, Rng& rng, std::int64_t most_points = 20000);

/// The points that the stages of a program visit, about, for given sizes.
double estimated_points(const Program& program, const std::map<SymbolId, std::int64_t>& sizes);

}  // namespace twill

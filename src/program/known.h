// What is known of a program's sizes before it runs.
#pragma once

#include "program/data.h"
#include "program/program.h"

#include <map>
#include <optional>

namespace twill {

struct KnownSizes {
  std::map<SymbolId, std::int64_t> sizes;
  std::map<ArrayId, Number> scalars;  // inputs that are single numbers
  std::map<DimId, std::int64_t> indices = {};  // of loops, if somebody looks at one iteration
};

/// All that inputs tell.
KnownSizes known_sizes(const Program& program, std::span<const Data> inputs);

/// The value of an expression; nothing if it depends on more than what is known.
std::optional<Number> known_value(Expr e, const KnownSizes& known);

}  // namespace twill

// Nodes have numbers of type int, of which -1 is none; vectors by node want something else.
#pragma once

#include <cstddef>

namespace twill {

inline std::size_t at(int node) { return static_cast<std::size_t>(node); }

}  // namespace twill

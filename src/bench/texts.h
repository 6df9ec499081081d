// Texts that the build puts into the binary: `examples/` and the programs of `peers/`.
#pragma once

#include <string_view>

namespace twill::bench {

/// The text of examples/NAME.twill; empty if there is none.
std::string_view example_text(std::string_view name);

/// The text of examples/polybench/NAME.c; empty if there is none.
std::string_view polybench_text(std::string_view name);

/// The text of bench/peers/FILE; empty if there is none.
std::string_view peer_text(std::string_view file);

}  // namespace twill::bench

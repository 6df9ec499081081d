// The texts of `examples/`, which the build puts into the binary.
#pragma once

#include <string_view>

namespace twill::bench {

/// The text of examples/NAME.twill; empty if there is none.
std::string_view example_text(std::string_view name);

}  // namespace twill::bench

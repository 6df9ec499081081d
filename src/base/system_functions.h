// Which names belong to the C library.
#pragma once

#include <string>

namespace twill {

/// Has the C library a function of this name? One linked with it would call ours instead, or the other way
/// round.
bool is_system_function(const std::string& name);

}  // namespace twill

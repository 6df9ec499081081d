// Words for messages: suggestions for misspelt names, and numbers of things.
#pragma once

#include <string>
#include <vector>

namespace twill::text {

/// "did you mean 'img'?" for the candidate nearest to `name`, or "" if none is near.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& candidates);

/// "'x', 'y' and 'z'".
std::string listed(const std::vector<std::string>& names);

/// "i, j" for two dimensions.
std::string example_subscripts(std::size_t rank);

/// "1 dimension", "2 dimensions".
std::string counted(std::size_t count, const std::string& thing);

}  // namespace twill::text

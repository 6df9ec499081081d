// Suggestions for misspelt names.
#pragma once

#include <string>
#include <vector>

namespace twill::text {

/// "did you mean 'img'?" for the candidate nearest to `name`, or "" if none is near.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace twill::text

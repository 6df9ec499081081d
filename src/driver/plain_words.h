// Reasons in the words of what the user wrote.
#pragma once

#include "driver/compile.h"

namespace twill {

/// That a stage has lists of stages inside is said of what it was written as: an if, a loop.
Reason in_plain_words(const Program& program, const Reason& reason);

/// For each `@always` and `@recompute` that came to nothing, why: with the one stage that it is about.
std::vector<Reason> wishes_not_granted(const Compilation& compilation);

}  // namespace twill

// The interpreter for callers who want to see the effects of runs that fail, too.
#pragma once

#include "program/interpret.h"

namespace twill {

/// Like `interpret`. Effects also go to `effects`: if an error is thrown, those that happened before it.
Outcome interpret(const Program& program, std::span<const Data> inputs, std::vector<EffectEvent>& effects);

}  // namespace twill

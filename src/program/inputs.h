// The first step of a run: inputs take their places.
#pragma once

#include "program/formulas.h"

namespace twill {

/// Whether the elements of arrays are needed, or their shapes and the scalars only.
enum class Elements { Copied, LeftOut };

/// Puts inputs (or their defaults) into the environment and binds the sizes that their shapes determine.
/// Throws E0501 to E0504 if they do not fit.
void take_inputs(Environment& environment, std::span<const Data> inputs, Elements elements);

}  // namespace twill

// layout: arrays between stages, stored as lanes read them.
//
// In: a simplified program. Out: a checked program with the same inputs, results and effects. Arrays that
// only its stages know may have their dimensions in another order, and a stage may read a copy of an array in
// which they are. Records between stages become one array for each field.
//
// Lanes that fold with an operator of the user's would each have a result of their own, and nobody knows how
// to put them together quickly. So lanes belong to different results, and what they read lies side by side
// for them: the array that is folded is stored that way, and what its own stage reads for many of its
// elements is copied.
#pragma once

#include "simplify/simplify.h"

namespace twill {

Simplified lay_out(std::shared_ptr<const Program> program);

}  // namespace twill

// join: two stages become one whose loop does the work of both.
//
// The rules, not the choice: which stages are joined is decided elsewhere (simplify, where nothing is given
// up; a plan's clusters otherwise). The outputs of both stages stay, each with its own combine; where the
// second stage reads what the first one computes for the same point, the value takes the place of the read.
//
// Two stages meet in one of three ways:
//   same points   equal dimensions with equal ranges; the second reads the first at its own point only
//   over          the second goes through a collection that the first appends to. Its dimension over the
//                 collection becomes the first stage's dimensions, and the condition of the collection guards
//                 all that it does; scans, and positions in the collection, become running values
//   rows          the same for a collection of rows: the second goes, for each index of its outermost
//                 dimension, through the row that the first makes for that index
// and, if that is allowed, in a fourth one, with which the first need not share the second's range:
//   by index      the second reads, at every point, one element that data choose, of arrays that nobody else
//                 needs: it computes that element itself (fuse/inline.h)
#pragma once

#include "program/program.h"
#include "program/reason.h"

#include <optional>
#include <set>

namespace twill {

/// A stage, one that comes after it, and the arrays of the first that nobody but the second needs.
struct Joint {
  const Program& program;
  const Stage& first;
  const Stage& second;
  const std::set<ArrayId>& gone;
  bool by_index = false;  // they may meet so
};

/// The outputs of the first stage of which the second reads one element at each of its points, chosen by
/// data; rows, which lie where their offsets say, are gone through.
std::vector<const Output*> gathered_outputs(const Stage& first, const Stage& second);

/// Why the two cannot become one; nothing if they can. Looks at the two alone: whether other stages have to
/// run between them is the caller's question.
std::optional<Reason> why_not_join(const Joint& joint);

/// The stage that does the work of both, under the second one's name, without the outputs that are gone.
/// Only if nothing speaks against it.
Stage joined(Program& program, const Stage& first, const Stage& second, const std::set<ArrayId>& gone,
             bool by_index = false);

}  // namespace twill

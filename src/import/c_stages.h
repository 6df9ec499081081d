// From a normal loop nest to stages: what one iteration after the other did in place becomes stages that make
// new versions of arrays, and loops in time where there is no other way. Not for users.
#pragma once

#include "import/c_depend.h"

namespace twill::c {

/// One value of an array: the caller's, or what a step makes.
struct Version {
  int array = -1;
  bool is_input = false;
  std::string role;  // "sum": a fold on the way to it; empty: the array itself
  std::string name;  // given at the end
};

struct StepDim {
  int loop = -1;
  std::string combine;  // "cat", "fold", "seq", "scatter"
  std::string op;       // of a fold or scatter
};

struct Carried {
  int init = -1, inside = -1, next = -1, out = -1;  // versions
};

/// A stage, or a loop in time around steps.
struct Step {
  // A stage:
  std::vector<StepDim> dims;
  int out = -1;  // the version that it makes
  std::vector<Tree> at;
  Tree value, guard;
  int into = -1;  // the version that it changes; -1: it writes every element
  bool onto = false;
  bool block = false;  // the value is computed by a block at every point
  // A loop:
  int loop = -1;  // -1: a stage
  std::vector<Carried> carried;
  std::vector<Step> body;
  Place place;
};

/// The steps of a function, in order.
struct Steps {
  std::vector<Version> versions;
  std::vector<Step> steps;
  std::vector<int> results;  // versions, one for each argument that is written …
  std::vector<int> written;  // … and these arguments
};

/// Kennedy and Allen's distribution of loops: statements that depend on each other in a circle share a loop
/// in time, all others get stages of their own. `nest` gets more loops.
Steps stages_of(Nest& nest);

}  // namespace twill::c

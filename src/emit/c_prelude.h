// The helper functions that emitted C may call. A source gets only those it uses.
#pragma once

#include "program/type.h"

#include <set>
#include <string>

namespace twill {

/// Names of helpers: "twill_clamp", or a family with the type at its end: "twill_min_f32".
class CPrelude {
 public:
  /// Remembers that the helper is used, and gives its name back.
  const std::string& need(const std::string& name);

  /// The name of a vector type of so many lanes: "twill_f32x16". Its variables may lie at any element.
  std::string need_vector(Scalar scalar, int lanes);

  /// Definitions of all that is needed, each after what it uses itself.
  std::string text() const;

 private:
  std::set<std::string> needed_;
  std::set<std::pair<Scalar, int>> vectors_;
};

/// The interface to the host: allocation, effects. Part of every source and header.
std::string host_interface();

}  // namespace twill

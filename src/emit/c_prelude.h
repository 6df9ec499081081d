// The helper functions that emitted C may call. A source gets only those it uses.
#pragma once

#include <set>
#include <string>

namespace twill {

/// Names of helpers: "twill_clamp", or a family with the type at its end: "twill_min_f32".
class CPrelude {
 public:
  /// Remembers that the helper is used, and gives its name back.
  const std::string& need(const std::string& name);

  /// Definitions of all that is needed, each after what it uses itself.
  std::string text() const;

 private:
  std::set<std::string> needed_;
};

/// The interface to the host: allocation, effects. Part of every source and header.
std::string host_interface();

}  // namespace twill

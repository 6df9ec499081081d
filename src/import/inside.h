// Which function of the user's is being asked for a value: what an operator combines, what becomes of an
// element. It stands for something that is computed many times or never, so the definitions' statements
// cannot stand in it.
#pragma once

#include <string>

namespace twill::staged {

/// As long as it lives, a function runs that has a value and makes no statements.
///
/// The one thing that a thread remembers: an operator is made without a definition, so that nothing else
/// links the lambda that says what it is to the definition whose statement somebody writes in it.
class Inside {
 public:
  /// `what` as in "the operator 'better'".
  explicit Inside(std::string what);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  /// The innermost one, or null.
  static const Inside* now();
  const std::string& what() const { return what_; }

 private:
  std::string what_;
  const Inside* outer_;
};

}  // namespace twill::staged

// Errors for people: what is wrong, where, and what to do about it.
#pragma once

#include "base/place.h"

#include <exception>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace twill {

/// Whose fault it is: the user's program, something Twill does not do (yet), the machine around
/// us (files, compiler, disk), or a bug in Twill.
enum class Fault { User, Limit, System, Bug };

struct Diagnostic {
  Fault fault = Fault::User;
  std::string code;     // "E0210"; every code is listed in docs/errors.md
  Place place;
  std::string message;  // one sentence without a full stop, names in 'quotes'
  std::string help;     // the remedy; may be empty
};

/// Renders as
///   heat.twill:4:22: error[E0210]: message
///       the line
///       ^^^^
///     help: remedy
std::string to_string(const Diagnostic& diagnostic);

/// Thrown by front ends, the checker and the runtime; holds at least one diagnostic.
class Error : public std::exception {
 public:
  explicit Error(Diagnostic diagnostic) : Error(std::vector<Diagnostic>{std::move(diagnostic)}) {}
  explicit Error(std::vector<Diagnostic> diagnostics);

  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::vector<Diagnostic> diagnostics_;
  std::string text_;
};

/// Throws Error with one diagnostic.
[[noreturn]] void fail(Fault fault, std::string code, Place place, std::string message,
                       std::string help = {});

/// For conditions that only a bug in Twill can break. Always on.
void ensure(bool condition, const char* what);

/// A value, or the reason why there is none. `Why` is a plain struct (see plan/reason.h).
template <class T, class Why>
class Result {
 public:
  Result(T value) : held_(std::move(value)) {}
  Result(Why why) : held_(std::move(why)) {}

  explicit operator bool() const { return held_.index() == 0; }
  const T& value() const& { return std::get<0>(held_); }
  T&& value() && { return std::get<0>(std::move(held_)); }
  const T& operator*() const& { return value(); }
  const T* operator->() const { return &std::get<0>(held_); }
  const Why& why() const { return std::get<1>(held_); }

 private:
  std::variant<T, Why> held_;
};

}  // namespace twill

// Def: a definition built in C++, and the statements that stand in it. See docs/cpp.md.
//
//   Def f("blur");
//   auto [H, W] = f.sizes("H", "W");
//   auto img = f.input("img", f32, {H, W});
//   auto w = f.constant("w", {0.25, 0.5, 0.25});
//   auto out = f.array("out");
//   Index y("y"), x("x"), k("k");
//   out(y, x) = sum(k < 3, w(k) * img(y, clamp(x + k - 1)));
//   f.result(out);
//   Program program = f.program();
#pragma once

#include "import/declare.h"
#include "program/program.h"

#include <functional>
#include <optional>
#include <variant>

namespace twill {

class Def;
class Var;

namespace staged {
struct DefState;
struct RefState;
Var array_of(const std::shared_ptr<DefState>& def, std::string name, const Place& place);
/// A value that no statement defines.
Var nameless(const std::shared_ptr<DefState>& def, const Value& value);
}  // namespace staged

/// An element of an array of a definition: a value to read or, on the left of `=`, what the statement
/// defines. The functions that change it are for the left side.
class Ref : public Value {
 public:
  Ref(const Ref&) = default;

  /// Declares the element type, or type and shape.
  Ref as(const Type& type) const;
  Ref as(const Type& type, std::vector<Arg> shape) const;
  /// A new version of an array, in which the points of this statement are replaced (`into`) or combined with
  /// what is there (`onto`).
  Ref into(const Arg& array) const;
  Ref onto(const Arg& array) const;
  /// Bounds of indices, and guards; `&&` separates conditions.
  Ref where(const Arg& a, const Arg& b = {}, const Arg& c = {}, const Arg& d = {}, const Arg& e = {},
            const Arg& f = {}) const;
  /// Hints: what the user knows better.
  Ref never() const;
  Ref always() const;
  Ref recompute() const;
  Ref remember() const;

  /// Defines it.
  void operator=(const Arg& value) const;
  void operator=(const Ref& value) const;

  const staged::RefState& state() const { return *state_; }

 private:
  friend class Var;
  Ref(Value read, std::shared_ptr<const staged::RefState> state);
  Ref changed(const std::function<void(staged::RefState&)>& change) const;

  std::shared_ptr<const staged::RefState> state_;
};

/// Several outputs of one stage: `together(s(i), p(i)) = tuple(sum(j, x(i, j)), product(j, x(i, j)))`.
class Together {
 public:
  explicit Together(std::vector<Ref> refs) : refs_(std::move(refs)) {}
  Together(const Together&) = delete;
  void operator=(const Arg& values) const;

 private:
  std::vector<Ref> refs_;
};
template <class... More>
Together together(const Ref& first, const More&... more) {
  return Together({first, more...});
}

/// An array or scalar of a definition: an input, a constant, or what a statement defines. A scalar is a value
/// as it stands; `y()` is what a statement without indices defines.
class Var : public Value {
 public:
  Var(const Var&) = default;
  Var& operator=(const Var&) = delete;

  Ref operator()(Where where = Where::current()) const;
  Ref operator()(const Arg& a, const Arg& b = {}, const Arg& c = {}, const Arg& d = {}, const Arg& e = {},
                 const Arg& f = {}, const Arg& g = {}, const Arg& h = {}, const Arg& i = {},
                 const Arg& j = {}, const Arg& k = {}, const Arg& l = {}) const;
  Ref operator()(const Subscripts& subscripts, Where where = Where::current()) const;

  const std::string& name() const { return name_; }
  const std::shared_ptr<staged::DefState>& definition() const { return def_; }

 private:
  friend Var staged::array_of(const std::shared_ptr<staged::DefState>& def, std::string name,
                              const Place& place);
  friend Var staged::nameless(const std::shared_ptr<staged::DefState>& def, const Value& value);
  Var(Value read, std::string name, std::shared_ptr<staged::DefState> def);
  Ref ref(const std::vector<Arg>& args, const Place& place) const;

  std::string name_;
  std::shared_ptr<staged::DefState> def_;
};

/// Numbers of a constant array, nested for more dimensions.
class List {
 public:
  template <PlainNumber T>
  List(T number, Where where = Where::current()) : number_(Arg(number, where)) {}
  List(std::initializer_list<List> items) : items_(items) {}
  template <PlainNumber T>
  List(const std::vector<T>& numbers) : items_(numbers.begin(), numbers.end()) {}

  Value value(const Place& place) const;

 private:
  std::optional<Arg> number_;
  std::vector<List> items_;
};

/// A state of a loop: its name inside and after it, and what it is before the first step.
struct Carried {
  Var var;
  Arg init;
};

/// What is printed: a text or a value.
class Printed {
 public:
  Printed(const char* text) : what_(std::string(text)) {}
  Printed(std::string text) : what_(std::move(text)) {}
  Printed(const Value& value, Where where = Where::current()) : what_(Arg(value, where)) {}
  template <PlainNumber T>
  Printed(T number, Where where = Where::current()) : what_(Arg(number, where)) {}

  const std::variant<std::string, Arg>& what() const { return what_; }

 private:
  std::variant<std::string, Arg> what_;
};

/// What becomes of one dimension in a general stage or an md_hom. (Collections and groups are written with
/// `collect` and `group`.)
struct Combiner {
  std::string_view word;
  std::optional<Op> op = {};
};
inline const Combiner cat{"cat"};
inline const Combiner last{"last"};  // of a `seq`, only the final state is kept
inline Combiner seq() { return {"seq"}; }
inline Combiner scatter() { return {"scatter"}; }
inline Combiner scatter(const Op& op) { return {"scatter", op}; }
inline Combiner fold(const Op& op) { return {"fold", op}; }
inline Combiner scan(const Op& op) { return {"scan", op}; }
inline Combiner scan_right(const Op& op) { return {"scan_right", op}; }

/// One output of a general stage. `to` names the array, its type and shape, the write map and a new version:
/// `c(i, j).as(f32, {N, M})`; `c()` for an array that is written at all its indices in order.
struct StageOutput {
  Ref to;
  std::vector<Combiner> combine;
  Arg value;
  Arg guard = {};  // not given: always
};

/// A definition: inputs, statements in order, results.
class Def {
 public:
  explicit Def(std::string name, Where where = Where::current());
  Def(Def&&) = default;
  Def(const Def&) = delete;
  Def& operator=(const Def&) = delete;

  // ---- what is given
  /// Names of sizes: `auto [H, W] = f.sizes("H", "W")`. The shapes of the inputs bind them.
  Value size(std::string name, Where where = Where::current()) const;
  template <class... Names>
  std::array<Value, sizeof...(Names)> sizes(const Names&... names) const {
    return {size(names)...};
  }

  Var input(std::string name, const Type& type, std::initializer_list<Arg> shape,
            Where where = Where::current());
  Var input(std::string name, const Type& type, Where where = Where::current());
  /// A scalar input that may be left out.
  Var input_or(std::string name, const Type& type, const Arg& fallback, Where where = Where::current());
  /// A constant array: its numbers take the type of the first number that they meet, or the given one.
  Var constant(std::string name, const List& numbers, Where where = Where::current());
  Var constant(std::string name, const Type& type, const List& numbers, Where where = Where::current());
  /// An array or scalar that a statement defines.
  Var array(std::string name, Where where = Where::current()) const;
  template <class... Names>
  std::array<Var, sizeof...(Names)> arrays(const Names&... names) const {
    return {array(names)...};
  }

  // ---- statements; formulas are written y(i) = …
  /// Repeats what `body` defines: `f.seq(t < T, {{u, u0}}, [&] { u(i) = …; })`. `range` is `t < T` or `in(t,
  /// a, b)`.
  void seq(const Arg& range, const std::vector<Carried>& states, const std::function<void()>& body);
  /// As long as the condition holds before a step.
  void seq_while(const Arg& condition, const std::vector<Carried>& states, const std::function<void()>& body);
  void seq_while(const Index& step, const Arg& condition, const std::vector<Carried>& states,
                 const std::function<void()>& body);
  /// One of two blocks of stages.
  void choose(const Arg& condition, const std::function<void()>& then,
              const std::function<void()>& otherwise);
  /// Prints at every point of the generators; without any, once.
  void print(const std::vector<Printed>& what, const std::vector<Arg>& generators = {}, const Arg& guard = {},
             Where where = Where::current());
  /// The same for an effect of a kind of its own, which is handed to whoever runs the program.
  void effect(const std::string& kind, const std::vector<Printed>& what,
              const std::vector<Arg>& generators = {}, const Arg& guard = {}, Where where = Where::current());
  /// Materialises an array, whatever the plan would prefer.
  void force(const Var& array, Where where = Where::current());
  /// The general stage: dimensions `i < n` or `in(i, a, b)`, an optional block at each point, and outputs.
  /// With a block, the value of an output names the array of the block that is its result.
  void stage(std::string name, std::initializer_list<Arg> dims, const std::vector<StageOutput>& outputs,
             Where where = Where::current());
  void stage(std::string name, std::initializer_list<Arg> dims, const std::function<void()>& block,
             const std::vector<StageOutput>& outputs, Where where = Where::current());

  /// A call of this definition in another one: `z() = blur(x)`.
  Value operator()(const Arg& a = {}, const Arg& b = {}, const Arg& c = {}, const Arg& d = {},
                   const Arg& e = {}, const Arg& f = {}, const Arg& g = {}, const Arg& h = {},
                   Where where = Where::current()) const;

  // ---- what comes out
  /// Results in order: arrays, or parts of collections (`g.keys()`).
  template <class... More>
  void result(const Arg& first, const More&... more) {
    add_result(first);
    (add_result(more), ...);
  }
  /// No reassociation, no contraction, libm.
  void strict();
  /// The program, checked. Throws Error with everything that is wrong; places are lines of C++.
  Program program() const;

  const std::shared_ptr<staged::DefState>& state() const { return state_; }

 private:
  void add_result(const Arg& result);

  std::shared_ptr<staged::DefState> state_;
};

}  // namespace twill

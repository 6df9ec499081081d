#include "import/range.h"

#include "import/def_state.h"
#include "import/inside.h"

namespace twill {

namespace {

using staged::DefState;
using staged::Inside;

std::string numbered(DefState& def, const std::string& what) {
  return what + "_" + std::to_string(++def.names);
}

/// A name for the result of an operator: the one given, or one of its own.
Var new_array(const std::shared_ptr<DefState>& def, const char* what, std::string name, const Where& where) {
  if (const Inside* inside = Inside::now())
    fail(Fault::User, "E0234", place_of(where),
         "an array would have to be made in " + inside->what() + ", each time that it is computed",
         "make the array before, outside of the function");
  if (name.empty()) name = numbered(*def, what);
  return staged::array_of(def, std::move(name), place_of(where));
}

Index new_index(DefState& def, const char* what, const Where& where) {
  return Index(numbered(def, what), where);
}

std::shared_ptr<const staged::Uses> uses_of(const Op& op) {
  return op.declaration() ? staged::uses_of(op.declaration()) : nullptr;
}

Value collected(const Value& element, const std::vector<Arg>& generators) {
  return staged::build({.kind = text::AstKind::Collect}, element.arg().place(), {element}, generators);
}

Value folded(const Op& op, const Value& element, const std::vector<Arg>& generators) {
  return staged::build({.kind = text::AstKind::Fold, .name = "fold", .op = op.name()}, element.arg().place(),
                       {element}, generators, uses_of(op));
}

/// A value of a statement of its own, or, in a function of every element, the fold itself.
Var folded_or_named(const std::shared_ptr<DefState>& def, const char* what, std::string name,
                    const Value& value, const Where& where) {
  if (Inside::now()) return staged::nameless(def, value);
  const Var made = new_array(def, what, std::move(name), where);
  made(where) = value;
  return made;
}

}  // namespace

Range::Range(const Var& array) : def_(array.definition()), array_(array) {}

Range::Range(std::shared_ptr<DefState> def, Description description)
    : def_(std::move(def)), description_(std::move(description)) {}

Range::Description Range::describe(const Where& where) const {
  if (description_) return *description_;
  const Index x = new_index(*def_, "x", where);
  return {{in(x, Arg(*array_, where))}, x};
}

Range Range::next(const char* what, Description description, std::string name, const Where& where) const {
  if (Inside::now()) return Range(def_, std::move(description));
  const Var made = new_array(def_, what, std::move(name), where);
  made(where) = collected(description.element, description.generators);
  return Range(made);
}

void Range::inside(const std::function<void()>& f) const {
  const Inside scope("a function of an element");
  f();
}

Value Range::of_each(const std::function<Value()>& f) const {
  std::optional<Value> value;
  inside([&] { value = f(); });
  return *value;
}

Var Range::array(std::string name, Where where) const {
  if (array_ && name.empty()) return *array_;
  const Description own = describe(where);
  const Var made = new_array(def_, "range", std::move(name), where);
  made(where) = collected(own.element, own.generators);
  return made;
}

Var Range::fold(const Op& op, std::string name, Where where) const {
  const Description own = describe(where);
  return folded_or_named(def_, "fold", std::move(name), folded(op, own.element, own.generators), where);
}

Var Range::count(std::string name, Where where) const {
  const Description own = describe(where);
  return folded_or_named(def_, "count", std::move(name), folded("+", 1, own.generators), where);
}

Range Range::scan(const Op& op, std::string name, Where where) const {
  const Var from = array({}, where);
  const Var made = new_array(def_, "scan", std::move(name), where);
  const Index k = new_index(*def_, "k", where);
  made(k) = twill::scan(op, k, from(k));
  return Range(made);
}

Range Range::when(const Value& condition, std::string name, Where where) const {
  Description own = describe(where);
  own.generators.insert(own.generators.begin(), condition);
  return next("when", std::move(own), std::move(name), where);
}

void Range::add_effect(const std::string& kind, const Value& what, const Description& over,
                       const Where& where) const {
  // Conditions stand in the effect, not among the generators.
  std::vector<Arg> generators;
  Arg guard;
  for (const Arg& arg : over.generators) {
    if (arg.is_generator())
      generators.push_back(arg);
    else
      guard = guard.given() ? (guard && arg).arg() : arg;
  }
  staged::add_effect(*def_, kind, {Printed(what, where)}, generators, guard, place_of(where));
}

Range iota(const Def& def, const Arg& count, Where where) {
  const Index i = new_index(*def.state(), "i", where);
  return Range(def.state(), {{in(i, 0, count)}, i});
}

Range list(const Def& def, const std::vector<Value>& values, Where where) {
  if (values.empty())
    fail(Fault::User, "E0234", place_of(where), "nothing tells the type of the elements of an empty list",
         "write list(f, {v}).when(condition)");
  const Index k = new_index(*def.state(), "k", where);
  Value element = values.back();
  for (std::size_t v = values.size() - 1; v-- > 0;)
    element = select(k < static_cast<int>(v) + 1, values[v], element);
  return Range(def.state(), {{in(k, 0, static_cast<int>(values.size()))}, element});
}

namespace {

/// The shortest of some lengths. Lengths that are written alike are equal.
Value shortest(const std::vector<Var>& arrays) {
  Value least = len(arrays.front());
  for (std::size_t k = 1; k < arrays.size(); ++k) least = min(least, len(arrays[k]));
  return least;
}

}  // namespace

Range zip(const Range& a, const Range& b, Where where) {
  const Var x = a.array({}, where), y = b.array({}, where);
  const Index k = new_index(*a.def_, "k", where);
  return Range(a.def_, {{in(k, 0, shortest({x, y}))}, tuple(x(k), y(k))});
}

Range zip(const Range& a, const Range& b, const Range& c, Where where) {
  const Var x = a.array({}, where), y = b.array({}, where), z = c.array({}, where);
  const Index k = new_index(*a.def_, "k", where);
  return Range(a.def_, {{in(k, 0, shortest({x, y, z}))}, tuple(x(k), y(k), z(k))});
}

Range concat(const Range& a, const Range& b, Where where) {
  const Var x = a.array({}, where), y = b.array({}, where);
  const Index k = new_index(*a.def_, "k", where);
  return Range(a.def_, {{in(k, 0, len(x) + len(y))}, select(k < len(x), x(k), y(k - len(x)))});
}

Var Grouping::define(const Op* op, const Value& value, std::string name, const Where& where) const {
  const Var made = new_array(range_.def_, "group", std::move(name), where);
  const Place place = key_.arg().place();
  made(where) = staged::build({.kind = text::AstKind::Group, .op = op ? op->name() : ""}, place,
                              {collected(tuple(key_, value), generators_)}, {}, op ? uses_of(*op) : nullptr);
  return made;
}

std::pair<Arg, Bucket> Grouping::each_bucket(const Where& where) const {
  const Var made = buckets({}, where);
  const Index b = new_index(*range_.def_, "b", where), x = new_index(*range_.def_, "x", where);
  return {in(b, 0, len(made)), Bucket(made.keys()(b), {in(x, made(b))}, x)};
}

Value Bucket::fold(const Op& op) const { return folded(op, element_, generators_); }

Value Bucket::count() const { return folded("+", 1, generators_); }

Var Grouping::fold(const Op& op, std::string name, Where where) const {
  return define(&op, value_, std::move(name), where);
}

Var Grouping::count(std::string name, Where where) const {
  const Op plus("+");
  return define(&plus, 1, std::move(name), where);
}

Var Grouping::buckets(std::string name, Where where) const {
  return define(nullptr, value_, std::move(name), where);
}

}  // namespace twill

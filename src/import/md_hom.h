// The form of multi-dimensional homomorphisms: a scalar function, one combine per dimension, and views, index
// functions that say which elements of the inputs a point reads and which element of each output it writes.
//
//   md_hom(f, {i, j, k}, {view(a, {i, k}), view(b, {k, j})}, [](Value x, Value y) { return x * y; },
//          {cat, cat, fold("+")}, {view(c, {i, j}).as(f32)});
#pragma once

#include "import/define.h"

namespace twill {

/// An array seen through an index function, given by its subscripts or as a lambda from the indices to
/// `at(…)`.
class View {
 public:
  using IndexFunction = std::function<Subscripts(const std::vector<Value>&)>;

  View(Var array, IndexFunction subscripts, const Where& where)
      : array_(std::move(array)), subscripts_(std::move(subscripts)), where_(where) {}

  /// The element type of an output, and its shape unless each subscript is an index alone.
  View as(const Type& type) const;
  View as(const Type& type, std::vector<Arg> shape) const;
  /// Combines of this output, where they differ from the others'.
  View combine(std::vector<Combiner> combiners) const;

  const Var& array() const { return array_; }
  Subscripts subscripts(const std::vector<Value>& indices) const { return subscripts_(indices); }
  const Where& where() const { return where_; }
  const std::optional<Type>& type() const { return type_; }
  const std::optional<std::vector<Arg>>& shape() const { return shape_; }
  const std::optional<std::vector<Combiner>>& combiners() const { return combiners_; }

 private:
  Var array_;
  IndexFunction subscripts_;
  Where where_;
  std::optional<Type> type_;
  std::optional<std::vector<Arg>> shape_;
  std::optional<std::vector<Combiner>> combiners_;
};

View view(const Var& array, std::initializer_list<Arg> subscripts, Where where = Where::current());

namespace staged {

using ScalarFunction = std::function<std::vector<Value>(const std::vector<Value>&)>;
void md_hom(Def& def, const std::vector<Arg>& dims, const std::vector<View>& inputs,
            const ScalarFunction& function, const std::vector<Combiner>& combine,
            const std::vector<View>& outputs, const Where& where);

}  // namespace staged

/// `view(a, [](Value i, Value j, Value k) { return at(i + j, k); })`.
template <class F>
View view(const Var& array, const F& index_function, Where where = Where::current()) {
  const auto subscripts = [=](const std::vector<Value>& indices) {
    const auto result = staged::call<Subscripts>(index_function, indices);
    if (!result) staged::wrong_view(array.name(), indices.size(), where);
    return *result;
  };
  return View(array, subscripts, where);
}

/// Adds a stage over `dims` (`i`, whose extent is that of the first input dimension that a view walks with it
/// alone, `i < n` or `in(i, a, b)`). At each point, `function` takes one value per input view and gives one
/// per output: a Value, or a std::vector<Value>.
template <class F>
void md_hom(Def& def, const std::vector<Arg>& dims, const std::vector<View>& inputs, const F& function,
            const std::vector<Combiner>& combine, const std::vector<View>& outputs,
            Where where = Where::current()) {
  const auto scalar = [&](const std::vector<Value>& values) {
    const auto result = staged::call<std::vector<Value>>(function, values);
    if (!result) staged::wrong_lambda("this md_hom", values.size(), where);
    return *result;
  };
  staged::md_hom(def, dims, inputs, scalar, combine, outputs, where);
}

}  // namespace twill

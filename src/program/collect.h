// What becomes of the values that the points of a stage yield: the interpreter's combines.
//
// The walk over the domain tells every output's collector where it is (enter, next, leave) and what the
// point yields (take, or skip where the guard fails); the collector builds the output's arrays.
#pragma once

#include "program/formulas.h"

#include <memory>

namespace twill {

/// What a point yields for an output: one value, or all elements of a block's result.
struct Item {
  std::span<const Number> numbers;           // leaves of the elements, one after the other
  std::span<const std::int64_t> shape = {};  // of the block's result; empty for one value
};

class Collector {
 public:
  virtual ~Collector() = default;

  /// Before the first point.
  virtual void begin() = 0;
  /// The loop over a dimension begins, has finished an index, ends.
  virtual void enter(std::size_t) {}
  virtual void next(std::size_t) {}
  virtual void leave(std::size_t) {}
  /// The current point yields an item, or nothing.
  virtual void take(const Item& item) = 0;
  virtual void skip() {}
  /// After the last point: the output's arrays are complete.
  virtual void finish() = 0;
};

/// The collector that the combines of an output ask for. Expressions that it needs are added to the
/// stage's formulas.
std::unique_ptr<Collector> make_collector(Environment& environment, Formulas& formulas, const Stage& stage,
                                          const Output& output);

/// The shape of an array that a stage defines.
class ShapeOf {
 public:
  ShapeOf(Environment& environment, Formulas& formulas, ArrayId array);

  /// The extent that the program says; `otherwise` if it is a born length that is not known yet.
  std::int64_t extent(std::size_t dimension, std::int64_t otherwise = 0);

  /// The actual shape: born lengths that stand alone from dimension `first` on take their values from it,
  /// all other extents must agree (E0514).
  void settle(std::span<const std::int64_t> actual, std::size_t first = 0);

 private:
  /// The size of a born length that stands alone in a dimension, or null.
  std::optional<std::int64_t>* born(std::size_t dimension);

  Environment& environment_;
  Formulas& formulas_;
  const Array& array_;
  std::vector<int> extents_;
};

/// The leaves of all elements of an array.
std::vector<Number> leaves_of_elements(const Data& data);

/// Stores leaves at an element, converted to the array's type.
void store_element(Data& data, std::span<const TypeLeaf> leaves, std::int64_t position,
                   std::span<const Number> value);

/// An array of a given type and shape from the leaves of its elements.
Data data_of(const Type& type, std::vector<std::int64_t> shape, std::span<const Number> numbers);

}  // namespace twill

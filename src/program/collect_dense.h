// The collector of dense outputs: Cat, Fold, Scan, Scatter and Seq.
//
// Values travel from the inside out. Every dimension with an operator is a level: an inner Fold holds an
// accumulator for each index of the Cat, Seq and Scan dimensions inside of it, and hands it on when its
// loop ends; a Scan hands its running value on at once. The outermost level, if it is a Fold or a Scatter,
// is the array itself: values are combined with the element they meet.
#pragma once

#include "program/collect.h"

#include <map>

namespace twill {

class DenseCollector : public Collector {
 public:
  DenseCollector(Environment& environment, Formulas& formulas, const Stage& stage, const Output& output);

  void begin() override;
  void enter(std::size_t dim) override;
  void leave(std::size_t dim) override;
  void take(const Item& item) override;
  void skip() override;
  void finish() override;

 private:
  using Value = std::vector<Number>;  // leaves; empty: nothing yet

  struct Level {
    const Operator* op;
    bool is_scan;
    std::size_t dim;                         // the outermost that it belongs to
    int identity = -1;                       // formula; -1: has none
    std::vector<std::size_t> key_dims = {};  // of the dimensions inside that are not folded away
    std::map<std::vector<std::int64_t>, Value> held =
        {};  // by the indices of key_dims and the item's element
  };

  void find_levels();
  void prepare(const Item* item);
  Value identity(const Level& level);
  void offer(std::size_t levels, std::span<const Number> value, std::int64_t inner);
  void hand_on(std::size_t level);
  std::int64_t position();
  void put(std::span<const Number> value, std::int64_t inner);
  void touch(std::int64_t inner);
  bool start(std::size_t element, std::span<Number> accumulator);

  Environment& environment_;
  Formulas& formulas_;
  const Stage& stage_;
  const Output& output_;
  std::vector<int> at_;
  ShapeOf shape_;
  std::vector<TypeLeaf> stored_;
  std::vector<Level> levels_;     // outermost first, without the one that the array itself is
  std::optional<Level> meeting_;  // the level that the array itself is
  bool reads_itself_ = false;     // the stage or its blocks read what was written so far
  bool starts_complete_ = false;  // every element has a value from the start
  bool accumulates_ = false;      // what is there already is the first value of meeting_
  bool overwrites_ = false;       // a fold takes the place of what is there, wherever the domain has a point

  bool prepared_ = false;
  std::int64_t inner_count_ = 1;  // elements of an item
  std::vector<bool> written_;     // by element: has it a value?
  std::vector<bool> started_;     // by element: has meeting_ an accumulator for it?
  std::vector<Number> combined_;  // the accumulators' leaves, in the operator's type
};

}  // namespace twill

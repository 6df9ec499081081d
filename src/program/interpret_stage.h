// The walk over a stage's domain.
#pragma once

#include "program/collect.h"
#include "program/interpret.h"

#include <limits>

namespace twill {

class StageRun;

/// One run of a program: its state, and its stages made ready (once each, also those in blocks).
class Interpreter {
 public:
  explicit Interpreter(const Program& program);
  ~Interpreter();

  /// Thrown when the points that may be computed are used up.
  struct Enough {};

  void run(std::span<const Stage> stages);

  std::int64_t points_left = std::numeric_limits<std::int64_t>::max();
  Environment environment;
  std::vector<EffectEvent> effects;
  std::function<void(ArrayId, const Data&)> defined;  // told about every array, if it is given

 private:
  std::unordered_map<const Stage*, std::unique_ptr<StageRun>> ready_;
};

/// A stage made ready: run() may be called many times.
class StageRun {
 public:
  StageRun(Interpreter& interpreter, const Stage& stage);

  void run();

 private:
  struct Loop {
    int lo = -1, hi = -1, condition = -1;  // formulas
    bool backwards = false;
  };
  struct Result {
    int guard = -1, value = -1;
    std::unique_ptr<Collector> collector;
  };
  struct Print {
    int guard = -1;
    std::vector<int> values;
  };

  struct Chosen {
    SymbolId size;
    int then = -1, otherwise = -1;  // formulas
  };

  void choose_directions();
  void walk(std::size_t depth);
  void point();
  void yield(std::size_t output);
  void yield_initial_state();
  void happen();
  const Block* block();
  void settle_sizes();
  void hand_on_state();
  void set_state(ArrayId inside, const Data& value);

  Interpreter& interpreter_;
  Environment& environment_;
  const Stage& stage_;
  Formulas formulas_;
  std::vector<Loop> loops_;
  std::vector<Result> results_;
  std::vector<Print> prints_;
  int branch_ = -1;                            // the condition of a Branch
  std::vector<Chosen> chosen_;                 // sizes that are known when a side of it was chosen
  std::optional<std::size_t> first_seq_;       // the outermost Seq dimension, if the block carries a state
  std::map<ArrayId, ShapeOf> state_shapes_;    // of carried states
  std::vector<std::size_t> running_, others_;  // outputs that are running values, and those that are not
  std::vector<bool> holds_;                    // by output: does its guard hold at the current point?
  std::int64_t steps_ = 0;                     // since the carried state was set to its initial value
};

}  // namespace twill

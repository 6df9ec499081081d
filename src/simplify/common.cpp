// Stages that compute the same. Two stages are equal if they differ in the names and numbers of their
// dimensions, arrays and lengths only; the later one goes, and what it defined is read from the earlier one.
#include "simplify/passes.h"

#include "fuse/profit.h"
#include "program/edit.h"
#include "simplify/rewriting.h"

#include <algorithm>
#include <map>

namespace twill {

namespace {

/// A stage as numbers that are equal for equal stages.
using Key = std::vector<std::int64_t>;

class Common {
 public:
  Common(Program& program, Notes& notes) : program_(program), pool_(*program.pool), notes_(notes) {
    results_.insert(program.results.begin(), program.results.end());
    for_each_stage(program.stages, [&](const Stage& stage) {
      const auto keep = [&](const Block& block) {
        made_.insert(block.results.begin(), block.results.end());
        for (const Carry& carry : block.carries) made_.insert(carry.next);
      };
      if (const auto* nested = std::get_if<Nested>(&stage.body)) keep(*nested->block);
      if (const auto* branch = std::get_if<Branch>(&stage.body)) {
        keep(*branch->then);
        keep(*branch->otherwise);
      }
    });
  }

  bool run() {
    work(program_.stages);
    if (renamed_.arrays.empty()) return false;
    rename_reads(program_, program_.stages, renamed_);
    return true;
  }

 private:
  /// Blocks see the stages before them, but not the other way round.
  void work(std::vector<Stage>& list) {
    std::vector<Stage> result;
    result.reserve(list.size());
    std::vector<Key> found_here;
    for (Stage& stage : list) {
      if (const auto* nested = std::get_if<Nested>(&stage.body)) {
        Block block = *nested->block;
        work(block.stages);
        stage.body = Nested{std::make_shared<const Block>(std::move(block))};
      } else if (const auto* branch = std::get_if<Branch>(&stage.body)) {
        Block then = *branch->then, otherwise = *branch->otherwise;
        work(then.stages);
        work(otherwise.stages);
        stage.body = Branch{branch->condition, std::make_shared<const Block>(std::move(then)),
                            std::make_shared<const Block>(std::move(otherwise))};
      } else if (is_pure(stage)) {
        Key key = key_of(stage);
        const auto known = known_.find(key);
        if (known != known_.end() && share(*known->second, stage)) continue;
        result.push_back(std::move(stage));
        if (known == known_.end()) {
          known_.emplace(key, &result.back());
          found_here.push_back(std::move(key));
        }
        continue;
      }
      result.push_back(std::move(stage));
    }
    for (const Key& key : found_here) known_.erase(key);
    list = std::move(result);
  }

  /// Does the stage define one of these arrays?
  static bool defines(const Stage& stage, const std::set<ArrayId>& arrays) {
    return std::any_of(stage.outputs.begin(), stage.outputs.end(), [&](const Output& output) {
      const auto defined = defined_arrays(output);
      return std::any_of(defined.begin(), defined.end(),
                         [&](ArrayId array) { return arrays.contains(array); });
    });
  }

  /// One of the two stages takes over what the other one defines. A result is an array of its own, a block
  /// makes its own results, and what is forced is made where it stands.
  bool share(Stage& first, Stage& second) {
    const auto is_fixed = [&](const Stage& stage) {
      return defines(stage, made_) || std::any_of(stage.outputs.begin(), stage.outputs.end(),
                                                  [](const Output& output) { return output.force; });
    };
    if (is_fixed(second)) return false;
    if (defines(second, results_)) {
      if (is_fixed(first) || defines(first, results_)) return false;
      // The earlier one makes what the later one is known for.
      std::swap(first, second);
    }
    take_over(first, second);
    return true;
  }

  static bool is_pure(const Stage& stage) {
    return stage.effects.empty() && stage.hints.empty() && !any_is<Seq>(stage) &&
           std::none_of(stage.outputs.begin(), stage.outputs.end(), [&](const Output& output) {
             return !is_running(output) && reads(stage, output.array);
           });
  }

  void take_over(const Stage& first, const Stage& second) {
    for (std::size_t k = 0; k < second.outputs.size(); ++k) {
      const auto mine = defined_arrays(second.outputs[k]), others = defined_arrays(first.outputs[k]);
      for (std::size_t a = 0; a < mine.size(); ++a) {
        renamed_.arrays[mine[a]] = others[a];
        for (std::size_t d = 0; d < program_[mine[a]].shape.size(); ++d) {
          const auto* size = as<SizeRef>(program_[mine[a]].shape[d]);
          const auto* other = as<SizeRef>(program_[others[a]].shape[d]);
          if (size && other && size->symbol != other->symbol) renamed_.sizes[size->symbol] = other->symbol;
        }
      }
    }
    notes_.done.push_back({"same",
                           {second.name, first.name},
                           "'" + second.name + "' is the same as '" + first.name + "'",
                           second.place});
  }

  // ---- keys

  /// With what is gone already under the name that stays, and the stage's own things by their position.
  Key key_of(const Stage& stage) {
    std::map<DimId, Expr> dims;
    std::map<SymbolId, Expr> own;
    std::map<ArrayId, Expr> running;
    for (std::size_t d = 0; d < stage.dims.size(); ++d)
      dims[stage.dims[d].id] = pool_.arg(static_cast<int>(d), Scalar::I64);
    for (const SymbolId length : lengths_born_in(program_, stage))
      own.emplace(length, pool_.arg(1000 + static_cast<int>(own.size()), Scalar::I64));
    for (const Output& output : stage.outputs)
      if (is_running(output))
        running.emplace(output.array,
                        pool_.arg(2000 + static_cast<int>(running.size()), program_[output.array].type));
    Rewriter positions(pool_, [&](Expr node) -> Expr {
      if (const auto* read = as<Read>(node); read && running.contains(read->array))
        return running.at(read->array);
      if (const auto* index = as<IndexRef>(node); index && dims.contains(index->dim))
        return dims.at(index->dim);
      if (const auto* size = as<SizeRef>(node); size && own.contains(size->symbol))
        return own.at(size->symbol);
      return renamed_.of(pool_, node);
    });
    Key key;
    const auto put = [&](Expr e) { key.push_back(e ? positions(e)->number : -1); };
    const auto put_array = [&](ArrayId array) {
      key.push_back(pool_.arg(0, program_[array].type)->number);
      key.push_back(program_[array].rank());
      for (const Expr extent : program_[array].shape) put(extent);
    };
    for (const Dim& dim : stage.dims) {
      put(dim.lo);
      put(dim.hi);
    }
    for (const Output& output : stage.outputs) {
      for (const ArrayId array : defined_arrays(output)) put_array(array);
      for (const Combine& combine : output.combine) put_combine(combine, key);
      for (const Expr at : output.at) put(at);
      for (const Expr e : {output.value, output.guard, output.key}) put(e);
      key.push_back(output.into ? renamed_.of(*output.into).value : -1);
      key.push_back(output.accumulates);
    }
    return key;
  }

  void put_combine(const Combine& combine, Key& key) {
    key.push_back(static_cast<std::int64_t>(combine.index()));
    if (const auto* scan = std::get_if<Scan>(&combine)) key.push_back(static_cast<std::int64_t>(scan->from));
    const Operator* op = operator_of(combine);
    key.push_back(op ? 1 : 0);
    if (!op) return;
    key.push_back(op->prim ? static_cast<std::int64_t>(*op->prim) : -1);
    key.push_back(op->prim ? -1 : op->function.value);
    key.push_back(op->identity ? op->identity->number : -1);
    key.push_back(op->associative + 2 * op->commutative);
  }

  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
  std::set<ArrayId> results_;
  std::set<ArrayId> made_;  // results of blocks, and next states
  std::map<Key, Stage*> known_;
  Renaming renamed_;
};

}  // namespace

bool share_stages(Program& program, Notes& notes) { return Common(program, notes).run(); }

}  // namespace twill

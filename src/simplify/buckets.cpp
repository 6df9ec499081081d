// Buckets that nobody sees. A group that collects values, of which only folds over each bucket, the number of
// its elements and the keys are used, folds its buckets while they are filled: the elements of a bucket are
// in the order of their points, so a fold over the bucket takes the same values in the same order.
#include "simplify/passes.h"

#include "fuse/profit.h"
#include "program/affine_of.h"
#include "program/buckets.h"
#include "program/edit.h"
#include "program/index_use.h"
#include "program/regroup.h"
#include "program/typing.h"
#include "simplify/rewriting.h"

#include <algorithm>

namespace twill {

namespace {

struct Refusal {
  std::string code, why;
};

[[noreturn]] void refuse(std::string code, std::string why) {
  throw Refusal{std::move(code), std::move(why)};
}

/// What is folded for every bucket: in terms of the points of the group.
struct BucketFold {
  Operator op;
  Expr value;
  friend bool operator==(const BucketFold&, const BucketFold&) = default;
};

/// A stage whose innermost loop goes through a bucket.
struct Consumer {
  std::string stage;
  Expr bucket;                    // its number
  std::vector<BucketFold> folds;  // one for each output
  bool for_all;                   // it has one element for every bucket, in their order, and nothing else
};

/// How a group that collects is used, and what it becomes.
class BucketUse {
 public:
  BucketUse(Region& region, std::size_t position, std::size_t output)
      : region_(region),
        program_(region.program),
        pool_(*region.program.pool),
        uses_(region),
        position_(position),
        at_(output),
        group_(region.stages[position].outputs[output]),
        values_(group_.array),
        offsets_(*group_.offsets),
        count_(bucket_count(region.program, group_)) {}

  /// Looks at everything before it changes anything.
  void fold() {
    look_at_group();
    std::set<int> users = uses_.readers(values_);
    users.insert(uses_.readers(offsets_).begin(), uses_.readers(offsets_).end());
    for (const int user : users) look_at(region_.stages[static_cast<std::size_t>(user)]);
    come_first();
    fold_while_filling();
  }

 private:
  Stage& group_stage() { return region_.stages[position_]; }
  std::string quoted(ArrayId array) const { return "'" + program_[array].name + "'"; }
  static std::string quoted(const Stage& stage) { return "'" + stage.name + "'"; }

  // ---- may it be?

  void look_at_group() {
    if (!std::holds_alternative<Formula>(group_stage().body))
      refuse("block", quoted(group_stage()) + " is a block");
    if (has_hint(group_stage(), Hint::Never)) refuse("never", quoted(group_stage()) + " says never");
    if (group_.force) refuse("forced", quoted(values_) + " is forced");
    const auto* total = as<SizeRef>(program_[values_].shape.front());
    const std::set<int>& counters = uses_.users(total->symbol);
    if (uses_.is_held(values_) || uses_.is_held(offsets_) || uses_.is_held(total->symbol) ||
        std::any_of(counters.begin(), counters.end(),
                    [&](int s) { return s != static_cast<int>(position_); }))
      refuse("whole", uses_.is_held(values_) ? "" : "its buckets are needed as they are");
  }

  void look_at(const Stage& stage) {
    Stage rest = stage;
    if (reads(stage, values_)) {
      consumers_.push_back(fold_over_bucket(stage));
      leave_bucket(rest);
    } else if (!stage.dims.empty() && bucket_of(stage.dims.back())) {
      // It goes through a bucket without a look at the elements: to count them, say.
      const auto arrays = arrays_;
      const auto sizes = sizes_;
      try {
        consumers_.push_back(fold_over_bucket(stage));
        leave_bucket(rest);
      } catch (const Refusal&) {
        arrays_ = arrays;
        sizes_ = sizes;
      }
    }
    for_each_expr(rest, [&](Expr root) {
      const Expr known = with_sizes(root, [&](Expr) { return pool_.integer(0); });
      counts_ = counts_ || known != root;
      if (mentions(known, offsets_) || mentions(known, values_))
        refuse("whole", quoted(stage) + " needs to know where buckets begin");
    });
  }

  Consumer fold_over_bucket(const Stage& stage) {
    const std::string name = quoted(stage);
    if (!std::holds_alternative<Formula>(stage.body)) refuse("block", name + " is a block");
    if (has_hint(stage, Hint::Never)) refuse("never", name + " says never");
    if (!stage.effects.empty()) refuse("effect", name + " has effects for the elements of a bucket");
    const std::optional<Expr> bucket = stage.dims.empty() ? std::nullopt : bucket_of(stage.dims.back());
    if (!bucket) refuse("element", name + " reads elements of a bucket without going through it");
    if (mentions(*bucket, offsets_) || mentions(*bucket, values_))
      refuse("whole", name + " chooses a bucket by what is in others");
    Consumer consumer{stage.name, *bucket, {}, is_for_all(stage, *bucket)};
    for (const Output& output : stage.outputs) consumer.folds.push_back(fold_of(stage, output, consumer));
    return consumer;
  }

  /// What is left of a consumer besides its folds.
  static void leave_bucket(Stage& stage) {
    stage.dims.pop_back();
    for (Output& output : stage.outputs) {
      output.combine.pop_back();
      output.value = output.guard = {};
    }
  }

  /// The number of the bucket that a dimension goes through.
  std::optional<Expr> bucket_of(const Dim& dim) const {
    if (!dim.hi || dim.condition) return std::nullopt;
    if (integer_of(dim.lo) == 0) return bucket_of_size(dim.hi);
    const Expr first = start_of(dim.lo), end = start_of(dim.hi);
    return first && end && is_next(first, end) ? std::optional(first) : std::nullopt;
  }

  /// The bucket that begins here; null if this is no begin.
  Expr start_of(Expr e) const {
    const auto* read = as<Read>(e);
    return read && read->array == offsets_ && read->rules.front() == Boundary::Inside ? e->args.front()
                                                                                      : Expr{};
  }

  bool is_next(Expr bucket, Expr next) const {
    if (pool_.apply(Prim::Add, {bucket, pool_.integer(1)}) == next) return true;
    const auto a = SizePolynomial::of(bucket), b = SizePolynomial::of(next);
    return a && b && *a + SizePolynomial(1) == *b;
  }

  /// The bucket whose number of elements this is.
  std::optional<Expr> bucket_of_size(Expr e) const {
    const auto* apply = as<Apply>(e);
    if (!apply || apply->prim != Prim::Sub) return std::nullopt;
    const Expr end = start_of(e->args[0]), first = start_of(e->args[1]);
    return first && end && is_next(first, end) ? std::optional(first) : std::nullopt;
  }

  /// One element for every bucket?
  bool is_for_all(const Stage& stage, Expr bucket) const {
    const Expr index = pool_.index(stage.dims.front().id);
    return stage.dims.size() == 2 && integer_of(stage.dims.front().lo) == 0 &&
           stage.dims.front().hi == count_ && bucket == index &&
           std::all_of(stage.outputs.begin(), stage.outputs.end(), [&](const Output& output) {
             return is<Cat>(output.combine.front()) && output.at == std::vector{index} &&
                    program_[output.array].shape == std::vector{count_};
           });
  }

  BucketFold fold_of(const Stage& stage, const Output& output, const Consumer& consumer) {
    const std::string name = quoted(output.array);
    const auto* fold = std::get_if<Fold>(&output.combine.back());
    if (!fold || output.into) refuse("combine", name + " is no fold over the elements of a bucket");
    for (std::size_t d = 0; d + 1 < output.combine.size(); ++d) {
      const Combine& around = output.combine[d];
      const auto* outer = std::get_if<Fold>(&around);
      if (outer && outer->op == fold->op && !regroups(program_, fold->op))
        refuse("order", name + " folds the elements of all buckets in order");
      if (!outer && !is<Cat>(around) && !(is<Scan>(around) && !output.guard))
        refuse("combine", name + " is no fold over the elements of a bucket");
    }
    const Expr value = at_group(stage, consumer, output.value, name);
    if (!output.guard) return {fold->op, value};
    // A bucket has elements even if none of them passes: those that do not pass change nothing.
    if (!fold->op.prim || !(fold->op == builtin_operator(pool_, *fold->op.prim, fold->op.type)))
      refuse("guard", name + " leaves out elements of a bucket, with an operator of the user's");
    const Expr guard = at_group(stage, consumer, output.guard, name);
    return {fold->op, pool_.select(guard, value, fold->op.identity)};
  }

  /// An expression at an element of a bucket, as one at the point of the group that yields it.
  Expr at_group(const Stage& stage, const Consumer& consumer, Expr root, const std::string& name) {
    const Dim& inner = stage.dims.back();
    const Expr index = pool_.index(inner.id);
    const bool counted = integer_of(inner.lo) == 0;
    const auto is_element = [&](Expr at) {
      if (!counted) return at == index;
      const auto* apply = as<Apply>(at);
      return apply && apply->prim == Prim::Add &&
             ((start_of(at->args[0]) == consumer.bucket && at->args[1] == index) ||
              (start_of(at->args[1]) == consumer.bucket && at->args[0] == index));
    };
    const auto replaced = [&](Expr element, Expr key) {
      return rewrite(pool_, root, [&](Expr node) -> Expr {
        const auto* read = as<Read>(node);
        if (!read || read->rules.size() != 1 || read->rules.front() != Boundary::Inside) return {};
        if (read->array == values_ && is_element(node->args.front())) return element;
        if (read->array == group_.keys && node->args.front() == consumer.bucket) return key;
        return {};
      });
    };
    const Type value_type = program_[values_].type, key_type = group_.key->type;
    const Expr rest = replaced(pool_.arg(0, value_type), pool_.arg(1, key_type));
    if (mentions(rest, inner.id)) refuse("position", name + " uses the position of an element in its bucket");
    if (mentions(rest, values_)) refuse("element", name + " reads other elements of a bucket");
    for (const Dim& dim : stage.dims)
      if (mentions(rest, dim.id)) refuse("bucket", name + " uses more of a bucket than its elements");
    if (mentions(rest, offsets_)) refuse("bucket", name + " uses the size of a bucket for its elements");
    bool partial = false;
    visit(rest, [&](Expr node) {
      partial = partial || is_partial(node, program_.functions);
      if (const auto* read = as<Read>(node)) arrays_.insert(read->array);
      if (const auto* size = as<SizeRef>(node)) sizes_.insert(size->symbol);
    });
    if (partial && !consumer.for_all)
      refuse("partial", name + " may fail, and would be computed for other buckets as well");
    return replaced(pool_.cast(value_type, group_.value), group_.key);
  }

  static bool mentions(Expr root, ArrayId array) {
    bool found = false;
    visit(root, [&](Expr node) {
      const auto* read = as<Read>(node);
      found = found || (read && read->array == array);
    });
    return found;
  }
  static bool mentions(Expr root, DimId dim) { return twill::mentions(root, dim); }

  /// With something else in the place of numbers of elements.
  Expr with_sizes(Expr root, const std::function<Expr(Expr bucket)>& size) const {
    if (!root) return root;
    return rewrite(pool_, root, [&](Expr node) {
      const std::optional<Expr> bucket = bucket_of_size(node);
      return bucket ? size(*bucket) : Expr{};
    });
  }

  // ---- doing it

  /// What the folds read besides has to be there before the group is filled.
  void come_first() {
    const auto moved = bring_before(program_, region_.stages, position_, arrays_, sizes_);
    if (!moved) refuse("needs", "what its folds need is known only after it");
    position_ = *moved;
  }

  void fold_while_filling() {
    NewNames names(program_);
    std::vector<std::pair<BucketFold, ArrayId>> made;
    const auto known = [&](const BucketFold& fold) {
      return std::find_if(made.begin(), made.end(), [&](const auto& one) { return one.first == fold; });
    };
    const auto array_of = [&](const BucketFold& fold, const char* suffix) {
      const auto found = known(fold);
      if (found != made.end()) return found->second;
      const std::string name = names.like(program_[values_].name + suffix);
      const ArrayId array = program_.add_array(name, fold.op.type, {count_}, program_[values_].place);
      made.emplace_back(fold, array);
      return array;
    };
    for (const Consumer& consumer : consumers_) {
      Stage& stage = stage_named(consumer.stage);
      leave_bucket(stage);
      std::vector<Output> left;
      for (std::size_t k = 0; k < stage.outputs.size(); ++k) {
        Output& output = stage.outputs[k];
        if (consumer.for_all && known(consumer.folds[k]) == made.end()) {
          made.emplace_back(consumer.folds[k], output.array);
          continue;
        }
        const ArrayId folded = array_of(consumer.folds[k], "_fold");
        output.value = pool_.read(folded, program_[folded].type, {consumer.bucket});
        left.push_back(std::move(output));
      }
      stage.outputs = std::move(left);
    }
    if (counts_) {
      const ArrayId sizes =
          array_of({builtin_operator(pool_, Prim::Add, Scalar::I64), pool_.integer(1)}, "_count");
      for (Stage& stage : region_.stages)
        for_each_slot(stage, [&](Expr& slot) {
          slot = with_sizes(slot, [&](Expr bucket) { return pool_.read(sizes, Scalar::I64, {bucket}); });
        });
    }
    // Without values there are still keys.
    if (made.empty())
      array_of({builtin_operator(pool_, Prim::Or, Scalar::Bool), pool_.boolean(true)}, "_any");
    std::vector<Output>& outputs = group_stage().outputs;
    outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(at_));
    for (std::size_t k = 0; k < made.size(); ++k) {
      Output output = group_;
      output.offsets.reset();
      if (k > 0) output.keys.reset();
      output.array = made[k].second;
      output.value = made[k].first.value;
      output.combine.assign(group_.combine.size(), Group{made[k].first.op});
      outputs.insert(outputs.begin() + static_cast<std::ptrdiff_t>(at_ + k), std::move(output));
    }
    for (const Consumer& consumer : consumers_)
      std::erase_if(region_.stages, [&](const Stage& stage) {
        return stage.name == consumer.stage && stage.outputs.empty();
      });
  }

  Stage& stage_named(const std::string& name) {
    return *std::find_if(region_.stages.begin(), region_.stages.end(),
                         [&](const Stage& stage) { return stage.name == name; });
  }

  Region& region_;
  Program& program_;
  ExprPool& pool_;
  const UseTable uses_;
  std::size_t position_, at_;
  Output group_;
  ArrayId values_, offsets_;
  Expr count_;
  std::vector<Consumer> consumers_;
  bool counts_ = false;
  std::set<ArrayId> arrays_;
  std::set<SymbolId> sizes_;
};

/// A group that collects and has not been looked at: its stage and its output.
std::optional<std::pair<std::size_t, std::size_t>> next_group(const Region& region,
                                                              const std::set<ArrayId>& seen) {
  for (std::size_t s = 0; s < region.stages.size(); ++s)
    for (std::size_t k = 0; k < region.stages[s].outputs.size(); ++k) {
      const Output& output = region.stages[s].outputs[k];
      if (is_group(output) && !bucket_operator(output) && !seen.contains(output.array))
        return std::pair(s, k);
    }
  return std::nullopt;
}

}  // namespace

bool fold_buckets(Region& region, Notes& notes) {
  bool changed = false;
  std::set<ArrayId> seen;
  while (const auto group = next_group(region, seen)) {
    const auto [stage, output] = *group;
    const std::string name = region.stages[stage].name;
    const auto [array, place] = [&] {
      const Output& collected = region.stages[stage].outputs[output];
      return std::pair(collected.array, collected.place);
    }();
    const std::string quoted = "'" + region.program[array].name + "'";
    seen.insert(array);
    try {
      BucketUse(region, stage, output).fold();
      notes.done.push_back(
          {"buckets", {name}, "the buckets of " + quoted + " are folded while they are filled", place});
      changed = true;
    } catch (Refusal& refusal) {
      if (!refusal.why.empty())
        notes.not_done.push_back(
            {std::move(refusal.code), {name}, quoted + " keeps its buckets: " + refusal.why, place});
    }
  }
  return changed;
}

}  // namespace twill

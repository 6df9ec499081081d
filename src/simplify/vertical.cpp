// Vertical fusion where there is no choice: a producer becomes part of the only stage that needs it, if
// nothing but single operations is computed twice for it and nothing that could run in parallel ends up in a
// loop that cannot.
#include "simplify/passes.h"

#include "fuse/inline.h"
#include "fuse/join.h"
#include "fuse/profit.h"
#include "program/edit.h"

#include <algorithm>
#include <map>

namespace twill {

namespace {

class Vertical {
 public:
  Vertical(Region& region, Notes& notes) : region_(region), notes_(notes), uses_(region) {
    for (const Stage& stage : region.stages) operations_.push_back(operations_of(stage));
  }

  bool run() {
    for (std::size_t c = 0; c < region_.stages.size(); ++c) absorb_all(static_cast<int>(c));
    std::size_t kept = 0;
    for (std::size_t s = 0; s < region_.stages.size(); ++s) {
      if (gone_.contains(static_cast<int>(s))) continue;
      if (kept != s) region_.stages[kept] = std::move(region_.stages[s]);
      ++kept;
    }
    region_.stages.resize(kept);
    return changed_ || !gone_.empty();
  }

 private:
  Stage& stage(int position) { return region_.stages[static_cast<std::size_t>(position)]; }

  void absorb_all(int consumer) {
    // What a producer reads is read by the consumer then: nearer producers first.
    std::set<int> waiting, tried;
    const auto wait_for = [&](const std::set<ArrayId>& arrays) {
      for (const ArrayId array : arrays) {
        const int producer = uses_.definer(array);
        if (producer >= 0 && producer < consumer && tried.insert(producer).second) waiting.insert(producer);
      }
    };
    wait_for(uses_.reads(consumer));
    while (!waiting.empty()) {
      const int next = *waiting.rbegin();
      waiting.erase(next);
      // A single value has tried its own producers, and for them this stage is no other consumer than that.
      const std::set<ArrayId> more = stage(next).dims.empty() ? std::set<ArrayId>{} : uses_.reads(next);
      if (auto reason = absorb(next, consumer))
        notes_.not_done.push_back(std::move(*reason));
      else
        wait_for(more);
    }
  }

  /// Nothing if the producer has become part of the consumer.
  std::optional<Reason> absorb(int p, int c) {
    Stage &producer = stage(p), &consumer = stage(c);
    const auto no = [&](std::string code, const std::string& why) {
      return Reason{std::move(code),
                    {producer.name, consumer.name},
                    "'" + producer.name + "' is not part of '" + consumer.name + "': " + why,
                    consumer.place};
    };
    if (producer.dims.empty()) {
      if (consumer.dims.empty() && substitute(p, c)) return std::nullopt;
      return no("no-loop", "it is a single value");
    }
    if (has_hint(producer, Hint::Recompute) && recompute(p, c)) return std::nullopt;
    const std::set<ArrayId> gone = gone_into(region_, uses_, p, c);
    for (const Output& output : producer.outputs) {
      if (!gone.contains(output.array) && !is_running(output))
        return no("shared", "'" + region_.program[output.array].name + "' is needed elsewhere as well");
    }
    if (has_effects(producer)) return no("effect", "it has effects of its own");
    if (length_needed_before(p, c)) return no("length", "its length is needed before");
    if (auto reason =
            why_worse(region_.program, producer, operations_[static_cast<std::size_t>(p)], consumer))
      return reason;
    auto apart = why_not_join({region_.program, producer, consumer, gone});
    if (!apart) {
      consumer = joined(region_.program, producer, consumer, gone);
      absorbed(p, c, gone);
      return std::nullopt;
    }
    if (producer.outputs.size() > 1) return apart;
    const Output& output = producer.outputs.front();
    if (auto reason = why_not_inline(region_.program, producer, output, consumer))
      return is_map_like(apart->code) ? reason : apart;
    if (has_hint(producer, Hint::Remember) && !reads_each_once(consumer, output.array))
      return no("remember", "it is not to be computed again");
    if (!reads_each_once(consumer, output.array) && !reads_few(region_.program, producer, output, consumer) &&
        !is_as_quick_as_reading(region_.program, producer, output, consumer))
      return no("repeated",
                "elements of '" + region_.program[output.array].name + "' would be computed again");
    inline_reads(region_.program, producer, output, consumer);
    absorbed(p, c, gone);
    return std::nullopt;
  }

  /// Straight-line code: the values of the producer take the place of their reads.
  bool substitute(int p, int c) {
    Stage &producer = stage(p), &consumer = stage(c);
    const std::set<ArrayId> gone = gone_into(region_, uses_, p, c);
    for (const Stage* one : {&producer, &consumer})
      if (has_hint(*one, Hint::Never) || !std::holds_alternative<Formula>(one->body)) return false;
    std::map<ArrayId, const Output*> values;
    for (const Output& output : producer.outputs) {
      if (!gone.contains(output.array) || output.guard || output.into || output.force) return false;
      values[output.array] = &output;
    }
    if (has_effects(producer)) return false;
    const auto of = [&](Expr node) {
      const auto* read = as<Read>(node);
      const auto found = read ? values.find(read->array) : values.end();
      return found == values.end() ? nullptr : found->second;
    };
    bool same = true;
    for_each_expr(consumer, [&](Expr root) {
      visit(root, [&](Expr node) {
        const Output* output = of(node);
        same = same && (!output || output->at == node->args);
      });
    });
    if (!same) return false;
    for_each_slot(consumer, [&](Expr& slot) {
      slot = rewrite(*region_.program.pool, slot, [&](Expr node) {
        const Output* output = of(node);
        return output ? region_.program.pool->cast(region_.program[output->array].type, output->value)
                      : Expr{};
      });
    });
    absorbed(p, c, gone);
    return true;
  }

  /// Computes what the consumer reads of the producer where it is read, as often as that is.
  bool recompute(int p, int c) {
    Stage &producer = stage(p), &consumer = stage(c);
    bool any = false;
    for (const Output& output : producer.outputs) {
      if (!reads(consumer, output.array) || why_not_inline(region_.program, producer, output, consumer))
        continue;
      inline_reads(region_.program, producer, output, consumer);
      notes_.done.push_back({"recomputed",
                             {producer.name, consumer.name},
                             "'" + consumer.name + "' computes what it reads of '" +
                                 region_.program[output.array].name + "' again",
                             producer.place});
      any = true;
    }
    if (any) uses_.share(p, c);
    changed_ = changed_ || any;
    return any;
  }

  /// Is the reason why the two do not share their points one that does not matter to a value?
  static bool is_map_like(const std::string& code) { return code == "range" || code == "other-element"; }

  bool length_needed_before(int p, int c) {
    for (const SymbolId length : lengths_born_in(region_.program, stage(p)))
      for (const int user : uses_.users(length))
        if (user > p && user < c && !gone_.contains(user)) return true;
    return false;
  }

  void absorbed(int p, int c, const std::set<ArrayId>& gone) {
    notes_.done.push_back(
        {"fused",
         {stage(p).name, stage(c).name},
         "'" + stage(p).name + "' is computed inside of '" + stage(c).name + "' and needs no memory",
         stage(p).place});
    operations_[static_cast<std::size_t>(c)] += operations_[static_cast<std::size_t>(p)];
    uses_.merge(p, c, gone, lengths_gone(region_.program, stage(p), stage(c)));
    gone_.insert(p);
  }

  Region& region_;
  Notes& notes_;
  UseTable uses_;
  std::vector<int> operations_;  // per point
  std::set<int> gone_;
  bool changed_ = false;
};

}  // namespace

bool fuse_vertically(Region& region, Notes& notes) { return Vertical(region, notes).run(); }

}  // namespace twill

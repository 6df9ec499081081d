#include "emit/split_running.h"

#include "program/index_use.h"
#include "program/regroup.h"

#include <algorithm>
#include <map>
#include <set>

namespace twill::nest {

namespace {

/// So many points at a time: what is remembered of them stays in the nearest cache.
constexpr std::int64_t points_at_once = 128;

/// Of fewer points there is nothing to gain.
constexpr std::int64_t least_points = 16;

/// So many values are folded among themselves before they meet what runs along.
constexpr int group = 4;

/// With so many operations a value is computed in lanes before it is folded.
constexpr int least_work = 2;

class Running {
 public:
  Running(Tables& tables, const For& loop, std::span<const DimId> around)
      : t_(tables), loop_(loop), around_(around) {}

  std::optional<Statement> split() {
    const Literal *lo = as<Literal>(loop_.lo), *hi = as<Literal>(loop_.hi);
    if (lo && hi && hi->value.i - lo->value.i < least_points) return std::nullopt;
    if (!flatten(loop_.body) || puts_.empty() || !sort_out()) return std::nullopt;
    Code code;
    if (folds_.empty()) {
      if (!loop_.learns || !others_.empty() || sums_.empty()) return std::nullopt;
      For lanes = loop_;
      lanes.by = By::Simd;
      lanes.reductions = reductions();
      code.push_back({std::move(lanes)});
    } else {
      if (!sums_.empty() && is_row()) return std::nullopt;
      in_chunks(code);
    }
    if (positive_.empty() && code.size() == 1) return std::move(code.front());
    return Statement{Within{positive_, std::move(code)}};
  }

 private:
  /// What runs along, and what is folded into it.
  struct Fold {
    ArrayId variable;
    Expr value;
    Operator op;
  };

  bool flatten(const Code& body) {
    for (const Statement& statement : body) {
      if (const Within* within = std::get_if<Within>(&statement.kind)) {
        positive_.insert(positive_.end(), within->positive.begin(), within->positive.end());
        if (!flatten(within->body)) return false;
      } else if (const Put* put = std::get_if<Put>(&statement.kind)) {
        puts_.push_back(put);
      } else if (const Local* local = std::get_if<Local>(&statement.kind)) {
        if (local->init || t_.program()[local->array].rank() != 0) return false;
        locals_.insert(local->array);
      } else {
        return false;
      }
    }
    return true;
  }

  static bool reads(Expr root, const std::set<ArrayId>& arrays) {
    bool found = false;
    visit(root, [&](Expr node) {
      const Read* read = as<Read>(node);
      found = found || (read && arrays.contains(read->array));
    });
    return found;
  }

  bool is_row() const {
    return std::ranges::any_of(puts_, [&](const Put* put) {
      return std::ranges::any_of(around_, [&](DimId index) {
        return mentions(put->value, index) ||
               std::ranges::any_of(put->at, [&](Expr at) { return mentions(at, index); });
      });
    });
  }

  bool is_read(ArrayId array, std::size_t from, std::size_t to) const {
    for (std::size_t k = from; k < to; ++k) {
      if (reads(puts_[k]->value, {array})) return true;
      for (const Expr at : puts_[k]->at)
        if (reads(at, {array})) return true;
    }
    return false;
  }

  /// Folds, sums that nobody reads, and the rest; false if there is something else.
  bool sort_out() {
    std::set<ArrayId> running, written;
    std::map<ArrayId, int> times;
    for (const Put* put : puts_) ++times[t_.nest().memory(put->array)];
    for (std::size_t k = 0; k < puts_.size(); ++k) {
      const Put& put = *puts_[k];
      if (!put.checked.empty() || !put.value->type.is_scalar() || times[t_.nest().memory(put.array)] != 1)
        return false;
      if (!put.at.empty()) {
        const auto moves = [&](Expr at) { return factor_of(at, loop_.index).value_or(0) != 0; };
        if (put.op || std::ranges::none_of(put.at, moves)) return false;
        written.insert(t_.nest().memory(put.array));
        others_.push_back(&put);
      } else if (locals_.contains(put.array)) {
        if (put.op) return false;
        others_.push_back(&put);
      } else {
        if (!put.op || !put.op->prim || put.op->type != put.value->type) return false;
        if (is_read(put.array, 0, puts_.size())) {
          if (is_read(put.array, 0, k + 1)) return false;
          running.insert(put.array);
          folds_.push_back({put.array, put.value, *put.op});
        } else if (keeps_order(t_.program(), *put.op) || !put.op->identity) {
          return false;
        } else {
          sums_.push_back(&put);
        }
      }
    }
    std::set<ArrayId> own = running;
    own.insert(locals_.begin(), locals_.end());
    for (const Fold& fold : folds_)
      if (reads(fold.value, own)) return false;
    // What is written is read nowhere here, whatever its name.
    bool apart = true;
    const auto look = [&](Expr root) {
      visit(root, [&](Expr node) {
        const Read* read = as<Read>(node);
        apart = apart && !(read && written.contains(t_.nest().memory(read->array)));
      });
    };
    for (const Put* put : puts_) {
      look(put->value);
      for (const Expr at : put->at) look(at);
    }
    return apart;
  }

  std::vector<Reduction> reductions() const {
    std::vector<Reduction> all;
    for (const Put* put : sums_) all.push_back({put->array, *put->op});
    return all;
  }

  /// From right to left is from left to right with another index.
  Expr upward(Expr e) {
    if (!loop_.down || !e) return e;
    return t_.substitute(e, loop_.index,
                         t_.sub(t_.add(loop_.lo, loop_.hi), t_.add(t_.index(up_), t_.number(1))));
  }

  void in_chunks(Code& code) {
    const std::string name = t_.program().dim_names[static_cast<std::size_t>(loop_.index.value)];
    up_ = loop_.down ? t_.new_index(name + "_up") : loop_.index;
    const DimId chunk = t_.new_index(name + "_chunk"), end = t_.new_index(name + "_end");
    const Expr first = t_.index(chunk), last = t_.index(end);
    For chunks{.index = chunk, .lo = loop_.lo, .hi = loop_.hi, .step = points_at_once};
    chunks.body.push_back({Let{end, t_.min(t_.add(first, t_.number(points_at_once)), loop_.hi)}});
    std::map<ArrayId, Expr> at_point;  // what has run along there
    for (const Fold& fold : folds_) {
      const std::string own = t_.program()[fold.variable].name;
      const ArrayId all = chunk_of(own + "_all", fold.op.type, chunks.body);
      run(fold, all, first, last, chunks.body);
      at_point[fold.variable] = t_.read(all, {t_.sub(t_.index(up_), first)});
    }
    // Every lane has sums of its own, from the first chunk to the last one.
    std::map<ArrayId, ArrayId> own_sum;
    Code after;
    const Expr lane = t_.sub(t_.index(up_), first);
    for (const Put* put : sums_) {
      const DimId k = t_.new_index("lane");
      const ArrayId sums = chunk_of(t_.program()[put->array].name + "_lanes", put->op->type, code);
      own_sum[put->array] = sums;
      For begin{.index = k, .lo = t_.number(0), .hi = t_.number(points_at_once), .by = By::Simd};
      begin.body.push_back(t_.put(sums, {t_.index(k)}, put->op->identity));
      code.push_back({std::move(begin)});
      For join{.index = k,
               .lo = t_.number(0),
               .hi = t_.number(points_at_once),
               .by = By::Simd,
               .reductions = {{put->array, *put->op}}};
      join.body.push_back(t_.accumulate(put->array, {}, t_.read(sums, {t_.index(k)}), *put->op));
      after.push_back({std::move(join)});
    }
    For lanes{.index = up_, .lo = first, .hi = last, .by = By::Simd};
    const auto here = [&](Expr e) {
      return upward(rewrite(t_.pool(), e, [&](Expr node) {
        const Read* read = as<Read>(node);
        const auto found = read ? at_point.find(read->array) : at_point.end();
        return found == at_point.end() ? Expr{} : found->second;
      }));
    };
    for (const ArrayId local : locals_) lanes.body.push_back({Local{local, {}}});
    for (const Put* put : puts_) {
      if (at_point.contains(put->array)) continue;
      Put own = *put;
      own.value = here(own.value);
      for (Expr& at : own.at) at = here(at);
      if (const auto sums = own_sum.find(put->array); sums != own_sum.end())
        own = {sums->second, {lane}, t_.combine(*put->op, t_.read(sums->second, {lane}), own.value), {}, {}};
      lanes.body.push_back({std::move(own)});
    }
    if (!sums_.empty() || !others_.empty()) chunks.body.push_back({std::move(lanes)});
    code.push_back({std::move(chunks)});
    code.insert(code.end(), std::make_move_iterator(after.begin()), std::make_move_iterator(after.end()));
  }

  ArrayId chunk_of(const std::string& name, const Type& type, Code& code) {
    const ArrayId array = t_.new_array(name, type, {t_.number(points_at_once)});
    code.push_back({Local{array, {}}});
    return array;
  }

  static int work_of(Expr value) {
    int work = 0;
    visit(value, [&](Expr node) { work += as<Apply>(node) || as<Invoke>(node) || as<Select>(node) ? 1 : 0; });
    return work;
  }

  /// Folds the points of a chunk, and remembers what there is at each.
  void run(const Fold& fold, ArrayId all, Expr first, Expr last, Code& code) {
    const Expr point = t_.index(up_);
    Expr value = upward(fold.value);
    if (work_of(fold.value) >= least_work) {
      const ArrayId values = chunk_of(t_.program()[fold.variable].name + "_in", fold.op.type, code);
      For lanes{.index = up_, .lo = first, .hi = last, .by = By::Simd};
      lanes.body.push_back(t_.put(values, {t_.sub(point, first)}, value));
      code.push_back({std::move(lanes)});
      value = t_.read(values, {t_.sub(point, first)});
    }
    const auto in = [&](Expr at) { return t_.substitute(value, up_, at); };
    const auto remember = [&](Expr at, Expr what) { return t_.put(all, {t_.sub(at, first)}, what); };
    Expr from = first;
    if (regroups(t_.program(), fold.op)) {
      const DimId rest = t_.new_index(t_.program()[fold.variable].name + "_rest");
      For groups{.index = up_, .lo = first, .hi = t_.sub(last, t_.number(group - 1)), .step = group};
      Expr before;
      std::vector<ArrayId> folded;
      for (int k = 0; k < group; ++k) {
        const Expr one = in(t_.add(point, t_.number(k)));
        folded.push_back(
            t_.new_variable(t_.program()[fold.variable].name + "_" + std::to_string(k), fold.op.type));
        groups.body.push_back({Local{folded.back(), before ? t_.combine(fold.op, before, one) : one}});
        before = t_.read(folded.back());
      }
      for (int k = 0; k < group; ++k)
        groups.body.push_back(remember(
            t_.add(point, t_.number(k)),
            t_.combine(fold.op, t_.read(fold.variable), t_.read(folded[static_cast<std::size_t>(k)]))));
      groups.body.push_back(t_.put(fold.variable, {}, t_.combine(fold.op, t_.read(fold.variable), before)));
      code.push_back({std::move(groups)});
      code.push_back(
          {Let{rest, t_.sub(last, t_.pool().apply(Prim::Mod, {t_.sub(last, first), t_.number(group)}))}});
      from = t_.index(rest);
    }
    For single{.index = up_, .lo = from, .hi = last};
    single.body.push_back(t_.accumulate(fold.variable, {}, in(point), fold.op));
    single.body.push_back(remember(point, t_.read(fold.variable)));
    code.push_back({std::move(single)});
  }

  Tables& t_;
  const For& loop_;
  std::span<const DimId> around_;
  DimId up_;  // the index of a loop from left to right
  std::vector<Expr> positive_;
  std::vector<const Put*> puts_, sums_, others_;
  std::set<ArrayId> locals_;
  std::vector<Fold> folds_;
};

}  // namespace

std::optional<Statement> split_running(Tables& tables, const For& loop, std::span<const DimId> around) {
  return Running(tables, loop, around).split();
}

}  // namespace twill::nest

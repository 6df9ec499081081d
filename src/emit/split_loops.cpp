#include "emit/split_loops.h"

#include "emit/split_running.h"

#include "program/index_use.h"
#include "program/positive.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace twill::nest {

namespace {

/// So many points at a time: what is remembered of them stays in the nearest cache.
constexpr std::int64_t points_at_once = 128;

/// Of fewer points, or with less work for each, lanes compute nothing worth the trouble.
constexpr std::int64_t least_points = 8;
constexpr int least_work = 4;

/// Rows and columns of a block that is transposed at once: of both, whole cache lines.
constexpr std::int64_t side_of_block = 16;

/// What goes to places that data say, one after the other, does so for so many points in an iteration.
constexpr int places_at_once = 8;

/// Is it an element of a table, of a size known in advance, that lanes cannot look up? Its places are in
/// the table, or are brought into it by a boundary rule.
bool is_lookup(const Program& program, Expr e) {
  const Read* read = as<Read>(e);
  if (!read || read->rules.empty()) return false;
  const Array& table = program[read->array];
  if (!table.type.is_scalar() || byte_size(table.type) >= 4) return false;
  bool anywhere = false;
  for (std::size_t s = 0; s < read->rules.size(); ++s) {
    const Literal* extent = as<Literal>(table.shape[s]);
    if (!extent || extent->value.i < 1 || extent->value.i > std::numeric_limits<std::int32_t>::max())
      return false;
    if (read->rules[s] != Boundary::Inside && read->rules[s] != Boundary::Clamp) return false;
    anywhere = anywhere || reads_data(e->args[s]);
  }
  return anywhere;
}

/// The innermost lookups that take place whatever the values are.
class Lookups {
 public:
  explicit Lookups(const Program& program) : program_(program) {}

  void add(Expr root) { has_lookup(root); }

  std::vector<Expr> found;

 private:
  /// Is there one in the expression?
  bool has_lookup(Expr e) {
    if (const auto known = known_.find(e.get()); known != known_.end()) return known->second;
    const Apply* apply = as<Apply>(e);
    const bool lazy = as<Select>(e) || (apply && (apply->prim == Prim::And || apply->prim == Prim::Or));
    const Read* read = as<Read>(e);
    bool inside = false;
    for (std::size_t k = 0; k < e->args.size(); ++k) {
      const bool fallback = read && k >= read->rules.size();
      if ((k == 0 || !lazy) && !fallback) inside = has_lookup(e->args[k]) || inside;
    }
    if (!inside && is_lookup(program_, e)) {
      found.push_back(e);
      inside = true;
    }
    return known_[e.get()] = inside;
  }

  const Program& program_;
  std::unordered_map<const Node*, bool> known_;
};

class Splitter {
 public:
  explicit Splitter(Tables& tables) : t_(tables) {}

  void code(Code& list) {
    for (Statement& statement : list) {
      if (For* loop = std::get_if<For>(&statement.kind)) {
        if (loop->by == By::Simd) add_nothing_instead(*loop);
        const bool plain = !loop->down && loop->step == 1 && loop->reductions.empty();
        std::optional<Statement> instead;
        if (plain && loop->by == By::Simd) instead = split_lookups(*loop);
        if (loop->by == By::Seq && loop->step == 1 && loop->reductions.empty())
          instead = split_running(t_, *loop, around_);
        if (!instead && plain && loop->by == By::Seq) instead = transpose_blocks(*loop);
        if (!instead && plain && loop->by == By::Seq) instead = split_scatter(*loop);
        if (!instead && plain && loop->by == By::Simd) instead = without_checks(*loop);
        if (instead) {
          statement = std::move(*instead);
          continue;
        }
      }
      const Positive around = positive_;
      if (const Within* within = std::get_if<Within>(&statement.kind))
        for (const Expr e : within->positive) add_positive(e, positive_);
      const std::size_t loops = around_.size();
      if (const For* loop = std::get_if<For>(&statement.kind)) around_.push_back(loop->index);
      for_each_code(statement, [&](Code& inside) { code(inside); });
      around_.resize(loops);
      positive_ = around;
    }
  }

 private:
  std::optional<Statement> split_lookups(const For& loop) {
    Lookups all(t_.program());
    std::set<ArrayId> written;
    for (const Statement& statement : loop.body) {
      const Put* put = std::get_if<Put>(&statement.kind);
      if (!put || put->op || !put->checked.empty()) return std::nullopt;
      all.add(put->value);
      written.insert(t_.nest().memory(put->array));
    }
    std::vector<Expr> lookups = std::move(all.found);
    std::erase_if(lookups, [&](Expr e) { return reads_any(e, written) || !mentions(e, loop.index); });
    if (lookups.empty()) return std::nullopt;

    Chunks chunks = chunks_of(loop);
    const Expr lane = chunks.lane;
    For places = over(chunks, loop, By::Simd), elements = over(chunks, loop, By::Seq),
        rest = over(chunks, loop, By::Simd);
    elements.unroll = places_at_once;
    Code& body = chunks.body;
    const Put& first = std::get<Put>(loop.body.front().kind);
    const Expr value = as<Cast>(first.value) ? first.value->args[0] : first.value;
    const bool only = loop.body.size() == 1 && lookups.size() == 1 && value == lookups.front();
    std::map<const Node*, Expr> elements_of;
    for (const Expr lookup : lookups) {
      const Read& read = *as<Read>(lookup);
      const Array table = t_.program()[read.array];
      std::vector<Expr> at(lookup->args.begin(),
                           lookup->args.begin() + static_cast<std::ptrdiff_t>(read.rules.size()));
      std::vector<Boundary> rules = read.rules;
      for (std::size_t s = 0; s < at.size(); ++s) {
        if (!reads_data(at[s])) continue;
        const ArrayId place = local(table.name + "_at", Scalar::I32, chunks);
        Expr where = at[s];
        if (rules[s] == Boundary::Clamp)
          where = t_.min(t_.max(where, t_.number(0)), t_.sub(table.shape[s], t_.number(1)));
        places.body.push_back(t_.put(place, {lane}, where));
        at[s] = t_.pool().cast(Scalar::I64, t_.read(place, {lane}));
        rules[s] = Boundary::Inside;
      }
      const Expr element = t_.pool().read(read.array, lookup->type, std::move(at), std::move(rules));
      if (only) {
        elements.body.push_back(t_.put(first.array, first.at, t_.pool().cast(first.value->type, element)));
        continue;
      }
      const ArrayId found = local(table.name + "_element", table.type, chunks);
      elements.body.push_back(t_.put(found, {lane}, element));
      elements_of[lookup.get()] = t_.read(found, {lane});
    }
    body.push_back({std::move(places)});
    body.push_back({std::move(elements)});
    if (only) return whole(std::move(chunks), loop);
    for (const Statement& statement : loop.body) {
      Put put = std::get<Put>(statement.kind);
      put.value = rewrite(t_.pool(), put.value, [&](Expr node) {
        const auto found = elements_of.find(node.get());
        return found == elements_of.end() ? Expr{} : found->second;
      });
      rest.body.push_back({std::move(put)});
    }
    // What was looked up may itself say where to look.
    body.push_back({std::move(rest)});
    code(body);
    return whole(std::move(chunks), loop);
  }

  /// Whether an array has any element that a boundary rule could mean is the same for all points: it is asked
  /// once, and the loop that need not ask is one for lanes.
  std::optional<Statement> without_checks(const For& loop) const {
    std::vector<Expr> extents;
    for (const Statement& statement : loop.body) {
      const Put* put = std::get_if<Put>(&statement.kind);
      if (!put) return std::nullopt;
      const auto look = [&](Expr root) {
        visit(root, [&](Expr node) {
          const Read* read = as<Read>(node);
          for (std::size_t s = 0; read && s < read->rules.size(); ++s) {
            const Boundary rule = read->rules[s];
            const Expr extent = t_.program()[read->array].shape[s];
            const bool bends = rule == Boundary::Clamp || rule == Boundary::Mirror || rule == Boundary::Wrap;
            if (bends && !reads_data(extent) && !is_positive(extent, positive_) &&
                std::find(extents.begin(), extents.end(), extent) == extents.end())
              extents.push_back(extent);
          }
        });
      };
      look(put->value);
      for (const Expr at : put->at) look(at);
    }
    if (extents.empty()) return std::nullopt;
    Expr all;
    for (const Expr extent : extents) {
      const Expr one = t_.compare(Prim::Gt, extent, t_.number(0));
      all = all ? t_.pool().apply(Prim::And, {all, one}) : one;
    }
    Code checked, unchecked;
    checked.push_back({loop});
    unchecked.push_back({loop});
    If choice{all, {}, std::move(checked)};
    choice.then.push_back({Within{std::move(extents), std::move(unchecked)}});
    return Statement{std::move(choice)};
  }

  /// Where only some points are added up, the others add nothing: a choice between two numbers is less work
  /// for lanes than sums of which some lanes are left alone. What is added has to be there at all points.
  void add_nothing_instead(For& loop) {
    for (Statement& statement : loop.body) {
      const If* choice = std::get_if<If>(&statement.kind);
      if (!choice || choice->then.size() != 1 || !choice->otherwise.empty()) continue;
      const Put* put = std::get_if<Put>(&choice->then.front().kind);
      const bool adds =
          put && put->op && put->op->prim == Prim::Add && put->at.empty() && put->checked.empty() &&
          std::any_of(loop.reductions.begin(), loop.reductions.end(),
                      [&](const Reduction& reduction) { return reduction.variable == put->array; });
      if (!adds) continue;
      std::set<const Node*> there;
      add_evaluated(choice->condition, there);
      bool everywhere = true;
      visit(put->value, [&](Expr node) {
        everywhere = everywhere && (there.contains(node.get()) || !is_partial(node, t_.program().functions));
      });
      if (!everywhere) continue;
      const Scalar type = put->value->type.scalar();
      // x + 0.0 is not x if that is -0.0; x + -0.0 is.
      const Expr nothing =
          t_.pool().literal(is_float(type) ? Number::of_double(type, -0.0) : Number::of(type, 0));
      Put all = *put;
      all.value = t_.pool().select(choice->condition, all.value, nothing);
      statement = {std::move(all)};
    }
  }

  /// The parts of an expression that are evaluated whatever the values are.
  static void add_evaluated(Expr e, std::set<const Node*>& found) {
    if (!found.insert(e.get()).second) return;
    const Apply* apply = as<Apply>(e);
    const bool lazy = as<Select>(e) || (apply && (apply->prim == Prim::And || apply->prim == Prim::Or));
    const Read* read = as<Read>(e);
    const std::size_t count = lazy ? 1 : read ? read->rules.size() : e->args.size();
    for (std::size_t k = 0; k < count; ++k) add_evaluated(e->args[k], found);
  }

  /// Rows that are made of columns. In blocks, whole lines are read and whole lines are written; what is
  /// between them is in the nearest cache, however far apart rows and columns lie.
  std::optional<Statement> transpose_blocks(const For& loop) {
    if (loop.body.size() != 1 || is_short(loop)) return std::nullopt;
    const For* row = std::get_if<For>(&loop.body.front().kind);
    if (!row || row->by != By::Simd || row->down || row->step != 1 || !row->reductions.empty() ||
        row->body.size() != 1 || is_short(*row) || mentions(row->lo, loop.index) ||
        mentions(row->hi, loop.index))
      return std::nullopt;
    const Put* put = std::get_if<Put>(&row->body.front().kind);
    if (!put || put->op || !put->checked.empty() || !put->value->type.is_scalar() ||
        !has_place_of_its_own(*put, *row, loop) || reads_any(put->value, {t_.nest().memory(put->array)}) ||
        !is_column(put->value, *row, loop))
      return std::nullopt;

    const auto name = [&](DimId dim) { return t_.program().dim_names[static_cast<std::size_t>(dim.value)]; };
    const Expr side = t_.number(side_of_block);
    const auto block_of = [&](const For& points) {
      const DimId first = t_.new_index(name(points.index) + "_block"),
                  end = t_.new_index(name(points.index) + "_end");
      For blocks{.index = first, .lo = points.lo, .hi = points.hi, .step = side_of_block};
      blocks.body.push_back({Let{end, t_.min(t_.add(t_.index(first), side), points.hi)}});
      return std::tuple(std::move(blocks), t_.index(first), t_.index(end));
    };
    auto [rows, first, end] = block_of(*row);
    auto [columns, first_column, end_column] = block_of(loop);
    const DimId lane = t_.new_index(name(row->index) + "_lane"),
                column = t_.new_index(name(loop.index) + "_lane");
    const auto here = [&](Expr e) {
      return t_.substitute(t_.substitute(e, row->index, t_.add(first, t_.index(lane))), loop.index,
                           t_.add(first_column, t_.index(column)));
    };
    const ArrayId block =
        t_.new_array(t_.program()[put->array].name + "_block", t_.program()[put->array].type, {side, side});
    const std::vector<Expr> in_block = {t_.index(lane), t_.index(column)};
    const auto in_loops = [&](DimId outer, DimId inner, Statement body) {
      For lanes{.index = inner, .lo = t_.number(0), .hi = side, .by = By::Simd};
      lanes.body.push_back(std::move(body));
      For all{.index = outer, .lo = t_.number(0), .hi = side};
      all.body.push_back({std::move(lanes)});
      return Statement{std::move(all)};
    };
    If whole{t_.pool().apply(Prim::And, {t_.compare(Prim::Eq, t_.sub(end, first), side),
                                         t_.compare(Prim::Eq, t_.sub(end_column, first_column), side)}),
             {},
             {}};
    whole.then.push_back({Local{block, {}}});
    whole.then.push_back(in_loops(lane, column, t_.put(block, in_block, here(put->value))));
    std::vector<Expr> at;
    for (const Expr e : put->at) at.push_back(here(e));
    whole.then.push_back(in_loops(column, lane, t_.put(put->array, std::move(at), t_.read(block, in_block))));
    For short_row = *row, short_column = loop;
    short_row.lo = first;
    short_row.hi = end;
    short_column.lo = first_column;
    short_column.hi = end_column;
    short_column.body = {};
    short_column.body.push_back({std::move(short_row)});
    whole.otherwise.push_back({std::move(short_column)});
    columns.body.push_back({std::move(whole)});
    rows.body.push_back({std::move(columns)});
    // Of fewer columns than a block has, there is none.
    If any{t_.compare(Prim::Ge, t_.sub(loop.hi, loop.lo), side), {}, {}};
    any.then.push_back({std::move(rows)});
    any.otherwise.push_back({loop});
    return Statement{std::move(any)};
  }

  /// Are the points of a row neighbours, and is every row another one? Then it does not matter which is
  /// first.
  static bool has_place_of_its_own(const Put& put, const For& row, const For& loop) {
    if (contiguity(put.at, row.index) != 1 || mentions(put.at.back(), loop.index)) return false;
    return std::any_of(put.at.begin(), put.at.end() - 1,
                       [&](Expr subscript) { return factor_of(subscript, loop.index).value_or(0) != 0; });
  }

  /// Does all that is read lie side by side along the one loop, and some of it far apart along the other?
  static bool is_column(Expr value, const For& far, const For& near) {
    bool jumps = false, beside = true;
    visit(value, [&](Expr node) {
      const Read* read = as<Read>(node);
      if (!read || read->rules.empty()) return;
      const auto subscripts = std::span(node->args).first(read->rules.size());
      jumps = jumps || contiguity(subscripts, far.index) < 0;
      beside = beside && contiguity(subscripts, near.index) >= 0 &&
               std::none_of(subscripts.begin(), subscripts.end(), reads_data);
    });
    return jumps && beside;
  }

  /// One value after the other goes to its place, but the places and the values are computed in lanes.
  std::optional<Statement> split_scatter(For& loop) {
    if (loop.body.size() != 1 || is_short(loop)) return std::nullopt;
    const Put* given = std::get_if<Put>(&loop.body.front().kind);
    if (!given || std::none_of(given->at.begin(), given->at.end(), reads_data)) return std::nullopt;
    loop.unroll = places_at_once;
    Put put = *given;
    std::vector<Expr*> parts;  // what is computed in lanes
    for (Expr& at : put.at)
      if (reads_data(at)) parts.push_back(&at);
    std::vector<Expr> fields;
    const bool record = as<Make>(put.value) != nullptr;
    if (record)
      fields.assign(put.value->args.begin(), put.value->args.end());
    else
      fields = {put.value};
    for (Expr& field : fields) {
      if (!field->type.is_scalar()) return std::nullopt;
      if (reads_data(field)) parts.push_back(&field);
    }
    int work = 0;
    for (const Expr* part : parts) {
      if (reads_any(*part, {t_.nest().memory(put.array)})) return std::nullopt;
      visit(*part, [&](Expr node) {
        const bool computes = as<Apply>(node) || as<Invoke>(node) ||
                              (as<Cast>(node) && node->args[0]->type.is_float() && !node->type.is_float());
        work += computes ? 1 : 0;
      });
    }
    if (work < least_work) return std::nullopt;
    Chunks chunks = chunks_of(loop);
    For lanes = over(chunks, loop, By::Simd), rest = over(chunks, loop, By::Seq);
    rest.unroll = places_at_once;
    const std::string name = t_.program()[put.array].name;
    std::map<const Node*, Expr> known;
    for (Expr* part : parts) {
      Expr& value = known[part->get()];
      if (!value) {
        const ArrayId array = local(name + "_part", (*part)->type, chunks);
        lanes.body.push_back(t_.put(array, {chunks.lane}, *part));
        value = t_.read(array, {chunks.lane});
      }
      *part = value;
    }
    put.value = record ? t_.pool().make(put.value->type, std::move(fields)) : fields.front();
    rest.body.push_back({std::move(put)});
    chunks.body.push_back({std::move(lanes)});
    code(chunks.body);
    chunks.body.push_back({std::move(rest)});
    return whole(std::move(chunks), loop);
  }

  /// A few points of a loop at a time, from `lo` to `hi`: all of them, if they are few and known.
  struct Chunks {
    std::optional<DimId> index;
    Expr lo, hi;
    Expr lane;  // the number of a point
    std::int64_t capacity;
    Code body = {};
  };

  Chunks chunks_of(const For& loop) {
    const Expr point = t_.index(loop.index);
    if (const auto points = points_of(loop); points && *points <= points_at_once)
      return {{}, loop.lo, loop.hi, t_.sub(point, loop.lo), *points};
    const std::string name = t_.program().dim_names[static_cast<std::size_t>(loop.index.value)];
    const DimId chunk = t_.new_index(name + "_chunk"), end = t_.new_index(name + "_end");
    Chunks chunks{chunk, t_.index(chunk), t_.index(end), t_.sub(point, t_.index(chunk)), points_at_once};
    chunks.body.push_back({Let{end, t_.min(t_.add(chunks.lo, t_.number(points_at_once)), loop.hi)}});
    return chunks;
  }

  static Statement whole(Chunks chunks, const For& loop) {
    if (!chunks.index) return {Within{{}, std::move(chunks.body)}};
    return {For{.index = *chunks.index,
                .lo = loop.lo,
                .hi = loop.hi,
                .step = points_at_once,
                .body = std::move(chunks.body)}};
  }

  /// The points of a chunk, in a loop of their own.
  static For over(const Chunks& chunks, const For& loop, By by) {
    return {.index = loop.index, .lo = chunks.lo, .hi = chunks.hi, .by = by};
  }

  static std::optional<std::int64_t> points_of(const For& loop) {
    const Literal *lo = as<Literal>(loop.lo), *hi = as<Literal>(loop.hi);
    if (!lo || !hi) return std::nullopt;
    return std::max<std::int64_t>(1, hi->value.i - lo->value.i);
  }

  static bool is_short(const For& loop) {
    const auto points = points_of(loop);
    return points && *points < least_points;
  }

  ArrayId local(const std::string& name, const Type& type, Chunks& chunks) {
    const ArrayId array = t_.new_array(name, type, {t_.number(chunks.capacity)});
    chunks.body.push_back({Local{array, {}}});
    return array;
  }

  bool reads_any(Expr root, const std::set<ArrayId>& arrays) const {
    bool found = false;
    visit(root, [&](Expr node) {
      const Read* read = as<Read>(node);
      found = found || (read && arrays.contains(t_.nest().memory(read->array)));
    });
    return found;
  }

  Tables& t_;
  Positive positive_;          // extents, here
  std::vector<DimId> around_;  // indices of the loops around
};

}  // namespace

void split_loops(Tables& tables, Code& code) { Splitter(tables).code(code); }

}  // namespace twill::nest

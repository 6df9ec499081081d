// Collections one after the other. Who goes through the elements of several collections, those of the second
// behind those of the first, has to wait for all of them, because only their lengths tell which is which. The
// loops that find the elements can stand one after the other instead, in one range: then there is one
// collection, and nothing of it has to be in memory for others to go through it.
#include "simplify/passes.h"

#include "fuse/profit.h"
#include "program/affine_of.h"
#include "simplify/rewriting.h"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace twill {

namespace {

using poly::Affine;

/// An array of which all elements are read.
struct Part {
  ArrayId array;
  Affine begin;  // how many elements there are before it
  Expr read;     // of an element
  Expr value;    // what is made of it
};

constexpr std::size_t most_parts = 64;

class Concats {
 public:
  Concats(Region& region, Notes& notes)
      : region_(region), program_(region.program), pool_(*region.program.pool), notes_(notes) {}

  bool run() {
    // What goes through a new collection may become a collection itself: who reads it waits for that.
    std::set<ArrayId> changing;
    bool changed = false;
    for (std::size_t s = 0; s < region_.stages.size(); ++s) {
      const std::size_t before = region_.stages.size();
      const bool waits =
          std::ranges::any_of(changing, [&](ArrayId array) { return reads(region_.stages[s], array); });
      const bool joins = !waits && join_what_is_read_by(s);
      s -= before - region_.stages.size();
      changed = changed || joins;
      if (!waits && !joins) continue;
      for (const Output& output : region_.stages[s].outputs) changing.insert(output.array);
    }
    return changed;
  }

 private:
  // ---- what is read

  /// `if k < len(a) then a[k] else if k < len(a) + len(b) then b[k - len(a)] else …` for the index of the
  /// dimension, where something may be made of each element, and a part may be such a choice again; nothing
  /// if the node is something else.
  std::optional<std::vector<Part>> parts_of(Expr node, const Dim& dim) const {
    std::vector<Part> parts;
    const auto end = affine_of(dim.hi);
    const std::function<bool(Expr, const Affine&)> add = [&](Expr value, const Affine& upto) {
      Expr choice;
      descend(value, [&](Expr inner) {
        if (!choice && as<Select>(inner) && boundary_in(inner->args[0], dim.id)) choice = inner;
        return !choice;
      });
      const auto if_chosen = [&](std::size_t side) {
        return rewrite(pool_, value,
                       [&](Expr inner) { return inner == choice ? choice->args[side] : Expr{}; });
      };
      if (choice)
        return parts.size() < most_parts && add(if_chosen(1), *boundary_in(choice->args[0], dim.id)) &&
               add(if_chosen(2), upto);
      const Affine begin = parts.empty() ? Affine() : end_of(parts.back());
      auto part = part_of(value, dim, begin);
      if (!part || end_of(*part) != upto) return false;
      parts.push_back(std::move(*part));
      return true;
    };
    if (!end || !as<Select>(node) || !add(node, *end) || parts.size() < 2) return std::nullopt;
    return parts;
  }

  Affine end_of(const Part& part) const {
    return part.begin + *affine_of(program_[part.array].shape.front());
  }

  /// The element of the array that the value is made of, which is nowhere but in a part that begins there.
  std::optional<Part> part_of(Expr value, const Dim& dim, const Affine& begin) const {
    Expr element;
    bool alone = true;
    visit(value, [&](Expr node) {
      const Read* read = as<Read>(node);
      alone = alone && !(read && element) && !is_partial_but_for_reads(node);
      if (read) element = node;
    });
    const Read* read = as<Read>(element);
    if (!alone || !read || read->rules.size() != 1) return std::nullopt;
    visit(
        rewrite(pool_, value, [&](Expr node) { return node == element ? pool_.arg(0, node->type) : Expr{}; }),
        [&](Expr node) { alone = alone && !as<IndexRef>(node); });
    const auto at = affine_of(element->args.front());
    const Expr extent = program_[read->array].shape.front();
    if (!alone || !at || !affine_of(extent) || !is_count(extent) || *at != Affine(var_of(dim.id)) - begin)
      return std::nullopt;
    return Part{read->array, begin, element, value};
  }

  bool is_partial_but_for_reads(Expr node) const {
    return !as<Read>(node) && is_partial(node, program_.functions);
  }

  /// The number that the index has to be less than, if that is the condition.
  static std::optional<Affine> boundary_in(Expr condition, DimId dim) {
    const Apply* less = as<Apply>(condition);
    if (!less || less->prim != Prim::Lt) return std::nullopt;
    const auto left = affine_of(condition->args[0]), right = affine_of(condition->args[1]);
    if (!left || !right) return std::nullopt;
    const Affine boundary = *right - *left + Affine(var_of(dim));
    return boundary.mentions(var_of(dim)) ? std::nullopt : std::optional(boundary);
  }

  /// A choice between parts that the reader makes at every point.
  struct Joint {
    Expr node;
    std::vector<Part> parts;
  };

  std::optional<Joint> joint_in(const Stage& reader) const {
    std::optional<Joint> found;
    if (reader.dims.empty() || integer_of(reader.dims.front().lo) != 0 || !reader.dims.front().hi)
      return found;
    for_each_expr(reader, [&](Expr root) {
      if (!root) return;
      descend(root, [&](Expr node) {
        try {
          if (auto parts = found ? std::nullopt : parts_of(node, reader.dims.front()))
            found = Joint{node, std::move(*parts)};
        } catch (const std::overflow_error&) {
          // Lengths that nobody can add up are not those of parts.
        }
        return !found;
      });
    });
    return found;
  }

  // ---- who makes it

  bool is_born(ArrayId array) const {
    const auto* size = as<SizeRef>(program_[array].shape.front());
    return size && program_[size->symbol].origin == Symbol::Origin::Born;
  }

  /// The stage that collects what only the reader needs; -1 if the part has to be in memory anyway.
  int maker_of(const UseTable& uses, ArrayId array, int reader) const {
    const int maker = uses.definer(array);
    if (maker < 0 || maker >= reader || !is_born(array) || uses.is_held(array) ||
        uses.readers(array) != std::set{reader})
      return -1;
    const Stage& stage = region_.stages[static_cast<std::size_t>(maker)];
    const bool plain = std::holds_alternative<Formula>(stage.body) && stage.effects.empty() &&
                       !has_hint(stage, Hint::Never) && stage.outputs.size() == 1 && !stage.dims.empty();
    if (!plain) return -1;
    const Output& output = stage.outputs.front();
    const bool collects = !output.offsets && !output.force && std::ranges::all_of(output.combine, is<Append>);
    const bool loops =
        std::ranges::all_of(stage.dims, [](const Dim& dim) { return dim.hi && !dim.condition; });
    return collects && loops ? maker : -1;
  }

  // ---- one collection

  /// What becomes of the parts that some stages collect: by position in the list of parts, -1 for those that
  /// are in memory anyway.
  struct Found {
    const Joint& joint;
    std::vector<int> makers;
    std::set<int> gone;
    std::set<SymbolId> lengths;
  };

  bool join_what_is_read_by(std::size_t position) {
    const Stage& reader = region_.stages[position];
    const auto joint = joint_in(reader);
    if (!joint || has_hint(reader, Hint::Never)) return false;
    const UseTable uses(region_);
    Found found{*joint, {}, {}, {}};
    for (const Part& part : joint->parts) {
      const auto same = [&](const Part& other) { return other.array == part.array; };
      const bool once = std::ranges::count_if(joint->parts, same) == 1;
      const int maker = once ? maker_of(uses, part.array, static_cast<int>(position)) : -1;
      found.makers.push_back(maker);
      if (maker < 0) continue;
      found.gone.insert(maker);
      found.lengths.insert(length_of(part.array));
    }
    if (found.gone.empty() || !needs_all_together(uses, found, position)) return false;
    replace(found, position);
    return true;
  }

  SymbolId length_of(ArrayId array) const { return as<SizeRef>(program_[array].shape.front())->symbol; }

  /// Puts an element of all in the place of what is chosen from the parts, and a length in that of the sum of
  /// theirs.
  std::function<Expr(Expr)> replacing(const Joint& joint, Expr element, Expr length) const {
    return [&joint, element, length, total = total_of(joint)](Expr node) -> Expr {
      if (node == joint.node) return element;
      const Apply* sum = as<Apply>(node);
      if (!sum || sum->prim != Prim::Add) return {};
      const auto affine = affine_of(node);
      return affine && *affine == total ? length : Expr{};
    };
  }

  Affine total_of(const Joint& joint) const { return end_of(joint.parts.back()); }

  bool needs_all_together(const UseTable& uses, const Found& found, std::size_t position) const {
    const Joint& joint = found.joint;
    const auto replace = replacing(joint, pool_.arg(0, joint.node->type), pool_.arg(0, Scalar::I64));
    const auto needs_one = [&](Expr root) {
      bool needs = false;
      if (!root) return needs;
      visit(rewrite(pool_, root, replace), [&](Expr node) {
        const auto* size = as<SizeRef>(node);
        const auto* read = as<Read>(node);
        needs = needs || (size && found.lengths.contains(size->symbol)) ||
                (read && std::ranges::any_of(found.gone,
                                             [&](int maker) { return uses.definer(read->array) == maker; }));
      });
      return needs;
    };
    std::set<ArrayId> parts;
    for (std::size_t k = 0; k < joint.parts.size(); ++k)
      if (found.makers[k] >= 0) parts.insert(joint.parts[k].array);
    for (const SymbolId symbol : found.lengths) {
      if (uses.is_held(symbol)) return false;
      for (const int user : uses.users(symbol))
        if (!found.gone.contains(user) && user < static_cast<int>(position)) return false;
    }
    bool needs = false;
    for_each_stage(region_.stages, [&](const Stage& stage) {
      for (const Output& output : stage.outputs)
        for (const ArrayId array : defined_arrays(output))
          needs = needs || (!parts.contains(array) && std::ranges::any_of(program_[array].shape, needs_one));
    });
    // One of them may go as far as another one is long.
    for (const int maker : found.gone)
      for_each_expr(region_.stages[static_cast<std::size_t>(maker)],
                    [&](Expr root) { needs = needs || needs_one(root); });
    for (std::size_t s = position; s < region_.stages.size(); ++s)
      for_each_stage(std::span(region_.stages).subspan(s, 1), [&](const Stage& stage) {
        for_each_expr(stage, [&](Expr root) { needs = needs || needs_one(root); });
      });
    return !needs;
  }

  void replace(const Found& found, std::size_t position) {
    const Joint& joint = found.joint;
    const Stage& reader = region_.stages[position];
    NewNames names(program_);
    const std::string name =
        names.like(program_[joint.parts.front().array].name + "_" + program_[joint.parts.back().array].name);
    const Expr length = pool_.size(program_.add_symbol(names.like(name + "_len"), Symbol::Origin::Born));
    const ArrayId array = program_.add_array(name, joint.node->type, {length}, reader.place);
    const Expr element =
        pool_.read(array, joint.node->type, std::vector{pool_.index(reader.dims.front().id)}, reader.place);
    Stage all = one_after_the_other(found, reader.dims.front(), names, array);
    all.name = names.stage_like(name);
    const auto hints = [&](int maker) { return region_.stages[static_cast<std::size_t>(maker)].hints; };
    all.hints = hints(*found.gone.begin());
    for (const int maker : found.gone) all.hints = hints_of_both(all.hints, hints(maker));
    report(found, reader);

    const auto now = replacing(joint, element, length);
    for (Array& other : program_.arrays)
      for (Expr& extent : other.shape) extent = rewrite(pool_, extent, now);
    std::vector<Stage> stages;
    for (std::size_t s = 0; s < region_.stages.size(); ++s) {
      if (s == position) stages.push_back(std::move(all));
      if (found.gone.contains(static_cast<int>(s))) continue;
      stages.push_back(std::move(region_.stages[s]));
      if (s >= position) replace_in(pool_, stages.back(), now);
    }
    region_.stages = std::move(stages);
  }

  void report(const Found& found, const Stage& reader) {
    Reason reason{"concat", {}, "", reader.place};
    for (const int maker : found.gone) {
      reason.stages.push_back(region_.stages[static_cast<std::size_t>(maker)].name);
      reason.text += (reason.text.empty() ? "'" : ", '") + reason.stages.back() + "'";
    }
    reason.stages.push_back(reader.name);
    reason.text = "the loops of " + reason.text + (found.gone.size() == 1 ? " and the rest" : "") +
                  " are one, one range after the other, and '" + reader.name + "' goes through what it finds";
    notes_.done.push_back(std::move(reason));
  }

  // ---- the stage that finds all

  /// The ranges of the parts one after the other. Inside of them, each part has its own loops; where it has
  /// fewer than others, a range of one point.
  Stage one_after_the_other(const Found& found, const Dim& through, NewNames& names, ArrayId array) {
    std::vector<Stage> each;
    for (std::size_t k = 0; k < found.joint.parts.size(); ++k) {
      const Part& part = found.joint.parts[k];
      each.push_back(found.makers[k] < 0 ? walk_over(part.array)
                                         : region_.stages[static_cast<std::size_t>(found.makers[k])]);
      Expr& value = each.back().outputs.front().value;
      const Expr element = pool_.cast(part.read->type, value);
      value = rewrite(pool_, part.value, [&](Expr node) { return node == part.read ? element : Expr{}; });
    }
    std::size_t depth = 1;
    for (const Stage& part : each) depth = std::max(depth, part.dims.size());
    Stage all;
    all.place = program_[array].place;
    std::vector<Expr> ends;
    for (const Stage& part : each) {
      const Expr count = points(part.dims.front());
      ends.push_back(ends.empty() ? count : pool_.apply(Prim::Add, {ends.back(), count}));
    }
    std::set<std::string> taken;
    for (std::size_t d = 0; d < depth; ++d) {
      const auto like = std::ranges::find_if(each, [&](const Stage& part) { return part.dims.size() > d; });
      Dim dim = d == 0 ? through : like->dims[d];
      if (!taken.insert(dim.name).second) dim.name = names.like(dim.name);
      dim.id = program_.add_dim(dim.name);
      if (d == 0) dim.hi = ends.back();
      all.dims.push_back(dim);
    }
    const Expr index = pool_.index(all.dims.front().id);
    const auto chosen = [&](const std::function<Expr(const Stage&)>& part_of, Expr otherwise) {
      Expr result;
      for (std::size_t k = each.size(); k-- > 0;) {
        const Expr begin = k == 0 ? pool_.integer(0) : ends[k - 1];
        const Expr own = part_of(each[k]) ? at_points(part_of(each[k]), each[k], all, begin) : otherwise;
        result = !result || result == own
                     ? own
                     : pool_.select(pool_.apply(Prim::Lt, {index, ends[k]}), own, result);
      }
      return result;
    };
    for (std::size_t d = 1; d < depth; ++d) {
      const auto bound = [d](Expr Dim::*which) {
        return [d, which](const Stage& part) { return part.dims.size() > d ? part.dims[d].*which : Expr{}; };
      };
      all.dims[d].lo = chosen(bound(&Dim::lo), pool_.integer(0));
      all.dims[d].hi = chosen(bound(&Dim::hi), pool_.integer(1));
    }
    Output output;
    output.array = array;
    output.place = all.place;
    output.combine.assign(depth, Append{});
    output.value = chosen([](const Stage& part) { return part.outputs.front().value; }, {});
    if (std::ranges::any_of(each,
                            [](const Stage& part) { return static_cast<bool>(part.outputs.front().guard); }))
      output.guard =
          chosen([](const Stage& part) { return part.outputs.front().guard; }, pool_.boolean(true));
    all.outputs.push_back(std::move(output));
    return all;
  }

  /// All elements of an array.
  Stage walk_over(ArrayId array) {
    const Array& what = program_[array];
    Stage walk;
    const DimId dim = program_.add_dim(what.name);
    walk.dims.push_back({dim, what.name, pool_.integer(0), what.shape.front(), {}, what.place});
    Output output;
    output.value = pool_.read(array, what.type, std::vector{pool_.index(dim)}, what.place);
    walk.outputs.push_back(std::move(output));
    return walk;
  }

  Expr points(const Dim& dim) const {
    const Expr count = pool_.apply(Prim::Sub, {dim.hi, dim.lo});
    return is_count(count) ? count : pool_.apply(Prim::Max, {count, pool_.integer(0)});
  }

  /// An expression of a part, at the points of all where that part is.
  Expr at_points(Expr e, const Stage& part, const Stage& all, Expr begin) const {
    return rewrite(pool_, e, [&](Expr node) -> Expr {
      const auto* index = as<IndexRef>(node);
      for (std::size_t d = 0; index && d < part.dims.size(); ++d) {
        if (index->dim != part.dims[d].id) continue;
        const Expr own = pool_.index(all.dims[d].id, node->place);
        if (d > 0) return own;
        return pool_.apply(Prim::Add, {pool_.apply(Prim::Sub, {own, begin}), part.dims.front().lo});
      }
      return {};
    });
  }

  Region& region_;
  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
};

}  // namespace

bool join_collections(Region& region, Notes& notes) { return Concats(region, notes).run(); }

}  // namespace twill

#include "fuse/unread.h"

#include "program/edit.h"
#include "program/typing.h"

#include <algorithm>

namespace twill {

namespace {

bool collects(const Output& output) {
  return !output.combine.empty() && !output.offsets && std::ranges::all_of(output.combine, is<Append>);
}

bool mentions(Expr root, SymbolId size) {
  bool found = false;
  if (root)
    visit(root, [&](Expr node) {
      const auto* ref = as<SizeRef>(node);
      found = found || (ref && ref->symbol == size);
    });
  return found;
}

/// In no subscript.
bool is_number_in(Expr root, SymbolId size) {
  bool number = true;
  if (root)
    visit(root, [&](Expr node) {
      if (as<Read>(node))
        number = number && std::ranges::none_of(node->args, [&](Expr arg) { return mentions(arg, size); });
    });
  return number;
}

class Unread {
 public:
  explicit Unread(Region& region) : region_(region), program_(region.program), uses_(region) {}

  void drop(const std::set<ArrayId>& arrays) {
    for (std::size_t s = 0; s < region_.stages.size(); ++s) {
      Stage& stage = region_.stages[s];
      for (std::size_t o = stage.outputs.size(); o-- > 0;) {
        const Output& output = stage.outputs[o];
        if (!arrays.contains(output.array) || uses_.is_held(output.array) ||
            !uses_.readers(output.array).empty())
          continue;
        // Another output may have the same length.
        const SymbolId length = as<SizeRef>(program_[output.array].shape.front())->symbol;
        const bool counted = is_used_outside(s, length) && !has_other(stage, output, length);
        if (!counted && stage.outputs.size() > 1)
          stage.outputs.erase(stage.outputs.begin() + static_cast<std::ptrdiff_t>(o));
        else if (collects(output) && (!counted || is_number(s, length)))
          count(s, o, length);  // a stage has to make something
      }
    }
  }

 private:
  bool is_used_outside(std::size_t stage, SymbolId length) const {
    const std::set<int>& users = uses_.users(length);
    return uses_.is_held(length) ||
           std::ranges::any_of(users, [&](int user) { return user != static_cast<int>(stage); });
  }

  bool has_other(const Stage& stage, const Output& output, SymbolId length) const {
    return std::ranges::any_of(stage.outputs, [&](const Output& other) {
      const auto* size = &other == &output || !is<Append>(other.combine.front())
                             ? nullptr
                             : as<SizeRef>(program_[other.array].shape.front());
      return size && size->symbol == length;
    });
  }

  /// Would a number that is counted do, of which nobody knows that it is not negative?
  bool is_number(std::size_t maker, SymbolId length) const {
    if (uses_.is_held(length)) return false;
    const Expr size = program_.pool->size(length);
    return std::ranges::all_of(uses_.users(length), [&](int user) {
      if (user == static_cast<int>(maker)) return true;
      const Stage& stage = region_.stages[static_cast<std::size_t>(user)];
      const auto is_end = [&](Expr e) { return e == size || !mentions(e, length); };
      bool number = std::holds_alternative<Formula>(stage.body);
      for_each_expr(stage, [&](Expr root) { number = number && is_number_in(root, length); });
      for (const Dim& dim : stage.dims) number = number && !mentions(dim.lo, length) && is_end(dim.hi);
      for (const Output& output : stage.outputs) {
        for (const Expr at : output.at) number = number && !mentions(at, length);
        for (const ArrayId array : defined_arrays(output))
          number = number && std::ranges::all_of(program_[array].shape, is_end);
      }
      return number;
    });
  }

  void count(std::size_t maker, std::size_t position, SymbolId length) {
    ExprPool& pool = *program_.pool;
    Stage& stage = region_.stages[maker];
    Output& output = stage.outputs[position];
    const Array& collection = program_[output.array];
    const ArrayId number = program_.add_array(collection.name + "_count", Scalar::I64, {}, collection.place);
    output.array = number;
    output.combine.assign(stage.dims.size(), Fold{builtin_operator(pool, Prim::Add, Scalar::I64)});
    output.value = pool.integer(1);
    const Expr size = pool.size(length), read = pool.read(number, Scalar::I64, std::vector<Expr>{});
    const auto now = [&](Expr e) {
      return rewrite(pool, e, [&](Expr node) { return node == size ? read : Expr{}; });
    };
    for (const int user : uses_.users(length)) {
      if (user == static_cast<int>(maker)) continue;
      Stage& other = region_.stages[static_cast<std::size_t>(user)];
      for_each_slot(other, [&](Expr& slot) { slot = now(slot); });
      for (const Output& made : other.outputs)
        for (const ArrayId array : defined_arrays(made))
          for (Expr& extent : program_.arrays[static_cast<std::size_t>(array.value)].shape)
            extent = now(extent);
    }
  }

  Region& region_;
  Program& program_;
  UseTable uses_;
};

}  // namespace

void drop_unread(Region& region, const std::set<ArrayId>& arrays) {
  if (!arrays.empty()) Unread(region).drop(arrays);
}

std::set<ArrayId> collections_read(const Region& region) {
  const UseTable uses(region);
  std::set<ArrayId> found;
  for (const Stage& stage : region.stages)
    for (const Output& output : stage.outputs)
      if (collects(output) && !uses.readers(output.array).empty()) found.insert(output.array);
  return found;
}

}  // namespace twill

// Dimensions of arrays with one place only. The array does without them: a collection of one element is a
// value, which needs no memory and which loops can use as any other value.
#include "simplify/passes.h"

#include "simplify/rewriting.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace twill {

namespace {

class Singles {
 public:
  Singles(Program& program, Notes& notes) : program_(program), pool_(*program.pool), notes_(notes) {}

  bool run() {
    find_arrays();
    if (places_.empty()) return false;
    for_each_stage(program_.stages,
                   [&](const Stage& stage) { for_each_expr(stage, [&](Expr root) { check_reads(root); }); });
    for (const Array& array : program_.arrays)
      for (const Expr extent : array.shape) check_reads(extent);
    if (places_.empty()) return false;
    for (const auto& [array, single] : places_)
      take_out(single, program_.arrays[static_cast<std::size_t>(array.value)].shape);
    edit_lists(program_, [&](std::vector<Stage>& list, bool) {
      for (Stage& stage : list) do_without(stage);
    });
    shorten_reads();
    return true;
  }

 private:
  /// By subscript: is there one place only?
  using Single = std::vector<bool>;

  /// Arrays that one stage makes, formula by formula, and that nobody but stages reads.
  void find_arrays() {
    for_each_stage(program_.stages, [&](const Stage& stage) {
      for (const Dim& dim : stage.dims)
        if (integer_of(dim.lo) == 0 && integer_of(dim.hi) == 1) single_dims_.insert(dim.id);
      for (const Output& output : stage.outputs) {
        const std::vector<Expr>& shape = program_[output.array].shape;
        const bool dense = std::all_of(output.combine.begin(), output.combine.end(),
                                       [](const Combine& c) { return is<Cat>(c) || is<Fold>(c); });
        if (!dense || !output.value || output.guard || output.into || output.force ||
            output.at.size() != shape.size())
          continue;
        Single single;
        for (std::size_t s = 0; s < shape.size(); ++s)
          single.push_back(integer_of(shape[s]) == 1 && integer_of(output.at[s]) == 0);
        if (std::find(single.begin(), single.end(), true) != single.end()) places_[output.array] = single;
      }
    });
    for (const ArrayId result : program_.results) places_.erase(result);
    for_each_stage(program_.stages, [&](const Stage& stage) {
      for (const Output& output : stage.outputs)
        if (output.into) places_.erase(*output.into);
      for (const Block* block : blocks_of(stage)) {
        for (const ArrayId result : block->results) places_.erase(result);
        for (const Carry& carry : block->carries)
          for (const ArrayId array : {carry.init, carry.inside, carry.next}) places_.erase(array);
      }
    });
  }

  /// Is it certain that the subscript is the only one there is?
  bool is_only(Expr subscript, Boundary rule) const {
    const auto* index = as<IndexRef>(subscript);
    const bool bends = rule == Boundary::Clamp || rule == Boundary::Mirror || rule == Boundary::Wrap;
    return bends || integer_of(subscript) == 0 || (index && single_dims_.contains(index->dim));
  }

  /// Dimensions stay where a subscript may be outside of the array.
  void check_reads(Expr root) {
    visit(root, [&](Expr node) {
      const auto* read = as<Read>(node);
      const auto found = read ? places_.find(read->array) : places_.end();
      if (found == places_.end()) return;
      Single& single = found->second;
      for (std::size_t s = 0; s < single.size(); ++s)
        single[s] = single[s] && is_only(node->args[s], read->rules[s]);
      if (std::find(single.begin(), single.end(), true) == single.end()) places_.erase(found);
    });
  }

  template <class T>
  static void take_out(const Single& single, std::vector<T>& list) {
    std::size_t s = 0;
    std::erase_if(list, [&](const T&) { return single[s++]; });
  }

  void do_without(Stage& stage) {
    for (Output& output : stage.outputs) {
      const auto found = places_.find(output.array);
      if (found == places_.end()) continue;
      take_out(found->second, output.at);
      const std::string name = "'" + program_[output.array].name + "'";
      notes_.done.push_back({"single",
                             {stage.name},
                             output.at.empty() ? name + " has one element: it is a value"
                                               : name + " does without dimensions of one place",
                             output.place});
    }
  }

  void shorten_reads() {
    Rewriter rewriter(pool_, [&](Expr node) {
      const auto* read = as<Read>(node);
      const auto found = read ? places_.find(read->array) : places_.end();
      if (found == places_.end()) return node;
      std::vector<Boundary> rules = read->rules;
      const auto end = node->args.begin() + static_cast<std::ptrdiff_t>(rules.size());
      std::vector<Expr> subscripts(node->args.begin(), end);
      take_out(found->second, rules);
      take_out(found->second, subscripts);
      const bool falls_back = std::ranges::find(rules, Boundary::Constant) != rules.end();
      return pool_.read(read->array, node->type, std::move(subscripts), std::move(rules),
                        falls_back ? *end : Expr{}, node->place);
    });
    replace_everywhere(program_, [&](Expr root) { return rewriter(root); });
  }

  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
  std::map<ArrayId, Single> places_;  // of arrays that can do without some dimension
  std::set<DimId> single_dims_;
};

}  // namespace

bool drop_single_places(Program& program, Notes& notes) { return Singles(program, notes).run(); }

}  // namespace twill

// Finds what a program uses, and rebuilds it with nothing else.
#include "fuzz/tidy.h"

#include "program/edit.h"

#include <map>
#include <set>

namespace twill {

namespace {

/// Finds what is in use, gives it new ids, and rebuilds.
class Tidying {
 public:
  explicit Tidying(const Program& program) : old_(program) {}

  Program run() {
    find_used();
    new_.name = old_.name;
    new_.pool = old_.pool;
    new_.strict = old_.strict;
    new_.place = old_.place;
    renumber();
    for (const Input& input : old_.inputs)
      if (arrays_.contains(input.array)) new_.inputs.push_back({arrays_.at(input.array), input.fallback});
    for (const Constant& constant : old_.constants)
      if (arrays_.contains(constant.array))
        new_.constants.push_back({arrays_.at(constant.array), constant.elements});
    new_.stages = old_.stages;
    edit_stages(new_.stages, [&](Stage& stage) { stage_(stage); });
    edit_blocks(new_.stages, [&](const Stage&, int, Block& block) {
      for (Carry& carry : block.carries) carry = {array(carry.inside), array(carry.init), array(carry.next)};
      for (ArrayId& result : block.results) result = array(result);
    });
    for (const ArrayId result : old_.results) new_.results.push_back(array(result));
    return std::move(new_);
  }

 private:
  void use(Expr root) {
    if (!root) return;
    visit(root, [&](Expr node) {
      if (const auto* read = as<Read>(node)) used_.insert(read->array);
      if (const auto* size = as<SizeRef>(node)) sizes_used_.insert(size->symbol);
      if (const auto* invoke = as<Invoke>(node)) use(invoke->function);
    });
  }

  void use(FunctionId function) {
    if (function && functions_used_.insert(function).second) use(old_[function].body);
  }

  void use(const Operator& op) {
    use(op.function);
    use(op.identity);
  }

  static bool binds(Expr extent, SymbolId symbol) {
    if (const auto* size = as<SizeRef>(extent)) return size->symbol == symbol;
    const auto* apply = as<Apply>(extent);
    if (!apply || (apply->prim != Prim::Add && apply->prim != Prim::Sub) || !as<Literal>(extent->args[1]))
      return false;
    return binds(extent->args[0], symbol);
  }

  void find_used() {
    used_.insert(old_.results.begin(), old_.results.end());
    for_each_stage(old_.stages, [&](const Stage& stage) {
      for_each_expr(stage, [&](Expr e) { use(e); });
      for (const ArrayId id : reads_of(old_, stage)) used_.insert(id);
      for (const Output& output : stage.outputs) {
        for (const ArrayId id : defined_arrays(output)) used_.insert(id);
        for (const Combine& combine : output.combine)
          if (const Operator* op = operator_of(combine)) use(*op);
      }
      if (const auto* nested = std::get_if<Nested>(&stage.body))
        for (const Carry& carry : nested->block->carries)
          used_.insert({carry.inside, carry.init, carry.next});
    });
    // Shapes use sizes and scalars; every size that is used needs an input that binds it.
    std::size_t before = 0;
    while (before != used_.size() + sizes_used_.size()) {
      before = used_.size() + sizes_used_.size();
      for (const ArrayId id : std::set(used_))
        if (id)
          for (const Expr e : old_[id].shape) use(e);
      for (const SymbolId symbol : sizes_used_) {
        const Input* binding = nullptr;
        bool bound = old_[symbol].origin == Symbol::Origin::Born;
        for (const Input& input : old_.inputs)
          for (const Expr e : old_[input.array].shape) {
            if (bound || !binds(e, symbol)) continue;
            bound = used_.contains(input.array);
            if (!binding) binding = &input;
          }
        if (!bound && binding) used_.insert(binding->array);
      }
    }
  }

  void renumber() {
    for (const Symbol& symbol : old_.symbols)
      if (sizes_used_.contains(symbol.id)) symbols_[symbol.id] = new_.add_symbol(symbol.name, symbol.origin);
    for (std::size_t k = 0; k < old_.functions.size(); ++k) {
      const FunctionId id{static_cast<int>(k)};
      if (!functions_used_.contains(id)) continue;
      Function function = old_.functions[k];
      function.body = expr(function.body);
      functions_[id] = new_.add_function(std::move(function));
    }
    for (const Array& held : old_.arrays)
      if (used_.contains(held.id)) arrays_[held.id] = new_.add_array(held.name, held.type, {}, held.place);
    for_each_stage(old_.stages, [&](const Stage& stage) {
      for (const Dim& dim : stage.dims) dims_[dim.id] = new_.add_dim(dim.name);
    });
    for (const auto& [old, id] : arrays_)
      for (const Expr e : old_[old].shape)
        new_.arrays[static_cast<std::size_t>(id.value)].shape.push_back(expr(e));
  }

  ArrayId array(ArrayId id) const {
    const auto known = arrays_.find(id);
    return known == arrays_.end() ? ArrayId{} : known->second;
  }

  Expr expr(Expr root) {
    ExprPool& pool = *new_.pool;
    return rewrite(pool, root, [&](Expr node) -> Expr {
      const auto args = [&] {
        std::vector<Expr> all;
        for (const Expr arg : node->args) all.push_back(expr(arg));
        return all;
      };
      if (const auto* read = as<Read>(node)) {
        std::vector<Expr> subscripts = args();
        Expr fallback;
        if (subscripts.size() > read->rules.size()) {
          fallback = subscripts.back();
          subscripts.pop_back();
        }
        return pool.read(array(read->array), node->type, std::move(subscripts), read->rules, fallback,
                         node->place);
      }
      if (const auto* index = as<IndexRef>(node))
        return pool.index(dims_.contains(index->dim) ? dims_.at(index->dim) : DimId{}, node->place);
      if (const auto* size = as<SizeRef>(node)) return pool.size(symbols_.at(size->symbol), node->place);
      if (const auto* invoke = as<Invoke>(node))
        return pool.invoke(functions_.at(invoke->function), node->type, args(), node->place);
      return {};
    });
  }

  void op(Operator& held) {
    if (held.function) held.function = functions_.at(held.function);
    if (held.identity) held.identity = expr(held.identity);
  }

  void stage_(Stage& stage) {
    for_each_slot(stage, [&](Expr& e) { e = expr(e); });
    for (Dim& dim : stage.dims) dim.id = dims_.at(dim.id);
    for (Output& output : stage.outputs) {
      output.array = array(output.array);
      if (output.into) output.into = array(*output.into);
      if (output.offsets) output.offsets = array(*output.offsets);
      if (output.keys) output.keys = array(*output.keys);
      for (Combine& combine : output.combine) {
        if (auto* fold = std::get_if<Fold>(&combine)) op(fold->op);
        if (auto* scan = std::get_if<Scan>(&combine)) op(scan->op);
        if (auto* scatter = std::get_if<Scatter>(&combine); scatter && scatter->op) op(*scatter->op);
        if (auto* group = std::get_if<Group>(&combine); group && group->op) op(*group->op);
      }
    }
  }

  const Program& old_;
  Program new_;
  std::set<ArrayId> used_;
  std::set<SymbolId> sizes_used_;
  std::set<FunctionId> functions_used_;
  std::map<ArrayId, ArrayId> arrays_;
  std::map<SymbolId, SymbolId> symbols_;
  std::map<FunctionId, FunctionId> functions_;
  std::map<DimId, DimId> dims_;
};

}  // namespace

Program tidy(const Program& program) { return Tidying(program).run(); }

}  // namespace twill

// What a piece of code uses from its surroundings: the parameters of its function.
#include "emit/uses.h"

#include <type_traits>

namespace twill::nest {

namespace {

template <class Kind, class... Kinds>
constexpr bool is_any_of = (std::is_same_v<std::remove_const_t<Kind>, Kinds> || ...);

/// Every kind of statement is named: a new one has to be thought of.
template <class Kind, class Action>
void expressions_of(Kind& s, const Action& action) {
  const auto one = [&](auto& e) {
    if (e) action(e);
  };
  const auto all = [&](auto& list) {
    for (auto& e : list) one(e);
  };
  if constexpr (is_any_of<Kind, Let, SetSize, Push>) {
    one(s.value);
  } else if constexpr (is_any_of<Kind, Local>) {
    one(s.init);
  } else if constexpr (is_any_of<Kind, Put>) {
    all(s.at);
    one(s.value);
  } else if constexpr (is_any_of<Kind, For>) {
    one(s.lo);
    one(s.hi);
    one(s.enough);
  } else if constexpr (is_any_of<Kind, While, If, Choose, Require>) {
    one(s.condition);
  } else if constexpr (is_any_of<Kind, Strips>) {
    one(s.lo);
    one(s.hi);
    for (auto& window : s.windows) all(window.at);
  } else if constexpr (is_any_of<Kind, Fetch>) {
    all(s.at);
    one(s.count);
  } else if constexpr (is_any_of<Kind, Lookup>) {
    one(s.key);
    for (auto& push : s.if_new) one(push.value);
  } else if constexpr (is_any_of<Kind, Shelve, Unshelve>) {
    one(s.at);
  } else if constexpr (is_any_of<Kind, Perform>) {
    one(s.effect.guard);
    for (auto& argument : s.effect.arguments)
      if (auto* value = std::get_if<Expr>(&argument)) one(*value);
  } else {
    static_assert(
        is_any_of<Kind, Remark, Allocate, Free, Await, Within, Swap, Copy, Born, Growable, Table, Stop>);
  }
}

class Collector {
 public:
  explicit Collector(const Nest& nest) : nest_(nest), program_(*nest.program) {}

  Uses uses;

  void code(std::span<const Statement> list) {
    for (const Statement& statement : list) {
      for_each_expr(statement, [this](Expr e) { expr(e); });
      std::visit([this](const auto& s) { of(s); }, statement.kind);
    }
  }

  void finish() {
    for (ArrayId array : declared_arrays_) {
      uses.arrays.erase(array);
      uses.written.erase(array);
    }
    for (DimId dim : declared_dims_) uses.dims.erase(dim);
    for (SymbolId symbol : declared_symbols_) uses.symbols.erase(symbol);
  }

 private:
  void expr(Expr e) {
    if (!e) return;
    visit(e, [this](Expr node) {
      if (const IndexRef* index = as<IndexRef>(node)) uses.dims.insert(index->dim);
      if (const SizeRef* size = as<SizeRef>(node)) uses.symbols.insert(size->symbol);
      if (const Read* read = as<Read>(node)) array(read->array);
    });
  }
  void array(ArrayId id) {
    if (!uses.arrays.insert(nest_.memory(id)).second && shaped_.contains(id)) return;
    if (!shaped_.insert(id).second) return;
    for (Expr extent : program_[id].shape) expr(extent);
    if (const auto box = nest_.boxes.find(id); box != nest_.boxes.end()) {
      for (Expr e : box->second.origin) expr(e);
      for (Expr e : box->second.extents) expr(e);
    }
  }
  void write(ArrayId id) {
    array(id);
    uses.written.insert(nest_.memory(id));
  }
  void declare(ArrayId id) {
    array(id);
    declared_arrays_.insert(nest_.memory(id));
  }

  template <class Other>
  void of(const Other&) {}
  void of(const Let& s) { declared_dims_.insert(s.name); }
  void of(const Local& s) { declare(s.array); }
  void of(const Allocate& s) {
    uses.allocates = true;
    declare(s.array);
  }
  void of(const Free& s) {
    uses.allocates = true;
    array(s.array);
  }
  void of(const Await& s) { declare(s.array); }
  void of(const Put& s) { write(s.array); }
  void of(const For& s) {
    if (s.by == By::Core) uses.parallel = true;
    declared_dims_.insert(s.index);
    code(s.body);
  }
  void of(const While& s) { code(s.body); }
  void of(const If& s) {
    code(s.then);
    code(s.otherwise);
  }
  void of(const Within& s) { code(s.body); }
  void of(const Strips& s) {
    uses.streams = uses.streams || !s.windows.empty();
    declared_dims_.insert(s.strip);
    declared_dims_.insert(s.end);
    for (const Window& window : s.windows) {
      write(window.array);
      declare(window.view);
    }
    code(s.body);
  }
  void of(const Fetch& s) { array(s.array); }
  void of(const Swap& s) {
    write(s.a);
    write(s.b);
  }
  void of(const Choose& s) {
    declare(s.array);
    write(s.a);
    write(s.b);
  }
  void of(const Copy& s) {
    array(s.from);
    write(s.to);
  }
  void of(const Born& s) { declared_symbols_.insert(s.symbol); }
  void of(const SetSize& s) {
    uses.symbols.insert(s.symbol);
    uses.set.insert(s.symbol);
  }
  void of(const Growable& s) {
    uses.allocates = true;
    declare(s.array);
    declare(s.length);
  }
  void of(const Push& s) {
    uses.allocates = true;
    write(s.array);
    write(s.length);
  }
  void of(const Table& s) {
    uses.allocates = true;
    declare(s.table);
  }
  void of(const Lookup& s) {
    uses.allocates = true;
    for (ArrayId a : {s.table, s.keys, s.count, s.number}) write(a);
    for (const Push& push : s.if_new) of(push);
  }
  void of(const Shelve& s) {
    array(s.array);
    if (s.length) array(s.length);
    write(s.shelf);
  }
  void of(const Unshelve& s) {
    declare(s.array);
    if (s.length) declare(s.length);
    array(s.shelf);
  }
  void of(const Perform&) { uses.allocates = true; }

  const Nest& nest_;
  const Program& program_;
  std::set<ArrayId> shaped_;
  std::set<ArrayId> declared_arrays_;
  std::set<DimId> declared_dims_;
  std::set<SymbolId> declared_symbols_;
};

}  // namespace

void for_each_expr(const Statement& statement, const std::function<void(Expr)>& action) {
  std::visit([&](const auto& s) { expressions_of(s, action); }, statement.kind);
}

void edit_expressions(Statement& statement, const std::function<void(Expr&)>& edit) {
  std::visit([&](auto& s) { expressions_of(s, edit); }, statement.kind);
  if (Within* within = std::get_if<Within>(&statement.kind))
    for (Expr& e : within->positive) edit(e);
}

Uses uses_of(const Nest& nest, std::span<const Statement> code) {
  Collector collector(nest);
  collector.code(code);
  collector.finish();
  return std::move(collector.uses);
}

}  // namespace twill::nest

// What a piece of code uses from its surroundings: the parameters of its function.
#include "emit/uses.h"

#include <span>

namespace twill::nest {

namespace {

/// One function for each kind of statement: a new kind has to be thought of.
struct Expressions {
  const std::function<void(Expr)>& action;

  void operator()(const Let& s) const { of(s.value); }
  void operator()(const Local& s) const { of(s.init); }
  void operator()(const Put& s) const {
    of(s.at);
    of(s.value);
  }
  void operator()(const For& s) const {
    of(s.lo);
    of(s.hi);
    of(s.enough);
  }
  void operator()(const While& s) const { of(s.condition); }
  void operator()(const If& s) const { of(s.condition); }
  void operator()(const Within&) const {}
  void operator()(const Strips& s) const {
    of(s.lo);
    of(s.hi);
    for (const Window& window : s.windows) of(window.at);
  }
  void operator()(const Fetch& s) const {
    of(s.at);
    of(s.count);
  }
  void operator()(const Choose& s) const { of(s.condition); }
  void operator()(const SetSize& s) const { of(s.value); }
  void operator()(const Push& s) const { of(s.value); }
  void operator()(const Lookup& s) const {
    of(s.key);
    for (const Push& push : s.if_new) of(push.value);
  }
  void operator()(const Shelve& s) const { of(s.at); }
  void operator()(const Unshelve& s) const { of(s.at); }
  void operator()(const Perform& s) const {
    of(s.effect.guard);
    for (const auto& argument : s.effect.arguments)
      if (const Expr* value = std::get_if<Expr>(&argument)) of(*value);
  }
  void operator()(const Require& s) const { of(s.condition); }
  void operator()(const Remark&) const {}
  void operator()(const Allocate&) const {}
  void operator()(const Free&) const {}
  void operator()(const Await&) const {}
  void operator()(const Swap&) const {}
  void operator()(const Copy&) const {}
  void operator()(const Born&) const {}
  void operator()(const Growable&) const {}
  void operator()(const Table&) const {}
  void operator()(const Stop&) const {}

 private:
  void of(Expr e) const {
    if (e) action(e);
  }
  void of(std::span<const Expr> list) const {
    for (const Expr e : list) of(e);
  }
};

class Collector {
 public:
  explicit Collector(const Nest& nest) : nest_(nest), program_(*nest.program) {}

  Uses uses;

  void code(const Code& list) {
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
  void of(const SetSize& s) { uses.symbols.insert(s.symbol); }
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
  std::visit(Expressions{action}, statement.kind);
}

Uses uses_of(const Nest& nest, const Code& code) {
  Collector collector(nest);
  collector.code(code);
  collector.finish();
  return std::move(collector.uses);
}

}  // namespace twill::nest

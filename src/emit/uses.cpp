// What a piece of code uses from its surroundings: the parameters of its function.
#include "emit/uses.h"

namespace twill::nest {

namespace {

class Collector {
 public:
  explicit Collector(const Nest& nest) : nest_(nest), program_(*nest.program) {}

  Uses uses;

  void code(const Code& list) {
    for (const Statement& statement : list) std::visit([this](const auto& s) { of(s); }, statement.kind);
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
  ArrayId memory(ArrayId array) const {
    for (auto found = nest_.memory_of.find(array); found != nest_.memory_of.end();
         found = nest_.memory_of.find(array))
      array = found->second;
    return array;
  }

  void expr(Expr e) {
    if (!e) return;
    visit(e, [this](Expr node) {
      if (const IndexRef* index = as<IndexRef>(node)) uses.dims.insert(index->dim);
      if (const SizeRef* size = as<SizeRef>(node)) uses.symbols.insert(size->symbol);
      if (const Read* read = as<Read>(node)) array(read->array);
    });
  }
  void array(ArrayId id) {
    if (!uses.arrays.insert(memory(id)).second && shaped_.contains(id)) return;
    if (!shaped_.insert(id).second) return;
    for (Expr extent : program_[id].shape) expr(extent);
    if (const auto box = nest_.boxes.find(id); box != nest_.boxes.end()) {
      for (Expr e : box->second.origin) expr(e);
      for (Expr e : box->second.extents) expr(e);
    }
  }
  void write(ArrayId id) {
    array(id);
    uses.written.insert(memory(id));
  }
  void declare(ArrayId id) {
    array(id);
    declared_arrays_.insert(memory(id));
  }

  void of(const Remark&) {}
  void of(const Let& s) {
    expr(s.value);
    declared_dims_.insert(s.name);
  }
  void of(const Local& s) {
    expr(s.init);
    declare(s.array);
  }
  void of(const Allocate& s) {
    uses.allocates = true;
    declare(s.array);
  }
  void of(const Free& s) {
    uses.allocates = true;
    array(s.array);
  }
  void of(const Await& s) { declare(s.array); }
  void of(const Put& s) {
    for (Expr e : s.at) expr(e);
    expr(s.value);
    write(s.array);
  }
  void of(const For& s) {
    expr(s.lo);
    expr(s.hi);
    expr(s.enough);
    if (s.by == By::Core) uses.parallel = true;
    declared_dims_.insert(s.index);
    code(s.body);
  }
  void of(const While& s) {
    expr(s.condition);
    code(s.body);
  }
  void of(const If& s) {
    expr(s.condition);
    code(s.then);
    code(s.otherwise);
  }
  void of(const Within& s) { code(s.body); }
  void of(const Strips& s) {
    uses.streams = uses.streams || !s.windows.empty();
    expr(s.lo);
    expr(s.hi);
    declared_dims_.insert(s.strip);
    declared_dims_.insert(s.end);
    for (const Window& window : s.windows) {
      for (Expr e : window.at) expr(e);
      write(window.array);
      declare(window.view);
    }
    code(s.body);
  }
  void of(const Fetch& s) {
    array(s.array);
    for (Expr e : s.at) expr(e);
    expr(s.count);
  }
  void of(const Swap& s) {
    write(s.a);
    write(s.b);
  }
  void of(const Choose& s) {
    declare(s.array);
    expr(s.condition);
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
    expr(s.value);
  }
  void of(const Growable& s) {
    uses.allocates = true;
    declare(s.array);
    declare(s.length);
  }
  void of(const Push& s) {
    uses.allocates = true;
    expr(s.value);
    write(s.array);
    write(s.length);
  }
  void of(const Table& s) {
    uses.allocates = true;
    declare(s.table);
  }
  void of(const Lookup& s) {
    uses.allocates = true;
    expr(s.key);
    for (ArrayId a : {s.table, s.keys, s.count, s.number}) write(a);
    for (const Push& push : s.if_new) of(push);
  }
  void of(const Shelve& s) {
    array(s.array);
    if (s.length) array(s.length);
    expr(s.at);
    write(s.shelf);
  }
  void of(const Unshelve& s) {
    declare(s.array);
    if (s.length) declare(s.length);
    expr(s.at);
    array(s.shelf);
  }
  void of(const Perform& s) {
    uses.allocates = true;
    for (const auto& argument : s.effect.arguments) {
      if (const Expr* e = std::get_if<Expr>(&argument)) expr(*e);
    }
  }
  void of(const Stop&) {}
  void of(const Require& s) { expr(s.condition); }

  const Nest& nest_;
  const Program& program_;
  std::set<ArrayId> shaped_;
  std::set<ArrayId> declared_arrays_;
  std::set<DimId> declared_dims_;
  std::set<SymbolId> declared_symbols_;
};

}  // namespace

Uses uses_of(const Nest& nest, const Code& code) {
  Collector collector(nest);
  collector.code(code);
  collector.finish();
  return std::move(collector.uses);
}

}  // namespace twill::nest

// Which loops can be written with vector types, and their statements.
#include "emit/c_lanes.h"

#include "emit/tables.h"
#include "emit/uses.h"
#include "program/index_use.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace twill {

using namespace nest;

namespace {

/// The widest vectors that processors have; compilers split them where registers are narrower.
constexpr std::int64_t vector_bytes = 64;

using Candidates = std::map<ArrayId, std::int64_t>;  // with the number of their elements

bool has_vectors(const Type& type) {
  if (!type.is_scalar()) return false;
  return type.scalar() != Scalar::Bool && !is_storage_only(type.scalar());
}

/// Types in which C computes without promoting.
bool computes(const Type& type) { return has_vectors(type) && info(type.scalar()).bytes >= 4; }

/// Every Put with the loop that it stands in directly, or null.
void for_each_put(const Code& list, const For* loop,
                  const std::function<void(const Put&, const For*)>& action) {
  for (const Statement& statement : list) {
    if (const Put* put = std::get_if<Put>(&statement.kind)) action(*put, loop);
    const For* own = std::get_if<For>(&statement.kind);
    for_each_code(statement, [&](const Code& inside) { for_each_put(inside, own, action); });
  }
}

void for_each_read(Expr root, const std::function<void(ArrayId)>& action) {
  visit(root, [&](Expr node) {
    if (const Read* read = as<Read>(node)) action(read->array);
  });
}

/// Arrays that statements read which are no Put: keys, conditions, what is appended, bounds, effects.
void for_each_other_read(const Code& list, const std::function<void(ArrayId)>& action) {
  for (const Statement& statement : list) {
    if (!std::holds_alternative<Put>(statement.kind))
      for_each_expr(statement, [&](Expr e) { for_each_read(e, action); });
    for_each_code(statement, [&](const Code& inside) { for_each_other_read(inside, action); });
  }
}

/// The nodes of a value that every lane has one of: they move with it, or a vector is read for them.
std::unordered_set<const Node*> wide_nodes(Expr root, DimId lane,
                                           const std::function<bool(ArrayId)>& is_vector) {
  std::unordered_set<const Node*> wide;
  visit(root, [&](Expr node) {
    const IndexRef* index = as<IndexRef>(node);
    const Read* read = as<Read>(node);
    if ((index && index->dim == lane) || (read && is_vector(read->array)) ||
        std::ranges::any_of(node->args, [&](Expr arg) { return wide.contains(arg.get()); }))
      wide.insert(node.get());
  });
  return wide;
}

/// Is it an operation that vectors have, and a conversion only of what they hold?
bool computes_in_lanes(Expr e) {
  if (as<Cast>(e)) {
    const Type& from = e->args[0]->type;
    const bool truncates = from.is_float() && !e->type.is_float();
    return has_vectors(from) && has_vectors(e->type) && !truncates;
  }
  const Apply* apply = as<Apply>(e);
  return apply && computes(e->type) &&
         (is_sum_or_product(e) || (apply->prim == Prim::Div && e->type.is_float()));
}

void for_each_use(const Put& put, const std::function<void(ArrayId)>& action) {
  action(put.array);
  for_each_read(put.value, action);
  for (Expr at : put.at) for_each_read(at, action);
}

/// Arrays that the statements of a loop's own body use.
void for_each_use(const For& s, const std::function<void(ArrayId)>& action) {
  for (const Statement& statement : s.body) {
    if (const Put* put = std::get_if<Put>(&statement.kind)) for_each_use(*put, action);
  }
}

}  // namespace

const CVectors* CLanes::vectors(ArrayId array) const {
  const auto found = vectors_.find(array);
  return found == vectors_.end() ? nullptr : &found->second;
}

std::string CLanes::type(Scalar scalar, std::int64_t lanes) {
  return c_.prelude.need_vector(scalar, static_cast<int>(lanes));
}

std::string CLanes::type(ArrayId array) {
  return type(program_[array].type.scalar(), vectors_.at(array).lanes);
}

void CLanes::find(const Code& list) {
  Candidates candidates;
  for (const Statement& statement : list) {
    const Local* local = std::get_if<Local>(&statement.kind);
    if (!local || program_[local->array].rank() != 1 || !computes(program_[local->array].type)) continue;
    if (const Literal* extent = as<Literal>(program_[local->array].shape.front()))
      candidates[local->array] = extent->value.i;
  }
  for_each_other_read(list, [&](ArrayId array) { candidates.erase(array); });
  // A loop that cannot be written with vectors needs its arrays as they are, and so do the loops that share
  // some of them.
  for (std::size_t before = 0; before != candidates.size();) {
    before = candidates.size();
    std::map<ArrayId, bool> dropped;
    std::map<const For*, bool> known;
    for_each_put(list, nullptr, [&](const Put& put, const For* loop) {
      if (loop && !known.contains(loop)) known[loop] = has_form(*loop, candidates);
      const bool fits = loop && known[loop];
      for_each_use(put, [&](ArrayId array) { dropped[array] |= !fits; });
    });
    std::erase_if(candidates, [&](const auto& candidate) {
      const auto found = dropped.find(candidate.first);
      return found == dropped.end() || found->second;
    });
  }
  if (candidates.empty()) return;
  std::int64_t bytes = 4;
  for_each_put(list, nullptr, [&](const Put& put, const For* loop) {
    bool touches = false;
    for_each_use(put, [&](ArrayId array) { touches = touches || candidates.contains(array); });
    if (touches) bytes = std::max(bytes, widest(*loop));
  });
  for (const auto& [array, extent] : candidates) {
    CVectors vectors{vector_bytes / bytes, {}};
    while (extent % vectors.lanes != 0) vectors.lanes /= 2;
    for (std::int64_t v = 0; v < extent / vectors.lanes; ++v)
      vectors.names.push_back(c_.names.fresh(c_.names.of(array) + "_v" + std::to_string(v)));
    vectors_[array] = std::move(vectors);
  }
}

/// Do the elements for neighbouring lanes lie side by side, at places that are known without data?
bool CLanes::is_neighbourly(std::span<const Expr> at, DimId lane) const {
  for (std::size_t s = 0; s < at.size(); ++s) {
    if (factor_of(at[s], lane) != (s + 1 == at.size() ? 1 : 0)) return false;
    if (reads_data(at[s])) return false;
  }
  return !at.empty();
}

bool CLanes::has_form(Expr root, DimId lane, const Candidates& candidates) const {
  const auto wide = wide_nodes(root, lane, [&](ArrayId array) { return candidates.contains(array); });
  bool all = true;
  descend(root, [&](Expr e) {
    if (!all || !wide.contains(e.get())) return false;
    const Read* read = as<Read>(e);
    all = read ? has_form(*read, e, lane, candidates) : computes_in_lanes(e);
    return all && !read;
  });
  return all;
}

bool CLanes::has_form(const Read& read, Expr e, DimId lane, const Candidates& candidates) const {
  const std::span<const Expr> at = std::span(e->args).first(read.rules.size());
  if (candidates.contains(read.array)) {
    const IndexRef* index = as<IndexRef>(at.front());
    return index && index->dim == lane;
  }
  const bool inside = std::all_of(read.rules.begin(), read.rules.end(),
                                  [](Boundary rule) { return rule == Boundary::Inside; });
  return inside && has_vectors(e->type) && is_neighbourly(at, lane);
}

bool CLanes::has_form(const For& s, const Candidates& candidates) const {
  const Literal *lo = as<Literal>(s.lo), *hi = as<Literal>(s.hi);
  if (s.by != By::Simd || s.down || !s.reductions.empty() || !lo || !hi || lo->value.i != 0 ||
      hi->value.i % 2 != 0)
    return false;
  return std::all_of(s.body.begin(), s.body.end(), [&](const Statement& statement) {
    const Put* put = std::get_if<Put>(&statement.kind);
    if (!put || !put->checked.empty()) return false;
    const auto candidate = candidates.find(put->array);
    if (candidate != candidates.end()) {
      const IndexRef* index = as<IndexRef>(put->at.front());
      if (!index || index->dim != s.index || candidate->second != hi->value.i) return false;
    } else if (!computes(program_[put->array].type) || !is_neighbourly(put->at, s.index)) {
      return false;
    }
    if (put->op && put->op->prim != Prim::Add && put->op->prim != Prim::Mul) return false;
    bool same = true;  // number of lanes
    for_each_read(put->value, [&](ArrayId array) {
      const auto found = candidates.find(array);
      if (found != candidates.end() && found->second != hi->value.i) same = false;
    });
    return same && has_form(put->value, s.index, candidates);
  });
}

/// Bytes of the widest value that every lane has one of.
std::int64_t CLanes::widest(const For& s) const {
  std::int64_t bytes = 0;
  for (const Statement& statement : s.body) {
    const Put& put = std::get<Put>(statement.kind);
    bytes = std::max<std::int64_t>(bytes, info(program_[put.array].type.scalar()).bytes);
    const auto moving = mentioning(put.value, s.index);
    visit(put.value, [&](Expr node) {
      if (!moving.contains(node.get())) return;
      if (as<Read>(node) || (has_vectors(node->type) && !node->type.is(Scalar::I64)))
        bytes = std::max<std::int64_t>(bytes, info(node->type.scalar()).bytes);
    });
  }
  return bytes;
}

bool CLanes::covers(const For& s) const {
  if (s.by != By::Simd) return false;
  bool found = false;
  for_each_use(s, [&](ArrayId array) { found = found || vectors_.contains(array); });
  return found;
}

/// The text of one vector of a value.
class CLanes::VectorText {
 public:
  VectorText(CLanes& lanes, Expr root, DimId lane, std::int64_t first, std::int64_t count,
             CExpressions& print)
      : c_(lanes), root_(root), lane_(lane), first_(first), count_(count), print_(print) {
    wide_ = wide_nodes(root, lane, [&](ArrayId array) { return c_.vectors_.contains(array); });
    visit(root, [&](Expr node) {
      if (wide_.contains(node.get()))
        for (const Expr arg : node->args) ++uses_[arg.get()];
    });
  }

  /// Is it the same for all lanes?
  bool is_same() const { return !wide_.contains(root_.get()); }
  CText text() { return text(root_); }
  /// To stand before it: values that are used several times.
  std::vector<std::string> lines() && {
    std::vector<std::string> all = print_.take_lines();
    all.insert(all.end(), lines_.begin(), lines_.end());
    return all;
  }

  /// A subscript for the first lane.
  Expr here(Expr at) const {
    ExprPool& pool = *c_.program_.pool;
    return rewrite(pool, at, [&](Expr node) {
      const IndexRef* index = as<IndexRef>(node);
      return index && index->dim == lane_ ? pool.integer(first_) : Expr{};
    });
  }

 private:
  CText text(Expr e) {
    if (const auto named = names_.find(e.get()); named != names_.end()) return {named->second};
    if (!wide_.contains(e.get())) return print_.print(e);
    CText made = as<Read>(e) ? element(*as<Read>(e), e) : operation(e);
    if (as<Read>(e) || uses_[e.get()] < 2) return made;
    std::string& name = names_[e.get()] = c_.c_.names.fresh("v");
    lines_.push_back("const " + c_.type(e->type.scalar(), count_) + " " + name + " = " + made.text + ";");
    return {name};
  }

  CText element(const Read& read, Expr e) {
    if (const CVectors* local = c_.vectors(read.array))
      return {local->names[static_cast<std::size_t>(first_ / count_)]};
    std::vector<Expr> at;
    for (Expr subscript : std::span(e->args).first(read.rules.size())) at.push_back(here(subscript));
    return {"*(const " + c_.type(e->type.scalar(), count_) + " *)&" + print_.element(read.array, at), 14};
  }

  CText operation(Expr e) {
    const auto operand = [&](std::size_t a) { return text(e->args[a]); };
    if (as<Cast>(e))
      return {"__builtin_convertvector(" + operand(0).text + ", " + c_.type(e->type.scalar(), count_) + ")"};
    const auto infix = [&](const char* op, int binds) {
      const CText a = operand(0), b = operand(1);
      return CText{in_parentheses(a, binds) + " " + op + " " + in_parentheses(b, binds + 1), binds};
    };
    switch (as<Apply>(e)->prim) {
      case Prim::Add: return infix("+", 12);
      case Prim::Sub: return infix("-", 12);
      case Prim::Mul: return infix("*", 13);
      case Prim::Div: return infix("/", 13);
      default: return {"-" + in_parentheses(operand(0), 15), 14};
    }
  }

  CLanes& c_;
  Expr root_;
  DimId lane_;
  std::int64_t first_, count_;
  CExpressions& print_;
  std::unordered_set<const Node*> wide_;
  std::unordered_map<const Node*, int> uses_;
  std::unordered_map<const Node*, std::string> names_;
  std::vector<std::string> lines_;
};

std::vector<std::string> CLanes::statements(const For& s, CExpressions& print) {
  std::int64_t lanes = 0;
  for_each_use(s, [&](ArrayId array) {
    if (const CVectors* found = vectors(array)) lanes = found->lanes;
  });
  for (const Statement& statement : s.body) print.expect(std::get<Put>(statement.kind).value);
  std::vector<std::string> result;
  for (std::int64_t first = 0; first < as<Literal>(s.hi)->value.i; first += lanes) {
    for (const Statement& statement : s.body) {
      const Put& put = std::get<Put>(statement.kind);
      const std::string vector = type(program_[put.array].type.scalar(), lanes);
      VectorText value(*this, put.value, s.index, first, lanes, print);
      const CText amount = value.text();
      const bool same = value.is_same();
      std::string target;
      if (const CVectors* local = vectors(put.array)) {
        target = local->names[static_cast<std::size_t>(first / lanes)];
      } else {
        std::vector<Expr> at;
        for (Expr subscript : put.at) at.push_back(value.here(subscript));
        target = "*(" + vector + " *)&" + print.element(put.array, at);
      }
      for (std::string& line : std::move(value).lines()) result.push_back(std::move(line));
      // A value less nothing is itself, even if it is a zero with a sign: one for all lanes.
      const std::string all = "(" + vector + "){0}";
      if (put.op)
        result.push_back(target + (put.op->prim == Prim::Add ? " += " : " *= ") + amount.text + ";");
      else
        result.push_back(target + " = " + (same ? in_parentheses(amount, 12) + " - " + all : amount.text) +
                         ";");
    }
  }
  return result;
}

}  // namespace twill

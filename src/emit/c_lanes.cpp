// Which loops can be written with vector types, and their statements.
#include "emit/c_lanes.h"

#include "program/index_use.h"

#include <algorithm>

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
    std::visit(
        [&](const auto& s) {
          using Kind = std::decay_t<decltype(s)>;
          if constexpr (std::is_same_v<Kind, Put>) action(s, loop);
          if constexpr (std::is_same_v<Kind, For>) {
            for_each_put(s.body, &s, action);
          } else {
            if constexpr (requires { s.body; }) for_each_put(s.body, nullptr, action);
            if constexpr (requires { s.then; }) {
              for_each_put(s.then, nullptr, action);
              for_each_put(s.otherwise, nullptr, action);
            }
          }
        },
        statement.kind);
  }
}

void for_each_read(Expr root, const std::function<void(ArrayId)>& action) {
  if (!root) return;
  visit(root, [&](Expr node) {
    if (const Read* read = as<Read>(node)) action(read->array);
  });
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

bool CLanes::moves(Expr e, DimId lane) const {
  bool found = false;
  visit(e, [&](Expr node) {
    const IndexRef* index = as<IndexRef>(node);
    if (index && index->dim == lane) found = true;
  });
  return found;
}

/// Do the elements for neighbouring lanes lie side by side, at places that are known without data?
bool CLanes::is_neighbourly(std::span<const Expr> at, DimId lane) const {
  for (std::size_t s = 0; s < at.size(); ++s) {
    if (factor_of(at[s], lane) != (s + 1 == at.size() ? 1 : 0)) return false;
    if (reads_data(at[s])) return false;
  }
  return !at.empty();
}

bool CLanes::has_form(Expr e, DimId lane, const Candidates& candidates) const {
  if (const Read* read = as<Read>(e)) {
    const std::span<const Expr> at = std::span(e->args).first(read->rules.size());
    if (candidates.contains(read->array)) {
      const IndexRef* index = as<IndexRef>(at.front());
      return index && index->dim == lane;
    }
    if (!moves(e, lane)) return true;
    const bool inside = std::all_of(read->rules.begin(), read->rules.end(),
                                    [](Boundary rule) { return rule == Boundary::Inside; });
    return inside && has_vectors(e->type) && is_neighbourly(at, lane);
  }
  bool reads_vector = false;
  for_each_read(e, [&](ArrayId array) { reads_vector = reads_vector || candidates.contains(array); });
  if (!moves(e, lane) && !reads_vector) return true;
  const auto all = [&] {
    return std::all_of(e->args.begin(), e->args.end(),
                       [&](Expr arg) { return has_form(arg, lane, candidates); });
  };
  if (as<Cast>(e)) {
    const Type& from = e->args[0]->type;
    const bool truncates = from.is_float() && !e->type.is_float();
    return has_vectors(from) && has_vectors(e->type) && !truncates && all();
  }
  const Apply* apply = as<Apply>(e);
  if (!apply || !computes(e->type)) return false;
  switch (apply->prim) {
    case Prim::Add:
    case Prim::Sub:
    case Prim::Mul:
    case Prim::Neg: return all();
    case Prim::Div: return e->type.is_float() && all();
    default: return false;
  }
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
    visit(put.value, [&](Expr node) {
      if (moves(node, s.index) && has_vectors(node->type) && !node->type.is(Scalar::I64))
        bytes = std::max<std::int64_t>(bytes, info(node->type.scalar()).bytes);
      if (as<Read>(node) && moves(node, s.index))
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

CText CLanes::value(Expr e, DimId lane, std::int64_t first, std::int64_t lanes, CExpressions& print) {
  const auto here = [&](Expr at) {
    return rewrite(*program_.pool, at, [&](Expr node) {
      const IndexRef* index = as<IndexRef>(node);
      return index && index->dim == lane ? program_.pool->integer(first) : Expr{};
    });
  };
  const Read* read = as<Read>(e);
  if (read && vectors_.contains(read->array))
    return {vectors_.at(read->array).names[static_cast<std::size_t>(first / lanes)]};
  bool reads_vector = false;
  for_each_read(e, [&](ArrayId array) { reads_vector = reads_vector || vectors_.contains(array); });
  if (!moves(e, lane) && !reads_vector) return print.print(e);
  if (read) {
    std::vector<Expr> at;
    for (Expr subscript : std::span(e->args).first(read->rules.size())) at.push_back(here(subscript));
    return {"*(const " + type(e->type.scalar(), lanes) + " *)&" + print.element(read->array, at), 14};
  }
  const auto operand = [&](std::size_t a) { return value(e->args[a], lane, first, lanes, print); };
  if (as<Cast>(e))
    return {"__builtin_convertvector(" + operand(0).text + ", " + type(e->type.scalar(), lanes) + ")"};
  const auto infix = [&](const char* op, int binds) {
    return CText{in_parentheses(operand(0), binds) + " " + op + " " + in_parentheses(operand(1), binds + 1),
                 binds};
  };
  switch (as<Apply>(e)->prim) {
    case Prim::Add: return infix("+", 12);
    case Prim::Sub: return infix("-", 12);
    case Prim::Mul: return infix("*", 13);
    case Prim::Div: return infix("/", 13);
    default: return {"-" + in_parentheses(operand(0), 15), 14};
  }
}

std::vector<std::string> CLanes::statements(const For& s, CExpressions& print) {
  std::int64_t lanes = 0;
  for_each_use(s, [&](ArrayId array) {
    if (const CVectors* found = vectors(array)) lanes = found->lanes;
  });
  std::vector<std::string> result;
  for (std::int64_t first = 0; first < as<Literal>(s.hi)->value.i; first += lanes) {
    for (const Statement& statement : s.body) {
      const Put& put = std::get<Put>(statement.kind);
      const std::string vector = type(program_[put.array].type.scalar(), lanes);
      const CText amount = value(put.value, s.index, first, lanes, print);
      bool same = !moves(put.value, s.index);
      for_each_read(put.value, [&](ArrayId array) { same = same && !vectors_.contains(array); });
      std::string target;
      if (const CVectors* local = vectors(put.array)) {
        target = local->names[static_cast<std::size_t>(first / lanes)];
      } else {
        std::vector<Expr> at;
        for (Expr subscript : put.at) {
          at.push_back(rewrite(*program_.pool, subscript, [&](Expr node) {
            const IndexRef* index = as<IndexRef>(node);
            return index && index->dim == s.index ? program_.pool->integer(first) : Expr{};
          }));
        }
        target = "*(" + vector + " *)&" + print.element(put.array, at);
      }
      for (std::string& line : print.take_lines()) result.push_back(std::move(line));
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

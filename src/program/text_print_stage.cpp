// Printing of programs: stages. A short form is used where it means exactly the stage; else the general one.
#include "program/choice.h"
#include "program/text_lower.h"
#include "program/text_printer.h"
#include "program/typing.h"

#include <fmt/format.h>

#include <algorithm>

namespace twill::text {
namespace {

constexpr int level_not = 3, level_product = 6;  // as in the parser

bool is_zero(Expr e) {
  const auto* literal = as<Literal>(e);
  return literal && literal->value == Number::of(Scalar::I64, 0);
}

const DimId* index_of(Expr e) {
  const auto* index = as<IndexRef>(e);
  return index ? &index->dim : nullptr;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i ? ", " : "") + parts[i];
  return text;
}

std::string escaped(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else
      result += c;
  }
  return result + "\"";
}

bool is_plain(const Output& output) { return !output.into && !output.key && !output.keys && !output.offsets; }

}  // namespace

void Printer::line(const std::string& text) {
  text_ += std::string(static_cast<std::size_t>(indent_) * 2, ' ') + text + "\n";
}

void Printer::stages(std::span<const Stage> list) {
  for (const Stage& s : list) stage(s);
}

void Printer::stage(const Stage& s) {
  for (const Hint hint : s.hints)
    line(hint == Hint::Never       ? "@never"
         : hint == Hint::Always    ? "@always"
         : hint == Hint::Recompute ? "@recompute"
                                   : "@remember");
  const std::size_t depth = visible_.size();
  for (const Dim& dim : s.dims) visible_.push_back(dim.id);
  const bool named = !s.outputs.empty() && s.name == program_[s.outputs[0].array].name;
  const bool formulas = std::holds_alternative<Formula>(s.body);
  const bool bounded =
      std::all_of(s.dims.begin(), s.dims.end(), [](const Dim& dim) { return dim.hi && !dim.condition; });
  bool done = false;
  if (s.outputs.empty())
    done = formulas && bounded && effects(s);
  else if (named && s.effects.empty())
    done = formulas ? bounded && (formula(s) || collection(s) || scatter(s)) : loop(s);
  if (!done) general(s);
  stage_names_.insert(s.name);
  visible_.resize(depth);
  if (done) force(s);
}

void Printer::force(const Stage& s) {
  for (const Output& output : s.outputs)
    if (output.force) line("force(" + name(output.array) + ")");
}

/// Is this the name that the parser would derive for the next stage of its kind?
bool Printer::next_name(const std::string& base, const std::string& name) {
  std::string expected = base;
  for (int n = 2; stage_names_.contains(expected); ++n) expected = base + "_" + std::to_string(n);
  return expected == name;
}

// ---- indices
// ------------------------------------------------------------------------------------------------

namespace {

bool uses_index(Expr e, DimId dim) {
  bool uses = false;
  visit(e, [&](Expr node) { uses = uses || (index_of(node) && *index_of(node) == dim); });
  return uses;
}

/// Does the index occur once in this sum, with factor 1?
bool is_shifted(Expr e, DimId dim, bool positive, int& uses) {
  if (const DimId* index = index_of(e); index && *index == dim) {
    ++uses;
    return positive;
  }
  const auto* apply = as<Apply>(e);
  if (apply && (apply->prim == Prim::Add || apply->prim == Prim::Sub))
    return is_shifted(e->args[0], dim, positive, uses) &&
           is_shifted(e->args[1], dim, positive == (apply->prim == Prim::Add), uses);
  return !uses_index(e, dim);
}

std::optional<std::int64_t> shift_of(Expr e, DimId dim) {
  if (const DimId* index = index_of(e)) return *index == dim ? std::optional<std::int64_t>(0) : std::nullopt;
  const auto* apply = as<Apply>(e);
  if (!apply || apply->prim != Prim::Add) return std::nullopt;
  for (const std::size_t side : {0, 1}) {
    const DimId* index = index_of(e->args[side]);
    const auto* literal = as<Literal>(e->args[1 - side]);
    if (index && *index == dim && literal) return literal->value.i;
  }
  return std::nullopt;
}

}  // namespace

/// Would the parser find the range of the dimension from the arrays that it walks? Only if all of them agree,
/// because the order in which it meets them is that of the text.
bool Printer::walks(const Stage& s, const Dim& dim) const {
  if (!is_zero(dim.lo)) return false;
  std::vector<Walk> all;
  for_each_expr(s, [&](Expr root) {
    visit(root, [&](Expr node) {
      const auto* read = as<Read>(node);
      if (!read || read->rules.empty()) return;
      const bool own = std::any_of(s.outputs.begin(), s.outputs.end(),
                                   [&](const Output& o) { return o.array == read->array; });
      if (own) return;
      const std::vector<Expr>& shape = program_[read->array].shape;
      for (std::size_t i = 0; i < shape.size(); ++i) {
        int uses = 0;
        if (read->rules[i] == Boundary::Inside) {
          if (const auto shift = shift_of(node->args[i], dim.id))
            all.push_back({read->array, i, shape[i], shift});
        } else if (is_shifted(node->args[i], dim.id, true, uses) && uses == 1) {
          all.push_back({read->array, i, shape[i], std::nullopt});
        }
      }
    });
  });
  if (all.empty() || range_of(*program_.pool, all) != dim.hi) return false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::rotate(all.begin(), all.begin() + 1, all.end());
    if (range_of(*program_.pool, all) != dim.hi) return false;
  }
  return true;
}

std::string Printer::declaration(const Stage& s, const Dim& dim) {
  const std::string& text = dims_[static_cast<std::size_t>(dim.id.value)];
  const bool hides = std::find(names_.begin(), names_.end(), text) != names_.end() ||
                     std::count_if(visible_.begin(), visible_.end(), [&](DimId other) {
                       return dims_[static_cast<std::size_t>(other.value)] == text;
                     }) > 1;
  if (!hides && walks(s, dim)) return text;
  if (!hides && is_zero(dim.lo)) return text + " < " + index(dim.hi, 5);
  return text + " in " + index(dim.lo) + " .. " + index(dim.hi);
}

std::string Printer::generators(const Stage& s, std::size_t first, Expr guard) {
  std::vector<std::string> parts;
  for (std::size_t i = first; i < s.dims.size(); ++i) parts.push_back(declaration(s, s.dims[i]));
  if (guard) parts.push_back(expr(guard));
  return joined(parts);
}

/// Would the parser take the guard for the range of an index?
bool Printer::looks_like_bound(const Stage& s, Expr guard) const {
  const auto* apply = as<Apply>(guard);
  if (!apply || info(apply->prim).prim_class != PrimClass::Comparison) return false;
  return std::any_of(guard->args.begin(), guard->args.end(), [&](Expr arg) {
    const DimId* index = index_of(arg);
    return index &&
           std::any_of(s.dims.begin(), s.dims.end(), [&](const Dim& dim) { return dim.id == *index; });
  });
}

// ---- formulas
// -----------------------------------------------------------------------------------------------

/// `y[i, j < 3]: f32[N, M] into x`; the indices written are added to `declared`.
std::string Printer::target(const Stage& s, const Output& output, std::set<DimId>& declared) {
  const Array& array = program_[output.array];
  std::vector<std::string> indices;
  std::vector<Expr> shape;
  for (const Expr at : output.at) {
    const Dim& dim =
        *std::find_if(s.dims.begin(), s.dims.end(), [&](const Dim& d) { return d.id == *index_of(at); });
    indices.push_back(declared.insert(dim.id).second ? declaration(s, dim)
                                                     : dims_[static_cast<std::size_t>(dim.id.value)]);
    shape.push_back(dim.hi);
  }
  std::string text = name(output.array);
  if (!indices.empty()) text += "[" + joined(indices) + "]";
  const bool derived = output.into ? program_[*output.into].shape == array.shape : shape == array.shape;
  const bool recurrent =
      std::any_of(output.combine.begin(), output.combine.end(), [](const Combine& c) { return is<Seq>(c); });
  if (!derived)
    text += ": " + array_type(array);
  else if (recurrent || (indices.empty() && as<Literal>(output.value)))
    text += ": " + to_string(array.type);
  if (output.into) text += (output.accumulates ? " onto " : " into ") + name(*output.into);
  return text;
}

/// `seq(i) scan(+, j) max(k) sum(l, m) `: what becomes of the dimensions that are not side by side.
std::string Printer::heads(const Stage& s, const Output& output, std::set<DimId>& declared) {
  std::string text, scans;
  std::vector<std::string> seqs;
  std::string folds;
  for (std::size_t i = 0; i < s.dims.size(); ++i) {
    const std::string& dim = dims_[static_cast<std::size_t>(s.dims[i].id.value)];
    if (is<Seq>(output.combine[i])) seqs.push_back(dim);
    if (const auto* scan = std::get_if<Scan>(&output.combine[i]))
      scans += (scan->from == Direction::Left ? "scan(" : "scan_right(") + name(scan->op) + ", " + dim + ") ";
    const auto* fold = std::get_if<Fold>(&output.combine[i]);
    if (!fold) continue;
    std::vector<std::string> indices;
    std::size_t j = i;
    for (; j < s.dims.size(); ++j) {
      const auto* next = std::get_if<Fold>(&output.combine[j]);
      if (!next || !(next->op == fold->op)) break;
      indices.push_back(declared.insert(s.dims[j].id).second
                            ? declaration(s, s.dims[j])
                            : dims_[static_cast<std::size_t>(s.dims[j].id.value)]);
    }
    const Operator& op = fold->op;
    const bool builtin = op.prim && name(op) == info(*op.prim).name;
    const bool widest = builtin && op.type.is_scalar() && accumulator_type(op.type) == op.type;
    const std::string word = !builtin                                         ? ""
                             : *op.prim == Prim::Add && widest                ? "sum"
                             : *op.prim == Prim::Mul && widest                ? "product"
                             : *op.prim == Prim::Max || *op.prim == Prim::Min ? name(op)
                             : *op.prim == Prim::And                          ? "all"
                             : *op.prim == Prim::Or                           ? "any"
                                                                              : "";
    folds += (word.empty() ? "fold(" + name(op) + ", " : word + "(") + joined(indices) + ") ";
    i = j - 1;
  }
  if (!seqs.empty()) text += "seq(" + joined(seqs) + ") ";
  return text + scans + folds;
}

/// How tightly what the heads run over has to bind: the innermost fold or scan says so.
int Printer::body_level(const Stage& s, const Output& output) const {
  const Operator* innermost = nullptr;
  bool folds = false;
  for (std::size_t i = 0; i < s.dims.size(); ++i) {
    const auto* scan = std::get_if<Scan>(&output.combine[i]);
    const auto* fold = std::get_if<Fold>(&output.combine[i]);
    if (scan && !folds) innermost = &scan->op;
    if (fold) innermost = &fold->op;
    folds = folds || fold;
  }
  if (!innermost) return 0;
  const bool logical = innermost->prim == Prim::And || innermost->prim == Prim::Or;
  return logical && name(*innermost) == info(*innermost->prim).name ? level_not : level_product;
}

bool Printer::formula(const Stage& s) {
  std::vector<DimId> order;
  const auto note = [&](DimId id) {
    if (std::find(order.begin(), order.end(), id) == order.end()) order.push_back(id);
  };
  const Expr guard = s.outputs[0].guard;
  for (const Output& output : s.outputs) {
    if (!output.value || output.keys || output.offsets || output.key || output.guard != guard) return false;
    std::set<DimId> written;
    for (const Expr at : output.at) {
      const DimId* index = index_of(at);
      if (!index || !written.insert(*index).second) return false;
      note(*index);
    }
    for (std::size_t i = 0; i < s.dims.size(); ++i) {
      const Combine& combine = output.combine[i];
      const bool kept =
          is<Cat>(combine) || is<Scan>(combine) || (is<Seq>(combine) && !std::get<Seq>(combine).last);
      if (!kept && !is<Fold>(combine)) return false;
      if (kept != written.contains(s.dims[i].id)) return false;
      if (is<Fold>(combine)) note(s.dims[i].id);
    }
    if (written.size() != output.at.size()) return false;
  }
  if (order.size() != s.dims.size()) return false;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != s.dims[i].id) return false;
  std::set<std::string> distinct;
  for (const Dim& dim : s.dims)
    if (!distinct.insert(dims_[static_cast<std::size_t>(dim.id.value)]).second) return false;
  if (guard && looks_like_bound(s, guard)) return false;

  std::vector<std::string> targets, values;
  std::set<DimId> declared;
  for (const Output& output : s.outputs) {
    targets.push_back(target(s, output, declared));
    const std::string head = heads(s, output, declared);
    const int level = body_level(s, output);
    std::string value = expr(output.value, level, false);
    if (level == level_product && value[0] == '-') value = "(" + value + ")";
    values.push_back(head + value);
  }
  const bool single = s.outputs.size() == 1;
  std::string text =
      single ? targets[0] + " = " + values[0] : "(" + joined(targets) + ") = (" + joined(values) + ")";
  if (guard) text += " where " + expr(guard);
  line(text);
  return true;
}

// ---- collections
// ----------------------------------------------------------------------------------------------

bool Printer::collection(const Stage& s) {
  const Output& output = s.outputs[0];
  if (s.outputs.size() != 1 || !output.value || output.into || !output.at.empty() || s.dims.empty())
    return false;
  const Array& values = program_[output.array];
  const auto born = [&](ArrayId array, const char* suffix) {
    const std::vector<Expr>& shape = program_[array].shape;
    const auto* size = shape.size() == 1 ? as<SizeRef>(shape[0]) : nullptr;
    return size && program_[size->symbol].name == values.name + suffix;
  };
  const auto called = [&](std::optional<ArrayId> array, const char* suffix) {
    return !array || program_[*array].name == values.name + suffix;
  };
  if (!called(output.offsets, "_offsets") || !called(output.keys, "_keys")) return false;
  const std::size_t rows =
      static_cast<std::size_t>(std::find_if(output.combine.begin(), output.combine.end(),
                                            [](const Combine& c) { return !is<Cat>(c); }) -
                               output.combine.begin());
  ExprPool& pool = *program_.pool;
  if (rows < s.dims.size() && is<Append>(output.combine[rows])) {
    Expr count = pool.integer(1);
    for (std::size_t i = 0; i < rows; ++i)
      count = pool.apply(Prim::Mul, {count, pool.apply(Prim::Sub, {s.dims[i].hi, s.dims[i].lo})});
    if (rows > 0 && program_[*output.offsets].shape[0] != pool.apply(Prim::Add, {count, pool.integer(1)}))
      return false;
    if (!born(output.array, "_len")) return false;
    std::vector<std::string> indices;
    for (std::size_t i = 0; i < rows; ++i) indices.push_back(declaration(s, s.dims[i]));
    line(name(output.array) + (rows ? "[" + joined(indices) + "]" : "") + " = [ " + expr(output.value) +
         " | " + generators(s, rows, output.guard) + " ]");
    return true;
  }
  if (rows > 0 || !is<Group>(output.combine[0]) || !output.key || !output.keys) return false;
  const std::optional<Operator>& op = std::get<Group>(output.combine[0]).op;
  for (const Combine& combine : output.combine)
    if (!is<Group>(combine) || !(std::get<Group>(combine).op == op)) return false;
  if (!born(*output.keys, "_len") || !born(output.array, op ? "_len" : "_total")) return false;
  const std::string how = op ? "group(" + name(*op) + ")" : "group";
  line(name(output.array) + " = " + how + " [ (" + expr(output.key) + ", " + expr(output.value) + ") | " +
       generators(s, 0, output.guard) + " ]");
  return true;
}

bool Printer::scatter(const Stage& s) {
  const Output& output = s.outputs[0];
  if (s.outputs.size() != 1 || !output.value || output.key || output.keys || output.offsets) return false;
  std::optional<Operator> op;
  bool scatters = false;
  for (const Combine& combine : output.combine)
    if (const auto* how = std::get_if<Scatter>(&combine)) {
      if (scatters && !(how->op == op)) return false;
      scatters = true;
      op = how->op;
    }
  if (output.accumulates != (output.into && op)) return false;
  const std::vector<bool> apart = kept_apart(output.at, s.dims, op.has_value(), !output.into);
  for (std::size_t i = 0; i < s.dims.size(); ++i)
    if (apart[i] ? !is<Cat>(output.combine[i]) : !is<Scatter>(output.combine[i])) return false;
  if (!output.into && s.dims.empty()) return false;
  const Array& array = program_[output.array];
  std::string text = name(output.array);
  if (output.into)
    text += " = " + name(*output.into) + " with" + (op ? "(" + name(*op) + ")" : "");
  else
    text += ": " + array_type(array) + " = scatter" + (op ? "(" + name(*op) + ")" : "");
  std::vector<std::string> at;
  for (const Expr e : output.at) at.push_back(index(e));
  const std::string generated = generators(s, 0, output.guard);
  line(text + " { [" + joined(at) + "] <- " + expr(output.value, 0, true) +
       (generated.empty() ? "" : " | " + generated) + " }");
  return true;
}

// ---- effects and loops
// ------------------------------------------------------------------------------------------

std::string Printer::effect(const Effect& effect) {
  std::vector<std::string> arguments;
  for (const auto& argument : effect.arguments)
    arguments.push_back(argument.index() == 0 ? escaped(std::get<0>(argument)) : expr(std::get<1>(argument)));
  return quoted(effect.kind) + "(" + joined(arguments) + ")" +
         (effect.guard ? " where " + expr(effect.guard) : "");
}

bool Printer::effects(const Stage& s) {
  if (s.effects.empty() || !next_name(s.effects.front().kind, s.name)) return false;
  if (s.dims.empty() && s.effects.size() == 1) {
    line(effect(s.effects[0]));
    return true;
  }
  line("for " + generators(s, 0, {}) + (s.dims.empty() ? "{" : " {"));
  ++indent_;
  for (const Effect& e : s.effects) line(effect(e));
  --indent_;
  line("}");
  return true;
}

bool Printer::loop(const Stage& s) {
  const auto* nested = std::get_if<Nested>(&s.body);
  if (!nested || s.dims.size() != 1 || nested->block->carries.size() != s.outputs.size()) return false;
  const Block& block = *nested->block;
  const Dim& dim = s.dims[0];
  if (dim.condition && (dim.hi || !is_zero(dim.lo))) return false;
  std::vector<std::string> targets, inits;
  for (std::size_t i = 0; i < s.outputs.size(); ++i) {
    const Output& output = s.outputs[i];
    const Carry& carry = block.carries[i];
    const auto* seq = std::get_if<Seq>(&output.combine[0]);
    const Array &result = program_[output.array], &inside = program_[carry.inside],
                &init = program_[carry.init];
    if (!seq || !seq->last || output.value || output.guard || !is_plain(output) || !output.at.empty())
      return false;
    if (block.results[i] != carry.next || inside.name != result.name + "_now" ||
        program_[carry.next].name != result.name + "_next")
      return false;
    if (inside.shape != init.shape || inside.type != init.type || result.shape != init.shape ||
        result.type != init.type)
      return false;
    targets.push_back(name(output.array));
    inits.push_back(name(carry.init));
  }
  const std::string index_name = dims_[static_cast<std::size_t>(dim.id.value)];
  std::string range;
  if (dim.condition)
    range = (index_name == "step" ? "" : index_name + " ") + "while " + expr(dim.condition);
  else if (is_zero(dim.lo))
    range = index_name + " < " + index(dim.hi, 5);
  else
    range = index_name + " in " + index(dim.lo) + " .. " + index(dim.hi);
  const bool single = targets.size() == 1;
  line((single ? targets[0] : "(" + joined(targets) + ")") + " = seq " + range + " from " +
       (single ? inits[0] : "(" + joined(inits) + ")") + " {");
  ++indent_;
  stages(block.stages);
  --indent_;
  line("}");
  return true;
}

// ---- the general form
// ---------------------------------------------------------------------------------------------

std::string Printer::combine(const Combine& combine, const std::string& dim) {
  const auto with = [&](const char* word, const std::optional<Operator>& op) {
    return std::string(word) + "(" + (op ? name(*op) + ", " : "") + dim + ")";
  };
  if (const auto* fold = std::get_if<Fold>(&combine)) return with("fold", fold->op);
  if (const auto* scan = std::get_if<Scan>(&combine))
    return with(scan->from == Direction::Left ? "scan" : "scan_right", scan->op);
  if (const auto* scatter = std::get_if<Scatter>(&combine)) return with("scatter", scatter->op);
  if (const auto* group = std::get_if<Group>(&combine)) return with("group", group->op);
  if (const auto* seq = std::get_if<Seq>(&combine)) return with(seq->last ? "last" : "seq", std::nullopt);
  return with(is<Cat>(combine) ? "cat" : "append", std::nullopt);
}

void Printer::block(const Block& b) {
  ++indent_;
  for (const Carry& carry : b.carries)
    line("carry " + name(carry.inside) + ": " + array_type(program_[carry.inside]) + " from " +
         name(carry.init) + " next " + name(carry.next));
  stages(b.stages);
  --indent_;
}

void Printer::general(const Stage& s) {
  std::vector<std::string> dims;
  for (const Dim& dim : s.dims) {
    std::string text = dims_[static_cast<std::size_t>(dim.id.value)];
    if (dim.hi && is_zero(dim.lo))
      text += " < " + index(dim.hi, 5);
    else if (dim.hi)
      text += " in " + index(dim.lo, 5) + " .. " + index(dim.hi, 5);
    else if (!is_zero(dim.lo))
      text += " in " + index(dim.lo, 5) + " ..";
    if (dim.condition) text += " while " + expr(dim.condition);
    dims.push_back(text);
  }
  line("stage " + quoted(s.name) + "(" + joined(dims) + ") {");
  stage_names_.insert(s.name);
  ++indent_;
  const auto* nested = std::get_if<Nested>(&s.body);
  const auto* branch = std::get_if<Branch>(&s.body);
  if (nested) {
    line("block {");
    block(*nested->block);
    line("}");
  }
  if (branch) {
    line("if " + expr(branch->condition) + " {");
    block(*branch->then);
    line("} else {");
    block(*branch->otherwise);
    line("}");
  }
  // A length that several outputs share is declared by the first.
  std::set<SymbolId> born;
  for (const Output& output : s.outputs) {
    if (std::any_of(output.combine.begin(), output.combine.end(),
                    [](const Combine& c) { return is<Append>(c) || is<Group>(c); }))
      for (const std::optional<ArrayId>& array : {std::optional(output.array), output.keys})
        if (array)
          for (const Expr e : program_[*array].shape)
            if (const auto* size = as<SizeRef>(e);
                size && program_[size->symbol].origin == Symbol::Origin::Born)
              born.insert(size->symbol);
  }
  for (const ChosenSize& chosen : chosen_sizes(program_, s)) born.insert(chosen.size);
  for (std::size_t k = 0; k < s.outputs.size(); ++k) {
    const Output& output = s.outputs[k];
    const std::string keys =
        output.keys ? " keys " + name(*output.keys) + ": " + array_type(program_[*output.keys], &born) : "";
    std::string text = std::string("out ") + (output.force ? "force " : "") + name(output.array) + ": " +
                       array_type(program_[output.array], &born);
    if (output.offsets)
      text += " offsets " + name(*output.offsets) + ": " + array_type(program_[*output.offsets]);
    text += keys;
    std::vector<std::string> at;
    for (const Expr e : output.at) at.push_back(index(e));
    if (!at.empty()) text += " at [" + joined(at) + "]";
    if (output.into) text += (output.accumulates ? " onto " : " into ") + name(*output.into);
    if (output.key) text += " key " + expr(output.key);
    text += " = ";
    for (std::size_t i = 0; i < s.dims.size(); ++i)
      text += combine(output.combine[i], dims_[static_cast<std::size_t>(s.dims[i].id.value)]) + " ";
    if (output.value) {
      // A name alone would be a result of the block.
      const auto* scalar = nested ? as<Read>(output.value) : nullptr;
      text += scalar && scalar->rules.empty() ? name(scalar->array) + "[]" : expr(output.value, 0, true);
    } else if (nested) {
      text += name(nested->block->results[k]);
    } else {
      text += name(branch->then->results[k]) + " else " + name(branch->otherwise->results[k]);
    }
    if (output.guard) text += " where " + expr(output.guard);
    line(text);
  }
  for (const Effect& e : s.effects) line(effect(e));
  --indent_;
  line("}");
}

}  // namespace twill::text

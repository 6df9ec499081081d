// Statements of a nest as C: loops, functions of shared loops, memory, errors.
#include "emit/c_code.h"

#include "emit/c_table.h"
#include "program/index_use.h"

#include <algorithm>

namespace twill {

namespace {

/// Operators with more nodes than this are called where they combine records.
constexpr std::size_t most_nodes_written_out = 64;

}  // namespace

using namespace nest;

void CCode::line(const std::string& text) {
  w_->text += std::string(2 * static_cast<std::size_t>(w_->depth), ' ') + text + "\n";
}

void CCode::lines(const std::vector<std::string>& list) {
  for (const std::string& text : list) line(text);
}

void CCode::open(const std::string& text) {
  line(text);
  ++w_->depth;
}

void CCode::close(const std::string& text) {
  --w_->depth;
  line(text);
}

/// The statement that ends the current function with an error code.
std::string CCode::leave(const std::string& code) const {
  return w_->is_kernel ? "return twill_end(frame, " + code + ");" : "return " + code + ";";
}

int CCode::error_code(const std::string& text) {
  auto found = std::find(c_.errors.begin(), c_.errors.end(), text);
  if (found == c_.errors.end()) found = c_.errors.insert(c_.errors.end(), text);
  return static_cast<int>(found - c_.errors.begin()) + 1;
}

CExpressions CCode::expressions() { return CExpressions(c_, positive_, stage_); }

std::string CCode::value(Expr e) {
  CExpressions print = expressions();
  print.expect(e);
  std::string text = print.text(e);
  lines(print.take_lines());
  note_checks(print);
  return text;
}

/// How many elements a growing array has memory for.
const std::string& CCode::room(ArrayId array) {
  std::string& name = rooms_[c_.names.memory(array)];
  if (name.empty()) name = c_.names.fresh(c_.names.of(array) + "_room");
  return name;
}

// ---- functions -------------------------------------------------------------------------------------------

std::string CCode::kernel(const CSource&, const std::string& signature,
                          const std::map<ArrayId, std::pair<std::string, std::string>>& born) {
  born_ = born;
  Writer writer;
  writer.is_kernel = true;
  w_ = &writer;
  code(nest_.body);
  for (const auto& [array, names] : born_) {
    for (std::size_t d = 0; d < program_[array].shape.size(); ++d) {
      const std::string extent = value(program_[array].shape[d]);
      line(names.second + "[" + std::to_string(d) + "] = " + c_.prelude.need("twill_extent") + "(" + extent +
           ");");
    }
  }
  std::string text = signature + " {\n";
  text += "  twill_frame frame_, *const frame = &frame_;\n  twill_begin(frame, host);\n";
  text += "#ifdef _OPENMP\n  const int64_t " + c_.names.of(nest_.workers) +
          " = omp_get_max_threads();\n#else\n  const int64_t " + c_.names.of(nest_.workers) +
          " = 1;\n#endif\n  (void)" + c_.names.of(nest_.workers) + ";\n";
  if (writer.uses_bad) text += "  int32_t bad = 0;\n";
  text += writer.text;
  text += writer.uses_bad ? "  return twill_end(frame, bad);\n}\n" : "  return twill_end(frame, 0);\n}\n";
  w_ = nullptr;
  return text;
}

void CCode::code(const Code& list) {
  lanes_.find(list);
  for (std::size_t s = 0; s < list.size();) {
    if (std::holds_alternative<Put>(list[s].kind)) {
      s = puts(list, s);
      continue;
    }
    std::visit([this](const auto& statement) { of(statement); }, list[s].kind);
    ++s;
  }
}

/// Neighbouring stores share the names of what they have in common, as long as none reads what another wrote.
std::size_t CCode::puts(const Code& list, std::size_t first) {
  std::set<ArrayId> written;
  const auto reads_written = [&](Expr root) {
    bool found = false;
    visit(root, [&](Expr node) {
      if (const Read* read = as<Read>(node); read && written.contains(c_.names.memory(read->array)))
        found = true;
    });
    return found;
  };
  std::size_t end = first;
  CExpressions print = expressions();
  for (; end < list.size(); ++end) {
    const Put* put = std::get_if<Put>(&list[end].kind);
    if (!put || reads_written(put->value) || std::any_of(put->at.begin(), put->at.end(), reads_written))
      break;
    const Expr combined = field_by_field(*put);
    if (combined && reads_written(combined)) break;
    print.expect(combined ? combined : put->value);
    for (Expr at : put->at) print.expect(at);
    written.insert(c_.names.memory(put->array));
  }
  for (std::size_t s = first; s < end; ++s) put(print, std::get<Put>(list[s].kind));
  note_checks(print);
  return end;
}

/// What a record becomes that an operator of the user's combines with a value, if the operator says so field
/// by field: compilers keep the fields of an element in registers then, and add up several at once.
Expr CCode::field_by_field(const Put& s) const {
  if (!s.op || s.op->prim || !s.checked.empty()) return {};
  const Expr body = program_[s.op->function].body;
  std::size_t nodes = 0;
  visit(body, [&](Expr) { ++nodes; });
  ExprPool& pool = *program_.pool;
  const Expr old = pool.read(s.array, s.op->type, s.at);
  if (!as<Make>(body) || nodes > most_nodes_written_out ||
      is_partial(pool.invoke(s.op->function, s.op->type, {old, s.value}), program_.functions))
    return {};
  return rewrite(pool, body, [&](Expr node) {
    const ArgRef* argument = as<ArgRef>(node);
    return !argument ? Expr{} : argument->position == 0 ? old : s.value;
  });
}

void CCode::put(CExpressions& print, const Put& s) {
  std::string fine;
  const std::string target = s.checked.empty() ? print.element(s.array, s.at)
                                               : print.checked_element(s.array, s.at, s.checked, fine);
  std::string text;
  if (const Expr combined = s.op ? field_by_field(s) : s.value) {
    text = target + " = " + print.text(combined) + ";";
  } else {
    const Operator& op = *s.op;
    const bool wide =
        op.type.is_scalar() && info(op.type.scalar()).bytes >= 4 && op.type.scalar() != Scalar::Bool;
    const Expr call = op.prim ? Expr{}
                              : program_.pool->invoke(op.function, op.type,
                                                      {program_.pool->read(s.array, op.type, s.at), s.value});
    if (wide && op.prim == Prim::Add)
      text = target + " += " + print.text(s.value) + ";";
    else if (wide && op.prim == Prim::Mul)
      text = target + " *= " + print.text(s.value, 4) + ";";
    else if (call && is_partial(call, program_.functions))
      text = target + " = " + print.text(call) + ";";
    else
      text = target + " = " + print.combine(op, {target}, print.print(s.value)) + ";";
  }
  lines(print.take_lines());
  line(fine.empty() || fine == "true" ? text : "if (" + fine + ") " + text);
}

// ---- loops -----------------------------------------------------------------------------------------------

std::string CCode::loop_head(const For& s, bool) {
  const std::string& i = c_.names.of(s.index);
  const std::string lo = value(s.lo);
  CExpressions print = expressions();
  print.expect(s.hi);
  const std::string hi = print.text(s.hi, 11);
  lines(print.take_lines());
  note_checks(print);
  if (s.down) return "for (int64_t " + i + " = " + hi + " - 1; " + i + " >= " + lo + "; --" + i + ") {";
  const std::string step = s.step == 1 ? "++" + i : i + " += " + std::to_string(s.step);
  return "for (int64_t " + i + " = " + lo + "; " + i + " < " + hi + "; " + step + ") {";
}

std::string CCode::reduction_name(const Operator& op) {
  const bool floats = op.type.is_float();
  const std::string suffix = "_" + std::string(info(op.type.scalar()).name);
  switch (*op.prim) {
    case Prim::Add: return "+";
    case Prim::Mul: return "*";
    case Prim::Min: return floats ? c_.prelude.need("twill_reduce_fmin" + suffix) : "min";
    case Prim::Max: return floats ? c_.prelude.need("twill_reduce_fmax" + suffix) : "max";
    case Prim::And: return "&&";
    case Prim::Or: return "||";
    case Prim::BitAnd: return "&";
    case Prim::BitOr: return "|";
    default: return "^";
  }
}

void CCode::of(const For& s) {
  if (s.by == By::Core) return shared_loop(s);
  serial_loop(s);
}

void CCode::serial_loop(const For& s) {
  if (lanes_.covers(s)) {
    CExpressions print = expressions();
    lines(lanes_.statements(s, print));
    return note_checks(print);
  }
  if (const auto known = known_before(s); !known.empty()) return ask_once(s, known);
  const std::string head = loop_head(s);
  Writer inner;
  inner.depth = w_->depth + 1;
  inner.is_kernel = w_->is_kernel;
  Writer* outer = std::exchange(w_, &inner);
  const bool in_lanes = std::exchange(c_.in_lanes, s.by == By::Simd);
  code(s.body);
  c_.in_lanes = in_lanes;
  w_ = outer;
  w_->uses_bad |= inner.uses_bad;
  // Several conditional updates of a reduction in one iteration are more than GCC 12 vectorises correctly (it
  // reads lanes that do not exist): an iteration notes its failures in a variable of its own, and reduces
  // once, at its end.
  const std::string worst = s.by == By::Simd && inner.uses_bad ? c_.names.fresh("worst") : "";
  if (s.by == By::Simd) {
    std::string pragma = "#pragma omp simd";
    for (const Reduction& r : s.reductions)
      pragma += " reduction(" + reduction_name(r.op) + " : " + c_.names.of(r.variable) + ")";
    if (!worst.empty()) {
      line("int32_t " + worst + " = bad;");
      pragma += " reduction(max : " + worst + ")";
    }
    w_->text += pragma + "\n";
  } else if (s.unroll > 1) {
    w_->text += "#pragma GCC unroll " + std::to_string(s.unroll) + "\n";
  }
  open(head);
  if (!worst.empty()) line("int32_t bad = 0;");
  w_->text += inner.text;
  if (!worst.empty()) line(worst + " = bad > " + worst + " ? bad : " + worst + ";");
  close();
  if (!worst.empty()) line("bad = " + worst + ";");
}

namespace {

/// Do loops in the code run from or to somewhere that depends on the index (and not on data)?
bool bounds_mention(const Code& code, DimId index) {
  return std::any_of(code.begin(), code.end(), [&](const Statement& statement) {
    return std::visit(
        [&](const auto& s) {
          bool found = false;
          const auto depends = [&](Expr e) { return mentions(e, index) && !reads_data(e); };
          if constexpr (requires { s.lo, s.hi; }) found = depends(s.lo) || depends(s.hi);
          if constexpr (requires { s.body; }) found = found || bounds_mention(s.body, index);
          if constexpr (requires { s.then; })
            found = found || bounds_mention(s.then, index) || bounds_mention(s.otherwise, index);
          return found;
        },
        statement.kind);
  });
}

}  // namespace

/// Its body becomes a function of what it uses.
void CCode::shared_loop(const For& s) {
  std::vector<const For*> together{&s};
  while (together.back()->body.size() == 1) {
    const For* next = std::get_if<For>(&together.back()->body.front().kind);
    if (!next || next->by != By::Core || next->down) break;
    if (std::any_of(together.begin(), together.end(), [&](const For* f) {
          return mentions(next->lo, f->index) || mentions(next->hi, f->index);
        }))
      break;
    together.push_back(next);
  }
  const Code& body = together.back()->body;
  const Uses uses = uses_of(nest_, body);

  struct Passed {
    std::string declaration, name, argument;
  };
  std::vector<Passed> candidates;  // what it may use
  const auto pass = [&](const std::string& declaration, const std::string& name,
                        const std::string& before = "") {
    candidates.push_back({declaration, name, before + name});
  };
  const auto is_constant = [&](ArrayId array) {
    return std::any_of(program_.constants.begin(), program_.constants.end(),
                       [&](const Constant& c) { return c.array == array; });
  };
  std::vector<ArrayId> variables;
  for (ArrayId array : uses.arrays) {
    if (is_constant(array)) continue;
    const std::string type = c_.names.type(program_[array].type), &name = c_.names.of(array);
    const std::string qualifier = uses.written.contains(array) ? "" : "const ";
    const bool pointer = program_[array].rank() > 0 || c_.pointers.contains(array);
    // A variable of the surroundings that is written there lives on.
    const bool by_address = !pointer && uses.written.contains(array);
    if (by_address) variables.push_back(array);
    pass(qualifier + type + (pointer || by_address ? " *restrict " : " ") + name, name,
         by_address ? "&" : "");
  }
  for (DimId dim : uses.dims) pass("int64_t " + c_.names.of(dim), c_.names.of(dim));
  for (SymbolId symbol : uses.symbols) pass("int64_t " + c_.names.of(symbol), c_.names.of(symbol));

  const std::string function = c_.names.fresh(stage_ + "_part");
  Writer inner;
  Writer* outer = std::exchange(w_, &inner);
  c_.pointers.insert(variables.begin(), variables.end());
  code(body);
  for (const ArrayId variable : variables) c_.pointers.erase(variable);
  w_ = outer;
  std::string parameters = "twill_frame *frame", arguments = "frame";
  for (const auto& [declaration, name, argument] : candidates) {
    if (!mentions_word(inner.text, name)) continue;
    parameters += ", " + declaration;
    arguments += ", " + argument;
  }
  parts_ +=
      "static __attribute__((noinline)) int32_t " + function + "(" + parameters + ") {\n  (void)frame;\n";
  if (inner.uses_bad) parts_ += "  int32_t bad = 0;\n";
  parts_ += inner.text + (inner.uses_bad ? "  return bad;\n}\n\n" : "  return 0;\n}\n\n");

  w_->uses_bad = true;
  const std::string condition = s.enough ? " if (" + value(s.enough) + ")" : "";
  std::vector<std::string> heads;
  for (const For* f : together) heads.push_back(loop_head(*f));
  const std::string collapse =
      together.size() > 1 ? " collapse(" + std::to_string(together.size()) + ")" : "";
  // Where some iterations have more to do than others, as in a triangle, workers take them in turns.
  const bool uneven =
      s.in_turns || (s.step == 1 && std::any_of(together.begin(), together.end(), [&](const For* f) {
                       return bounds_mention(body, f->index);
                     }));
  const std::string schedule = uneven ? "schedule(static, 1)" : "schedule(static)";
  if (uses.streams) {
    w_->text += "#pragma omp parallel" + condition + " reduction(max : bad)\n";
    open("{");
    w_->text += "#pragma omp for " + schedule + collapse + " nowait\n";
  } else {
    w_->text += "#pragma omp parallel for " + schedule + collapse + condition + " reduction(max : bad)\n";
  }
  for (const std::string& head : heads) open(head);
  const std::string done = c_.names.fresh("code");
  line("const int32_t " + done + " = " + function + "(" + arguments + ");");
  line("bad = " + done + " > bad ? " + done + " : bad;");
  for (std::size_t f = 0; f < heads.size(); ++f) close();
  if (uses.streams) {
    line("twill_fence();");
    close();
  }
}

void CCode::of(const While& s) {
  open("while (true) {");
  const std::string condition = value(s.condition);
  line("if (!(" + condition + ")) break;");
  code(s.body);
  close();
}

namespace {

/// `if (condition) variable += 1` for an integer: its variable, or nothing.
const Put* counted(const If& s) {
  if (s.then.size() != 1 || !s.otherwise.empty()) return nullptr;
  const Put* put = std::get_if<Put>(&s.then.front().kind);
  if (!put || !put->at.empty() || !put->op || put->op->prim != Prim::Add) return nullptr;
  const Literal* one = as<Literal>(put->value);
  return one && put->op->type == Type(Scalar::I64) && one->value == Number::of(Scalar::I64, 1) ? put
                                                                                               : nullptr;
}

}  // namespace

void CCode::of(const If& s) {
  const std::string condition = value(s.condition);
  // A truth is 0 or 1, and adding it needs no jump.
  if (const Put* count = counted(s)) {
    CExpressions print = expressions();
    return line(print.element(count->array, {}) + " += (" + condition + ");");
  }
  open("if (" + condition + ") {");
  code(s.then);
  if (!s.otherwise.empty()) {
    --w_->depth;
    open("} else {");
    code(s.otherwise);
  }
  close();
}

void CCode::of(const Within& s) {
  const Positive around = positive_;
  for (Expr e : s.positive) add_positive(e, positive_);
  open("{");
  code(s.body);
  close();
  positive_ = around;
}

void CCode::of(const Strips& s) {
  const std::string &strip = c_.names.of(s.strip), &end = c_.names.of(s.end);
  struct Shown {
    std::string type, view, store, past, left, place;
  };
  std::vector<Shown> windows;
  for (const Window& window : s.windows) {
    const std::string& view = c_.names.of(window.view);
    windows.push_back({c_.names.type(program_[window.view].type),
                       view,
                       c_.names.fresh(view + "_store"),
                       c_.names.fresh(view + "_past"),
                       {},
                       {}});
    CExpressions print = expressions();
    const std::string count = print.number_of_elements(window.array);
    lines(print.take_lines());
    line("const bool " + windows.back().past + " = (" + count + ") * (int64_t)sizeof(" + windows.back().type +
         ") >= " + std::to_string(window.stream_above) + ";");
    // Strips end with a line of the first window. In the others, lines end elsewhere.
    if (windows.size() == 1) continue;
    windows.back().left = c_.names.fresh(view + "_left");
    line("size_t " + windows.back().left + " = 0;");
    line(windows.back().type + " " + windows.back().store + "[" + std::to_string(s.capacity) +
         " + 63 / sizeof(" + windows.back().type + ") + 1] __attribute__((aligned(64)));");
  }
  const std::string lo = value(s.lo), hi = value(s.hi);
  open("for (int64_t " + strip + " = " + lo + ", " + end + "; " + strip + " < " + hi + "; " + strip + " = " +
       end + ") {");
  for (std::size_t w = 0; w < windows.size(); ++w) {
    CExpressions print = expressions();
    windows[w].place = "&" + print.element(s.windows[w].array, s.windows[w].at);
    lines(print.take_lines());
  }
  std::string most = strip + " + " + std::to_string(s.capacity);
  if (!windows.empty())
    most += " - " + c_.prelude.need("twill_past_line") + "(" + windows.front().place + ", sizeof(" +
            windows.front().type + "))";
  line(end + " = " + c_.prelude.need("twill_min_i64") + "(" + most + ", " + hi + ");");
  for (const Shown& window : windows) {
    if (window.left.empty()) {
      line(window.type + " " + window.store + "[" + std::to_string(s.capacity) +
           "] __attribute__((aligned(64)));");
      line(window.type + " *restrict " + window.view + " = " + window.past + " ? " + window.store + " : " +
           window.place + ";");
    } else {
      line(window.type + " *restrict " + window.view + " = " + window.past + " ? (" + window.type +
           " *)((char *)" + window.store + " + " + window.left + ") : " + window.place + ";");
    }
  }
  code(s.body);
  for (const Shown& window : windows) {
    const bool is_first = window.left.empty();
    line("if (" + window.past + ") " + (is_first ? "" : window.left + " = ") +
         c_.prelude.need("twill_stream") + "(" + window.place + ", " + window.store + ", " +
         (is_first ? "0" : window.left) + ", (size_t)(" + end + " - " + strip + ") * sizeof(" + window.type +
         "), " + (is_first ? "true" : end + " == " + hi) + ");");
  }
  close();
}

void CCode::of(const Fetch& s) {
  CExpressions print = expressions();
  const std::string place = print.element(s.array, s.at), bytes = print.number_of_elements(s.array);
  lines(print.take_lines());
  const std::string size = "sizeof(" + c_.names.type(program_[s.array].type) + ")";
  line("if ((" + bytes + ") * (int64_t)" + size + " >= " + std::to_string(s.above) + ") " +
       c_.prelude.need("twill_fetch") + "(&" + place + ", (size_t)(" + value(s.count) + ") * " + size + ");");
}

// ---- the rest
// ----------------------------------------------------------------------------------------------

void CCode::of(const Remark& s) {
  stage_ = s.stage;
  line("// " + s.stage + (s.place.empty() ? "" : "  (" + s.place + ")"));
}

void CCode::of(const Let& s) { line("const int64_t " + c_.names.of(s.name) + " = " + value(s.value) + ";"); }

void CCode::of(const Local& s) {
  const Array& array = program_[s.array];
  if (const CVectors* vectors = lanes_.vectors(s.array)) {
    std::string list;
    for (const std::string& name : vectors->names) list += (list.empty() ? "" : ", ") + name;
    return line(lanes_.type(s.array) + " " + list + ";");
  }
  const std::string head = c_.names.type(array.type) + " " + c_.names.of(s.array);
  if (array.rank() > 0) {
    CExpressions print = expressions();
    return line(head + "[" + print.number_of_elements(s.array) + "];");
  }
  line(s.init ? head + " = " + value(s.init) + ";" : head + ";");
}

void CCode::of(const Allocate& s) {
  const std::string type = c_.names.type(program_[s.array].type), &name = c_.names.of(s.array);
  CExpressions print = expressions();
  const std::string count = print.elements_wanted(s.array);
  lines(print.take_lines());
  const std::string call =
      s.keep ? c_.prelude.need("twill_keep") + "(" : std::string("twill_allocate(frame, ");
  const bool awaited = awaited_.contains(c_.names.memory(s.array));
  line((awaited ? "" : type + " *") + name + " = " + call + "sizeof(" + type + "), " + count + ");");
  if (s.keep) line("*" + born_.at(c_.names.memory(s.array)).first + " = " + name + ";");
  line("if (!" + name + ") " + leave(std::to_string(error_code(out_of_memory))));
}

void CCode::of(const Free& s) {
  if (program_[s.array].rank() > 0) return line("twill_free(frame, " + c_.names.of(s.array) + ");");
  line("twill_free(frame, " + c_.names.of(s.array) + ".slots);");  // a table
}

void CCode::of(const Await& s) {
  awaited_.insert(c_.names.memory(s.array));
  line(c_.names.type(program_[s.array].type) + " *" + c_.names.of(s.array) + " = NULL;");
}

void CCode::of(const Put& s) {
  CExpressions print = expressions();
  print.expect(s.value);
  put(print, s);
  note_checks(print);
}

void CCode::of(const Choose& s) {
  line(c_.names.type(program_[s.array].type) + " *" + c_.names.of(s.array) + " = " + value(s.condition) +
       " ? " + c_.names.of(s.a) + " : " + c_.names.of(s.b) + ";");
}

void CCode::of(const Swap& s) {
  const std::string type = c_.names.type(program_[s.a].type), &a = c_.names.of(s.a), &b = c_.names.of(s.b);
  const std::string held = c_.names.fresh("held");
  line(type + " *" + held + " = " + a + ";");
  line(a + " = " + b + ";");
  line(b + " = " + held + ";");
}

void CCode::of(const Copy& s) {
  if (program_[s.to].rank() == 0) {
    CExpressions print = expressions();
    return line(print.element(s.to, {}) + " = " + print.element(s.from, {}) + ";");
  }
  CExpressions print = expressions();
  const std::string count = print.number_of_elements(s.to);
  lines(print.take_lines());
  const std::string type = c_.names.type(program_[s.to].type);
  const bool constant = std::any_of(program_.constants.begin(), program_.constants.end(),
                                    [&](const Constant& one) { return one.array == s.from; });
  const std::string from =
      constant ? c_.prelude.need("twill_unknown") + "(" + c_.names.of(s.from) + ")" : c_.names.of(s.from);
  line("memcpy(" + c_.names.of(s.to) + ", " + from + ", (size_t)(" + count + ") * sizeof(" + type + "));");
}

void CCode::of(const Born& s) { line("int64_t " + c_.names.of(s.symbol) + " = 0;"); }

void CCode::of(const SetSize& s) { line(c_.names.of(s.symbol) + " = " + value(s.value) + ";"); }

void CCode::of(const Growable& s) {
  const std::string& name = c_.names.of(s.array);
  line(c_.names.type(program_[s.array].type) + " *" + name + " = NULL;");
  line("int64_t " + room(s.array) + " = 0, " + c_.names.of(s.length) + " = 0;");
}

void CCode::of(const Push& s) {
  const std::string &name = c_.names.of(s.array), &length = c_.names.of(s.length);
  const std::string text = value(s.value);
  open("if (" + length + " == " + room(s.array) + ") {");
  line(name + " = " + c_.prelude.need("twill_grow") + "(frame, " + name + ", &" + room(s.array) +
       ", sizeof(" + c_.names.type(program_[s.array].type) + "));");
  line("if (!" + name + ") " + leave(std::to_string(error_code(out_of_memory))));
  close();
  line(name + "[" + length + "++] = " + text + ";");
}

void CCode::of(const Table& s) {
  c_.prelude.need("twill_table");
  line("twill_table " + c_.names.of(s.table) + ";");
  line("if (!twill_start_table(frame, &" + c_.names.of(s.table) + ", " +
       std::to_string(first_table_size(program_[s.keys].type)) + ")) " +
       leave(std::to_string(error_code(out_of_memory))));
}

void CCode::of(const Lookup& s) {
  c_.prelude.need("twill_grow");
  std::vector<std::string> types = {c_.names.type(program_[s.keys].type)};
  for (const Push& push : s.if_new) types.push_back(c_.names.type(program_[push.array].type));
  const auto [known, first] = tables_.try_emplace(types);
  TableFunctions& table = known->second;
  if (first) {
    table = table_functions(c_.names.of(s.table), program_[s.keys].type, types, c_);
    parts_ += table.text;
  }
  const std::string &number = c_.names.of(s.number), &own_table = c_.names.of(s.table);
  const std::string key = c_.names.fresh("key"), at = c_.names.fresh("at"), own = c_.names.fresh("own");
  line("const " + types.front() + " " + key + " = " + value(s.key) + ";");
  line("uint64_t " + at + ";");
  line(number + " = " + table.find + "(&" + own_table + ", " + c_.names.of(s.keys) + ", " + key + ", &" + at +
       ");");
  open("if (" + number + " < 0) {");
  std::string parts = "&" + own_table;
  const auto part = [&](ArrayId array, ArrayId length, const std::string& element) {
    parts += ", &" + c_.names.of(array) + ", &" + room(array) + ", &" + c_.names.of(length) + ", " + element;
  };
  // The address of a copy: what has an address is not in a register.
  const auto copy = [&](const std::string& type, const std::string& text) {
    const std::string name = c_.names.fresh("first");
    line("const " + type + " " + name + " = " + text + ";");
    return "&" + name;
  };
  part(s.keys, s.count, table.direct ? "NULL" : copy(types.front(), key));
  for (std::size_t p = 0; p < s.if_new.size(); ++p)
    part(s.if_new[p].array, s.if_new[p].length, copy(types[p + 1], value(s.if_new[p].value)));
  line("const " + table.own + " " + own + " = {" + parts + "};");
  line(number + " = " + table.add + "(frame, &" + own + ", " + at + ");");
  line("if (" + number + " < 0) " + leave(std::to_string(error_code(out_of_memory))));
  close();
}

void CCode::of(const Shelve& s) {
  const std::string &name = c_.names.of(s.array), &shelf = c_.names.of(s.shelf), at = value(s.at);
  const bool table = program_[s.array].rank() == 0;
  line(shelf + "[" + at + "] = (int64_t)(intptr_t)" + name + (table ? ".slots;" : ";"));
  line(shelf + "[" + at + " + 1] = " + (table ? name + ".size;" : c_.names.of(s.length) + ";"));
}

void CCode::of(const Unshelve& s) {
  const std::string &name = c_.names.of(s.array), at = value(s.at);
  const std::string memory = "(intptr_t)" + c_.names.of(s.shelf) + "[" + at + "]",
                    length = c_.names.of(s.shelf) + "[" + at + " + 1]";
  if (program_[s.array].rank() == 0) {
    c_.prelude.need("twill_table");
    return line("twill_table " + name + " = twill_table_of((uint64_t *)" + memory + ", " + length + ");");
  }
  const std::string type = c_.names.type(program_[s.array].type);
  line(type + " *" + name + " = (" + type + " *)" + memory + ";");
  if (s.length) line("int64_t " + c_.names.of(s.length) + " = " + length + ";");
  if (s.grows) line("int64_t " + room(s.array) + " = " + length + ";");
}

namespace {

/// The numbers in a value, in order: C text, type and printf format.
void leaves(const std::string& text, const Type& type, std::vector<std::pair<std::string, Scalar>>& list) {
  if (type.is_scalar()) return list.push_back({text, type.scalar()});
  for (const Field& field : type.record().fields) leaves(text + "." + c_field(field.name), field.type, list);
}

}  // namespace

void CCode::of(const Perform& s) {
  const int number = static_cast<int>(c_.effects.size());
  c_.effects.push_back(s.effect);
  open("{");
  std::string format = s.effect.kind == "print" ? "" : s.effect.kind, printed, numbers;
  int count = 0;
  for (const auto& argument : s.effect.arguments) {
    if (!format.empty()) format += " ";
    if (const std::string* text = std::get_if<std::string>(&argument)) {
      for (char c : *text)
        format += c == '%'                ? "%%"
                  : c == '"' || c == '\\' ? std::string("\\") + c
                  : c == '\n'             ? "\\n"
                                          : std::string(1, c);
      continue;
    }
    const Expr e = std::get<Expr>(argument);
    const std::string name = c_.names.fresh("shown");
    line("const " + c_.names.type(e->type) + " " + name + " = " + value(e) + ";");
    std::vector<std::pair<std::string, Scalar>> list;
    leaves(name, e->type, list);
    for (std::size_t l = 0; l < list.size(); ++l) {
      auto& [text, scalar] = list[l];
      if (is_storage_only(scalar))
        text =
            c_.prelude.need(scalar == Scalar::F16 ? "twill_from_f16" : "twill_from_bf16") + "(" + text + ")";
      const char* field = is_float(scalar) ? "f" : is_unsigned(scalar) ? "u" : "i";
      numbers += (count++ == 0 ? "{" : ", {") + std::to_string(static_cast<int>(scalar)) + ", {." + field +
                 " = " + text + "}}";
      format += (l == 0 ? "" : " ") + std::string(is_float(scalar)      ? "%.9g"
                                                  : is_unsigned(scalar) ? "%llu"
                                                                        : "%lld");
      printed += ", " +
                 std::string(is_float(scalar)      ? "(double)"
                             : is_unsigned(scalar) ? "(unsigned long long)"
                                                   : "(long long)") +
                 text;
    }
  }
  line("const twill_number numbers[] = {" + (count == 0 ? std::string("{0, {.i = 0}}") : numbers) + "};");
  w_->uses_bad = true;  // after a failure nothing happens any more
  line("if (bad == 0 && !" + c_.prelude.need("twill_perform") + "(frame, " + std::to_string(number) + ", " +
       std::to_string(count) + ", numbers)) printf(\"" + format + "\\n\"" + printed + ");");
  close();
}

void CCode::of(const Stop&) {
  if (w_->uses_bad) line("if (bad) " + leave("bad"));
}

void CCode::of(const Require& s) {
  const std::string condition = value(s.condition);
  w_->uses_bad = true;
  line("bad = " + c_.prelude.need("twill_note") + "(bad, " + condition + ", " +
       std::to_string(error_code(s.text)) + ");");
}

}  // namespace twill

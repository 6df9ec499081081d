// Sets and points in the words of the program, for messages.
#include "program/describe.h"

#include <fmt/format.h>

namespace twill {

namespace {

template <class Table, class Tag>
bool has(const Table& table, Id<Tag> id) {
  return id.value >= 0 && static_cast<std::size_t>(id.value) < table.size();
}

class Describer {
 public:
  explicit Describer(const Program& program) : program_(program) {}

  /// `strength`: how tightly the place where the text stands binds.
  std::string operator()(Expr expr, int strength = 0) {
    if (!expr) return "nothing";
    if (--room_ < 0) return "…";
    const std::string text = std::visit([&](const auto& kind) { return of(kind, expr); }, expr->kind);
    return strength_of(expr) < strength ? "(" + text + ")" : text;
  }

 private:
  static constexpr int tight = 100;

  static int strength_of(Expr expr) {
    if (as<Select>(expr)) return 0;
    const auto* apply = as<Apply>(expr);
    if (!apply) return tight;
    const int precedence = info(apply->prim).precedence;
    return precedence == 0 ? tight : precedence;
  }

  std::string list(std::span<const Expr> exprs) {
    std::string text;
    for (const Expr e : exprs) text += (text.empty() ? "" : ", ") + (*this)(e);
    return text;
  }

  std::string of(const Literal& literal, Expr) {
    const Number& n = literal.value;
    if (n.type == Scalar::Bool) return n.i ? "true" : "false";
    if (is_float(n.type)) return fmt::format("{}", n.f);
    return is_unsigned(n.type) ? std::to_string(n.u) : std::to_string(n.i);
  }
  std::string of(const IndexRef& index, Expr) { return name_of(program_, index.dim); }
  std::string of(const SizeRef& size, Expr) { return name_of(program_, size.symbol); }
  std::string of(const ArgRef& arg, Expr) { return fmt::format("argument {}", arg.position + 1); }
  std::string of(const Read& read, Expr expr) {
    const std::size_t rank = read.rules.size();
    if (rank == 0) return name_of(program_, read.array);
    return name_of(program_, read.array) + "[" +
           list(std::span(expr->args).first(std::min(rank, expr->args.size()))) + "]";
  }
  std::string of(const Apply& apply, Expr expr) {
    const PrimInfo& prim = info(apply.prim);
    const auto& args = expr->args;
    if (prim.precedence == 0 || args.empty() || args.size() > 2)
      return std::string(prim.name) + "(" + list(args) + ")";
    const std::string name(prim.name);
    if (args.size() == 1) return name + (name == "not" ? " " : "") + (*this)(args[0], prim.precedence);
    const bool compact = prim.prim_class == PrimClass::Arithmetic;
    return (*this)(args[0], prim.precedence) + (compact ? name : " " + name + " ") +
           (*this)(args[1], prim.precedence + 1);
  }
  std::string of(const Select&, Expr expr) {
    return "if " + (*this)(expr->args[0]) + " then " + (*this)(expr->args[1]) + " else " +
           (*this)(expr->args[2]);
  }
  std::string of(const Cast&, Expr expr) {
    if (expr->type.is(Scalar::I64) && expr->args[0]->type.is_integer()) return (*this)(expr->args[0], tight);
    return to_string(expr->type) + "(" + (*this)(expr->args[0]) + ")";
  }
  std::string of(const Make&, Expr expr) { return "{" + list(expr->args) + "}"; }
  std::string of(const GetField& get, Expr expr) {
    const Expr record = expr->args[0];
    const bool known = record->type.is_record() && get.field >= 0 &&
                       static_cast<std::size_t>(get.field) < record->type.record().fields.size();
    return (*this)(record, tight) + "." +
           (known ? record->type.record().fields[static_cast<std::size_t>(get.field)].name
                  : std::to_string(get.field));
  }
  std::string of(const Invoke& invoke, Expr expr) {
    return name_of(program_, invoke.function) + "(" + list(expr->args) + ")";
  }

  const Program& program_;
  int room_ = 40;  // nodes; a message is no place for more
};

}  // namespace

std::string describe(const Program& program, Expr expr) { return Describer(program)(expr); }

std::string name_of(const Program& program, ArrayId array) {
  return has(program.arrays, array) ? program[array].name : fmt::format("array {}", array.value);
}

std::string name_of(const Program& program, SymbolId symbol) {
  return has(program.symbols, symbol) ? program[symbol].name : fmt::format("size {}", symbol.value);
}

std::string name_of(const Program& program, DimId dim) {
  return has(program.dim_names, dim) ? program.dim_names[static_cast<std::size_t>(dim.value)]
                                     : fmt::format("index {}", dim.value);
}

std::string name_of(const Program& program, FunctionId function) {
  return has(program.functions, function) ? program[function].name
                                          : fmt::format("function {}", function.value);
}

std::string name_of(const Program& program, const Operator& op) {
  return op.prim ? std::string(info(*op.prim).name) : name_of(program, op.function);
}

std::string describe_type(const Program& program, const Array& array) {
  std::string text = to_string(array.type);
  if (array.shape.empty()) return text;
  text += "[";
  for (std::size_t k = 0; k < array.shape.size(); ++k)
    text += (k ? ", " : "") + describe(program, array.shape[k]);
  return text + "]";
}

}  // namespace twill

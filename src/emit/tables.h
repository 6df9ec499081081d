// The grown tables of a nest, and short ways to write its index arithmetic.
#pragma once

#include "emit/nest.h"
#include "program/typing.h"

namespace twill::nest {

class Tables {
 public:
  explicit Tables(Nest& nest) : nest_(nest), program_(*nest.program), pool_(*nest.program->pool) {}

  Nest& nest() { return nest_; }
  const Program& program() const { return program_; }
  ExprPool& pool() { return pool_; }

  DimId new_index(const std::string& name) { return program_.add_dim(name); }
  ArrayId new_array(const std::string& name, const Type& type, std::vector<Expr> shape) {
    return program_.add_array(name, type, std::move(shape));
  }
  ArrayId new_variable(const std::string& name, const Type& type) { return new_array(name, type, {}); }

  Expr number(std::int64_t value) { return pool_.integer(value); }
  Expr index(DimId dim) { return pool_.index(dim); }
  Expr workers() { return pool_.size(nest_.workers); }
  Expr add(Expr a, Expr b) { return pool_.apply(Prim::Add, {a, b}); }
  Expr sub(Expr a, Expr b) { return pool_.apply(Prim::Sub, {a, b}); }
  Expr mul(Expr a, Expr b) { return pool_.apply(Prim::Mul, {a, b}); }
  Expr div(Expr a, Expr b) { return pool_.apply(Prim::Div, {a, b}); }
  Expr min(Expr a, Expr b) { return a == b ? a : pool_.apply(Prim::Min, {a, b}); }
  Expr max(Expr a, Expr b) { return a == b ? a : pool_.apply(Prim::Max, {a, b}); }
  Expr compare(Prim prim, Expr a, Expr b) { return pool_.apply(prim, {a, b}); }

  Expr read(ArrayId array, std::vector<Expr> at = {}) {
    return pool_.read(array, program_[array].type, std::move(at));
  }

  /// The sum of integers.
  Operator plus() { return {Scalar::I64, Prim::Add, {}, number(0), true, true}; }

  /// op(a, b).
  Expr combine(const Operator& op, Expr a, Expr b) { return combined(pool_, op, a, b); }

  /// Stores into an array of any type: converts the value to it.
  Statement put(ArrayId array, std::vector<Expr> at, Expr value) {
    const Type type = program_[array].type;
    if (type.is_scalar()) value = pool_.cast(type, value);
    return {Put{array, std::move(at), value, std::nullopt, {}}};
  }
  Statement accumulate(ArrayId array, std::vector<Expr> at, Expr value, const Operator& op) {
    return {Put{array, std::move(at), value, op, {}}};
  }

  /// Where a part of the range from lo to hi begins, if it is cut into so many.
  Expr start_of_part(Expr lo, Expr hi, Expr part, Expr parts) {
    return add(lo, div(mul(max(sub(hi, lo), number(0)), part), parts));
  }

  /// The expression with the index replaced.
  Expr substitute(Expr e, DimId dim, Expr by) {
    return rewrite(pool_, e, [&](Expr node) {
      const IndexRef* ref = as<IndexRef>(node);
      return ref && ref->dim == dim ? by : Expr{};
    });
  }

 private:
  Nest& nest_;
  Program& program_;
  ExprPool& pool_;
};

/// Applies an action to the code inside of a statement: the body of a loop, both sides of a choice.
template <class SomeStatement, class Action>
void for_each_code(SomeStatement& statement, const Action& action) {
  std::visit(
      [&](auto& s) {
        if constexpr (requires { s.body; }) action(s.body);
        if constexpr (requires { s.then; }) {
          action(s.then);
          action(s.otherwise);
        }
      },
      statement.kind);
}

/// Wraps `body` in loops over all elements of a shape; `body` gets the indices.
Code over_elements(Tables& tables, const std::string& name, std::span<const Expr> shape,
                   const std::function<Code(std::vector<Expr>)>& body, By outermost = By::Seq);

}  // namespace twill::nest

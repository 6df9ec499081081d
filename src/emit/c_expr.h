// Expressions as C. Where a value needs statements of its own (a check, a value used several times, a branch
// with such inside), they are written as lines before the expression.
#pragma once

#include "emit/c_names.h"
#include "emit/c_prelude.h"
#include "program/positive.h"

#include <functional>

namespace twill {

/// C text and how strongly it binds (C's precedences; 16 is a name or call).
struct CText {
  std::string text;
  int binds = 16;
};

/// What expressions share with the rest of a source.
struct CContext {
  const nest::Nest& nest;
  CNames& names;
  CPrelude& prelude;
  std::vector<std::string>& errors;        // text of error code 1, 2, …
  std::vector<Effect>& effects;            // by number
  std::set<ArrayId> pointers;              // rank-0 arrays that are parameters behind a pointer
  std::map<std::string, Type> pairs = {};  // functions that load a pair in one go
  std::map<DimId, Expr> ends = {};         // of indices that begin at 0 or above: where they end
  bool in_lanes = false;                   // in a loop whose points are computed side by side
};

/// Prints the expressions of one straight piece of code.
class CExpressions {
 public:
  CExpressions(CContext& context, const Positive& positive, std::string stage)
      : context_(context), positive_(positive), stage_(std::move(stage)), program_(*context.nest.program) {
    scopes_.emplace_back();
  }

  /// Must be called with all expressions of the piece before the first one is printed: what is used several
  /// times gets a name.
  void expect(Expr e);

  CText print(Expr e);
  std::string text(Expr e) { return print(e).text; }
  /// In parentheses unless it binds at least as strongly.
  std::string text(Expr e, int binds);

  /// The element of an array: "name[…]", or the name of a variable.
  std::string element(ArrayId array, std::span<const Expr> at);
  /// The same with data subscripts: adds lines that check them; `fine` is the C condition under which it
  /// exists.
  std::string checked_element(ArrayId array, std::span<const Expr> at, const std::vector<bool>& checked,
                              std::string& fine);

  /// Lines to stand before what was printed since the last call.
  std::vector<std::string> take_lines();
  bool has_checks() const { return has_checks_; }

  std::string literal(const Number& value);
  std::string number_of_elements(ArrayId array);
  /// The same for memory that nobody has yet: a product that cannot be counted does not wrap around.
  std::string elements_wanted(ArrayId array);

  /// op(a, b) of two printed operands.
  std::string combine(const Operator& op, const CText& a, const CText& b);

 private:
  CText print_node(Expr e);
  CText print_apply(Expr e);
  CText print_read(Expr e);
  CText print_cast(Expr e);
  CText print_lazy(Expr condition, Expr then, Expr otherwise, const Type& type);
  CText apply(Prim prim, const Type& type, std::vector<CText> operands);
  CText infix(const char* op, int binds, const CText& a, const CText& b, const Type& type);
  std::string gathered(const Type& type, const std::string& element);
  std::string extent_of(Expr extent);
  std::string within(const std::string& subscript, Expr extent);
  std::string boundary(Boundary rule, Expr subscript, Expr extent, bool lanes);
  std::span<const Expr> extents_in_memory(ArrayId array) const;
  std::string in_memory(ArrayId array, std::size_t dim, const std::string& subscript);
  std::string linear(ArrayId array, std::span<const std::string> subscripts);
  std::string name_for(const std::string& text, const std::string& type, const char* wish);
  void check(const std::string& condition, const std::string& message);
  bool worth_a_name(Expr e) const;
  bool does_no_harm(Expr root) const;
  std::set<const Node*> surely_needed(Expr e);

  CContext& context_;
  const Positive& positive_;
  std::string stage_;
  const Program& program_;
  std::map<const Node*, int> uses_, sizes_;
  std::vector<std::map<const Node*, std::string>> scopes_;
  std::vector<std::string> lines_;
  bool has_checks_ = false;
};

std::string in_parentheses(const CText& text, int binds);

/// The functions that load pairs, as far as the expressions printed so far need them.
std::string pair_definitions(CContext& context);

}  // namespace twill

// The printer of programs. Its methods are spread over text_print.cpp (the program), text_print_stage.cpp
// (short and general forms of stages) and text_print_expr.cpp.
#pragma once

#include "program/program.h"
#include "program/typing.h"

#include <map>
#include <set>

namespace twill::text {

class Printer {
 public:
  explicit Printer(const Program& program);

  std::string program();
  /// With `converted`, the context converts the value to the type of the expression.
  std::string expr(Expr e, int level = 0, bool converted = false);

 private:
  /// A text, what the parser makes of it, and how tightly it binds.
  struct Spelling {
    std::string text;
    Operand meaning;
    int level = 0;
  };

  // ---- declarations
  void note_type(const Type& type);
  void note_types();
  void note_operators();
  std::string declarations();
  std::string function(std::size_t number);
  std::string constant(const Constant& constant);
  std::string results();
  std::string array_type(const Array& array, std::set<SymbolId>* born = nullptr);

  // ---- stages
  void stages(std::span<const Stage> stages);
  void stage(const Stage& stage);
  bool loop(const Stage& stage);
  bool effects(const Stage& stage);
  bool formula(const Stage& stage);
  bool collection(const Stage& stage);
  bool scatter(const Stage& stage);
  void general(const Stage& stage);
  void block(const Block& block);
  std::string heads(const Stage& stage, const Output& output, std::set<DimId>& declared);
  int body_level(const Stage& stage, const Output& output) const;
  std::string target(const Stage& stage, const Output& output, std::set<DimId>& declared);
  std::string generators(const Stage& stage, std::size_t first, Expr guard);
  std::string declaration(const Stage& stage, const Dim& dim);
  bool walks(const Stage& stage, const Dim& dim) const;
  bool looks_like_bound(const Stage& stage, Expr guard) const;
  std::string effect(const Effect& effect);
  std::string extent(Expr e);
  std::string combine(const Combine& combine, const std::string& dim);
  void force(const Stage& stage);
  bool next_name(const std::string& base, const std::string& name);
  void line(const std::string& text);

  // ---- expressions
  std::string literal(const Number& value, bool plain);
  std::string read(const Read& read, Expr e);
  std::string make(Expr e);
  std::string index(Expr e, int level = 0);
  std::string wanted(Expr e);
  std::string share(Expr e);
  bool becomes(const Operand& meaning, Expr e) const;
  Spelling spell(Expr e, bool plain);
  Spelling spell_node(Expr e, bool plain);
  Spelling spell_literal(const Number& value, Expr e, bool plain);
  Spelling spell_apply(Prim prim, Expr e, bool plain);
  Spelling spell_select(Expr e, bool plain);

  // ---- names
  std::string name(ArrayId id) const { return names_.at(static_cast<std::size_t>(id.value)); }
  std::string name(const Operator& op) const;

  const Program& program_;
  std::vector<std::string> names_, symbols_, dims_;  // as written, by id
  std::vector<std::string> type_names_;
  std::vector<std::pair<std::string, Type>> types_;
  std::vector<std::pair<std::string, Operator>>
      operators_;  // of the user, by the name they are declared with
  std::set<std::string> taken_;
  std::set<ArrayId> nested_;    // values of collections with offsets
  std::vector<DimId> visible_;  // dimensions of the stages around
  std::set<std::string> stage_names_;
  const Function* function_ = nullptr;      // whose body is being printed
  std::map<const Node*, Spelling> shared_;  // nodes that have a name in the expression being printed
  std::map<std::pair<const Node*, bool>, Spelling> spellings_;  // of parts of it
  bool inside_ = false;                                         // an expression is being printed
  std::string text_;
  int indent_ = 0;
};

/// A name as it is written: in backquotes if it would not be one otherwise.
std::string quoted(const std::string& name);

}  // namespace twill::text

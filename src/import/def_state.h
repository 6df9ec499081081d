// Inside of the C++ front end: a definition while it is being built. Not for users.
#pragma once

#include "import/define.h"
#include "import/staged.h"

namespace twill::staged {

struct DefState {
  std::shared_ptr<const std::string> home;  // its name; the pointer tells definitions of one name apart
  text::Definition definition;              // inputs and results; the statements are in `blocks`
  std::vector<std::vector<text::Statement>> blocks;  // the definition's statements, and blocks being built
  std::shared_ptr<const Uses> uses;
  int names = 0;  // made up so far (range.h)

  /// Notes what an expression uses; throws if it belongs to another definition, or calls this one.
  void use(const std::shared_ptr<const Uses>& more, const Place& place);
  text::AstPtr tree(const Arg& arg);
  text::TypeAst type(const Type& type, const std::vector<Arg>* shape, const Place& place);
  /// Throws inside of a function that has a value and makes no statements.
  void add(text::Statement statement);
  /// The statements that `body` makes.
  std::vector<text::Statement> block(const std::function<void()>& body);
};

/// The left side of a statement.
struct RefState {
  std::shared_ptr<DefState> def;
  std::string name;
  Place place;
  std::vector<Arg> args;
  std::optional<Type> type;
  std::optional<std::vector<Arg>> shape;
  Arg into;
  bool onto = false;
  std::vector<Arg> where;
  std::vector<Hint> hints;
};

/// `i < n`, `in(i, a, b)`, or the index alone: then `hi` is null.
text::DimAst dimension(const Arg& arg);

/// The name of an array; throws if the argument is a larger expression.
std::string array_name(const Arg& arg, const char* what);

void add_effect(DefState& def, const std::string& kind, const std::vector<Printed>& what,
                const std::vector<Arg>& generators, const Arg& guard, const Place& place);

/// Adds a general stage.
void add_stage(DefState& def, const std::string& name, std::vector<text::DimAst> dims,
               const std::function<void()>& block, const std::vector<StageOutput>& outputs,
               const Place& place);

}  // namespace twill::staged

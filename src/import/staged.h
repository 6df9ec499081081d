// Inside of the C++ front end: how staged values are put together. Not for users.
#pragma once

#include "base/error.h"
#include "import/declare.h"
#include "program/text_ast.h"

#include <initializer_list>
#include <variant>

namespace twill::staged {

struct DefState;

/// Something that stands beside a definition in a text: a record type, a function or operator, a definition.
struct Declaration {
  std::string name;
  Place place;
  std::variant<Type, text::FunctionDecl, std::shared_ptr<const DefState>> what;
  std::shared_ptr<const Uses> uses;  // what it uses itself
};

/// What an expression refers to by name and a program that holds it must declare.
struct Uses {
  std::shared_ptr<const std::string> home;  // the definition whose arrays it uses: its name; null: none
  std::vector<DeclarationPtr> declarations;
};

/// Both; throws at `place` if they use arrays of two definitions.
std::shared_ptr<const Uses> join(const std::shared_ptr<const Uses>& a, const std::shared_ptr<const Uses>& b,
                                 const Place& place);
std::shared_ptr<const Uses> join(const std::vector<Arg>& args, const Place& place);
std::shared_ptr<const Uses> uses_of(const DeclarationPtr& declaration);
std::shared_ptr<const Uses> uses_of(const Type& type, const Place& place);

/// A finished node: its place and depth; throws if it is too large.
Value finish(text::Ast node, const Place& place, std::shared_ptr<const Uses> uses, double weight);

/// A node whose operands are expressions (appended to node.args) and, after them, generators.
Value build(text::Ast node, const Place& place, const std::vector<Arg>& args,
            const std::vector<Arg>& generators = {}, const std::shared_ptr<const Uses>& more = {});

/// A name that means an array or a size of a definition.
Value name_at_home(std::string name, const Place& place, std::shared_ptr<const std::string> home);

/// Those that are given; a gap is a mistake.
std::vector<Arg> given(std::initializer_list<const Arg*> args);

text::TypeAst type_ast(const Type& type, const Place& place);

/// Conditions of a conjunction, one by one.
void split_conjunction(const text::AstPtr& tree, std::vector<text::AstPtr>& out);

}  // namespace twill::staged

// From a definition built in C++ to its program: gathers what it uses into a file of the syntax tree and
// lowers that as a text would be lowered.
#include "import/def_state.h"
#include "program/text_module.h"

#include <map>

namespace twill {

using staged::Declaration;
using staged::DeclarationPtr;
using staged::DefState;
using text::AstKind;
using text::AstPtr;

namespace {

/// Everything that a definition uses, in an order in which nothing is used before it is declared.
class Gathering {
 public:
  void definition(const DefState& def) {
    all(def.uses);
    text::Definition done = def.definition;
    done.statements = def.blocks.front();
    file.definitions.push_back(std::move(done));
  }

  text::File file;

 private:
  void all(const std::shared_ptr<const staged::Uses>& uses) {
    if (!uses) return;
    for (const DeclarationPtr& declaration : uses->declarations) declare(declaration);
  }

  void declare(const DeclarationPtr& declaration) {
    const auto [found, fresh] = by_name_.emplace(declaration->name, declaration);
    if (!fresh) {
      if (!same(*found->second, *declaration))
        fail(Fault::User, "E0280", declaration->place,
             "two different things are called '" + declaration->name + "'",
             "give one of the types, functions and operators another name");
      return;
    }
    if (const auto* type = std::get_if<Type>(&declaration->what)) {
      all(declaration->uses);
      text::TypeDecl decl{declaration->place, declaration->name, {}};
      for (const Field& field : type->record().fields)
        decl.fields.push_back(
            {declaration->place, field.name, staged::type_ast(field.type, declaration->place)});
      file.types.push_back(std::move(decl));
    } else if (const auto* function = std::get_if<text::FunctionDecl>(&declaration->what)) {
      all(declaration->uses);
      file.functions.push_back(*function);
    } else {
      definition(*std::get<std::shared_ptr<const DefState>>(declaration->what));
    }
  }

  static bool same(const Declaration& a, const Declaration& b) {
    if (&a == &b) return true;
    const auto* type = std::get_if<Type>(&a.what);
    const auto* other_type = std::get_if<Type>(&b.what);
    if (type && other_type) return *type == *other_type;
    const auto* def = std::get_if<std::shared_ptr<const DefState>>(&a.what);
    const auto* other_def = std::get_if<std::shared_ptr<const DefState>>(&b.what);
    return def && other_def && *def == *other_def;
  }

  std::map<std::string, DeclarationPtr> by_name_;
};

}  // namespace

Value Def::operator()(const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e, const Arg& f,
                      const Arg& g, const Arg& h, Where where) const {
  const Place place = place_of(where);
  const auto declaration = std::make_shared<const Declaration>(
      Declaration{*state_->home, place, std::shared_ptr<const DefState>(state_), nullptr});
  return staged::build({.kind = AstKind::Call, .name = *state_->home}, place,
                       staged::given({&a, &b, &c, &d, &e, &f, &g, &h}), {}, staged::uses_of(declaration));
}

void Def::add_result(const Arg& result) {
  const AstPtr tree = state_->tree(result);
  text::ResultAst ast;
  ast.place = result.place();
  const bool part = tree->kind == AstKind::Field && tree->args[0]->kind == AstKind::Name;
  if (!part && tree->kind != AstKind::Name)
    fail(Fault::User, "E0274", result.place(), "a result is an array by name, not an expression",
         "define an array first");
  ast.name = part ? tree->args[0]->name : tree->name;
  if (part) ast.part = tree->name;
  state_->definition.results.push_back(std::move(ast));
}

Program Def::program() const {
  Gathering gathering;
  gathering.definition(*state_);
  Module module = text::module_of(gathering.file);
  return std::move(module.programs.back());
}

}  // namespace twill

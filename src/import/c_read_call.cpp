// Calls of functions whose definitions are in the text: their bodies take the place of the calls.
#include "base/error.h"
#include "import/c_read.h"
#include "import/c_scalars.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace twill::c {

namespace {

using Names = std::vector<std::pair<int, Tree>>;

Tree with_names(Tree value, const Names& names) {
  for (std::size_t k = names.size(); k-- > 0;)
    value = make({.kind = Kind::Let,
                  .type = value->type,
                  .place = value->place,
                  .id = names[k].first,
                  .args = {names[k].second, value}});
  return value;
}

}  // namespace

struct Reader::Callee {
  unsigned key = 0;  // where its definition is; 0: there is none
  std::string name;
  CXCursor body{};
  std::vector<CXCursor> parameters;
};

Reader::Callee Reader::callee(CXCursor call) const {
  Callee found;
  found.name = clang_.spelling(call);
  const CXCursor definition = clang_.definition(call);
  if (definition.kind != CXCursor_FunctionDecl) return found;
  found.key = clang_.location(definition);
  for (const CXCursor child : clang_.children(definition)) {
    if (child.kind == CXCursor_ParmDecl) found.parameters.push_back(child);
    if (child.kind == CXCursor_CompoundStmt) found.body = child;
  }
  return found;
}

/// Parameters get the values of the call: arrays by their names, numbers as variables of their own where the
/// function assigns to them (`items`; null: where it may not), or else as names.
void Reader::bind(const Callee& callee, CXCursor call, std::vector<Item>* items) {
  if (std::ranges::find(open_calls_, callee.key) != open_calls_.end())
    refuse("E0809", call, fmt::format("the function '{}' calls itself", callee.name), "write a loop");
  const auto parts = clang_.children(call);
  if (parts.size() != callee.parameters.size() + 1)
    refuse("E0809", call, fmt::format("the call of '{}' has other arguments than the function", callee.name));
  find_assigned(callee.body);
  std::vector<std::pair<unsigned, Variable>> bound;
  std::vector<std::size_t> arrays;
  for (std::size_t k = 0; k < callee.parameters.size(); ++k) {
    const CXCursor parameter = callee.parameters[k], argument = parts[k + 1];
    const unsigned key = clang_.location(parameter);
    check_storage(parameter);
    const auto type = scalar(clang_.type(parameter));
    if (!type) {
      const CXCursor name = plain(argument);
      const Variable* array = name.kind == CXCursor_DeclRefExpr ? find(name) : nullptr;
      if (!array || array->kind != Variable::Kind::Array || nest_.array(array->id).shape.empty())
        refuse("E0809", argument,
               fmt::format("the argument '{}' of '{}' is neither a number nor an array by its name",
                           source(argument), callee.name),
               "write out what the function computes");
      bound.emplace_back(key, *array);
      arrays.push_back(k);
      continue;
    }
    Tree value = expression(argument);
    value = *type == Scalar::Bool ? truth(value) : convert(value, *type);
    if (items) {
      Array local;
      local.name = clang_.spelling(parameter);
      local.type = *type;
      local.place = place(argument);
      const bool is_name = !assigned_.contains(key) && affine_of(nest_, value);
      if (is_name) {
        bound.emplace_back(key, Variable{Variable::Kind::Name, -1, value});
        continue;
      }
      Assign assign;
      assign.array = nest_.add_array(std::move(local));
      assign.value = value;
      assign.place = place(argument);
      bound.emplace_back(key, Variable{Variable::Kind::Array, assign.array, {}});
      add(std::move(assign), *items);
      continue;
    }
    if (assigned_.contains(key))
      refuse("E0809", call,
             fmt::format("the function '{}' changes its argument '{}' and returns a value", callee.name,
                         clang_.spelling(parameter)),
             "use a variable of its own there, or write out what it computes");
    bound.emplace_back(key, Variable{Variable::Kind::Name, -1, name_for(value)});
  }
  for (auto& [key, variable] : bound) variables_[key] = variable;
  for (const std::size_t k : arrays) {
    const Array& array = nest_.array(bound[k].second.id);
    if (!is_seen_alike(callee.parameters[k], array))
      refuse("E0809", parts[k + 1],
             fmt::format("'{}' is an array of another shape or type in the function '{}'", array.name,
                         callee.name),
             "declare the parameter as the array is declared");
  }
}

/// Whether a parameter has the elements that the array has, row by row.
bool Reader::is_seen_alike(CXCursor parameter, const Array& array) {
  CXType type = clang_.type(parameter);
  while (!scalar(type)) {
    const bool is_array = type.kind == CXType_ConstantArray || type.kind == CXType_VariableArray ||
                          type.kind == CXType_IncompleteArray;
    if (!is_array && type.kind != CXType_Pointer) return false;
    type = is_array ? clang_.canonical(clang_.element(type)) : clang_.pointee(type);
  }
  const std::vector<Tree> seen = shape(parameter);
  if (scalar(type) != array.type || seen.size() != array.shape.size()) return false;
  for (std::size_t k = 1; k < seen.size(); ++k)
    if (affine_of(nest_, seen[k]) != affine_of(nest_, array.shape[k])) return false;
  return true;
}

/// A light value stands for itself; another one is computed once.
Tree Reader::name_for(const Tree& value) {
  if (is_light(value)) return value;
  const int id = nest_.locals++;
  lets_->emplace_back(id, value);
  return make({.kind = Kind::Local, .type = value->type, .place = value->place, .id = id});
}

Tree Reader::inlined(CXCursor call) {
  const Callee function = callee(call);
  const auto type = scalar(clang_.type(call));
  if (function.key == 0 || !type) return {};
  Names names;
  Names* const outer = std::exchange(lets_, &names);
  bind(function, call, nullptr);
  open_calls_.push_back(function.key);
  const Tree value = value_of(clang_.children(function.body), *type, call);
  open_calls_.pop_back();
  lets_ = outer;
  return with_names(value, names);
}

/// What statements return that only name values, choose, and return.
Tree Reader::value_of(const std::vector<CXCursor>& statements, Scalar type, CXCursor call) {
  for (std::size_t k = 0; k < statements.size(); ++k) {
    const auto parts = clang_.children(statements[k]);
    const auto with_rest = [&](const std::vector<CXCursor>& first) {
      std::vector<CXCursor> all = first;
      all.insert(all.end(), statements.begin() + static_cast<std::ptrdiff_t>(k) + 1, statements.end());
      return all;
    };
    switch (statements[k].kind) {
      case CXCursor_NullStmt: continue;
      case CXCursor_CompoundStmt: return value_of(with_rest(parts), type, call);
      case CXCursor_ReturnStmt: {
        if (parts.empty()) break;
        const Tree value = expression(parts[0]);
        return type == Scalar::Bool ? truth(value) : convert(value, type);
      }
      case CXCursor_DeclStmt: {
        bool names = true;
        for (const CXCursor variable : parts) {
          const auto kind = scalar(clang_.type(variable));
          names = names && variable.kind == CXCursor_VarDecl && kind &&
                  clang_.span(clang_.initializer(variable)).end > 0 &&
                  !assigned_.contains(clang_.location(variable));
          if (!names) break;
          check_storage(variable);
          const Tree value = expression(clang_.initializer(variable));
          variables_[clang_.location(variable)] = {
              Variable::Kind::Name, -1,
              name_for(*kind == Scalar::Bool ? truth(value) : convert(value, *kind))};
        }
        if (names) continue;
        break;
      }
      case CXCursor_IfStmt: {
        const Tree condition = truth(expression(parts.at(0)));
        Names* const outer = lets_;
        const auto side = [&](const std::vector<CXCursor>& list) {
          // Names of a side are computed on that side only.
          Names names;
          lets_ = &names;
          const Tree value = value_of(list, type, call);
          lets_ = outer;
          return with_names(value, names);
        };
        guards_.push_back(condition);
        const Tree a = side(with_rest({parts.at(1)}));
        guards_.back() = negated(condition);
        const Tree b = side(parts.size() > 2 ? with_rest({parts[2]}) : with_rest({}));
        guards_.pop_back();
        return choose(condition, a, b);
      }
      default: break;
    }
    refuse("E0809", statements[k],
           fmt::format("the function '{}' does more than to name values, choose, and return one",
                       clang_.spelling(call)),
           "write out what it computes where it is called");
  }
  refuse("E0809", call,
         fmt::format("the function '{}' does not always return a value", clang_.spelling(call)),
         "let it end with a return");
}

void Reader::inline_statement(CXCursor call, std::vector<Item>& items) {
  const Callee function = callee(call);
  if (function.key == 0 || clang_.type(call).kind != CXType_Void || states_)
    refuse("E0809", call,
           fmt::format("the function '{}' is not known: what it reads and writes cannot be seen",
                       clang_.spelling(call)),
           "write out what it computes; functions with a body in the file are known, and most of math.h");
  bind(function, call, &items);
  open_calls_.push_back(function.key);
  statement(function.body, items);
  open_calls_.pop_back();
}

}  // namespace twill::c

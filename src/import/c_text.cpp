// The syntax tree of an imported function.
#include "import/c_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace twill::c {

using text::Ast;
using text::AstKind;
using text::AstPtr;
using text::Generator;

namespace {

AstPtr node(Ast ast) {
  for (const AstPtr& arg : ast.args)
    if (arg) ast.depth = std::max(ast.depth, arg->depth + 1);
  return std::make_shared<const Ast>(std::move(ast));
}

AstPtr name_ast(const std::string& name, const Place& place) {
  return node({.kind = AstKind::Name, .place = place, .name = name});
}

AstPtr call_ast(const std::string& name, std::vector<AstPtr> args, const Place& place) {
  return node({.kind = AstKind::Call, .place = place, .name = name, .args = std::move(args)});
}

AstPtr binary_ast(const std::string& op, AstPtr a, AstPtr b, const Place& place) {
  return node({.kind = AstKind::Binary, .place = place, .name = op, .args = {std::move(a), std::move(b)}});
}

AstPtr compare_ast(const std::string& op, AstPtr a, AstPtr b, const Place& place) {
  return node(
      {.kind = AstKind::Compare, .place = place, .words = {op}, .args = {std::move(a), std::move(b)}});
}

AstPtr number_ast(const Number& value, const Place& place) {
  return node({.kind = AstKind::Number, .place = place, .number = value});
}

AstPtr negative_ast(AstPtr a, const Place& place) {
  return node({.kind = AstKind::Unary, .place = place, .name = "-", .args = {std::move(a)}});
}

class Writer {
 public:
  Writer(const Nest& nest, Steps& steps) : nest_(nest), steps_(steps) {}

  Written definition() {
    find_inputs();
    give_names();
    Written result;
    text::Definition& def = result.definition;
    def.place = nest_.place;
    def.name = nest_.name;
    for (const Nest::Argument& argument : nest_.arguments) {
      text::InputAst input;
      if (!argument.is_array) {
        const Param& param = nest_.params[static_cast<std::size_t>(argument.id)];
        if (param.is_size || !used_params_.contains(argument.id)) continue;
        input.place = param.place;
        input.name = param_names_[argument.id];
        input.type.place = param.place;
        input.type.name = std::string(info(param.type).name);
      } else {
        if (!inputs_.contains(argument.id)) continue;
        input.place = nest_.array(argument.id).place;
        input.name = array_names_[argument.id];
        input.type = type(argument.id);
      }
      (argument.is_array ? result.array_inputs : result.param_inputs)[argument.id] =
          static_cast<int>(def.inputs.size());
      def.inputs.push_back(std::move(input));
    }
    for (const int id : steps_.results) {
      text::ResultAst ast;
      ast.place = nest_.place;
      ast.name = version(id).name;
      def.results.push_back(std::move(ast));
    }
    for (const Step& step : steps_.steps) def.statements.push_back(statement(step));
    return result;
  }

 private:
  Version& version(int id) { return steps_.versions[static_cast<std::size_t>(id)]; }

  // ---- names ----------------------------------------------------------------------------------------------

  std::string fresh(const std::string& wish) {
    std::string name = wish;
    for (int k = 2; !taken_.insert(name).second; ++k) name = fmt::format("{}_{}", wish, k);
    return name;
  }

  void look_at(const Tree& tree) {
    visit(nest_, tree, [&](const Tree& node) {
      if (node->kind == Kind::Param) used_params_.insert(node->id);
      if (node->kind == Kind::Read && node->version >= 0) use(node->version);
    });
  }
  void use(int id) {
    const Version& used = version(id);
    if (used.is_input) inputs_.insert(used.array);
  }

  void look_at(const Step& step) {
    look_at(step.value);
    look_at(step.guard);
    for (const Tree& at : step.at) look_at(at);
    const auto bounds = [&](int loop) {
      look_at(nest_.loop(loop).lo);
      look_at(nest_.loop(loop).hi);
    };
    for (const StepDim& dim : step.dims) bounds(dim.loop);
    if (step.loop >= 0) bounds(step.loop);
    if (step.into >= 0) use(step.into);
    if (step.out >= 0) arrays_.insert(version(step.out).array);
    for (const Carried& carried : step.carried) {
      use(carried.init);
      arrays_.insert(version(carried.out).array);
    }
    for (const Step& inner : step.body) look_at(inner);
  }

  /// Arrays of the caller that are read, and those that tell a size that is used.
  void find_inputs() {
    for (const Step& step : steps_.steps) look_at(step);
    for (const int array : arrays_)
      for (const Tree& extent : nest_.array(array).shape) look_at(extent);
    for (const int array : inputs_)
      for (const Tree& extent : nest_.array(array).shape) look_at(extent);
    const std::set<int> used = used_params_;
    for (const int param : used) {
      if (!nest_.params[static_cast<std::size_t>(param)].is_size) continue;
      const auto tells = [&](int id) {
        return std::ranges::any_of(nest_.array(id).shape, [&](const Tree& extent) {
          const auto affine = affine_of(nest_, extent);
          return affine && (*affine - affine->constant()).as_var() == var_of_param(nest_, param);
        });
      };
      if (std::ranges::any_of(inputs_, tells)) continue;
      for (const Nest::Argument& argument : nest_.arguments)
        if (argument.is_array && tells(argument.id)) {
          inputs_.insert(argument.id);
          for (const Tree& extent : nest_.array(argument.id).shape) look_at(extent);
          break;
        }
    }
  }

  void give_names() {
    for (std::size_t k = 0; k < nest_.params.size(); ++k) {
      const int id = static_cast<int>(k);
      if (used_params_.contains(id)) param_names_[id] = fresh(nest_.params[k].name);
    }
    for (const Nest::Argument& argument : nest_.arguments)
      if (argument.is_array && inputs_.contains(argument.id))
        array_names_[argument.id] = fresh(nest_.array(argument.id).name);
    for (Version& v : steps_.versions) {
      if (!v.is_input) continue;
      v.name = array_names_[v.array];
    }
    for (const int result : steps_.results)
      version(result).name = fresh(nest_.array(version(result).array).name +
                                   (inputs_.contains(version(result).array) ? "_out" : ""));
    name_steps(steps_.steps);
  }

  void name_steps(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (step.loop < 0) {
        Version& made = version(step.out);
        const std::string role = made.role.empty() ? "" : "_" + made.role;
        if (made.name.empty()) made.name = fresh(nest_.array(made.array).name + role);
        continue;
      }
      for (const Carried& carried : step.carried) {
        Version& out = version(carried.out);
        if (out.name.empty()) out.name = fresh(nest_.array(out.array).name);
        version(carried.inside).name = fresh(out.name + "_now");
        version(carried.next).name = fresh(out.name + "_next");
      }
      name_steps(step.body);
    }
  }

  std::string open(int loop) {
    std::string wish = nest_.loop(loop).name, name = wish;
    const auto is_open = [&] {
      return taken_.contains(name) ||
             std::ranges::any_of(indices_, [&](const auto& entry) { return entry.second == name; });
    };
    for (int k = 2; is_open(); ++k) name = fmt::format("{}_{}", wish, k);
    indices_[loop] = name;
    return name;
  }
  void close(int loop) { indices_.erase(loop); }

  // ---- steps ----------------------------------------------------------------------------------------------

  text::TypeAst type(int array) {
    const Array& of = nest_.array(array);
    text::TypeAst ast;
    ast.place = of.place;
    ast.name = std::string(info(of.type).name);
    ast.has_shape = !of.shape.empty();
    for (const Tree& extent : of.shape) ast.shape.push_back(tree(extent));
    ast.born.resize(of.shape.size());
    return ast;
  }

  text::Statement statement(const Step& step) {
    auto stage = std::make_shared<text::StageAst>();
    text::Statement result;
    result.kind = text::Statement::Kind::Stage;
    result.place = step.place;
    if (step.loop >= 0)
      loop(step, *stage);
    else
      formula(step, *stage);
    result.stage = std::move(stage);
    return result;
  }

  text::DimAst dim(int loop) {
    text::DimAst ast;
    ast.place = nest_.loop(loop).place;
    ast.lo = tree(nest_.loop(loop).lo);
    ast.hi = tree(nest_.loop(loop).hi);
    ast.name = open(loop);
    return ast;
  }

  void loop(const Step& step, text::StageAst& stage) {
    stage.name = version(step.carried[0].out).name;
    stage.dims.push_back(dim(step.loop));
    stage.body = text::StageAst::Body::Block;
    for (const Carried& carried : step.carried) {
      text::CarryAst carry;
      carry.place = step.place;
      carry.inside = version(carried.inside).name;
      carry.init = version(carried.init).name;
      carry.next = version(carried.next).name;
      carry.type = type(version(carried.out).array);
      stage.block.carries.push_back(std::move(carry));
      text::OutAst out;
      out.place = step.place;
      out.name = version(carried.out).name;
      out.type = type(version(carried.out).array);
      out.combines.push_back({step.place, "last", "", stage.dims[0].name});
      out.value = name_ast(version(carried.next).name, step.place);
      stage.outs.push_back(std::move(out));
    }
    for (const Step& inner : step.body) stage.block.statements.push_back(statement(inner));
    close(step.loop);
  }

  void formula(const Step& step, text::StageAst& stage) {
    stage.name = version(step.out).name;
    text::OutAst out;
    out.place = step.place;
    out.name = version(step.out).name;
    out.type = type(version(step.out).array);
    for (const StepDim& d : step.dims) {
      stage.dims.push_back(dim(d.loop));
      out.combines.push_back({step.place, d.combine, d.op, stage.dims.back().name});
    }
    for (const Tree& at : step.at) out.at.push_back(tree(at));
    if (step.into >= 0) {
      out.into = version(step.into).name;
      out.into_place = step.place;
      out.onto = step.onto;
    }
    if (step.guard) out.guard = tree(step.guard);
    if (step.block) {
      stage.body = text::StageAst::Body::Block;
      block_ = &stage.block.statements;
      text::Statement value;
      value.place = step.place;
      text::Target target;
      target.place = step.place;
      target.name = fresh("at_" + out.name);
      const std::string name = target.name;
      value.value = tree(step.value);
      value.targets.push_back(std::move(target));
      stage.block.statements.push_back(std::move(value));
      block_ = nullptr;
      out.value = name_ast(name, step.place);
      whiles_.clear();
    } else {
      out.value = tree(step.value);
    }
    stage.outs.push_back(std::move(out));
    for (const StepDim& d : step.dims) close(d.loop);
  }

  // ---- expressions ----------------------------------------------------------------------------------------

  /// The value of a tree, of the tree's own type.
  AstPtr tree(const Tree& t) {
    const Place& place = t->place;
    switch (t->kind) {
      case Kind::Number:
        // What is computed with narrow integers is wider.
        if (is_narrow(t->type) && is_signed(t->type) && t->number.as_int() < 0)
          return call_ast(
              std::string(info(t->type).name),
              {negative_ast(number_ast(Number::of(Scalar::I32, -t->number.as_int()), place), place)}, place);
        if (is_signed(t->type) && t->number.as_int() < 0)
          return negative_ast(number_ast(Number::of(t->type, -t->number.as_int()), place), place);
        if (is_float(t->type) && t->number.as_double() < 0)
          return negative_ast(number_ast(Number::of_double(t->type, -t->number.as_double()), place), place);
        return number_ast(t->number, place);
      case Kind::Index: return name_ast(indices_.at(t->id), place);
      case Kind::Param: {
        const Param& param = nest_.params[static_cast<std::size_t>(t->id)];
        const AstPtr name = name_ast(param_names_.at(t->id), place);
        return param.is_size ? call_ast(std::string(info(param.type).name), {name}, place) : name;
      }
      case Kind::Read: {
        const AstPtr name = name_ast(version(t->version).name, place);
        Ast read{.kind = AstKind::Subscript, .place = place, .args = {name}};
        for (const Tree& arg : t->args) read.args.push_back(tree(arg));
        return node(std::move(read));
      }
      case Kind::Cast: return conversion(t);
      case Kind::Choose:
        return node({.kind = AstKind::If,
                     .place = place,
                     .args = {tree(t->args[0]), tree(t->args[1]), tree(t->args[2])}});
      case Kind::Local: return name_ast(local(t->id), place);
      case Kind::Let:
        return node({.kind = AstKind::Let,
                     .place = place,
                     .name = local(t->id),
                     .args = {tree(t->args[0]), tree(t->args[1])}});
      case Kind::Reduce: return fold(t);
      case Kind::While: return while_loop(t);
      case Kind::Apply: return applied(t);
    }
    return nullptr;
  }

  std::string local(int id) {
    auto& name = locals_[id];
    if (name.empty()) name = fresh("v");
    return name;
  }

  AstPtr conversion(const Tree& t) {
    // An integer that is an index or a size is what it is, whatever C's type for it.
    Tree inner = t->args[0];
    if (is_exact(inner) && inner->args[0]->kind == Kind::Index) inner = inner->args[0];
    if (inner->kind == Kind::Index && t->type == Scalar::I64) return tree(inner);
    const std::string to(info(t->type).name);
    if (inner->kind == Kind::Param && nest_.params[static_cast<std::size_t>(inner->id)].is_size) {
      const AstPtr name = name_ast(param_names_.at(inner->id), t->place);
      return t->type == Scalar::I64 ? name : call_ast(to, {name}, t->place);
    }
    return call_ast(to, {tree(inner)}, t->place);
  }

  AstPtr applied(const Tree& t) {
    const Place& place = t->place;
    if (t->op == "quot" || t->op == "rem") return divided(t);
    std::vector<AstPtr> args;
    for (const Tree& arg : t->args) args.push_back(tree(arg));
    if (t->op == "-" && args.size() == 1) return negative_ast(args[0], place);
    if (t->op == "not") return node({.kind = AstKind::Unary, .place = place, .name = "not", .args = args});
    if (is_comparison(t->op)) return compare_ast(t->op, args[0], args[1], place);
    if (t->op == "floor_div") return binary_ast("/", args[0], args[1], place);
    if (t->op == "floor_mod") return binary_ast("%", args[0], args[1], place);
    static const char* const words[] = {"+", "-", "*", "/", "and", "or"};
    if (std::ranges::find(words, t->op) != std::end(words)) return binary_ast(t->op, args[0], args[1], place);
    return call_ast(t->op, args, place);
  }

  /// Integer division as C does it: towards zero. Twill's rounds down.
  AstPtr divided(const Tree& t) {
    const Place& place = t->place;
    const std::string quotient = fresh("q");
    const AstPtr a = tree(t->args[0]), b = tree(t->args[1]), q = name_ast(quotient, place);
    const AstPtr zero = number_ast(Number::of(t->type, 0), place),
                 one = number_ast(Number::of(t->type, 1), place);
    const AstPtr inexact = compare_ast("!=", binary_ast("*", q, b, place), a, place);
    const AstPtr test = binary_ast("and", compare_ast("<", q, zero, place), inexact, place);
    AstPtr result =
        node({.kind = AstKind::If, .place = place, .args = {test, binary_ast("+", q, one, place), q}});
    if (t->op == "rem") result = binary_ast("-", a, binary_ast("*", b, result, place), place);
    return node({.kind = AstKind::Let,
                 .place = place,
                 .name = quotient,
                 .args = {binary_ast("/", a, b, place), result}});
  }

  AstPtr fold(const Tree& t) {
    Ast ast{.kind = AstKind::Fold, .place = t->place, .name = "fold", .op = t->op};
    for (const int loop : t->loops) {
      Generator range;
      range.kind = Generator::Kind::Range;
      range.place = t->place;
      range.a = tree(nest_.loop(loop).lo);
      range.b = tree(nest_.loop(loop).hi);
      range.name = open(loop);
      ast.generators.push_back(std::move(range));
    }
    if (t->args[0]) {
      Generator test;
      test.place = t->place;
      test.a = tree(t->args[0]);
      ast.generators.push_back(std::move(test));
    }
    ast.args.push_back(tree(t->args[1]));
    for (const int loop : t->loops) close(loop);
    return node(std::move(ast));
  }

  /// A loop before the value in the block of a point; all states of one loop come from the same.
  AstPtr while_loop(const Tree& t) {
    const WhileLoop& loop = *t->loop;
    auto& names = whiles_[t->loop.get()];
    if (names.empty()) {
      text::Statement made;
      made.kind = text::Statement::Kind::Loop;
      made.place = t->place;
      for (std::size_t k = 0; k < loop.first.size(); ++k) {
        names.push_back(fresh(loop.names[k]));
        text::Target target;
        target.place = t->place;
        target.name = names[k];
        made.targets.push_back(std::move(target));
        made.from.push_back(tree(loop.first[k]));
      }
      for (std::size_t k = 0; k < loop.locals.size(); ++k) locals_[loop.locals[k]] = names[k];
      made.value = tree(loop.condition);
      for (std::size_t k = 0; k < loop.locals.size(); ++k) locals_[loop.locals[k]] = names[k] + "_now";
      for (std::size_t k = 0; k < loop.next.size(); ++k) {
        text::Statement next;
        next.place = t->place;
        text::Target target;
        target.place = t->place;
        target.name = names[k];
        next.targets.push_back(std::move(target));
        next.value = tree(loop.next[k]);
        made.body.push_back(std::move(next));
      }
      block_->push_back(std::move(made));
    }
    return name_ast(names[static_cast<std::size_t>(t->id)], t->place);
  }

  const Nest& nest_;
  Steps& steps_;
  std::set<std::string> taken_;
  std::set<int> used_params_, inputs_, arrays_;
  std::map<int, std::string> param_names_, array_names_, indices_, locals_;
  std::map<const WhileLoop*, std::vector<std::string>> whiles_;
  std::vector<text::Statement>* block_ = nullptr;
};

}  // namespace

Written definition_of(const Nest& nest, Steps& steps) { return Writer(nest, steps).definition(); }

}  // namespace twill::c

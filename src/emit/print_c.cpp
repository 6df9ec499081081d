// A kernel as a C source: prelude, types, functions, the entry and its table of errors.
#include "emit/print_c.h"

#include "emit/c_code.h"

#include <algorithm>

namespace twill {

namespace {

using nest::Nest;

/// Every place where an array comes from outside of the kernel.
class Interface {
 public:
  Interface(const Nest& nest, CContext& context) : nest_(nest), program_(*nest.program), context_(context) {}

  void build(CSource& source) {
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      const Array& array = program_[program_.inputs[i].array];
      const bool scalar = array.rank() == 0;
      add(source, scalar ? CParameter::Kind::Scalar : CParameter::Kind::Input, context_.names.of(array.id),
          static_cast<int>(i),
          scalar ? context_.names.type(array.type) + " "
                 : "const " + context_.names.type(array.type) + " *restrict ",
          describe(array));
    }
    int position = 0;
    for (const Symbol& symbol : program_.symbols) {
      if (symbol.origin != Symbol::Origin::Input) continue;
      add(source, CParameter::Kind::Size, context_.names.of(symbol.id), position++, "int64_t ", "size");
    }
    for (std::size_t r = 0; r < nest_.results.size(); ++r) {
      const Array& array = program_[nest_.results[r]];
      const std::string type = context_.names.type(array.type);
      const std::string name = context_.names.of(array.id);
      if (!nest_.born.contains(array.id)) {
        add(source, CParameter::Kind::Output, name, static_cast<int>(r), type + " *restrict ",
            describe(array));
        source.parameters.back().shape = array.shape;
        if (array.rank() == 0) context_.pointers.insert(array.id);
        continue;
      }
      const std::string out = context_.names.fresh(name + "_out"),
                        shape = context_.names.fresh(name + "_shape");
      born_[array.id] = {out, shape};
      add(source, CParameter::Kind::BornOutput, out, static_cast<int>(r), type + " **",
          describe(array) + ", set to memory that the caller gives to free");
      add(source, CParameter::Kind::BornShape, shape, static_cast<int>(r), "int64_t *",
          std::to_string(array.rank()) + " extents of it");
    }
  }

  /// "int32_t blur(const twill_host *host, …)".
  std::string signature(const std::string& function) const {
    std::string text = "int32_t " + function + "(const twill_host *host";
    for (const std::string& declaration : declarations_) text += ",\n    " + declaration;
    return text + ")";
  }

  std::string header(const CSource& source) {
    std::string text = "/* Made by Twill from program '" + program_.name + "'. */\n#ifndef TWILL_KERNEL_" +
                       source.function + "\n#define TWILL_KERNEL_" + source.function +
                       "\n\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n#ifdef "
                       "__cplusplus\n#define restrict __restrict\nextern \"C\" {\n#endif\n\n";
    text += host_interface() + "\n" + context_.names.record_definitions();
    text += "/* Arrays are row-major and densely packed; results must not overlap with anything else.\n";
    for (std::size_t p = 0; p < comments_.size(); ++p)
      text += "     " + source.parameters[p].name + ": " + comments_[p] + "\n";
    if (!source.effects.empty()) {
      text +=
          "   Effects, by the number that host->effect is told; it is given the numbers in them, in order:\n";
      for (std::size_t e = 0; e < source.effects.size(); ++e)
        text += "     " + std::to_string(e) + ": " + described(source.effects[e]) + "\n";
    }
    text += "   Returns 0, or a number that " + source.function + "_error explains";
    text += born_.empty() ? ".\n   After an error the results may hold anything. */\n"
                          : ".\n   After an error the results may hold anything, but nothing is left to be "
                            "freed: memory that would have been\n   the caller's is null, with extents 0. "
                            "*/\n";
    text += signature(source.function) + ";\nconst char *" + source.function +
            "_error(int32_t code);\n\n#ifdef __cplusplus\n}\n#undef restrict\n#endif\n#endif\n";
    return text;
  }

  const std::map<ArrayId, std::pair<std::string, std::string>>& born() const { return born_; }

  /// The function that others call, where the kernel makes results: after an error nobody owns any.
  std::string owning_entry(const CSource& source, const std::string& body) const {
    std::string forget, release, arguments;
    for (const auto& [array, names] : born_) {
      release += "    free(*" + names.first + ");\n";
      forget += "*" + names.first + " = NULL;\n";
      for (std::size_t d = 0; d < program_[array].shape.size(); ++d)
        forget += names.second + "[" + std::to_string(d) + "] = 0;\n";
    }
    for (const CParameter& parameter : source.parameters) arguments += ", " + parameter.name;
    const std::string code = context_.names.fresh("code");
    return signature(source.function) + " {\n" + indented(forget, 2) + "  const int32_t " + code + " = " +
           body + "(host" + arguments + ");\n  if (" + code + " != 0) {\n" + release + indented(forget, 4) +
           "  }\n  return " + code + ";\n}\n";
  }

  /// The same function with all arguments behind pointers, for callers that know the parameters as data only.
  std::string generic_entry(const CSource& source) const {
    std::string text = "int32_t " + source.function +
                       "_call(const twill_host *host, void *const *arguments) {\n  return " +
                       source.function + "(host";
    for (std::size_t p = 0; p < declarations_.size(); ++p) {
      const std::string argument = "arguments[" + std::to_string(p) + "]";
      const CParameter& parameter = source.parameters[p];
      const bool by_value =
          parameter.kind == CParameter::Kind::Scalar || parameter.kind == CParameter::Kind::Size;
      const std::string type = declarations_[p].substr(0, declarations_[p].size() - parameter.name.size());
      text += by_value ? ", *(" + type + "*)" + argument : ", " + argument;
    }
    return text + ");\n}\n";
  }

 private:
  /// `print("big", f32)`
  static std::string described(const Effect& effect) {
    std::string text;
    for (const auto& argument : effect.arguments) {
      const auto* words = std::get_if<std::string>(&argument);
      std::string shown = words ? "\"" + *words + "\"" : to_string(std::get<Expr>(argument)->type);
      for (std::size_t at = 0; (at = shown.find("*/", at)) != std::string::npos;) shown.insert(at + 1, " ");
      text += (text.empty() ? "" : ", ") + shown;
    }
    return effect.kind + "(" + text + ")";
  }

  static std::string indented(const std::string& lines, int by) {
    std::string text;
    for (std::size_t at = 0, end = 0; at < lines.size(); at = end) {
      end = lines.find('\n', at) + 1;
      text += std::string(static_cast<std::size_t>(by), ' ') + lines.substr(at, end - at);
    }
    return text;
  }

  std::string describe(const Array& array) {
    std::string text = to_string(array.type);
    if (array.rank() == 0) return text;
    std::string extents;
    static const std::set<const Node*> none;
    CExpressions print(context_, none, {});
    for (Expr extent : array.shape) extents += (extents.empty() ? "" : ", ") + print.text(extent);
    return text + "[" + extents + "]";
  }

  void add(CSource& source, CParameter::Kind kind, const std::string& name, int position,
           const std::string& type, std::string comment) {
    source.parameters.push_back({kind, name, position, {}});
    declarations_.push_back(type + name);
    comments_.push_back(std::move(comment));
  }

  const Nest& nest_;
  const Program& program_;
  CContext& context_;
  std::vector<std::string> declarations_, comments_;
  std::map<ArrayId, std::pair<std::string, std::string>> born_;
};

std::string constant_definition(const Program& program, const Constant& constant, CContext& context) {
  static const std::set<const Node*> none;
  CExpressions print(context, none, {});
  const Array& array = program[constant.array];
  std::string text = "static const " + context.names.type(array.type) + " " + context.names.of(array.id);
  if (array.rank() == 0) return text + " = " + print.literal(constant.elements.front()) + ";\n";
  text += "[" + std::to_string(std::max<std::size_t>(1, constant.elements.size())) + "] = {";
  for (std::size_t e = 0; e < constant.elements.size(); ++e)
    text += (e == 0 ? "" : ", ") + print.literal(constant.elements[e]);
  return text + (constant.elements.empty() ? "0};\n" : "};\n");
}

std::string function_definition(const Function& function, FunctionId id, CContext& context) {
  static const std::set<const Node*> none;
  CExpressions print(context, none, function.name);
  print.expect(function.body);
  const std::string value = print.text(function.body);
  std::string text =
      "static inline " + context.names.type(function.result) + " " + context.names.of(id) + "(";
  for (std::size_t p = 0; p < function.parameters.size(); ++p) {
    text +=
        (p == 0 ? "" : ", ") + context.names.type(function.parameters[p].type) + " arg" + std::to_string(p);
  }
  text += ") {\n";
  for (const std::string& line : print.take_lines()) text += "  " + line + "\n";
  return text + "  return " + value + ";\n}\n\n";
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + "\"";
}

}  // namespace

CSource print_c(const Nest& nest) {
  const Program& program = *nest.program;
  CNames names(nest);
  CPrelude prelude;
  CSource source;
  CContext context{nest, names, prelude, source.errors, source.effects, {}};
  for_each_stage(nest.program->stages, [&](const Stage& stage) {
    for (const Dim& dim : stage.dims)
      if (integer_of(dim.lo).value_or(-1) >= 0) context.ends[dim.id] = dim.hi;
  });
  source.function = names.fresh_global(program.name);
  names.fresh(source.function + "_error");
  names.fresh(source.function + "_call");
  Interface interface(nest, context);
  interface.build(source);

  std::string functions;
  for (std::size_t f = 0; f < program.functions.size(); ++f) {
    const FunctionId id{static_cast<int>(f)};
    std::vector<Expr> arguments;
    for (std::size_t p = 0; p < program.functions[f].parameters.size(); ++p) {
      arguments.push_back(program.pool->arg(static_cast<int>(p), program.functions[f].parameters[p].type));
    }
    const Expr call = program.pool->invoke(id, program.functions[f].result, std::move(arguments));
    // Those that can fail are written out where they are called.
    if (!is_partial(call, program.functions))
      functions += function_definition(program.functions[f], id, context);
  }
  for (const Constant& constant : program.constants)
    names.of(constant.array);  // before others of their names
  prelude.need("twill_frame");
  CCode code(context);
  std::string kernel;
  if (interface.born().empty()) {
    kernel = code.kernel(source, interface.signature(source.function), interface.born());
  } else {
    const std::string body = names.fresh(source.function + "_body");
    kernel = code.kernel(source, "static " + interface.signature(body), interface.born());
    kernel += "\n" + interface.owning_entry(source, body);
  }

  std::string constants;
  for (const Constant& constant : program.constants) {
    const std::string& name = names.of(constant.array);
    if (mentions_word(code.parts(), name) || mentions_word(kernel, name))
      constants += constant_definition(program, constant, context);
  }

  source.text =
      "/* Made by Twill from program '" + program.name +
      "'. */\n#if !defined __STDC_VERSION__ || __STDC_VERSION__ < 201112L\n#error \"this needs C11: compile "
      "it "
      "with -std=c11\"\n#endif\n#include <math.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include "
      "<stdint.h>\n#include "
      "<stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#ifdef _OPENMP\n#include <omp.h>\n#endif\n\n";
  source.text += host_interface() + "\n" + names.record_definitions() + prelude.text() +
                 pair_definitions(context) + constants + (constants.empty() ? "" : "\n") + functions +
                 code.parts() + kernel + "\n" + interface.generic_entry(source);
  source.text += "\nconst char *" + source.function +
                 "_error(int32_t code) {\n  static const char *const texts[] = {\n    \"no error\",\n";
  for (const std::string& error : source.errors) source.text += "    " + quoted(error) + ",\n";
  source.text += "  };\n  return code >= 0 && code <= " + std::to_string(source.errors.size()) +
                 " ? texts[code] : \"unknown error\";\n}\n";
  source.header = interface.header(source);
  return source;
}

}  // namespace twill

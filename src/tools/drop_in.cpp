// The wrapper that gives a kernel the name and the arguments of a C function.
#include "tools/drop_in.h"

#include "base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace twill {

namespace {

const CArgument* argument_where(const CFunction& function,
                                const std::function<bool(const CArgument&)>& fits) {
  const auto found = std::ranges::find_if(function.arguments, fits);
  return found == function.arguments.end() ? nullptr : &*found;
}

std::string bytes_of(const CArgument& array) {
  std::string text = fmt::format("sizeof({})", info(array.type).c_name);
  for (const std::string& extent : array.shape) text += fmt::format(" * (size_t)({})", extent);
  return text;
}

}  // namespace

std::string drop_in_text(const CFunction& function, const Program& program, const CSource& kernel) {
  std::vector<std::string> declared, passed = {"NULL"};
  for (const CArgument& argument : function.arguments)
    declared.push_back(
        fmt::format("{} {}{}", info(argument.type).c_name, argument.is_array ? "*" : "", argument.name));
  std::string before, after;
  std::vector<std::string> sizes;
  for (const Symbol& symbol : program.symbols)
    if (symbol.origin == Symbol::Origin::Input) sizes.push_back(symbol.name);
  for (const CParameter& parameter : kernel.parameters) {
    const CArgument* argument = nullptr;
    if (parameter.kind == CParameter::Kind::Size) {
      const std::string& name = sizes[static_cast<std::size_t>(parameter.position)];
      argument = argument_where(function, [&](const CArgument& a) { return !a.is_array && a.name == name; });
    } else if (parameter.kind == CParameter::Kind::Output) {
      argument = argument_where(function, [&](const CArgument& a) { return a.result == parameter.position; });
    } else {
      argument = argument_where(function, [&](const CArgument& a) { return a.input == parameter.position; });
    }
    ensure(argument != nullptr, "a parameter of a kernel is no argument of the C function");
    if (parameter.kind != CParameter::Kind::Output || argument->input < 0) {
      passed.push_back(argument->name);
      continue;
    }
    const std::string copy = "twill_new_" + argument->name, type(info(argument->type).c_name);
    before += fmt::format(
        "  const size_t twill_bytes_{0} = {1};\n  {2} *{3} = malloc(twill_bytes_{0} ? twill_bytes_{0} : 1);\n"
        "  if (!{3}) {{\n    fputs(\"{4}: {5}\\n\", stderr);\n    abort();\n  }}\n",
        argument->name, bytes_of(*argument), type, copy, function.name, out_of_memory);
    after += fmt::format("  memcpy({0}, {1}, twill_bytes_{0});\n  free({1});\n", argument->name, copy);
    passed.push_back(copy);
  }
  return fmt::format(R"(
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes the place of the function it was made from. */
void {0}({1}) {{
{2}  const int32_t twill_code = {3}({4});
  if (twill_code) {{
    fprintf(stderr, "{0}: %s\n", {3}_error(twill_code));
    abort();
  }}
{5}}}
)",
                     function.name, fmt::join(declared, ", "), before, kernel.function,
                     fmt::join(passed, ", "), after);
}

std::string drop_in_header(const CFunction& function, const std::string& prefix) {
  std::string prototype = function.prototype;
  const std::string old = function.name.substr(prefix.size());
  if (!prefix.empty())
    if (const std::size_t at = prototype.find(old + "("); at != std::string::npos)
      prototype.insert(at, prefix);
  return fmt::format(
      "/* Made by Twill: takes the place of the C function '{0}'. Link with -lm -fopenmp. */\n"
      "#ifndef TWILL_FUNCTION_{0}\n#define TWILL_FUNCTION_{0}\n\n{1};\n\n#endif\n",
      function.name, prototype);
}

}  // namespace twill

// The `twill` command: a table of subcommands, and the one place where errors become messages and exit
// statuses.
#include "base/error.h"
#include "program/text_names.h"
#include "tools/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>

namespace twill {

namespace {

struct Command {
  const char* name;
  const char* summary;
  Action (*add)(CLI::App&);
};

constexpr std::array commands = {
    Command{"run", "runs a program on files of data", add_run},
    Command{"show", "shows what becomes of a program: text, plan, loops, C", add_show},
    Command{"explain", "says which stages share a pass, and why others do not", add_explain},
    Command{"cluster", "cuts a program or a bare fusion graph into passes, the best way there is",
            add_cluster},
    Command{"check", "runs the tests that are written in program files", add_check},
    Command{"import", "turns the loop nests of a C file into a program", add_import},
    Command{"build", "makes C source, header and static library for other people's builds", add_build},
    Command{"machine", "shows what Twill knows about this machine, measuring it the first time", add_machine},
    Command{"bench", "measures programs against peers and against what the machine allows", add_bench},
    Command{"fuzz", "compares random programs, plans and inputs with the interpreter", add_fuzz},
};

constexpr const char* description =
    "Twill compiles programs of data-parallel stages into few and local passes over memory.";
constexpr const char* footer =
    "`twill COMMAND --help` explains a command.\n"
    "Exit status: 0 all is well, 1 something failed, 2 the command was not understood.\n"
    "Compiled kernels and the machine's rates are kept in $TWILL_CACHE, else ~/.cache/twill.\n\n"
    "Examples:\n"
    "  twill check examples/softmax.twill\n"
    "  twill run examples/unsharp.twill --in img=photo.png --out sharp=sharp.png\n"
    "  twill show examples/blur.twill --as loops";

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : commands) names.emplace_back(command.name);
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// Words of the command line that no option took.
void refuse_extras(const CLI::App& app, const std::vector<std::string>& extras) {
  if (extras.empty()) return;
  const std::string command = app.get_parent() ? "twill " + app.get_name() : "twill";
  const std::string word = extras.front();
  if (word.starts_with("-")) {
    const std::string help = text::did_you_mean(word, option_names(app));
    usage("E0702", fmt::format("'{}' has no option '{}'", command, word),
          help.empty() ? fmt::format("`{} --help` lists the options", command) : help);
  }
  usage("E0702", fmt::format("'{}' does not know what to do with '{}'", command, word),
        fmt::format("`{} --help` shows how it is called", command));
}

/// The first word that is no option must be a command.
void refuse_unknown_command(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("-")) continue;
    const auto names = command_names();
    if (std::ranges::find(names, word) != names.end()) return;
    const std::string help = text::did_you_mean(word, names);
    usage("E0701", fmt::format("there is no command '{}'", word),
          help.empty() ? "`twill --help` lists the commands" : help);
  }
}

int run_command(int argc, char** argv) {
  CLI::App app{description, "twill"};
  app.footer(footer);
  app.set_version_flag("--version", std::string("twill ") + TWILL_VERSION);
  app.require_subcommand(0, 1);
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const Command& command : commands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    sub->allow_extras();
    sub->get_formatter()->column_width(34);
    actions.emplace_back(sub, command.add(*sub));
  }
  app.allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& answered) {  // --help, --version
    return app.exit(answered);
  } catch (const CLI::ParseError& error) {
    refuse_unknown_command(argc, argv);
    std::string message = error.what();
    if (message.size() > 1 &&
        std::islower(static_cast<unsigned char>(message[1])))  // not a name such as FILE
      message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
    const auto used = app.get_subcommands();
    usage("E0703", message,
          fmt::format("`twill{} --help` shows how it is called",
                      used.empty() ? "" : " " + used[0]->get_name()));
  }
  refuse_unknown_command(argc, argv);
  for (const auto& [sub, action] : actions) {
    if (!sub->parsed()) continue;
    refuse_extras(*sub, sub->remaining());
    return action();
  }
  refuse_extras(app, app.remaining());
  fmt::print(stderr, "{}", app.help());
  return 2;
}

}  // namespace

void usage(std::string code, std::string message, std::string help) {
  fail(Fault::User, std::move(code), {}, std::move(message), std::move(help));
}

}  // namespace twill

int main(int argc, char** argv) {
  using namespace twill;
  std::signal(SIGXFSZ, SIG_IGN);  // a file that reaches its limit is a write error, which is reported
  try {
    const int status = run_command(argc, argv);
    if (std::fflush(stdout) == 0 && std::cout.flush()) return status;
    fmt::print(stderr, "{}",
               to_string(Diagnostic{Fault::System, "E0602", {}, "cannot write to standard output", {}}));
    return 1;
  } catch (const Error& error) {
    std::fflush(stdout);
    fmt::print(stderr, "{}", error.what());
    const bool misuse = std::ranges::all_of(error.diagnostics(),
                                            [](const Diagnostic& d) { return d.code.starts_with("E07"); });
    return misuse ? 2 : 1;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "{}",
               to_string(Diagnostic{Fault::System, "E0510", {}, "there is not enough memory", {}}));
  } catch (const std::exception& error) {
    fmt::print(
        stderr, "{}",
        to_string(Diagnostic{
            Fault::Bug, "B0001", {}, error.what(), "please report it with the command that caused it"}));
  }
  return 1;
}

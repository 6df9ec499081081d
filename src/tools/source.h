// What the subcommands share: program files and their definitions, mistakes in the call, and time.
#pragma once

#include "import/c_import.h"
#include "program/module.h"

#include <chrono>
#include <map>
#include <string>

namespace twill {

/// A mistake in how the command was called (E07xx); the exit status will be 2.
[[noreturn]] void usage(std::string code, std::string message, std::string help = {});

/// A program file, and which of its definitions is meant.
struct Source {
  std::string file;
  std::string definition;                      // empty: the last one
  std::vector<std::string> includes, defines;  // of a C file, for the preprocessor

  bool is_c() const;
};

/// Reads, parses and checks a file; a C file is imported. Throws E0704 if there is none of that name.
Module read_module(const std::string& file);

/// The same, with what the preprocessor is told.
Module read_module(const Source& source);

/// Imports a C file: the function that is meant, or all that have a `#pragma scop`.
CImport read_c(const Source& source);

/// The definition that is meant. Throws E0705 if there is none.
const Program& find_definition(const Module& module, const Source& source);

using Named = std::map<std::string, std::string>;

/// Splits the words NAME=VALUE that an option was given; every name must be one of those known.
Named named_values(const std::vector<std::string>& words, const std::string& option,
                   const std::string& definition, const std::string& what,
                   const std::vector<std::string>& known);

/// Milliseconds since it was made or last asked.
class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> took = now - last_;
    last_ = now;
    return took.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace twill

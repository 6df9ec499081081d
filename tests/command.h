// Runs the `twill` command the way people do, in a directory and with a cache of its own.
#pragma once

#include "base/files.h"
#include "run/process.h"

#include <filesystem>
#include <string>
#include <vector>

namespace twill {

class CommandLine {
 public:
  /// What the command prints, standard output and standard error together, and its exit status.
  ExitReport twill(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), TWILL_BINARY);
    return run_program(arguments, environment());
  }

  /// Runs a line of shell in the directory, where build/twill is the command.
  ExitReport shell(const std::string& line) const {
    std::error_code ignored;
    std::filesystem::create_directories(path("build"), ignored);
    std::filesystem::create_symlink(TWILL_BINARY, path("build/twill"), ignored);
    return run_program({"/bin/sh", "-c", "cd '" + directory_.path().string() + "' && " + line},
                       environment());
  }

  /// A path in the directory.
  std::string path(const std::string& name) const { return (directory_.path() / name).string(); }

  /// Writes a file into the directory and returns its path.
  std::string file(const std::string& name, const std::string& text) const {
    write_file(path(name), text);
    return path(name);
  }

 private:
  std::vector<std::pair<std::string, std::string>> environment() const {
    return {{"TWILL_CACHE", path("cache")}};
  }

  WorkDirectory directory_{temporary_directory()};
};

}  // namespace twill

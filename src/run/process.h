// Other programs: finding them, running them without a shell, and directories for their work.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace twill {

/// The executable that a name means: itself if it contains a slash, else the first one in $PATH.
std::optional<std::filesystem::path> find_program(const std::string& name);

struct ExitReport {
  int status = 0;      // exit status, or 128 + signal
  std::string output;  // standard output and standard error together
};

/// Runs argv[0] (a path) with these arguments, nothing on standard input, and the environment plus
/// `variables`. Throws E0610 if it cannot be started.
ExitReport run_program(const std::vector<std::string>& argv,
                    const std::vector<std::pair<std::string, std::string>>& variables = {});

/// `$TMPDIR` or /tmp, whether it exists or not.
std::filesystem::path temporary_directory();

/// A new directory that goes, with all it holds, at the end. Throws E0602 if it cannot be made.
class WorkDirectory {
 public:
  static constexpr std::string_view prefix = "work-";

  explicit WorkDirectory(const std::filesystem::path& parent);
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;
  ~WorkDirectory();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace twill

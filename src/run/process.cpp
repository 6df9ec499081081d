// Programs in child processes, with what they print.
#include "run/process.h"

#include "base/error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace twill {

namespace fs = std::filesystem;

namespace {

std::string reason(int error) { return std::generic_category().message(error); }

bool is_executable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

/// The environment with some variables replaced.
std::vector<std::string> environment(const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : variables)
      replaced |= text.starts_with(name) && text.substr(name.size()).starts_with('=');
    if (!replaced) result.emplace_back(text);
  }
  for (const auto& [name, value] : variables) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::string read_to_end(int descriptor) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

std::optional<fs::path> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return is_executable(name) ? std::optional<fs::path>(name) : std::nullopt;
  const char* variable = std::getenv("PATH");
  std::string_view path = variable ? variable : "/usr/local/bin:/usr/bin:/bin";
  while (!path.empty() && !name.empty()) {
    const std::size_t colon = path.find(':');
    if (const fs::path candidate = fs::path(path.substr(0, colon)) / name; is_executable(candidate))
      return candidate;
    path.remove_prefix(colon == std::string_view::npos ? path.size() : colon + 1);
  }
  return std::nullopt;
}

ExitReport run_program(const std::vector<std::string>& argv,
                    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> arguments = argv, values = environment(variables);
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0)
    fail(Fault::System, "E0610", {}, fmt::format("cannot start '{}': {}", argv[0], reason(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 2);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, argv[0].c_str(), &actions, nullptr, pointers(arguments).data(),
                                  pointers(values).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  ExitReport outcome;
  if (error == 0) outcome.output = read_to_end(pipe[0]);
  ::close(pipe[0]);
  if (error != 0)
    fail(Fault::System, "E0610", {}, fmt::format("cannot start '{}': {}", argv[0], reason(error)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

fs::path temporary_directory() {
  const char* variable = std::getenv("TMPDIR");
  return variable && *variable ? variable : "/tmp";
}

WorkDirectory::WorkDirectory(const fs::path& parent) {
  std::string name = (parent / (std::string(prefix) + "XXXXXX")).string();
  if (!::mkdtemp(name.data()))
    fail(Fault::System, "E0602", {}, fmt::format("cannot write in '{}': {}", parent.string(), reason(errno)));
  path_ = name;
}

WorkDirectory::~WorkDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace twill

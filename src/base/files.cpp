// Reading and writing whole files, so that a reader never sees half of one.
#include "base/files.h"

#include "base/error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <random>
#include <system_error>
#include <utility>

namespace twill {

namespace fs = std::filesystem;

namespace {

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void cannot_read(const fs::path& path, int error) {
  fail(Fault::System, "E0601", {}, fmt::format("cannot read '{}': {}", path.string(), reason(error)));
}

[[noreturn]] void cannot_write(const fs::path& path, int error) {
  std::string help;
  if (error == ENOSPC || error == EDQUOT) help = "free some space there; nothing was changed";
  if (error == ENOENT) help = "create the directory first";
  fail(Fault::System, "E0602", {}, fmt::format("cannot write '{}': {}", path.string(), reason(error)), help);
}

/// An open file; closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }

  /// 0, or the error that a delayed write reported.
  int close() {
    const int number = std::exchange(number_, -1);
    return number >= 0 && ::close(number) != 0 ? errno : 0;
  }

 private:
  int number_;
};

/// 0 or the error.
int write_all(int number, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(number, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int write_pieces(Descriptor& file, std::initializer_list<std::string_view> pieces) {
  for (std::string_view piece : pieces)
    if (const int error = write_all(file.number(), piece)) return error;
  return 0;
}

/// A name beside `path` that nobody else uses.
fs::path temporary_name(const fs::path& path) {
  std::random_device random;
  return path.parent_path() /
         fmt::format(".{}.{:08x}{:08x}.tmp", path.filename().string(), random(), random());
}

/// The file that a chain of symbolic links leads to, so that replacing it keeps the links.
fs::path behind_links(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_symlink(path, ignored)) return path;
  const fs::path target = fs::weakly_canonical(path, ignored);
  return target.empty() ? path : target;
}

}  // namespace

std::string read_file(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) cannot_read(path, errno);
  std::string bytes;
  struct stat status {};
  if (::fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode))
    bytes.reserve(static_cast<std::size_t>(status.st_size) + 1);
  for (;;) {
    const std::size_t old = bytes.size();
    bytes.resize(std::max(bytes.capacity(), old + 65536));
    const ssize_t got = ::read(file.number(), bytes.data() + old, bytes.size() - old);
    const int error = errno;
    bytes.resize(old + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return bytes;
    if (got < 0 && error != EINTR) cannot_read(path, error);
  }
}

void write_file(const fs::path& path, std::initializer_list<std::string_view> pieces) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) cannot_write(path, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    int error = file ? write_pieces(file, pieces) : errno;
    if (!error) error = file.close();
    if (error) cannot_write(path, error);
    return;
  }
  const fs::path target = behind_links(path);
  const fs::path temporary = temporary_name(target);
  const mode_t mode = exists ? status.st_mode & 07777 : 0666;
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file) cannot_write(path, errno);
  int error = write_pieces(file, pieces);
  if (!error && exists && ::fchmod(file.number(), mode) != 0) error = errno;
  if (!error && ::fsync(file.number()) != 0 && errno != EINVAL) error = errno;
  if (const int late = file.close(); !error) error = late;
  if (!error && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (!error) return;
  ::unlink(temporary.c_str());
  cannot_write(path, error);
}

fs::path cache_directory() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  if (const std::string own = variable("TWILL_CACHE"); !own.empty()) return own;
  if (const std::string shared = variable("XDG_CACHE_HOME"); !shared.empty())
    return fs::path(shared) / "twill";
  if (const std::string home = variable("HOME"); !home.empty()) return fs::path(home) / ".cache/twill";
  const passwd* user = ::getpwuid(::getuid());
  return fs::path(user && user->pw_dir ? user->pw_dir : "/") / ".cache/twill";
}

}  // namespace twill

// Compiled kernels on disk: sealed, renamed into place, the least used removed.
#include "run/cache.h"

#include "base/error.h"
#include "base/files.h"
#include "run/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <system_error>
#include <vector>

namespace twill {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view mark = "\ntwill-kernel-1 ";
constexpr std::size_t digits = 32;

constexpr auto still_fresh = std::chrono::minutes(5);
constexpr auto abandoned = std::chrono::hours(1);

[[noreturn]] void cannot_write(const fs::path& path, const std::error_code& error) {
  fail(Fault::System, "E0602", {}, fmt::format("cannot write '{}': {}", path.string(), error.message()));
}

/// What is appended to a shared object; loaders ignore bytes that no header mentions.
std::string seal(std::string_view object, const std::string& key) {
  return std::string(mark) + hash_of({object, key}) + "\n";
}

bool is_whole(std::string_view bytes, const std::string& key) {
  const std::size_t length = mark.size() + digits + 1;
  if (bytes.size() < length) return false;
  const std::string_view object = bytes.substr(0, bytes.size() - length);
  return bytes.substr(object.size()) == seal(object, key);
}

bool is_failed_source(const fs::path& file) {
  return file.filename().string().starts_with(KernelCache::failed_prefix) && file.extension() == ".c";
}

}  // namespace

std::string hash_of(std::initializer_list<std::string_view> parts) {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  const std::unique_ptr<XXH3_state_t, Free> state(XXH3_createState());
  ensure(state && XXH3_128bits_reset(state.get()) == XXH_OK, "a hash can be started");
  for (std::string_view part : parts) {
    const std::uint64_t size = part.size();
    XXH3_128bits_update(state.get(), &size, sizeof size);
    XXH3_128bits_update(state.get(), part.data(), part.size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

void remove_oldest(const fs::path& directory, std::int64_t most_bytes) {
  struct Entry {
    fs::file_time_type used;
    fs::path file;
    std::int64_t bytes;
  };
  std::vector<Entry> entries;
  std::int64_t total = 0;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(directory, error)) {
    const fs::file_time_type used = file.last_write_time(error);
    const auto bytes = static_cast<std::int64_t>(file.file_size(error));
    if (error) continue;
    entries.push_back({used, file.path(), bytes});
    total += bytes;
  }
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total <= most_bytes) break;
    fs::remove(entry.file, error);
    total -= entry.bytes;
  }
}

std::optional<fs::path> KernelCache::find(const std::string& key) const {
  const fs::path object = object_path(key);
  std::error_code ignored;
  if (!fs::exists(object, ignored)) return std::nullopt;
  try {
    if (!is_whole(read_file(object), key)) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // removed or made unreadable since
  }
  ::utimensat(AT_FDCWD, object.c_str(), nullptr, 0);
  return object;
}

fs::path KernelCache::add(const std::string& key, const fs::path& object, const fs::path& source) const {
  const std::string end = seal(read_file(object), key);
  std::ofstream file(object, std::ios::binary | std::ios::app);
  file << end << std::flush;
  file.close();
  if (!file) cannot_write(object, std::make_error_code(std::errc::no_space_on_device));
  std::error_code error;
  fs::rename(source, source_path(key), error);
  if (error) cannot_write(source_path(key), error);
  fs::rename(object, object_path(key), error);
  if (error) cannot_write(object_path(key), error);
  return object_path(key);
}

void KernelCache::prune() const {
  struct Entry {
    fs::path file;  // an object, whose source goes with it, or a source that did not compile
    fs::file_time_type used;
    std::int64_t bytes;
  };
  std::vector<Entry> entries;
  std::int64_t total = 0;
  const fs::file_time_type now = fs::file_time_type::clock::now();
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(directory_, error)) {
    const fs::file_time_type time = file.last_write_time(error);
    if (error) continue;
    if (file.path().filename().string().starts_with(WorkDirectory::prefix)) {
      if (now - time > abandoned) fs::remove_all(file.path(), error);
    } else if (file.path().extension() == ".so") {
      fs::path source = file.path();
      const auto source_bytes = fs::file_size(source.replace_extension(".c"), error);
      const auto bytes = static_cast<std::int64_t>(file.file_size(error) + (error ? 0 : source_bytes));
      entries.push_back({file.path(), time, bytes});
      total += bytes;
    } else if (is_failed_source(file.path())) {
      const auto bytes = static_cast<std::int64_t>(file.file_size(error));
      if (error) continue;
      entries.push_back({file.path(), time, bytes});
      total += bytes;
    }
  }
  if (total <= most_bytes_) return;
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total <= most_bytes_ / 4 * 3 || now - entry.used < still_fresh) break;
    fs::path source = entry.file;
    fs::remove(entry.file, error);
    fs::remove(source.replace_extension(".c"), error);
    total -= entry.bytes;
  }
}

}  // namespace twill

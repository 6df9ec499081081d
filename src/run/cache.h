// The disk cache of compiled kernels.
//
// A directory with KEY.so and, for readers, KEY.c and the sources that did not compile. Many processes may
// use it at once without locks: an entry is made elsewhere and takes its name in one step, and what lies
// under a name is always right or detectably wrong, because every entry ends in a checksum of its bytes and
// its key that is verified before the entry is used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace twill {

/// xxHash-128 of the parts and of where they end, as 32 hexadecimal digits.
std::string hash_of(std::initializer_list<std::string_view> parts);

/// Removes the files of a directory that were not used for longest until the rest takes no more bytes.
void remove_oldest(const std::filesystem::path& directory, std::int64_t most_bytes);

class KernelCache {
 public:
  static constexpr std::int64_t default_bytes = std::int64_t{512} << 20;
  static constexpr const char* failed_prefix =
      "failed-";  // of sources that did not compile, kept for readers

  explicit KernelCache(std::filesystem::path directory, std::int64_t most_bytes = default_bytes)
      : directory_(std::move(directory)), most_bytes_(most_bytes) {}

  const std::filesystem::path& directory() const { return directory_; }
  std::filesystem::path object_path(const std::string& key) const { return directory_ / (key + ".so"); }
  std::filesystem::path source_path(const std::string& key) const { return directory_ / (key + ".c"); }

  /// The shared object of a key if it is there and whole, and marks it as used now.
  std::optional<std::filesystem::path> find(const std::string& key) const;

  /// Moves a shared object and its source, which lie in the cache's file system, under the key. Throws E0602.
  std::filesystem::path add(const std::string& key, const std::filesystem::path& object,
                            const std::filesystem::path& source) const;

  /// Removes the entries not used for longest until the rest takes less than the allowed size, and work that
  /// crashed processes left behind. What was used in the last minutes stays; what is loaded somewhere keeps
  /// running, because a removed file lives on until nobody has it mapped.
  void prune() const;

 private:
  std::filesystem::path directory_;
  std::int64_t most_bytes_;
};

}  // namespace twill

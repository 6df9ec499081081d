// A cache of compiled kernels that goes with the test.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <stdexcept>

class TemporaryCache {
 public:
  TemporaryCache() {
    std::string name = (std::filesystem::temp_directory_path() / "twill-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~TemporaryCache() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryCache(const TemporaryCache&) = delete;
  TemporaryCache& operator=(const TemporaryCache&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

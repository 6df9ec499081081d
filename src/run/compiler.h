// The system's C compiler: from C text to a loaded library, through the disk cache, or to a static library.
#pragma once

#include "base/files.h"
#include "run/cache.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace twill {

/// Flags for kernels. Strict ones keep every rounding of the source; the others may fuse multiply and add,
/// and assume that nobody looks at errno or floating-point traps.
std::vector<std::string> kernel_flags(bool strict);

struct CompileOptions {
  std::string compiler;  // name or path, with leading arguments if any; empty: $CC, else cc, gcc or clang
  std::vector<std::string> flags = kernel_flags(false);
  std::vector<std::string> libraries = {"-lm"};
  std::filesystem::path cache = cache_directory();  // the compiled library goes to its subdirectory kernels/
  std::int64_t cache_bytes = KernelCache::default_bytes;
};

/// A loaded shared library; unloaded when the last copy goes.
class Library {
 public:
  /// Throws E0612 if the file cannot be loaded.
  explicit Library(const std::filesystem::path& object);

  /// The function of a name. Throws E0614 if there is none.
  template <class Function>
  Function* function(const std::string& name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

  bool cached = false;           // found in the cache rather than compiled now
  std::filesystem::path source;  // the C text it was made from; empty if that was not kept
  std::string warning;           // why it could not be kept; usually empty

 private:
  void* symbol(const std::string& name) const;

  std::shared_ptr<void> handle_;
};

/// Compiles C text to a shared library and loads it. What was compiled before, from the same text by the same
/// compiler with the same flags for the same CPU, is loaded from the cache. When the cache cannot be written,
/// a temporary directory serves, and `warning` says so. Throws E0602 (nowhere to write), E0610 (no compiler),
/// E0611 (the compiler failed), E0612 (it cannot be loaded).
Library compile_and_load(const std::string& c_source, const CompileOptions& options = {});

/// Compiles C text to `archive`, a static library with one object file. Throws E0602, E0610, E0611.
void compile_static_library(const std::string& c_source, const std::filesystem::path& archive,
                            const CompileOptions& options = {});

/// A C file as the preprocessor leaves it, with line markers and pragmas. `flags` are -I and -D. Throws E0610
/// (no compiler), E0615 (the preprocessor found mistakes).
std::string preprocess(const std::filesystem::path& file, const std::vector<std::string>& flags = {},
                       const CompileOptions& options = {});

}  // namespace twill

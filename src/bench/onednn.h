// oneDNN as a peer: a few of its primitives on plain layouts. Its C interface lives in headers, so a small C
// file is compiled against them when a suite first asks for it; nothing depends on it.
#pragma once

#include "run/compiler.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace twill::bench {

/// A primitive with its shapes, to be executed many times. Ends with the last copy.
class OneDnnPrimitive {
 public:
  /// False: oneDNN has nothing but a reference implementation for the case.
  explicit operator bool() const { return self_ != nullptr; }

  void run(const float* a, const float* b, float* c) const { run_(self_.get(), a, b, c); }

 private:
  friend class OneDnn;
  using Run = void(void* self, const float* a, const float* b, float* c);
  std::shared_ptr<void> self_;
  Run* run_ = nullptr;
};

class OneDnn {
 public:
  explicit OneDnn(const CompileOptions& options);

  bool available() const { return library_.has_value(); }
  const std::string& missing() const { return missing_; }  // what to install

  /// c = a · b, `batch` times, of m × k and k × n.
  OneDnnPrimitive matmul(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) const;

  /// One channel of h × w, one filter of r × s, only where it fits.
  OneDnnPrimitive convolution(std::int64_t h, std::int64_t w, std::int64_t r, std::int64_t s) const;

 private:
  OneDnnPrimitive made(void* self) const;

  std::optional<Library> library_;
  std::string missing_;
};

}  // namespace twill::bench

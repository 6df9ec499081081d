// What the cases of a benchmark have in common: the options, the machine and the peers that are installed.
#pragma once

#include "bench/bench.h"
#include "bench/blas.h"
#include "bench/onednn.h"
#include "machine/machine.h"

#include <map>
#include <memory>
#include <optional>

namespace twill::bench {

/// A peer is loaded when the first case asks for it and stays loaded.
class Session {
 public:
  Session(BenchOptions options, Machine machine);

  const BenchOptions& options() const { return options_; }
  const Machine& machine() const { return machine_; }
  int threads() const { return threads_; }

  const Blas& blas(BlasKind kind);
  const OneDnn& onednn();

  /// `n`, or something tiny when the arrays are to be small.
  std::int64_t extent(std::int64_t n) const;

  /// The number of elements that make an array four times as large as the last-level cache.
  std::int64_t beyond_cache(std::int64_t element_bytes) const;

 private:
  BenchOptions options_;
  Machine machine_;
  int threads_;
  std::map<BlasKind, Blas> blas_;
  std::unique_ptr<OneDnn> onednn_;
};

}  // namespace twill::bench

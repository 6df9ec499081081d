// Kernel: a compiled program, callable.
#pragma once

#include "emit/print_c.h"
#include "program/interpret.h"
#include "run/compiler.h"
#include "run/pool.h"

#include <memory>

namespace twill {

class Invocation;

/// A program compiled with symbolic sizes: one kernel serves all of them. Copies share the loaded library.
class Kernel {
 public:
  /// Compiles emitted C (or finds it in the cache) and loads it.
  Kernel(std::shared_ptr<const Program> program, CSource source, const CompileOptions& options);

  const Program& program() const { return *program_; }
  const CSource& source() const { return source_; }
  const Library& library() const { return library_; }

  /// Runs once. Means what `interpret` means: same results, effects and kinds of errors.
  Outcome run(std::span<const Data> inputs) const;

  /// Prepares repeated runs on the same inputs, which must outlive the invocation: memory for results whose
  /// size is known is allocated here, and what the kernel needs on the way is kept between runs.
  Invocation prepare(std::span<const Data> inputs) const;

 private:
  friend class Invocation;
  std::shared_ptr<const Program> program_;
  CSource source_;
  Library library_;
};

/// One set of arguments.
class Invocation {
 public:
  void run();

  /// Results of the last run, in order.
  std::vector<Data>& results();
  const std::vector<EffectEvent>& effects() const;

  ~Invocation();
  Invocation(Invocation&&) noexcept;

 private:
  friend class Kernel;
  struct State;
  explicit Invocation(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace twill

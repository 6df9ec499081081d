// Work in a process of its own, so that a crash or an endless loop of it is a result and not the end.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace twill {

/// How a piece of work ended.
struct Isolated {
  std::string text;                 // what it returned, if it returned
  std::optional<std::string> died;  // "signal 11 (Segmentation fault)", "no end after 20 s"
  bool late = false;                // it died because time was up
};

/// A piece of work that runs in a child process.
class Isolation {
 public:
  Isolation(const std::function<std::string()>& work, std::chrono::seconds patience);
  Isolation(Isolation&& other) noexcept;
  Isolation& operator=(Isolation&&) = delete;
  ~Isolation();

  /// Becomes readable when there is something to collect.
  int descriptor() const { return pipe_; }
  std::chrono::steady_clock::time_point deadline() const { return deadline_; }

  /// Takes what has arrived; true when the work has ended, one way or another. Blocks until there is
  /// something.
  bool collect();

  /// Waits for the end.
  Isolated wait();

  /// After `collect` returned true.
  Isolated result() const { return result_; }

 private:
  void end(bool too_late);

  int process_ = -1;
  int pipe_ = -1;
  std::chrono::steady_clock::time_point deadline_;
  std::chrono::seconds patience_;
  Isolated result_;
};

}  // namespace twill

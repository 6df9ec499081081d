// The time that a search may take, and parts of it: one clock that everybody looks at.
#pragma once

#include <algorithm>
#include <chrono>

namespace twill {

class Deadline {
 public:
  /// From now on.
  explicit Deadline(double seconds)
      : begin_(Clock::now()), end_(begin_ + as_duration(std::clamp(seconds, 0.0, most_seconds))) {}

  /// Seconds; 0 once it is over.
  double left() const { return std::max(0.0, seconds_of(end_ - Clock::now())); }
  bool is_over() const { return Clock::now() >= end_; }
  /// The share of its time that has passed; 1 once it is over.
  double used() const {
    const auto now = Clock::now();
    return now >= end_ ? 1 : seconds_of(now - begin_) / seconds_of(end_ - begin_);
  }

  /// A share of what is left, from now on.
  Deadline share(double share) const { return Deadline(share * left()); }
  /// What is left until that share of all of it has passed.
  Deadline until(double share) const {
    Deadline part(0);
    part.end_ = std::max(part.begin_, begin_ + as_duration(share * seconds_of(end_ - begin_)));
    return part;
  }
  /// Later by what has passed since then.
  void pause_since(std::chrono::steady_clock::time_point then) {
    const auto passed = Clock::now() - then;
    begin_ += passed;
    end_ += passed;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double most_seconds = 1e8;

  static Clock::duration as_duration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  static double seconds_of(Clock::duration duration) {
    return std::chrono::duration<double>(duration).count();
  }

  Clock::time_point begin_, end_;
};

}  // namespace twill

// How long it takes to move bytes and to compute, as far as a choice between ways to do so needs to know.
//
// Times add up: what is read and written, once for every pass over memory, at the rate of the layer that
// holds the array; operations and calls of functions for every point; and something for every array that is
// in memory at all.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace twill {

struct Machine;

struct TimeModel {
  /// Arrays of up to so many bytes, and nanoseconds for each byte.
  struct Layer {
    double bytes = std::numeric_limits<double>::infinity();
    double read_ns = 0.05, write_ns = 0.05;
    friend bool operator==(const Layer&, const Layer&) = default;
  };
  std::vector<Layer> layers = {{}};  // from near to far; the last one holds everything
  double operation_ns = 0.02;
  double call_ns = 5;  // of a function of the C library
  double array_ns = 0;

  /// Of an array; if its size is only a guess, it is taken to be large and far away.
  double read_time(double bytes, bool known) const { return bytes * layer_of(bytes, known).read_ns; }
  double write_time(double bytes, bool known) const {
    return bytes * layer_of(bytes, known).write_ns + (known ? array_ns : 0);
  }

  double work_time(double operations, double calls) const {
    return operations * operation_ns + calls * call_ns;
  }

  /// Everything that a fit may change: times are sums of these, each times something that a program tells.
  std::vector<std::reference_wrapper<double>> coefficients();

  friend bool operator==(const TimeModel&, const TimeModel&) = default;

 private:
  const Layer& layer_of(double bytes, bool known) const;
};

/// The one that was fitted on the machine, or what its measured rates say; a rate that is not known is that
/// of an ordinary machine.
TimeModel time_model_of(const Machine& machine);

}  // namespace twill

// fit: the model of time (machine/time_model.h) with the numbers that small programs take on the machine.
#pragma once

#include "machine/machine.h"

#include <string>
#include <vector>

namespace twill::bench {

/// A program of which it was measured how long it takes: the sum over the coefficients of what each of them
/// counts.
struct FitSample {
  std::string name;
  double ns = 0;
  std::vector<double> counts;  // one for each of the model's coefficients
};

/// In nanoseconds, what a model says.
double predicted(const FitSample& sample, TimeModel model);

struct Fit {
  TimeModel by_rates, fitted;
  std::vector<FitSample> samples;
};

/// The coefficients that are least wrong about the samples, in shares of each time: least squares, none below
/// zero. What the samples say little about stays close to `start`.
TimeModel least_squares(const std::vector<FitSample>& samples, const TimeModel& start);

struct FitOptions {
  double patience = 0.15;  // seconds for which each program runs
  bool small = false;      // on small arrays: to see whether everything works
  Progress progress = {};
};

/// Runs a few dozen small programs on the machine we are on: sums and maps that read and write one array or
/// several, compute little or much, in the caches or not.
Fit fit_time_model(const Machine& machine, const FitOptions& options = {});

/// By how much a model is wrong about the samples, as a share, in the mean.
double wrong_by(const std::vector<FitSample>& samples, const TimeModel& model);

/// Why the fitted model is not worth keeping; empty if it is. A busy machine measures other programs as well.
std::string why_not_kept(const Fit& fit);

/// A table for people.
std::string to_string(const Fit& fit);

}  // namespace twill::bench

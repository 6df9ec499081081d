// The fuzzer: random programs, random plans, random inputs, against the interpreter.
#pragma once

#include "fuzz/generate.h"
#include "fuzz/verdict.h"

namespace twill {

struct FuzzOptions {
  std::uint64_t seed = 1;  // of the first program; the k-th has seed + k, so that each can be replayed alone
  int count = 200;         // of programs
  int plans = 2;           // random plans for each, beside the default plan
  int inputs = 2;          // sets of inputs for each
  Budget budget;           // `strict` is decided by the seed
  int jobs = 0;            // processes at a time; 0: one per core
  int most_failures = 5;   // ends after so many
  bool shrink = true;
  bool optimise = false;  // compile all kernels with the usual flags, rather than most of them quickly
  JudgeOptions judge;
  std::function<void(int done, int total, int failures)> progress;
};

/// A case that fails, shrunk, with all that is needed to look into it.
struct FuzzFailure {
  std::uint64_t seed = 0;
  Verdict verdict;
  FuzzCase one;
};

struct FuzzReport {
  int programs = 0;
  std::vector<FuzzFailure> failures;
  std::map<std::string, int> counts;  // runs, kernels, what was not supported, features of programs and plans
};

/// The case of one seed.
FuzzCase fuzz_case(std::uint64_t seed, const FuzzOptions& options);

FuzzReport fuzz(const FuzzOptions& options);

/// A failure for people: the program as text, the plan as JSON, the inputs, the seed, what differed, how to
/// replay it.
std::string to_string(const FuzzFailure& failure);

/// A table of counts.
std::string to_string(const FuzzReport& report);

}  // namespace twill

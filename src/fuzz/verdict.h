// One case of the fuzzer (a program, plans and inputs) and the judgement about it.
#pragma once

#include "base/isolate.h"
#include "machine/machine.h"
#include "plan/plan.h"
#include "program/interpret.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace twill {

/// What is tried: every plan with every set of inputs. No plan at all means the interpreter alone.
struct FuzzCase {
  std::shared_ptr<const Program> program;
  std::vector<Plan> plans;  // of `planned`
  std::vector<std::vector<Data>> inputs;
  bool simplify = true;
  std::vector<std::string> compiler_flags;  // after the usual ones

  /// The program that plans are about: simplified, or as it is.
  std::shared_ptr<const Program> planned() const;
};

/// What is wrong with a case, if anything. `kind` says in which way; a failure is shrunk as long as it stays
/// the same.
struct Verdict {
  std::string kind;    // "different", "crash", "round trip", …; empty: all is well
  std::string detail;  // what differed, or the message
  int plan = -1;       // with which of the plans and inputs
  int inputs = -1;
  std::map<std::string, int>
      counts;  // what happened: "runs", "not supported", "run-time errors", features of plans

  bool failed() const { return !kind.empty(); }
};

struct JudgeOptions {
  Machine machine;
  bool round_trip = true;                   // print and parse
  std::chrono::seconds patience{120};       // what takes longer has no end
  std::filesystem::path cache;              // where kernels are compiled
  std::vector<std::string> compiler_flags;  // after the usual ones and those of the case
  /// Finds fault with a case beside all that is tried anyway; for tests of the fuzzer itself.
  std::function<std::optional<std::string>(const FuzzCase&)> complaint;
};

/// Checks, prints and parses, interprets, compiles and compares; in this process.
Verdict judge(const FuzzCase& one, const JudgeOptions& options);

/// The same in a process of its own: crashes and endless loops are verdicts.
Verdict judge_isolated(const FuzzCase& one, const JudgeOptions& options);

/// What became of a judgement in a process of its own.
Verdict verdict_from(const Isolated& end);

/// Verdicts travel between processes as text.
std::string to_text(const Verdict& verdict);
Verdict verdict_from_text(const std::string& text);

}  // namespace twill

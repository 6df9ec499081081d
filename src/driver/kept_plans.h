// Plans that were chosen as the best ones, on disk: the next process need not choose again.
//
// What lies there need not be trusted: a plan that cannot be read, or is illegal, is chosen anew, and all
// legal plans compute the same.
#pragma once

#include "driver/compile.h"

#include <filesystem>
#include <optional>
#include <string>

namespace twill {

class KeptPlans {
 public:
  /// Where the plan of a compilation is, whose program is simplified: plans are those of one program,
  /// machine, way to choose, and build of Twill.
  explicit KeptPlans(const Compilation& compilation);

  std::optional<Plan> find() const;
  /// Not being able to write is no error: then the plan is chosen again the next time.
  void add(const Plan& plan) const;

 private:
  std::filesystem::path file_;
};

}  // namespace twill

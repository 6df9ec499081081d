// Why a decision was or was not taken: one record that explain, the report and errors all read.
#pragma once

#include "base/place.h"

#include <string>
#include <vector>

namespace twill {

/// `code` is stable and machine-readable ("not-parallel", "illegal-order"); `text` is for people.
struct Reason {
  std::string code;
  std::vector<std::string> stages;  // the stages it is about, by name
  std::string text;
  Place place;  // of the blocking construct, where there is one
};

}  // namespace twill

#include "import/inside.h"

#include <utility>

namespace twill::staged {

namespace {

thread_local const Inside* innermost = nullptr;

}  // namespace

Inside::Inside(std::string what) : what_(std::move(what)), outer_(innermost) { innermost = this; }
Inside::~Inside() { innermost = outer_; }

const Inside* Inside::now() { return innermost; }

}  // namespace twill::staged

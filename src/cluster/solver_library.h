// The library of a solver, opened when it is needed.
#pragma once

#include "base/error.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

namespace twill {

/// It stays open: unloading a library while its threads end is not safe.
class SolverLibrary {
 public:
  SolverLibrary(std::string solver, const std::string& file, const std::string& remedy)
      : solver_(std::move(solver)), handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_)
      fail(Fault::System, "E0903", {}, fmt::format("the solver {} cannot be opened: {}", solver_, dlerror()),
           remedy);
  }

  template <class Function>
  Function* find(const char* name) const {
    void* found = dlsym(handle_, name);
    if (!found)
      fail(Fault::System, "E0903", {}, fmt::format("the solver {} has no function {}", solver_, name));
    return reinterpret_cast<Function*>(found);
  }

 private:
  std::string solver_;
  void* handle_;
};

}  // namespace twill

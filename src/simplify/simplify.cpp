#include "simplify/simplify.h"

#include "simplify/passes.h"

#include <array>

namespace twill {

namespace {

struct Pass {
  std::string_view name;
  bool (*run)(Region&, Notes&);
};

constexpr std::array passes = {
    Pass{"dead", remove_dead},
    Pass{"vertical", fuse_vertically},
};

}  // namespace

Simplified simplify(std::shared_ptr<const Program> program) {
  Simplified result;
  auto current = std::make_shared<Program>(*program);
  bool changed = true, any = false;
  while (changed) {
    changed = false;
    result.not_done.clear();
    for (const Pass& pass : passes) {
      Notes notes;
      changed = in_all_regions(*current, [&](Region& region) { return pass.run(region, notes); }) || changed;
      result.done.insert(result.done.end(), notes.done.begin(), notes.done.end());
      result.not_done.insert(result.not_done.end(), notes.not_done.begin(), notes.not_done.end());
    }
    any = any || changed;
  }
  result.program = any ? std::shared_ptr<const Program>(std::move(current)) : std::move(program);
  return result;
}

}  // namespace twill

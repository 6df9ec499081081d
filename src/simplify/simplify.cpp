#include "simplify/simplify.h"

#include "simplify/passes.h"

#include <array>

namespace twill {

namespace {

struct Pass {
  std::string_view name;
  bool (*run)(Program&, Notes&);
};

template <bool (*pass)(Region&, Notes&)>
bool everywhere(Program& program, Notes& notes) {
  return in_all_regions(program, [&](Region& region) { return pass(region, notes); });
}

/// Hoisting comes before fusion, which would put invariant work into the loop that it could leave.
constexpr std::array passes = {
    Pass{"dead", everywhere<remove_dead>},
    Pass{"constants", fold_constants},
    Pass{"expressions", simplify_expressions},
    Pass{"ranges", settle_ranges},
    Pass{"singles", drop_single_places},
    Pass{"windows", separate_windows},
    Pass{"short folds", write_out_short_folds},
    Pass{"lengths", know_lengths},
    Pass{"chosen sizes", settle_chosen_sizes},
    Pass{"row lengths", everywhere<count_rows>},
    Pass{"rows", everywhere<find_rows>},
    Pass{"elements", everywhere<compute_elements>},
    Pass{"hoist", hoist_invariant},
    Pass{"sift", everywhere<sift_invariant>},
    Pass{"blocks", everywhere<open_blocks>},
    Pass{"common", share_stages},
    Pass{"buckets", everywhere<fold_buckets>},
    Pass{"tables", everywhere<share_tables>},
    Pass{"zips", everywhere<unite_lengths>},
    Pass{"copies", everywhere<remove_copies>},
    Pass{"branches", everywhere<join_branches>},
    Pass{"remember", everywhere<remember_values>},
    Pass{"asked", everywhere<sink_as_asked>},
    Pass{"vertical", everywhere<fuse_vertically>},
    Pass{"concats", everywhere<join_collections>},
    Pass{"positions", everywhere<count_positions>},
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
      changed = pass.run(*current, notes) || changed;
      result.done.insert(result.done.end(), notes.done.begin(), notes.done.end());
      result.not_done.insert(result.not_done.end(), notes.not_done.begin(), notes.not_done.end());
    }
    any = any || changed;
  }
  result.program = any ? std::shared_ptr<const Program>(std::move(current)) : std::move(program);
  return result;
}

}  // namespace twill

// Compares the subscripts of a stage's reads for elements that neighbouring points share.
#include "plan/reuse.h"

#include "program/index_use.h"

#include <map>

namespace twill {

bool reads_neighbours(const Stage& stage, int dim, const std::function<bool(DimId)>& unrolled) {
  const DimId index = stage.dims[static_cast<std::size_t>(dim)].id;
  // By array and subscript: the first one seen that moves with the index.
  std::map<std::pair<ArrayId, std::size_t>, Expr> seen;
  bool found = false;
  for_each_expr(stage, [&](Expr root) {
    visit(root, [&](Expr node) {
      const Read* read = as<Read>(node);
      if (!read) return;
      for (std::size_t s = 0; s + 1 < read->rules.size(); ++s) {
        const Expr subscript = node->args[s];
        if (factor_of(subscript, index).value_or(0) == 0) continue;
        const auto [first, is_new] = seen.emplace(std::pair{read->array, s}, subscript);
        found = found || (!is_new && first->second != subscript);
        for (const Dim& other : stage.dims)
          found = found || (other.id != index && unrolled(other.id) && mentions(subscript, other.id));
      }
    });
  });
  return found;
}

}  // namespace twill

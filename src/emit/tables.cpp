// Loops over all elements of an array, shared by everything that initialises or copies one.
#include "emit/tables.h"

#include <algorithm>

namespace twill::nest {

Code over_elements(Tables& tables, const std::string& name, std::span<const Expr> shape,
                   const std::function<Code(std::vector<Expr>)>& body, By outermost) {
  std::vector<DimId> dims;
  std::vector<Expr> indices;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    dims.push_back(tables.new_index(name + std::to_string(d)));
    indices.push_back(tables.index(dims.back()));
  }
  Code code = body(indices);
  for (std::size_t d = shape.size(); d-- > 0;) {
    For loop{.index = dims[d], .lo = tables.number(0), .hi = shape[d]};
    if (d == 0) loop.by = outermost;
    loop.body = std::move(code);
    code = {};
    code.push_back({std::move(loop)});
  }
  return code;
}

}  // namespace twill::nest

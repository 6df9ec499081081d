// Loops over lanes as C with vector types. A local array that only such loops touch becomes a few variables
// of vector type: that is how a tile of accumulators stays in registers, which compilers do not promise for
// arrays.
#pragma once

#include "emit/c_expr.h"

namespace twill {

/// A local array as variables of vector type.
struct CVectors {
  std::int64_t lanes = 0;          // of one variable
  std::vector<std::string> names;  // as many as the array has elements, divided by the lanes
};

class CLanes {
 public:
  explicit CLanes(CContext& context) : c_(context), program_(*context.nest.program) {}

  /// Decides which of the local arrays that these statements declare become vectors.
  void find(const nest::Code& list);

  /// The variables of a local array, or null.
  const CVectors* vectors(ArrayId array) const;
  /// The type of its variables.
  std::string type(ArrayId array);

  /// Does the loop run over vectors?
  bool covers(const nest::For& s) const;
  /// Its statements, one for each vector. `print` writes what all lanes share.
  std::vector<std::string> statements(const nest::For& s, CExpressions& print);

 private:
  class VectorText;

  bool is_vector(ArrayId array, const std::map<ArrayId, std::int64_t>& candidates) const;
  bool has_form(const nest::For& s, const std::map<ArrayId, std::int64_t>& candidates) const;
  bool has_form(Expr root, DimId lane, const std::map<ArrayId, std::int64_t>& candidates) const;
  bool has_form(const Read& read, Expr e, DimId lane,
                const std::map<ArrayId, std::int64_t>& candidates) const;
  bool is_neighbourly(std::span<const Expr> at, DimId lane) const;
  std::int64_t widest(const nest::For& s) const;
  std::string type(Scalar scalar, std::int64_t lanes);

  CContext& c_;
  const Program& program_;
  std::map<ArrayId, CVectors> vectors_;
};

}  // namespace twill

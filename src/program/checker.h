// Inside of the checker; check.h is what others use.
//
// One pass over the program in its order. What is checked of a stage: that its parts exist and have the
// right types (check_expr), that its dimensions and blocks make sense (check_stage) and its outputs with
// their combines and companions (check_output), and, if all that is in order, that reads and writes stay
// inside (check_inside) and that every element is written once and read after it was written (check_writes).
#pragma once

#include "program/check.h"
#include "program/choice.h"
#include "program/describe.h"
#include "program/prover.h"

#include <fmt/format.h>

#include <map>

namespace twill {

struct Scope;

/// A stage whose points are being looked at, and what is visible around it.
struct Running {
  const Stage* stage;
  const Scope* outer;
};

/// What a stage sees of what is around it.
struct Scope {
  std::vector<bool> arrays;      // by ArrayId: defined, and visible
  std::vector<bool> symbols;     // by SymbolId: has a value
  std::vector<Dim> dims;         // of enclosing stages and of this one, outermost first
  poly::Condition facts;         // ranges of these dimensions, conditions of enclosing branches
  std::vector<Running> running;  // stages whose earlier results may be read: enclosing ones, and this one

  bool sees(ArrayId id) const { return in(arrays, id.value) && arrays[static_cast<std::size_t>(id.value)]; }
  bool sees(SymbolId id) const {
    return in(symbols, id.value) && symbols[static_cast<std::size_t>(id.value)];
  }
  bool sees(DimId id) const;
  void add(ArrayId id) { arrays[static_cast<std::size_t>(id.value)] = true; }
  void add(SymbolId id) { symbols[static_cast<std::size_t>(id.value)] = true; }

 private:
  static bool in(const std::vector<bool>& table, int id) {
    return id >= 0 && static_cast<std::size_t>(id) < table.size();
  }
};

class Checker {
 public:
  Checker(const Program& program, const CheckOptions& options)
      : program_(program), options_(options), prover_(program) {}

  void run();
  /// Looks at the reads of one stage alone.
  void check_reads_of(const Stage& stage);

  std::vector<Diagnostic> diagnostics;
  RunTimeChecks run_time;

 private:
  // ---- check.cpp: the program's tables
  void check_tables();
  void check_function(std::size_t number);
  void check_inputs(Scope& scope);
  void check_constants(Scope& scope);
  void check_results(const Scope& scope);
  void check_unused_inputs();
  std::optional<SymbolId> symbol_bound_by(Expr extent) const;
  void find_definitions(std::span<const Stage> stages);
  bool check_blocks_present(std::span<const Stage> stages);
  void define(ArrayId array, const std::string& by, const Place& place);
  bool check_shape(const Array& array, const Scope& scope);

  // ---- check_names.cpp
  void check_names();
  void check_name(const std::string& what, const std::string& name, const Place& place);
  void check_type_names(const Type& type, const Place& place, std::map<std::string, Type>& known);
  void check_index_names(std::span<const Stage> stages, const std::set<std::string>& sizes,
                         const std::map<std::string, DimId>& around);
  void check_hidden(const Stage& stage, std::set<DimId> hidden);

  // ---- check_expr.cpp
  /// Where an expression stands: what it is called in messages, and what it may use.
  struct Site {
    const Scope* scope = nullptr;  // null: the body of a function
    const Function* function = nullptr;
    std::size_t functions = 0;  // how many of the functions it may call
    Place place;                // where the expression says nothing
  };
  bool check_expr(Expr root, const Site& site);
  bool check_node(Expr node, const Site& site);
  bool check_read(const Read& read, Expr node, const Site& site);
  void report_invisible(ArrayId array, const Place& place);
  /// Does a stage read, directly or through others, what the other one defines?
  bool needs(const Stage& stage, const Stage& other) const;
  bool check_invoke(const Invoke& invoke, Expr node, const Site& site);
  /// Also demands a type; `what` names the part: "the guard of 'y'".
  bool check_typed(Expr root, const Type& type, const std::string& what, const Site& site);

  // ---- check_stage.cpp
  void check_stages(std::span<const Stage> stages, Scope& scope);
  void check_stage(const Stage& stage, Scope& outer);
  bool check_dims(const Stage& stage, Scope& scope);
  bool check_blocks(const Stage& stage, Scope& scope, const Scope& outer);
  bool check_block(const Stage& stage, const Block& block, Scope& scope, const Scope& outer);
  void check_effects(const Stage& stage, const Scope& scope);
  void define_outputs(const Stage& stage, Scope& outer);

  // ---- check_output.cpp
  bool check_output(const Stage& stage, std::size_t position, const Scope& scope, const Scope& outer);
  bool check_running(const Stage& stage, const Output& output);
  bool check_combine(const Stage& stage, const Output& output);
  bool check_operator(const Operator& op, const Output& output, const Type& value);
  bool check_dense(const Stage& stage, std::size_t position, const Scope& scope, const Scope& outer);
  bool check_collection(const Stage& stage, const Output& output, const Scope& outer);
  bool check_companion(const Output& output, std::optional<ArrayId> array, bool wanted, const char* what);
  bool check_born(const Stage& stage, const Output& output, ArrayId array, const char* what,
                  const Scope& outer);
  bool check_result_shape(const Output& output, ArrayId result, std::size_t leading,
                          const std::vector<ChosenSize>& chosen);

  // ---- check_inside.cpp
  void check_inside(const Stage& stage, const Scope& scope, const Scope& outer);
  void check_reads(Expr root, const poly::Condition& facts, const Scope& scope, const Place& place);
  bool is_plainly_in_order(Expr read, const poly::Condition& facts, const Scope& scope);
  void check_read_at(Expr read, const poly::Condition& facts, const Scope& scope, const Place& place);
  void check_write_inside(const Output& output, const Scope& scope);
  /// A subscript that has to be inside, and all that a message says about it.
  struct Access {
    const char* what;  // "read" or "write"
    ArrayId array;
    std::size_t position;  // of the subscript
    std::span<const Expr> subscripts;
    Place place;
  };
  bool is_plainly_inside(const Access& access, const poly::Condition& facts);
  /// False if only the run time can tell; otherwise reports what is not proven.
  bool decide_inside(const Access& access, const poly::Condition& facts, const Scope& scope);
  void report_outside(const Access& access, bool below, const poly::Condition& facts, const Scope& scope);
  /// The access as it is written, its subscript under a boundary rule if there is one.
  std::string text_of(const Access& access, const std::string& rule = {}) const;
  std::string call_with_clamp(const Access& access) const { return text_of(access, "clamp"); }
  std::string why_outside(const Access& access, bool below, const poly::Condition& facts, const Scope& scope);
  std::string condition_inside(const Access& access, bool below, const poly::Condition& facts,
                               const Scope& scope);
  bool may_leave_out_points(const poly::Affine& subscript) const;
  std::string help_outside(const Access& access, bool below, const poly::Condition& facts,
                           const Scope& scope);
  std::string help_for_sizes(const Access& access, const Scope& scope) const;
  bool depends_on_data(const poly::Affine& affine, const Scope& scope);

  // ---- check_writes.cpp
  void check_writes(const Stage& stage, const Scope& outer);
  void check_written_once(const Stage& stage, const Output& output, const Scope& outer);
  void check_complete(const Stage& stage, const Output& output, const Scope& outer);
  /// An output that is read while its stage, this one or an enclosing one, runs.
  struct Own {
    const Output* output = nullptr;
    Running by = {};
  };
  /// The output of a running stage with a Seq dimension that is this array, if it is one.
  static std::optional<Own> own_output(ArrayId array, const Scope& scope);
  /// What would have to hold for an own read to be of a point that is not earlier; nothing if it is known
  /// to be earlier without looking further.
  std::optional<poly::Condition> own_read_violation(const Own& own, Expr read, const poly::Condition& facts);
  void check_own_read(const Own& own, Expr read, const poly::Condition& facts, const Scope& scope,
                      const Place& place);
  /// The points that write: dimensions that say where, and those that these depend on.
  poly::Condition written_domain(const Stage& stage, const Output& output);
  /// Is the term another one at another point of the stage?
  bool varies(poly::Var term, const Stage& stage, const Scope& outer) const;
  /// A condition about a point of the stage, said of another point.
  poly::Condition at_other_point(const poly::Condition& condition, const Stage& stage,
                                 const Scope& outer) const;

  // ---- reporting
  void report(const char* code, const Place& place, std::string message, std::string help = {},
              Fault fault = Fault::User);
  /// "i = 0, j = 3"
  std::string values(const poly::Point& point, std::span<const poly::Var> variables) const;
  std::string quoted(ArrayId array) const { return "'" + name_of(program_, array) + "'"; }
  /// The first place that is one.
  static Place first_place(std::initializer_list<Place> places);
  bool has(ArrayId id) const {
    return id.value >= 0 && static_cast<std::size_t>(id.value) < program_.arrays.size();
  }
  bool has(SymbolId id) const {
    return id.value >= 0 && static_cast<std::size_t>(id.value) < program_.symbols.size();
  }
  bool has(FunctionId id) const {
    return id.value >= 0 && static_cast<std::size_t>(id.value) < program_.functions.size();
  }

  const Program& program_;
  const CheckOptions options_;
  Prover prover_;
  const Stage* stage_ = nullptr;                            // the one being checked: messages name it
  std::map<ArrayId, std::string> defined_by_;               // the stage that defines an array, anywhere
  std::map<ArrayId, const Stage*> stage_of_;                // by outputs of stages
  std::map<DimId, std::string> dims_of_;                    // stages by their dimensions
  std::set<SymbolId> born_;                                 // lengths that a stage defines
  std::set<std::pair<const Node*, std::size_t>> reported_;  // reads, by subscript
};

inline bool is_dense(const Output& output) {
  for (const Combine& combine : output.combine)
    if (is<Append>(combine) || is<Group>(combine)) return false;
  return true;
}

/// Does the dimension's index take part in the write map?
inline bool is_written(const Combine& combine) {
  if (const auto* seq = std::get_if<Seq>(&combine)) return !seq->last;
  return is<Cat>(combine) || is<Scan>(combine) || is<Scatter>(combine);
}

template <class C>
bool any_is(const Output& output) {
  for (const Combine& combine : output.combine)
    if (is<C>(combine)) return true;
  return false;
}

}  // namespace twill

// Inside of the program generator; generate.h is what others use.
//
// A program is built stage by stage. Everything is well-formed by construction: an index is used as a
// subscript where its range is known to fit (Extent says when), every other subscript has a boundary rule or
// a guard. Without `strict`, facts about all arrays (error_bounds.h) are kept up to date, so that conditions,
// indices and integers depend on exact numbers only and floats stay of a moderate size.
#pragma once

#include "fuzz/generate.h"
#include "program/error_bounds.h"

#include <optional>
#include <set>

namespace twill {

/// A size of the form mul * base + add; without base, a number.
struct Extent {
  Expr base;
  std::int64_t mul = 0;
  std::int64_t add = 0;
  Expr expr;
};

/// An index that expressions may use: 0 <= index < cap.
struct VisibleIndex {
  DimId dim;
  Extent cap;
};

/// An output of the stage that is being built, which later points may read.
struct OwnPast {
  ArrayId array;
  std::vector<DimId> at;         // the write map
  DimId sequential;              // the dimension whose earlier points are there
  std::optional<DimId> earlier;  // an index that is always before it
  bool aligned = false;          // the other dimensions are read at the point's own index only
};

/// What an expression may use besides the arrays that are visible.
struct Surroundings {
  std::vector<VisibleIndex> indices;
  std::vector<OwnPast> past;
  std::vector<Parameter> parameters;  // in the body of a function, which sees nothing else
  bool in_function = false;
};

class Generator {
 public:
  Generator(Rng& rng, const Budget& budget);

  Program run();

 private:
  /// What the generator knows about an array beside its type.
  struct Held {
    std::vector<Extent> shape;
    std::optional<Extent> rows_of;  // offsets: rows are ranges of an array of this extent
  };

  /// A dimension of the stage that is being built.
  struct NewDim {
    Dim dim;
    Extent cap;            // 0 <= index < cap
    Extent extent;         // of what is written along it
    bool rectangular;      // its bounds are the same everywhere: an array can be written along it completely
    std::int64_t low = 0;  // the first index, if it is rectangular
    Direction direction = Direction::Left;  // of scans along it
  };

  // ---- generate.cpp: types, sizes, tables
  void choose_types();
  void choose_sizes();
  void choose_inputs();
  void choose_functions();
  void choose_results();
  Extent extent(Expr base, std::int64_t mul, std::int64_t add);
  Extent shorter(const Extent& e, std::int64_t by) { return extent(e.base, e.mul, e.add - by); }
  Extent any_extent();
  Type any_type();
  Type number_type();
  Scalar integer_type();
  Type key_type();
  ArrayId array(const std::string& name, const Type& type, std::vector<Extent> shape);
  ArrayId born(const std::string& name, const Type& type, const std::string& length);
  std::string fresh(const char* prefix);
  /// Of an array: now and then a word that means something where it stands elsewhere.
  std::string array_name(const char* prefix);
  /// Of a dimension: often that of another one which cannot be meant inside.
  std::string index_name(const char* prefix, const Surroundings& around);

  // ---- generate_operator.cpp
  /// Nothing if there is none with an identity.
  std::optional<Operator> any_operator(const Type& type, bool with_identity);
  /// With an identity if one was wished for and exists.
  Operator some_operator(const Type& type, bool with_identity);
  Operator user_operator(const Type& type);
  Operator declared(const char* name, const Type& type, Expr body, Expr identity, bool commutative);
  Expr field_by_field(const Type& type, Expr a, Expr b);
  Expr field_by_field_identity(const Type& type);

  // ---- generate_expr.cpp
  /// A value whose facts are good enough to be kept.
  Expr value(const Type& type, const Surroundings& around);
  /// A condition; an integer; both depend on exact numbers only.
  Expr condition(const Surroundings& around, int fuel);
  Expr index_value(const Surroundings& around, int fuel);
  Expr expr(const Type& type, const Surroundings& around, int fuel);
  Expr bool_expr(const Surroundings& around, int fuel);
  Expr integer_expr(Scalar type, const Surroundings& around, int fuel);
  Expr float_expr(Scalar type, const Surroundings& around, int fuel);
  Expr record_expr(const Type& type, const Surroundings& around, int fuel);
  /// An operation on values of one type, which happens in i32 where they are narrower.
  Expr apply(Prim prim, std::vector<Expr> operands);
  Expr leaf(const Type& type, const Surroundings& around, int fuel);
  Expr literal(const Type& type);
  Number number(Scalar type);
  Expr call(const Type& type, const Surroundings& around, int fuel);
  Expr choice(const Type& type, const Surroundings& around, int fuel);
  Expr exact_float(Scalar type, const Surroundings& around, int fuel);
  Expr read(ArrayId array, const Surroundings& around, int fuel);
  Expr look_up(ArrayId table, const Surroundings& around, int fuel);
  Expr read_past(const OwnPast& past, const Surroundings& around);
  /// A subscript that is known to be inside; null if there is none.
  Expr fitting(const Extent& extent, const Surroundings& around);
  Expr wild_index(const Surroundings& around, int fuel);
  bool acceptable(const Facts& facts) const;
  bool is_exact(Expr e);

  // ---- generate_stage.cpp
  void stages(int count, Surroundings around, int depth, std::vector<Stage>& into);
  Stage plain_stage(Surroundings around);
  std::optional<Stage> companion(const std::vector<Stage>& stages, const Surroundings& outside);
  std::vector<NewDim> new_dims(int count, Surroundings& around);
  Expr counted_by_data(const VisibleIndex& index);
  NewDim new_dim(const std::string& name, const Surroundings& around);
  NewDim rectangular_dim(const std::string& name, const Extent& e, std::int64_t low);
  void use(const NewDim& dim, Surroundings& around);
  Output dense_output(const std::vector<NewDim>& dims, const Surroundings& around);
  void move_by_data(std::vector<Expr>& at);
  std::optional<Output> new_version(const std::vector<NewDim>& dims, const Surroundings& around);
  Output scatter_output(const std::vector<NewDim>& dims, const Surroundings& around);
  std::optional<Output> append_output(const std::vector<NewDim>& dims, const Surroundings& around);
  Output group_output(const std::vector<NewDim>& dims, const Surroundings& around);
  Output running_output(std::vector<NewDim>& dims, const Surroundings& around);
  Output any_output(const std::vector<NewDim>& dims, const Surroundings& around);
  std::vector<Combine> dense_combines(const std::vector<NewDim>& dims, const Type& type, bool complete);
  std::optional<std::vector<Expr>> places_in(ArrayId id, const std::vector<NewDim>& dims,
                                             const std::vector<Combine>& combines);
  void write_everywhere(Output& output, const std::vector<NewDim>& dims, const Type& type);
  Effect effect(const Surroundings& around);
  Expr bounded(Expr value);
  bool may_carry(const Type& type) const;
  void expect(ArrayId array, const Facts& start);
  void finish(Stage stage, std::vector<Stage>& into);

  // ---- generate_buckets.cpp
  std::optional<Output> group_beside(const std::vector<Output>& outputs, const Surroundings& around);
  std::optional<Stage> bucket_stage(const std::vector<Stage>& stages, Surroundings around);

  // ---- generate_twin.cpp
  /// A stage that computes what another one does, if there is one that can be copied.
  std::optional<Stage> twin(const std::vector<Stage>& stages);

  // ---- generate_pipeline.cpp
  /// Several stages that read each other's elements, and folds of them, at the same place.
  void pipeline(const Surroundings& around, std::vector<Stage>& into);
  void histograms(const Surroundings& around, std::vector<Stage>& into);
  void concats(const Surroundings& around, std::vector<Stage>& into);

  // ---- generate_collections.cpp
  struct Collection {
    ArrayId values;
    std::optional<ArrayId> offsets;  // with rows
    Extent rows;                     // so many
  };
  Collection collection(const Type& type, const Surroundings& around, std::vector<Stage>& into);
  Stage through(const Collection& collection, Surroundings& inside, Expr& element);
  /// A collection, perhaps of rows, and stages that go through it.
  void collections(const Surroundings& around, std::vector<Stage>& into);

  // ---- generate_gather.cpp
  /// Stages that are read at places that data decide.
  void gathers(const Surroundings& around, std::vector<Stage>& into);
  ArrayId gathered_from(const Type& type, const std::vector<Extent>& shape, const Surroundings& around,
                        std::vector<Stage>& into);

  // ---- generate_stencil.cpp
  /// Several stages that read neighbours of each other's elements.
  void stencils(const Surroundings& around, std::vector<Stage>& into);

  // ---- generate_choice.cpp
  /// Products of rows, the best of each row, and sums by what was chosen.
  void choices(const Surroundings& around, std::vector<Stage>& into);
  void flat_rows(const Surroundings& around, std::vector<Stage>& into);

  // ---- generate_sequence.cpp
  Stage sequential_stage(Surroundings around, int depth);
  void fold_past(const NewDim& sequential, const Surroundings& around, std::vector<Stage>& into);

  // ---- generate_block.cpp
  Stage block_stage(Surroundings around, int depth, Expr condition = {});
  Stage loop_stage(const Surroundings& around, int depth, std::vector<Stage>& before);
  ArrayId folded_truth(const Surroundings& around, std::vector<Stage>& into);
  Block block(const Surroundings& around, int depth, int count);
  /// An array with the shape and type, computed by a new stage that is added.
  ArrayId computed(Type type, const std::vector<Extent>& shape, const Surroundings& around,
                   std::vector<Stage>& into, bool is_state = false);
  /// A collection of values of the type, filled by a new stage that is added.
  ArrayId collected(const Type& type, const Surroundings& around, std::vector<Stage>& into);
  /// A choice whose sides disagree about how long its results are.
  void choose_lengths(Stage& stage, Branch& branch, const Surroundings& around, int depth);
  bool is_fixed(ArrayId id, int first_inner_symbol) const;
  std::vector<ArrayId> defined_in(const std::vector<Stage>& stages) const;

  Rng& rng_;
  Budget budget_;
  Program program_;
  ExprPool& pool_;
  ErrorBounds bounds_;
  int names_ = 0;
  std::set<std::string> taken_;  // names

  std::vector<Scalar> scalars_;  // element types in use
  std::vector<Type> records_;
  std::vector<Extent> extents_;  // in use
  std::map<ArrayId, Held> held_;
  std::vector<ArrayId> tables_;  // inputs of known sizes, to look things up in
  std::vector<ArrayId> visible_;
  std::set<ArrayId> hidden_;                // buckets that are only gone through, and running values
  std::set<ArrayId> passing_;               // rarely results, so that they need no memory of their own
  std::vector<FunctionId> functions_;       // to be called anywhere
  std::map<Scalar, FunctionId> quotients_;  // a / b, to be called under a guard
};

}  // namespace twill

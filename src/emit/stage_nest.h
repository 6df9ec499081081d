// Lowers one stage of a pass: its loops, what stands before and after each of them, and its body.
#pragma once

#include "emit/interior.h"
#include "emit/tables.h"
#include "fuse/first_pass.h"
#include "poly/affine.h"

namespace twill::nest {

/// What the surroundings of a stage provide.
struct Surroundings {
  /// The code of a nested block (0, or 1 for the other branch) of the stage.
  std::function<Code(int branch)> block;
  /// Frees the results of that block once they were used.
  std::function<Code(int branch)> release;
  /// Does the array need memory from the host here (and not live in a parameter or another array)?
  std::function<bool(ArrayId)> needs_memory;
  /// Is the array a result of born size, which outlives the kernel?
  std::function<bool(ArrayId)> outlives;
  /// Does it get its memory inside of the blocks of the stage, and is declared before them?
  std::function<bool(ArrayId)> is_awaited = [](ArrayId) { return false; };
};

class StageNest {
 public:
  StageNest(Tables& tables, const StageSchedule& schedule, std::vector<ChainLevel> levels, std::int64_t grain,
            Surroundings surroundings);

  /// The whole stage, from allocating its outputs to the check for run-time errors.
  Code lower();

  struct Range {
    Expr lo, hi;
  };

  // The parts of it, for a stage that shares its outermost loops with others (shared_nest.h).

  /// So many loops are shared; `part` and `parts`, if one of them runs over parts.
  void share(std::size_t levels, std::optional<DimId> part, Expr parts);
  /// What the first of two passes does for an output by itself.
  InFirstPass in_first_pass(std::size_t output) const;
  /// The first pass computes these outputs as well, because others read them there.
  void need_early(const std::set<ArrayId>& arrays) { early_ = arrays; }
  bool needs_two_passes() const;
  void begin(bool first_pass) { first_pass_ = first_pass; }
  /// The parts that a first pass visits: if nothing is counted, nobody waits for what the last one folds.
  Range parts_to_learn() const;
  Code before() { return prologue(); }
  Code between();
  Code after() { return epilogue(); }
  Code open_all(int level);
  Code close_all(int level);
  Code enter_part(int dim, Range range);
  const Range& range(int dim) const { return ranges_[static_cast<std::size_t>(dim)]; }
  void set_range(int dim, Range range) { ranges_[static_cast<std::size_t>(dim)] = range; }
  /// What happens in an iteration of the shared loops.
  Code inside();
  /// The points of the dimensions whose extents are known before the stage runs; nothing is known of these
  /// arrays then.
  Expr total_points(std::span<const ArrayId> unknown = {});

 private:
  /// Fold dimensions with one operator that follow each other; the groups of an output nest.
  struct FoldGroup {
    Operator op;
    int first_level;  // its outermost loop
    bool in_memory;   // loops over Cat dimensions are inside: the target itself accumulates
    ArrayId accumulator;
    ArrayId seen;  // without identity: was there a value yet
  };

  enum class Shape { Dense, Append, Group };

  /// The keys that a group has seen so far, and the values of their buckets: folded, or one after the other
  /// with the numbers of their buckets beside them.
  struct Buckets {
    ArrayId table, keys, count, values, values_count, numbers, numbers_count;
  };

  /// The places of what a part leaves behind, on its board of the shelf.
  enum Board : std::int64_t { keys_at = 0, table_at = 2, values_at = 4, numbers_at = 6, board = 8 };

  struct Role {
    const Output* output = nullptr;
    OutputSchedule schedule;
    int position = 0;  // among the stage's outputs
    Shape shape = Shape::Dense;
    std::vector<FoldGroup> folds;  // outer ones first
    /// The loop whose iterations hold the accumulators in local variables, or -1; the variables by the
    /// numbers of the copies of unrolled dimensions that they belong to.
    int tile_loop = -1;
    std::map<std::vector<std::int64_t>, ArrayId> held;
    ArrayId touched;            // a fold into an array: does the element have a point, and is it replaced?
    std::vector<bool> checked;  // by subscript of the output, or empty: it may lead outside of the target
    bool read_back = false;     // later points read what earlier ones wrote
    bool runs = false;          // a running value: it is in `running`, and nowhere else
    // scan
    int scan_dim = -1;
    int scan_level = -1;
    bool scan_in_memory = false;
    int counts_for = -1;  // append: the later role with the same length, which counts for both
    bool grows = false;   // append: into buffers that grow, one for each part
    bool sliced = false;  // append: into memory for all points, of which each part has a slice
    ArrayId slices;       // that memory, if there are several parts
    // running state of a scan (the accumulator) or an append (the next position)
    ArrayId running, running_seen;
    int running_level = -1;
    ArrayId starts;  // of each part, learnt by the first pass
    // where values go
    ArrayId target;
    std::vector<Expr> prefix;  // subscripts before those of the write map (the part)
    ArrayId partial;           // private results of the parts
    // streaming: the strip of the row that each copy of unrolled dimensions writes
    std::map<std::vector<std::int64_t>, ArrayId> views;
    Expr view_origin;
    // group
    int table_of = -1;  // the earlier role whose table of keys it uses, or -1: it has one
    Buckets buckets;    // an append that grows has values only
    ArrayId number;     // of the bucket that the point belongs to
    ArrayId shelf;      // where parts put their buckets
  };

  /// What is known about the points of a dimension inside of its innermost loop in steps.
  struct Piece {
    enum class Kind {
      Whole,   // `count` points from `base` on
      Narrow,  // fewer than `count` of them: `points`
      Single   // one: the dimension's own index
    };
    Kind kind = Kind::Whole;
    Expr base, points;
    std::int64_t count = 0;
    DimId lane{};  // the loop over the points, from 0 on, while it is open
  };

  /// A row that the innermost loop reads along: element `factor` * index + `first` of it.
  struct RowRead {
    ArrayId array;
    std::vector<Expr> at;             // the subscripts that say which row
    std::vector<poly::Affine> place;  // the same
    Expr first;
    std::int64_t factor;
    std::size_t moves;  // the subscript that moves with the dimension that is read ahead
  };

  // stage_nest.cpp: the skeleton
  void find_roles();
  void find_folds(Role& role);
  Code loops(bool first_pass);
  Code within(int first_dim, int level);
  Code from(int level);
  Code loop(int level);
  Code parts_loop(int level);
  Code unrolled(int level);
  Code point_loop(int level, Expr lo, Expr hi);
  Code point_loop(int level, DimId index, Expr lo, Expr hi);
  Code segmented(int level, Expr lo, Expr hi);
  Code row(int level, Expr lo, Expr hi);
  Code around_box(int level, Expr lo, Expr hi);
  Interior interior_of(int level, Expr lo, Expr hi);
  Code settle_rules(int level, DimId index);
  bool adds_up(int level) const;
  void at_all_unrolled(int level, const std::function<void()>& action);
  void at_all_rows(const Role& role, int level, const std::function<void()>& action);
  bool active(const Role& role) const;
  bool active_first(const Role& role) const;
  /// Does this pass learn what the output's parts need of each other, without the values themselves?
  bool only_learns(const Role& role) const;

  // stage_strips.cpp: the innermost loop in strips
  Code in_strips(int level, Expr lo, Expr hi);
  Code full_strip(int level, Expr strip, std::int64_t capacity);
  Expr may_leave_box(int level, std::int64_t capacity);
  Code whole_strip(int level, Expr strip, Expr end, std::int64_t capacity);
  std::vector<RowRead> rows_read(int level, std::int64_t shift);
  Code fetches(int level, Expr strip, Expr end);

  // stage_phases.cpp: the innermost loop in steps
  std::int64_t phases_of(int level);
  void at_all_phases(int level, DimId step, std::int64_t phases, const std::function<void()>& action);
  Code phased(int level, Expr lo, Expr hi, std::int64_t phases);

  // stage_tile.cpp: dimensions in pieces, and accumulators in local variables
  int last_level(int dim) const;
  int piece_level(int dim) const;
  bool can_repeat(int dim) const;
  bool cuts_pieces(int level) const;
  bool has_copies(int level) const;
  bool splits_before(int level) const;
  Code split(int level);
  Code split_copies(std::vector<int> copies, std::vector<int> lanes, int level);
  Expr rows_belong_together(int dim);
  Code split_lanes(std::vector<int> lanes, int level);
  Code one_by_one(int level);
  Code lanes(int level);
  std::vector<Expr> copies_of(int dim);
  bool in_lanes(int level) const;
  Code over_tile(const Role& role, const std::function<Code()>& body);
  Code open_tile(Role& role);
  Code close_tile(Role& role);
  std::vector<std::int64_t> copy_in(const Role& role) const;
  std::vector<Expr> lane_in(const Role& role);

  // stage_body.cpp: what happens at a point
  Code block_code(int branch);
  Code leaf();
  Code keep_calls();
  Code outputs(const Block* block);
  Code effects();
  Code consume(Role& role, Expr value);
  Code complete(Role& role, Expr value);
  ArrayId view_of(const Role& role) const;
  Statement into_view(const Role& role, Expr value);
  Code scan_step(Role& role, Expr value);
  Code open(Role& role, int level);
  Code close(Role& role, int level);
  Code init_region(const Role& role, const FoldGroup& group);
  Expr has_points(const Role& role);
  Code fold_into(const FoldGroup& group, const Role& role, Expr value);
  std::vector<bool> checks_of(const Role& role) const;
  Expr old_value(const Role& role);
  std::vector<Expr> place(const Role& role);
  Statement store(const Role& role, std::vector<Expr> at, Expr value);
  Expr row_of(const Role& role);
  Expr at_copy(Expr e);
  Expr at_point(Expr e);
  Expr fold_constants(Expr e);
  Expr use_settled(Expr e);
  Expr use_running(Expr e);

  // stage_merge.cpp: before and after the loops
  Code prologue();
  Code epilogue();
  Code open_dense(Role& role);
  Code await(const Role& role);
  Code settle(const Block& side, bool then);
  bool is_made_there(const Role& role, const Block& block) const;
  Code open_append(Role& role);
  bool scatters(const Role& role) const;
  Code init_target(const Role& role);
  Code bring_over(Role& role);
  Statement bring_row(const Role& role, std::vector<Expr> row, Expr lo, Expr hi);
  Code bring_rows(int level, Expr lo, Expr hi);
  std::vector<Range> box_of(const Role& role);
  bool writes_box(const Role& role) const;
  bool can_loop_over_whole() const;
  Code join_counts(Role& role);
  Statement starts_from_counts(const Role& role, ArrayId total);
  Code set_length(const Role& role, Expr length);
  Code length_of_parts(const Role& role);
  Code open_starts(Role& role);
  std::int64_t points_of_iteration(const Output& output) const;
  Expr start_of_slice(const Role& role, Expr first);
  Code open_slices(Role& counter);
  Code join_slices(const Role& role);
  Code join_buffers(const Role& role);
  Code join_totals(Role& role);
  Code join_partials(Role& role);
  Code allocate(ArrayId array);
  Expr zero_of(const Type& type);

  // stage_group.cpp: tables of keys, one for each part, and what becomes of them
  bool begins_part(const Role& role, int level) const;
  std::vector<const Role*> users_of_table(const Role& role) const;
  Buckets new_buckets(const Role& role, const std::string& suffix);
  Code open_group(Role& role);
  Code open_buckets(const Role& role);
  Code open_shelf(Role& role);
  Expr on_board(Expr part, std::int64_t place);
  Statement find_bucket(const Role& role, Expr key);
  Code into_bucket(const Role& role, Expr value);
  Code shelve_buckets(const Role& role);
  Code join_groups(const Role& role);
  Code join_part(const Role& role, Expr part);
  Code for_each_value(const Role& role, bool last, const std::function<Code(Expr number, Expr value)>& body);
  Code finish_group(const Role& role);

  Tables& t_;
  const StageSchedule& schedule_;
  const Stage& stage_;
  std::int64_t grain_;
  Surroundings around_;
  std::vector<ChainLevel> levels_;
  std::size_t shared_levels_ = 0;
  std::set<ArrayId> early_;
  int point_level_ = -1;  // the innermost loop that is not unrolled
  std::vector<Role> roles_;
  std::vector<Range> ranges_;  // by dimension, as cut so far
  /// The stage writes a box of a new version, and its loops run over the whole array: outside of the box
  /// they bring over the old version.
  bool over_whole_ = false;
  std::map<DimId, Expr> fixed_;        // indices that stand for something else: unrolled, or in a piece
  std::map<int, Piece> pieces_;        // by dimension
  std::vector<int> cut_;               // dimensions whose innermost loop in steps was entered last
  std::map<int, Range> around_piece_;  // what that loop runs over
  bool whole_ = true;                  // all pieces that are split so far are whole
  std::map<int, std::int64_t> copy_;   // the copy of unrolled dimensions that is being written
  /// Subscripts with a boundary rule that do not move in the innermost loop: subscript, rule and extent, and
  /// the integer that stands for the element they mean.
  struct Settled {
    Expr subscript;
    Boundary rule;
    Expr extent;
    DimId index;
  };
  std::vector<Settled> settled_;
  Expr view_lane_;  // the place in the views of a whole strip
  bool first_pass_ = false;
  std::vector<std::pair<Expr, Expr>> kept_calls_;  // at this point, and what has their results
  bool interior_ = false;      // boundary rules on the innermost loop's index hold by themselves here
  DimId interior_index_{};     // that index
  std::optional<DimId> step_;  // the number of the innermost loop's step, while its points are written out
  std::optional<DimId> part_;  // the index over parts, if a dimension is cut into parts
  Expr parts_;                 // how many
};

}  // namespace twill::nest

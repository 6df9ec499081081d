// The passes of simplify; each says whether it changed anything.
#pragma once

#include "fuse/region.h"
#include "program/reason.h"

namespace twill {

/// What a pass says about its decisions.
struct Notes {
  std::vector<Reason> done, not_done;
};

/// Removes stages and outputs that nobody needs.
bool remove_dead(Region& region, Notes& notes);

/// Computes what only stages in blocks read inside of these, if the user says so.
bool sink_as_asked(Region& region, Notes& notes);

/// Makes producers part of their only consumer.
bool fuse_vertically(Region& region, Notes& notes);

/// Carries the values of stages that say so from step to step of the loop that reads them.
bool remember_values(Region& region, Notes& notes);

/// Makes one collection of several that are gone through one after the other.
bool join_collections(Region& region, Notes& notes);

/// Makes filters part of a consumer that uses the positions of their elements, with a scan that counts.
bool count_positions(Region& region, Notes& notes);

/// Makes choices with equal conditions one, and draws what reads them into both of their sides.
bool join_branches(Region& region, Notes& notes);

/// Replaces sizes of choices whose sides agree about them.
bool settle_chosen_sizes(Program& program, Notes& notes);

/// Makes collections that take a value at every point ordinary arrays, and counts those that nobody reads.
bool know_lengths(Program& program, Notes& notes);

/// Counts the elements of rows where only that number is asked for.
bool count_rows(Region& region, Notes& notes);

/// Makes arrays in which rows of equal length lie one after the other arrays of rows.
bool find_rows(Region& region, Notes& notes);

/// Computes single elements of rows where they are read, instead of the rows.
bool compute_elements(Region& region, Notes& notes);

/// Makes a stage with a block of a single stage one stage.
bool open_blocks(Region& region, Notes& notes);

/// Replaces what is computed at no point by what is left behind then, and removes loops of one step.
bool settle_ranges(Program& program, Notes& notes);

/// Makes arrays with one place along a dimension arrays without it.
bool drop_single_places(Program& program, Notes& notes);

/// Folds windows of several rows and columns over one of both first.
bool separate_windows(Program& program, Notes& notes);

/// Makes folds over a few known points formulas.
bool write_out_short_folds(Program& program, Notes& notes);

/// Replaces what is known when the program is compiled: elements of constant arrays, calls with literals.
bool fold_constants(Program& program, Notes& notes);

/// Writes expressions and conditions more simply, by the rules of rules.h.
bool simplify_expressions(Program& program, Notes& notes);

/// Removes stages that compute what an earlier stage computes.
bool share_stages(Program& program, Notes& notes);

/// Removes stages that only copy an array.
bool remove_copies(Region& region, Notes& notes);

/// Folds buckets while they are filled, where nobody sees them but through folds, their keys and their sizes.
bool fold_buckets(Region& region, Notes& notes);

/// Lets groups by the same key at the same points share their buckets.
bool share_tables(Region& region, Notes& notes);

/// Gives collections with elements at the same points one length, where somebody needs the shorter one.
bool unite_lengths(Region& region, Notes& notes);

/// Stores records between stages as one array for each field.
bool split_records(Region& region, Notes& notes);

/// Moves work out of loops in which it is the same at every step.
bool hoist_invariant(Program& program, Notes& notes);

/// Collects elements that are kept alike at every step of the loops around before these.
bool sift_invariant(Region& region, Notes& notes);

}  // namespace twill

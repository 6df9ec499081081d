// A case of a benchmark: a program on given inputs, the peers that compute the same, and how the result is
// verified.
#pragma once

#include "bench/report.h"
#include "bench/session.h"
#include "driver/compile.h"
#include "program/data.h"
#include "program/error_bounds.h"
#include "program/program.h"

#include <functional>
#include <string>
#include <vector>

namespace twill::bench {

/// Reads inputs and writes results, which have the types and shapes of the program's results.
using Action = std::function<void(std::span<const Data> inputs, std::vector<Data>& results)>;

/// Somebody else's code for the same job.
struct Peer {
  std::string name;          // as in the design: openblas, onednn, halide, gcc, hand, unfused
  Action run;                // null: not available
  std::string missing;       // why not, and what to install
  bool own_threads = false;  // see Contender
  std::string variant =
      {};  // of peers with one name and several variants the fastest counts; a note says which
};

/// What has to be done at least. Operations: every scalar operation one, a fused multiply-add two, a
/// mathematical function one. Bytes: every input element that is needed once, every element of a result once.
struct Work {
  double operations = 0;
  double bytes_read = 0;
  double bytes_written = 0;
  int element_bytes = 4;  // selects the arithmetic rate
};

/// Another way to compile the same program.
struct Way {
  std::string name;
  Options options;
};

/// Every stage in a pass of its own.
Way unfused();

struct Case {
  std::string name;
  std::string size;
  std::shared_ptr<const Program> program;
  std::vector<Data> inputs;
  Work work;
  bool held_to_floor = false;  // an elementwise, stencil or reduction stage on arrays that no cache holds
  std::vector<Peer> peers;
  Options ours = {};             // how our own kernel is compiled
  std::vector<Way> ways;         // the same program compiled in other ways, each a peer
  int threads = 0;               // of everybody; 0: as many as there are
  double published_plan_ms = 0;  // what the literature needs to plan the program; 0: nobody says
  Action reference;              // null: the interpreter, which takes its time
  std::string reference_name;
  double tolerance = 0;  // of max_error; see likely_error
};

/// A case and the way to it. Inputs are made when the case is due and go when it is done.
struct Entry {
  std::string name;
  std::function<Row(Session&)> run;
};

struct Suite {
  std::string name;
  std::string description;
  std::vector<Entry> (*entries)();
};

/// All suites, in order. A new one is a line in this table (suites.cpp).
std::span<const Suite> suites();

std::vector<Entry> linalg_entries();
std::vector<Entry> stencil_entries();
std::vector<Entry> pipelines_entries();
std::vector<Entry> polybench_entries();
std::vector<Entry> collections_entries();
std::vector<Entry> compile_entries();
std::vector<Entry> combinators_entries();

/// Compiles the program, verifies ours and the peers, and times them in turns.
Row measure_case(Session& session, Case job);

/// The entry of an ordinary case: `make` builds it, measure_case measures it.
Entry entry(std::string name, std::function<Case(Session&)> make);

/// A peer that oneDNN provides: c from inputs a and b, or what is missing. `make` is called if oneDNN is
/// there.
Peer onednn_peer(Session& session, const std::function<OneDnnPrimitive(const OneDnn&)>& make,
                 std::size_t a = 0, std::size_t b = 1);

/// A program from `examples/`, which the binary contains: the definition of this name in the file of this
/// name.
std::shared_ptr<const Program> example(const std::string& file, const std::string& definition);

/// A program from text.
std::shared_ptr<const Program> program_from(const std::string& name, const std::string& text);

}  // namespace twill::bench

// The subcommands of `twill`: each adds its options to the command line and says what to do once they are
// read.
#pragma once

#include "driver/compile.h"
#include "tools/source.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <functional>

namespace twill {

/// Runs after the command line was read; the exit status.
using Action = std::function<int()>;

Action add_run(CLI::App& app);
Action add_show(CLI::App& app);
Action add_explain(CLI::App& app);
Action add_cluster(CLI::App& app);
Action add_check(CLI::App& app);
Action add_import(CLI::App& app);
Action add_build(CLI::App& app);
Action add_machine(CLI::App& app);
Action add_bench(CLI::App& app);
Action add_fuzz(CLI::App& app);

/// Adds FILE, --def, -I and -D.
void add_source(CLI::App& app, Source& source);
/// Adds -I and -D.
void add_preprocessor(CLI::App& app, Source& source);

/// Adds --cluster, and what it says to the options of a compilation.
struct ClusterWish {
  std::string way = "optimal", cost = "f";
};
void add_clusters(CLI::App& app, ClusterWish& wish);
void set_clusters(const ClusterWish& wish, Options& options);
/// Adds --size, and what it says of a program's sizes.
void add_sizes(CLI::App& app, std::vector<std::string>& words, const std::string& use);
std::map<std::string, std::int64_t> named_sizes(const std::vector<std::string>& words,
                                                const Program& program);
KnownSizes known_sizes(const std::vector<std::string>& words, const Program& program);
/// One of the costs that are counted, or nothing for predicted time.
std::optional<GraphCost> cost_named(const std::string& letter);

}  // namespace twill

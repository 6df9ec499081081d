// `twill cluster`: the best way to cut a bare fusion graph into passes.
#include "base/files.h"
#include "cluster/optimal.h"
#include "tools/command.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <memory>

namespace twill {

namespace {

constexpr const char* footer =
    "Costs:\n"
    "  a  the highest number of a cluster (inputs are in 0)\n"
    "  b  pairs of combinators that could share a loop and do not\n"
    "  c  arrays that are made in memory\n"
    "  d  arrays that are read, once for every cluster and order\n"
    "  e  c + d\n\n"
    "A graph is a JSON object of nodes and edges:\n"
    "  {\"nodes\": [{\"id\": 0, \"name\": \"xs\", \"kind\": \"input\"},\n"
    "             {\"id\": 1, \"name\": \"ys\", \"kind\": \"map\", \"out\": 1}],\n"
    "   \"edges\": [{\"s\": 0, \"d\": 1, \"port\": \"arg\"}]}\n"
    "  kind  input, generate, map, gather (with a \"label\": 2, 3, …), scatter, fold, scanl or scanr\n"
    "  out   1: a result, which has to be in memory\n"
    "  port  arg    read in the order in which the reader makes its own array\n"
    "        gsrc   a gather's source, read in the order of its label\n"
    "        gidx   a gather's index array\n"
    "        ssrc   what a scatter scatters, read from an end\n"
    "        dest   what a scatter changes\n"
    "        index  single elements anywhere\n"
    "  forced  1: in memory before the reader starts\n\n"
    "Examples:\n"
    "  twill cluster --graph graph.json\n"
    "  twill cluster --graph graph.json --cost d --json\n"
    "  twill cluster --graph graph.json --lp model.lp";

struct ClusterOptions {
  std::string graph, cost = "e", by = "optimal", lp;
  double seconds = 2;
  bool json = false;
};

GraphCost cost_named(const std::string& name) {
  for (const GraphCost cost : graph_costs)
    if (name.size() == 1 && name[0] == letter_of(cost)) return cost;
  usage("E0715", fmt::format("there is no cost '{}'", name), "a, b, c, d or e: `twill cluster --help`");
}

Optimum chosen(const GraphFacts& facts, GraphCost cost, const ClusterOptions& options) {
  if (options.by == "optimal") {
    SolveOptions how{.seconds = options.seconds};
    std::string models;
    how.look = [&](const LinearModel& model) { models += to_lp(model); };
    Optimum found = optimal_partition(facts, cost, how);
    if (!options.lp.empty()) write_file(options.lp, models);
    return found;
  }
  Optimum found;
  if (options.by == "greedy-top")
    found.partition = greedy_partition(facts, Greed::TopDown);
  else if (options.by == "greedy-bottom")
    found.partition = greedy_partition(facts, Greed::BottomUp);
  else if (options.by == "none")
    found.partition = no_fusion(facts);
  else
    usage("E0714", fmt::format("there is no way to choose clusters called '{}'", options.by),
          "optimal, greedy-top, greedy-bottom or none");
  found.cost = cost_of(facts, found.partition, cost);
  return found;
}

std::vector<std::vector<std::string>> clusters_of(const FusionGraph& graph, const Partition& partition) {
  std::map<int, std::vector<std::string>> clusters;
  for (const int node : graph.sorted())
    if (graph[node].kind != Combinator::Input)
      clusters[partition.cluster[static_cast<std::size_t>(node)]].push_back(graph[node].name);
  std::vector<std::vector<std::string>> result;
  for (auto& [number, names] : clusters) result.push_back(std::move(names));
  return result;
}

int cluster(const ClusterOptions& options) {
  const GraphCost cost = cost_named(options.cost);
  const FusionGraph graph = graph_from_json("'" + options.graph + "'", read_file(options.graph));
  const GraphFacts facts(graph);
  const Optimum found = chosen(facts, cost, options);
  const auto clusters = clusters_of(graph, found.partition);
  const std::size_t passes = passes_of(graph, found.partition).size();
  if (options.json) {
    nlohmann::ordered_json json = {{"optimum", found.cost},
                                   {"cost", options.cost},
                                   {"proven", found.proven()},
                                   {"gap", found.gap()},
                                   {"solve_ms", 1e3 * found.seconds},
                                   {"clusters", clusters},
                                   {"passes", passes}};
    fmt::print("{}\n", json.dump());
    return 0;
  }
  fmt::print("cost ({}) {}", options.cost, found.cost);
  if (options.by == "optimal" && found.proven())
    fmt::print(", proven to be the least");
  else if (options.by == "optimal")
    fmt::print(": at least {}, so at most {:.1f} % too much", found.bound, 100 * found.gap());
  fmt::print("; {} passes; {:.1f} ms\n", passes, 1e3 * found.seconds);
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    fmt::print("  {}  ", c + 1);
    for (std::size_t n = 0; n < clusters[c].size(); ++n) fmt::print("{}{}", n == 0 ? "" : ", ", clusters[c][n]);
    fmt::print("\n");
  }
  return 0;
}

}  // namespace

Action add_cluster(CLI::App& app) {
  auto options = std::make_shared<ClusterOptions>();
  app.add_option("--graph", options->graph, "The fusion graph, a JSON file")->type_name("FILE")->required();
  app.add_option("--cost", options->cost, "What is to be least: a, b, c, d or e (the default)")->type_name("LETTER");
  app.add_option("--cluster", options->by, "optimal (the default), greedy-top, greedy-bottom or none")
      ->type_name("CHOICE");
  app.add_option("--seconds", options->seconds, "The best that is found in this time; 2 if left out")
      ->type_name("S");
  app.add_option("--lp", options->lp, "Write the linear programs that are solved to this file")->type_name("FILE");
  app.add_flag("--json", options->json, "One JSON object");
  app.footer(footer);
  return [options] { return cluster(*options); };
}

}  // namespace twill

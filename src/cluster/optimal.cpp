#include "cluster/optimal.h"

#include "base/error.h"
#include "cluster/formulation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace twill {

namespace {

std::size_t at(int node) { return static_cast<std::size_t>(node); }

constexpr int most_rounds = 40;

using Clock = std::chrono::steady_clock;

std::vector<int> each_by_itself(const FusionGraph& graph) {
  std::vector<int> set(at(graph.size()));
  std::iota(set.begin(), set.end(), 0);
  return set;
}

/// Nodes whose clusters depend on each other: those that a circle of dependences, taken backward as well where
/// two nodes may end up in one cluster, goes through. What they choose is nobody else's business.
class Parts {
 public:
  Parts(const GraphFacts& facts, bool share_reads) : next_(at(facts.graph.size())) {
    const FusionGraph& graph = facts.graph;
    const auto link = [&](int a, int b) {
      next_[at(a)].push_back(b);
      next_[at(b)].push_back(a);
    };
    for (const GraphPair& pair : facts.pairs) {
      if (graph[pair.from].kind == Combinator::Input) continue;
      next_[at(pair.from)].push_back(pair.to);
      if (pair.fusible()) next_[at(pair.to)].push_back(pair.from);
    }
    for (const FusionGraph::Before& pair : graph.before()) next_[at(pair.first)].push_back(pair.second);
    if (share_reads)
      for (int array = 0; array < graph.size(); ++array) {
        std::set<int> readers;
        for (const int e : graph.out_of(array))
          if (is_ordered(graph.edge(e).port)) readers.insert(graph.edge(e).to);
        for (auto a = readers.begin(); a != readers.end(); ++a)
          for (auto b = std::next(a); b != readers.end(); ++b)
            if (facts.may_meet(*a, *b)) link(*a, *b);
      }
    find(graph);
  }

  const std::vector<std::vector<int>>& parts() const { return parts_; }

 private:
  /// Strongly connected components, after Kosaraju, without recursion.
  void find(const FusionGraph& graph) {
    const std::size_t count = next_.size();
    std::vector<std::vector<int>> back(count);
    for (std::size_t a = 0; a < count; ++a)
      for (const int b : next_[a]) back[at(b)].push_back(static_cast<int>(a));
    std::vector<int> finished;
    std::vector<bool> seen(count);
    for (int root = 0; root < graph.size(); ++root) {
      if (seen[at(root)]) continue;
      std::vector<std::pair<int, std::size_t>> path = {{root, 0}};
      seen[at(root)] = true;
      while (!path.empty()) {
        auto& [node, k] = path.back();
        if (k == next_[at(node)].size()) {
          finished.push_back(node);
          path.pop_back();
          continue;
        }
        const int other = next_[at(node)][k++];
        if (seen[at(other)]) continue;
        seen[at(other)] = true;
        path.push_back({other, 0});
      }
    }
    std::fill(seen.begin(), seen.end(), false);
    for (auto root = finished.rbegin(); root != finished.rend(); ++root) {
      if (seen[at(*root)] || graph[*root].kind == Combinator::Input) continue;
      std::vector<int> part, open = {*root};
      seen[at(*root)] = true;
      while (!open.empty()) {
        const int node = open.back();
        open.pop_back();
        part.push_back(node);
        for (const int other : back[at(node)])
          if (!seen[at(other)]) {
            seen[at(other)] = true;
            open.push_back(other);
          }
      }
      std::sort(part.begin(), part.end());
      parts_.push_back(std::move(part));
    }
  }

  std::vector<std::vector<int>> next_, parts_;
};

/// What no partition can do without.
double least_cost(const GraphFacts& facts, GraphCost cost) {
  const FusionGraph& graph = facts.graph;
  double least = 0;
  if (cost == GraphCost::Clusters) {
    std::vector<int> number(at(graph.size()));
    std::map<int, std::vector<std::pair<int, int>>> after;
    for (const GraphPair& pair : facts.pairs) after[pair.from].push_back({pair.to, pair.fusible() ? 0 : 1});
    for (const FusionGraph::Before& pair : graph.before()) after[pair.first].push_back({pair.second, 1});
    for (const int node : graph.sorted()) {
      if (graph[node].kind != Combinator::Input) number[at(node)] = std::max(number[at(node)], 1);
      least = std::max(least, static_cast<double>(number[at(node)]));
      for (const auto& [other, later] : after[node])
        number[at(other)] = std::max(number[at(other)], number[at(node)] + later);
    }
  }
  if (cost == GraphCost::Unfused)
    for (const GraphPair& pair : facts.pairs) least += pair.open && !pair.fusible();
  if (cost == GraphCost::Manifest || cost == GraphCost::ReadsWrites)
    for (int node = 0; node < graph.size(); ++node)
      least += facts.manifest[at(node)] && graph[node].kind != Combinator::Input;
  if (cost == GraphCost::Reads || cost == GraphCost::ReadsWrites)
    for (int node = 0; node < graph.size(); ++node) {
      // Reads of labels are different from each other; one of those that stay does for all others.
      std::set<int> labels;
      bool read = false;
      for (const GraphPair& pair : facts.pairs) {
        if (pair.from != node || pair.fusible()) continue;
        for (const int e : pair.edges) {
          const GraphEdge& edge = graph.edge(e);
          read = read || is_ordered(edge.port);
          if (edge.port == Port::Source) labels.insert(graph[edge.to].label);
        }
      }
      least += read ? std::max(1.0, static_cast<double>(labels.size())) : 0;
    }
  return least;
}

}  // namespace

Partition no_fusion(const GraphFacts& facts) { return *complete(facts, each_by_itself(facts.graph)); }

Partition greedy_partition(const GraphFacts& facts, Greed greed) {
  const FusionGraph& graph = facts.graph;
  std::vector<int> place(at(graph.size()));
  for (std::size_t k = 0; k < graph.sorted().size(); ++k) place[at(graph.sorted()[k])] = static_cast<int>(k);
  std::vector<const GraphPair*> pairs;
  for (const GraphPair& pair : facts.pairs)
    if (pair.fusible()) pairs.push_back(&pair);
  std::stable_sort(pairs.begin(), pairs.end(), [&](const GraphPair* a, const GraphPair* b) {
    return greed == Greed::TopDown
               ? std::pair(place[at(a->from)], place[at(a->to)]) < std::pair(place[at(b->from)], place[at(b->to)])
               : std::pair(place[at(a->to)], place[at(a->from)]) > std::pair(place[at(b->to)], place[at(b->from)]);
  });
  std::vector<int> set = each_by_itself(graph);
  Partition best = *complete(facts, set);
  for (const GraphPair* pair : pairs) {
    const int from = set[at(pair->from)], to = set[at(pair->to)];
    if (from == to) continue;
    std::vector<int> tried = set;
    std::replace(tried.begin(), tried.end(), from, to);
    if (auto partition = complete(facts, tried)) {
      best = std::move(*partition);
      set = std::move(tried);
    }
  }
  return best;
}

Optimum optimal_partition(const GraphFacts& facts, GraphCost cost, const SolveOptions& options) {
  const FusionGraph& graph = facts.graph;
  const Clock::time_point start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const bool few = cost == GraphCost::Clusters;
  const double least = least_cost(facts, cost);
  Optimum result;
  const auto take = [&](std::optional<Partition> partition, double saved) {
    ensure(partition.has_value(), "a solution of the linear program is a partition");
    result.partition = std::move(*partition);
    result.cost = cost_of(facts, result.partition, cost);
    result.bound = std::max(least, result.cost - saved);
    result.seconds = elapsed();
  };

  // Everything that may be together in one cluster is often possible, and then nothing is better.
  const bool share_reads = cost == GraphCost::Reads || cost == GraphCost::ReadsWrites;
  std::vector<std::vector<int>> parts = Parts(facts, share_reads).parts();
  std::vector<int> set = each_by_itself(graph);
  for (const std::vector<int>& part : parts)
    for (const int node : part) set[at(node)] = part.front();
  if (auto together = complete(facts, set, {}, few); together && cost_of(facts, *together, cost) <= least) {
    take(std::move(together), 0);
    return result;
  }
  // The highest number is that of the longest way through all parts.
  if (few) {
    std::vector<int> all;
    for (const std::vector<int>& part : parts) all.insert(all.end(), part.begin(), part.end());
    parts = {std::move(all)};
  }

  set = each_by_itself(graph);
  std::vector<bool> right(at(graph.size()));
  std::vector<Partition> known;
  double saved = 0;  // what better solutions might save
  std::unique_ptr<LinearSolver> solver;
  for (const std::vector<int>& part : parts) {
    Formulation formulation(facts, part, cost);
    if (!formulation.model().has_choice()) continue;
    if (!solver) solver = options.open();
    // Every round says more; when it says nothing new, or takes too long, the solver goes on alone.
    for (int round = 0; round < most_rounds && elapsed() < options.seconds / 2; ++round) {
      const std::vector<double> relaxed = solver->relax(formulation.model(), options.seconds - elapsed());
      if (relaxed.empty() || formulation.cut_off(relaxed) == 0) break;
    }
    if (options.look) options.look(formulation.model());
    if (known.empty()) known = {greedy_partition(facts, Greed::TopDown), greedy_partition(facts, Greed::BottomUp)};
    std::vector<double> best;
    for (const Partition& partition : known) {
      std::vector<double> values = formulation.values_of(partition);
      ensure(formulation.model().holds(values), "a partition is a solution of the linear program");
      if (best.empty() || formulation.model().cost_of(values) < formulation.model().cost_of(best))
        best = std::move(values);
    }
    ++result.solved;
    const LinearSolution found =
        solver->solve(formulation.model(), std::max(options.seconds - elapsed(), 0.0), best);
    const double greedy = formulation.model().cost_of(best);
    if (!found.values.empty() && formulation.model().cost_of(found.values) < greedy - 1e-6) best = found.values;
    else ensure(!found.proven || found.values.empty() || formulation.model().cost_of(found.values) < greedy + 1e-6,
                "nothing is better than what the solver proves to be the best");
    // Costs are whole numbers.
    const double reached = formulation.model().cost_of(best);
    if (!found.proven || found.values.empty())
      saved += std::max(0.0, std::round(reached) - std::ceil(found.bound - 1e-6));
    formulation.read(best, set, right);
  }
  take(complete(facts, set, right, few), saved);
  return result;
}

}  // namespace twill

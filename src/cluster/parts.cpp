#include "cluster/parts.h"

#include "base/error.h"
#include "cluster/at.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace twill {

namespace {

/// Strongly connected components, after Kosaraju, without recursion. `next`: by node.
std::vector<std::vector<int>> circles_of(const std::vector<std::vector<int>>& next) {
  const std::size_t count = next.size();
  std::vector<std::vector<int>> back(count), parts;
  for (std::size_t a = 0; a < count; ++a)
    for (const int b : next[a]) back[at(b)].push_back(static_cast<int>(a));
  std::vector<int> finished;
  std::vector<bool> seen(count);
  for (std::size_t root = 0; root < count; ++root) {
    if (seen[root]) continue;
    std::vector<std::pair<int, std::size_t>> path = {{static_cast<int>(root), 0}};
    seen[root] = true;
    while (!path.empty()) {
      auto& [node, k] = path.back();
      if (k == next[at(node)].size()) {
        finished.push_back(node);
        path.pop_back();
        continue;
      }
      const int other = next[at(node)][k++];
      if (seen[at(other)]) continue;
      seen[at(other)] = true;
      path.push_back({other, 0});
    }
  }
  std::fill(seen.begin(), seen.end(), false);
  for (auto root = finished.rbegin(); root != finished.rend(); ++root) {
    if (seen[at(*root)]) continue;
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
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

/// Nodes on a circle of dependences that is also walked backward where two nodes may end up together. The
/// highest number of a cluster is everybody's business.
std::vector<std::vector<int>> independent_nodes(const ClusterProblem& problem) {
  std::vector<std::vector<int>> next(at(problem.count));
  for (const ClusterProblem::Wait& wait : problem.waits) {
    next[at(wait.first)].push_back(wait.second);
    if (!wait.strictly || problem.last > 0) next[at(wait.second)].push_back(wait.first);
  }
  for (const ClusterProblem::Data& data : problem.arrays) {
    if (data.read == 0) continue;
    for (const ClusterProblem::Reading& a : data.readings)
      for (const ClusterProblem::Reading& b : data.readings)
        if (a.reader != b.reader && problem.may_meet(a.reader, b.reader))
          next[at(a.reader)].push_back(b.reader);
  }
  return circles_of(next);
}

std::vector<Part> independent_parts(const ClusterProblem& problem) {
  std::vector<Part> parts;
  std::vector<std::size_t> part_of(at(problem.count));
  std::vector<int> own(at(problem.count));  // its number in its part
  for (std::vector<int>& nodes : independent_nodes(problem)) {
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      part_of[at(nodes[k])] = parts.size();
      own[at(nodes[k])] = static_cast<int>(k);
    }
    Part part{std::move(nodes), {}, {}};
    part.problem.count = static_cast<int>(part.nodes.size());
    part.problem.last = problem.last;
    part.problem.both_ways = problem.both_ways;
    for (const int node : part.nodes) {
      if (!problem.label.empty()) part.problem.label.push_back(problem.label[at(node)]);
      if (!problem.runs_left.empty()) part.problem.runs_left.push_back(problem.runs_left[at(node)]);
    }
    const auto cut_out = [&](const std::vector<std::vector<bool>>& all,
                             std::vector<std::vector<bool>>& kept) {
      if (all.empty()) return;
      for (const int a : part.nodes) {
        kept.emplace_back();
        for (const int b : part.nodes) kept.back().push_back(all[at(a)][at(b)]);
      }
    };
    cut_out(problem.later, part.problem.later);
    cut_out(problem.never, part.problem.never);
    parts.push_back(std::move(part));
  }
  for (ClusterProblem::Wait wait : problem.waits) {
    const std::size_t part = part_of[at(wait.first)];
    if (part != part_of[at(wait.second)]) continue;
    wait.first = own[at(wait.first)];
    wait.second = own[at(wait.second)];
    parts[part].problem.waits.push_back(wait);
  }
  for (std::size_t array = 0; array < problem.arrays.size(); ++array) {
    const ClusterProblem::Data& data = problem.arrays[array];
    std::set<std::size_t> concerned;
    if (data.maker >= 0) concerned.insert(part_of[at(data.maker)]);
    for (const ClusterProblem::Reading& reading : data.readings)
      concerned.insert(part_of[at(reading.reader)]);
    for (const std::size_t part : concerned) {
      const bool makes = data.maker >= 0 && part_of[at(data.maker)] == part;
      ClusterProblem::Data here{makes ? own[at(data.maker)] : -1, data.kept, data.write, data.read, {}};
      for (const ClusterProblem::Reading& reading : data.readings)
        if (part_of[at(reading.reader)] == part)
          here.readings.push_back({own[at(reading.reader)], reading.label});
        else
          here.kept = true;
      parts[part].problem.arrays.push_back(std::move(here));
      parts[part].arrays.push_back(static_cast<int>(array));
    }
  }
  for (const std::vector<int>& set : problem.not_all) {
    const std::size_t part = part_of[at(set.front())];
    if (!std::ranges::all_of(set, [&](int node) { return part_of[at(node)] == part; })) continue;
    std::vector<int>& here = parts[part].problem.not_all.emplace_back();
    for (const int node : set) here.push_back(own[at(node)]);
  }
  for (const ClusterProblem::More& more : problem.more) {
    const std::size_t part = part_of[at(more.nodes.front())];
    if (!std::ranges::all_of(more.nodes, [&](int node) { return part_of[at(node)] == part; })) continue;
    ClusterProblem::More& here = parts[part].problem.more.emplace_back(more);
    for (int& node : here.nodes) node = own[at(node)];
  }
  for (ClusterProblem::Needs needs : problem.needs) {
    const std::size_t part = part_of[at(needs.first)];
    if (part != part_of[at(needs.second)]) continue;
    for (const auto& [a, b] : needs.one_of)
      ensure(part_of[at(a)] == part && part_of[at(b)] == part,
             "independent_parts: who needs each other is in one part");
    needs.first = own[at(needs.first)];
    needs.second = own[at(needs.second)];
    for (auto& [a, b] : needs.one_of) std::tie(a, b) = std::pair(own[at(a)], own[at(b)]);
    parts[part].problem.needs.push_back(needs);
  }
  for (const auto& [pair, saved] : problem.saves) {
    const std::size_t part = part_of[at(pair.first)];
    if (part == part_of[at(pair.second)])
      parts[part].problem.saves[std::minmax(own[at(pair.first)], own[at(pair.second)])] = saved;
  }
  return parts;
}

}  // namespace twill

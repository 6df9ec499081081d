#include "cluster/formulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace twill {

namespace {

std::size_t at(int node) { return static_cast<std::size_t>(node); }

/// What a row has to be broken by to be worth adding.
constexpr double tolerance = 1e-3;

}  // namespace

Formulation::Formulation(const GraphFacts& facts, std::span<const int> nodes, GraphCost cost)
    : facts_(facts), cost_(cost), span_(static_cast<double>(nodes.size()) - 1) {
  add_nodes(nodes);
  for (const GraphPair& pair : facts.pairs)
    if (inside(pair.from) && inside(pair.to)) add_pair(pair);
  for (const FusionGraph::Before& pair : facts.graph.before())
    if (inside(pair.first) && inside(pair.second))
      model_.at_least({{time_.at(pair.second), 1}, {time_.at(pair.first), -1}}, 1);
  if (minimises_reads())
    for (int array = 0; array < facts.graph.size(); ++array) add_reads(array);
}

void Formulation::add_nodes(std::span<const int> nodes) {
  const FusionGraph& graph = facts_.graph;
  const bool both = graph.has(Combinator::ScanLeft) && graph.has(Combinator::ScanRight);
  const double write = cost_ == GraphCost::Manifest || cost_ == GraphCost::ReadsWrites ? 1 : 0;
  if (cost_ == GraphCost::Clusters) last_ = model_.add("last", 0, span_, 1);
  for (const int node : nodes) {
    time_[node] = model_.add(fmt::format("p_{}", node), 0, span_);
    memory_[node] = model_.add(fmt::format("w_{}", node), facts_.manifest[at(node)] ? 1 : 0, 1, write);
    if (last_ >= 0) model_.at_least({{last_, 1}, {time_[node], -1}}, 0);
    if (facts_.label[at(node)] != 0) {
      labelled_[node] = model_.add_integer(fmt::format("o_{}", node), 0, 1);
      model_.at_most({{labelled_[node], 1}, {memory_[node], 1}}, 1);
    }
    if (both) {
      const Combinator kind = graph[node].kind;
      right_[node] = model_.add_integer(fmt::format("r_{}", node), kind == Combinator::ScanRight ? 1 : 0,
                                        kind == Combinator::ScanLeft ? 0 : 1);
    }
  }
}

int Formulation::together(int a, int b) {
  if (a > b) std::swap(a, b);
  const auto [found, first] = together_.try_emplace({a, b}, 0);
  if (first) {
    found->second = model_.add_integer(fmt::format("y_{}_{}", a, b), 0, 1);
    equal_if(time_.at(a), time_.at(b), found->second, span_);
  }
  return found->second;
}

void Formulation::equal_if(int a, int b, int variable, double distance) {
  model_.at_most({{a, 1}, {b, -1}, {variable, distance}}, distance);
  model_.at_most({{b, 1}, {a, -1}, {variable, distance}}, distance);
}

void Formulation::add_pair(const GraphPair& pair) {
  const FusionGraph& graph = facts_.graph;
  const int a = pair.from, b = pair.to;
  if (!pair.fusible()) {
    model_.at_least({{time_[b], 1}, {time_[a], -1}}, 1);
    return;
  }
  const int y = together(a, b);
  if (cost_ == GraphCost::Unfused) model_.variables[at(y)].cost -= 1;
  model_.at_least({{time_[b], 1}, {time_[a], -1}, {y, 1}}, 1);
  model_.at_least({{memory_[a], 1}, {y, 1}}, 1);
  for (const int e : pair.edges) {
    const auto own = labelled_.find(a), other = labelled_.find(b);
    if (graph.edge(e).port == Port::Source) {
      model_.at_least({{own->second, 1}, {y, -1}}, 0);
      continue;
    }
    if (own != labelled_.end() && other != labelled_.end() && facts_.label[at(a)] == facts_.label[at(b)])
      equal_if(own->second, other->second, y, 1);
    else if (own != labelled_.end())
      model_.at_most({{own->second, 1}, {y, 1}}, 1);
    else if (other != labelled_.end())
      model_.at_most({{other->second, 1}, {y, 1}}, 1);
    if (!right_.empty()) equal_if(right_.at(a), right_.at(b), y, 1);
  }
}

void Formulation::add_reads(int array) {
  const FusionGraph& graph = facts_.graph;
  std::set<ArrayRead> reads;
  for (const int e : graph.out_of(array)) {
    const GraphEdge& edge = graph.edge(e);
    if (!is_ordered(edge.port) || !inside(edge.to)) continue;
    reads.insert({edge.to, edge.port == Port::Source ? graph[edge.to].label : 0});
  }
  for (auto read = reads.begin(); read != reads.end(); ++read) {
    const auto own = together_.find(std::minmax(array, read->reader));
    const bool fusible = inside(array) && own != together_.end();
    std::vector<Term> once;
    for (auto earlier = reads.begin(); earlier != read; ++earlier) add_same(array, *earlier, *read, once);
    if (fusible) {
      model_.variables[at(own->second)].cost -= 1;
      once.push_back({own->second, 1});
    }
    if (once.size() > 1) model_.at_most(std::move(once), 1);
  }
}

void Formulation::add_same(int array, const ArrayRead& first, const ArrayRead& second, std::vector<Term>& once) {
  const auto label = [&](const ArrayRead& read) {
    return read.label != 0 ? read.label : facts_.label[at(read.reader)];
  };
  const int a = label(first), b = label(second);
  const bool fixed_a = first.label != 0, fixed_b = second.label != 0;
  if (first.reader != second.reader && !facts_.may_meet(first.reader, second.reader)) return;
  if (a != b && (fixed_a || fixed_b)) return;
  const int s = model_.add_integer(
      fmt::format("s_{}_{}_{}_{}_{}", array, first.reader, first.label, second.reader, second.label), 0, 1, -1);
  same_.push_back({array, first, second, s});
  once.push_back({s, 1});
  if (first.reader != second.reader)
    model_.at_most({{s, 1}, {together(first.reader, second.reader), -1}}, 0);
  const auto own = labelled_.find(first.reader), other = labelled_.find(second.reader);
  if (a == b && a != 0) {
    if (fixed_a && fixed_b) return;
    if (fixed_a) return model_.at_most({{s, 1}, {other->second, -1}}, 0);
    if (fixed_b) return model_.at_most({{s, 1}, {own->second, -1}}, 0);
    if (first.reader != second.reader) equal_if(own->second, other->second, s, 1);
  } else {
    if (a != 0) model_.at_most({{s, 1}, {own->second, 1}}, 1);
    if (b != 0) model_.at_most({{s, 1}, {other->second, 1}}, 1);
  }
  if (!right_.empty() && first.reader != second.reader)
    equal_if(right_.at(first.reader), right_.at(second.reader), s, 1);
}

int Formulation::cut_off(std::span<const double> values) {
  return cut_circles(values) + cut_triangles(values) + cut_triples(values);
}

/// The shortest way back along every dependence, where a pair that is together takes no time.
int Formulation::cut_circles(std::span<const double> values) {
  struct Step {
    int to, variable;  // -1: `to` waits for where the step begins
    double length;
  };
  std::map<int, std::vector<Step>> steps;
  for (const GraphPair& pair : facts_.pairs)
    if (inside(pair.from) && inside(pair.to)) steps[pair.from].push_back({pair.to, -1, 0});
  for (const FusionGraph::Before& pair : facts_.graph.before())
    if (inside(pair.first) && inside(pair.second)) steps[pair.first].push_back({pair.second, -1, 0});
  for (const auto& [pair, y] : together_) {
    const double length = std::max(0.0, 1 - values[at(y)]);
    if (length > 1 - tolerance) continue;
    steps[pair.first].push_back({pair.second, y, length});
    steps[pair.second].push_back({pair.first, y, length});
  }
  std::set<std::pair<std::set<int>, int>> found;
  const auto search = [&](int first, int second) {
    const auto own = together_.find(std::minmax(first, second));
    const int y = own == together_.end() ? -1 : own->second;
    const double limit = 1 - (y < 0 ? 0 : values[at(y)]) - tolerance;
    if (limit <= 0) return;
    std::map<int, double> distance = {{second, 0}};
    std::map<int, std::pair<int, int>> back;  // node before, variable
    std::set<std::pair<double, int>> open = {{0, second}};
    while (!open.empty() && open.begin()->second != first) {
      const auto [so_far, node] = *open.begin();
      open.erase(open.begin());
      for (const Step& step : steps[node]) {
        if (step.variable >= 0 && step.variable == y) continue;
        const double length = so_far + step.length;
        const auto known = distance.find(step.to);
        if (length >= limit || (known != distance.end() && known->second <= length)) continue;
        if (known != distance.end()) open.erase({known->second, step.to});
        distance[step.to] = length;
        back[step.to] = {node, step.variable};
        open.insert({length, step.to});
      }
    }
    if (open.empty()) return;
    std::set<int> way;
    for (int node = first; node != second; node = back[node].first)
      if (back[node].second >= 0) way.insert(back[node].second);
    found.insert({std::move(way), y});
  };
  for (const GraphPair& pair : facts_.pairs)
    if (inside(pair.from) && inside(pair.to)) search(pair.from, pair.to);
  for (const FusionGraph::Before& pair : facts_.graph.before())
    if (inside(pair.first) && inside(pair.second)) search(pair.first, pair.second);
  for (const auto& [way, y] : found) {
    std::vector<Term> terms;
    for (const int variable : way) terms.push_back({variable, 1});
    if (y >= 0) terms.push_back({y, -1});
    model_.at_most(std::move(terms), static_cast<double>(way.size()) - 1);
  }
  return static_cast<int>(found.size());
}

int Formulation::cut_triangles(std::span<const double> values) {
  std::map<int, std::vector<std::pair<int, int>>> later;
  for (const auto& [pair, y] : together_)
    if (values[at(y)] > tolerance) later[pair.first].push_back({pair.second, y});
  int count = 0;
  const auto require = [&](int a, int b, int c) {  // a and b imply c
    if (values[at(a)] + values[at(b)] - values[at(c)] <= 1 + tolerance) return;
    model_.at_most({{a, 1}, {b, 1}, {c, -1}}, 1);
    ++count;
  };
  for (const auto& [node, all] : later)
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t k = i + 1; k < all.size(); ++k) {
        const auto third = together_.find(std::minmax(all[i].first, all[k].first));
        if (third == together_.end()) continue;
        require(all[i].second, all[k].second, third->second);
        require(all[i].second, third->second, all[k].second);
        require(all[k].second, third->second, all[i].second);
      }
  return count;
}

int Formulation::cut_triples(std::span<const double> values) {
  std::map<std::pair<int, ArrayRead>, std::vector<const Same*>> earlier;
  for (const Same& same : same_)
    if (same.first.reader != same.second.reader && values[at(same.variable)] > tolerance)
      earlier[{same.array, same.second}].push_back(&same);
  int count = 0;
  for (const auto& [read, all] : earlier)
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t k = i + 1; k < all.size(); ++k) {
        const int one = all[i]->first.reader, other = all[k]->first.reader, own = read.second.reader;
        if (one == other) continue;
        std::vector<Term> terms = {{all[i]->variable, 2},
                                   {all[k]->variable, 2},
                                   {together_.at(std::minmax(one, own)), -1},
                                   {together_.at(std::minmax(other, own)), -1}};
        if (const auto third = together_.find(std::minmax(one, other)); third != together_.end())
          terms.push_back({third->second, 1});
        double sum = 0;
        for (const Term& term : terms) sum += term.factor * values[at(term.variable)];
        if (sum <= 1 + tolerance) continue;
        model_.at_most(std::move(terms), 1);
        ++count;
      }
  return count;
}

std::vector<double> Formulation::values_of(const Partition& partition) const {
  const FusionGraph& graph = facts_.graph;
  std::vector<double> values(model_.variables.size());
  const std::vector<bool> manifest = manifest_of(facts_, partition);
  std::map<int, int> times;
  for (const auto& [node, variable] : time_) times[partition.cluster[at(node)]] = 0;
  int next = 0;
  for (auto& [cluster, time] : times) time = next++;
  for (const auto& [node, v] : time_) values[at(v)] = times[partition.cluster[at(node)]];
  for (const auto& [node, v] : memory_) values[at(v)] = manifest[at(node)];
  for (const auto& [node, v] : labelled_) values[at(v)] = partition.order[at(node)] > 1;
  for (const auto& [node, v] : right_) values[at(v)] = partition.order[at(node)] == 1;
  for (const auto& [pair, v] : together_)
    values[at(v)] = partition.cluster[at(pair.first)] == partition.cluster[at(pair.second)];
  if (last_ >= 0) values[at(last_)] = next - 1;
  std::set<std::pair<int, ArrayRead>> taken;
  for (const Same& same : same_) {
    const auto order = [&](const ArrayRead& read) {
      return read.label != 0 ? read.label : partition.order[at(read.reader)];
    };
    const int cluster = partition.cluster[at(same.second.reader)];
    if (partition.cluster[at(same.first.reader)] != cluster || order(same.first) != order(same.second)) continue;
    if (graph[same.array].kind != Combinator::Input && partition.cluster[at(same.array)] == cluster) continue;
    if (taken.insert({same.array, same.second}).second) values[at(same.variable)] = 1;
  }
  return values;
}

void Formulation::read(std::span<const double> values, std::vector<int>& set, std::vector<bool>& right) const {
  for (const auto& [pair, v] : together_) {
    const int from = set[at(pair.first)], to = set[at(pair.second)];
    if (values[at(v)] < 0.5 || from == to) continue;
    for (const auto& [node, variable] : time_)
      if (set[at(node)] == from) set[at(node)] = to;
  }
  for (const auto& [node, v] : right_) right[at(node)] = values[at(v)] > 0.5;
}

}  // namespace twill

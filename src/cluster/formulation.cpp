#include "cluster/formulation.h"

#include "cluster/at.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace twill {

namespace {

/// What a row has to be broken by to be worth adding.
constexpr double tolerance = 1e-3;

}  // namespace

Formulation::Formulation(const Part& part)
    : part_(part), problem_(part.problem), span_(static_cast<double>(part.nodes.size()) - 1) {
  add_nodes();
  for (const ClusterProblem::Wait& wait : problem_.waits) add_wait(wait);
  for (std::size_t array = 0; array < problem_.arrays.size(); ++array) add_array(static_cast<int>(array));
  for (const auto& [pair, saved] : problem_.saves)
    if (problem_.may_meet(pair.first, pair.second))
      model_.variables[at(together(pair.first, pair.second))].cost -= saved;
  add_sets();
}

void Formulation::add_nodes() {
  if (problem_.last > 0) last_ = model_.add("last", 0, span_, problem_.last);
  for (int node = 0; node < problem_.count; ++node) {
    const int name = part_.nodes[at(node)];
    time_[node] = model_.add(fmt::format("p_{}", name), 0, span_);
    if (last_ >= 0) model_.at_least({{last_, 1}, {time_[node], -1}}, 0);
    if (!problem_.label.empty() && problem_.label[at(node)] != 0)
      labelled_[node] = model_.add_integer(fmt::format("o_{}", name), 0, 1);
    if (problem_.both_ways) {
      const int known = problem_.runs_left[at(node)];
      left_[node] = model_.add_integer(fmt::format("l_{}", name), known == 1 ? 1 : 0, known == 0 ? 0 : 1);
    }
  }
}

int Formulation::together(int a, int b) {
  if (a > b) std::swap(a, b);
  const auto [found, first] = together_.try_emplace({a, b}, 0);
  if (first) {
    found->second = model_.add_integer(fmt::format("y_{}_{}", part_.nodes[at(a)], part_.nodes[at(b)]), 0, 1);
    equal_if(time_.at(a), time_.at(b), found->second, span_);
    if (problem_.one_way()) equal_if(left_.at(a), left_.at(b), found->second, 1);
  }
  return found->second;
}

void Formulation::equal_if(int a, int b, int variable, double distance) {
  model_.at_most({{a, 1}, {b, -1}, {variable, distance}}, distance);
  model_.at_most({{b, 1}, {a, -1}, {variable, distance}}, distance);
}

void Formulation::add_wait(const ClusterProblem::Wait& wait) {
  const int a = wait.first, b = wait.second;
  if (wait.strictly) {
    model_.at_least({{time_[b], 1}, {time_[a], -1}}, 1);
    return;
  }
  const int y = together(a, b);
  model_.at_least({{time_[b], 1}, {time_[a], -1}, {y, 1}}, 1);
  const auto own = labelled_.find(a), other = labelled_.find(b);
  if (wait.by_label) model_.at_least({{own->second, 1}, {y, -1}}, 0);
  if (!wait.same_order) return;
  if (own != labelled_.end() && other != labelled_.end() && problem_.label[at(a)] == problem_.label[at(b)])
    equal_if(own->second, other->second, y, 1);
  else if (own != labelled_.end())
    model_.at_most({{own->second, 1}, {y, 1}}, 1);
  else if (other != labelled_.end())
    model_.at_most({{other->second, 1}, {y, 1}}, 1);
  if (!left_.empty() && !problem_.one_way()) equal_if(left_.at(a), left_.at(b), y, 1);
}

/// Whether it is made in memory, and how often it is read.
void Formulation::add_array(int number) {
  const ClusterProblem::Data& data = problem_.arrays[at(number)];
  const bool here = data.maker >= 0;
  const auto fusible = [&](int reader) {
    return here && together_.contains(std::minmax(data.maker, reader));
  };
  if (here) {
    const bool kept = data.kept || std::any_of(data.readings.begin(), data.readings.end(),
                                               [&](const Reading& r) { return !fusible(r.reader); });
    const int w = memory_[number] =
        model_.add(fmt::format("w_{}", part_.arrays[at(number)]), kept ? 1 : 0, 1, data.write);
    for (const Reading& reading : data.readings)
      if (fusible(reading.reader)) model_.at_least({{w, 1}, {together(data.maker, reading.reader), 1}}, 1);
    if (const auto label = labelled_.find(data.maker); label != labelled_.end())
      model_.at_most({{label->second, 1}, {w, 1}}, 1);
  }
  if (data.read == 0) return;
  std::set<Reading> readings;
  for (const Reading& reading : data.readings)
    if (reading.costs()) readings.insert(reading);
  for (auto reading = readings.begin(); reading != readings.end(); ++reading) {
    std::vector<Term> once;
    for (auto earlier = readings.begin(); earlier != reading; ++earlier)
      add_same(number, *earlier, *reading, once);
    if (fusible(reading->reader)) {
      const int y = together(data.maker, reading->reader);
      model_.variables[at(y)].cost -= data.read;
      once.push_back({y, 1});
    }
    if (once.size() > 1) model_.at_most(std::move(once), 1);
  }
}

void Formulation::add_same(int array, const Reading& first, const Reading& second, std::vector<Term>& once) {
  const auto label = [&](const Reading& reading) {
    if (reading.label != 0 || problem_.label.empty()) return reading.label;
    return problem_.label[at(reading.reader)];
  };
  const int a = label(first), b = label(second);
  const bool fixed_a = first.label != 0, fixed_b = second.label != 0;
  if (first.reader != second.reader && !problem_.may_meet(first.reader, second.reader)) return;
  if (a != b && (fixed_a || fixed_b)) return;
  const int s = model_.add_integer(
      fmt::format("s_{}_{}_{}_{}_{}", part_.arrays[at(array)], part_.nodes[at(first.reader)], first.label,
                  part_.nodes[at(second.reader)], second.label),
      0, 1, -problem_.arrays[at(array)].read);
  same_.push_back({array, first, second, s});
  once.push_back({s, 1});
  if (first.reader != second.reader) model_.at_most({{s, 1}, {together(first.reader, second.reader), -1}}, 0);
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
  if (!left_.empty() && !problem_.one_way() && first.reader != second.reader)
    equal_if(left_.at(first.reader), left_.at(second.reader), s, 1);
}

/// Nodes that never meet are not both with a third one, and some sets of nodes are not all together.
void Formulation::add_sets() {
  if (!problem_.never.empty()) {
    std::map<int, std::vector<std::pair<int, int>>> partners;
    for (const auto& [pair, y] : together_) {
      partners[pair.first].push_back({pair.second, y});
      partners[pair.second].push_back({pair.first, y});
    }
    for (const auto& [node, all] : partners)
      for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t k = i + 1; k < all.size(); ++k)
          if (problem_.never[at(all[i].first)][at(all[k].first)])
            model_.at_most({{all[i].second, 1}, {all[k].second, 1}}, 1);
  }
  for (const ClusterProblem::Needs& needs : problem_.needs) {
    const auto y = together_.find(std::minmax(needs.first, needs.second));
    if (y == together_.end()) continue;
    std::vector<Term> terms = {{y->second, 1}};
    for (const auto& [a, b] : needs.one_of) terms.push_back({together(a, b), -1});
    model_.at_most(std::move(terms), 0);
  }
  for (const std::vector<int>& set : problem_.not_all) {
    std::vector<Term> terms = pairs_of(set);
    const double most = static_cast<double>(terms.size()) - 1;
    model_.at_most(std::move(terms), most);
  }
  for (std::size_t k = 0; k < problem_.more.size(); ++k) {
    std::vector<Term> terms = pairs_of(problem_.more[k].nodes);
    const double most = static_cast<double>(terms.size()) - 1;
    more_.push_back(model_.add(fmt::format("m_{}", k), 0, 1, problem_.more[k].cost));
    terms.push_back({more_.back(), -1});
    model_.at_most(std::move(terms), most);
  }
}

/// The pairs of a set that have a variable.
std::vector<Formulation::Term> Formulation::pairs_of(std::span<const int> set) const {
  std::vector<Term> terms;
  for (std::size_t i = 0; i < set.size(); ++i)
    for (std::size_t k = i + 1; k < set.size(); ++k)
      if (const auto y = together_.find(std::minmax(set[i], set[k])); y != together_.end())
        terms.push_back({y->second, 1});
  return terms;
}

int Formulation::cut_off(std::span<const double> values, const Deadline& deadline) {
  return cut_circles(values, deadline) + cut_triangles(values, deadline) + cut_triples(values, deadline) +
         cut_apart(values, deadline);
}

/// The shortest way back along every dependence, where a pair that is together takes no time.
int Formulation::cut_circles(std::span<const double> values, const Deadline& deadline) {
  struct Step {
    int to, variable;  // -1: `to` waits for where the step begins
    double length;
  };
  std::map<int, std::vector<Step>> steps;
  for (const ClusterProblem::Wait& wait : problem_.waits) steps[wait.first].push_back({wait.second, -1, 0});
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
  for (const ClusterProblem::Wait& wait : problem_.waits)
    if (!deadline.is_over()) search(wait.first, wait.second);
  for (const auto& [way, y] : found) {
    std::vector<Term> terms;
    for (const int variable : way) terms.push_back({variable, 1});
    if (y >= 0) terms.push_back({y, -1});
    model_.at_most(std::move(terms), static_cast<double>(way.size()) - 1);
  }
  return static_cast<int>(found.size());
}

/// The shortest ways to others, less than 1 long, where a pair that is together takes no time. By node: the
/// node before, and the variable of the two.
std::map<int, std::pair<int, int>> Formulation::ways_from(int node, std::span<const double> values) const {
  std::map<int, std::vector<std::pair<int, int>>> next;
  for (const auto& [pair, y] : together_) {
    if (values[at(y)] <= tolerance) continue;
    next[pair.first].push_back({pair.second, y});
    next[pair.second].push_back({pair.first, y});
  }
  std::map<int, double> distance = {{node, 0}};
  std::map<int, std::pair<int, int>> back;
  std::set<std::pair<double, int>> open = {{0, node}};
  while (!open.empty()) {
    const auto [so_far, nearest] = *open.begin();
    open.erase(open.begin());
    for (const auto& [other, y] : next[nearest]) {
      const double length = so_far + std::max(0.0, 1 - values[at(y)]);
      const auto known = distance.find(other);
      if (length >= 1 - tolerance || (known != distance.end() && known->second <= length)) continue;
      if (known != distance.end()) open.erase({known->second, other});
      distance[other] = length;
      back[other] = {nearest, y};
      open.insert({length, other});
    }
  }
  return back;
}

int Formulation::cut_apart(std::span<const double> values, const Deadline& deadline) {
  std::map<int, std::vector<std::vector<int>>> apart;  // by one of them: the others
  for (const std::vector<int>& set : problem_.not_all)
    apart[set.front()].emplace_back(set.begin() + 1, set.end());
  if (!problem_.never.empty())
    for (int a = 0; a < problem_.count; ++a)
      for (int b = a + 1; b < problem_.count; ++b)
        if (problem_.never[at(a)][at(b)]) apart[a].push_back({b});
  std::set<std::set<int>> found;
  for (const auto& [node, sets] : apart) {
    if (deadline.is_over()) break;
    const std::map<int, std::pair<int, int>> back = ways_from(node, values);
    for (const std::vector<int>& others : sets) {
      if (!std::ranges::all_of(others, [&](int other) { return back.contains(other); })) continue;
      std::set<int> way;
      for (int other : others)
        for (; other != node; other = back.at(other).first) way.insert(back.at(other).second);
      double missing = 0;
      for (const int y : way) missing += std::max(0.0, 1 - values[at(y)]);
      if (missing < 1 - tolerance) found.insert(std::move(way));
    }
  }
  for (const std::set<int>& way : found) {
    std::vector<Term> terms;
    for (const int y : way) terms.push_back({y, 1});
    model_.at_most(std::move(terms), static_cast<double>(way.size()) - 1);
  }
  return static_cast<int>(found.size());
}

int Formulation::cut_triangles(std::span<const double> values, const Deadline& deadline) {
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
    for (std::size_t i = 0; i < all.size() && !deadline.is_over(); ++i)
      for (std::size_t k = i + 1; k < all.size(); ++k) {
        const auto third = together_.find(std::minmax(all[i].first, all[k].first));
        if (third == together_.end()) continue;
        require(all[i].second, all[k].second, third->second);
        require(all[i].second, third->second, all[k].second);
        require(all[k].second, third->second, all[i].second);
      }
  return count;
}

int Formulation::cut_triples(std::span<const double> values, const Deadline& deadline) {
  std::map<std::pair<int, Reading>, std::vector<const Same*>> earlier;
  for (const Same& same : same_)
    if (same.first.reader != same.second.reader && values[at(same.variable)] > tolerance)
      earlier[{same.array, same.second}].push_back(&same);
  int count = 0;
  for (const auto& [read, all] : earlier)
    for (std::size_t i = 0; i < all.size() && !deadline.is_over(); ++i)
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

std::vector<double> Formulation::values_of(const Chosen& chosen) const {
  std::vector<double> values(model_.variables.size());
  const auto same_cluster = [&](int a, int b) { return chosen.cluster[at(a)] == chosen.cluster[at(b)]; };
  std::map<int, int> times;
  for (const auto& [node, variable] : time_) times[chosen.cluster[at(node)]] = 0;
  int next = 0;
  for (auto& [cluster, time] : times) time = next++;
  for (const auto& [node, v] : time_) values[at(v)] = times[chosen.cluster[at(node)]];
  for (const auto& [node, v] : labelled_) values[at(v)] = chosen.order[at(node)] > 1;
  std::set<int> to_the_left;
  if (problem_.one_way())
    for (const auto& [node, v] : left_)
      if (problem_.runs_left[at(node)] == 1) to_the_left.insert(chosen.cluster[at(node)]);
  for (const auto& [node, v] : left_)
    values[at(v)] =
        problem_.one_way() ? to_the_left.contains(chosen.cluster[at(node)]) : chosen.order[at(node)] == 1;
  for (const auto& [pair, v] : together_) values[at(v)] = same_cluster(pair.first, pair.second);
  for (const auto& [array, v] : memory_) {
    const ClusterProblem::Data& data = problem_.arrays[at(array)];
    values[at(v)] =
        data.kept || std::any_of(data.readings.begin(), data.readings.end(),
                                 [&](const Reading& r) { return !same_cluster(data.maker, r.reader); });
  }
  for (std::size_t k = 0; k < more_.size(); ++k) {
    const std::vector<int>& nodes = problem_.more[k].nodes;
    values[at(more_[k])] =
        std::ranges::all_of(nodes, [&](int node) { return same_cluster(node, nodes.front()); });
  }
  if (last_ >= 0) values[at(last_)] = next - 1;
  std::set<std::pair<int, Reading>> taken;
  for (const Same& same : same_) {
    const auto order = [&](const Reading& reading) {
      return reading.label != 0 || chosen.order.empty() ? reading.label : chosen.order[at(reading.reader)];
    };
    const int maker = problem_.arrays[at(same.array)].maker;
    if (!same_cluster(same.first.reader, same.second.reader) || order(same.first) != order(same.second))
      continue;
    if (maker >= 0 && same_cluster(maker, same.second.reader)) continue;
    if (taken.insert({same.array, same.second}).second) values[at(same.variable)] = 1;
  }
  return values;
}

void Formulation::read(std::span<const double> values, std::vector<int>& set, std::vector<bool>& left) const {
  for (const auto& [pair, v] : together_) {
    const int from = set[at(pair.first)], to = set[at(pair.second)];
    if (values[at(v)] < 0.5 || from == to) continue;
    for (const auto& [node, variable] : time_)
      if (set[at(node)] == from) set[at(node)] = to;
  }
  for (const auto& [node, v] : left_) left[at(node)] = values[at(v)] > 0.5;
}

}  // namespace twill

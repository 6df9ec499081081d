#include "cluster/chain.h"

#include "cluster/at.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>

namespace twill {

namespace {

/// Nodes in an order in which every one waits for the one before; nothing if there is none.
std::optional<std::vector<int>> chain_of(const ClusterProblem& problem) {
  std::vector<std::set<int>> before(at(problem.count)), after(at(problem.count));
  for (const ClusterProblem::Wait& wait : problem.waits) {
    before[at(wait.second)].insert(wait.first);
    after[at(wait.first)].insert(wait.second);
  }
  std::vector<std::size_t> waiting;
  std::vector<int> chain;
  for (int node = 0; node < problem.count; ++node) {
    waiting.push_back(before[at(node)].size());
    if (waiting.back() == 0) chain.push_back(node);
  }
  if (chain.size() != 1) return std::nullopt;
  for (std::size_t k = 0; k < chain.size(); ++k) {
    for (const int other : after[at(chain[k])])
      if (--waiting[at(other)] == 0) chain.push_back(other);
    if (chain.size() > k + 2) return std::nullopt;  // two that do not wait for each other
  }
  for (std::size_t k = 0; k + 1 < chain.size(); ++k)
    if (!before[at(chain[k + 1])].contains(chain[k])) return std::nullopt;
  return chain;
}

/// What the nodes of a range choose: the order of each. They are added at its ends.
class Orders {
 public:
  /// `place`: by node; `waits`: by place of who waits, and by place of who is waited for.
  Orders(const ClusterProblem& problem, std::span<const int> chain, std::span<const int> place)
      : problem_(problem), chain_(chain), into_(chain.size()), out_of_(chain.size()), group_(chain.size()) {
    for (const ClusterProblem::Wait& wait : problem.waits) {
      const Link link{place[at(wait.first)], place[at(wait.second)], wait.same_order, wait.by_label};
      if (wait.strictly || (!link.same_order && !link.by_label)) continue;
      into_[at(link.second)].push_back(link);
      out_of_[at(link.first)].push_back(link);
    }
  }

  /// The range of this place alone.
  void begin(int place) {
    first_ = last_ = place;
    possible_ = true;
    add(place);
  }
  /// One place more; says whether its nodes can still have orders.
  bool grow_up() {
    add(++last_);
    for (const Link& link : into_[at(last_)])
      if (link.first >= first_) tie(link);
    return possible_;
  }
  bool grow_down() {
    add(--first_);
    for (const Link& link : out_of_[at(first_)])
      if (link.second <= last_) tie(link);
    return possible_;
  }

 private:
  struct Link {
    int first, second;  // places
    bool same_order, by_label;
  };
  static constexpr int any = -1, several = -2;
  struct Group {
    int parent, size, order, label;  // `label`: that of all members, or `several`
  };

  void add(int place) {
    const int node = chain_[at(place)];
    group_[at(place)] = {place, 1, problem_.runs_left[at(node)], problem_.label[at(node)]};
  }
  int group_of(int place) {
    while (group_[at(place)].parent != place)
      place = group_[at(place)].parent = group_[at(group_[at(place)].parent)].parent;
    return place;
  }
  void tie(const Link& link) {
    if (link.by_label) fix(group_[at(group_of(link.first))], problem_.label[at(chain_[at(link.first)])]);
    if (!link.same_order) return;
    int a = group_of(link.first), b = group_of(link.second);
    if (a == b) return;
    if (group_[at(a)].size > group_[at(b)].size) std::swap(a, b);
    const Group other = group_[at(a)];
    Group& kept = group_[at(b)];
    group_[at(a)].parent = b;
    kept.size += other.size;
    if (kept.label != other.label) kept.label = several;
    fix(kept, other.order);
  }
  /// In the order of a label only what has that label.
  void fix(Group& group, int order) {
    if (group.order != any && order != any && group.order != order) possible_ = false;
    if (order != any) group.order = order;
    if (group.order > 1 && group.label != group.order) possible_ = false;
  }

  const ClusterProblem& problem_;
  std::span<const int> chain_;
  std::vector<std::vector<Link>> into_, out_of_;
  std::vector<Group> group_;
  int first_ = 0, last_ = 0;
  bool possible_ = true;
};

/// Numbers of which all in a range become larger or smaller, and the least one of a range is asked for.
class Least {
 public:
  /// What is almost as little counts as the same; of these the first is taken.
  Least(std::size_t count, double almost) : almost_(almost) {
    while (leaves_ < count) leaves_ *= 2;
    nodes_.resize(2 * leaves_);
    for (std::size_t k = 0; k < leaves_; ++k) nodes_[leaves_ + k].place = static_cast<int>(k);
    for (std::size_t k = leaves_ - 1; k > 0; --k) nodes_[k].place = nodes_[2 * k].place;
  }

  /// From `first` to `last`, which are among them.
  void add(int first, int last, double more) {
    if (first <= last && more != 0) add(1, 0, static_cast<int>(leaves_) - 1, first, last, more);
  }
  std::pair<double, int> of(int first, int last) const {
    const Node found = of(1, 0, static_cast<int>(leaves_) - 1, first, last);
    return {found.least, found.place};
  }

 private:
  struct Node {
    double least = 0, more = 0;  // `more`: of all below, and part of `least`
    int place = 0;
  };

  Node lesser(const Node& a, const Node& b) const { return b.least < a.least - almost_ ? b : a; }

  void add(std::size_t node, int from, int to, int first, int last, double more) {
    if (last < from || to < first) return;
    if (first <= from && to <= last) {
      nodes_[node].least += more;
      nodes_[node].more += more;
      return;
    }
    const int middle = (from + to) / 2;
    add(2 * node, from, middle, first, last, more);
    add(2 * node + 1, middle + 1, to, first, last, more);
    const Node best = lesser(nodes_[2 * node], nodes_[2 * node + 1]);
    nodes_[node].least = best.least + nodes_[node].more;
    nodes_[node].place = best.place;
  }
  Node of(std::size_t node, int from, int to, int first, int last) const {
    if (last < from || to < first) return {std::numeric_limits<double>::infinity(), 0, first};
    if (first <= from && to <= last) return nodes_[node];
    const int middle = (from + to) / 2;
    Node best =
        lesser(of(2 * node, from, middle, first, last), of(2 * node + 1, middle + 1, to, first, last));
    best.least += nodes_[node].more;
    return best;
  }

  double almost_;
  std::size_t leaves_ = 1;
  std::vector<Node> nodes_;
};

class Chain {
 public:
  Chain(const ClusterProblem& problem, std::vector<int> nodes)
      : problem_(problem), nodes_(std::move(nodes)), place_(nodes_.size()) {
    for (std::size_t k = 0; k < nodes_.size(); ++k) place_[at(nodes_[k])] = static_cast<int>(k);
  }

  /// Could nodes of a range read the same array in different orders, or could an array be made in the order
  /// of a label as long as all of its readers are in the range?
  bool chooses_orders() const {
    if (problem_.label.empty()) return false;
    const bool labels = std::ranges::any_of(problem_.label, [](int label) { return label != 0; });
    std::vector<bool> follows(nodes_.size());  // the one before, in its order, if they are together
    for (const ClusterProblem::Wait& wait : problem_.waits)
      if (place(wait.second) == place(wait.first) + 1 && (wait.strictly || wait.same_order))
        follows[at(place(wait.second))] = true;
    const bool one_order =
        !problem_.both_ways || std::all_of(follows.begin() + 1, follows.end(), [](bool f) { return f; });
    return std::ranges::any_of(problem_.arrays, [&](const ClusterProblem::Data& data) {
      if (data.readings.size() < 2) return false;
      const bool labelled = data.maker >= 0 && problem_.label[at(data.maker)] != 0;
      return labelled || (data.read != 0 && (labels || !one_order));
    });
  }

  std::optional<std::vector<int>> best(const Deadline& deadline) {
    find_ranges(deadline);
    if (deadline.is_over()) return std::nullopt;
    const int count = problem_.count;
    const std::vector<std::vector<Change>> changes = changes_of_cost();
    // Of the ranges that end here: what those before cost at least, and what they themselves do.
    Least least(nodes_.size(), 1e-9 * largest_);
    std::vector<int> begin(nodes_.size());
    double before = 0;
    for (int to = 0; to < count; ++to) {
      least.add(to, to, before + problem_.last);
      for (const Change& change : changes[at(to)]) least.add(change.first, change.last, change.more);
      std::tie(before, begin[at(to)]) = least.of(lowest_[at(to)], to);
    }
    std::vector<int> cluster(nodes_.size());
    for (int to = count - 1; to >= 0; to = begin[at(to)] - 1)
      for (int k = begin[at(to)]; k <= to; ++k) cluster[at(nodes_[at(k)])] = begin[at(to)];
    return cluster;
  }

 private:
  /// What ranges cost that begin at these places, if they reach one place further.
  struct Change {
    int first, last;
    double more;
  };

  int place(int node) const { return place_[at(node)]; }

  /// Where ranges can begin that end at a place: the shorter they are, the less speaks against them.
  void find_ranges(const Deadline& deadline) {
    const int count = problem_.count;
    lowest_.assign(nodes_.size(), 0);
    const auto not_both = [&](int a, int b) {
      int& lowest = lowest_[at(std::max(a, b))];
      lowest = std::max(lowest, std::min(a, b) + 1);
    };
    for (const ClusterProblem::Wait& wait : problem_.waits)
      if (wait.strictly) not_both(place(wait.first), place(wait.second));
    if (!problem_.never.empty())
      for (int a = 0; a < count; ++a)
        for (int b = 0; b < a; ++b)
          if (problem_.never[at(a)][at(b)]) not_both(place(a), place(b));
    for (const std::vector<int>& set : problem_.not_all) {
      std::vector<int> places;
      for (const int node : set) places.push_back(place(node));
      not_both(std::ranges::min(places), std::ranges::max(places));
    }
    if (problem_.one_way()) {
      std::array last = {-1, -1};  // who runs to the right, and to the left
      for (int k = 0; k < count; ++k) {
        const int left = problem_.runs_left[at(nodes_[at(k)])];
        if (left < 0) continue;
        last[at(left)] = k;
        if (last[at(1 - left)] >= 0) not_both(last[at(1 - left)], k);
      }
    }
    if (!problem_.label.empty()) {
      Orders orders(problem_, nodes_, place_);
      for (int first = 0, next; first < count && !deadline.is_over(); first = next) {
        orders.begin(first);
        int last = first + 1;
        while (last < count && lowest_[at(last)] <= first && orders.grow_up()) ++last;
        if (last == count) break;
        next = lowest_[at(last)];
        if (next > first) continue;
        // The shortest range up to there that has no orders.
        orders.begin(last);
        next = last;
        while (orders.grow_down()) --next;
        lowest_[at(last)] = next;
      }
    }
    for (std::size_t k = 1; k < lowest_.size(); ++k) lowest_[k] = std::max(lowest_[k], lowest_[k - 1]);
  }

  std::vector<std::vector<Change>> changes_of_cost() {
    std::vector<std::vector<Change>> changes(nodes_.size());
    for (const ClusterProblem::Data& data : problem_.arrays) {
      largest_ = std::max({largest_, data.write, data.read});
      const int maker = data.maker < 0 ? -1 : place(data.maker);
      std::map<int, std::set<int>> readers;  // by label
      int last = maker;
      for (const ClusterProblem::Reading& reading : data.readings) {
        if (reading.costs()) readers[reading.label].insert(place(reading.reader));
        last = std::max(last, place(reading.reader));
      }
      if (maker >= 0 && (data.kept || last > maker)) {
        changes[at(maker)].push_back({0, maker, data.write});
        if (!data.kept) changes[at(last)].push_back({0, maker, -data.write});
      }
      for (const auto& [label, places] : readers) {
        int seen = maker;  // who begins there or before has it already
        for (const int reader : places) {
          changes[at(reader)].push_back({seen + 1, reader, data.read});
          seen = reader;
        }
      }
    }
    for (const auto& [pair, saved] : problem_.saves) {
      const int first = std::min(place(pair.first), place(pair.second)),
                last = std::max(place(pair.first), place(pair.second));
      changes[at(last)].push_back({0, first, -saved});
      largest_ = std::max(largest_, std::abs(saved));
    }
    return changes;
  }

  const ClusterProblem& problem_;
  std::vector<int> nodes_, place_;
  std::vector<int> lowest_;  // by place: where ranges can begin that end there
  double largest_ = 0;
};

}  // namespace

std::optional<std::vector<int>> best_of_chain(const ClusterProblem& problem, const Deadline& deadline) {
  auto nodes = chain_of(problem);
  if (!nodes || !problem.more.empty()) return std::nullopt;
  // Whoever stands between two is in the range of both.
  std::vector<int> place(nodes->size());
  for (std::size_t k = 0; k < nodes->size(); ++k) place[at((*nodes)[k])] = static_cast<int>(k);
  const auto lies_between = [&](const ClusterProblem::Needs& needs) {
    const auto [from, to] = std::minmax(place[at(needs.first)], place[at(needs.second)]);
    return std::ranges::any_of(needs.one_of, [&, from = from, to = to](const auto& pair) {
      const auto [a, b] = std::minmax(place[at(pair.first)], place[at(pair.second)]);
      return from <= a && b <= to;
    });
  };
  if (!std::ranges::all_of(problem.needs, lies_between)) return std::nullopt;
  Chain chain(problem, std::move(*nodes));
  if (chain.chooses_orders()) return std::nullopt;
  return chain.best(deadline);
}

}  // namespace twill

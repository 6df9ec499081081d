// Scalars and arrays that serve as such: every step of a loop gets its own.
#include "import/c_depend.h"
#include "import/c_scalars.h"

#include <algorithm>

namespace twill::c {

using poly::Affine;
using poly::Condition;
using poly::Var;

namespace {

class Privatizer {
 public:
  explicit Privatizer(Nest& nest) : nest_(nest), ask_(nest) {}

  void list(std::vector<Item>& items) {
    for (std::size_t p = 0; p < items.size(); ++p) {
      const auto* inner = std::get_if<std::shared_ptr<For>>(&items[p]);
      if (!inner) continue;
      // Loops around one body.
      std::vector<int> chain;
      For* at = inner->get();
      for (;; at = std::get<std::shared_ptr<For>>(at->body[0]).get()) {
        chain.push_back(at->loop);
        if (at->body.size() != 1 || !std::holds_alternative<std::shared_ptr<For>>(at->body[0])) break;
      }
      // As many of them as possible, from the outside.
      for (; !chain.empty(); chain.pop_back()) {
        For* last = inner->get();
        for (std::size_t k = 1; k < chain.size(); ++k)
          last = std::get<std::shared_ptr<For>>(last->body[0]).get();
        if (expand(chain, last->body, items, p)) break;
      }
      const auto down = std::get<std::shared_ptr<For>>(items[p]);
      open_.push_back(down->loop);
      list(down->body);
      open_.pop_back();
    }
  }

 private:
  bool expand(const std::vector<int>& chain, std::vector<Item>& body, std::vector<Item>& parent,
              std::size_t position) {
    for (const int loop : chain) {
      for (const Tree& end : {nest_.loop(loop).lo, nest_.loop(loop).hi}) {
        bool free = affine_of(nest_, end).has_value();
        visit(nest_, end, [&](const Tree& node) { free = free && node->kind != Kind::Index; });
        if (!free) return false;
      }
    }
    const std::vector<Statement> all = statements_of(nest_);
    std::vector<int> path = open_;
    path.insert(path.end(), chain.begin(), chain.end());
    const auto is_inside = [&](const Statement& s) {
      return s.loops.size() >= path.size() && std::equal(path.begin(), path.end(), s.loops.begin());
    };
    std::vector<int> inside, outside;
    for (std::size_t s = 0; s < all.size(); ++s)
      (is_inside(all[s]) ? inside : outside).push_back(static_cast<int>(s));
    std::set<int> written;
    written_arrays(body, written);
    std::set<int> own;
    for (const int array : written)
      if (is_private(array, chain, path.size(), all, inside, outside)) own.insert(array);
    if (own.empty()) return false;
    // Nothing else may keep the steps in order.
    for (const int a : inside)
      for (const int b : inside) {
        const bool accumulates =
            a == b && accumulation_of(nest_, all[static_cast<std::size_t>(a)].assign).has_value();
        const Dependence d = ask_.dependence(all, a, b, accumulates, own);
        for (const auto* levels : {&d.flow, &d.output, &d.anti}) {
          const auto first = levels->lower_bound(static_cast<int>(open_.size()));
          if (first != levels->end() && *first < static_cast<int>(path.size())) return false;
        }
      }
    for (const int array : own)
      give_places(array, chain, body, parent, position, is_needed(array, all, outside));
    return true;
  }

  bool is_needed(int array, const std::vector<Statement>& all, const std::vector<int>& outside) const {
    return nest_.array(array).is_argument || std::ranges::any_of(outside, [&](int s) {
             return arrays_read(nest_, all[static_cast<std::size_t>(s)].assign).contains(array);
           });
  }

  /// Whether every step writes what it reads of the array, before it does; and all of it, if it is needed
  /// later.
  bool is_private(int array, const std::vector<int>& chain, std::size_t depth,
                  const std::vector<Statement>& all, const std::vector<int>& inside,
                  const std::vector<int>& outside) const {
    bool good = true, complete = false;
    const auto constant_in_chain = [&](const std::vector<Tree>& subscripts) {
      for (const Tree& at : subscripts)
        for (const int loop : chain) good = good && affine_of(nest_, at) && !mentions_loop(nest_, at, loop);
    };
    for (const int t : inside) {
      const Statement& reader = all[static_cast<std::size_t>(t)];
      if (reader.assign.array == array) {
        constant_in_chain(reader.assign.at);
        complete = complete || (good && ask_.writes_all(reader, depth, {}));
      }
      for (std::size_t d = depth; d < reader.loops.size(); ++d)
        good = good && !reads_array(nest_, nest_.loop(reader.loops[d]).lo, array) &&
               !reads_array(nest_, nest_.loop(reader.loops[d]).hi, array);
      each_read(nest_, reader.assign, ask_.domain(reader), [&](const Tree& read, const Condition& path) {
        if (read->id != array || !good) return;
        constant_in_chain(read->args);
        if (!good) return;
        good = std::ranges::any_of(inside, [&](int s) {
          const Statement& writer = all[static_cast<std::size_t>(s)];
          return s < t && writer.assign.array == array &&
                 common_depth(writer, reader) == static_cast<int>(depth) && covers(writer, depth, read, path);
        });
      });
    }
    return good && (complete || !is_needed(array, all, outside));
  }

  /// Whether the elements that are read are among those that the writer wrote in the same step.
  bool covers(const Statement& writer, std::size_t depth, const Tree& read, const Condition& path) const {
    if (!condition_of(nest_, writer.assign.guard).exact) return false;
    for (const int loop : writer.loops)
      if (!range_of(nest_, loop).exact) return false;
    std::vector<Var> tuple, hidden_read, hidden_write;
    Condition reads = path, writes = ask_.domain(writer);
    for (std::size_t d = 0; d < depth; ++d) tuple.push_back(var_of_loop(writer.loops[d]));
    for (std::size_t k = 0; k < read->args.size(); ++k) {
      const Var element{Var::Kind::Element, static_cast<int>(k)};
      tuple.push_back(element);
      const auto x = affine_of(nest_, read->args[k]), y = affine_of(nest_, writer.assign.at[k]);
      if (!x || !y) return false;
      reads = std::move(reads) && poly::equal(element, *x);
      writes = std::move(writes) && poly::equal(element, *y);
    }
    const auto shadow = [&](const Condition& condition) {
      std::vector<Var> all = tuple, hidden;
      for (const Var var : condition.variables())
        if (var.kind == Var::Kind::Index && std::ranges::find(tuple, var) == tuple.end())
          hidden.push_back(var);
      all.insert(all.end(), hidden.begin(), hidden.end());
      return poly::Set(ask_.context(), all, condition).project_out(hidden);
    };
    return shadow(reads).is_subset_of(shadow(writes)) == poly::Answer::Yes;
  }

  void give_places(int array, const std::vector<int>& chain, std::vector<Item>& body,
                   std::vector<Item>& parent, std::size_t position, bool needed) {
    Array many = nest_.array(array);
    many.is_argument = many.is_value = false;
    std::vector<Tree> shape, here, last;
    Tree some;  // there is a last step
    for (const int id : chain) {
      const Loop loop = nest_.loop(id);
      const auto difference = [&](const Tree& a, const Tree& b) {
        return tidy(nest_, apply("-", {a, b}, Scalar::I64, loop.place));
      };
      shape.push_back(difference(loop.hi, loop.lo));
      here.push_back(difference(index_of(id, loop.place), loop.lo));
      last.push_back(difference(shape.back(), integer(1, loop.place)));
      some = both(some, apply("<", {loop.lo, loop.hi}, Scalar::Bool, loop.place));
    }
    many.shape.insert(many.shape.begin(), shape.begin(), shape.end());
    const int id = nest_.add_array(std::move(many));
    put(body, array, id, here);
    if (!needed) return;
    Assign copy;
    copy.array = array;
    copy.place = nest_.array(array).place;
    copy.guard = some;
    std::vector<int> loops;
    for (std::size_t k = 0; k < nest_.array(array).shape.size(); ++k) {
      loops.push_back(
          nest_.add_loop({"e" + std::to_string(k), integer(0), nest_.array(array).shape[k], copy.place}));
      copy.at.push_back(index_of(loops.back(), copy.place));
    }
    std::vector<Tree> from = last;
    from.insert(from.end(), copy.at.begin(), copy.at.end());
    copy.value = read_of(nest_, id, from, copy.place);
    Item item = std::move(copy);
    for (std::size_t k = loops.size(); k-- > 0;) {
      auto loop = std::make_shared<For>();
      loop->loop = loops[k];
      loop->body.push_back(std::move(item));
      item = std::move(loop);
    }
    parent.insert(parent.begin() + static_cast<std::ptrdiff_t>(position) + 1, std::move(item));
  }

  /// Accesses of one array become accesses of the other, with more subscripts.
  void put(std::vector<Item>& items, int array, int by, const std::vector<Tree>& here) {
    const auto changed = [&](const Tree& tree) {
      return rewrite(tree, [&](const Tree& node) -> Tree {
        if (node->kind != Kind::Read || node->id != array) return {};
        std::vector<Tree> at = here;
        at.insert(at.end(), node->args.begin(), node->args.end());
        return read_of(nest_, by, std::move(at), node->place);
      });
    };
    for (Item& item : items) {
      if (auto* inner = std::get_if<std::shared_ptr<For>>(&item)) {
        put((*inner)->body, array, by, here);
        continue;
      }
      auto& assign = std::get<Assign>(item);
      assign.value = changed(assign.value);
      assign.guard = changed(assign.guard);
      for (Tree& at : assign.at) at = changed(at);
      if (assign.array != array) continue;
      assign.array = by;
      assign.at.insert(assign.at.begin(), here.begin(), here.end());
    }
  }

  Nest& nest_;
  Questions ask_;
  std::vector<int> open_;
};

}  // namespace

void privatize(Nest& nest) { Privatizer(nest).list(nest.items); }

}  // namespace twill::c

// What loops ask of the places that they write to: before they run, where that is possible.
#include "emit/c_code.h"
#include "program/index_use.h"

#include <algorithm>

namespace twill {

using namespace nest;

namespace {

/// Of a loop without anything but stores: is one of its places where it may be outside of the array the same
/// in all iterations, or does it go from the first one to the last one step by step?
bool is_known_before(const For& loop, Expr subscript) {
  const auto factor = factor_of(subscript, loop.index);
  if (!factor || (*factor != 0 && loop.step != 1)) return false;
  return std::ranges::none_of(loop.body, [&](const Statement& statement) {
    return mentions(subscript, std::get<Put>(statement.kind).array);
  });
}

Expr with_index(ExprPool& pool, Expr e, DimId index, Expr value) {
  return rewrite(pool, e, [&](Expr node) {
    const IndexRef* ref = as<IndexRef>(node);
    return ref && ref->dim == index ? value : Expr{};
  });
}

}  // namespace

/// The stores of a loop, by position, of which it is known before whether they lead outside of their arrays.
std::vector<std::size_t> CCode::known_before(const For& s) {
  std::vector<std::size_t> known;
  if (!std::ranges::all_of(s.body, [](const Statement& b) { return std::holds_alternative<Put>(b.kind); }))
    return known;
  for (std::size_t p = 0; p < s.body.size(); ++p) {
    const Put& put = std::get<Put>(s.body[p].kind);
    bool all = !put.checked.empty();
    for (std::size_t k = 0; k < put.checked.size(); ++k)
      all = all && (!put.checked[k] || is_known_before(s, put.at[k]));
    if (all) known.push_back(p);
  }
  return known;
}

/// That is asked once, and the loop need not ask.
void CCode::ask_once(const For& s, const std::vector<std::size_t>& puts) {
  ExprPool& pool = *program_.pool;
  open("if (" + value(pool.apply(Prim::Lt, {s.lo, s.hi})) + ") {");
  For unasked = s;
  std::string all;
  CExpressions print = expressions();
  for (const std::size_t p : puts) {
    Put& put = std::get<Put>(unasked.body[p].kind);
    // Places that move are inside if the first and the last one are.
    std::vector<bool> moves(put.at.size());
    for (std::size_t k = 0; k < put.at.size(); ++k) moves[k] = put.checked[k] && mentions(put.at[k], s.index);
    const auto ask = [&](Expr index, const std::vector<bool>& which) {
      std::vector<Expr> at;
      for (std::size_t k = 0; k < put.at.size(); ++k)
        at.push_back(which[k] ? with_index(pool, put.at[k], s.index, index) : pool.integer(0));
      std::string fine;
      print.checked_element(put.array, at, which, fine);
      if (fine != "true") all += (all.empty() ? "" : " && ") + fine;
    };
    ask(s.lo, put.checked);
    ask(pool.apply(Prim::Sub, {s.hi, pool.integer(1)}), moves);
    put.checked.clear();
  }
  lines(print.take_lines());
  note_checks(print);
  if (!all.empty()) open("if (" + all + ") {");
  serial_loop(unasked);
  if (!all.empty()) close();
  close();
}

}  // namespace twill

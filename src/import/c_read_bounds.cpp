// Reading C loops: where they end.
#include "base/error.h"
#include "import/c_read.h"

#include <fmt/format.h>

namespace twill::c {

/// Whether the variable reaches its bound without going around the numbers of its type. Where it might do so
/// only among very many, it would leave all arrays first.
bool Reader::stays_in_type(const LoopEnd& end, const LoopHead& head) const {
  const bool narrow = info(head.type).bytes < 4;
  const auto first = affine_of(nest_, head.first), bound = affine_of(nest_, end.bound);
  if (end.op == "!=") {
    if (!narrow && is_signed(head.type)) return true;
    if (first && bound) return is_never_negative(head.by > 0 ? *bound - *first : *first - *bound);
    return !narrow && !is_converted(head.first);
  }
  if (!narrow || head.by == 1 || head.by == -1) return true;
  const bool inclusive = end.op == "<=" || end.op == ">=";
  return bound && fits(*bound + head.by - (inclusive ? 0 : head.by > 0 ? 1 : -1), head.type);
}

/// `…; i < bound; …`: one comparison of the variable that counts.
Reader::LoopEnd Reader::loop_end(CXCursor test, const LoopHead& head) {
  const auto ends = clang_.children(test);
  const bool compares = test.kind == CXCursor_BinaryOperator && ends.size() == 2;
  LoopEnd end;
  end.op = compares ? binary_operator(ends) : "";
  const bool left = compares && is_variable(ends[0], head.key),
             right = compares && is_variable(ends[1], head.key);
  if (!is_comparison(end.op) || end.op == "==" || left == right)
    refuse("E0811", test,
           fmt::format("'{}' does not compare the loop index '{}' with a bound", source(test), head.name),
           "write i < hi");
  const bool up = head.by > 0;
  const CXCursor other = ends[left ? 1 : 0];
  if (right && end.op[0] != '!') end.op[0] = end.op[0] == '<' ? '>' : '<';
  const Tree written = expression(other);
  if (!is_integer(written->type))
    refuse("E0811", test, fmt::format("the bound of the loop over '{}' is no integer", head.name),
           fmt::format("convert it: (int){}", source(other)));
  if (end.op == "!=" ? head.by != 1 && head.by != -1 : (end.op[0] == '<') != up)
    refuse("E0811", test, fmt::format("the loop over '{}' counts away from its bound", head.name),
           "count up to an upper bound or down to a lower one, by one with !=");
  if (is_unsigned(written->type) && is_signed(head.type) && end.op != "!=") {
    const auto first = affine_of(nest_, head.first);
    if (!first || !is_never_negative(*first))
      refuse("E0811", test,
             fmt::format("'{}' compares as unsigned numbers, and '{}' may be less than zero", source(test),
                         head.name),
             fmt::format("compare as numbers with a sign: (int){}", source(other)));
  }
  end.bound = end.op == "!=" ? widen(written) : up ? upper_end(written) : lower_end(written);
  if (!stays_in_type(end, head))
    refuse("E0811", test,
           fmt::format("the loop index '{}' may leave the range of its type before '{}' ends the loop",
                       head.name, source(test)),
           "count with an int, up to an upper bound with < or down to a lower one with >");
  return end;
}

/// The trees of which `tree` is the smallest or the largest.
std::vector<Tree> Reader::among(const Tree& tree, const std::string& word) const {
  if (tree->kind != Kind::Apply || tree->args.size() != 2) return {tree};
  std::vector<Tree> all;
  if (tree->op == word) {
    for (const Tree& arg : tree->args)
      for (const Tree& part : among(arg, word)) all.push_back(part);
    return all;
  }
  // min(a, b) + c is min(a + c, b + c)
  for (std::size_t k = 0; k < 2; ++k) {
    if (tree->op != "+" && (tree->op != "-" || k == 1)) break;
    for (const Tree& part : among(tree->args[k], word)) {
      std::vector<Tree> args = tree->args;
      args[k] = part;
      all.push_back(apply(tree->op, std::move(args), tree->type, tree->place));
    }
    if (all.size() > 1) return all;
    all.clear();
  }
  return {tree};
}

/// `…; i < bound && …; …`: the range of the loop's own index, which counts up by one, and what the variable
/// is in terms of it.
Tree Reader::loop_range(const std::vector<CXCursor>& tests, const LoopHead& head, int id) {
  const bool up = head.by > 0;
  const std::int64_t size = up ? head.by : -head.by;
  const Place at = nest_.loop(id).place;
  const auto sum = [&](const Tree& a, const Tree& b) { return apply("+", {a, b}, Scalar::I64, at); };
  const auto difference = [&](const Tree& a, const Tree& b) { return apply("-", {a, b}, Scalar::I64, at); };
  const auto all_of = [&](const std::vector<Tree>& parts, const char* word) {
    Tree all;
    for (const Tree& part : parts)
      all = all ? apply(word, {all, tidy(nest_, part)}, Scalar::I64, at) : tidy(nest_, part);
    return all;
  };
  std::vector<LoopEnd> ends;
  for (const CXCursor test : tests) {
    ends.push_back(loop_end(test, head));
    if (ends.back().op == "!=" && tests.size() > 1)
      refuse("E0811", test, fmt::format("'{}' is not the only condition of its loop", source(test)),
             "write i < hi");
  }
  const Tree start = ends[0].op == "!=" ? widen(head.first)
                     : up               ? lower_end(head.first)
                                        : upper_end(head.first);
  std::vector<Tree> lo, hi;
  for (const LoopEnd& end : ends)
    for (const Tree& bound : among(end.bound, up ? "min" : "max")) {
      const bool inclusive = end.op == "<=" || end.op == ">=";
      // Steps are counted, unless they are ones: i = first + by * step.
      Tree reach = head.by == 1 ? bound : up ? difference(bound, start) : difference(start, bound);
      if (inclusive) reach = sum(reach, integer(1, at));
      if (size > 1)
        reach = apply("floor_div", {sum(reach, integer(size - 1, at)), integer(size, at)}, Scalar::I64, at);
      hi.push_back(reach);
    }
  Tree value = index_of(id, at);
  if (head.by == 1) {
    lo = among(start, "max");
  } else {
    lo = {integer(0, at)};
    const Tree way = apply("*", {integer(size, at), value}, Scalar::I64, at);
    value = up ? sum(start, way) : difference(start, way);
  }
  bool affine = true, found = false;
  for (const auto& list : {lo, hi})
    for (const Tree& end : list) {
      affine = affine && affine_of(nest_, end);
      found = found || is_found_when_running(end);
    }
  if (!affine && !found)
    refuse("E0808", tests[0],
           fmt::format(
               "the bounds of the loop over '{}' are not affine: no sums of outer indices and parameters "
               "times constants",
               head.name),
           "make such a bound an argument of the function");
  nest_.loop(id).lo = all_of(lo, "max");
  nest_.loop(id).hi = all_of(hi, "min");
  return tidy(nest_, value);
}

}  // namespace twill::c

// Random loop nests in C, imported and interpreted, against what the C compiler makes of them. All functions
// of a run are in one file, so that the compiler is called once. A nest may be refused by the checker of
// programs (a limit that it names), but never computes something else.
#include "base/error.h"
#include "c_testing.h"
#include "program/interpret.h"
#include "program/text.h"
#include "run/process.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace twill {
namespace {

namespace fs = std::filesystem;

/// Writes functions over two matrices, three vectors and two scalars of integers that wrap around: sums are
/// the same in every order, and results are equal or wrong. Indices, conditions and subscripts are of all
/// kinds of integer types, which C converts into each other.
class NestWriter {
 public:
  explicit NestWriter(unsigned seed) : random_(seed) {}

  std::string function(const std::string& name) {
    name_ = name;
    text_ = fmt::format(
        "static unsigned char low_{0}(int v) {{ return v; }}\n"
        "static inline int least_{0}(int a, unsigned b) {{\n  if (a < 0) return a;\n"
        "  const int c = b;\n  return c < a ? c : a;\n}}\n"
        "static void store_{0}(int *to, int at, int v) {{\n  v += at;\n  if (v != 3) to[at] = v;\n}}\n",
        name);
    text_ += fmt::format(
        "void {}(int n, int m, unsigned u, unsigned long z, int A[n + 4][n + 4], int B[n + 4][n + 4], int "
        "x[n + 4], int y[n + 4], int p[n "
        "+ 4]) {{\n"
        "  int s = 1, t = 2;\n  int w[n + 4];\n#pragma scop\n"
        "  for (int i = 0; i < n + 4; i++) w[i] = y[i];\n",
        name);
    loops_ = 0;
    list(1, 1 + pick(3), 3);
    text_ +=
        "  x[0] = x[0] + s;\n  x[1] = x[1] - t;\n  for (int i = 0; i < n + 4; i++) y[i] = y[i] + "
        "w[i];\n#pragma endscop\n}\n";
    return text_;
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  static std::string indent(int depth) { return std::string(static_cast<std::size_t>(2 * depth), ' '); }
  const std::string& an_index() {
    return indices_[static_cast<std::size_t>(pick(static_cast<int>(indices_.size())))];
  }

  void list(int depth, int count, int room) {
    for (int k = 0; k < count; ++k) statement(depth, room);
  }

  void statement(int depth, int room) {
    if (room > 0 && loops_ < 7 && pick(10) < (indices_.empty() ? 9 : 4)) return loop(depth, room);
    if (room > 0 && pick(8) == 0) {
      text_ += indent(depth) + "if (" + condition() + ") {\n";
      list(depth + 1, 1 + pick(2), room - 1);
      if (pick(2) == 0) {
        text_ += indent(depth) + "} else {\n";
        list(depth + 1, 1, room - 1);
      }
      text_ += indent(depth) + "}\n";
      return;
    }
    if (pick(12) == 0) {
      text_ += indent(depth) + fmt::format("store_{}({}, {}, {});\n", name_, pick(2) == 0 ? "w" : "x",
                                           subscript(), expression(1));
      return;
    }
    static const char* const ways[] = {"=", "=", "+=", "+=", "-=", "*="};
    const std::string target = element();
    if (pick(8) == 0) text_ += indent(depth) + "if (" + target + (pick(2) == 0 ? " < 9)\n  " : " != 4)\n  ");
    text_ += indent(depth) + target + " " + ways[pick(6)] + " " + expression(2) + ";\n";
  }

  void loop(int depth, int room) {
    ++loops_;
    const std::string index(1, static_cast<char>('i' + static_cast<int>(indices_.size())));
    static const char* const outer[] = {
        "for (int {0} = 1; {0} < n; {0}++)", "for (int {0} = n - 1; {0} >= 1; {0}--)",
        "for (int {0} = 2; {0} <= n + 1; {0}++)", "for (int {0} = 1; {0} < m; {0}++)",
        "for (int {0} = 1; {0} < n; {0} += 2)"};
    static const char* const inner[] = {"for (int {0} = 1; {0} < {1}; {0}++)",
                                        "for (int {0} = {1}; {0} < n; {0}++)",
                                        "for (int {0} = {1} - 1; {0} >= 1; {0}--)",
                                        "for (int {0} = 1; {0} < n && {0} < {1}; {0}++)",
                                        "for (int {0} = 1; {0} <= ({1} < m ? {1} : m); {0}++)",
                                        "for (int {0} = ({1} > 2 ? {1} : 2); {0} < n; {0}++)"};
    const bool triangle = !indices_.empty() && pick(3) == 0;
    std::string head = (triangle ? fmt::format(fmt::runtime(inner[pick(6)]), index, an_index())
                                 : fmt::format(fmt::runtime(outer[pick(5)]), index));
    // Counting down from what may be less than zero needs a sign.
    static const char* const types[] = {"unsigned", "unsigned long", "long", "short"};
    if (pick(3) == 0 && head.find("= n - 1") == std::string::npos)
      head.replace(head.find("int"), 3, types[pick(head.find("+=") == std::string::npos ? 4 : 3)]);
    text_ += indent(depth) + head + " {\n";
    indices_.push_back(index);
    list(depth + 1, 1 + pick(3), room - 1);
    indices_.pop_back();
    text_ += indent(depth) + "}\n";
  }

  /// From 0 to n + 3, the extent of all arrays.
  std::string subscript() {
    if (indices_.empty() || pick(8) == 0) return std::to_string(pick(4));
    const std::string index = an_index();
    static const char* const shifts[] = {"{}", "{}", "{} + 1", "{} - 1", "n + 2 - {}"};
    static const char* const converted[] = {"(unsigned char)({} + 255)", "(unsigned long){} + 1",
                                            "(int)({} - 1u)", "(unsigned){} + (unsigned)-1",
                                            "(unsigned char)({} + 256)"};
    if (pick(6) == 0) return fmt::format(fmt::runtime(converted[pick(5)]), index);
    return fmt::format(fmt::runtime(shifts[pick(5)]), index);
  }

  std::string element() {
    switch (pick(8)) {
      case 0: return "s";
      case 1: return "t";
      case 2: return "x[" + subscript() + "]";
      case 3: return "w[" + subscript() + "]";
      case 4: return pick(4) == 0 ? "y[p[" + subscript() + "]]" : "y[" + subscript() + "]";
      case 5: return "B[" + subscript() + "][" + subscript() + "]";
      default: return "A[" + subscript() + "][" + subscript() + "]";
    }
  }

  std::string expression(int depth) {
    if (depth == 0 || pick(3) == 0) return pick(5) == 0 ? std::to_string(pick(4)) : element();
    if (pick(9) == 0) {
      static const char* const conversions[] = {"(unsigned char){}", "(unsigned){}", "(signed char)({} + 99)",
                                                "({} >> 1u)",        "({} / 3u)",    "(long)({} - u)",
                                                "({} % 5)",          "({} - z) / 7"};
      const std::string inner = !indices_.empty() && pick(2) == 0 ? an_index() : element();
      return "(int)(" + fmt::format(fmt::runtime(conversions[pick(8)]), inner) + ")";
    }
    if (pick(12) == 0) return fmt::format("low_{}({})", name_, expression(depth - 1));
    if (pick(12) == 0) return fmt::format("least_{}({}, {})", name_, expression(depth - 1), element());
    static const char* const ops[] = {"+", "-", "*"};
    return "(" + expression(depth - 1) + " " + ops[pick(3)] + " " + expression(depth - 1) + ")";
  }

  std::string condition() {
    if (pick(2) == 0 || indices_.empty()) return element() + " > 3";
    static const char* const tests[] = {"{} < 3",
                                        "{} % 2 == 0",
                                        "{} - 3 < u",
                                        "(unsigned)({} - 2) < (unsigned)(n - 1)",
                                        "(unsigned)({} - 1) <= (unsigned)n",
                                        "{} + (unsigned)(m - 4) < 3",
                                        "(unsigned long){} - 2 > z",
                                        "(unsigned char)({} - 2) > 3",
                                        "z - {} >= u",
                                        "(signed char)({} + 126) < 0",
                                        "-1 < {} - 2u"};
    return fmt::format(fmt::runtime(tests[pick(2) == 0 ? pick(2) : pick(11)]), an_index());
  }

  std::mt19937 random_;
  std::string name_, text_;
  std::vector<std::string> indices_;
  int loops_ = 0;
};

std::vector<Data> arguments_for(std::int64_t n, std::int64_t m, std::int64_t u) {
  const std::int64_t size = n + 4;
  std::vector<Data> arguments = {
      Data::scalar(Number::of(Scalar::I32, n)), Data::scalar(Number::of(Scalar::I32, m)),
      Data::scalar(Number::of(Scalar::U32, u)), Data::scalar(Number::of(Scalar::U64, 3 - u))};
  for (const int rank : {2, 2, 1, 1, 1}) {
    Data data(Scalar::I32, rank == 2 ? std::vector{size, size} : std::vector{size});
    for (std::int64_t k = 0; k < data.count(); ++k)
      data.set(k, Number::of(Scalar::I32,
                             arguments.size() == 8
                                 ? (3 * k + 1) % size
                                 : (7 * k + 3 * static_cast<std::int64_t>(arguments.size())) % 11 - 4));
    arguments.push_back(std::move(data));
  }
  return arguments;
}

TEST(RandomNests, ComputeWhatTheCompilerSays) {
  constexpr unsigned first = 1, count = 120;
  std::string text;
  std::vector<std::string> texts;
  std::vector<CImport> imports;
  std::vector<CFunction> functions;
  int refused = 0;
  for (unsigned k = 0; k < count; ++k) {
    const std::string own = NestWriter(first + k).function(fmt::format("f{}", k));
    try {
      imports.push_back(import_text(own));
    } catch (const Error& error) {
      // Not a loop nest that is not understood: these are all understood.
      EXPECT_TRUE(error.diagnostics()[0].fault == Fault::Limit &&
                  !error.diagnostics()[0].code.starts_with("E08"))
          << own << error.what();
      ++refused;
      continue;
    }
    texts.push_back(own);
    text += own;
    functions.push_back(imports.back().functions[0]);
  }
  EXPECT_LE(refused, 2);
  const PlainC plain(text, functions);
  for (std::size_t f = 0; f < functions.size(); ++f)
    for (const auto& [n, m, u] : {std::array{5, 4, 2}, {5, 4, -2}, {1, 3, 5}, {0, 0, 0}}) {
      std::vector<Data> arguments = arguments_for(n, std::min(n, m), u);
      const Program& program = imports[f].module.programs[0];
      const Outcome outcome = interpret(program, inputs_among(functions[f], program, arguments));
      plain.call(f, arguments);
      for (std::size_t k = 0; k < arguments.size(); ++k)
        if (functions[f].arguments[k].result >= 0) {
          const Data& result = outcome.results[static_cast<std::size_t>(functions[f].arguments[k].result)];
          ASSERT_TRUE(identical(result, arguments[k]))
              << functions[f].arguments[k].name << " for n = " << n << ", m = " << m << ", u = " << u << "\n"
              << texts[f] << print(program);
        }
    }
}

}  // namespace
}  // namespace twill

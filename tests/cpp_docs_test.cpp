// The tutorial docs/cpp.md: its code is the code of examples/cpp/tutorial.cpp, which is compiled here and
// builds the programs that the text form builds.
#include "../examples/cpp/tutorial.cpp"

#include "program/text.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>

namespace twill {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(std::filesystem::path(TWILL_ROOT) / path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Name and code of all matches.
std::map<std::string, std::string> regions(const std::string& text, const std::string& pattern) {
  std::map<std::string, std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
    found[(*it)[1]] = (*it)[2];
  return found;
}

TEST(CppDocs, ShowTheCodeOfTheExamples) {
  const auto compiled = regions(read("examples/cpp/tutorial.cpp") + read("examples/cpp/smooth.cpp"),
                                R"(// \[(\w+)\]\n([^]*?)// \[end\])");
  const auto shown = regions(read("docs/cpp.md"), R"(<!-- (\w+) -->\n```cpp\n([^]*?)```)");
  EXPECT_EQ(shown, compiled);
  EXPECT_GE(shown.size(), 10u);
}

TEST(CppDocs, TheCompleteProgramCompilesLinksAndRuns) {
  const auto commands = regions(read("docs/cpp.md"), R"(```(sh)\n([^]*?)```)");
  ASSERT_EQ(commands.size(), 1U);
  std::string command = commands.at("sh");
  const std::filesystem::path build = std::filesystem::path(TWILL_BINARY).parent_path();
  const std::filesystem::path made = build / "smooth_of_the_page";
  command = std::regex_replace(command, std::regex("-Lbuild/src"), "-L" + (build / "src").string());
  command = std::regex_replace(command, std::regex("-o smooth"), "-o " + made.string());
  command = std::regex_replace(command, std::regex("\\./smooth"), made.string());
  command = "cd " + std::string(TWILL_ROOT) + " && " + command;
  std::string output;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  for (char buffer[256]; std::fgets(buffer, sizeof buffer, pipe);) output += buffer;
  EXPECT_EQ(::pclose(pipe), 0);
  EXPECT_EQ(output, "0.333333\n1.66667\n4.66667\n9.66667\n13.6667\n");
  std::filesystem::remove(made);
}

TEST(CppDocs, HaveNoOtherCode) {
  const std::string page = read("docs/cpp.md");
  const auto count = [&](const std::string& what) {
    int n = 0;
    for (std::size_t at = page.find(what); at != std::string::npos; at = page.find(what, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("```cpp"), count("<!-- "));
}

TEST(CppDocs, ExamplesMeanWhatTheTextMeans) {
  const std::vector<std::pair<Program, std::string>> examples = {
      {tutorial::blur(), R"(def blur(img: f32[H, W]) -> by {
         w = [0.0625, 0.25, 0.375, 0.25, 0.0625]
         bx[y, x] = sum(k < 5) w[k] * img[y, clamp(x + k - 2)]
         by[y, x] = sum(k < 5) w[k] * bx[clamp(y + k - 2), x]
       })"},
      {tutorial::softmax(), R"(def softmax(x: f32[N, M]) -> y {
         m[i]    = max(j) x[i, j]
         e[i, j] = exp(x[i, j] - m[i])
         s[i]    = sum(j) e[i, j]
         y[i, j] = e[i, j] / s[i]
       })"},
      {tutorial::spmv(), R"(def spmv(ptr: i32[R + 1], col: i32[Z], val: f32[Z], x: f32[C]) -> y {
         y[r] = sum(p in ptr[r] .. ptr[r + 1]) val[p] * x[col[p]]
       })"},
      {tutorial::link(), R"(
       type Match = { id: i64, weight: f64 }
       op better(a: Match, b: Match) -> Match associative commutative {
         identity { id: max(i64), weight: -inf }
         if a.weight > b.weight or (a.weight == b.weight and a.id < b.id) then a else b
       }
       def link(w: f64[N, M], id: i64[M]) -> best { best[n] = fold(better, e) { id: id[e], weight: w[n, e] } })"},
      {tutorial::running(), R"(def running(b: f32[N]) -> (c, r, x) {
         c[i] = scan(+, i) b[i]
         r[i] = scan_right(max, i) b[i]
         x[i] = seq(i) 0.5 * (b[i] + (if i > 0 then x[i-1] else 0))
       })"},
      {tutorial::heat(), R"(def heat(u0: f32[H, W], T: i32) -> u {
         u = seq t < T from u0 {
           u[y, x] = 0.25 * (u[y-1, x] + u[y+1, x] + u[y, x-1] + u[y, x+1])   where 0 < y < H-1, 0 < x < W-1
         }
       })"},
      {tutorial::newton(),
       "def newton(a: f64) -> r { r = seq while abs(r*r - a) > 1e-12 from a { r = 0.5 * (r + a / r) } }"},
      {tutorial::histogram(), "def histogram(x: u8[N]) -> h: i64[256] { h = scatter(+) { x[i] <- 1 | i } }"},
      {tutorial::revenue(), R"(
       type Order = { id: i64, customer: i32, amount: f64 }
       def revenue(o: Order[N]) -> (total, by_customer) {
         big = [ x_1 | x_1 in o, x_1.amount > 1000.0 ]
         amounts = [ x_2.amount | x_2 in big ]
         by_customer = group(+) [ (x_3.customer, x_3.amount) | x_3 in big ]
         total = sum [ x_4 | x_4 in amounts ]
       })"},
      {tutorial::orders(), R"(
       type Order = { id: i64, customer: i32, amount: f64 }
       def orders(o: Order[N]) -> (big, by_customer) {
         big = [ x.id | x in o, x.amount > 1000.0 ]
         by_customer = group(+) [ (x.customer, x.amount) | x in o ]
       })"},
      {tutorial::sums(),
       "def sums(x: f64[N, M]) -> (s, p) { (s[i], p[i]) = (sum(j) x[i, j], product(j) x[i, j]) }"},
      {tutorial::matmul(),
       "def matmul(a: f32[I, K], b: f32[K, J]) -> c { c[i, j] = sum(k) a[i, k] * b[k, j] }"},
  };
  for (const auto& [built, text] : examples) {
    const Program parsed = parse_program("test.twill", text);
    EXPECT_TRUE(same(built, parsed)) << "from C++:\n" << print(built) << "\nfrom text:\n" << print(parsed);
  }
}

}  // namespace
}  // namespace twill

// Errors of the text language: the exact words, the place, and that one mistake is reported once.
#include "base/error.h"
#include "program/text.h"

#include <gtest/gtest.h>

namespace twill {
namespace {

std::string errors_of(const std::string& text) {
  try {
    parse("t.twill", text);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

/// Without the excerpt of the line: messages and helps only.
std::string messages_of(const std::string& text) {
  std::string all;
  try {
    parse("t.twill", text);
  } catch (const Error& e) {
    for (const Diagnostic& d : e.diagnostics())
      all += std::to_string(d.place.line) + ":" + std::to_string(d.place.column) + " " + d.code + " " +
             d.message + (d.help.empty() ? "" : " (" + d.help + ")") + "\n";
    return all;
  }
  return "no error";
}

TEST(TextErrors, PointAtThePlaceAndSuggest) {
  EXPECT_EQ(errors_of("def f(img: f32[N]) -> y { y[i] = imgg[i] }"),
            "t.twill:1:34: error[E0201]: unknown name 'imgg'\n"
            "    def f(img: f32[N]) -> y { y[i] = imgg[i] }\n"
            "                                     ^^^^\n"
            "  help: did you mean 'img'?\n");
}

TEST(TextErrors, SeveralAreReported) {
  EXPECT_EQ(messages_of("def f(x: f32[N]) -> y {\n  a[i] = x[i]]\n  b[i] = = 3\n  y[i] = x[i] +\n}\n"
                        "def g(x: f32[N) -> y { y[i] = x[i] }\n"),
            "2:14 E0110 expected the end of the statement, found ']'\n"
            "3:10 E0110 expected an expression, found '='\n"
            "5:1 E0110 expected an expression, found '}'\n"
            "6:15 E0110 expected ']', found ')'\n");
}

TEST(TextErrors, NothingAccumulatesInsideOfAScan) {
  EXPECT_EQ(messages_of("def f(x: f64[N], a: f64[N, M]) -> y { y[i] onto x = scan(+, i) sum(k) a[i, k] }"),
            "1:39 E0318 in stage 'y': output 'y' accumulates inside of a scan (fold onto the array in a stage of "
            "its own, and scan that)\n");
}

TEST(TextErrors, ConsequencesAreNotReported) {
  EXPECT_EQ(
      messages_of("def g(x: f33[N]) -> y { a[i] = x[i]; y[i] = a[i] }\ndef h(x: f32[N]) -> y { y = g(x) }\n"),
      "1:10 E0210 unknown type 'f33' (did you mean 'f32'?)\n");
}

struct Case {
  const char* text;
  const char* messages;
};

TEST(TextErrors, ExactText) {
  const Case cases[] = {
      {"def f(x: f32[N]) -> y { y[i] = x[i + 1] }",
       "1:27 E0233 nothing tells how far 'i' runs (no array has 'i' alone as a subscript; write i < N)\n"},
      {"def f(x: f32[N]) -> z { y[i] = x[i] }", "1:21 E0208 the result 'z' is never defined\n"},
      {"def f(x: f32[N]) -> y { y[i] = x[i] ^ 2 }",
       "1:37 E0101 unexpected character '^' (write pow(a, b) for powers, xor(a, b) for bits)\n"},
      {"def f(x: f32[N]) -> y { y[i] = 1.5q * x[i] }",
       "1:32 E0103 this is not a number: unknown suffix 'q' (a suffix is a number type, as in 1.5f32 or "
       "255u8)\n"},
      {"def f(x: f32[N]) -> y { y[i] = x[i] + 300u8 }",
       "1:39 E0104 this number does not fit the type 'u8'\n"},
      {"def f(x: f32[N]) -> y { y[i] = \"abc }", "1:32 E0102 this string has no closing quote\n"},
      {"def f(x: f32[N]) -> y { y[i] = x[i]", "1:23 E0113 this '{' is never closed\n"},
      {"extern \"blas.h\"", "1:1 E0120 black boxes ('extern') are not supported\n"},
      {"def f(x: f32[N], t: f32) -> y { y[i] = x[i] * x[t] }",
       "1:49 E0230 a subscript, bound or size is an integer, not 'f32' (convert it explicitly: i64(...))\n"},
      {"def f(x: f32[N]) -> y { y[i] = x[i]; y[j] = x[j] }",
       "1:38 E0203 'y' is already defined (values never change: choose another name, or carry a state with "
       "seq)\n"},
      {"def f(x: f32[N, M]) -> y { y[i] = x[i] }", "1:35 E0232 'x' has 2 dimensions, not 1\n"},
      {"def f(x: f32[N]) -> y { h = scatter(+) { i <- 1 | i < 3 }; y = x }",
       "1:29 E0243 nothing tells the shape of 'h' (declare it: h: i64[256] = scatter(+) { ... })\n"},
      {"def f(x: f32[N]) -> s { s = fold(better, i) x[i] }", "1:29 E0227 unknown operator 'better'\n"},
      {"def f(x: f32[N]) -> y { y[i] = sqr(x[i]) }",
       "1:32 E0202 unknown function 'sqr' (did you mean 'sqrt'?)\n"},
      {"def f(x: f32[N]) -> y { y[i] = 1 + scan(+, i) x[i] }",
       "1:36 E0211 'scan' stands first on the right-hand side (name it in a statement of its own)\n"},
      {"def f(u0: f32[N]) -> u { u = seq t < 3 from u0 { v[i] = u[i] } }",
       "1:26 E0241 the body of the loop does not define the next 'u'\n"},
      {"def f(u0: f32[N]) -> u { u = seq while max(i) u[i] > 1 from u0 { u[i] = 0.5 * u[i] } }",
       "1:40 E0257 a fold in the condition of a loop is not supported (carry its value: (u, change) = seq "
       "while "
       "change > eps from (u0, 1.0) { ... })\n"},
      {"def f(x: f32[N]) -> y { if x[0] > 0 { y[i] = x[i] } }",
       "1:53 E0110 expected 'else', found '}' (an 'if' between stages needs both branches)\n"},
      {"type P = { a: f32 }\ndef f(x: P[N]) -> y { y[i] = x[i].b }", "2:30 E0214 'P' has no field 'b'\n"},
      {"def f(x: f32[N]) -> y { y[i] = clamp(x[i]) }",
       "1:32 E0236 'clamp' is the boundary rule of a subscript (use it as in x[clamp(i - 1)])\n"},
      {"def f(x: f32[N]) -> y { y[i] = x[i] }\ntest \"t\" { y = ff([1.0]) }",
       "2:16 E0202 unknown definition 'ff' (did you mean 'f'?)\n"},
      {"def f(x: f32[N]) -> y { y[i] = x[i] }\ntest \"t\" { y = f(random(f64[3])) }",
       "2:18 E0263 the argument 'x' of 'f' is 'f32', not 'f64'\n"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(messages_of(c.text), c.messages);
  }
}

TEST(TextErrors, NothingIsTooDeepTooLargeOrTooStrange) {
  const auto repeated = [](const std::string& part, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += part;
    return all;
  };
  const std::string head = "def f(x: f32[N]) -> y { y[i] = ";
  EXPECT_NE(messages_of(head + repeated("(", 9000)).find("E0111 this is too deeply nested"),
            std::string::npos);
  EXPECT_NE(messages_of(head + repeated("-", 9000) + "x[i] }").find("E0111"), std::string::npos);
  EXPECT_NE(messages_of(head + repeated("x[i] + ", 9000) + "x[i] }")
                .find("E0111 this expression is too deeply nested"),
            std::string::npos);
  EXPECT_NE(messages_of("def f(x: f32[N]) -> y { " + repeated("if x[0] > 0 { ", 9000)).find("E0111"),
            std::string::npos);
  EXPECT_EQ(messages_of(head + "99999999999999999999999 }"),
            "1:32 E0104 this number is too large (the largest integer is 18446744073709551615u64)\n");
  EXPECT_EQ(messages_of("# \xff"), "1:3 E0105 a byte in a comment is not UTF-8 (save the file as UTF-8)\n");
  std::string chain = "def f0(x: f32[N]) -> y { y[i] = x[i] + 1 }\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "f" + std::to_string(i - 1);
    chain += "def f" + std::to_string(i) + "(x: f32[N]) -> y { y = " + before + "(" + before + "(x)) }\n";
  }
  EXPECT_EQ(messages_of(chain),
            "1:26 E0250 this definition has more than 4000 stages after its calls are expanded\n");
}

}  // namespace
}  // namespace twill

// Errors of the text language: that one mistake is reported once, and that no text is too strange. The exact
// words of each error are in tests/errors/.
#include "base/error.h"
#include "program/text.h"

#include <gtest/gtest.h>

namespace twill {
namespace {

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

TEST(TextErrors, SeveralAreReported) {
  EXPECT_EQ(messages_of("def f(x: f32[N]) -> y {\n  a[i] = x[i]]\n  b[i] = = 3\n  y[i] = x[i] +\n}\n"
                        "def g(x: f32[N) -> y { y[i] = x[i] }\n"),
            "2:14 E0110 expected the end of the statement, found ']'\n"
            "3:10 E0110 expected an expression, found '='\n"
            "5:1 E0110 expected an expression, found '}'\n"
            "6:15 E0110 expected ']', found ')'\n");
}

TEST(TextErrors, OfManyTheFirstAreShown) {
  std::string text;
  for (int k = 0; k < 50; ++k) text += "\x1b[0m ";
  try {
    parse("t.twill", text);
    FAIL() << "it was accepted";
  } catch (const Error& e) {
    const std::string shown = e.what();
    EXPECT_EQ(shown.substr(0, shown.find('\n')), "t.twill:1:1: error[E0101]: unexpected control character");
    EXPECT_EQ(shown.find('\x1b'), std::string::npos);
    EXPECT_NE(shown.find("\n    \\x1b[0m \\x1b[0m "), std::string::npos);
    EXPECT_TRUE(shown.ends_with("\nand 80 more\n")) << shown.substr(shown.size() - 40);
  }
}

TEST(TextErrors, ControlCharactersAreEscaped) {
  try {
    parse("t.twill", "def f(x: f32[N]) -> y { y[i] = x[i] + `a\x07`[i] }\r\n");
    FAIL() << "it was accepted";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "t.twill:1:39: error[E0201]: unknown name 'a\\x07'\n"
                 "    def f(x: f32[N]) -> y { y[i] = x[i] + `a\\x07`[i] }\n"
                 "                                          ^^^^^^^\n"
                 "  help: no input, size or index has this name, and no statement above defines it\n");
  }
}

TEST(TextErrors, NothingAccumulatesInsideOfAScan) {
  EXPECT_EQ(
      messages_of("def f(x: f64[N], a: f64[N, M]) -> y { y[i] onto x = scan(+, i) sum(k) a[i, k] }"),
      "1:39 E0318 in stage 'y': output 'y' accumulates inside of a scan (fold onto the array in a stage of "
      "its own, and scan that)\n");
}

TEST(TextErrors, ConsequencesAreNotReported) {
  EXPECT_EQ(
      messages_of("def g(x: f33[N]) -> y { a[i] = x[i]; y[i] = a[i] }\ndef h(x: f32[N]) -> y { y = g(x) }\n"),
      "1:10 E0210 unknown type 'f33' (did you mean 'f32'?)\n");
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
  EXPECT_EQ(messages_of("def \xff"), "1:5 E0105 a byte is not UTF-8 (save the file as UTF-8)\n");
  EXPECT_EQ(messages_of("def \x01"), "1:5 E0101 unexpected control character\n");
  std::string chain = "def f0(x: f32[N]) -> y { y[i] = x[i] + 1 }\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "f" + std::to_string(i - 1);
    chain += "def f" + std::to_string(i) + "(x: f32[N]) -> y { y = " + before + "(" + before + "(x)) }\n";
  }
  EXPECT_EQ(messages_of(chain),
            "1:26 E0250 this definition has more than 20000 stages after its calls are expanded\n");
}

}  // namespace
}  // namespace twill

// Parser of the text language: files, declarations and tests.
#include "program/text_names.h"
#include "program/text_parser.h"

#include <algorithm>

namespace twill::text {
namespace {

constexpr int max_nesting = 200;

const std::set<std::string, std::less<>>& declaration_words() {
  static const std::set<std::string, std::less<>> words = {"def",  "strict", "type",   "fn",      "op",
                                                           "test", "effect", "extern", "schedule"};
  return words;
}

}  // namespace

Parser::Parser(const std::shared_ptr<const SourceText>& source, std::vector<Diagnostic>& errors)
    : tokens_(lex(source, errors)), errors_(errors) {
  for (std::size_t i = 0; i + 1 < tokens_.size(); ++i)
    if (tokens_[i].text == "type" && tokens_[i].kind == TokenKind::Name &&
        tokens_[i + 1].kind == TokenKind::Name)
      record_names_.insert(tokens_[i + 1].text);
  for (std::size_t i = 0; i + 1 < tokens_.size(); ++i)
    if (tokens_[i].text == "effect" && tokens_[i].kind == TokenKind::Name &&
        tokens_[i + 1].kind == TokenKind::Name)
      effect_names_.insert(tokens_[i + 1].text);
}

Parser::Depth::Depth(Parser& p) : parser(p) {
  if (parser.depth_ >= max_nesting)
    parser.error("E0111", parser.peek().place, "this is too deeply nested",
                 "name a part of it in a statement of its own");
  ++parser.depth_;
}

// ---- tokens ---------------------------------------------------------------------------------------

const Token& Parser::peek(std::size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

const Token& Parser::take() {
  const Token& token = peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool Parser::at(std::string_view what) const {
  const Token& token = peek();
  return (token.kind == TokenKind::Symbol || (token.kind == TokenKind::Name && !token.quoted)) &&
         token.text == what;
}

bool Parser::at_name() const {
  return peek().kind == TokenKind::Name && (peek().quoted || !is_reserved(peek().text));
}

bool Parser::accept(std::string_view what) {
  if (!at(what)) return false;
  take();
  return true;
}

const Token& Parser::expect(std::string_view what) {
  if (!at(what)) expected("'" + std::string(what) + "'");
  return take();
}

const Token& Parser::expect_name(const char* what) {
  if (!at_name())
    expected(what, peek().kind == TokenKind::Name
                       ? "'" + peek().text + "' is reserved; in backquotes it is a name"
                       : "");
  return take();
}

std::string Parser::found() const {
  const Token& token = peek();
  switch (token.kind) {
    case TokenKind::End: return "the end of the file";
    case TokenKind::Number: return "a number";
    case TokenKind::String: return "a string";
    default: return "'" + token.text + "'";
  }
}

void Parser::error(std::string code, const Place& place, std::string message, std::string help) {
  errors_.push_back({Fault::User, std::move(code), place, std::move(message), std::move(help)});
  throw Abandon{};
}

/// The brace that closes a block. Of several that are never closed, the innermost is reported.
void Parser::close(const Token& open) {
  if (accept("}")) return;
  const auto unclosed = [](const Diagnostic& d) { return d.code == "E0113"; };
  if (peek().kind == TokenKind::End && std::any_of(errors_.begin(), errors_.end(), unclosed)) throw Abandon{};
  error("E0113", open.place, "this '{' is never closed");
}

/// How it is written here, for who knows it from another language.
std::string Parser::help_for_habits() const {
  const auto is = [&](std::string_view text, const Token& token) {
    return token.kind != TokenKind::String && token.text == text;
  };
  const bool first = at_ == 0 || tokens_[at_ - 1].place.line != peek().place.line;
  const auto after = [&](std::string_view text) { return !first && is(text, tokens_[at_ - 1]); };
  if (is("*", peek()) && after("*")) return "a power is written pow(a, b)";
  if (is("/", peek()) && after("/"))
    return "a remark begins with #, and a quotient of integers is rounded down: a / b";
  for (const char* sign : {"+", "-", "*", "/"})
    if (is(sign, peek()) && is("=", peek(1)))
      return std::string(
          "nothing is changed in place: a fold has a result, s = sum(i) x[i], and so has a new "
          "version, y = x with(+) { i <- v[i] | i }");
  if (is("for", peek()) && !first) return "write [ e | x in xs, condition ]";
  if (is("if", peek()) && !first)
    return "a choice is written: if c then a else b; in a comprehension: [ e | x in xs, c ]";
  if (is("while", peek())) return "a loop has a state: u = seq while c from u0 { u = ... }";
  if (is("let", peek()) && first) return "a definition needs no word: a = 3";
  if (is(":", peek()) && after(")")) return "results and body follow: def f(x: f32[N]) -> y { ... }";
  return {};
}

void Parser::expected(const std::string& what, std::string help) {
  if (help.empty()) help = help_for_habits();
  error("E0110", peek().place, "expected " + what + ", found " + found(), std::move(help));
}

/// The span from `start` to the last token taken, cut at the end of the line.
Place Parser::from(const Place& start) const {
  Place place = start;
  if (at_ == 0) return place;
  const Place& last = tokens_[at_ - 1].place;
  if (last.line == start.line && last.column >= start.column)
    place.length = last.column + last.length - start.column;
  else if (last.line > start.line) {
    const std::size_t line = line_text(start).size();
    if (line + 1 > start.column) place.length = static_cast<std::uint32_t>(line + 1 - start.column);
  }
  return place;
}

// ---- declarations ---------------------------------------------------------------------------------

bool Parser::at_declaration() const {
  const Token& next = peek(1);
  return peek().kind == TokenKind::Name && !peek().quoted && declaration_words().contains(peek().text) &&
         peek().place.column == 1 && (next.kind == TokenKind::Name || next.kind == TokenKind::String);
}

void Parser::skip_to_declaration() {
  while (peek().kind != TokenKind::End && !(peek().newline && at_declaration())) take();
}

File Parser::file() {
  File file;
  if (!errors_.empty()) return file;  // what is no token would only cause more errors
  while (peek().kind != TokenKind::End && errors_.size() <= 100) {
    if (accept(";")) continue;
    const std::size_t start = at_;
    try {
      declaration(file);
    } catch (const Abandon&) {
      depth_ = nest_ = 0;
      if (at_ == start) take();
      skip_to_declaration();
    }
  }
  return file;
}

void Parser::declaration(File& file) {
  in_test_ = false;
  if (at("extern") || at("schedule")) {
    const Token& word = take();
    errors_.push_back(
        {Fault::Limit,
         "E0120",
         word.place,
         word.text == "extern" ? "black boxes ('extern') are not supported" : "schedules are not supported",
         {}});
    throw Abandon{};
  }
  if (at("def") || at("strict")) {
    file.definitions.push_back(definition());
  } else if (at("type")) {
    file.types.push_back(type_declaration());
  } else if (at("fn")) {
    file.functions.push_back(function(false));
  } else if (at("op")) {
    file.functions.push_back(function(true));
  } else if (at("effect")) {
    take();
    expect_name("the name of the effect");
  } else if (at("test")) {
    file.tests.push_back(test());
  } else {
    expected("'def', 'type', 'fn', 'op', 'effect' or 'test'",
             peek().kind == TokenKind::Name
                 ? did_you_mean(peek().text, {"def", "type", "fn", "op", "effect", "test", "strict"})
                 : "");
  }
}

TypeDecl Parser::type_declaration() {
  take();
  TypeDecl decl;
  const Token& name = expect_name("the name of the type");
  decl.place = name.place;
  decl.name = name.text;
  expect("=");
  expect("{");
  const Nest nest = inside();
  while (!at("}")) {
    if (peek().kind != TokenKind::Name) expected("the name of a field");
    const Token field = take();
    expect(":");
    decl.fields.push_back({field.place, field.text, type(false)});
    if (!accept(",") && !accept(";")) break;
  }
  expect("}");
  return decl;
}

FunctionDecl Parser::function(bool is_operator) {
  take();
  FunctionDecl f;
  f.is_operator = is_operator;
  const Token& name = expect_name(is_operator ? "the name of the operator" : "the name of the function");
  f.place = name.place;
  f.name = name.text;
  const auto properties = [&] {
    for (;;) {
      if (accept("associative"))
        f.associative = true;
      else if (accept("commutative"))
        f.commutative = true;
      else
        return;
    }
  };
  if (accept("(")) {
    const Nest nest = inside();
    while (!at(")")) {
      if (is_operator && peek(1).text != ":") {  // op name(type) = +
        f.result = type(false);
        break;
      }
      const Token parameter = expect_name("the name of a parameter");
      expect(":");
      f.parameters.push_back({parameter.place, parameter.text, type(false)});
      if (!accept(",")) break;
    }
    expect(")");
  }
  if (accept("->")) f.result = type(false);
  if (is_operator && accept("=")) {
    f.source = operator_name();
    properties();
    if (at("{") && !at_line_start()) {
      take();
      const Nest nest = inside();
      if (!at("identity")) expected("'identity'");
      take();
      f.identity = expression();
      expect("}");
    }
    return f;
  }
  if (is_operator) properties();
  if (!is_operator && accept("=")) {
    f.body = expression();
    return f;
  }
  expect("{");
  const Nest nest(*this, 0);
  if (is_operator && at("identity")) {
    take();
    f.identity = expression();
    end_of_statement();
  }
  f.body = function_body();
  accept(";");
  expect("}");
  return f;
}

/// Local names, then the value; the names become nested lets.
AstPtr Parser::function_body() {
  const Depth depth(*this);
  if (!at_name() || peek(1).text != "=" || peek(1).kind != TokenKind::Symbol) return expression();
  const Token name = take();
  take();
  Ast node{.kind = AstKind::Let, .name = name.text};
  node.args.push_back(expression());
  end_of_statement();
  node.args.push_back(function_body());
  return finish(std::move(node), name.place);
}

ResultAst Parser::result() {
  ResultAst r;
  const Token& name = expect_name("the name of a result");
  r.place = name.place;
  r.name = name.text;
  if (accept(".")) {
    if (peek().kind != TokenKind::Name) expected("'values', 'offsets' or 'keys'");
    r.part = take().text;
    r.place = from(r.place);
    if (r.part != "values" && r.part != "offsets" && r.part != "keys")
      error("E0112", r.place, "a result has no part '" + r.part + "'",
            "the parts of a collection are 'values', 'offsets' and 'keys'");
  }
  if (accept(":")) r.type = type(true);
  return r;
}

Definition Parser::definition() {
  Definition d;
  d.strict = accept("strict");
  expect("def");
  const Token& name = expect_name("the name of the definition");
  d.place = name.place;
  d.name = name.text;
  expect("(");
  {
    const Nest nest = inside();
    while (!at(")")) {
      InputAst input;
      const Token& input_name = expect_name("the name of an input");
      input.place = input_name.place;
      input.name = input_name.text;
      expect(":");
      input.type = type(true);
      if (accept("=")) input.fallback = expression();
      d.inputs.push_back(std::move(input));
      if (!accept(",")) break;
    }
    expect(")");
  }
  if (accept("->")) {
    if (accept("(")) {
      const Nest nest = inside();
      while (!at(")")) {
        d.results.push_back(result());
        if (!accept(",")) break;
      }
      expect(")");
    } else {
      d.results.push_back(result());
    }
  }
  d.statements = statements();
  return d;
}

// ---- tests ------------------------------------------------------------------------------------------

TestDecl Parser::test() {
  take();
  TestDecl t;
  if (peek().kind != TokenKind::String) expected("the name of the test, a string");
  const Token& name = take();
  t.place = name.place;
  t.name = name.text;
  const Token open = expect("{");
  const Nest nest(*this, 0);
  in_test_ = true;
  while (!at("}") && peek().kind != TokenKind::End && !(peek().newline && at_declaration())) {
    if (accept(";")) continue;
    guarded_statement([&] { test_statement(t.statements); });
  }
  close(open);
  return t;
}

void Parser::test_statement(std::vector<TestStatement>& list) {
  TestStatement s;
  s.place = peek().place;
  if (!at("expect")) {
    if (accept("(")) {
      const Nest nest = inside();
      while (!at(")")) {
        s.targets.push_back(target());
        if (!accept(",")) break;
      }
      expect(")");
    } else {
      s.targets.push_back(target());
    }
    s.place = from(s.place);
    expect("=");
    s.value = expression();
    list.push_back(std::move(s));
    return;
  }
  take();
  if (at("error") && peek(1).kind == TokenKind::String) {
    take();
    s.kind = TestStatement::Kind::ExpectError;
    s.text = take().text;
    s.place = from(s.place);
    list.push_back(std::move(s));
    return;
  }
  do {
    TestStatement item;
    item.kind = TestStatement::Kind::Expect;
    const std::size_t start = at_;
    item.place = peek().place;
    item.value = expression();
    item.place = from(item.place);
    for (std::size_t i = start; i < at_; ++i) {
      const Place& place = tokens_[i].place;
      if (i > start) {
        const Place& before = tokens_[i - 1].place;
        if (place.line != before.line || place.column > before.column + before.length) item.text += ' ';
      }
      item.text += line_text(place).substr(place.column - 1, place.length);
    }
    list.push_back(std::move(item));
  } while (accept(","));
}

File parse_file(const std::shared_ptr<const SourceText>& source, std::vector<Diagnostic>& errors) {
  return Parser(source, errors).file();
}

}  // namespace twill::text

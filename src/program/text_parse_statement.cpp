// Parser of the text language: statements, blocks and the general stage.
#include "program/text_parser.h"

#include <algorithm>

namespace twill::text {

/// Parses one statement; after an error goes on behind it.
void Parser::guarded_statement(const std::function<void()>& body) {
  const std::size_t start = at_;
  const int depth = depth_;
  try {
    const Nest nest(*this, 0);
    body();
    end_of_statement();
  } catch (const Abandon&) {
    depth_ = depth;
    if (errors_.size() > 100) throw;
    if (at_ == start && !at("}") && peek().kind != TokenKind::End) take();
    int open = 0;  // braces of the statement that the error is in
    for (std::size_t t = start; t < at_; ++t) {
      if (tokens_[t].quoted) continue;
      open += tokens_[t].text == "{" ? 1 : tokens_[t].text == "}" ? -1 : 0;
    }
    skip_statement(std::max(open, 0));
  }
}

void Parser::end_of_statement() {
  if (accept(";")) return;
  if (peek().newline || at("}") || peek().kind == TokenKind::End) return;
  expected("the end of the statement");
}

void Parser::skip_statement(int open) {
  while (peek().kind != TokenKind::End) {
    if (open == 0 && (at("}") || peek().newline)) return;
    if (peek().newline && at_declaration()) return;
    if (at("{")) ++open;
    if (at("}")) --open;
    if (take().text == ";" && open == 0) return;
  }
}

std::vector<Statement> Parser::statements() {
  const Depth depth(*this);
  const Token start = expect("{");
  const Nest nest(*this, 0);
  std::vector<Statement> list;
  while (!at("}") && peek().kind != TokenKind::End && !(peek().newline && at_declaration())) {
    if (accept(";")) continue;
    guarded_statement([&] { list.push_back(statement()); });
  }
  close(start);
  return list;
}

Statement Parser::statement() {
  std::vector<Hint> hints;
  const Place start = peek().place;
  while (accept("@")) {
    const Token& word = expect_name("a hint");
    if (word.text == "never")
      hints.push_back(Hint::Never);
    else if (word.text == "always")
      hints.push_back(Hint::Always);
    else if (word.text == "recompute")
      hints.push_back(Hint::Recompute);
    else if (word.text == "remember")
      hints.push_back(Hint::Remember);
    else
      error("E0114", word.place, "unknown hint '@" + word.text + "'",
            "known are @never, @always, @recompute and @remember");
  }
  Statement s;
  if (at("if")) {
    s = if_statement();
  } else if (at("for")) {
    s = for_statement();
  } else if (at_effect()) {
    s = effect_statement();
  } else if (at("force") && peek(1).text == "(") {
    s.kind = Statement::Kind::Force;
    take();
    take();
    s.place = peek().place;
    s.name = expect_name("the name of an array").text;
    expect(")");
  } else if (at("stage") && peek(1).kind == TokenKind::Name) {
    s = stage();
  } else if (at("schedule") && peek(1).kind == TokenKind::Name) {
    errors_.push_back({Fault::Limit, "E0120", peek().place, "schedules are not supported", {}});
    throw Abandon{};
  } else if (at_call()) {
    unknown_effect();
    s = effect_statement();
  } else {
    s = definition_statement();
  }
  if (!s.place) s.place = start;
  s.hints = std::move(hints);
  return s;
}

Target Parser::target() {
  Target t;
  const Token& name = expect_name("the name of an array");
  t.place = name.place;
  t.name = name.text;
  if (at("[") && !at_line_start()) {
    take();
    const Nest nest = inside();
    t.indexed = true;
    t.indices = generators("]");
    expect("]");
  }
  if (accept(":")) {
    if (at("=")) expected("a type", "a definition is written with = alone");
    t.type = type(true);
  }
  if (at("into") || at("onto")) {
    t.onto = take().text == "onto";
    const Token& into = expect_name("the name of an array");
    t.into = into.text;
    t.into_place = into.place;
  }
  return t;
}

Statement Parser::definition_statement() {
  Statement s;
  s.place = peek().place;
  if (at("const") && peek(1).kind == TokenKind::Name) {
    take();
    s.kind = Statement::Kind::Const;
    s.targets.push_back(target());
    expect("=");
    s.value = expression();
    return s;
  }
  if (at("(")) {
    take();
    const Nest nest = inside();
    while (!at(")")) {
      s.targets.push_back(target());
      if (!accept(",")) break;
    }
    expect(")");
  } else if (at_name()) {
    s.targets.push_back(target());
  } else {
    expected("a statement");
  }
  if (s.targets.size() == 1 && s.targets[0].name == "return" && !at("="))
    expected("'='", "there is no return: results are named in the head of the definition, -> y");
  expect("=");
  right_hand_side(s);
  s.place = s.targets.size() == 1 ? s.targets[0].place : from(s.place);
  return s;
}

void Parser::right_hand_side(Statement& s) {
  if (at("seq") && peek(1).text != "(") return loop(s);
  s.value = expression();
  if (at("with")) {
    const Place& start = s.value->place;
    if (s.value->kind != AstKind::Name)
      error("E0112", start, "'with' makes a new version of a named array",
            "name the array in a statement of its own");
    take();
    Ast node{.kind = AstKind::With, .name = s.value->name};
    if (accept("(")) {
      node.op = operator_name();
      expect(")");
    }
    arrows(node);
    s.value = finish(std::move(node), start);
  }
  if (accept("where")) {
    do s.where.push_back(expression());
    while (accept(","));
  }
}

/// `seq t < T from u0 { … }`, `seq t in a .. b from …`, `seq [n] while c from …`.
void Parser::loop(Statement& s) {
  take();
  s.kind = Statement::Kind::Loop;
  if (!at("while")) s.name = expect_name("the index of the loop").text;
  if (accept("while")) {
    s.value = expression();
  } else if (accept("in")) {
    s.lo = expression();
    expect("..");
    s.hi = expression();
  } else if (accept("<")) {
    s.hi = binary(5);
  } else {
    expected("'<', 'in' or 'while'", "a loop is written: u = seq t < T from u0 { … }");
  }
  expect("from");
  if (s.targets.size() > 1 && accept("(")) {
    const Nest nest = inside();
    s.from = comma_list(")");
    expect(")");
  } else {
    const BeforeBlock before(*this);
    s.from.push_back(expression());
  }
  s.body = statements();
}

Statement Parser::if_statement() {
  const Depth depth(*this);
  Statement s;
  s.kind = Statement::Kind::If;
  s.place = expect("if").place;
  {
    const BeforeBlock before(*this);
    s.value = expression();
  }
  s.place = from(s.place);
  s.body = statements();
  if (!at("else")) expected("'else'", "an 'if' between stages needs both branches");
  take();
  if (at("if"))
    s.otherwise.push_back(if_statement());
  else
    s.otherwise = statements();
  return s;
}

Statement Parser::for_statement() {
  Statement s;
  s.kind = Statement::Kind::For;
  s.place = expect("for").place;
  {
    const BeforeBlock before(*this);
    s.generators = generators("{");
  }
  s.place = from(s.place);
  const Token start = expect("{");
  const Nest nest(*this, 0);
  while (!at("}") && peek().kind != TokenKind::End && !(peek().newline && at_declaration())) {
    if (accept(";")) continue;
    guarded_statement([&] {
      const bool named = peek().kind == TokenKind::Name && peek(1).text == "(";
      if (!named)
        expected("'print' or another effect", "a 'for' holds effects; arrays are defined by formulas");
      if (!at_effect()) unknown_effect();
      s.prints.push_back(print());
    });
  }
  close(start);
  return s;
}

Statement Parser::effect_statement() {
  Statement s;
  s.kind = Statement::Kind::For;
  s.place = peek().place;
  s.prints.push_back(print());
  return s;
}

void Parser::unknown_effect() {
  errors_.push_back({Fault::User, "E0116", peek().place,
                     "'" + peek().text + "' is no effect that the file declares",
                     "write 'effect " + peek().text + "' beside the definitions"});
}

/// A call that is a statement by itself.
bool Parser::at_call() const {
  if (peek().kind != TokenKind::Name || peek(1).text != "(" || peek(1).newline) return false;
  std::size_t next = 2;
  for (int open = 1; open > 0 && peek(next).kind != TokenKind::End; ++next)
    open += peek(next).text == "(" ? 1 : peek(next).text == ")" ? -1 : 0;
  const Token& after = peek(next);
  return after.newline || after.text == "}" || after.text == ";" || after.kind == TokenKind::End;
}

bool Parser::at_effect() const {
  return peek().kind == TokenKind::Name && effect_names_.contains(peek().text) && peek(1).text == "(" &&
         !(peek(1).newline && nest_ == 0);
}

PrintAst Parser::print() {
  PrintAst p;
  const Token& name = take();
  p.kind = name.text;
  p.place = name.place;
  expect("(");
  {
    const Nest nest = inside();
    while (!at(")")) {
      Argument argument;
      if (peek().kind == TokenKind::String) {
        argument.is_text = true;
        argument.text = take().text;
      } else {
        argument.value = expression();
      }
      p.arguments.push_back(std::move(argument));
      if (!accept(",")) break;
    }
    expect(")");
  }
  p.place = from(p.place);
  if (accept("where")) p.guard = expression();
  return p;
}

// ---- the general stage --------------------------------------------------------------------------

DimAst Parser::stage_dimension() {
  DimAst dim;
  const Token& name = expect_name("an index");
  dim.place = name.place;
  dim.name = name.text;
  if (accept("<")) {
    dim.hi = binary(5);
  } else if (accept("in")) {
    dim.lo = binary(5);
    expect("..");
    if (!at("while")) dim.hi = binary(5);
  } else if (!at("while")) {
    expected("the range of '" + dim.name + "'", "write " + dim.name + " < N, or " + dim.name + " in a .. b");
  }
  if (accept("while")) dim.condition = expression();
  return dim;
}

BlockAst Parser::block() {
  const Depth depth(*this);
  const Token start = expect("{");
  const Nest nest(*this, 0);
  BlockAst b;
  while (!at("}") && peek().kind != TokenKind::End && !(peek().newline && at_declaration())) {
    if (accept(";")) continue;
    guarded_statement([&] {
      if (!at("carry") || peek(1).kind != TokenKind::Name) {
        b.statements.push_back(statement());
        return;
      }
      CarryAst carry;
      take();
      carry.place = peek().place;
      carry.inside = expect_name("the name of a state").text;
      expect(":");
      carry.type = type(true);
      expect("from");
      carry.init = expect_name("the name of an array").text;
      expect("next");
      carry.next = expect_name("the name of an array").text;
      b.carries.push_back(std::move(carry));
    });
  }
  close(start);
  return b;
}

Statement Parser::stage() {
  const Depth depth(*this);
  Statement s;
  s.kind = Statement::Kind::Stage;
  s.place = take().place;
  StageAst stage;
  const Token& name = expect_name("the name of the stage");
  stage.name = name.text;
  s.place = name.place;
  expect("(");
  {
    const Nest nest = inside();
    while (!at(")")) {
      stage.dims.push_back(stage_dimension());
      if (!accept(",")) break;
    }
    expect(")");
  }
  const Token open = expect("{");
  const Nest nest(*this, 0);
  while (!at("}") && peek().kind != TokenKind::End && !(peek().newline && at_declaration())) {
    if (accept(";")) continue;
    guarded_statement([&] {
      if (at("block") || at("if")) {
        if (stage.body != StageAst::Body::Formula)
          error("E0112", peek().place, "a stage has one block or one choice");
        if (at("block")) {
          stage.body = StageAst::Body::Block;
          take();
          stage.block = block();
        } else {
          stage.body = StageAst::Body::Branch;
          take();
          {
            const BeforeBlock before(*this);
            stage.condition = expression();
          }
          stage.block = block();
          expect("else");
          stage.otherwise = block();
        }
      } else if (at("out")) {
        stage.outs.push_back(out());
      } else if (at_effect()) {
        stage.prints.push_back(print());
      } else {
        expected("'out', 'print', 'block' or 'if'");
      }
    });
  }
  close(open);
  s.stage = std::make_shared<const StageAst>(std::move(stage));
  return s;
}

OutAst Parser::out() {
  OutAst o;
  take();
  if (at("force") && peek(1).kind == TokenKind::Name) {
    take();
    o.force = true;
  }
  const Token& name = expect_name("the name of an array");
  o.place = name.place;
  o.name = name.text;
  expect(":");
  o.type = type(true);
  const auto companion = [&](const char* word, std::optional<NamedType>& place) {
    if (!at(word)) return;
    take();
    const Token& companion_name = expect_name("the name of an array");
    place = NamedType{companion_name.place, companion_name.text, {}};
    expect(":");
    place->type = type(true);
  };
  companion("offsets", o.offsets);
  companion("keys", o.keys);
  if (at("at")) {
    take();
    expect("[");
    const Nest nest = inside();
    o.at = comma_list("]");
    expect("]");
  }
  if (at("into") || at("onto")) {
    o.onto = take().text == "onto";
    const Token& into = expect_name("the name of an array");
    o.into = into.text;
    o.into_place = into.place;
  }
  if (at("key")) {
    take();
    o.key = expression();
  }
  expect("=");
  static const std::set<std::string, std::less<>> words = {"cat",     "fold",  "scan", "scan_right", "append",
                                                           "scatter", "group", "seq",  "last"};
  while (peek().kind == TokenKind::Name && !peek().quoted && words.contains(peek().text) &&
         peek(1).text == "(") {
    CombineAst combine;
    combine.place = peek().place;
    combine.word = take().text;
    take();
    const Nest nest = inside();
    if (peek(1).text == ",") {
      combine.op = operator_name();
      take();
    }
    combine.dim = expect_name("an index").text;
    expect(")");
    combine.place = from(combine.place);
    o.combines.push_back(std::move(combine));
  }
  o.value = expression();
  if (accept("else")) o.otherwise = expression();
  if (accept("where")) o.guard = expression();
  return o;
}

}  // namespace twill::text

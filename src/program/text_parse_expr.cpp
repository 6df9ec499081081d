// Parser of the text language: expressions, generators and types.
#include "program/text_names.h"
#include "program/text_parser.h"

#include <algorithm>
#include <cmath>

namespace twill::text {
namespace {

constexpr int level_or = 1, level_and = 2, level_not = 3, level_compare = 4, level_sum = 5, level_product = 6;
constexpr int max_expression_depth = 600;

int binary_level(const Token& token) {
  if (token.quoted) return 0;
  if (token.kind == TokenKind::Name)
    return token.text == "or" ? level_or : token.text == "and" ? level_and : 0;
  if (token.kind != TokenKind::Symbol) return 0;
  if (token.text == "+" || token.text == "-") return level_sum;
  if (token.text == "*" || token.text == "/" || token.text == "%") return level_product;
  return 0;
}

/// Words that stand behind an expression, never first in one.
bool goes_on_behind(const std::string& word) {
  static const std::set<std::string, std::less<>> words = {"and",   "or",   "then", "else", "in",
                                                           "where", "with", "into", "from", "while"};
  return words.contains(word);
}

bool is_comparison(const Token& token) {
  static const std::set<std::string, std::less<>> symbols = {"==", "!=", "<", "<=", ">", ">=", "~"};
  return token.kind == TokenKind::Symbol && symbols.contains(token.text);
}

}  // namespace

AstPtr Parser::finish(Ast node, const Place& start) {
  node.place = from(start);
  for (const AstPtr& arg : node.args)
    if (arg) node.depth = std::max(node.depth, arg->depth + 1);
  for (const Generator& g : node.generators)
    for (const AstPtr& bound : {g.a, g.b})
      if (bound) node.depth = std::max(node.depth, bound->depth + 1);
  if (node.depth > max_expression_depth)
    error("E0111", start, "this expression is too deeply nested",
          "name a part of it in a statement of its own");
  return std::make_shared<const Ast>(std::move(node));
}

AstPtr Parser::expression() {
  const Depth depth(*this);
  return binary(level_or);
}

AstPtr Parser::binary(int level) {
  if (level == level_not) {
    if (!at("not")) return comparison();
    const Depth depth(*this);
    const Place start = take().place;
    Ast node{.kind = AstKind::Unary, .name = "not"};
    node.args = {binary(level_not)};
    return finish(std::move(node), start);
  }
  if (level == level_compare) return comparison();
  if (level > level_product) return unary();
  AstPtr left = binary(level + 1);
  while (binary_level(peek()) == level) {
    const std::string op = take().text;
    Ast node{.kind = AstKind::Binary, .name = op};
    node.args = {left, binary(level + 1)};
    left = finish(std::move(node), left->place);
  }
  return left;
}

AstPtr Parser::comparison() {
  AstPtr first = binary(level_sum);
  if (!is_comparison(peek())) return first;
  Ast node{.kind = AstKind::Compare};
  node.args = {first};
  while (is_comparison(peek())) {
    node.words.push_back(take().text);
    node.args.push_back(binary(level_sum));
  }
  return finish(std::move(node), first->place);
}

AstPtr Parser::unary() {
  const Depth depth(*this);
  if (at("not")) return binary(level_not);
  if (!at("-")) return postfix(primary());
  const Place start = take().place;
  if (peek().kind == TokenKind::Number && !at_line_start()) return postfix(number(true));
  if (at("inf")) {
    take();
    Ast node{.kind = AstKind::Number, .number = Number::of_double(Scalar::F64, -HUGE_VAL), .weak = true};
    return finish(std::move(node), start);
  }
  Ast node{.kind = AstKind::Unary, .name = "-"};
  node.args = {unary()};
  return finish(std::move(node), start);
}

AstPtr Parser::postfix(AstPtr base) {
  for (;;) {
    if (at("[") && !at_line_start()) {
      Ast node{.kind = AstKind::Subscript};
      take();
      const Nest nest = inside();
      node.args = comma_list("]");
      node.args.insert(node.args.begin(), base);
      expect("]");
      base = finish(std::move(node), base->place);
    } else if (at(".") && !at_line_start()) {
      take();
      if (peek().kind != TokenKind::Name && peek().kind != TokenKind::Number) expected("the name of a field");
      Ast node{.kind = AstKind::Field, .name = take().text};
      node.args = {base};
      base = finish(std::move(node), base->place);
    } else {
      return base;
    }
  }
}

AstPtr Parser::primary() {
  const Token& token = peek();
  if (token.kind == TokenKind::Number) return number(false);
  if (at_effect())
    error("E0115", token.place, "'" + token.text + "' has no value: it is a statement of its own",
          "formulas, functions and operators have no effects; write for i < n { " + token.text +
              "(...) } beside them");
  if (token.kind == TokenKind::Name) return name_or_call();
  if (at("(")) {
    const Place start = take().place;
    const Nest nest = inside();
    std::vector<AstPtr> items = comma_list(")");
    const bool trailing = tokens_[at_ - 1].text == ",";
    if (items.empty()) expected("an expression");
    expect(")");
    if (items.size() == 1 && !trailing) {
      Ast node = *items[0];  // the same node, with the parentheses in its place
      return finish(std::move(node), start);
    }
    Ast node{.kind = AstKind::Tuple, .args = std::move(items)};
    return finish(std::move(node), start);
  }
  if (at("[")) return brackets();
  if (at("{")) {
    const Token start = take();
    return record(start, "");
  }
  expected("an expression");
}

AstPtr Parser::number(bool negative) {
  const Token token = take();
  const WrittenNumber& written = token.number;
  Place start = token.place;
  if (negative) start = tokens_[at_ - 2].place;
  Ast node{.kind = AstKind::Number, .weak = !written.suffix};
  if (written.fraction) {
    const double value = negative ? -written.value : written.value;
    node.number = Number::of_double(written.suffix.value_or(Scalar::F64), value);
    return finish(std::move(node), start);
  }
  const Scalar type = written.suffix.value_or(Scalar::I64);
  std::uint64_t limit = static_cast<std::uint64_t>(highest(type).u);
  if (is_signed(type) && negative) ++limit;
  if ((negative && is_unsigned(type) && written.integer > 0) || written.integer > limit) {
    if (written.suffix)
      error("E0104", from(start), "this number does not fit the type '" + std::string(info(type).name) + "'",
            is_unsigned(type)
                ? "it holds 0 to " + std::to_string(highest(type).u)
                : "it holds " + std::to_string(lowest(type).i) + " to " + std::to_string(highest(type).i));
    error("E0104", from(start), "this number is too large for i64", "write the suffix u64");
  }
  node.number = Number::of(type, static_cast<std::int64_t>(negative ? 0 - written.integer : written.integer));
  return finish(std::move(node), start);
}

AstPtr Parser::name_or_call() {
  const Token word = take();
  const Place& start = word.place;
  const std::string& text = word.text;
  if (!word.quoted) {
    if (text == "true" || text == "false")
      return finish({.kind = AstKind::Number, .number = Number::of(Scalar::Bool, text == "true")}, start);
    if (text == "inf" || text == "nan")
      return finish({.kind = AstKind::Number,
                     .number = Number::of_double(Scalar::F64, text == "inf" ? HUGE_VAL : std::nan("")),
                     .weak = true},
                    start);
    if (text == "if") {
      Ast node{.kind = AstKind::If};
      node.args.push_back(expression());
      expect("then");
      node.args.push_back(expression());
      expect("else");
      node.args.push_back(expression());
      return finish(std::move(node), start);
    }
    if (text == "let") {
      Ast node{.kind = AstKind::Let, .name = expect_name("a name").text};
      expect("=");
      node.args.push_back(expression());
      expect("in");
      node.args.push_back(expression());
      return finish(std::move(node), start);
    }
    if (text == "sum" || text == "product" || text == "any" || text == "all" || text == "fold")
      return fold(word);
    if (text == "max" || text == "min") return extreme(word);
    if (text == "scan" || text == "scan_right") return scan(word);
    if (text == "seq") return seq_over(word);
    if (text == "group") return group(word);
    if (text == "scatter") return scatter(word);
    if (text == "random" && in_test_ && at("(")) return random(word);
    if (is_reserved(text)) {
      --at_;
      expected("an expression");
    }
  }
  if (at_record() && !at_line_start() && record_names_.contains(text)) {
    take();
    return record(word, text);
  }
  if (at_record() && !at_line_start() && peek(1).kind == TokenKind::Name && peek(2).text == ":")
    error("E0210", word.place, "unknown type '" + text + "'",
          did_you_mean(text, {record_names_.begin(), record_names_.end()}));
  if (at("(") && !at_line_start()) {
    take();
    const Nest nest = inside();
    Ast node{.kind = AstKind::Call, .name = text, .args = comma_list(")")};
    expect(")");
    return finish(std::move(node), start);
  }
  return finish({.kind = AstKind::Name, .name = text}, start);
}

AstPtr Parser::record(const Token& start, std::string name) {
  const Nest nest = inside();
  Ast node{.kind = AstKind::Record, .name = std::move(name)};
  while (!at("}")) {
    if (peek().kind != TokenKind::Name) expected("the name of a field");
    node.word_places.push_back(peek().place);
    node.words.push_back(take().text);
    expect(":");
    node.args.push_back(expression());
    if (!accept(",")) break;
  }
  expect("}");
  return finish(std::move(node), start.place);
}

AstPtr Parser::brackets() {
  const Place start = expect("[").place;
  const Nest nest = inside();
  const Depth depth(*this);
  Ast node{.kind = AstKind::List};
  if (!at("]")) node.args.push_back(expression());
  if (node.args.size() == 1 && accept("|")) {
    node.kind = AstKind::Collect;
    node.generators = generators("]");
  } else if (accept(",")) {
    std::vector<AstPtr> rest = comma_list("]");
    node.args.insert(node.args.end(), rest.begin(), rest.end());
  }
  expect("]");
  return finish(std::move(node), start);
}

AstPtr Parser::over_collection(const Token& word, std::string op) {
  const AstPtr collection = brackets();
  if (collection->kind != AstKind::Collect)
    error("E0112", collection->place, "'" + word.text + "' folds a comprehension here",
          "write " + word.text + " [ e | x in xs ], or " + word.text + "(i) x[i]");
  Ast node{.kind = AstKind::Fold,
           .name = word.text,
           .op = std::move(op),
           .args = collection->args,
           .generators = collection->generators};
  return finish(std::move(node), word.place);
}

AstPtr Parser::fold(const Token& word) {
  const Depth depth(*this);
  std::string op = word.text == "sum"       ? "+"
                   : word.text == "product" ? "*"
                   : word.text == "any"     ? "or"
                   : word.text == "all"     ? "and"
                                            : "";
  if (op.empty()) {
    expect("(");
    Ast node{.kind = AstKind::Fold, .name = word.text};
    {
      const Nest nest = inside();
      node.op = operator_name();
      if (accept(")")) return over_collection(word, node.op);
      expect(",");
      node.generators = generators(")");
      expect(")");
    }
    if (!starts_values()) values_missing("fold(" + node.op + ", ", node.generators);
    node.args = {folded(node.op)};
    return finish(std::move(node), word.place);
  }
  if (at("[")) return over_collection(word, op);
  expect("(");
  Ast node{.kind = AstKind::Fold, .name = word.text, .op = op};
  {
    const Nest nest = inside();
    node.generators = generators(")");
    expect(")");
  }
  if (!starts_values()) values_missing(word.text + "(", node.generators);
  node.args = {folded(op)};
  return finish(std::move(node), word.place);
}

/// What a fold or scan with this operator runs over: a product, or a comparison where truths are folded.
AstPtr Parser::folded(const std::string& op) {
  return binary(op == "and" || op == "or" ? level_not : level_product);
}

/// Whether the values of a fold can begin here: not with an operator or at the end of what the fold stands
/// in, nor with the definition on the next line.
bool Parser::starts_values() const {
  const Token& next = peek();
  if (next.kind == TokenKind::Symbol) return at("(") || at("[") || at("{") || at("-");
  if (next.kind != TokenKind::Name) return next.kind == TokenKind::Number;
  if (!next.quoted && goes_on_behind(next.text)) return false;
  if (!at_line_start()) return true;
  // y = …, y[i] = …, y: f32 = …
  std::size_t ahead = 1;
  if (peek(ahead).text == "[" && !peek(ahead).newline) {
    int open = 0;
    do {
      open += peek(ahead).text == "[" ? 1 : peek(ahead).text == "]" ? -1 : 0;
      ++ahead;
    } while (open > 0 && peek(ahead).kind != TokenKind::End);
  }
  return peek(ahead).text != "=" && peek(ahead).text != ":";
}

/// Reports a fold that ends behind its parentheses: what is folded was written in them.
void Parser::values_missing(const std::string& head, const std::vector<Generator>& items) {
  std::string index = "i", values = "x[i]";
  const AstPtr item = items.size() == 1 ? items[0].a : nullptr;
  if (item && item->kind == AstKind::Name) values = item->name + "[i]";
  if (item && item->kind == AstKind::Subscript && item->args.size() == 2 &&
      item->args[0]->kind == AstKind::Name && item->args[1]->kind == AstKind::Name) {
    index = item->args[1]->name;
    values = item->args[0]->name + "[" + index + "]";
  }
  expected("the values to fold",
           "a fold names its index, and its values follow: " + head + index + ") " + values);
}

/// `max` and `min`: a fold if a body follows, the limit of a type, or the function of two numbers.
AstPtr Parser::extreme(const Token& word) {
  const Depth depth(*this);
  if (at("[")) return over_collection(word, word.text);
  expect("(");
  std::vector<Generator> items;
  {
    const Nest nest = inside();
    const std::optional<Scalar> scalar = peek().quoted ? std::nullopt : scalar_named(peek().text);
    if (scalar && peek().kind == TokenKind::Name && peek(1).text == ")") {
      Ast node{.kind = AstKind::Limit, .name = word.text, .type = type(false)};
      expect(")");
      return finish(std::move(node), word.place);
    }
    items = generators(")");
    expect(")");
  }
  if (starts_body(items.size() == 1)) {
    Ast node{.kind = AstKind::Fold, .name = word.text, .op = word.text, .generators = std::move(items)};
    node.args = {folded(word.text)};
    return finish(std::move(node), word.place);
  }
  if (items.size() == 1) values_missing(word.text + "(", items);
  Ast node{.kind = AstKind::Call, .name = word.text};
  for (const Generator& item : items) {
    if (item.kind != Generator::Kind::Test) expected("the expression that '" + word.text + "' folds");
    node.args.push_back(item.a);
  }
  return finish(std::move(node), word.place);
}

bool Parser::starts_body(bool minus) const {
  const Token& next = peek();
  if (at_line_start()) return false;
  if (next.kind == TokenKind::Number) return true;
  if (next.kind == TokenKind::Name) return next.quoted || !goes_on_behind(next.text);
  return at("(") || at_record() || (minus && at("-"));
}

AstPtr Parser::scan(const Token& word) {
  const Depth depth(*this);
  expect("(");
  Ast node{.kind = AstKind::Scan, .name = word.text};
  {
    const Nest nest = inside();
    node.op = operator_name();
    expect(",");
    node.words.push_back(expect_name("an index").text);
    expect(")");
  }
  node.args = {folded(node.op)};
  return finish(std::move(node), word.place);
}

AstPtr Parser::seq_over(const Token& word) {
  const Depth depth(*this);
  expect("(");
  Ast node{.kind = AstKind::SeqOver};
  {
    const Nest nest = inside();
    do node.words.push_back(expect_name("an index").text);
    while (accept(","));
    expect(")");
  }
  node.args = {expression()};
  return finish(std::move(node), word.place);
}

AstPtr Parser::group(const Token& word) {
  Ast node{.kind = AstKind::Group};
  if (accept("(")) {
    const Nest nest = inside();
    node.op = operator_name();
    expect(")");
  }
  if (!at("[")) expected("'[' and the pairs (key, value) to group");
  node.args = {brackets()};
  return finish(std::move(node), word.place);
}

AstPtr Parser::scatter(const Token& word) {
  Ast node{.kind = AstKind::Scatter};
  if (accept("(")) {
    const Nest nest = inside();
    node.op = operator_name();
    expect(")");
  }
  arrows(node);
  return finish(std::move(node), word.place);
}

/// `{ s <- v | generators }`, `{ [s, t] <- v | generators }`.
void Parser::arrows(Ast& node) {
  expect("{");
  const Nest nest = inside();
  std::vector<AstPtr> subscripts;
  if (accept("[")) {
    subscripts = comma_list("]");
    expect("]");
  } else {
    subscripts.push_back(expression());
  }
  expect("<-");
  node.args.push_back(expression());
  node.args.insert(node.args.end(), subscripts.begin(), subscripts.end());
  if (accept("|")) node.generators = generators("}");
  expect("}");
}

AstPtr Parser::random(const Token& word) {
  expect("(");
  const Nest nest = inside();
  Ast node{.kind = AstKind::Random, .type = type(true)};
  if (accept(",")) {
    if (!at("seed")) expected("'seed: number'");
    take();
    expect(":");
    if (peek().kind != TokenKind::Number || peek().number.fraction) expected("an integer");
    node.number = Number::of(Scalar::U64, static_cast<std::int64_t>(take().number.integer));
  }
  expect(")");
  return finish(std::move(node), word.place);
}

std::string Parser::operator_name() {
  if (at("+") || at("*")) return take().text;
  if (peek().kind == TokenKind::Name) return take().text;
  expected("an operator", "+, *, min, max, and, or, bit_and, bit_or, xor, or the name of an op");
}

/// Is this `(x, y) in`?
bool Parser::at_pattern() const {
  if (!at("(")) return false;
  std::size_t n = 1;
  while (peek(n).kind == TokenKind::Name && peek(n + 1).text == "," && peek(n + 1).kind != TokenKind::Name)
    n += 2;
  return n > 1 && peek(n).kind == TokenKind::Name && peek(n + 1).text == ")" && peek(n + 2).text == "in" &&
         peek(n + 2).kind == TokenKind::Name && !peek(n + 2).quoted;
}

Generator Parser::generator() {
  Generator g;
  g.place = peek().place;
  if (at_pattern()) {
    g.kind = Generator::Kind::Element;
    expect("(");
    do {
      g.parts.push_back(expect_name("a name").text);
    } while (accept(","));
    expect(")");
    for (const std::string& part : g.parts) g.name += (g.name.empty() ? "(" : ", ") + part;
    g.name += ")";
    take();
    g.a = expression();
  } else if (peek().kind == TokenKind::Name && peek(1).text == "in" && !peek(1).quoted &&
             peek(1).kind == TokenKind::Name) {
    g.name = expect_name("an index").text;
    take();
    g.a = expression();
    if (accept("..")) {
      g.kind = Generator::Kind::Range;
      g.b = expression();
    } else {
      g.kind = Generator::Kind::Element;
    }
  } else {
    g.a = expression();
  }
  g.place = from(g.place);
  return g;
}

std::vector<Generator> Parser::generators(std::string_view end) {
  std::vector<Generator> list;
  while (!at(end)) {
    list.push_back(generator());
    if (!accept(",")) break;
  }
  return list;
}

std::vector<AstPtr> Parser::comma_list(std::string_view end) {
  std::vector<AstPtr> list;
  while (!at(end)) {
    list.push_back(expression());
    if (!accept(",")) break;
  }
  return list;
}

TypeAst Parser::type(bool with_shape) {
  const Depth depth(*this);
  TypeAst t;
  t.place = peek().place;
  if (accept("(")) {
    const Nest nest = inside();
    while (!at(")")) {
      t.elements.push_back(type(false));
      if (!accept(",")) break;
    }
    if (t.elements.empty()) expected("a type");
    expect(")");
  } else {
    if (peek().kind != TokenKind::Name) expected("a type");
    t.name = take().text;
  }
  if (with_shape && at("[") && !at_line_start()) {
    t.has_shape = true;
    take();
    const Nest nest = inside();
    while (!at("]")) {
      if (at("born") && peek(1).kind == TokenKind::Name) {
        take();
        t.born.push_back(expect_name("a size").text);
        t.shape.push_back(nullptr);
      } else {
        t.born.emplace_back();
        t.shape.push_back(expression());
      }
      if (!accept(",")) break;
    }
    expect("]");
  }
  t.place = from(t.place);
  return t;
}

}  // namespace twill::text

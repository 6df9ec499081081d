// The recursive-descent parser; its methods are spread over text_parse.cpp (declarations),
// text_parse_statement.cpp and text_parse_expr.cpp.
#pragma once

#include "program/text_parse.h"

#include <functional>
#include <set>

namespace twill::text {

/// Thrown to give up a statement after its error has been recorded.
struct Abandon {};

class Parser {
 public:
  Parser(const std::shared_ptr<const SourceText>& source, std::vector<Diagnostic>& errors);
  File file();

 private:
  // declarations
  void declaration(File& file);
  TypeDecl type_declaration();
  FunctionDecl function(bool is_operator);
  AstPtr function_body();
  Definition definition();
  ResultAst result();
  TestDecl test();
  void test_statement(std::vector<TestStatement>& out);
  void skip_to_declaration();
  bool at_declaration() const;

  // statements
  std::vector<Statement> statements();  // { … }
  void guarded_statement(const std::function<void()>& body);
  void end_of_statement();
  /// To the end of a statement of which so many braces are open.
  void skip_statement(int open);
  Statement statement();
  Statement definition_statement();
  void right_hand_side(Statement& statement);
  void loop(Statement& statement);
  Statement if_statement();
  Statement for_statement();
  bool at_effect() const;
  bool at_call() const;
  void unknown_effect();
  Statement effect_statement();
  PrintAst print();
  Target target();
  Statement stage();
  BlockAst block();
  OutAst out();
  DimAst stage_dimension();

  // expressions
  AstPtr expression();
  AstPtr binary(int level);
  AstPtr comparison();
  AstPtr unary();
  AstPtr postfix(AstPtr base);
  AstPtr primary();
  AstPtr name_or_call();
  AstPtr number(bool negative);
  AstPtr fold(const Token& word);
  AstPtr extreme(const Token& word);
  AstPtr scan(const Token& word);
  AstPtr seq_over(const Token& word);
  AstPtr group(const Token& word);
  AstPtr scatter(const Token& word);
  AstPtr record(const Token& start, std::string name);
  AstPtr brackets();
  AstPtr random(const Token& word);
  AstPtr folded(const std::string& op);
  [[noreturn]] void values_missing(const std::string& head, const std::vector<Generator>& items);
  AstPtr over_collection(const Token& word, std::string op);
  void arrows(Ast& node);
  std::string operator_name();
  bool at_pattern() const;
  Generator generator();
  std::vector<Generator> generators(std::string_view end);
  bool starts_body(bool minus) const;
  bool starts_values() const;
  TypeAst type(bool with_shape);
  bool at_type() const;
  std::vector<AstPtr> comma_list(std::string_view end);

  // tokens
  const Token& peek(std::size_t ahead = 0) const;
  const Token& take();
  bool at(std::string_view symbol_or_word) const;
  bool at_name() const;
  bool at_line_start() const { return peek().newline && nest_ == 0; }
  bool accept(std::string_view symbol_or_word);
  const Token& expect(std::string_view symbol_or_word);
  const Token& expect_name(const char* what);
  std::string found() const;
  [[noreturn]] void error(std::string code, const Place& place, std::string message, std::string help = {});
  void close(const Token& open);
  [[noreturn]] void expected(const std::string& what, std::string help = {});
  std::string help_for_habits() const;
  Place from(const Place& start) const;
  AstPtr finish(Ast node, const Place& start);

  /// While alive, newlines do or do not count.
  struct Nest {
    explicit Nest(Parser& p, int value) : parser(p), saved(p.nest_) { p.nest_ = value; }
    ~Nest() { parser.nest_ = saved; }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;
    Parser& parser;
    int saved;
  };
  Nest inside() { return Nest(*this, nest_ + 1); }

  /// While alive, a brace outside of brackets begins a block of statements, not a record.
  struct BeforeBlock {
    explicit BeforeBlock(Parser& p) : parser(p), saved(p.block_at_) { p.block_at_ = p.nest_; }
    ~BeforeBlock() { parser.block_at_ = saved; }
    BeforeBlock(const BeforeBlock&) = delete;
    BeforeBlock& operator=(const BeforeBlock&) = delete;
    Parser& parser;
    int saved;
  };
  bool at_record() const { return at("{") && nest_ != block_at_; }

  /// Counts nesting; too deep is an error, not a crash.
  struct Depth {
    explicit Depth(Parser& p);
    ~Depth() { --parser.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    Parser& parser;
  };

  std::vector<Token> tokens_;
  std::vector<Diagnostic>& errors_;
  std::set<std::string, std::less<>> record_names_;
  std::set<std::string, std::less<>> effect_names_{"print"};
  std::size_t at_ = 0;
  int nest_ = 0;       // > 0: inside brackets, where newlines do not count
  int block_at_ = -1;  // the nesting at which a block of statements follows
  int depth_ = 0;
  bool in_test_ = false;
};

}  // namespace twill::text

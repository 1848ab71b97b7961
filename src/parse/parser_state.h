#pragma once
// The recursive-descent parser, private to parser*.cpp. One method per rule of grammar/tg.ebnf.
//
// After the first fault in a statement the parser is in panic: every look at the text sees a token
// that matches nothing, so all loops end and all rules return at once; reports are swallowed until
// `recover` has found the next statement. Results made in panic are never used, because a module
// with a fault is not returned.
#include "parse/lexer.h"
#include "parse/parser.h"
#include <string_view>

namespace tang::parse {

class Parser {
public:
  Parser(const SourceManager& sources, FileId file, Sink& sink);
  std::optional<Module> run();

private:
  // ---- parser_cursor.cpp: tokens, faults, recovery
  const Token& current();
  /// The token after the current one, seen as if the same brackets were open.
  const Token& following();
  bool at(TokenKind kind) { return current().kind == kind; }
  bool at_word(std::string_view word);
  void advance();
  bool accept(TokenKind kind);
  bool accept_word(std::string_view word);
  bool expect(TokenKind kind, std::string_view what = {});
  bool expect_word(std::string_view word);
  /// Consumes `(` or `[`, after which line ends are blanks, until `close` with the matching one.
  bool open(TokenKind opener);
  bool close(TokenKind closer, std::string_view separator = "`,`");
  void fail_unclosed(TokenKind closer, const Token& opener);
  std::optional<size_t> statement_started_inside();
  bool on_same_line_as_previous() const { return pos_ == last_ + 1; }

  Span span_of(const Token& t) const { return {file_, t.begin, t.end}; }
  std::string_view text_of_token(const Token& t) const {
    return std::string_view(text_).substr(t.begin, t.end - t.begin);
  }
  uint32_t previous_end() const { return last_ == SIZE_MAX ? 0 : tokens_[last_].end; }
  /// From `begin` to the end of the last consumed token.
  Span span_from(uint32_t begin) const;
  /// Where to point for the current token: at a line end, just behind the last word.
  Span here();
  std::string found();
  Diagnostic& fail(Kind kind, Span span, std::string message);
  Diagnostic& fail_expected(std::string_view what);
  void end_statement();
  void recover();
  bool looks_like_statement(size_t index) const;

  /// Counts one level for the time of a rule; false (and a report) beyond `max_nesting`.
  class Nesting {
  public:
    Nesting(Parser& parser, int& level);
    ~Nesting() { --level_; }
    explicit operator bool() const { return good_; }

  private:
    int& level_;
    bool good_;
  };

  // ---- parser_expr.cpp
  ExprId expression();
  ExprId binary(int level);
  ExprId logical_not();
  ExprId unary();
  ExprId guarded();
  ExprId reduction();
  ExprId primary();
  ExprId parenthesised();
  ExprId named();
  ExprId call();
  ExprId field();
  ExprId bracketed(bool is_scan, uint32_t begin);
  ExprId number();
  std::vector<ExprId> expression_list(TokenKind opener, TokenKind closer);
  bool at_reduction();
  bool at_operand_start();
  bool at_loc();
  bool at_scan();
  bool at_modifier();
  ExprId make(uint32_t begin, ExprForm form);
  /// The place of an expression, parentheses included.
  Span whole(ExprId id) const;

  /// What stands in brackets after a name, before it is known whether they are places or binders.
  struct Item {
    ExprId place; ///< none for a lone name
    Binder binder;
  };
  struct Brackets {
    std::vector<Item> items;
    ExprId filter;
    ExprId count;
    bool binds = false; ///< something in it only an application can have
  };
  Brackets brackets();
  Item bracket_item(Brackets& in);
  std::vector<Binder> binders_of(Brackets&& b);
  void binder_modifiers(Binder& b, bool& seen);
  void reject_loop_syntax();
  ExprId extent();

  // ---- parser_statement.cpp: declarations
  Name declared_name(std::string_view what);
  Name name(std::string_view what);
  Declared declared(std::string_view what);
  std::optional<std::string> external_name();
  Range range();
  TensorType tensor_type();
  void type_clauses(TensorType& type);
  ForeignPlace foreign_place();
  StmtForm version();
  StmtForm graph_name();
  StmtForm dim();
  StmtForm input();
  StmtForm param();
  StmtForm constant();
  StmtForm let();
  StmtForm include();
  StmtForm output();
  StmtForm grad();
  StmtForm store();
  StmtForm accumulate();
  StmtForm budget();
  void table_values(Const& c, size_t level);

  // ---- parser_body.cpp: equations, macros, monoids, bodies
  StmtForm equation();
  LeftSide left_side();
  std::vector<Binder> point_indices();
  StmtForm def();
  void def_body(Def& d);
  StmtForm monoid();
  StmtForm repeat();
  StmtForm recur();
  Span body(std::vector<StmtId>& out);

  // ---- parser.cpp: which statement it is, and the file
  struct StatementRule {
    std::string_view word;
    StmtForm (Parser::*rule)();
    bool in_body; ///< allowed inside `repeat` and `recur`
  };
  static const StatementRule* statement_rule(std::string_view word);
  void statement(std::vector<StmtId>& out);
  std::optional<StmtForm> statement_form();
  void explain_unknown_statement();
  void skip_separators();
  void require_version();

  const SourceManager& sources_;
  FileId file_;
  std::string_view text_;
  Sink& sink_;
  std::vector<Token> tokens_;
  Module module_;
  size_t pos_ = 0;
  size_t last_ = SIZE_MAX; ///< index of the last consumed token
  bool panicking_ = false;
  size_t errors_before_; ///< of the sink, before this file
  Token stop_{TokenKind::bad, 0, 0};
  Diagnostic swallowed_{};
  std::vector<uint32_t> open_; ///< token indices of the open `(` and `[`
  int bracket_level_ = 0;      ///< brackets and blocks
  int prefix_level_ = 0;       ///< operators that nest to the right
  int blocks_ = 0;             ///< open `{` of bodies
};

} // namespace tang::parse

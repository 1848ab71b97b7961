#include "parse/parser.h"
#include "parse/parser_state.h"

namespace tang::parse {

const Parser::StatementRule* Parser::statement_rule(std::string_view word) {
  static constexpr StatementRule rules[] = {
      {"tg", &Parser::version, false},    {"graph", &Parser::graph_name, false},
      {"dim", &Parser::dim, false},       {"input", &Parser::input, false},
      {"param", &Parser::param, false},   {"const", &Parser::constant, false},
      {"let", &Parser::let, true},        {"def", &Parser::def, false},
      {"monoid", &Parser::monoid, false}, {"include", &Parser::include, false},
      {"output", &Parser::output, false}, {"grad", &Parser::grad, false},
      {"store", &Parser::store, true},    {"accumulate", &Parser::accumulate, true},
      {"budget", &Parser::budget, true},  {"repeat", &Parser::repeat, true},
      {"recur", &Parser::recur, true},
  };
  for (const StatementRule& rule : rules)
    if (rule.word == word) return &rule;
  return nullptr;
}

void Parser::skip_separators() {
  while (at(TokenKind::newline) || at(TokenKind::semicolon)) advance();
}

/// Which statement the next words begin. A word that could begin a declaration begins an equation
/// when `[` or `=` follows, so tensors may be called `input` or `let`.
std::optional<StmtForm> Parser::statement_form() {
  TokenKind next = following().kind;
  bool is_equation =
      at(TokenKind::left_paren) ||
      (at(TokenKind::name) && (next == TokenKind::left_bracket || next == TokenKind::equal ||
                               next == TokenKind::equal_equal));
  if (is_equation) return equation();
  if (next == TokenKind::bad) { // a name with a foreign character in it: reported already
    panicking_ = true;
    return std::nullopt;
  }
  Token word = current();
  const StatementRule* rule = at(TokenKind::name) ? statement_rule(text_of_token(word)) : nullptr;
  if (!rule) {
    explain_unknown_statement();
    return std::nullopt;
  }
  if (blocks_ > 0 && !rule->in_body) {
    fail(Kind::misplaced_statement, span_of(word), fmt::format("`{}` inside a body", rule->word))
        .help("move it before or after the body");
    return std::nullopt;
  }
  advance();
  return (this->*rule->rule)();
}

void Parser::explain_unknown_statement() {
  if (at(TokenKind::right_brace) || at(TokenKind::right_paren) || at(TokenKind::right_bracket)) {
    fail(Kind::unmatched_closer, here(), fmt::format("{} closes nothing", found()));
    return;
  }
  Token word = current();
  std::string text(text_of_token(word));
  TokenKind next = following().kind;
  if (is_reserved(text) && (next == TokenKind::equal || next == TokenKind::left_bracket)) {
    declared_name("a tensor");
    return;
  }
  auto& d = fail(Kind::unknown_statement, here(), fmt::format("{} begins no statement", found()));
  if (!at(TokenKind::name) && word.kind != TokenKind::name) return;
  if (next == TokenKind::colon) {
    d.help(fmt::format("declare it with `input {0} : ...` or `param {0} : ...`", text));
  } else if (next == TokenKind::left_paren) {
    d.help(fmt::format("the left side of an equation has brackets: `{}[i] = ...`", text));
  } else if (text == "for" || text == "while") {
    d.help("there are no loops: an equation holds at every point of its indices");
  } else {
    static const std::vector<std::string> words = {
        "graph",   "dim",    "input", "param", "const",      "let",    "def",    "monoid",
        "include", "output", "grad",  "store", "accumulate", "budget", "repeat", "recur"};
    std::string near = nearest_name(text, words);
    if (!near.empty()) d.help(fmt::format("did you mean `{}`?", near));
  }
}

void Parser::statement(std::vector<StmtId>& out) {
  size_t start = pos_;
  uint32_t begin = current().begin;
  std::optional<StmtForm> form = statement_form();
  std::optional<ForeignPlace> loc;
  if (at_loc()) loc = foreign_place();
  end_statement();
  if (form && !panicking_)
    out.push_back(module_.add(Stmt{span_from(begin), std::move(*form), std::move(loc)}));
  recover();
  if (pos_ == start) ++pos_; // a fault at the first word: go on behind it
}

void Parser::require_version() {
  if (at_word("tg") && following().kind == TokenKind::integer) return;
  Span at_start = span_of(current());
  at_start.end =
      std::max(at_start.begin, std::min(at_start.end, static_cast<uint32_t>(text_.size())));
  auto& d = sink_.report(Kind::missing_version, at_start, "the file does not start with `tg 1`");
  d.help("write `tg 1` as the first statement");
}

std::optional<Module> Parser::run() {
  skip_separators();
  require_version();
  while (!at(TokenKind::end_of_file)) {
    statement(module_.top);
    skip_separators();
  }
  if (sink_.error_count() != errors_before_) return std::nullopt;
  return std::move(module_);
}

std::optional<Module> parse_module(const SourceManager& sources, FileId file, Sink& sink) {
  return Parser(sources, file, sink).run();
}

} // namespace tang::parse

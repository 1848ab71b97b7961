#include "ebnf.h"
#include "parse/ast.h"
#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <utility>

namespace tang::parse {

// ---- reading

struct Ebnf::Reader {
  const std::string& text;
  Ebnf& out;
  size_t at = 0;

  void skip() {
    for (;;) {
      while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
      if (text.compare(at, 2, "(*") != 0) return;
      at = text.find("*)", at) + 2;
      if (at < 2) throw std::runtime_error("comment without end");
    }
  }
  bool accept(char c) {
    skip();
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      throw std::runtime_error(std::string("expected ") + c + " before: " + text.substr(at, 30));
  }
  std::string name() {
    skip();
    size_t begin = at;
    while (at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_'))
      ++at;
    if (at == begin) throw std::runtime_error("expected a name before: " + text.substr(at, 30));
    return text.substr(begin, at - begin);
  }
  std::string delimited(char by) {
    size_t begin = at;
    while (text[at] != by) at += text[at] == '\\' ? 2 : 1;
    return text.substr(begin, at++ - begin);
  }
  Syntax choice() {
    Syntax s{Syntax::choice, "", {sequence()}};
    while (accept('|')) s.parts.push_back(sequence());
    return s.parts.size() == 1 ? s.parts[0] : s;
  }
  Syntax sequence() {
    Syntax s{Syntax::sequence, "", {}};
    for (skip(); at < text.size() && std::string("|)]};").find(text[at]) == std::string::npos;
         skip())
      s.parts.push_back(item());
    return s;
  }
  Syntax item() {
    if (accept('"')) return {Syntax::word, delimited('"'), {}};
    Syntax inner;
    if (accept('(')) return inner = choice(), expect(')'), inner;
    if (accept('[')) return inner = choice(), expect(']'), Syntax{Syntax::optional, "", {inner}};
    if (accept('{')) return inner = choice(), expect('}'), Syntax{Syntax::repetition, "", {inner}};
    return {Syntax::rule, name(), {}};
  }
  void run() {
    for (skip(); at < text.size(); skip()) {
      std::string rule = name();
      expect('=');
      if (accept('/')) {
        // A `/` inside a regular expression does not occur.
        out.tokens_[rule] = delimited('/');
      } else if (!out.rules_.emplace(rule, choice()).second) {
        throw std::runtime_error("two rules for " + rule);
      }
      expect(';');
    }
  }
};

Ebnf::Ebnf(const std::string& text) {
  Reader{text, *this}.run();
}

std::set<std::string> Ebnf::used(Syntax::Kind kind) const {
  std::set<std::string> all;
  auto visit = [&](auto& self, const Syntax& s) -> void {
    if (s.kind == kind) all.insert(s.text);
    for (const Syntax& part : s.parts) self(self, part);
  };
  for (const auto& [name, right] : rules_) visit(visit, right);
  return all;
}

// ---- making

namespace {

class Maker {
public:
  Maker(const Ebnf& grammar, uint64_t seed) : grammar_(grammar), random_(seed) {
    // The height of a rule: how deep its shallowest sentence goes.
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [name, right] : grammar.rules()) {
        int height = height_of(right);
        auto [it, inserted] = heights_.emplace(name, high);
        if (height + 1 < it->second) it->second = height + 1, changed = true;
      }
    }
  }

  std::optional<std::string> run() {
    make({Syntax::rule, "file", {}}, 28);
    if (ambiguous_) return std::nullopt;
    return text_;
  }

private:
  static constexpr int high = 1000;

  int height_of(const Syntax& s) const {
    switch (s.kind) {
    case Syntax::word:
    case Syntax::optional:
    case Syntax::repetition: return 0;
    case Syntax::rule: {
      auto it = heights_.find(s.text);
      return it == heights_.end() ? (grammar_.tokens().count(s.text) ? 0 : high) : it->second;
    }
    case Syntax::sequence: {
      int most = 0;
      for (const Syntax& part : s.parts) most = std::max(most, height_of(part));
      return most;
    }
    case Syntax::choice: {
      int least = high;
      for (const Syntax& part : s.parts) least = std::min(least, height_of(part));
      return least;
    }
    }
    return 0;
  }
  int below(size_t n) { return static_cast<int>(random_() % n); }

  void make(const Syntax& s, int room) {
    switch (s.kind) {
    case Syntax::word: return emit(s.text, s.text == "(" || s.text == "scan");
    case Syntax::rule: return rule(s.text, room);
    case Syntax::sequence:
      for (const Syntax& part : s.parts) make(part, room);
      return;
    case Syntax::choice: {
      std::vector<const Syntax*> fitting;
      for (const Syntax& part : s.parts)
        if (height_of(part) <= room) fitting.push_back(&part);
      return make(*fitting[static_cast<size_t>(below(fitting.size()))], room);
    }
    case Syntax::optional:
      if (height_of(s.parts[0]) < room && below(3) == 0) make(s.parts[0], room);
      return;
    case Syntax::repetition: {
      // Few of them, as the levels of expressions multiply.
      int least = std::exchange(file_level_, 0);
      while ((least-- > 0 || below(4) == 0) && height_of(s.parts[0]) < room) make(s.parts[0], room);
      return;
    }
    }
  }

  void rule(const std::string& name, int room) {
    if (grammar_.tokens().count(name)) return token(name);
    make(grammar_.rules().at(name), room - 1);
    if (name == "version") file_level_ = 12;
    if (name == "read") after_read_ = true;
  }

  void token(const std::string& name) {
    static const std::map<std::string, std::vector<const char*>> pools = {
        {"NAME", {"a", "b", "foo", "x1", "_y", "Z"}},
        {"INTEGER", {"1"}},
        {"REAL", {"1.5", ".5", "2.", "1e-5", "0x1.8p3"}},
        {"STRING", {"\"a.b\"", "\"\"", "\"q\\\"q\""}},
        {"END", {"\n", ";", "\n\n", "# c\n"}},
        {"REDUCTION", {"sum", "max", "topk", "all"}},
        {"FUNCTION", {"exp", "max", "floordiv"}},
    };
    const auto& pool = pools.at(name);
    emit(pool[static_cast<size_t>(below(pool.size()))], name != "END" && name != "STRING");
  }

  /// Words of clauses look like names to a read before them.
  void emit(const std::string& word, bool starts_operand) {
    static const std::set<std::string> infix = {"where",     "else", "and", "or",
                                                "exclusive", "desc", "loc"};
    bool letter = std::isalpha(static_cast<unsigned char>(word[0])) || word[0] == '_';
    if (after_read_ && (starts_operand || (letter && !infix.count(word)))) ambiguous_ = true;
    // Directly inside brackets this begins a filter, elsewhere an operand.
    if (word == "where" && text_.size() > 1 && text_[text_.size() - 2] == ']') ambiguous_ = true;
    after_read_ = false;
    text_ += word + " ";
  }

  const Ebnf& grammar_;
  std::mt19937_64 random_;
  std::map<std::string, int> heights_;
  std::string text_;
  bool after_read_ = false, ambiguous_ = false;
  int file_level_ = 0; ///< how many statements the file is to have at least
};

// ---- recognising

/// Finds, for a node and a start, every place where it can end. The grammar has no left recursion.
class Recogniser {
public:
  Recogniser(const Ebnf& grammar, const std::string& text, const std::vector<Token>& tokens)
      : grammar_(grammar), text_(text) {
    int depth = 0;
    for (const Token& t : tokens) {
      bool opens = t.kind == TokenKind::left_paren || t.kind == TokenKind::left_bracket;
      bool closes = t.kind == TokenKind::right_paren || t.kind == TokenKind::right_bracket;
      depth = std::max(0, depth + opens - closes);
      if (t.kind == TokenKind::end_of_file || (t.kind == TokenKind::newline && depth > 0)) continue;
      tokens_.push_back(t);
      ends_.push_back(t.kind == TokenKind::newline ||
                      (t.kind == TokenKind::semicolon && depth == 0));
    }
  }

  bool run() { return ends_of({Syntax::rule, "file", {}}, 0).count(tokens_.size()) > 0; }

private:
  using Places = std::set<size_t>;

  Places ends_of(const Syntax& s, size_t at) {
    switch (s.kind) {
    case Syntax::word:
      return at < tokens_.size() && !ends_[at] && word(at) == s.text ? Places{at + 1} : Places{};
    case Syntax::rule: return rule(s.text, at);
    case Syntax::sequence: {
      Places places{at};
      for (const Syntax& part : s.parts) places = all_of(part, places);
      return places;
    }
    case Syntax::choice: {
      Places places;
      for (const Syntax& part : s.parts) places.merge(ends_of(part, at));
      return places;
    }
    case Syntax::optional: {
      Places places = ends_of(s.parts[0], at);
      places.insert(at);
      return places;
    }
    case Syntax::repetition: {
      Places places{at}, fresh{at};
      while (!fresh.empty()) {
        Places next;
        for (size_t place : all_of(s.parts[0], fresh))
          if (places.insert(place).second) next.insert(place);
        fresh = std::move(next);
      }
      return places;
    }
    }
    return {};
  }
  Places all_of(const Syntax& s, const Places& starts) {
    Places places;
    for (size_t start : starts) places.merge(ends_of(s, start));
    return places;
  }
  Places rule(const std::string& name, size_t at) {
    if (grammar_.tokens().count(name)) return is_token(name, at) ? Places{at + 1} : Places{};
    auto key = std::make_pair(&grammar_.rules().at(name), at);
    auto found = memo_.find(key);
    if (found == memo_.end()) found = memo_.emplace(key, ends_of(*key.first, at)).first;
    return found->second;
  }
  std::string word(size_t at) const {
    return text_.substr(tokens_[at].begin, tokens_[at].end - tokens_[at].begin);
  }
  bool is_token(const std::string& name, size_t at) const {
    if (at >= tokens_.size()) return false;
    TokenKind kind = tokens_[at].kind;
    if (name == "END") return ends_[at];
    if (name == "INTEGER") return kind == TokenKind::integer;
    if (name == "REAL") return kind == TokenKind::real;
    if (name == "STRING") return kind == TokenKind::string;
    if (kind != TokenKind::name) return false;
    if (name == "REDUCTION") return is_builtin_reduction(word(at));
    if (name == "FUNCTION") return is_builtin_function(word(at));
    return !is_reserved(word(at));
  }

  const Ebnf& grammar_;
  const std::string& text_;
  std::vector<Token> tokens_;
  std::vector<bool> ends_;
  std::map<std::pair<const Syntax*, size_t>, Places> memo_;
};

} // namespace

std::optional<std::string> sentence(const Ebnf& grammar, uint64_t seed) {
  return Maker(grammar, seed).run();
}

bool derives(const Ebnf& grammar, const std::string& text, const std::vector<Token>& tokens) {
  return Recogniser(grammar, text, tokens).run();
}

} // namespace tang::parse

// grammar/tg.ebnf and the parser say the same.
#include "ebnf.h"
#include "random_module.h"
#include "support.h"
#include <catch2/catch.hpp>
#include <regex>

using namespace tang;
using namespace tang::parse;

namespace {

const Ebnf& grammar() {
  static const Ebnf ebnf(read_file(TANGC_SOURCE_DIR "/grammar/tg.ebnf"));
  return ebnf;
}

bool derives(const std::string& text) {
  SourceManager sources;
  Sink sink;
  return derives(grammar(), text, lex(sources, sources.add("test.tg", text), sink).tokens);
}

} // namespace

TEST_CASE("every rule is defined and used", "[grammar]") {
  std::set<std::string> used = grammar().used(Syntax::rule);
  used.insert("file");
  for (const std::string& name : used) {
    INFO(name);
    CHECK((grammar().rules().count(name) || grammar().tokens().count(name)));
  }
  for (const auto& [name, right] : grammar().rules()) CHECK((used.count(name) ? name : "") == name);
  for (const auto& [name, right] : grammar().tokens())
    CHECK((used.count(name) ? name : "") == name);
}

TEST_CASE("the grammar has every sign and keyword of the lexer", "[grammar]") {
  std::set<std::string> words = grammar().used(Syntax::word);
  for (int k = 0; k <= static_cast<int>(TokenKind::kw_nan); ++k) {
    std::string_view text = text_of(static_cast<TokenKind>(k));
    if (text.find(' ') != std::string::npos) continue;
    INFO(text);
    CHECK(words.count(std::string(text)) == 1);
  }
}

TEST_CASE("the regular expressions of tokens are those of the lexer", "[grammar]") {
  auto matches = [](const char* token, const std::string& text) {
    return std::regex_match(text, std::regex(grammar().tokens().at(token)));
  };
  for (const char* text : {"1", "007", "0x1f", "1.5", ".5", "2.", "1e-5", "1.e5", "0x1.8p3",
                           "0x.8p1", "0x1p-3", "1e", "0x", "12ab", "0x1.8", "1e+", ".e5", "0xp1"}) {
    INFO(text);
    bool starts = text[0] != '.' || std::isdigit(static_cast<unsigned char>(text[1]));
    NumberShape shape = starts ? scan_number(text) : NumberShape{1, false, false};
    bool whole = shape.well_formed && shape.length == std::string(text).size();
    CHECK(matches("INTEGER", text) == (whole && !shape.is_real));
    CHECK(matches("REAL", text) == (whole && shape.is_real));
  }
  CHECK(matches("STRING", quoted("a\"b\\c\n\t")));
  CHECK(!matches("STRING", "\"a\\q\""));
  for (const char* name : {"sum", "topk", "exp", "shr", "where", "inf", "x", "min"}) {
    INFO(name);
    CHECK(matches("REDUCTION", name) == is_builtin_reduction(name));
    CHECK(matches("FUNCTION", name) == is_builtin_function(name));
  }
}

TEST_CASE("sentences of the grammar parse", "[grammar]") {
  int made = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    std::optional<std::string> text = sentence(grammar(), seed);
    if (!text) continue;
    ++made;
    Parsed p = parsed(*text);
    INFO("seed " << seed << "\n" << *text << "\n" << diagnostics_of(p));
    // What the grammar says in words: clauses once, tables without rags.
    bool in_words = false;
    for (const Diagnostic& d : p.sink.diagnostics())
      in_words |= d.kind == Kind::repeated_clause || d.kind == Kind::ragged_table;
    CHECK((p.module || in_words));
    CHECK(derives(*text));
  }
  CHECK(made > 100);
}

TEST_CASE("samples and random modules derive from the grammar", "[grammar]") {
  for (const std::string& path : sample_files()) {
    INFO(path);
    CHECK(derives(read_file(path)));
  }
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    std::string text = format_module(SourceManager(), random_module(seed, 8));
    INFO(text);
    CHECK(derives(text));
  }
}

TEST_CASE("texts with syntax errors do not derive", "[grammar]") {
  for (const char* text : {"y = 3 4",
                           "y = a +",
                           "y = (a",
                           "y = a)",
                           "y = x[]",
                           "y = a < b < c",
                           "y = sum[k in 0..3] x",
                           "y[2*i] = x",
                           "y = sum[2*k] x",
                           "y = sum(x)",
                           "y = exp[i]",
                           "sum = 3",
                           "y == x",
                           "y = a = b",
                           "y = 1 + not a",
                           "dim N = 3 M = 4",
                           "output y f16",
                           "w : f32",
                           "tg 1",
                           "budget y : 3",
                           "repeat l in 0..3 carry h { dim N = 3 }",
                           "repeat l in 0..3 { h = 1 }",
                           "def f = 3",
                           "let [i] : 3"}) {
    INFO(text);
    std::string file = std::string("tg 1\n") + text + "\n";
    CHECK(!derives(file));
    CHECK(!parsed(file).module);
  }
}

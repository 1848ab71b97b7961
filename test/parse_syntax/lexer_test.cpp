#include "parse/lexer.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace tang;
using namespace tang::parse;

namespace {

/// The tokens as `text/kind` words; newlines as `/`.
std::string words(const std::string& text) {
  SourceManager sources;
  FileId file = sources.add("test.tg", text);
  Sink sink;
  Lexed lexed = lex(sources, file, sink);
  std::string all;
  for (const Token& t : lexed.tokens) {
    if (t.kind == TokenKind::end_of_file) break;
    if (!all.empty()) all += ' ';
    if (t.kind == TokenKind::newline)
      all += '/';
    else if (t.kind == TokenKind::bad)
      all += "<bad>";
    else
      all += text.substr(t.begin, t.end - t.begin);
  }
  return all;
}

std::vector<Comment> comments(const std::string& text) {
  SourceManager sources;
  Sink sink;
  return lex(sources, sources.add("test.tg", text), sink).comments;
}

} // namespace

TEST_CASE("words are split without blanks between them", "[lexer]") {
  CHECK(words("y[i]=x[2*i+1]else-1") == "y [ i ] = x [ 2 * i + 1 ] else - 1");
  CHECK(words("a<=b!=c==d<e>=f>g->h") == "a <= b != c == d < e >= f > g -> h");
  CHECK(words("a.m a . m") == "a . m a . m");
  CHECK(words("elsewhere else_ else") == "elsewhere else_ else");
}

TEST_CASE("ranges and points do not run into numbers", "[lexer]") {
  CHECK(words("1..65536 0..<E 0..<-1 1.5..2.5 1e3..2") ==
        "1 .. 65536 0 ..< E 0 ..< - 1 1.5 .. 2.5 1e3 .. 2");
  CHECK(words(".5 1. 1.e5 0x1.8p3 0X1fp-2") == ".5 1. 1.e5 0x1.8p3 0X1fp-2");
}

TEST_CASE("line ends: LF, CRLF, BOM, none at the end", "[lexer]") {
  CHECK(words("a\r\nb\nc") == "a / b / c");
  CHECK(words("\xef\xbb\xbf"
              "a") == "a");
  CHECK(words("") == "");
  CHECK(words("# only") == "");
  CHECK(words("a \r b") == "a <bad> b");
}

TEST_CASE("comments know whether they stand alone and end before blanks", "[lexer]") {
  std::string text = "a # x \t\r\n  # y\n#";
  auto c = comments(text);
  REQUIRE(c.size() == 3);
  CHECK(!c[0].own_line);
  CHECK(text.substr(c[0].span.begin, c[0].span.end - c[0].span.begin) == "# x");
  CHECK(c[1].own_line);
  CHECK(c[2].own_line);
  CHECK(c[2].span.end == text.size());
}

TEST_CASE("the value of numbers", "[lexer]") {
  CHECK(integer_value("9223372036854775807") == INT64_MAX);
  CHECK(!integer_value("9223372036854775808"));
  CHECK(integer_value("0xff") == 255);
  CHECK(integer_value("007") == 7);
  CHECK(real_value("0x1.8p3") == 12.0);
  CHECK(real_value("1.") == 1.0);
  CHECK(real_value(".5") == 0.5);
  CHECK(real_value("1e-5") == 1e-5);
  CHECK(real_value("4.9e-324") == 4.9e-324);
  CHECK(!real_value("1e999"));
  CHECK(!real_value("1e-999"));
  CHECK(std::isinf(*real_value("inf")));
  CHECK(std::isnan(*real_value("nan")));
}

TEST_CASE("malformed numbers take all that touches them", "[lexer]") {
  for (const char* text : {"1e", "1e+", "0x", "0x.p1", "12ab", "0x1.8", "1_000", "1.5f", "0x1p"}) {
    INFO(text);
    NumberShape shape = scan_number(text);
    CHECK(!shape.well_formed);
    CHECK(shape.length == std::string(text).size());
  }
}

TEST_CASE("strings are read back as they were quoted", "[lexer]") {
  for (std::string bytes : {"", "a.b", "a\"b", "a\\b", "\\\"", "tab\there", "line\nend",
                            "gr\xc3\xb6\xc3\x9f"
                            "e"}) {
    std::string literal = tang::parse::quoted(bytes);
    CHECK(string_value(literal) == bytes);
    CHECK(words(literal) == literal);
  }
}

TEST_CASE("what is valid UTF-8", "[lexer]") {
  auto bad = [](std::string text) { return first_bad_byte(text); };
  constexpr size_t none = std::string::npos;
  CHECK(bad("plain") == none);
  CHECK(bad("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf \xed\x9f\xbf \xee\x80\x80") ==
        none);
  CHECK(bad(std::string("a\0b", 3)) == 1);
  CHECK(bad("a\xff") == 1);
  CHECK(bad("a\x80") == 1);
  CHECK(bad("\xc0\xaf") == 0);         // overlong
  CHECK(bad("\xc1\xbf") == 0);         // overlong
  CHECK(bad("\xe0\x9f\xbf") == 0);     // overlong
  CHECK(bad("\xf0\x8f\xbf\xbf") == 0); // overlong
  CHECK(bad("\xed\xa0\x80") == 0);     // surrogate
  CHECK(bad("\xf4\x90\x80\x80") == 0); // beyond U+10FFFF
  CHECK(bad("\xf5\x80\x80\x80") == 0);
  CHECK(bad("ab\xc3") == 2); // cut off
  CHECK(bad("ab\xe2\x82") == 2);
  CHECK(bad("ab\xf0\x9f\x98z") == 2);
}

#include "diagnostics/snippet.h"
#include "diagnostics/visible.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

using namespace tang;

namespace {

/// The two lines below a message for the bytes [begin, end) of `text`.
std::string shown(std::string text, uint32_t begin, uint32_t end) {
  SourceManager sources;
  FileId file = sources.add("f", std::move(text));
  Snippet snippet = snippet_of({file, begin, end}, sources);
  return snippet.line + "\n" + std::string(snippet.column, ' ') + snippet.mark;
}

} // namespace

TEST_CASE("a span is underlined", "[snippet]") {
  CHECK(shown("y = abc + d\n", 4, 7) == "y = abc + d\n    ^~~");
  CHECK(shown("abc", 0, 1) == "abc\n^");
  CHECK(shown("a\nbcd\ne", 3, 5) == "bcd\n ^~");
}

TEST_CASE("empty spans and ends of lines", "[snippet]") {
  CHECK(shown("abc\n", 1, 1) == "abc\n ^");
  CHECK(shown("abc\n", 3, 3) == "abc\n   ^");
  CHECK(shown("abc\n", 3, 4) == "abc\n   ^");
  CHECK(shown("abc\n", 4, 4) == "\n^");
  CHECK(shown("", 0, 0) == "\n^");
  CHECK(shown("abc\r\ndef", 2, 3) == "abc\n  ^");
  CHECK(shown("abc\r\ndef", 4, 4) == "abc\n   ^");
}

TEST_CASE("a span over several lines is marked to the end of the first", "[snippet]") {
  CHECK(shown("ab cd\nef\n", 3, 8) == "ab cd\n   ^~");
}

TEST_CASE("tabs are expanded alike in both lines", "[snippet]") {
  CHECK(shown("\tab", 1, 3) == "        ab\n        ^~");
  CHECK(shown("a\tb\tc", 4, 5) == "a       b       c\n                ^");
  CHECK(shown("a\tb", 1, 3) == "a       b\n ^~~~~~~~");
}

TEST_CASE("columns are code points", "[snippet]") {
  CHECK(shown("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80 x", 10, 11) ==
        "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80 x\n    ^");
  CHECK(shown("\xE2\x82\xAC\xE2\x82\xAC", 3, 6) == "\xE2\x82\xAC\xE2\x82\xAC\n ^");
  CHECK(shown("\xE2\x82\xAC\xE2\x82\xAC", 4, 5) == "\xE2\x82\xAC\xE2\x82\xAC\n ^");
}

TEST_CASE("hostile text is made visible", "[snippet]") {
  CHECK(shown("a\x1b[2Jb", 5, 6) == "a<U+001B>[2Jb\n            ^");
  CHECK(shown(std::string("a\0b", 3), 1, 2) == "a<U+0000>b\n ^~~~~~~~");
  CHECK(shown("a\xff"
              "b",
              2, 3) == "a<FF>b\n     ^");
  CHECK(shown("a\xe2\x80\xae"
              "b",
              4, 5) == "a<U+202E>b\n         ^");
  CHECK(shown("\xc2\x9b"
              "1A",
              2, 3) == "<U+009B>1A\n        ^");
}

TEST_CASE("very long lines are cut around the mark", "[snippet]") {
  std::string line(1 << 20, 'x');
  line.replace(500000, 3, "abc");
  std::string text = shown(line, 500000, 500003);
  CHECK(text == "..." + std::string(40, 'x') + "abc" + std::string(77, 'x') + "...\n" +
                    std::string(43, ' ') + "^~~");
  CHECK(shown(line, 0, 2) == std::string(120, 'x') + "...\n^~");
  std::string end = shown(line, (1 << 20) - 1, 1 << 20);
  CHECK(end == "..." + std::string(120, 'x') + "\n" + std::string(122, ' ') + "^");
  CHECK(shown(line, 1 << 20, 1 << 20).size() == end.size() + 1);
}

TEST_CASE("long lines are not cut inside a character", "[snippet]") {
  std::string line;
  for (int i = 0; i < 1000; ++i) line += "\xE2\x82\xAC";
  for (uint32_t at = 300; at < 309; ++at) {
    std::string text = shown(line, at, at + 1);
    CHECK(text.find('<') == std::string::npos);
    CHECK(valid_utf8(text) == text);
  }
}

TEST_CASE("UTF-8", "[snippet]") {
  CHECK(decode_utf8("a").value == 'a');
  CHECK(decode_utf8("\xF4\x8F\xBF\xBF").value == 0x10ffff);
  for (std::string_view bad :
       {"\x80", "\xC3", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xE2\x82", "\xF0\x80\x80\x80"}) {
    CHECK_FALSE(decode_utf8(bad).valid);
    CHECK(decode_utf8(bad).length == 1);
  }
  CHECK(count_code_points("a\xC3\xA4\xff") == 3);
  CHECK(valid_utf8("a\xff\xC3\xA4") == "a\xEF\xBF\xBD\xC3\xA4");
  CHECK(visible_text("a\tb\nc") == "a b<U+000A>c");
}

TEST_CASE("whatever the bytes, a snippet is two lines of harmless UTF-8", "[snippet]") {
  std::mt19937 random(7);
  using namespace std::string_literals;
  const std::string alphabet = "ab \t\n\r\x1b\0\x80\xbf\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\xff"s;
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 300, ' ');
    for (char& c : text) c = alphabet[random() % (round % 2 ? alphabet.size() : 4)];
    uint32_t begin = random() % (text.size() + 1),
             end = begin + random() % (text.size() + 1 - begin);
    std::string out = shown(text, begin, end);
    INFO("round " << round);
    REQUIRE(std::count(out.begin(), out.end(), '\n') == 1);
    REQUIRE(valid_utf8(out) == out);
    REQUIRE(std::none_of(out.begin(), out.end(),
                         [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; }));
    size_t width = count_code_points(out.substr(0, out.find('\n')));
    REQUIRE(count_code_points(out) <= 2 * width + 2);
  }
}

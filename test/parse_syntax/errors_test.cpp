// Every lexical and syntactic diagnostic, with its place. A row is a text behind `tg 1` on line 1
// and the diagnostics it must give, each `code line:column` and, where one is due, the place of its
// note.
#include "support.h"
#include <algorithm>
#include <catch2/catch.hpp>

using namespace tang;
using namespace tang::parse;

namespace {

struct Row {
  std::string text;
  std::string expected;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      // ---- lexical
      {"y = \xff", "E0101 2:5"},
      {std::string("y = 1\nz = \0 3", 13), "E0102 3:5"},
      {"y = x $ 2", "E0103 2:7"},
      {"t\xc3\xa4t = 3", "E0103 2:2"},
      {"y = a ** 2", "E0104 2:7"},
      {"y = a ^ 2\nz = a && b\nw = a % 2", "E0104 2:7|E0104 3:7|E0104 4:7"},
      {"y = a \xc3\x97 b", "E0104 2:7"},
      {"y[i] += x[i]", "E0104 2:6"},
      {"y = 1e + 3", "E0105 2:5"},
      {"y = x[12ab]", "E0105 2:7"},
      {"y = 9223372036854775808", "E0106 2:5"},
      {"y = 1e999 + 1e-999", "E0106 2:5|E0106 2:13"},
      {"input x \"abc : f16", "E0107 2:9"},
      {"input x \"a\\qb\" : f16", "E0108 2:11"},
      // ---- what was expected
      {"y = 3 4", "E0201 2:7"},
      {"output y f16", "E0201 2:10"},
      {"input x :", "E0201 2:10"},
      {"dim N = 3 M = 4", "E0201 2:11"},
      {"budget y : 2e-3", "E0201 2:12"},
      {"repeat l in 0..3 { h = 1 }", "E0201 2:18"},
      {"grad loss w -> dw", "E0201 2:11"},
      {"y = f(a b)", "E0201 2:9 note 2:6"},
      {"def f(x)", "E0201 2:9"},
      {"monoid m(s) (a, b) -> (a.s)", "E0201 2:11"},
      {"y = a +", "E0202 2:8"},
      {"y = a + # comment", "E0202 2:8"},
      {"y =", "E0202 2:4"},
      {"y = 1 + not a", "E0202 2:9"},
      {"y = f(a,)", "E0202 2:9"},
      {"y = * a", "E0202 2:5"},
      // ---- brackets
      {"y = relu(x[i]\noutput y : f32", "E0203 2:14 note 2:9"},
      {"y = relu(x[i] +\noutput y : f32", "E0203 2:16 note 2:9"},
      {"y = (a,\n\nz[i] = 3", "E0201 2:7 note 2:5"},
      {"y[i = 3", "E0211 2:5"},
      {"y = (a + b]", "E0203 2:11 note 2:5"},
      {"y = x[i", "E0203 2:8 note 2:6"},
      {"repeat l in 0..3 carry h {\nh = 1", "E0203 3:6 note 2:26"},
      {"y = a + b)", "E0204 2:10"},
      {"}", "E0204 2:1"},
      {"y = x[]", "E0217 2:7"},
      {"y[] = 3", "E0217 2:3"},
      {"y = sum[] x", "E0217 2:9"},
      {"input x : f16[]", "E0217 2:15"},
      {"const c : f32[0] = []", "E0217 2:21"},
      {"y = " + std::string(300, '('), "E0205 2:261"},
      // ---- statements
      {"tg 1", "E0207 2:4"},
      {"inptu w : f16[3]", "E0208 2:1"},
      {"w : f16[3]", "E0208 2:1"},
      {"w(i) = 3", "E0208 2:1"},
      {"for i in 0..3", "E0208 2:1"},
      {"3 = y", "E0208 2:1"},
      {"repeat l in 0..3 carry h { dim N = 3; h = 1 }", "E0209 2:28"},
      {"repeat l in 0..3 carry h {\n h = 2 +; h = 4\n input x : f32\n}\ny = )",
       "E0202 3:9|E0209 4:2|E0202 6:5"},
      {"input x : f16[3] align 4 align 4", "E0219 2:26"},
      {"input x : f16[3] sorted sorted", "E0219 2:25"},
      {"const c : f32[2] = [[1], [2, 3]]", "E0218 2:26"},
      {"const c : f32[2] = [[1], 2]", "E0218 2:26"},
      {"const c : f32[2] = [1, [2]]", "E0218 2:24"},
      // ---- reserved words
      {"sum = 3", "E0210 2:1"},
      {"let exp = 3", "E0210 2:5"},
      {"input where : f32", "E0210 2:7"},
      {"y[max] = 3", "E0210 2:3"},
      {"def f(min) = 3", "E0210 2:7"},
      {"y = sum[exp] x", "E0210 2:9"},
      {"y = sum(x)", "E0214 2:5"},
      {"y = sum", "E0214 2:5"},
      {"y = exp[i]", "E0214 2:5"},
      {"y = 1 + tanh", "E0214 2:9"},
      // ---- habits
      {"y = a = b", "E0211 2:7"},
      {"y = where(a = b, 1, 2)", "E0211 2:13"},
      {"y = sum[j where j = 3] x", "E0211 2:19"},
      {"y[i] == x[i]", "E0212 2:6"},
      {"y = a < b < c", "E0213 2:11 note 2:5"},
      {"y = 0 <= i and i == j != k", "E0213 2:23 note 2:16"},
      {"y = sum[k in 0..3] x[k]", "E0215 2:11"},
      {"y[i in 0..4] = x[i]", "E0215 2:5"},
      {"y = sum[k: 0..3] x[k]", "E0215 2:13"},
      {"y[2*i] = x[i]", "E0216 2:3"},
      {"y[i+1] = x[i]", "E0216 2:4"},
      {"y = sum[2*k] x[k]", "E0216 2:9"},
      {"y = scan sum[t, 1] x[t]", "E0216 2:17"},
      {"def f[j: 3](x) = x", "E0216 2:10"},
  };
  return all;
}

/// `code line:column` of each diagnostic, with ` note line:column` of its first note, by `|`.
std::string places(const Parsed& p) {
  std::string all;
  for (const Diagnostic& d : p.sink.diagnostics()) {
    LineColumn at = p.sources.position(d.span.file, d.span.begin);
    if (!all.empty()) all += '|';
    all += fmt::format("{} {}:{}", info(d.kind).code, at.line, at.column);
    for (const Note& n : d.notes)
      if (n.severity == Severity::note) {
        LineColumn other = p.sources.position(n.span.file, n.span.begin);
        all += fmt::format(" note {}:{}", other.line, other.column);
      }
  }
  return all;
}

} // namespace

TEST_CASE("every fault has its code and its place", "[errors]") {
  for (const Row& row : rows()) {
    Parsed p = parsed("tg 1\n" + row.text);
    INFO(row.text << "\n" << diagnostics_of(p));
    CHECK(!p.module);
    CHECK(places(p) == row.expected);
  }
}

TEST_CASE("the version comes first", "[errors]") {
  CHECK(places(parsed("graph g")) == "E0206 1:1");
  CHECK(places(parsed("")) == "E0206 1:1");
  CHECK(places(parsed("\n# c\n\ndim N = 1\ny = )")) == "E0206 4:1|E0202 5:5");
  CHECK(places(parsed("tg 2")) == "E0207 1:4");
  CHECK(places(parsed("tg = 3")) == "E0206 1:1");
}

TEST_CASE("one run shows the faults of all statements", "[errors]") {
  Parsed p =
      parsed("tg 1\ny = )\nz[i] = 3\nw = 3 4; v = sum(x); u = 3\nlet = \nx = f(1,\n 2 3)\nt = 1 +");
  CHECK(places(p) == "E0202 2:5|E0201 4:7|E0214 4:14|E0202 5:6|E0201 7:4 note 6:6|E0202 8:8");
}

TEST_CASE("messages say what was seen and help with the fix", "[errors]") {
  struct {
    const char* text;
    const char* message;
    const char* help;
  } cases[] = {
      {"y = a ** 2", "`**` is not part of the language", "write `pow(a, b)`"},
      {"y = a // 2", "`//` is not part of the language",
       "write `floordiv(a, b)`; a comment starts with `#`"},
      {"y = where(a = b, 1, 2)", "`=` in an expression", "to compare write `==`"},
      {"y = 3 x", "expected the end of the statement, found `x`",
       "a statement ends with its line or with `;`"},
      {"y = sum(x)", "`sum` without the index it runs over", "write `sum[k] ...`"},
      {"y[i in 0..3] = 2", "an index does not take `in`",
       "its extent follows from the reads, or is stated after a colon: `k: K`"},
      {"inptu w : f16", "`inptu` begins no statement", "did you mean `input`?"},
      {"w : f16", "`w` begins no statement", "declare it with `input w : ...` or `param w : ...`"},
      {"y = a < b < c", "comparisons do not chain",
       "join two comparisons with `and`: `a <= b and b < c`"},
      {"y = 1 + not a", "expected an expression, found `not`",
       "`not` needs parentheses here: `(not a)`"},
      {"y[i] = x[i] if c else 0", "`if` behind an expression",
       "a choice is written `where(c, a, b)`"},
      {"y = 3 if c else 0", "`if` behind an expression", "a choice is written `where(c, a, b)`"},
      {"recur t: 4 carry h = 0 { h = h }", "expected the tensor to start from, found `0`",
       "define it first, such as `h0[c: C] = 0`, and carry `h = h0`"},
      {"y[2*i] = x", "expected the name of an index, found `2`",
       "arithmetic belongs into the reads: `y[i] = x[2*i + 1]`"},
  };
  for (const auto& c : cases) {
    INFO(c.text);
    Parsed p = parsed(std::string("tg 1\n") + c.text);
    REQUIRE(p.sink.diagnostics().size() == 1);
    const Diagnostic& d = p.sink.diagnostics()[0];
    CHECK(d.message == c.message);
    auto help = std::find_if(d.notes.begin(), d.notes.end(),
                             [](const Note& n) { return n.severity == Severity::help; });
    REQUIRE(help != d.notes.end());
    CHECK(help->message == c.help);
  }
}

TEST_CASE("every kind of this folder is in a test", "[errors]") {
  std::string tested = "E0206 E0207 ";
  for (const Row& row : rows()) tested += row.expected + " ";
  for (const KindInfo& kind : all_kinds()) {
    if (kind.code.substr(0, 3) != "E01" && kind.code.substr(0, 3) != "E02") continue;
    if (kind.kind == Kind::file_too_large) continue; // would need 4 GiB of text
    INFO(kind.code << " " << kind.name);
    CHECK(tested.find(kind.code) != std::string::npos);
    CHECK(kind.explanation.size() > 40);
  }
}

#include "parse/lexer.h"
#include "random_module.h"
#include "support.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace tang;
using namespace tang::parse;

namespace {

/// The canonical text of the statement `text`, without its line end.
std::string one(const std::string& text) {
  std::string all = formatted("tg 1\n" + text + "\n");
  if (all.substr(0, 5) != "tg 1\n") return all;
  return all.substr(5, all.size() - 6);
}

/// Formats, parses and formats again; both must be stable.
void check_stable(const std::string& text) {
  Parsed first = parsed(text);
  INFO(text << "\n" << diagnostics_of(first));
  REQUIRE(first.module);
  std::string canonical = format_module(first.sources, *first.module);
  INFO("canonical:\n" << canonical);
  Parsed second = parsed(canonical);
  INFO(diagnostics_of(second));
  REQUIRE(second.module);
  CHECK(equal(*first.module, *second.module));
  CHECK(format_module(second.sources, *second.module) == canonical);
  CHECK(first.module->comments.size() == second.module->comments.size());
}

/// The same tokens with other blanks: line ends and comments inside brackets, blank lines and
/// comments between statements. Comments are numbered so that none can get lost unseen.
std::string scrambled(const std::string& text, uint64_t seed) {
  std::mt19937_64 random(seed);
  SourceManager sources;
  Sink sink;
  FileId file = sources.add("test.tg", text);
  Lexed lexed = lex(sources, file, sink);
  std::string out;
  int depth = 0, comments = 0;
  auto comment = [&] { out += fmt::format(" # comment {}", comments++); };
  for (size_t i = 0; i + 1 < lexed.tokens.size(); ++i) {
    const Token& t = lexed.tokens[i];
    if (t.kind == TokenKind::newline) {
      // The old comment at the line end is gone; perhaps there is a new one.
      if (depth == 0 && random() % 4 == 0) comment();
      out += random() % 8 == 0 ? "\r\n\n" : "\n";
      if (random() % 8 == 0) comment(), out += "\n";
      continue;
    }
    bool opens = t.kind == TokenKind::left_paren || t.kind == TokenKind::left_bracket;
    bool closes = t.kind == TokenKind::right_paren || t.kind == TokenKind::right_bracket;
    depth += opens - closes;
    out += text.substr(t.begin, t.end - t.begin);
    // A line end is a blank everywhere inside brackets, but for what must follow its name directly.
    TokenKind next = lexed.tokens[i + 1].kind;
    bool after_name = t.kind == TokenKind::name || t.kind == TokenKind::right_bracket;
    bool may_break = depth > 0 && !(after_name && next != TokenKind::comma);
    if (may_break && random() % 6 == 0) {
      if (random() % 2 == 0) comment();
      out += "\n";
    } else if (random() % 3 == 0 || lexed.tokens[i + 1].begin > t.end) {
      out += " ";
    }
  }
  return out;
}

} // namespace

TEST_CASE("canonical statements", "[format]") {
  CHECK(one("y[i,j]=relu( sum[k]x[i,k]*w[k,j]+b [j] )") ==
        "y[i, j] = relu(sum[k] x[i, k] * w[k, j] + b[j])");
  CHECK(one("dim  N=4,M in 1 ..< 9 step 2 , Q") == "dim N = 4, M in 1..<9 step 2, Q");
  CHECK(one("input x\"a.b\":f16[N,M]:[M,1]sorted in 0..3 align 4") ==
        "input x \"a.b\" : f16[N, M]:[M, 1] align 4 in 0..3 sorted");
  CHECK(one("const c:f32[2,2]=[[1,-2],[3,4]]") == "const c : f32[2, 2] = [[1, -2], [3, 4]]");
  CHECK(one("def f[j](x)outside -inf{let m=max[j]x;x-m}") ==
        "def f[j](x) outside -inf { let m = max[j] x; x - m }");
  CHECK(one("def f(x){x*x}") == "def f(x) = x * x");
  CHECK(one("monoid lse(m=-inf,s=0)(a,b)->(max(a.m,b.m),a.s)") ==
        "monoid lse(m = -inf, s = 0) (a, b) -> (max(a.m, b.m), a.s)");
  CHECK(one("(v[t,n],id[t,n])=topk[e where e<3;6]x[t,e]") ==
        "(v[t, n], id[t, n]) = topk[e where e < 3; 6] x[t, e]");
  CHECK(one("c[t]=scan sum[t:T exclusive desc]x[t]") ==
        "c[t] = scan sum[t: T exclusive desc] x[t]");
  CHECK(one("y=softmax[j] (x)loc(\"f.py\":12:3)") == "y = softmax[j](x) loc(\"f.py\":12:3)");
  CHECK(one("grad y with dy wrt w->dw,b->db") == "grad y with dy wrt w -> dw, b -> db");
  CHECK(one("budget y:rel 2e-3;store h:bf16") == "budget y : rel 0.002\nstore h : bf16");
  CHECK(one("output a as b\"c\":f32[N]over d") == "output a as b \"c\" : f32[N] over d");
  CHECK(one("repeat l in 0..<3 carry h,c{h=1;c=2}") ==
        "repeat l in 0..<3 carry h, c {\n  h = 1\n  c = 2\n}");
  CHECK(one("recur t:T carry h=g{h=1}collect hs=h collect gs=h") ==
        "recur t: T carry h = g {\n  h = 1\n} collect hs = h, gs = h");
  CHECK(one("y = not(a)and-b") == "y = not (a) and -b");
}

TEST_CASE("numbers in shortest form", "[format]") {
  CHECK(one("y = 007 + 0XFF + 1. + .50 + 1E-05 + 1e+20 + 0x1.8p3 + 100000000000000000000.0") ==
        "y = 7 + 0xff + 1.0 + 0.5 + 1e-5 + 1e20 + 12.0 + 1e20");
  for (double value : {0.0, 1.0, 0.1, 1e-5, 2e-3, 1e15, 1e16, 1e17, 1e20, 1e21, 1e22, 5e-324,
                       1.7976931348623157e308, 1e100, 1e-100})
    CHECK(real_value(format_real(value)) == value);
  CHECK(format_real(3) == "3.0");
  CHECK(format_real(INFINITY) == "inf");
}

TEST_CASE("parentheses: the author's stay, missing ones come", "[format]") {
  CHECK(one("y = ((a * b)) + (c)") == "y = (a * b) + (c)");
  Module m;
  m.top.push_back(m.add(Stmt{{}, Version{}, {}}));
  auto name = [&](const char* text) { return m.add(Expr{{}, NameRef{{text, {}}}, {}}); };
  Apply sum;
  sum.callee = {"sum", {}}, sum.binders = {Binder{{"k", {}}, {}}}, sum.operands = {name("a")},
  sum.prefix = true;
  ExprId reduction = m.add(Expr{{}, sum, {}});
  ExprId product = m.add(Expr{{}, Binary{BinaryOp::multiply, reduction, name("b")}, {}});
  m.top.push_back(m.add(Stmt{{}, Equation{{LeftSide{{"y", {}}, {}, {}}}, product}, {}}));
  CHECK(format_module(SourceManager(), m) == "tg 1\ny = (sum[k] a) * b\n");
}

TEST_CASE("comments, blank lines and breaks stay", "[format]") {
  CHECK(formatted("# head\n\n\n\ntg 1 # one\ngraph x;dim N=4   # two\n\n\ny = where(i<3, # cond\n"
                  "   # own\n   x[i]\n    + 4,  1   # last\n   )   # end\n# tail") ==
        "# head\n\ntg 1  # one\ngraph x\ndim N = 4  # two\n\ny = where(i < 3,  # cond\n  # own\n  "
        "x[i] +\n"
        "  4, 1  # last\n)  # end\n# tail\n");
  CHECK(formatted("tg 1\ndef g[j](x) {   # open\n\n # before\n let m = max[j] x # m\n\n x-m # "
                  "res\n # after\n} # close\n") ==
        "tg 1\ndef g[j](x) {  # open\n  # before\n  let m = max[j] x  # m\n\n  x - m  # res\n  # "
        "after\n}  # close\n");
  CHECK(formatted("tg 1\nrepeat l in 0..1 carry h { # c0\n\n\nh = h # c1\n# c2\n\n}\n") ==
        "tg 1\nrepeat l in 0..1 carry h {  # c0\n  h = h  # c1\n  # c2\n}\n");
  CHECK(formatted("tg 1\n  # own\r\n#\r\n") == "tg 1\n# own\n#\n");
  CHECK(formatted(
            "tg 1\nmonoid m(s = 0) (a, b) -> (\n a.s + b.s\n)\nconst c : f32[2] = [\n1,\n2\n]") ==
        "tg 1\nmonoid m(s = 0) (a, b) -> (\n  a.s + b.s\n)\nconst c : f32[2] = [\n  1,\n  2\n]\n");
}

TEST_CASE("neighbours are aligned", "[format]") {
  CHECK(formatted("tg 1\ninput x : f32 # a\nparam long : f32[3]# b\n\ninput y : f32\noutput x : "
                  "f32\noutput xyz : f32\n") ==
        "tg 1\ninput x    : f32     # a\nparam long : f32[3]  # b\n\ninput y : f32\noutput x   : "
        "f32\noutput xyz : f32\n");
}

TEST_CASE("every sample is stable, also scrambled", "[format]") {
  std::vector<std::string> files = sample_files();
  CHECK(files.size() > 20);
  for (const std::string& path : files) {
    INFO(path);
    std::string text = read_file(path);
    check_stable(text);
    Parsed original = parsed(text);
    for (uint64_t seed = 0; seed < 4; ++seed) {
      std::string other = scrambled(text, seed);
      INFO(other);
      Parsed p = parsed(other);
      INFO(diagnostics_of(p));
      REQUIRE(p.module);
      CHECK(equal(*original.module, *p.module));
      check_stable(other);
      std::string canonical = format_module(p.sources, *p.module);
      for (size_t i = 0; i < p.module->comments.size(); ++i)
        CHECK(canonical.find(fmt::format("# comment {}\n", i)) != std::string::npos);
    }
  }
}

TEST_CASE("random trees read back as themselves", "[format]") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    Module m = random_module(seed, 12);
    std::string text = format_module(SourceManager(), m);
    Parsed p = parsed(text);
    INFO(text << "\n" << diagnostics_of(p));
    REQUIRE(p.module);
    REQUIRE(equal(m, *p.module));
    REQUIRE(format_module(p.sources, *p.module) == text);
  }
}

TEST_CASE("equality sees every difference", "[format]") {
  const char* texts[] = {"y = a + b",
                         "y = a - b",
                         "y = b + a",
                         "y[i] = a + b",
                         "z = a + b",
                         "y = 1",
                         "y = 1.0",
                         "y = inf",
                         "y = nan",
                         "y = true",
                         "y = false",
                         "y = x[i]",
                         "y = x[j]",
                         "y = x(i)",
                         "y = -a",
                         "y = not a",
                         "y = a else 0",
                         "y = a.m",
                         "y = a.m[i]",
                         "y = sum[k] a",
                         "y = max[k] a",
                         "y = sum[k: 3] a",
                         "y = sum[k where k] a",
                         "y = sum[k; 3] a",
                         "y = f[k] a",
                         "y = scan f[k] a",
                         "y = scan f[k desc] a",
                         "y = scan f[k exclusive] a",
                         "y = f[k](a, b)",
                         "graph g",
                         "graph g \"h\"",
                         "dim N",
                         "dim N = 1",
                         "dim N in 0..1",
                         "dim N in 0..<1",
                         "dim N in 0..1 step 2",
                         "input x : f32",
                         "param x : f32",
                         "input x : f16",
                         "input x : f32[2]",
                         "input x : f32[2]:[1]",
                         "input x : f32 align 4",
                         "input x : f32 in 0..1",
                         "input x : f32 sorted",
                         "input x : f32 loc(\"a\":1)",
                         "input x : f32 loc(\"a\":1:2)",
                         "const c : f32 = 1",
                         "const c : f32 = [1]",
                         "const c : f32 = [[1]]",
                         "let a = 1",
                         "def f(x) = x",
                         "def f[j](x) = x",
                         "def f(x) outside 1 = x",
                         "def f(x) { let y = 1; x }",
                         "monoid m(s = 0) (a, b) -> (a)",
                         "monoid m(s[i] = 0) (a, b) -> (a)",
                         "monoid m(s = 0) (b, a) -> (a)",
                         "include <nn>",
                         "include \"nn\"",
                         "output x : f32",
                         "output x as y : f32",
                         "output x \"y\" : f32",
                         "output x : f32 over y",
                         "grad y wrt x -> z",
                         "grad y with d wrt x -> z",
                         "store y : f16",
                         "accumulate y : f16",
                         "budget y : rel 1",
                         "budget y : abs 1",
                         "repeat l in 0..1 carry h { }",
                         "repeat l in 0..1 carry h { h = 1 }",
                         "recur t carry h = g { }",
                         "recur t: 3 carry h = g { }",
                         "recur t carry h = g { } collect a = h",
                         "(y, z) = a"};
  std::vector<Parsed> all;
  for (const char* text : texts) all.push_back(parsed(std::string("tg 1\n") + text));
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < all.size(); ++j) {
      INFO(texts[i] << " and " << texts[j] << diagnostics_of(all[i]));
      REQUIRE(all[i].module);
      REQUIRE(all[j].module);
      CHECK(equal(*all[i].module, *all[j].module) == (i == j));
    }
  auto same = [](const char* a, const char* b) {
    return equal(*parsed(std::string("tg 1\n") + a).module,
                 *parsed(std::string("tg 1\n") + b).module);
  };
  CHECK(same("y = ((a)) + 0x10", "y=a\t+ 16 # c"));
  CHECK(same("y = softmax[j] x", "y = softmax[j](x)"));
  CHECK(same("y = nan", "y = nan"));
}

TEST_CASE("long chains print without recursion", "[format][limits]") {
  std::string text = "tg 1\ny = a";
  for (int i = 0; i < 100000; ++i) text += " + a";
  check_stable(text + "\n");
}

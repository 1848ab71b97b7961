#include "support.h"
#include <catch2/catch.hpp>

using namespace tang;
using namespace tang::parse;

namespace {

template <class T>
T only(const std::string& statement) {
  Parsed p = parsed("tg 1\n" + statement);
  INFO(statement << "\n" << diagnostics_of(p));
  REQUIRE(p.module);
  REQUIRE(p.module->top.size() == 2);
  return std::get<T>((*p.module)[p.module->top[1]].form);
}

std::string repeated(const std::string& text, size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

/// The first line of the diagnostics of a file that starts with `tg 1`.
std::string first_fault(const std::string& body) {
  Parsed p = parsed("tg 1\n" + body);
  CHECK(!p.module);
  std::string all = diagnostics_of(p);
  return all.substr(0, all.find('\n'));
}

} // namespace

TEST_CASE("precedence", "[parser]") {
  CHECK(tree("a + b * c - d / e") == "(- (+ a (* b c)) (/ d e))");
  CHECK(tree("a or b and c or d") == "(or (or a (and b c)) d)");
  CHECK(tree("not a and not b == c") == "(and (not a) (not (== b c)))");
  CHECK(tree("not not a < b + 1") == "(not (not (< a (+ b 1))))");
  CHECK(tree("-a * -b") == "(* (- a) (- b))");
  CHECK(tree("--a") == "(- (- a))");
  CHECK(tree("a - -1") == "(- a (- 1))");
  CHECK(tree("(a + b) * c") == "(* (+ a b) c)");
  CHECK(tree("a < b and c >= d") == "(and (< a b) (>= c d))");
}

TEST_CASE("a built-in reduction takes a product", "[parser]") {
  CHECK(tree("sum[k] a*b + c") == "(+ (apply sum[k] (* a b)) c)");
  CHECK(tree("-sum[k] x[k]") == "(- (apply sum[k] (read x k)))");
  CHECK(tree("c * sum[k] a * b") == "(* c (apply sum[k] (* a b)))");
  CHECK(tree("sum[k] (a + b) * c") == "(apply sum[k] (* (+ a b) c))");
  CHECK(tree("sum[i] max[j] x[i, j] * 2 - 1") ==
        "(- (apply sum[i] (apply max[j] (* (read x i j) 2))) 1)");
  CHECK(tree("sum[k] -x[k]") == "(apply sum[k] (- (read x k)))");
  CHECK(tree("max(a, b) + max[k] x[k]") == "(+ (call max a b) (apply max[k] (read x k)))");
  CHECK(tree("sum[r: 3, s: N + 1] x") == "(apply sum[r:3 s:(+ N 1)] x)");
  CHECK(tree("sum[k] where(k < 3, x[k], 0)") == "(apply sum[k] (call where (< k 3) (read x k) 0))");
  CHECK(tree("topk[e where e < 3; K] x[e]") == "(apply topk[e where (< e 3); K] (read x e))");
}

TEST_CASE("macros, monoids and scans take one read, call or parenthesis", "[parser]") {
  CHECK(tree("softmax[j] s[i, j] * v[j]") == "(* (apply softmax[j] (read s i j)) (read v j))");
  CHECK(tree("mean[j] x[j] * y") == "(* (apply mean[j] (read x j)) y)");
  CHECK(tree("m[k](x) * 2") == "(* (apply m[k] x) 2)");
  CHECK(tree("lse[k](x[i, k], 1)") == "(apply lse[k] (read x i k) 1)");
  CHECK(tree("softmax[j where j <= i] exp(s) else 0") ==
        "(else (apply softmax[j where (<= j i)] (call exp s)) 0)");
  CHECK(tree("scan sum[t exclusive] x[t] + 1") == "(+ (scan sum[t!exclusive] (read x t)) 1)");
  CHECK(tree("scan sum[t: T exclusive desc] x[t]") == "(scan sum[t:T!exclusive!desc] (read x t))");
  CHECK(tree("scan affine[t](d[t], u[t])") == "(scan affine[t] (read d t) (read u t))");
  CHECK(tree("-softmax[j] softmax[k] x") == "(- (apply softmax[j] (apply softmax[k] x)))");
  CHECK(tree("f[j] where(j < i, 1, 2)") == "(apply f[j] (call where (< j i) 1 2))");
  CHECK(tree("f[j] 3") == "(apply f[j] 3)");
}

TEST_CASE("reads and applications look alike until the brackets are read", "[parser]") {
  CHECK(tree("t[i, 2*j + 1, id[k]]") == "(read t i (+ (* 2 j) 1) (read id k))");
  CHECK(tree("t[i] + 1") == "(+ (read t i) 1)");
  CHECK(tree("t[i: 4](x)") == "(apply t[i:4] x)");
  CHECK(tree("t[i](x)") == "(apply t[i] x)");
  CHECK(tree("t[i] loc(\"f.py\":3)") == "(read t i)");
  // A filter or modifier of the outer brackets does not become an operand of an inner read.
  CHECK(tree("sum[k: n[0] where (k < 2)] x") == "(apply sum[k:(read n 0) where (< k 2)] x)");
  CHECK(tree("scan sum[k: n[0] desc] x") == "(scan sum[k:(read n 0)!desc] x)");
  CHECK(tree("(t[i]\n + a)") == "(+ (read t i) a)");
}

TEST_CASE("guards", "[parser]") {
  CHECK(tree("x[i] else -1 + y") == "(+ (else (read x i) (- 1)) y)");
  CHECK(tree("-x[i] else 0") == "(- (else (read x i) 0))");
  CHECK(tree("x[i] else y[i] else 0") == "(else (read x i) (else (read y i) 0))");
  CHECK(tree("sum[k] a[k] * x[k] else 0") == "(apply sum[k] (* (read a k) (else (read x k) 0)))");
  CHECK(tree("x[i] else sum[k] a * b") == "(else (read x i) (apply sum[k] (* a b)))");
}

TEST_CASE("literals and fields", "[parser]") {
  CHECK(tree("inf + nan") == "(+ inf nan)");
  CHECK(tree("true and false") == "(and true false)");
  CHECK(tree("0x1.8p3 + 0xff") == "(+ 12.0 255)");
  CHECK(tree("a.m + y.A[i, l]") == "(+ (field a.m) (field y.A i l))");
  CHECK(tree("f()") == "(call f)");
}

TEST_CASE("words that begin statements name tensors, too", "[parser]") {
  for (std::string word : {"in",    "new",  "kernel",    "input", "output", "dim",    "let",
                           "param", "tg",   "graph",     "scan",  "loc",    "repeat", "def",
                           "f16",   "desc", "exclusive", "over",  "carry",  "step"}) {
    INFO(word);
    CHECK(only<Equation>(word + "[i] = x[i]").lefts[0].tensor.text == word);
    CHECK(only<Equation>(word + " = 3").lefts[0].tensor.text == word);
    CHECK(only<Input>("input " + word + " : i32").declared.name.text == word);
    CHECK(only<Let>("let " + word + " = 3").name.text == word);
    CHECK(only<Dim>("dim " + word + " in 1..4").entries[0].declared.name.text == word);
    CHECK(tree(word + "[i] + " + word) == "(+ (read " + word + " i) " + word + ")");
    CHECK(tree("sum[" + word + "] x[" + word + "]") ==
          "(apply sum[" + word + "] (read x " + word + "))");
    CHECK(tree("sum[" + word + " desc] x") == "(apply sum[" + word + "!desc] x)");
  }
}

TEST_CASE("declarations", "[parser]") {
  auto dims = only<Dim>("dim N = 128, S, T in 64..4096 step 64, U \"u.v\" in 0..<9").entries;
  REQUIRE(dims.size() == 4);
  CHECK(dims[0].value);
  CHECK((!dims[1].value && !dims[1].range && !dims[1].step));
  CHECK((dims[2].range->inclusive && dims[2].step));
  CHECK((!dims[3].range->inclusive && dims[3].declared.external == "u.v"));
  auto input = only<Input>("input x \"a.b\" : f16[M, K]:[LD, 1] align 4 in 0..<E sorted");
  CHECK((!input.is_param && input.declared.external == "a.b" && input.type.element.text == "f16"));
  CHECK((input.type.shape.size() == 2 && input.type.strides.size() == 2));
  CHECK((input.type.align && input.type.range && input.type.sorted));
  auto param = only<Input>("param t : i32 sorted in 0..3");
  CHECK((param.is_param && param.type.shape.empty() && param.type.sorted && param.type.range));
  auto table = only<Const>("const c : f32[2, 3] = [[1, 2, 3], [4, 5, -6]]");
  CHECK(table.values.size() == 6);
  CHECK(table.extents == std::vector<uint32_t>{2, 3});
  CHECK(only<Const>("const c : f32 = 3").extents.empty());
  auto output = only<Output>("output kc2 as cache \"ext\" : bf16[N] over kc");
  CHECK((output.tensor.text == "kc2" && output.as->text == "cache" && output.external == "ext" &&
         output.over->text == "kc"));
  CHECK(only<Include>("include <nn>").is_library);
  CHECK(only<Include>("include \"a/b.tg\"").path == "a/b.tg");
  auto grad = only<Grad>("grad y with dy wrt w -> dw, b -> db");
  CHECK((grad.of.text == "y" && grad.cotangent->text == "dy" && grad.pairs.size() == 2));
  CHECK(only<Budget>("budget y : abs 1e-5").kind == BudgetKind::absolute);
  CHECK(only<Store>("store h : bf16").element.text == "bf16");
  CHECK(only<Accumulate>("accumulate h : f16").tensor.text == "h");
  CHECK(only<GraphName>("graph g \"outer\"").declared.external == "outer");
}

TEST_CASE("macros, monoids and bodies", "[parser]") {
  auto def = only<Def>("def f[j, k](x, w) outside -inf { let m = max[j] x; let n = m\n x - n }");
  CHECK((def.binders.size() == 2 && def.parameters.size() == 2 && def.outside &&
         def.lets.size() == 2));
  CHECK(only<Def>("def f(x) = x * x").lets.empty());
  CHECK(only<Def>("def one() = 1").parameters.empty());
  auto m = only<Monoid>(
      "monoid lin(A[i: N, k: N] = where(i == k, 1, 0), c[i: N] = 0) (x, y) -> (x.A[i, k], x.c[i])");
  CHECK((m.fields.size() == 2 && m.fields[0].indices.size() == 2 && m.first.text == "x" &&
         m.combine.size() == 2));
  auto equation = only<Equation>("(v[t, n], id[t, n]) = topk[e; 6] x[t, e]");
  CHECK((equation.lefts.size() == 2 && equation.lefts[1].indices.size() == 2));
  CHECK(only<Equation>("y[i: OH, j] = x").lefts[0].indices[0].extent);
  auto recur = only<Recur>("recur t: T carry h = h0, c = c0 {\n h[i] = c[i]; c = 1 } collect hs = "
                           "h, cs = c collect ds = h");
  CHECK((recur.carry.size() == 2 && recur.body.size() == 2 && recur.collect.size() == 3));
}

TEST_CASE("inner statements stand before outer ones", "[parser]") {
  Parsed p =
      parsed("tg 1\nrepeat l in 0..<3 carry h { recur t: T carry h = g { h = 1 } }\nz = 2\n");
  REQUIRE(p.module);
  const Module& m = *p.module;
  REQUIRE(m.top.size() == 3);
  const auto& repeat = std::get<Repeat>(m[m.top[1]].form);
  REQUIRE(repeat.body.size() == 1);
  CHECK(repeat.body[0] < m.top[1]);
  CHECK(std::get<Recur>(m[repeat.body[0]].form).body[0] < repeat.body[0]);
}

TEST_CASE("foreign places", "[parser]") {
  Parsed p = parsed("tg 1\ny[i] = x[i] loc(\"a.py\":12:3)\ninput x : f32 loc(\"b.py\":7)\n");
  REQUIRE(p.module);
  auto loc = [&](size_t i) { return *(*p.module)[p.module->top[i]].loc; };
  CHECK((loc(1).file == "a.py" && loc(1).line == 12 && loc(1).column == 3));
  CHECK((loc(2).file == "b.py" && loc(2).line == 7 && loc(2).column == 0));
}

TEST_CASE("spans", "[parser]") {
  std::string text = "tg 1\ny[i] = (a + f(x[i]) ) * 2 # end\n";
  Parsed p = parsed(text);
  REQUIRE(p.module);
  const Module& m = *p.module;
  auto of = [&](Span s) { return text.substr(s.begin, s.end - s.begin); };
  CHECK(of(m[m.top[1]].span) == "y[i] = (a + f(x[i]) ) * 2");
  ExprId value = std::get<Equation>(m[m.top[1]].form).value;
  CHECK(of(m[value].span) == "(a + f(x[i]) ) * 2");
  ExprId sum = std::get<Binary>(m[value].form).left;
  CHECK(of(m[sum].span) == "a + f(x[i])");
  CHECK(of(m[sum].parens) == "(a + f(x[i]) )");
}

TEST_CASE("operands have smaller ids and one user", "[parser]") {
  for (const std::string& path : sample_files()) {
    INFO(path);
    Parsed p = parsed(read_file(path));
    INFO(diagnostics_of(p));
    REQUIRE(p.module);
    std::vector<int> users(p.module->exprs.size());
    for (uint32_t i = 0; i < p.module->exprs.size(); ++i)
      for_each_operand(p.module->exprs[i], [&](ExprId operand) {
        CHECK(operand.value < i);
        CHECK(++users[operand.value] == 1);
      });
  }
}

TEST_CASE("statement ends", "[parser]") {
  CHECK(parsed("tg 1;graph g;;\n\n;dim N = 1;").module->top.size() == 3);
  CHECK(parsed("\n\n# c\ntg 1").module->top.size() == 1);
  CHECK(parsed("tg 1\r\ndim N = 1\r\n").module->top.size() == 2);
  CHECK(parsed("tg 1\ny = f(a,\n\n # c\n b\n)\n").module->top.size() == 2);
}

TEST_CASE("long inputs", "[parser][limits]") {
  constexpr size_t n = 100000;
  Parsed lines =
      parsed("tg 1\n" + repeated("y[i, j] = relu(sum[k] x[i, k] * w[k, j] + b[j])\n", n));
  REQUIRE(lines.module);
  CHECK(lines.module->top.size() == n + 1);
  Parsed chain = parsed("tg 1\ny = a" + repeated(" + a", n));
  REQUIRE(chain.module);
  CHECK(chain.module->exprs.size() == 2 * n + 1);
  CHECK(equal(*chain.module, *chain.module));
  CHECK(parsed("tg 1\nconst c : f32[" + std::to_string(n) + "] = [0" + repeated(", 1", n - 1) + "]")
            .module);
}

TEST_CASE("256 levels of nesting work, more are a fault", "[parser][limits]") {
  auto nested = [](const std::string& open, const std::string& close, size_t n) {
    return "y = " + repeated(open, n) + "x" + repeated(close, n);
  };
  struct Case {
    std::string open, close;
  } cases[] = {{"(", ")"},      {"f(", ")"},     {"t[", "]"},         {"-", ""},  {"not ", ""},
               {"a else ", ""}, {"sum[k] ", ""}, {"softmax[k] ", ""}, {"-(", ")"}};
  for (const Case& c : cases) {
    INFO(c.open);
    CHECK(parsed("tg 1\n" + nested(c.open, c.close, 256)).module);
    CHECK_THAT(first_fault(nested(c.open, c.close, 257)), Catch::StartsWith("E0205"));
    CHECK_THAT(first_fault(nested(c.open, c.close, 100000)), Catch::StartsWith("E0205"));
    CHECK_THAT(first_fault("y = " + repeated(c.open, 100000)), Catch::StartsWith("E0205"));
  }
  std::string block = "repeat l in 0..1 carry h {\n";
  CHECK(parsed("tg 1\n" + repeated(block, 256) + "h = 1" + repeated("}", 256)).module);
  CHECK_THAT(first_fault(repeated(block, 100000)), Catch::StartsWith("E0205"));
  CHECK_THAT(first_fault("const c : f32 = " + repeated("[", 100000)), Catch::StartsWith("E0205"));
}

TEST_CASE("hostile input neither crashes nor takes quadratic time", "[parser][limits]") {
  for (const char* piece :
       {"(",       ")",       "[",    "]",      "{",     "}",
        "y = (\n", "y = )\n", "{[",   "y = (;", "\"",    "=",
        "a b\n",   "sum[",    "..",   "tg 1\n", "scan ", "repeat l in 0..1 carry h {",
        "}\n{\n",  "#\n",     "f(\n", "y[i\n"}) {
    INFO(piece);
    parsed(repeated(piece, 50000));
    Parsed p = parsed("tg 1\n" + repeated(piece, 50000));
    CHECK((p.module || !p.sink.ok()));
  }
}

TEST_CASE("a module is returned exactly when nothing was reported", "[parser]") {
  std::string text = read_file(TANGC_SOURCE_DIR "/samples/moe.tg");
  REQUIRE(!text.empty());
  for (size_t cut = 0; cut < text.size(); cut += 7) {
    Parsed p = parsed(text.substr(0, cut));
    CHECK(p.module.has_value() == p.sink.ok());
    std::string broken = text;
    broken[cut] = "([{)]}=,;:\"\\"[cut % 12];
    Parsed q = parsed(broken);
    CHECK(q.module.has_value() == q.sink.ok());
  }
}

// One fault each: its code, its place, what the message says, and what the notes add.
#include "support.h"
#include <catch2/catch.hpp>

using namespace tang;
using namespace tang::parse::test;

namespace {

struct Fault {
  std::string text;     ///< from line 2 on: `tg 1` is line 1
  std::string expected; ///< the diagnostics with their notes
};

void check(const std::vector<Fault>& faults) {
  Given given;
  for (const Fault& fault : faults) {
    INFO(fault.text);
    Outcome outcome;
    REQUIRE_NOTHROW(outcome = elaborate_text("tg 1\n" + fault.text, given));
    CHECK(outcome.text(true) == fault.expected);
    CHECK(outcome.graph.has_value() == outcome.sink.ok());
  }
}

} // namespace

TEST_CASE("faults of constants") {
  check({
      {"input x : f32[4]\n"
       "dim N = x\n",
       "E0316 3:9 `x` is a tensor, not a compile-time constant\n"
       "  note 2:7 it is declared here\n"},
      {"input x : f32[4]\n"
       "y[i: x[0]] = 1.0\n",
       "E0316 3:6 `x[...]` is not a compile-time constant\n"},
      {"dim N = sum[i] 3\n", "E0316 2:9 a reduction is not a compile-time constant\n"},
      {"dim N = 7 / 2\n", "E0603 2:9 `N` is 3.5, not an integer\n"},
      {"dim S\n"
       "dim N = S / 2\n",
       "E0603 3:9 `N` is not proved to be an integer: `S` may not be a multiple of 2\n"
       "  help declare the dim with a `step`, or use `floordiv`\n"},
      {"dim S\n"
       "dim N = sqrt(S)\n",
       "E0603 3:9 `N` is not an integer for every value of its dims\n"},
      {"dim N = 9223372036854775807 + 1\n", "E0604 2:9 `N` does not fit into 64 bits\n"},
      {"dim N = -3\n", "E0605 2:9 dim `N` is -3, and a dim is at least 0\n"},
      {"dim S\n"
       "dim N = S - 5\n",
       "E0605 3:9 dim `N` may be negative: it is -5 at least\n"},
      {"dim S in 5..3\n", "E0605 2:10 the range 5..3 is empty\n"},
      {"dim S in -2..3\n", "E0605 2:10 a dim is at least 0, and the range starts at -2\n"},
      {"dim S in 1..10 step 0\n", "E0605 2:10 the step is 0, and 1 is the least\n"},
      {"dim S in 1..10 step 64\n", "E0605 2:10 no multiple of 64 lies in 1..10\n"},
      {"dim S in 1..T\n", "E0301 2:13 unknown name `T`\n"},
      {"let a = true\n", "E0316 2:9 a truth value is not a compile-time constant\n"},
      {"let a = foo(1)\n", "E0316 2:9 `foo(...)` is not a compile-time constant\n"},
      {"let a = pow(2)\n", "E0311 2:9 `pow` takes 2 arguments, not 1\n"},
      {"input x : f32[-1]\n", "E0406 2:15 the extent is negative\n"},
      {"input x : f32[4611686018427387904, 4]\n",
       "E0604 2:11 the elements of `x` do not fit into 64 bits\n"},
      {"input x : f32[1.5]\n", "E0406 2:15 the extent is 1.5, not an integer\n"},
      {"const c : f32[3] = [1, 2]\n", "E0318 2:7 the table has 2 entries, and its shape has 3\n"},
      {"const c : i8[2] = [1, 300]\n", "E0318 2:23 the entry is 300, and `i8` holds -128..127\n"},
      {"const c : bool[2] = [true, 1]\n",
       "E0318 2:28 an entry of a `bool` table is `true` or `false`\n"},
      {"const c : f32[2, 2] = [[1, 2, 3, 4]]\n",
       "E0318 2:7 the nested lists of the table do not have its shape\n"},
      {"dim S\n"
       "const c : f32[S] = [1, 2]\n",
       "E0318 3:11 the shape of a table depends on a dim that is not fixed\n"},
      {"const c : i32[1] = [1.5]\n", "E0318 2:21 the entry is 1.5, not an integer\n"},
      {"input x : f32[4]:[1, 2]\n", "E0705 2:11 there are 2 strides for 1 axes\n"},
      {"input x : f32[4] align 3\n",
       "E0705 2:24 the alignment is 3, not a power of two from 1 to 4096\n"},
      {"input x : f32[4] in 0..3\n",
       "E0705 2:21 a range of values belongs to integers, and `f32` is not one\n"},
      {"input x : i8[4] in 0..300\n", "E0705 2:20 `i8` holds -128..127, and the range is 0..300\n"},
      {"input x : i8[4] in 3..1\n", "E0705 2:20 the range 3..1 is empty\n"},
      {"input x : f32[4] sorted\n", "E0705 2:11 `sorted` belongs to integers of rank 1 or more\n"},
  });
}

TEST_CASE("faults of ranges and views") {
  check({
      {"dim N = 4, M = 5\n"
       "input x : f32[N]\n"
       "input z : f32[M]\n"
       "y[i] = x[i] + z[i]\n",
       "E0401 5:17 index `i` has extent 5 in `z` and 4 in `x`\n"
       "  note 5:10 extent 4 comes from here\n"
       "  help state the extent where the index is bound, `i: 4`, and guard the reads that are "
       "shorter\n"},
      {"dim N = 4\n"
       "input x : f32[N]\n"
       "y[i] = x[2*i]\n",
       "E0402 4:3 index `i` has no range\n"
       "  note 4:12 it is used here, and stands alone in no place of a read\n"
       "  help state its extent where it is bound: `i: N`\n"},
      {"input x : f32[4]\n"
       "y = sum[k] 1.0\n",
       "E0402 3:9 index `k` has no range\n"
       "  help state its extent where it is bound: `k: N`\n"},
      {"dim S in 1..64\n"
       "input x : f32[S]\n"
       "y[i] = x[i + 1]\n"
       "z[i: S] = x[i - 1] + x[i]\n",
       "E0402 4:3 index `i` has no range\n"
       "  note 4:10 it is used here, and stands alone in no place of a read\n"
       "  help state its extent where it is bound: `i: N`\n"
       "E0403 5:13 `i - 1` may leave `x`: it is in -1..62, and the extent of axis 0 is S\n"
       "  note where `i` in 0..<S\n"
       "  note 3:7 `x` is defined here\n"
       "  help say what holds outside: `x[i - 1] else 0`\n"},
      {"input x : f32[4]\n"
       "y[i: 5] = x[i]\n",
       "E0403 3:13 `i` may leave `x`: it is in 0..4, and the extent of axis 0 is 4\n"
       "  note where `i` in 0..<5\n"
       "  note 2:7 `x` is defined here\n"
       "  help say what holds outside: `x[i] else 0`\n"},
      {"input x : f32[16]\n"
       "y[i: 4, j: 4] = x[i*j]\n",
       "E0404 3:19 this place multiplies two indices\n"
       "  help a place is a sum of indices with constant coefficients, `floordiv` or `mod` of one, "
       "or integer data\n"},
      {"input x : f32[16]\n"
       "y[i: 4, j: 4] = x[min(i, j)]\n",
       "E0404 3:19 this place is not affine in the indices\n"
       "  help a place is a sum of indices with constant coefficients, `floordiv` or `mod` of one, "
       "or integer data\n"},
      {"input x : f32[16]\n"
       "y[i: 4, j: 4] = x[floordiv(i, j)]\n",
       "E0404 3:19 this place divides by an index\n"
       "  help a place is a sum of indices with constant coefficients, `floordiv` or `mod` of one, "
       "or integer data\n"},
      {"input x : f32[16]\n"
       "y[i: 4, j: 4] = x[mod(i*j, 16)]\n",
       "E0404 3:19 this place multiplies two indices\n"
       "  help a place is a sum of indices with constant coefficients, `floordiv` or `mod` of one, "
       "or integer data\n"},
      {"input x : f32[16]\n"
       "y[i: 4] = x[9223372036854775807 * 2 * i]\n",
       "E0404 3:13 this place has coefficients beyond 64 bits\n"
       "  help a place is a sum of indices with constant coefficients, `floordiv` or `mod` of one, "
       "or integer data\n"},
      {"dim N = 4\n"
       "input x : f32[N]\n"
       "y[i] = x[i]\n"
       "output y : f32[5]\n",
       "E0401 5:12 axis 0 of `y` has extent 4, and the output is declared with 5\n"
       "  note 4:1 it is defined here\n"},
      {"dim N = 4\n"
       "input x : f32[N]\n"
       "y[i] = x[i]\n"
       "output y : f32[N, N]\n",
       "E0304 5:12 `y` has 1 axis, and the output is declared with 2\n"
       "  note 4:1 it is defined here\n"},
      {"input x : f32[4]\n"
       "def at(i) = x[i + 1]\n"
       "y[i] = x[i] + at(i)\n",
       "E0403 3:15 `i + 1` may leave `x`: it is in 1..4, and the extent of axis 0 is 4\n"
       "  note 4:15 in the expansion of `at` here\n"
       "  note where `i` in 0..<4\n"
       "  note 2:7 `x` is defined here\n"
       "  help say what holds outside: `x[i + 1] else 0`\n"},
  });
}

TEST_CASE("an index that a scan or macro keeps needs a range as any other") {
  const std::string help = "  help state its extent where it is bound: `i: N`\n";
  auto without = [&](const char* place, const char* used) {
    return fmt::format("E0402 {} index `i` has no range\n  note {} it is used here, and stands "
                       "alone in no place of a read\n{}",
                       place, used, help);
  };
  const std::string head = "dim N in 1..10\ninput x : f32[N]\n";
  check({
      {head + "y[i] = scan sum[i] x[N - 1 - i]\n"
              "z[i] = y[i] + x[i]\n"
              "output z : f32[N]\n",
       without("4:3", "4:30")},
      {head + "y[i] = 1 + scan max[i desc] x[N - 1 - i]\n", without("4:3", "4:39")},
      {head + "y[i] = softmax[i] x[N - 1 - i]\n", without("4:3", "4:29")},
      {head + "y[j, i] = scan sum[i] x[j] * x[N - 1 - i]\n", without("4:6", "4:40")},
      {head + "(a[i], b[i]) = scan affine[i](x[N - 1 - i], 1)\n", without("4:4", "4:41")},
      {head + "def f[j](e) = e - max[j] e\n"
              "y[i] = f[i](x[N - 1 - i])\n",
       without("5:3", "5:23")},
      {head + "y[i] = where(true, x[0], scan sum[i] x[N - 1 - i])\n", without("4:3", "4:48")},
      {head + "y[i] = where(true, x[0], sum[i] x[N - 1 - i])\n",
       "E0402 4:3 index `i` has no range\n" + help},
      {head + "repeat l in 0..<2 carry x {\n"
              "x[i] = scan sum[i] x[N - 1 - i]\n"
              "}\n"
              "output x as y : f32[N]\n",
       without("5:3", "5:30")},
      {head + "recur t: 2 carry x = x {\n"
              "x[i] = softmax[i] x[N - 1 - i]\n"
              "}\n"
              "output x as y : f32[N]\n",
       without("5:3", "5:29")},
  });
}

TEST_CASE("an index with a stated or plain range may be kept at another place") {
  CHECK(elaborate_text("tg 1\ndim N in 1..10\ninput x : f32[N]\n"
                       "y[i: N] = scan sum[i] x[N - 1 - i]\nz[i] = softmax[i] x[i] * x[N - 1 - i]\n"
                       "output y : f32[N]\noutput z : f32[N]\n")
            .text() == "");
}

TEST_CASE("outputs whose elements share addresses") {
  const std::string head = "dim N in 1..10, LD in 1..10\ninput x : f32[N, 4]\ny[i, j] = x[i, j]\n",
                    fault = "E0705 5:12 the strides of output `y` put two elements in one place\n"
                            "  help each stride must exceed what the smaller ones span: of "
                            "`f32[4, 8]:[LD, 1]`, LD is 8 at least\n";
  for (const char* strides : {"[0, 1]", "[3, 1]", "[1, 0]", "[1, 1]", "[2, 2]", "[0, 0]"})
    check({{head + "output y : f32[N, 4]:" + strides + "\n", fault}});
  for (const char* strides : {"[4, 1]", "[1, 10]", "[1, 2]", "[8, 2]", "[LD, 1]", "[1, LD]"})
    check({{head + "output y : f32[N, 4]:" + strides + "\n", ""}});
  check({{"input x : f32[1, 4]\ny[i, j] = x[i, j]\noutput y : f32[1, 4]:[0, 1]\n", ""}});
}

TEST_CASE("a monoid reads no tensor") {
  const std::string head =
      "dim N in 0..10\ninput x : f32[N]\ninput q : f32\nconst c : f32[2] = [1, 2]\n";
  auto fault = [](const char* place, const char* note) {
    return fmt::format(
        "E0503 {} a monoid reads no tensor\n  note {} is declared here\n  help give its "
        "value to the reduction as the operand of a field\n",
        place, note);
  };
  check({
      {head + "monoid m(s = 0) (a, b) -> (a.s + b.s + q - q)\ny = m[i](x[i])\noutput y : f32\n",
       fault("6:28", "4:7 `q`")},
      {head + "monoid m(s = q) (a, b) -> (a.s + b.s)\ny = m[i](x[i])\noutput y : f32\n",
       fault("6:14", "4:7 `q`")},
      {head + "monoid m(s = 0) (a, b) -> (a.s + b.s * c[0])\n", fault("6:28", "5:7 `c`")},
      {head + "monoid m(s[k: 2] = c[k]) (a, b) -> (a.s[k] + b.s[k])\n", fault("6:20", "5:7 `c`")},
      {head + "monoid m(s = 0) (a, b) -> (a.s + sum[k: 2] c[k])\n", fault("6:28", "5:7 `c`")},
      {head + "let e = 2\nmonoid m(s = 0) (a, b) -> (a.s + e * b.s)\ny = m[i](x[i] * q)\noutput y "
              ": f32\n",
       ""},
  });
}

TEST_CASE("the least integer is a literal under its sign") {
  std::string text = graph_text("tg 1\ninput x : i64[2] in -9223372036854775808..0\n"
                                "y[i] = max(x[i], -9223372036854775808) - -9223372036854775808\n"
                                "output y : i64[2]\n");
  CHECK(text.find("max(x[i], -9223372036854775807 - 1) - (-9223372036854775807 - 1)") != text.npos);
  check({{"let a = 9223372036854775808\n",
          "E0106 2:9 `9223372036854775808` does not fit 64 bits\n"
          "  help write a real number with a point or an exponent\n"},
         {"dim N = 0 - 9223372036854775808\n",
          "E0106 2:13 `9223372036854775808` does not fit 64 bits\n"
          "  help write a real number with a point or an exponent\n"}});
}

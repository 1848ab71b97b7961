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
  given.files = {{"loop.tg", "tg 1\ninclude \"loop2.tg\"\n"},
                 {"loop2.tg", "tg 1\ninclude \"loop.tg\"\n"},
                 {"eq.tg", "tg 1\ninput x : f32[4]\ny[i] = x[i]\n"},
                 {"bad.tg", "tg 1\ndef f(a) = b\n"}};
  for (const Fault& fault : faults) {
    INFO(fault.text);
    Outcome outcome;
    REQUIRE_NOTHROW(outcome = elaborate_text("tg 1\n" + fault.text, given));
    CHECK(outcome.text(true) == fault.expected);
    CHECK(outcome.graph.has_value() == outcome.sink.ok());
  }
}

} // namespace

TEST_CASE("faults of monoids") {
  check({
      {"monoid m(a = 0, b = 0) (x, y) -> (x.a + y.a)\n",
       "E0501 2:8 monoid `m` has 2 fields and 1 combined value\n"},
      {"monoid m(a = 0, a = 0) (x, y) -> (x.a, y.a)\n", "E0303 2:17 field `a` is declared twice\n"
                                                        "  note 2:10 first here\n"},
      {"monoid m(total = 0) (x, y) -> (x.total + y.totl)\n",
       "E0502 2:44 monoid `m` has no field `totl`\n"
       "  help did you mean `total`?\n"},
      {"monoid m(a = 0) (x, y) -> (x.a + z.a)\n",
       "E0502 2:34 `z` is not the state of a monoid\n"
       "  help fields are read in the combine of a `monoid` only\n"},
      {"monoid m(a[i: 2] = 0) (x, y) -> (x.a + y.a[i])\n",
       "E0502 2:34 field `a` has 1 indices and is read with 0\n"
       "  note 2:10 it is declared here\n"},
      {"monoid m(a[i: 2] = 0) (x, y) -> (x.a[i + 1] + y.a[i])\n",
       "E0403 2:38 this place may leave the field `a`, whose extent is 2\n"},
      {"monoid m(a[i] = 0) (x, y) -> (x.a[i] + y.a[i])\n",
       "E0402 2:12 index `i` of a field has no extent\n"
       "  help state it: `i: N`\n"},
      {"dim S\n"
       "monoid m(a[i: S] = 0) (x, y) -> (x.a[i] + y.a[i])\n",
       "E0316 3:15 the extent of a field depends on a dim that is not fixed\n"},
      {"monoid m(a[i: 2] = 0) (x, y) -> (scan sum[i] x.a[i])\n",
       "E0503 2:34 only `sum prod max min any all` may reduce inside the combine of a monoid\n"},
      {"monoid m(a = 0) (x, y) -> (x.a + argmax[k: 2] y.a)\n",
       "W0002 2:41 the value under `argmax` does not use index `k`\n"
       "  help each of the 2 points gives the same\n"
       "E0503 2:34 only `sum prod max min any all` may reduce inside the combine of a monoid\n"},
      {"input x : f32[4, 2]\n"
       "monoid m(a[i: 2] = 0) (x, y) -> (x.a[i] + y.a[i])\n"
       "y[i] = 1 + m[t](x[t, i])\n",
       "E0503 4:12 `m` gives a table at each point here, and one value is wanted\n"
       "  help give its results names with an equation of their own: `(a[...], b[...]) = ...`\n"},
      {"input x : f32[4, 2]\n"
       "monoid m(a[i: 2] = 0) (x, y) -> (x.a[i] + y.a[i])\n"
       "y = m[t](x[t, 0])\n",
       "E0314 4:1 field `a` has 1 indices, and `y` has 0\n"
       "  note 3:10 the field is declared here\n"},
      {"input x : f32[4]\n"
       "y = x.a\n",
       "E0502 3:5 `x` is not the state of a monoid\n"
       "  help fields are read in the combine of a `monoid` only\n"},
      {"monoid m(a = true) (x, y) -> (x.a + y.a)\n",
       "E0307 2:31 `+` takes numbers, and one side is a truth value\n"
       "  help a truth value becomes a number with `where(c, 1, 0)`\n"},
  });
}

TEST_CASE("faults of outputs, precision, loops") {
  check({
      {"input x : f32[4]\n"
       "output x : i32[4]\n",
       "E0701 3:12 `x` is real, and `i32` holds integers\n"
       "  help convert it in an equation: `i32(x)` truncates towards zero\n"},
      {"input x : bool[4]\n"
       "output x : f32[4]\n",
       "E0307 3:12 `x` is a truth value, and the output is `f32`\n"
       "  help use `where(c, 1, 0)` in an equation\n"},
      {"input x : f32[4]\n"
       "output x : f32[4]\n"
       "output x : f16[4]\n",
       "E0303 4:8 there are two outputs `x`\n"
       "  note 3:8 the first is here\n"
       "  help give it another name: `output x as x_2`\n"},
      {"input x : f32[4]\n"
       "y[i] = x[i]\n"
       "output y : f32[4] over y\n",
       "E0702 4:24 `y` is no input\n"
       "  note 3:1 `y` is declared here\n"},
      {"input x : f16[4]\n"
       "y[i] = x[i]\n"
       "output y : f32[4] over x\n",
       "E0702 4:24 `x` and the output differ in element type, shape or strides\n"
       "  note 2:7 `x` is declared here\n"},
      {"input x : f32[4]\n"
       "y[i] = x[i]\n"
       "output y : f32[4] over x\n"
       "output y as z : f32[4] over x\n",
       "E0702 5:29 `x` is replaced by output `y` already\n"
       "  note 2:7 `x` is declared here\n"},
      {"input x : f32[4]\n"
       "store x : f16\n",
       "E0703 3:7 `x` is declared with its format, and only intermediates have a `store` line\n"
       "  note 2:7 it is declared here\n"},
      {"input x : f32[4]\n"
       "y[i] = x[i]\n"
       "store y : i32\n",
       "E0703 4:11 `i32` cannot hold the values of `y`\n"
       "  note 3:1 they are of another class\n"},
      {"input x : f32[4]\n"
       "y = argmax[i] (x[i]) + 1000\n"
       "store y : i8\n",
       "E0703 4:11 `y` takes values in 999..1003, which `i8` cannot hold\n"},
      {"input x : f32[4]\n"
       "y[i] = x[i]\n"
       "accumulate y : f16\n",
       "E0703 4:12 `y` is not defined by a reduction at the root of an equation\n"
       "  note 3:1 it is defined here\n"
       "  help give the reduction an equation of its own\n"},
      {"input x : f32[4]\n"
       "y = sum[i] x[i]\n"
       "accumulate y : i32\n",
       "E0703 4:16 `i32` cannot accumulate the values of `y`\n"
       "  note 3:1 they are of another class\n"},
      {"input x : f32[4]\n"
       "y = sum[i] x[i]\n"
       "budget y : rel 0\n",
       "E0703 4:16 the budget is 0, not a positive number\n"},
      {"input x : f32[4]\n"
       "y = argmax[i] x[i]\n"
       "budget y : abs 1\n",
       "E0703 4:8 `y` is no real, so it is exact\n"},
      {"input x : f32[4]\n"
       "repeat l in 0..<2 carry h { h[i] = x[i] }\n",
       "E0301 3:25 unknown name `h`\n"
       "  help the only name is `x`\n"},
      {"input x : f32[4]\n"
       "h[i] = x[i]\n"
       "repeat l in 0..<2 carry h { g[i] = h[i] }\n",
       "E0706 4:25 `h` is carried, and no equation inside binds it again\n"},
      {"input x : f32[4]\n"
       "dim S\n"
       "h[i] = x[i]\n"
       "repeat l in 0..<S carry h { h[i] = h[i] }\n",
       "E0707 5:17 the last round depends on a dim that is not fixed\n"},
      {"input x : f32[4]\n"
       "h[i] = x[i]\n"
       "repeat l in 0..<1000000000 carry h { h[i] = h[i] + 1 }\n",
       "E0801 4:8 this expands to more than 10 million terms\n"
       "  help give inner values names with equations of their own\n"},
      {"input x : f32[7, 4]\n"
       "input h0 : f32[4]\n"
       "recur t carry h = h0 { h[i: 3] = h[i] + x[t, i] }\n",
       "E0706 4:24 `h` is bound again with another shape\n"
       "  note 3:7 it starts with this tensor\n"},
      {"input x : f32[7, 4]\n"
       "input h0 : f32[4]\n"
       "recur t carry h = h0 { g[i] = h[i] + x[t, i] }\n",
       "E0706 4:15 `h` is carried, and no equation inside binds it again\n"},
      {"input x : f32[7, 4]\n"
       "input h0 : f32[4]\n"
       "recur t carry h = h0 { h[i] = h[i] + x[t + 1, i] }\n",
       "E0402 4:7 index `t` has no range\n"
       "  note 4:40 it is used here, and stands alone in no place of a read\n"
       "  help state its extent where it is bound: `t: N`\n"},
      {"input h0 : f32[4]\n"
       "recur t carry h = h0 { h[i] = h[i] + 1 } collect hs = g\n",
       "E0402 3:7 index `t` has no range\n"
       "  help state its extent where it is bound: `t: N`\n"},
      {"input x : f32[7, 4]\n"
       "input h0 : f32[4]\n"
       "recur t carry h = h0 { h[i] = h[i] + x[t, i] } collect hs = g\n",
       "E0301 4:61 unknown name `g`\n"
       "  help the names are `h`, `h0`, `t`, `x`\n"},
      {"dim N = 4\n"
       "recur t: 3 carry h = N { h = h + 1 }\n",
       "E0706 3:22 `N` is no tensor, so it cannot be carried\n"
       "  note 2:5 it is declared here\n"},
  });
}

TEST_CASE("faults of limits") {
  check({
      {"input x : f32[4]\n"
       "def g0(x) = x + x\n"
       "def g1(x) = g0(x) + g0(x) + g0(x) + g0(x) + g0(x) + g0(x) + g0(x) + g0(x) + g0(x) + g0(x)\n"
       "def g2(x) = g1(x) + g1(x) + g1(x) + g1(x) + g1(x) + g1(x) + g1(x) + g1(x) + g1(x) + g1(x)\n"
       "def g3(x) = g2(x) + g2(x) + g2(x) + g2(x) + g2(x) + g2(x) + g2(x) + g2(x) + g2(x) + g2(x)\n"
       "def g4(x) = g3(x) + g3(x) + g3(x) + g3(x) + g3(x) + g3(x) + g3(x) + g3(x) + g3(x) + g3(x)\n"
       "def g5(x) = g4(x) + g4(x) + g4(x) + g4(x) + g4(x) + g4(x) + g4(x) + g4(x) + g4(x) + g4(x)\n"
       "def g6(x) = g5(x) + g5(x) + g5(x) + g5(x) + g5(x) + g5(x) + g5(x) + g5(x) + g5(x) + g5(x)\n"
       "def g7(x) = g6(x) + g6(x) + g6(x) + g6(x) + g6(x) + g6(x) + g6(x) + g6(x) + g6(x) + g6(x)\n"
       "y[i] = g7(x[i])\n",
       "E0801 4:45 this expands to more than 10 million terms\n"
       "  help give inner values names with equations of their own\n"},
  });
}

TEST_CASE("faults of warnings") {
  check({
      {"input x : f32[4]\n"
       "input w : f32[4]\n"
       "y[i] = x[i]\n"
       "output y : f32[4]\n",
       "W0001 3:7 input `w` is not used\n"},
      {"input x : f32[4]\n"
       "y[i] = x[i]\n",
       "W0004 `t.tg` states no output\n"},
      {"input x : f32[4]\n"
       "y[i] = sum[k: 3] x[i]\n"
       "output y : f32[4]\n",
       "W0002 3:12 the value under `sum` does not use index `k`\n"
       "  help each of the 3 points gives the same\n"},
      {"input x : f32[4]\n"
       "param i : f32[4]\n"
       "y[i] = x[i]\n"
       "z[j] = i[j]\n"
       "output y : f32[4]\n"
       "output z : f32[4]\n",
       "W0003 4:3 index `i` hides a name of the file\n"
       "  note 3:7 declared here\n"},
      {"input x : f32[4]\n"
       "y = sum[k] (x[k] * sum[k] x[k])\n"
       "output y : f32\n",
       "W0003 3:24 index `k` hides another `k`\n"
       "  note 3:9 the hidden one\n"},
      {"input x : f32[4]\n"
       "y = sum[k: 3 where x[0] < 0] 1.0\n"
       "output y : f32\n",
       "W0002 3:9 the value under `sum` does not use index `k`\n"
       "  help each of the 3 points gives the same\n"},
  });
}

TEST_CASE("gathers that may leave their tensor are named once") {
  const std::string head = "dim V in 1..64, T in 1..64\ninput w : f32[V]\n";
  auto warnings = [&](const std::string& rest) {
    return elaborate_text("tg 1\n" + head + rest + "output y : f32[T]\n").text(true);
  };
  const std::string warned =
      "W0008 5:10 `id[t]` may leave axis 0 of `w`, whose extent is V; there 0 is read\n"
      "  help state `in 0..<V` where the data is declared, or `w[id[t]] else 0`\n";
  CHECK(warnings("input id : i32[T]\ny[t] = w[id[t]]\n") == warned);
  CHECK(warnings("input id : i32[T] in 0..<V\ny[t] = w[id[t]]\n") == "");
  CHECK(warnings("input id : i32[T] in 0..<V\ny[t] = w[id[t] + 1]\n") != "");
  CHECK(warnings("input id : i32[T]\ny[t] = w[id[t]] else 1\n") == "");
  CHECK(warnings("input id : i32[T]\ny[t] = w[mod(id[t], V)]\n") == "");
  CHECK(warnings("input id : i32[T]\n"
                 "y[t] = where(id[t] >= 0 and id[t] < V, w[id[t]], 0)\n") == "");
  // A macro that uses its argument twice reads the same place twice.
  CHECK(warnings("input id : i32[T]\ny[t] = square(w[id[t]])\n").find("W0008", 1) ==
        std::string::npos);
}

TEST_CASE("faults of includes") {
  check({
      {"include \"a.tg\"\n", "E0001 2:9 `a.tg` cannot be read\n"},
      {"include \"loop.tg\"\n", "E0002 2:9 `loop.tg` includes itself\n"
                                "  note 2:9 through `loop2.tg`, included here\n"},
      {"include \"eq.tg\"\n",
       "E0317 2:1 an included file holds `def`, `monoid`, `let`, `dim` and `include` only\n"
       "E0317 3:1 an included file holds `def`, `monoid`, `let`, `dim` and `include` only\n"},
      {"include <mm>\n", "E0001 2:9 there is no library `<mm>`\n"
                         "  help the standard library is `<nn>`\n"},
      {"include \"bad.tg\"\n", "E0301 2:12 unknown name `b`\n"
                               "  help the only name is `a`\n"},
  });
}

TEST_CASE("faults of gradients") {
  check({
      {"input x : f32[4]\n"
       "y = sum[i] x[i]\n"
       "grad y wrt x -> dx\n"
       "z[i] = 2 * dx[i]\n"
       "output z : f32[4]\n",
       ""},
      {"input x : f32[4]\n"
       "y[i] = x[i]\n"
       "grad y wrt x -> dx\n"
       "output dx : f32[4]\n",
       "E0709 4:6 `y` has 1 axis, so its gradient needs a cotangent\n"
       "  note 3:1 it is defined here\n"
       "  help `grad y with dy wrt ...`, where `dy` has the shape of `y`\n"},
      {"input x : f32[4]\n"
       "input dy : f32[4, 4]\n"
       "y[i] = x[i]\n"
       "grad y with dy wrt x -> dx\n"
       "output dx : f32[4]\n",
       "E0304 5:13 `y` has 1 axis, and its cotangent `dy` has 2\n"
       "  note 4:1 `y` is defined here\n"},
      {"input x : f32[4]\n"
       "input dy : f32[5]\n"
       "y[i] = x[i]\n"
       "grad y with dy wrt x -> dx\n"
       "output dx : f32[4]\n",
       "E0401 5:13 axis 0 of `y` has extent 4, and of its cotangent `dy` extent 5\n"
       "  note 4:1 `y` is defined here\n"},
      {"input x : f32[4]\n"
       "input id : i32[4]\n"
       "y = sum[i] x[i] * id[i]\n"
       "n = sum[i] id[i]\n"
       "b = any[i] (x[i] > 0)\n"
       "grad y wrt id -> did\n"
       "grad n wrt x -> dn\n"
       "grad b wrt x -> db\n"
       "grad y with n wrt x -> dx\n"
       "output y : f32\n",
       "E0708 7:12 the variable `id` holds integers\n"
       "  note 3:7 it is defined here\n"
       "E0708 8:6 what is differentiated, `n` holds integers\n"
       "  note 5:1 it is defined here\n"
       "E0708 9:6 what is differentiated, `b` holds truth values\n"
       "  note 6:1 it is defined here\n"
       "E0708 10:13 the cotangent `n` holds integers\n"
       "  note 5:1 it is defined here\n"},
      {"input x : f32[4]\n"
       "dim N = 4\n"
       "y = sum[i] x[i]\n"
       "grad y wrt xx -> da, N -> db\n"
       "grad zz wrt x -> dc\n"
       "output y : f32\n",
       "E0301 5:12 unknown name `xx`\n"
       "  help did you mean `x`?\n"
       "E0312 5:22 `N` is no tensor\n"
       "  note 3:5 it is declared here\n"
       "E0301 6:6 unknown name `zz`\n"
       "  help the tensors are `da`, `db`, `x`, `y`\n"},
      {"input x : f32[4]\n"
       "input w : f32[4]\n"
       "y = sum[i where w[i] > 0] floor(w[i]) * x[i]\n"
       "grad y wrt x -> dx, w -> dw\n"
       "output dx : f32[4]\n"
       "output dw : f32[4]\n",
       "W0005 5:21 `y` does not depend on `w`: the gradient is 0\n"
       "  note 4:1 `y` is defined here\n"},
      {"input x : f32[4]\n"
       "y = sum[i] x[i]\n"
       "grad y wrt x -> dx\n"
       "dx[i] = x[i]\n"
       "output dx : f32[4]\n",
       "E0303 5:1 `dx` is defined twice\n"
       "  note 4:17 the first definition is here\n"},
  });
}

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

TEST_CASE("faults of names") {
  check({
      {"input x : f32[4]\n"
       "y[i] = z[i]\n",
       "E0301 3:8 unknown name `z`\n"
       "  help the only name is `x`\n"},
      {"input value : f32[4]\n"
       "y[i] = valeu[i]\n",
       "E0301 3:8 unknown name `valeu`\n"
       "  help did you mean `value`?\n"},
      {"input x : f32[4]\n"
       "y[i] = x[j]\n",
       "E0402 3:3 index `i` has no range\n"
       "  help state its extent where it is bound: `i: N`\n"
       "E0301 3:10 unknown name `j`\n"
       "  help the names are `i`, `x`\n"},
      {"input x : f32[4]\n"
       "y[i] = w[i]\n"
       "w[i] = x[i]\n",
       "E0302 3:8 `w` is used before its definition\n"
       "  note 4:1 it is defined here\n"},
      {"input x : f32[4]\n"
       "y[i] = x[i] + y[i]\n",
       "E0302 3:15 `y` is used before its definition\n"
       "  note 3:1 it is defined here\n"
       "  help what builds on earlier elements of itself is a `recur`, or a `scan` of a monoid\n"},
      {"input x : f32[4]\n"
       "y[i] = twice(x[i])\n"
       "def twice(a) = a + a\n",
       "E0302 3:8 `twice` is used before its definition\n"
       "  note 4:5 it is defined here\n"},
      {"input x : f32[4]\n"
       "x[i] = 1.0\n",
       "E0402 3:3 index `i` has no range\n"
       "  help state its extent where it is bound: `i: N`\n"
       "E0303 3:1 `x` is defined twice\n"
       "  note 2:7 the first definition is here\n"},
      {"dim N = 4\n"
       "let N = 2\n",
       "E0303 3:5 `N` is defined twice\n"
       "  note 2:5 the first definition is here\n"},
      {"def f(a) = a\n"
       "def f(a) = a + 1\n",
       "E0303 3:5 `f` is defined twice\n"
       "  note 2:5 the first definition is here\n"},
      {"def f32(a) = a\n", "E0303 2:5 `f32` is an element type, and its conversion is called so\n"},
      {"input x : f32[4]\n"
       "y[i] = sofmax[i] x[i]\n",
       "E0310 3:8 unknown function `sofmax`\n"
       "  help did you mean `softmax`?\n"},
      {"input x : f32[4]\n"
       "y[i] = foo(x[i])\n",
       "E0310 3:8 unknown function `foo`\n"},
      {"input x : f32[4]\n"
       "y[i] = if(x[i] > 0, x[i], 0)\n",
       "E0310 3:8 unknown function `if`\n"
       "  help a choice is written `where(c, a, b)`\n"},
      {"input x : f32[4]\n"
       "y[i] = x[i] x[i]\n",
       "E0310 3:8 unknown function `x`\n"
       "  note 2:7 a tensor is called so\n"
       "  help it is read with brackets, `x[i]`, and a product is written with `*`\n"},
      {"input x : f32[4]\n"
       "h[t: 4] = where(t == 0, x[0], 0.9 * h[t - 1])\n",
       "E0302 3:37 `h` is used before its definition\n"
       "  note 3:1 it is defined here\n"
       "  help what builds on earlier elements of itself is a `recur`, or a `scan` of a monoid\n"},
      {"input x : f32[4]\n"
       "dim N = 4\n"
       "output z : f32[N]\n",
       "E0301 4:8 unknown name `z`\n"
       "  help the only tensor is `x`\n"},
      {"input x : f32[4]\n"
       "def f(a) = a + b\n",
       "E0301 3:16 unknown name `b`\n"
       "  help the names are `a`, `x`\n"},
      {"def f(a, a) = a\n", "E0303 2:10 `a` is named twice in `f`\n"
                            "  note 2:7 first here\n"},
      {"def f(a) = g(a)\n", "E0310 2:12 unknown function `g`\n"},
      {"input x : f32[4]\n"
       "y[i] = x(i)\n",
       "E0402 3:3 index `i` has no range\n"
       "  note 3:10 it is used here, and stands alone in no place of a read\n"
       "  help state its extent where it is bound: `i: N`\n"
       "E0310 3:8 unknown function `x`\n"
       "  note 2:7 a tensor is called so\n"
       "  help it is read with brackets, `x[i]`, and a product is written with `*`\n"},
      {"dim N = 4\n"
       "output N : f32\n",
       "E0312 3:8 `N` is no tensor\n"
       "  note 2:5 it is declared here\n"},
      {"input x : f32[4]\n"
       "output z : f32[4]\n",
       "E0301 3:8 unknown name `z`\n"
       "  help the only tensor is `x`\n"},
      {"input x : f32[4]\n"
       "(a, a) = lse[k](x[k], 1)\n",
       "E0303 3:5 `a` is defined twice\n"
       "  note 3:2 the first definition is here\n"},
  });
}

TEST_CASE("faults of index names") {
  check({
      {"input x : f32[4]\n"
       "input b : f32[4]\n"
       "y[b] = x[b] + b[0]\n",
       "E0305 4:15 `b` is an index of this equation and something else here\n"
       "  note 4:3 the index is bound here\n"
       "  note 3:7 the other declaration\n"
       "  help give the index another name\n"},
      {"input x : f32[4]\n"
       "input b : f32\n"
       "y = b + sum[b] x[b]\n",
       "E0305 4:5 `b` is an index of this equation and something else here\n"
       "  note 4:13 the index is bound here\n"
       "  note 3:7 the other declaration\n"
       "  help give the index another name\n"},
      {"dim d = 4\n"
       "y[d: d] = 1.0\n",
       "E0305 3:6 `d` is an index of this equation and something else here\n"
       "  note 3:3 the index is bound here\n"
       "  note 2:5 the other declaration\n"
       "  help give the index another name\n"},
      {"input x : f32[4, 4]\n"
       "y[i, j] = sum[j] x[i, j]\n",
       "E0306 3:15 `j` is an index of the equation and is bound again\n"
       "  note 3:6 it is bound here first\n"
       "  help give the inner index another name\n"},
      {"input x : f32[4, 4]\n"
       "y[i, i] = x[i, i]\n",
       "E0306 3:6 index `i` stands twice on the left\n"
       "  note 3:3 first here\n"},
      {"input x : f32[4, 4]\n"
       "y = sum[i, i] x[i, i]\n",
       "E0306 3:12 index `i` is bound twice\n"
       "  note 3:9 first bound here\n"
       "W0003 3:12 index `i` hides another `i`\n"
       "  note 3:9 the hidden one\n"},
      {"input x : f32[4]\n"
       "y[i] = sum[k: 4] i[k]\n",
       "E0402 3:3 index `i` has no range\n"
       "  help state its extent where it is bound: `i: N`\n"
       "E0305 3:18 `i` is an index here, and a tensor is read\n"
       "  note 3:3 the index is bound here\n"},
      {"input x : f32[4]\n"
       "def f(a) = a[0]\n"
       "y[i] = f(x[i])\n",
       "E0312 3:12 `a` is a value here, not a tensor\n"
       "  note 4:8 in the expansion of `f` here\n"
       "  note 3:7 it is an argument or `let` of the macro\n"},
  });
}

TEST_CASE("faults of ranks and classes") {
  check({
      {"input x : f32[4, 4]\n"
       "y[i] = x[i]\n",
       "E0304 3:8 `x` has 2 axes and is read with 1 place\n"
       "  note 2:7 it is declared here\n"},
      {"input x : f32[4, 4]\n"
       "y = x + 1\n",
       "E0304 3:5 `x` has 2 axes and is read without places\n"
       "  note 2:7 it is declared here\n"},
      {"input x : f32[4]\n"
       "y[i] = x[i] + (x[i] < 0)\n",
       "E0307 3:8 `+` takes numbers, and one side is a truth value\n"
       "  help a truth value becomes a number with `where(c, 1, 0)`\n"},
      {"input x : f32[4]\n"
       "y[i] = where(x[i], 1, 2)\n",
       "E0307 3:14 this is a real, and a truth value is wanted\n"
       "  help compare the number with something: `x != 0`\n"},
      {"input x : f32[4]\n"
       "y[i] = where(x[i] < 0, 1, true)\n",
       "E0307 3:8 one side is an integer, the other a truth value\n"
       "  help a truth value becomes a number with `where(c, 1, 0)`\n"},
      {"input x : f32[4]\n"
       "y[i] = x[i] and true\n",
       "E0307 3:8 this is a real, and a truth value is wanted\n"
       "  help compare the number with something: `x != 0`\n"},
      {"input x : f32[4]\n"
       "y[i] = bitand(x[i], 1)\n",
       "E0307 3:15 this is a real, and an integer is wanted\n"
       "  help a real becomes an integer with `i32(x)`\n"},
      {"input x : f32[4]\n"
       "y[i] = (x[i] < 0) < (x[i] < 1)\n",
       "E0307 3:8 `<` takes numbers, and both sides are truth values\n"},
      {"input x : f32[4]\n"
       "y[i] = -(x[i] < 0)\n",
       "E0307 3:10 this is a truth value, and a real is wanted\n"
       "  help a truth value becomes a number with `where(c, 1, 0)`\n"},
      {"input n : i32[4]\n"
       "y[i] = n[i] / 2\n",
       "E0308 3:8 `/` divides reals, and both sides are integers\n"
       "  help write `floordiv(a, b)` for the quotient rounded down, or make one side real: "
       "`f32(a) / b`\n"},
      {"input x : f33[4]\n", "E0309 2:11 unknown element type `f33`\n"
                             "  help did you mean `f32`?\n"},
      {"input x : float[4]\n", "E0309 2:11 unknown element type `float`\n"
                               "  help did you mean `f32`?\n"},
      {"input x : int64[4]\n", "E0309 2:11 unknown element type `int64`\n"
                               "  help did you mean `i64`?\n"},
      {"input x : complex[4]\n",
       "E0309 2:11 unknown element type `complex`\n"
       "  help the types are f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i16 i8 i4 u32 u8 u4 bool\n"},
      {"input x : f32[4]\n"
       "y[i] = pow(x[i])\n",
       "E0311 3:8 `pow` takes 2 arguments, not 1\n"},
      {"input x : f32[4]\n"
       "y[i] = gelu(x[i], 1)\n",
       "E0311 3:8 `gelu` takes 1 argument, not 2\n"
       "  note 90:5 it is defined here\n"},
      {"input x : f32[4]\n"
       "y[i] = f16(x[i], 1)\n",
       "E0311 3:8 `f16` takes 1 argument, not 2\n"},
      {"input x : f32[4]\n"
       "y = lse[k](x[k])\n",
       "E0314 3:1 `lse` gives 2 values, and 1 is named here\n"
       "  help write a tuple of 2 tensors on the left\n"},
      {"input x : f32[4]\n"
       "y = argmax[k] x[k] + sum[k](x[k] )\n",
       "W0004 `t.tg` states no output\n"},
      {"input x : f32[4]\n"
       "y[i] = any[k] x[k]\n",
       "E0402 3:3 index `i` has no range\n"
       "  help state its extent where it is bound: `i: N`\n"
       "E0504 3:15 `any` takes truth values, and this is a number\n"
       "  help compare it with something: `x != 0`\n"},
      {"input x : f32[4]\n"
       "y = sum[k] (x[k] < 0)\n",
       "E0504 3:13 `sum` takes numbers, and this is a truth value\n"
       "  help count with `where(c, 1, 0)`\n"},
      {"dim N = 4\n"
       "y[i: 3] = N[i]\n",
       "E0312 3:11 `N` is no tensor\n"
       "  note 2:5 it is declared here\n"},
      {"input x : f32[4]\n"
       "y[i: 3] = x[1.5]\n",
       "E0405 3:13 a place of a read is an integer, and this is a real\n"
       "  help use a `dim` for a constant, and `i32(x)` for data\n"},
      {"input x : f32[4]\n"
       "let h = 1\n"
       "y[i: 3] = x[h]\n",
       "E0405 4:13 a place of a read is an integer, and this is a real\n"
       "  help use a `dim` for a constant, and `i32(x)` for data\n"},
      {"input x : f32[4]\n"
       "y[i: 3] = x[x[i] < 0]\n",
       "E0405 3:13 a place of a read is an integer, and this is a truth value\n"},
  });
}

TEST_CASE("faults of macros and scans") {
  check({
      {"def f[i, j](a) = sum[i, j] a\n"
       "input x : f32[4]\n"
       "y = f[k](x[k])\n",
       "E0313 4:5 `f` takes 2 indices, not 1\n"
       "  note 2:5 it is defined here\n"},
      {"input x : f32[4]\n"
       "y = gelu[k](x[k])\n",
       "E0313 3:5 `gelu` takes 0 indices, not 1\n"
       "  note 90:5 it is defined here\n"},
      {"input x : f32[4]\n"
       "y = exp[k](x[k])\n",
       "E0214 3:5 the function `exp` with brackets\n"
       "  help write `exp(...)`\n"},
      {"input x : f32[4]\n"
       "y = softmax[j] x[j]\n",
       "E0315 3:13 `softmax` gives a value for each `j`, which is no index here\n"
       "  help make `j` an index on the left of the equation, or of a reduction around this\n"},
      {"input x : f32[4]\n"
       "y = scan sum[j] x[j]\n",
       "E0315 3:14 `scan sum` gives a value for each `j`, which is no index here\n"
       "  help make `j` an index on the left of the equation, or of a reduction around this\n"},
      {"input x : f32[4, 4]\n"
       "y[i, j] = scan sum[i, j] x[i, j]\n",
       "E0313 3:23 a scan runs along one index, not 2\n"},
      {"input x : f32[4]\n"
       "y[j] = scan mean[j] x[j]\n",
       "E0319 3:13 `scan` runs a built-in reduction or a monoid, and `mean` is a macro\n"
       "  note 13:5 it is defined here\n"},
      {"input x : f32[4]\n"
       "y = lse(x[0], 1)\n",
       "E0313 3:5 `lse` is a monoid and reduces over an index\n"
       "  help write `lse[k](...)`\n"},
      {"input x : f32[4]\n"
       "y = sum[k desc] x[k]\n",
       "E0319 3:9 `desc` belongs to a `scan`\n"
       "  help write `scan sum[k ...]`\n"},
      {"input x : f32[4]\n"
       "y = sum[k; 3] x[k]\n",
       "E0319 3:12 a count belongs to `topk[e; K]`\n"},
      {"input x : f32[4]\n"
       "y[n] = topk[e] x[e]\n",
       "E0314 3:1 `topk` gives 2 values, and 1 is named here\n"
       "  help write a tuple of 2 tensors on the left\n"},
      {"input x : f32[4]\n"
       "y[i] = x[i] + topk[e; 2] x[e]\n",
       "E0503 3:15 `topk` gives 2 values here, and one value is wanted\n"
       "  help give its results names with an equation of their own: `(a[...], b[...]) = ...`\n"},
      {"input x : f32[4]\n"
       "y = lse[k](x[k], 1)\n",
       "E0314 3:1 `lse` gives 2 values, and 1 is named here\n"
       "  help write a tuple of 2 tensors on the left\n"},
      {"input x : f32[4]\n"
       "(y, z) = sum[k] x[k]\n",
       "E0314 3:2 `sum` gives 1 value, and 2 are named here\n"
       "  help write one tensor on the left\n"},
      {"input x : f32[4]\n"
       "(y, z) = x[0] + 1\n",
       "E0314 3:2 a tuple on the left takes the results of one monoid or `topk`, and the right "
       "side is neither\n"},
      {"input x : f32[4, 4]\n"
       "(y[i], z[j]) = lse[k](x[i, k], 1)\n",
       "E0314 3:8 `z` and `y` have different indices\n"
       "  note 3:2 the first of the tuple\n"},
      {"input x : f32[4, 4]\n"
       "(y[i], z[i]) = topk[k; 2] x[i, k]\n",
       "E0314 3:2 `topk` needs a new index for the position in the list\n"
       "  help add one on the left: `(v[t, n], id[t, n]) = topk[e; K] ...`\n"},
      {"input x : f32[4]\n"
       "y = x[0] + lse[k](x[k], 1)\n",
       "E0503 3:12 `lse` gives 2 values here, and one value is wanted\n"
       "  help give its results names with an equation of their own: `(a[...], b[...]) = ...`\n"},
      {"input x : f32[4]\n"
       "y[i: 2] = (x[i] + 1) else 0\n",
       "E0320 3:12 `else` follows a read, and this is none\n"
       "  help choose between two values with `where(c, a, b)`\n"},
      {"input x : f32[4]\n"
       "y = max[k: 4 where x[k]] x[k]\n",
       "E0307 3:20 this is a real, and a truth value is wanted\n"
       "  help compare the number with something: `x != 0`\n"},
      {"input x : f32[4]\n"
       "y[i desc] = x[i]\n",
       "E0201 3:5 expected `,` or `]`, found `desc`\n"
       "  note 3:2 inside this `[`\n"},
  });
}

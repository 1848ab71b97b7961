// prove_commutative: which reductions may leave the order of their elements.
#include "run.h"

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

const std::string head = R"(dim M in 1..64, N in 0..1000
input x : f32[M, N]
input w : f32[M, N]
input k : i32[M, N] in 1..9
input z : i32[M, N] in 0..9
)";

/// Whether the last reduction of the text is known to commute after the law.
bool proved(const std::string& body) {
  Graph before = graph_of_body(head + body);
  Graph g = prove_commutative(before);
  verify(g, "prove_commutative");
  INFO(to_text(g));
  std::optional<bool> found;
  for (const Node& node : g.nodes)
    if (const auto* c = std::get_if<Comprehension>(&node.definition); c && c->reduction)
      found = g[c->reduction->monoid].commutative;
  REQUIRE(found.has_value());
  auto a = run(before, {3, 5}), b = run(g, {3, 5});
  for (const auto& [name, array] : a) CHECK(array.reals == b.at(name).reals);
  return *found;
}

std::string user(const std::string& monoid, const std::string& elements) {
  return "monoid m" + monoid + "\n(a[i], b[i]) = m[j](" + elements + ")\noutput a : f32[M]\n" +
         "output b : f32[M]\n";
}

} // namespace

TEST_CASE("a field that only the identity has at zero", "[prove_commutative]") {
  std::string out = "output n : f32[M]\noutput m : f32[M]\noutput s : f32[M]\n";
  CHECK(proved("(n[i], m[i], s[i]) = welford[j](1, x[i, j], 0)\n" + out));
  CHECK(proved("(n[i], m[i], s[i]) = welford[j where x[i, j] > 0](k[i, j], x[i, j], 0)\n" + out));
  // Weights that may be 0 or negative: two such states do not commute.
  CHECK(!proved("(n[i], m[i], s[i]) = welford[j](z[i, j], x[i, j], 0)\n" + out));
  CHECK(!proved("(n[i], m[i], s[i]) = welford[j](w[i, j], x[i, j], 0)\n" + out));
}

TEST_CASE("order that matters is kept", "[prove_commutative]") {
  CHECK(!proved(
      "(a[i], b[i]) = affine[j](x[i, j], w[i, j])\noutput a : f32[M]\noutput b : f32[M]\n"));
  // Ties: the first or the last of them wins, which random numbers do not show.
  CHECK(!proved(user("(v = -inf, i = -1) (a, b) -> (max(a.v, b.v), where(b.v > a.v, b.i, a.i))",
                     "x[i, j], j * 1.0")));
  CHECK(!proved(
      user("(v = 0, k = 0) (a, b) -> (where(a.k > 0, a.v, b.v), max(a.k, b.k))", "x[i, j], 1")));
  CHECK(!proved(user("(n = 0, s = 0) (a, b) -> (a.n + b.n, a.s * 0 + b.s)", "1, x[i, j]")));
}

TEST_CASE("equal quotients are equal products across", "[prove_commutative]") {
  // The weighted mean, written towards the earlier state.
  CHECK(proved(user("(n = 0, s = 0) (a, b) -> (a.n + b.n, where(b.n == 0, a.s, "
                    "a.s + (b.s - a.s) * b.n / (a.n + b.n)))",
                    "1, x[i, j]")));
  // A divisor that may be 0 says nothing.
  CHECK(
      !proved(user("(n = 0, s = 0) (a, b) -> (a.n + b.n, (a.s + b.s) * b.s / b.s)", "1, x[i, j]")));
  // Functions of the states are the same in both orders, or stand for themselves.
  CHECK(proved(user("(n = 0, s = 0) (a, b) -> (a.n + b.n, where(b.n == 0, a.s, "
                    "where(a.n == 0, b.s, max(b.s, a.s) + 2 - 1 * 2)))",
                    "1, x[i, j]")));
  CHECK(!proved(user("(n = 0, s = 0) (a, b) -> (a.n + b.n, where(b.n == 0, a.s, "
                     "where(a.n == 0, b.s, a.s + 0 * exp(a.s))))",
                     "1, x[i, j]")));
}

TEST_CASE("scans keep their order", "[prove_commutative]") {
  Graph g = prove_commutative(
      graph_of_body(head + "(n[i, j], m[i, j], s[i, j]) = scan welford[j](1, x[i, j], 0)\n"
                           "output m : f32[M, N]\n"));
  for (const Node& node : g.nodes)
    if (const auto* c = std::get_if<Comprehension>(&node.definition); c && c->reduction)
      CHECK(!g[c->reduction->monoid].commutative);
}

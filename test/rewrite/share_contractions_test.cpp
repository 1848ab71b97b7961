// share_contractions: what two reductions both need is computed once, and nothing else changes.
#include "rewrite/share_contractions.h"
#include "run.h"

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

bool always(const Graph&, const Comprehension&, const Comprehension&, const Comprehension&) {
  return true;
}

size_t folds_of(const Graph& g, const Node& node) {
  auto terms = reachable(g.exprs, roots(std::get<Comprehension>(node.definition)));
  return static_cast<size_t>(std::count_if(terms.begin(), terms.end(),
                                           [&](ExprId id) { return g.exprs[id].op == Op::fold; }));
}

size_t folds_of(const Graph& g) {
  size_t count = 0;
  for (const Node& node : g.nodes) count += folds_of(g, node);
  return count;
}

struct Shared {
  Graph before, after;
  size_t folds_saved() const { return folds_of(before) - folds_of(after); }
  size_t nodes_saved() const { return before.nodes.size() - after.nodes.size(); }
};

Shared shared(const std::string& body, const RunsAsOne& runs_as_one = always) {
  Graph naive = differentiate(graph_of_body(body)), whole = rewritten(naive);
  Shared out{whole, share_contractions(whole, runs_as_one)};
  INFO(to_text(out.before) << "became\n" << to_text(out.after));
  REQUIRE_NOTHROW(verify(out.after, "share_contractions"));
  for (int64_t size : {1, 2, 17, 70}) REQUIRE(difference(naive, out.after, {size}) == "");
  // The text says all of it: read back, it gives the same.
  REQUIRE(difference(naive, graph_of(to_text(out.after)), {17}) == "");
  return out;
}

/// Scores that nobody stores: `c` takes them in along its rows, and then all others do.
std::string scores(int depth) {
  return fmt::format("dim S in 1..8192\ndim D = {}\ninput q : f32[S, D]\ninput k : f32[S, D]\n"
                     "input x : f32[S, 16]\ninput y : f32[S, 24]\n"
                     "s[i, j] = 0.2 * sum[d] q[i, d] * k[j, d]\n"
                     "c[i] = sum[j] abs(s[i, j])\noutput c : f32[S]\n",
                     depth);
}

} // namespace

TEST_CASE("gradients by keys and by values share the scores", "[share_contractions]") {
  for (const char* mask : {"", " where j <= i"}) {
    Shared s = shared(fmt::format(
        "dim S in 1..8192\ninput q : f32[S, 8]\ninput k : f32[S, 8]\ninput v : f32[S, 8]\n"
        "input go : f32[S, 8]\ns[i, j] = 0.2 * sum[d] q[i, d] * k[j, d]\n"
        "p[i, j] = softmax[j{}] s[i, j]\no[i, d] = sum[j] p[i, j] * v[j, d]\n"
        "grad o with go wrt q -> dq, k -> dk, v -> dv\n"
        "output dq : f32[S, 8]\noutput dk : f32[S, 8]\noutput dv : f32[S, 8]\n",
        mask));
    CHECK(s.nodes_saved() == 1);
    CHECK(s.folds_saved() == 1);
    const Node& both = s.after.nodes.back();
    CHECK(std::get<Comprehension>(both.definition).results.size() == 2);
    CHECK(folds_of(s.after, both) == 2);
    CHECK(both.derivation.back() ==
          "share_contractions: `dk` and `dv` compute what both need once");
  }
}

TEST_CASE("other monoids, other columns, three in one", "[share_contractions]") {
  Shared two = shared(scores(16) + "m[j] = max[i] s[i, j]\n"
                                   "a[j, d] = sum[i] s[i, j] * s[i, j] * x[i, d]\n"
                                   "output m : f32[S]\noutput a : f32[S, 16]\n");
  CHECK(two.nodes_saved() == 1);
  CHECK(two.folds_saved() == 1);
  Shared three = shared(scores(32) + "a[j, d] = sum[i] tanh(s[i, j]) * x[i, d]\n"
                                     "b[j, h] = sum[i] s[i, j] * y[i, h]\n"
                                     "e[j] = sum[i] abs(s[i, j])\n"
                                     "output a : f32[S, 16]\noutput b : f32[S, 24]\n"
                                     "output e : f32[S]\n");
  CHECK(three.nodes_saved() == 2);
  CHECK(three.folds_saved() == 2);
}

TEST_CASE("what does not share stays", "[share_contractions]") {
  auto sums = [](const std::string& first, const std::string& second) {
    return "a[j, d] = " + first + " tanh(s[i, j]) * x[i, d]\nb[j, e] = " + second +
           " * y[i, e]\noutput a : f32[S, 16]\noutput b : f32[S, 24]\n";
  };
  std::string all = sums("sum[i]", "sum[i] s[i, j]");
  SECTION("as a measure of the others") {
    Shared s = shared(scores(32) + all);
    CHECK(s.nodes_saved() == 1);
  }
  SECTION("the schedule does not want it") {
    size_t asked = 0;
    auto refuse = [&](const Graph&, const Comprehension&, const Comprehension&,
                      const Comprehension&) { return ++asked, false; };
    CHECK(shared(scores(32) + all, refuse).nodes_saved() == 0);
    CHECK(asked == 1);
  }
  SECTION("too little is shared") {
    CHECK(shared(scores(4) + all).nodes_saved() == 0);
  }
  SECTION("other ranges") {
    CHECK(shared(scores(32) + sums("sum[i]", "sum[i where i <= j] s[i, j]")).nodes_saved() == 0);
  }
  SECTION("other scores") {
    CHECK(shared(scores(32) + "input r : f32[S, D]\nt[i, j] = sum[d] r[i, d] * k[j, d]\n" +
                 sums("sum[i]", "sum[i] t[i, j]"))
              .nodes_saved() == 0);
  }
  SECTION("one needs the other") {
    CHECK(shared(scores(32) + "a[j, d] = sum[i] tanh(s[i, j]) * x[i, d]\n"
                              "b[j, e] = sum[i] s[i, j] * a[0, 1] * y[i, e]\n"
                              "output a : f32[S, 16]\noutput b : f32[S, 24]\n")
              .nodes_saved() == 0);
  }
}

// solve_feedback: recurrences that correct their state by a contraction of it.
#include "run.h"

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

const std::string head = R"(dim T in 0..100000, H in 1..4
dim K = 64, V = 64
input q : f64[T, H, K]
input k : f64[T, H, K]
input v : f64[T, H, V]
input a : f64[T, H]
input b : f64[T, H]
input s0 : f64[H, V, K]
input on : i32[T] in 0..1
key[t, h, i] = k[t, h, i] / 6
)";

std::string recurrence(const std::string& body) {
  return "recur t: T carry s = s0 {\n" + body +
         "\n  o[h, j] = sum[i] s[h, j, i] * q[t, h, i]\n} collect os = o\n"
         "output os : f64[T, H, V]\noutput s : f64[H, V, K]\n";
}

size_t long_recurrences(const Graph& g) {
  size_t count = 0;
  for (const Node& node : g.nodes)
    if (const auto* r = std::get_if<Recur>(&node.definition))
      count += g.exprs[r->time.extent].op == Op::dim;
  return count;
}

bool fires(const Graph& g) {
  return to_text(solve_feedback(g)).find("solve_feedback") != std::string::npos;
}

const std::string held = "  held[h, j] = a[t, h] * sum[i] s[h, j, i] * key[t, h, i]\n";
const std::string gated =
    held +
    "  s[h, j, i] = a[t, h] * s[h, j, i] + b[t, h] * (v[t, h, j] - held[h, j]) * key[t, h, i]";

} // namespace

TEST_CASE("corrections are solved for in chunks", "[solve_feedback]") {
  for (const std::string& body :
       {gated,
        // The state decays first; the correction looks at what is left.
        std::string("  kept[h, j, i] = a[t, h] * s[h, j, i]\n"
                    "  r[h, j] = sum[i] kept[h, j, i] * key[t, h, i]\n"
                    "  d[h, j] = (v[t, h, j] - r[h, j]) * b[t, h]\n"
                    "  s[h, j, i] = kept[h, j, i] + d[h, j] * key[t, h, i]"),
        // Nothing is forgotten; the state is looked at with another vector than it is changed by.
        std::string("  r[h, j] = sum[i] s[h, j, i] * q[t, h, i] / 8\n"
                    "  s[h, j, i] = s[h, j, i] + (v[t, h, j] - r[h, j]) * key[t, h, i] * b[t, h]"),
        // Steps that change nothing, forget everything, or add without a correction.
        std::string("  r[h, j] = sum[i] s[h, j, i] * key[t, h, i]\n"
                    "  s[h, j, i] = where(on[t] == 1, a[t, h] * s[h, j, i] + (v[t, h, j] - "
                    "r[h, j]) * key[t, h, i], s[h, j, i])"),
        std::string("  r[h, j] = where(on[t] == 1, 0, a[t, h]) * sum[i] s[h, j, i] * key[t, h, i]\n"
                    "  s[h, j, i] = where(on[t] == 1, 0, a[t, h]) * s[h, j, i] + (v[t, h, j] - "
                    "r[h, j]) * key[t, h, i]"),
        std::string("  r[h, j] = sum[i] s[h, j, i] * key[t, h, i]\n"
                    "  s[h, j, i] = a[t, h] * s[h, j, i] + v[t, h, j] * key[t, h, i] - where(on[t] "
                    "== 1, b[t, h] * r[h, j], 0) * key[t, h, i]")}) {
    INFO(body);
    Graph g = graph_of_body(head + recurrence(body));
    Graph once = solve_feedback(g), all = rewritten(g);
    INFO(to_text(once));
    REQUIRE_NOTHROW(verify(once, "solve_feedback"));
    CHECK(fires(g));
    CHECK(to_text(solve_feedback(once)) == to_text(once));
    // What is left per step is a scan.
    CHECK(long_recurrences(once) == 1);
    CHECK(long_recurrences(scan_recurrences(once)) == 0);
    CHECK(all.remarks.empty());
    for (int64_t steps : {0, 1, 64, 67}) {
      INFO("T = " << steps);
      CHECK(difference(g, once, {steps, 1}) == "");
      CHECK(difference(g, all, {steps, 1}) == "");
    }
    CHECK(difference(g, once, {130, 2}) == "");
  }
}

TEST_CASE("a state that only keeps and corrects stays exact for equal keys", "[solve_feedback]") {
  // All products of keys are 1: powers of the feedback grow like binomials, its inverse does not.
  std::string same = head;
  same.replace(same.find("k[t, h, i] / 6"), 14, "0.125 + 0.0 * k[t, h, i]");
  Graph g = graph_of_body(same + recurrence("  r[h, j] = sum[i] s[h, j, i] * key[t, h, i]\n"
                                            "  s[h, j, i] = s[h, j, i] + (v[t, h, j] - r[h, j]) "
                                            "* key[t, h, i]"));
  CHECK(fires(g));
  CHECK(difference(g, solve_feedback(g), {129, 1}) == "");
}

TEST_CASE("a later key that is no number does not reach earlier steps", "[solve_feedback]") {
  std::string late = head;
  late.replace(late.find("k[t, h, i] / 6"), 14,
               "where(t == 40, sqrt(-1 - k[t, h, i] * k[t, h, i]), k[t, h, i] / 6)");
  Graph all = rewritten(graph_of_body(late + recurrence(gated)));
  CHECK(long_recurrences(all) == 0);
  auto os = run(all, {70, 1}).at("os");
  for (int64_t step = 0; step < 40; ++step) CHECK(std::isfinite(os.as_real(step * 64)));
  CHECK(std::isnan(os.as_real(40 * 64)));
  CHECK(std::isnan(os.as_real(69 * 64)));
}

TEST_CASE("a key that is no number in a step that is left out reaches nothing",
          "[solve_feedback]") {
  std::string late = head;
  late.replace(late.find("k[t, h, i] / 6"), 14,
               "where(t == 40, sqrt(-1 - k[t, h, i] * k[t, h, i]), k[t, h, i] / 6)");
  Graph all = rewritten(graph_of_body(
      late +
      recurrence("  r[h, j] = sum[i] s[h, j, i] * key[t, h, i]\n"
                 "  s[h, j, i] = where(t == 40, s[h, j, i], a[t, h] * s[h, j, i] + b[t, h] * "
                 "(v[t, h, j] - r[h, j]) * key[t, h, i])")));
  CHECK(long_recurrences(all) == 0);
  auto os = run(all, {70, 1}).at("os");
  for (int64_t k = 0; k < os.size(); ++k) REQUIRE(std::isfinite(os.as_real(k)));
}

TEST_CASE("recurrences of another form stay", "[solve_feedback]") {
  for (const char* body :
       {// Corrected along another vector than given.
        "  r[h, j] = sum[i] s[h, j, i] * key[t, h, i]\n"
        "  s[h, j, i] = a[t, h] * s[h, j, i] + v[t, h, j] * q[t, h, i] - r[h, j] * key[t, h, i]",
        // Not linear in what is held; a product of it and the state.
        "  r[h, j] = tanh(sum[i] s[h, j, i] * key[t, h, i])\n"
        "  s[h, j, i] = a[t, h] * s[h, j, i] + (v[t, h, j] - r[h, j]) * key[t, h, i]",
        "  r[h, j] = sum[i] s[h, j, i] * key[t, h, i]\n"
        "  s[h, j, i] = r[h, j] * s[h, j, i] + (v[t, h, j] - r[h, j]) * key[t, h, i]",
        // The sum mixes rows, or the factor differs between them.
        "  r[h, i] = sum[j] s[h, j, i] * v[t, h, j]\n"
        "  s[h, j, i] = a[t, h] * s[h, j, i] + (v[t, h, j] - r[h, j]) * key[t, h, i]",
        "  r[h, j] = sum[i] s[h, j, i] * key[t, h, i]\n"
        "  s[h, j, i] = v[t, h, j] * s[h, j, i] + (v[t, h, j] - r[h, j]) * key[t, h, i]",
        // A key that the step computes.
        "  mine[h, i] = key[t, h, i] * 0.5\n  r[h, j] = sum[i] s[h, j, i] * mine[h, i]\n"
        "  s[h, j, i] = a[t, h] * s[h, j, i] + (v[t, h, j] - r[h, j]) * mine[h, i]"}) {
    INFO(body);
    Graph g = graph_of_body(head + recurrence(body));
    CHECK_FALSE(fires(g));
    CHECK(difference(g, rewritten(g), {5, 1}) == "");
  }
  // Narrow states cost less one after another.
  std::string narrow = head;
  narrow.replace(narrow.find("dim K = 64, V = 64"), 18, "dim K = 4, V = 4");
  CHECK_FALSE(fires(graph_of_body(narrow + recurrence(gated))));
}

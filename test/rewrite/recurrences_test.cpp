// scan_recurrences and reduce_scans: recurrences that are scans, and those that are not.
#include "rewrite/components.h"
#include "run.h"
#include <set>

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

const std::string head = R"(dim T in 0..200, D in 1..4
input x : f32[T, D]
input w : f32[T, D]
input h0 : f32[D]
input on : i32[T] in 0..1
input k0 : i32[D] in 0..9
input m : f32[D, D]
zero[d: D] = 0.0
)";

constexpr int64_t lengths[] = {0, 1, 2, 3, 17, 129};

size_t recurrences(const Graph& g) {
  size_t count = 0;
  for (const Node& node : g.nodes) count += std::holds_alternative<Recur>(node.definition);
  return count;
}

std::string remarks(const Graph& g) {
  std::string text;
  for (const Remark& remark : g.remarks) text += remark.text + "\n";
  return text;
}

/// After scan_recurrences alone; the law alone and all laws keep the meaning for all lengths, and
/// the law finds nothing more to do.
Graph unrolled(const std::string& body) {
  Graph g = graph_of_body(head + body);
  Graph once = scan_recurrences(g), all = rewritten(g);
  INFO(to_text(g) << "gives\n" << to_text(once) << remarks(once) << "and\n" << to_text(all));
  REQUIRE_NOTHROW(verify(once, "scan_recurrences"));
  for (int64_t length : lengths) {
    INFO("T = " << length);
    CHECK(difference(g, once, {length, 3}) == "");
    CHECK(difference(g, reduce_scans(once), {length, 3}) == "");
    CHECK(difference(g, all, {length, 3}) == "");
  }
  CHECK(to_text(scan_recurrences(once)) == to_text(once));
  CHECK(to_text(reduce_scans(all)) == to_text(all));
  return once;
}

/// The monoids of the scans, each once.
std::string monoids(const Graph& g) {
  std::set<std::string> names;
  for (const Node& node : g.nodes)
    if (const auto* c = std::get_if<Comprehension>(&node.definition); c && c->scan)
      names.insert(g[c->reduction->monoid].name);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

const std::string outputs = "output hs : f32[T, D]\noutput h : f32[D]\n";

std::string carry_h(const std::string& body, const std::string& init = "h0") {
  return "recur t: T carry h = " + init + " { " + body + " } collect hs = h\n" + outputs;
}

} // namespace

TEST_CASE("affine steps are scans under the smallest monoid", "[scan_recurrences]") {
  struct Case {
    const char *step, *monoid;
  };
  for (auto [step, monoid] : std::vector<Case>{
           {"h[d] = x[t, d] * h[d] + w[t, d]", "affine"},
           {"h[d] = w[t, d] - h[d] / 3", "affine"},
           {"h[d] = (h[d] + x[t, d]) * w[t, d] - 0.5 * (h[d] - 1)", "affine"},
           {"h[d] = -(h[d] + w[t, d])", "affine"},
           {"h[d] = h[d] + x[t, d]", "sum"},
           {"h[d] = x[t, d] + (w[t, d] + h[d]) - t", "sum"},
           {"h[d] = where(on[t] == 1, h[d] + x[t, d], h[d])", "sum"},
           {"h[d] = h[d] * x[t, d]", "prod"},
           {"h[d] = x[t, d] * h[d] * w[t, d] / 2", "prod"},
           {"h[d] = where(on[t] == 1, x[t, d] * h[d], h[d])", "prod"},
           {"h[d] = where(on[t] == 1, x[t, d] * h[d], h[d] + 1)", "affine"},
           {"h[d] = max(h[d], x[t, d])", "max"},
           {"h[d] = min(x[t, d] * 2, h[d])", "min"},
           {"h[d] = where(on[t] == 1, x[t, d], h[d])", "affine_with_resets"},
           {"h[d] = where(on[t] == 1, x[t, d], w[t, d] * h[d] + 1)", "affine_with_resets"},
           {"h[d] = where(on[t] == 1, where(x[t, d] < 0, h[d], 2), h[d] * 0.5)",
            "affine_with_resets"},
           {"h[d] = where(on[t] == 1, h[d], 1) + where(x[t, d] < 0, 2, 0.5 * h[d])",
            "affine_with_resets"},
           {"h[d] = where(on[t] == 1, h[d], 1) - h[d] * w[t, d]", "affine"},
           // The step through other maps, one of them read twice.
           {"g[d] = x[t, d] * h[d]; u[d] = g[d] + w[t, d]; h[d] = u[d] + 0.25 * g[d]", "affine"}})
    for (const char* init : {"h0", "zero"}) {
      INFO(step);
      Graph g = unrolled(carry_h(step, init));
      CHECK(recurrences(g) == 0);
      CHECK(remarks(g) == "");
      CHECK(monoids(g) == monoid);
    }
}

TEST_CASE("a scan that starts from 0 asks for no start", "[scan_recurrences]") {
  const char* step = "h[d] = x[t, d] * h[d] + w[t, d]";
  CHECK(to_text(unrolled(carry_h(step))).find("t == 0") != std::string::npos);
  CHECK(to_text(unrolled(carry_h(step, "zero"))).find("t == 0") == std::string::npos);
}

TEST_CASE("integers: exact, and only where the factors stay small", "[scan_recurrences]") {
  const std::string outs = "output ks : i64[T, D]\noutput k : i64[D]\n";
  auto program = [&](const char* step) {
    return std::string("recur t: T carry k = k0 { ") + step + " } collect ks = k\n" + outs;
  };
  CHECK(recurrences(unrolled(program("k[d] = k[d] + on[t]"))) == 0);
  CHECK(recurrences(unrolled(program("k[d] = max(k[d], 3 * on[t])"))) == 0);
  CHECK(monoids(unrolled(program("k[d] = on[t] * k[d] + 2"))) == "affine");
  CHECK(monoids(unrolled(program("k[d] = where(on[t] == 1, t, k[d] + 1)"))) ==
        "affine_with_resets");
  // 3 * k - 2 * k does not grow; the product of its factors, taken apart, does.
  Graph g = graph_of_body(head + program("k[d] = 3 * k[d] - 5"));
  g = scan_recurrences(std::move(g));
  CHECK(recurrences(g) == 1);
  CHECK_THAT(remarks(g), Catch::Contains("`k` is not affine"));
}

TEST_CASE("truth values", "[scan_recurrences]") {
  Graph g = unrolled("b0[d] = k0[d] < 4\nc0[d] = k0[d] < 7\n"
                     "recur t: T carry b = b0, c = c0 {\n"
                     "  b[d] = b[d] or x[t, d] < -0.9\n  c[d] = x[t, d] < 0.9 and c[d]\n"
                     "} collect bs = b, cs = c\n"
                     "y[t, d] = where(bs[t, d], 1, 0) + where(cs[t, d], 2, 0)\n"
                     "output y : i32[T, D]\n");
  CHECK(recurrences(g) == 0);
  CHECK(monoids(g) == "all any");
}

TEST_CASE("what a step computes besides", "[scan_recurrences]") {
  SECTION("from the value before and behind the step, and a sum of it") {
    Graph g = unrolled("recur t: T carry h = h0 {\n"
                       "  before[d] = h[d] * w[t, d]\n"
                       "  h[d] = 0.5 * h[d] + x[t, d]\n"
                       "  y = sum[d] h[d] * before[d]\n"
                       "  z[d] = sum[e] m[d, e] * h[e]\n"
                       "} collect ys = y, zs = z, hs = h\n"
                       "output ys : f32[T]\noutput zs : f32[T, D]\noutput h : f32[D]\n");
    CHECK(recurrences(g) == 0);
  }
  SECTION("steps that need a sum over what the step is given") {
    Graph g = unrolled("recur t: T carry h = h0 {\n"
                       "  u[d] = sum[e] m[d, e] * x[t, e]\n"
                       "  s[d] = scan sum[d] u[d]\n"
                       "  h[d] = w[t, 0] * h[d] + u[d] + s[d]\n"
                       "} collect hs = h\n" +
                       outputs);
    CHECK(recurrences(g) == 0);
  }
  SECTION("one carried tensor feeds another, and a line of them delays") {
    Graph g = unrolled("recur t: T carry h = h0, g = h0, one = zero, two = h0, same = h0 {\n"
                       "  h[d] = 0.5 * h[d] + x[t, d]\n"
                       "  two[d] = one[d]\n  one[d] = x[t, d]\n  same[d] = same[d]\n"
                       "  g[d] = w[t, d] * g[d] + h[d] + same[d] + two[d]\n"
                       "} collect hs = h, gs = g, twos = two\n"
                       "output hs : f32[T, D]\noutput gs : f32[T, D]\noutput twos : f32[T, D]\n"
                       "output g : f32[D]\noutput two : f32[D]\noutput same : f32[D]\n");
    CHECK(recurrences(g) == 0);
  }
  SECTION("a recurrence in a step of another") {
    Graph g = unrolled("recur t: T carry h = h0 {\n"
                       "  recur r: 3 carry g = h0 { g[d] = 0.5 * g[d] + w[t, d] * r }\n"
                       "  h[d] = 0.5 * h[d] + g[d]\n"
                       "} collect hs = h\n" +
                       outputs);
    CHECK(recurrences(g) == 0);
  }
}

TEST_CASE("an excluded NaN stays where it is", "[scan_recurrences]") {
  // The reset at odd places follows a NaN at even ones.
  const std::string step = "h[d] = where(mod(t, 2) == 1, x[t, d], h[d] * sqrt(-1 - x[t, d]))";
  Graph g = unrolled(carry_h(step));
  CHECK(monoids(g) == "affine_with_resets");
  auto hs = run(rewritten(g), {6, 3}).at("hs");
  CHECK(std::isnan(hs.as_real(2 * 3)));
  CHECK(std::isfinite(hs.as_real(3 * 3)));
}

TEST_CASE("what stays sequential, and why", "[scan_recurrences]") {
  struct Case {
    const char *body, *why;
  };
  for (auto [body, why] : std::vector<Case>{
           {"h[d] = tanh(h[d]) + x[t, d]", "`h` is not affine"},
           {"h[d] = h[d] * h[d] + x[t, d]", "`h` is not affine"},
           {"h[d] = x[t, d] / h[d]", "`h` is not affine"},
           {"h[d] = where(h[d] < 0, h[d], 0.5 * h[d])", "`h` is not affine"},
           {"h[d] = f16(h[d] * x[t, d])", "`h` is not affine"},
           {"h[d: D] = h[D - 1 - d] * 0.5", "`h` needs other elements"},
           {"h[d: D] = 0.5 * h[d] + (h[d + 1] else 0)", "`h` needs other elements"},
           {"h[d] = h[d] * h[0]", "`h` needs other elements"},
           {"s = sum[d] h[d]; h[d] = 0.5 * h[d] + s", "`h` goes through more than a map"},
           {"h[d] = sum[e] m[d, e] * h[e]", "`h` goes through more than a map"}}) {
    INFO(body);
    Graph g = unrolled(carry_h(body));
    CHECK(recurrences(g) == 1);
    CHECK_THAT(remarks(g),
               Catch::Contains("runs the steps one after another: ") && Catch::Contains(why));
  }
  Graph two = unrolled("recur t: T carry h = h0, g = h0 {\n"
                       "  n[d] = 0.5 * h[d] + g[d]\n  g[d] = h[d] - x[t, d]\n  h[d] = n[d]\n"
                       "} collect hs = h\n" +
                       outputs);
  CHECK(recurrences(two) == 1);
  CHECK_THAT(remarks(two), Catch::Contains("depend on each other"));
  Graph stored = unrolled("recur t: T carry h = h0 { h[d] = 0.5 * h[d] + x[t, d] } collect hs = h\n"
                          "store h : f16\noutput hs : f32[T, D]\n");
  CHECK(recurrences(stored) <= 1);
}

TEST_CASE("a scan of which only the end is read", "[reduce_scans]") {
  auto scans = [](const std::string& body) {
    Graph g = graph_of_body(head + body), once = reduce_scans(g), all = rewritten(g);
    INFO(to_text(all));
    REQUIRE_NOTHROW(verify(once, "reduce_scans"));
    for (int64_t length : lengths) {
      CHECK(difference(g, once, {length, 3}) == "");
      CHECK(difference(g, all, {length, 3}) == "");
    }
    size_t count = 0;
    for (const Node& node : all.nodes)
      if (const auto* c = std::get_if<Comprehension>(&node.definition))
        count += c->scan.has_value();
    return count;
  };
  auto last = [](const std::string& scan, const std::string& place = "T - 1") {
    return "(a[t, d], s[t, d]) = scan affine[" + scan +
           "](w[t, d], x[t, d])\ny[d] = where(0 < T, s[" + place +
           ", d] + 1, 2)\noutput y : f32[D]\n";
  };
  CHECK(scans(last("t")) == 0);
  CHECK(scans(last("t desc", "0")) == 0);
  CHECK(scans(last("t exclusive")) == 1);
  CHECK(scans(last("t desc")) == 1);
  CHECK(scans(last("t", "0")) == 1);
  // The end and all of it.
  CHECK(scans("s[t, d] = scan sum[t] x[t, d]\ny[t, d] = s[t, d] * where(0 < T, s[T - 1, d], 0)\n"
              "output y : f32[T, D]\n") == 1);
  CHECK(scans("s[t, d] = scan sum[d] x[t, d]\ny[t] = s[t, D - 1]\noutput y : f32[T]\n") == 0);
  // A chain of ends.
  CHECK(scans("s[t, d] = scan sum[t] x[t, d]\nr[d] = scan sum[d] where(0 < T, s[T - 1, d], 0)\n"
              "y = r[D - 1]\noutput y : f32\n") == 0);
}

TEST_CASE("strongly connected parts", "[components]") {
  auto parts = components({{1}, {2}, {0, 3}, {4}, {3}, {5}, {}});
  CHECK(parts[0] == parts[1]);
  CHECK(parts[1] == parts[2]);
  CHECK(parts[3] == parts[4]);
  CHECK(parts[3] < parts[0]);
  CHECK(std::set<size_t>(parts.begin(), parts.end()).size() == 4);
  // A long line does not need a deep stack.
  std::vector<std::vector<size_t>> line(200000);
  for (size_t v = 0; v + 1 < line.size(); ++v) line[v] = {v + 1};
  CHECK(components(line).front() == line.size() - 1);
}

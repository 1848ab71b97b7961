// Each law on small programs: what it makes of them, and that it leaves alone what it must.
#include "rewrite/specialize.h"
#include "run.h"

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

const Comprehension& node_of(const Graph& g, const std::string& tensor) {
  for (const Node& node : g.nodes)
    if (const auto* c = std::get_if<Comprehension>(&node.definition))
      for (const Result& r : c->results)
        if (g[r.tensor].name == tensor) return *c;
  FAIL("no node defines " << tensor);
  return std::get<Comprehension>(g.nodes[0].definition);
}

std::string text_after(const Graph& g) {
  std::string text = to_text(g);
  // Derivations are for people.
  std::string lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.find('#') == std::string::npos) lines += line + "\n";
  return lines;
}

/// All passes on a body; checks each and gives the graph at the end.
Graph all(const std::string& body, const std::vector<int64_t>& dims = {}) {
  return checked(graph_of_body(body), dims);
}

} // namespace

TEST_CASE("the table is in running order and every row is documented", "[passes]") {
  CHECK(!passes().empty());
  for (const Pass& pass : passes()) {
    CHECK(find_pass(pass.name) == &pass);
    CHECK(pass.law.back() == '.');
  }
  CHECK(find_pass("no_such_pass") == nullptr);
  std::vector<std::string> ran;
  Graph g = graph_of_body("input x : f32\ny = x\noutput y : f32");
  run_passes(g, 0, [&](const Pass& pass, const Graph&) { ran.emplace_back(pass.name); });
  // Without it a gradient would be no node that can be computed.
  CHECK(ran == std::vector<std::string>{"differentiate"});
  ran.clear();
  run_passes(g, 1, [&](const Pass& pass, const Graph&) { ran.emplace_back(pass.name); });
  CHECK(ran.size() == passes().size());
}

TEST_CASE("fewer sizes: their dims are numbers, and declared ranges shrink", "[specialize]") {
  Graph g =
      graph_of_body("dim T in 0..64, V in 1..100\ninput id : i32[T] in 0..<V\n"
                    "param w : f32[V, T]\ny[i] = sum[j] w[id[i], j] * T\noutput y : f32[T]\n");
  std::vector<Dim> dims = g.dims;
  dims[1].hi = 7;
  Graph fewer = specialize(g, dims);
  verify(fewer, "specialize");
  CHECK((*fewer[fewer.inputs[0]].range == IntRange{0, 6}));
  CHECK(to_text(fewer).find("in 0..V - 1") != std::string::npos);
  dims[0].lo = dims[0].hi = 5, dims[1].lo = 7;
  Graph one = specialize(g, dims);
  verify(one, "specialize");
  CHECK(to_text(one).find("id : i32[5] in 0..6") != std::string::npos);
  CHECK(to_text(one).find("* 5.0") != std::string::npos);
  CHECK(difference(g, one, {5, 7}) == "");
  CHECK(difference(g, rewritten(one), {5, 7}) == "");
}

TEST_CASE("a linear layer is one node", "[attach_epilogues]") {
  Graph g = all(R"(dim M in 1..65536
input x : f16[M, 16]
param w : f16[16, 8]
param b : f32[8]
y[i, j] = relu(sum[k] x[i, k] * w[k, j] + b[j])
output y : f32[M, 8]
)",
                {3});
  CHECK(g.nodes.size() == 1);
  CHECK(node_of(g, "y").reduction.has_value());
  CHECK(g.nodes[0].derivation.size() >= 1);
}

TEST_CASE("views vanish into the reduction that reads them", "[substitute_maps]") {
  Graph g = all(R"(dim S in 1..100
input x : f32[S, 8, 4]
merged[s: S, c: 32] = x[s, floordiv(c, 4), mod(c, 4)]
turned[c, s] = merged[s, c]
split[h: 8, d: 4, s: S] = turned[4*h + d, s]
y[s] = sum[h, d] split[h, d, s]
output y : f32[S]
)",
                {5});
  CHECK(g.nodes.size() == 1);
  CHECK_THAT(text_after(g), Catch::Contains("sum[h: 8, d: 4] x[s, h, d]"));
}

TEST_CASE("padding becomes a choice, and shifted windows keep theirs", "[substitute_maps]") {
  Graph g = all(R"(input x : f32[6]
p[i: 8] = x[i - 1] else 0
y[i: 6] = sum[r: 3] p[i + r]
z[i: 6] = p[i + 3] else 0
output y : f32[6]
output z : f32[6]
)");
  CHECK_THAT(text_after(g), Catch::Contains("sum[r: 3] (x[i + r - 1] else 0.0)"));
  CHECK_THAT(text_after(g), Catch::Contains("z[i: 6] = x[i + 2] else 0.0"));
}

// On both sides: what `id` is declared to hold may be untrue, and memory stays safe.
TEST_CASE("a gathered map keeps its test", "[substitute_maps]") {
  Graph g = all(R"(input e : f32[5, 4]
input id : i32[3] in 0..<7
scaled[v, d] = e[v, d] + 1
y[t, d] = scaled[id[t], d]
output y : f32[3, 4]
)");
  CHECK(g.nodes.size() == 1);
  CHECK_THAT(text_after(g),
             Catch::Contains("where(0 <= id[t] and id[t] < 5, e[id[t], d] + 1.0, 0.0)"));
}

TEST_CASE("a gather whose index turns out affine keeps its test", "[substitute_maps]") {
  Graph g = all(R"(input x : f32[5]
twice[t: 4] = 2 * t
scaled[v: 5] = x[v] + 1
y[t] = scaled[twice[t]]
output y : f32[4]
)");
  CHECK(g.nodes.size() == 1);
  CHECK_THAT(text_after(g), Catch::Contains("where(2 * t < 5, x[2 * t] + 1.0, 0.0)"));
}

TEST_CASE("expensive work is not repeated", "[substitute_maps]") {
  const char* program = R"(dim M in 1..4096, N in 1..4096
input x : f32[M, 64]
input w : f32[64, N]
h[i, k] = tanh(exp(x[i, k]) + 1)
y[i, j] = sum[k] h[i, k] * w[k, j]
output y : f32[M, N]
)";
  CHECK(all(program, {3, 2}).nodes.size() == 2);
  std::string cheap = program;
  cheap.replace(cheap.find("tanh(exp(x[i, k]) + 1)"), 22, "relu(x[i, k])");
  CHECK(all(cheap, {3, 2}).nodes.size() == 1);
  // One row for every reader: the same number of evaluations.
  std::string once = program;
  once.replace(once.find("N in 1..4096"), 12, "N in 1..1");
  CHECK(all(once, {3}).nodes.size() == 1);
}

TEST_CASE("what replaces an input takes bodies that read it point for point", "[substitute_maps]") {
  const std::string head = "dim N in 1..9\ninput x : f32[N]\n";
  Graph point = all(head + "y[i] = x[i] + 1\noutput y : f32[N] over x\n", {5});
  CHECK(point.nodes.size() == 1);
  Graph mirror = all(head + "y[i: N] = x[N - 1 - i]\noutput y : f32[N] over x\n", {5});
  CHECK(mirror.nodes.size() == 2);
  // `a` is written before `b`, which must still see the first input as given.
  Graph crossed = all(head + "input z : f32[N]\na[i] = z[i] + x[i]\nb[i] = x[i] - z[i]\n"
                             "output a : f32[N] over x\noutput b : f32[N] over z\n",
                      {5});
  CHECK(crossed.nodes.size() >= 3);
}

TEST_CASE("results of scans and top-k stay", "[substitute_maps]") {
  Graph g = all(R"(input x : f32[8]
c[t] = scan sum[t] x[t]
y[t: 4] = c[2 * t]
(v[n], id[n]) = topk[e; 3] x[e]
z[n] = v[n] * 2
output y : f32[4]
output z : f32[3]
)");
  CHECK(node_of(g, "y").reduction == std::nullopt);
  CHECK(node_of(g, "z").reduction == std::nullopt);
  // The copies to the outputs do not.
  CHECK(all("input x : f32[8]\nc[t] = scan sum[t] x[t]\noutput c : f32[8]\n").nodes.size() == 1);
}

TEST_CASE("folds inside a substituted body get fresh indices", "[substitute_maps]") {
  Graph g = all(R"(input x : f32[4, 3]
input w : f32[4, 3]
a[i] = where(i < 2, sum[k] x[i, k], 0)
y[i: 2] = sum[k] a[i + k] * w[i, k]
output y : f32[2]
)");
  CHECK(g.outputs.size() == 1);
}

TEST_CASE("a reader in another order turns the reduction's points", "[attach_epilogues]") {
  Graph g = all(R"(dim M in 1..100
input x : f32[M, 4, 8]
s[i, j] = sum[k] x[i, j, k]
t[j, i] = s[i, j] * 2
output t : f32[4, M]
)",
                {3});
  CHECK(g.nodes.size() == 1);
  CHECK_THAT(text_after(g), Catch::Contains("[j: 4, i: M]"));
}

TEST_CASE("a result that others need stays beside its epilogue", "[attach_epilogues]") {
  Graph g = all(R"(input x : f32[4, 8]
input w : f32[4, 4]
s[i] = sum[k] x[i, k]
r[i] = rsqrt(s[i] + 1)
y[i] = sum[j] w[i, j] * s[j]
output r : f32[4]
output y : f32[4]
)");
  CHECK(g.nodes.size() == 2);
  CHECK(node_of(g, "r").results.size() == 2);
}

TEST_CASE("no cycle arises", "[attach_epilogues]") {
  // y reads s point for point, and t, which needs all of s.
  Graph g = all(R"(input x : f32[4, 8]
s[i] = sum[k] x[i, k]
t = max[i] s[i]
y[i] = s[i] - t
output y : f32[4]
)");
  CHECK(g.nodes.size() == 3);
}

TEST_CASE("a reduction moves down to a reader that needs more", "[attach_epilogues]") {
  Graph g = all(R"(input x : f32[4, 8]
input w : f32[4, 8]
s[i] = sum[k] x[i, k]
m[j: 2] = max[k] w[j, k]
y[i] = s[i] * m[floordiv(i, 2)]
output y : f32[4]
)");
  CHECK(g.nodes.size() == 2);
  CHECK(node_of(g, "y").reduction.has_value());
}

TEST_CASE("maps over the same elements are one node", "[attach_epilogues]") {
  Graph g = all(R"(input x : f32[64]
a[i] = exp(x[i])
b[i] = tanh(x[i]) + a[i]
c[i] = x[i] * 2
output a : f32[64]
output b : f32[64]
output c : f32[64]
)");
  CHECK(g.nodes.size() == 1);
  CHECK(node_of(g, "a").results.size() == 3);
}

TEST_CASE("equal nodes are one, whatever their indices are called", "[merge_common_nodes]") {
  Graph g = all(R"(input x : f32[4, 8]
a[i] = sum[k] x[i, k]
b[row] = sum[column] x[row, column]
y[i] = a[i] * b[3 - i]
z[i] = sum[k] x[i, k]
output y : f32[4]
output z : f32[4]
)");
  CHECK(node_of(g, "z").reduction.has_value());
  size_t reductions = 0;
  for (const Node& node : g.nodes)
    reductions += std::get<Comprehension>(node.definition).reduction.has_value();
  CHECK(reductions == 1);
}

TEST_CASE("what no output needs goes, inside recurrences as well", "[drop_dead_nodes]") {
  Graph g = all(R"(dim T in 0..10
input x : f32[T, 4]
input h0 : f32[4]
unused[i] = h0[i] * 2
recur t: T carry h = h0, count = h0 {
  dead[i] = h[i] * 3
  count[i] = count[i] + 1
  h[i] = tanh(h[i]) + x[t, i]
} collect hs = h
output hs : f32[T, 4]
)",
                {3});
  const auto& r = std::get<Recur>(g.nodes.at(0).definition);
  CHECK(g.nodes.size() == 2); // and the copy to the output
  CHECK(r.carries.size() == 1);
  CHECK(r.body.size() == 1);
  CHECK(g.tensors.size() == 2 + 2 + 1 + 3); // inputs, hs twice, step, current, next, last
}

TEST_CASE("counts need no loop", "[count_points]") {
  auto count = [](const std::string& reduction) {
    Graph g =
        all("dim S in 0..50, T in 0..50\ny[i: S] = " + reduction + "\noutput y : f64[S]\n", {7, 3});
    const Comprehension& c = node_of(g, "y");
    return c.reduction ? "a loop" : to_text(g, c, c.results[0].value);
  };
  CHECK(count("sum[j: T] 1.0") == "1.0 * T");
  CHECK(count("sum[j: T, k: 4] 0.5") == "4 * T * 0.5");
  CHECK(count("sum[j: S where j <= i] 1.0") == "1.0 * (i + 1)");
  CHECK(count("sum[j: T where j <= i] 1.0") == "1.0 * min(i + 1, T)");
  CHECK(count("sum[j: S where j > i + 2] 1.0") == "1.0 * max(S - i - 3, 0)");
  CHECK(count("sum[j: S where j > 5] 1.0") == "1.0 * max(S - 6, 0)");
  // Not a box, not a constant, not a sum.
  CHECK(count("sum[j: S where mod(j, 2) == 0] 1.0") == "a loop");
  CHECK(count("sum[j: S, k: S where j <= k] 1.0") == "a loop");
  CHECK(count("sum[j: T] 1.0 * j") == "a loop");
  CHECK(count("max[j: T] 1.0") == "a loop");
  CHECK(count("sum[j: T] inf") == "a loop");
}

TEST_CASE("what laws make reads an input before an output is stored over it", "[rewrite]") {
  for (const char* body :
       {"o[i, e] = sum[j] softmax[j](sum[d] q[i, d] * x[j, d]) * x[j, e]\noutput o : f64[S, W]\n",
        "m[i] = mean[j] x[i, j]\nv[i] = var[j] x[i, j]\nw[i] = m[i] + v[i]\noutput w : f64[S]\n",
        "u[t, p, n: W] = x[t, p] * q[t, n]\ns[t, p, n] = scan sum[t] u[t, p, n]\n"
        "y[t, p] = sum[n] q[t, n] * s[t, p, n]\noutput y : f64[S, W]\n",
        "z0[p: W, n: W] = 0.0\nrecur t: S carry s = z0 {\n  r[p] = sum[n] s[p, n] * x[t, n]\n"
        "  s[p, n] = s[p, n] + (q[t, p] - r[p]) * x[t, n] / 9\n"
        "  y[p] = sum[n] s[p, n] * q[t, n]\n} collect ys = y\noutput ys : f64[S, W]\n"})
    all(std::string(
            "dim S in 1..100000, W in 1..4096\ninput q : f64[S, W]\ninput x : f64[S, W]\n") +
            body + "z[i, j] = x[i, j] + 1\noutput z : f64[S, W] over x\n",
        {5, 3});
}

TEST_CASE("a factor that leaves a sum leaves the sums behind it", "[hoist_invariant_factors]") {
  Graph g = all("dim N in 1..50, M in 1..50\ninput x : f64[N, M]\ninput w : f64[N, M]\n"
                "p[i] = sum[j] -0.5 * x[i, j]\nq[j] = sum[i] p[i] * w[i, j] / 3\n"
                "y[i] = sum[j] q[j] * x[i, j]\noutput y : f64[N]\n",
                {5, 3});
  size_t sums = 0;
  for (const Node& node : g.nodes) {
    const auto& c = std::get<Comprehension>(node.definition);
    if (!c.reduction) continue;
    ++sums;
    std::string body = to_text(g, c, c.reduction->body[0]);
    INFO(body);
    CHECK(body.find("0.5") == body.npos);
    CHECK(body.find('3') == body.npos);
  }
  CHECK(sums == 3);
}

TEST_CASE("what makes every body of a sum 0 becomes a bound", "[tighten_bounds]") {
  auto reduction = [](const std::string& body) {
    Graph g = all("dim S in 1..50\ninput x : f32[S, S]\ninput z : f32[S]\ny[i: S] = " + body +
                      "\noutput y : f32[S]\n",
                  {7});
    const Comprehension& c = node_of(g, "y");
    const Axis& axis = c.reduction->axes[0];
    std::string text = axis.lo ? to_text(g, c, axis.lo) : "";
    text += ".." + (axis.hi ? to_text(g, c, axis.hi) : "") + ": ";
    if (c.reduction->filter) text += to_text(g, c, c.reduction->filter) + ": ";
    return text + to_text(g, c, c.reduction->body[0]);
  };
  CHECK(reduction("sum[j: S] z[j] * where(j <= i, x[i, j], 0)") == "..i + 1: z[j] * x[i, j]");
  CHECK(reduction("sum[j: S] -where(i < j, 0, x[i, j])") == "..i + 1: -x[i, j]");
  CHECK(reduction("sum[j: S] where(j <= i and z[j] > 0, x[i, j], 0)") ==
        "..i + 1: where(0.0 < z[j], x[i, j], 0.0)");
  // The bound implies a condition that was there before it.
  CHECK(reduction("sum[j: S where i > 2] where(j <= i - 3, x[i, j], 0)") == "..i - 2: x[i, j]");
  CHECK(reduction("sum[j: S where i > 3] where(j <= i - 3, x[i, j], 0)") ==
        "..i - 2: 3 < i: x[i, j]");
  // A choice that a filter has made.
  CHECK(reduction("max[j: S where j <= i] where(j <= i + 1, x[i, j], z[j])") == "..i + 1: x[i, j]");
  // A point at which the body is not 0 takes part; so does every point of another monoid.
  CHECK(reduction("sum[j: S] (z[j] + where(j <= i, x[i, j], 0))") ==
        "..: z[j] + where(j <= i, x[i, j], 0.0)");
  CHECK(reduction("sum[j: S] z[j] / where(j <= i, x[i, j], 0)") ==
        "..: z[j] / where(j <= i, x[i, j], 0.0)");
  CHECK(reduction("max[j: S] where(j <= i, x[i, j], 0)") == "..: where(j <= i, x[i, j], 0.0)");
}

TEST_CASE("causal, windowed and strided filters become bounds", "[tighten_bounds]") {
  auto axis = [](const std::string& filter) {
    Graph g = all("dim S in 1..50\ninput x : f32[S, S]\ny[i: S] = sum[j where " + filter +
                      "] x[i, j]\noutput y : f32[S]\n",
                  {7});
    const Reduction& r = *node_of(g, "y").reduction;
    std::string text;
    if (r.axes[0].lo) text += to_text(g, node_of(g, "y"), r.axes[0].lo);
    text += "..";
    if (r.axes[0].hi) text += to_text(g, node_of(g, "y"), r.axes[0].hi);
    if (r.filter) text += " where " + to_text(g, node_of(g, "y"), r.filter);
    return text;
  };
  CHECK(axis("j <= i") == "..i + 1");
  CHECK(axis("j <= i and j > i - 3") == "i - 2..i + 1");
  CHECK(axis("2 * j < i") == "..floordiv(i + 1, 2)");
  CHECK(axis("3 * j >= i") == "floordiv(i + 2, 3)..");
  CHECK(axis("j >= 0 and j < S") == "..");
  CHECK(axis("j == i") == "i..i + 1");
  CHECK(axis("not j > i") == "..i + 1");
  CHECK(axis("j <= i and j <= 4") == "..min(i + 1, 5)");
  CHECK(axis("j != i") == ".. where j != i");
  CHECK(axis("j <= i and x[j, j] > 0") == "..i + 1 where 0.0 < x[j, j]");
  CHECK(axis("j <= i or j == 3") == ".. where j <= i or j == 3");
}

TEST_CASE("a tensor that is only divided by holds reciprocals", "[store_reciprocals]") {
  // The statistics of a softmax beside a sum over its columns, as in attention's backward pass.
  const std::string head = R"(dim M in 1..65536, N in 1..65536
input a : f32[M, 8]
input b : f32[N, 8]
input w : f32[M, 4]
s[i, j] = sum[r] a[i, r] * b[j, r]
m[i] = max[j] s[i, j]
l[i] = sum[j] exp(s[i, j] - m[i])
)";
  Graph g = all(head + R"(y[j, k] = sum[i] w[i, k] * (exp(s[i, j] - m[i]) / l[i])
output y : f32[N, 4]
)",
                {3, 4});
  CHECK_THAT(text_after(g), Catch::Contains("= 1.0 / "));
  CHECK_THAT(text_after(g), Catch::Contains("* l["));
  Graph kept = all(head + R"(y[j, k] = sum[i] w[i, k] * (exp(s[i, j] - m[i]) / l[i] + l[i])
output y : f32[N, 4]
)",
                   {3, 4});
  CHECK_THAT(text_after(kept), !Catch::Contains("= 1.0 / "));
  // A sum of data may be so small that its reciprocal is infinite.
  Graph tiny = all(R"(dim M in 1..65536, N in 1..65536
input x : f32[M, N]
input w : f32[N, N]
l[i] = sum[j] abs(x[i, j])
y[i, k] = sum[j] w[j, k] * (x[i, j] / l[i] + 1)
output y : f32[M, N]
)",
                   {3, 4});
  CHECK_THAT(text_after(tiny), Catch::Contains("x[i, j] / l[i]"));
}

TEST_CASE("what a reduction's columns are divided by is inverted once a row",
          "[store_reciprocals]") {
  const std::string head = R"(dim M in 1..65536, N in 1..65536
input s : f32[M, N]
input v : f32[N, 4]
p[i, j] = softmax[j](s[i, j])
)";
  Graph g = all(head + "o[i, d] = sum[j] p[i, j] * v[j, d]\noutput o : f32[M, 4]\n", {3, 4});
  CHECK_THAT(text_after(g), Catch::Contains("* (1.0 / "));
  // Weights that are data may add up to a number whose reciprocal is none.
  Graph kept = all(R"(dim M in 1..65536, N in 1..65536
input s : f32[M, N]
input v : f32[N, 4]
input w : f32[N]
m[i] = max[j] s[i, j]
l[i] = sum[j] exp(s[i, j] - m[i]) * w[j]
a[i, d] = sum[j] exp(s[i, j] - m[i]) * v[j, d]
o[i, d] = a[i, d] / l[i]
output o : f32[M, 4]
)",
                   {3, 4});
  CHECK_THAT(text_after(kept), !Catch::Contains("(1.0 / "));
}

TEST_CASE("a rounding where a reduction is stored stops no law", "[separate_rounding]") {
  const std::string body = R"(dim M in 1..65536, N in 1..65536
input q : bf16[M, 8]
input k : bf16[N, 8]
input v : bf16[N, 4]
input w : bf16[4, 4]
s[i, j] = sum[r] q[i, r] * k[j, r]
p[i, j] = softmax[j](s[i, j])
o[i, d] = sum[j] p[i, j] * v[j, d]
y[i, e] = sum[d] o[i, d] * w[d, e]
output y : bf16[M, 4]
)";
  Graph plain = all(body, {3, 4}), stored = all(body + "store o : bf16\n", {3, 4});
  CHECK(plain.nodes.size() == stored.nodes.size());
  bool rounded = false;
  for (const Node& node : stored.nodes)
    if (const auto* c = std::get_if<Comprehension>(&node.definition))
      for (const Result& r : c->results)
        rounded |= stored[r.tensor].name == "o" && stored[r.tensor].type == ElemType::bf16 &&
                   c->reduction.has_value();
  CHECK(rounded);
  // Once is enough.
  Graph once = separate_rounding(graph_of_body(body + "store o : bf16\n"));
  CHECK(to_text(separate_rounding(once)) == to_text(once));
}

TEST_CASE("readers take what is stored, not the sum that was rounded", "[separate_rounding]") {
  Graph g = rewritten(graph_of_body(R"(dim N in 1..64
input a : bf16[N, N]
input b : bf16[N, N]
q[i, j] = sum[k] a[i, k] * b[k, j]
store q : bf16
y[i, j] = q[i, j] + q[j, i]
z[i, j] = q[i, j] - 1
output y : f32[N, N]
output z : f32[N, N]
)"));
  for (const Node& node : g.nodes)
    if (const auto* c = std::get_if<Comprehension>(&node.definition); c && c->reduction)
      for (const Result& r : c->results)
        if (g[r.tensor].name == "q") CHECK(g[r.tensor].type == ElemType::bf16);
}

TEST_CASE("roots of constants are constants", "[expr]") {
  Graph g = all("input x : f32[4]\ny[i] = x[i] / sqrt(64)\nz[i] = x[i] * sqrt(-1.0)\n"
                "output y : f32[4]\noutput z : f32[4]\n");
  CHECK_THAT(text_after(g), Catch::Contains("x[i] / 8.0"));
  CHECK_THAT(text_after(g), Catch::Contains("sqrt(-1.0)"));
}

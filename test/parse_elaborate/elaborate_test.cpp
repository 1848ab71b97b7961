// What the elaborator makes of correct files: lines of the graph's text, and fields of its tensors.
#include "support.h"
#include <algorithm>
#include <catch2/catch.hpp>

using namespace tang;
using namespace tang::parse::test;
using graph::ElemType;
using parse::DimBinding;

namespace {

/// The graph's text holds each line of `lines`.
void check_lines(const std::string& text, const std::vector<std::string>& lines,
                 const Given& given = {}) {
  std::string all = "\n" + graph_text("tg 1\n" + text, given);
  INFO(all);
  for (const std::string& line : lines) {
    INFO(line);
    CHECK(all.find("\n" + line + "\n") != std::string::npos);
  }
}

const graph::Tensor& tensor(const graph::Graph& g, const std::string& name,
                            graph::TensorKind kind = graph::TensorKind::intermediate) {
  auto at = std::find_if(g.tensors.begin(), g.tensors.end(),
                         [&](const graph::Tensor& t) { return t.name == name && t.kind == kind; });
  REQUIRE(at != g.tensors.end());
  return *at;
}

graph::Graph graph_of(const std::string& text, const Given& given = {}) {
  Outcome outcome = elaborate_text("tg 1\n" + text, given);
  INFO(outcome.text(true));
  REQUIRE(outcome.graph);
  return std::move(*outcome.graph);
}

} // namespace

TEST_CASE("a reduction at the root is one node, others are lifted") {
  check_lines("input x : f32[4, 8]\n"
              "r[i] = sum[k] x[i, k]\n"
              "y[i] = 2 * sum[k] x[i, k] + max[k] x[i, k]\n"
              "output r : f32[4]\noutput y : f32[4]\n",
              {"r_1[i: 4] = sum[k: 8] x[i, k]", "y_sum[i: 4] = sum[k: 8] x[i, k]",
               "y_max[i: 4] = max[k: 8] x[i, k]", "y_1[i: 4] = 2.0 * y_sum[i] + y_max[i]"});
  // Only the indices that the reduction uses become points of its node.
  check_lines("input x : f32[4, 8]\ny[i, j: 3] = x[i, j] + sum[k] x[0, k]\noutput y : f32[4, 3]\n",
              {"y_sum = sum[k: 8] x[0, k]", "y_1[i: 4, j: 3] = x[i, j] + y_sum"});
}

TEST_CASE("macros with an index") {
  check_lines("input x : f32[4, 8]\n"
              "p[i, j] = softmax[j where j <= i] x[i, j]\n"
              "output p : f32[4, 8]\n",
              {"p_max[i: 4] = max[j: 8 where j <= i] x[i, j]",
               "p_sum[i: 4] = sum[j: 8 where j <= i] exp(x[i, j] - p_max[i])",
               "p_1[i: 4, j: 8] = where(j <= i, exp(x[i, j] - p_max[i]) / p_sum[i], 0.0)"});
  // `outside` gives the value where the filter is false.
  check_lines("input x : f32[4, 8]\nl[i, j] = log_softmax[j where j <= i] x[i, j]\n"
              "output l : f32[4, 8]\n",
              {"l_1[i: 4, j: 8] = where(j <= i, x[i, j] - l_max[i] - log(l_sum[i]), -inf)"});
  // An operand that is no plain read and is used more than once is computed once.
  check_lines("input x : f32[4, 8]\np[i, j] = softmax[j] (2 * x[i, j])\noutput p : f32[4, 8]\n",
              {"p_x[i: 4, j: 8] = 2.0 * x[i, j]", "p_max[i: 4] = max[j: 8] p_x[i, j]"});
  // Whether a macro keeps its index depends on its arguments: `eps` stands outside the reduction,
  // but does not depend on k.
  check_lines("input x : f32[4, 8]\ndef rms[j](a, eps) = sqrt(mean[j](a * a) + eps)\n"
              "y[i] = rms[k](x[i, k], 1e-6)\noutput y : f32[4]\n",
              {"y_sum[i: 4] = sum[k: 8] x[i, k] * x[i, k]"});
  // Several indices as one; a macro under a reduction over the same index.
  check_lines("input x : f32[4, 8, 9]\nm[b] = mean[h, w](x[b, h, w])\n"
              "s[b, h] = sum[w] softmax[w] x[b, h, w]\noutput m : f32[4]\noutput s : f32[4, 8]\n",
              {"m_sum[b: 4] = sum[h: 8, w: 9] x[b, h, w]",
               "s_1[b: 4, h: 8] = sum[w: 9] exp(x[b, h, w] - s_max[b, h]) / s_sum[b, h]"});
}

TEST_CASE("macros are hygienic") {
  // The `k` of the macro is not the `k` of its argument, nor the `m` of its let a tensor.
  check_lines("input x : f32[8]\ninput m : f32[8]\n"
              "def f(a) { let m = sum[k: 3] a; m + a }\n"
              "y[k] = f(x[k]) + m[k]\noutput y : f32[8]\n",
              {"y_sum[k: 8] = sum[k_1: 3] x[k]", "y_1[k: 8] = y_sum[k] + x[k] + m[k]"});
  // A macro reads tensors by name, and an index takes its extent from there.
  check_lines(
      "param w : f32[8]\ndef dot[k](a) = sum[k] a * w[k]\ny = dot[k](2.0)\noutput y : f32\n",
      {"y_sum = sum[k: 8] 2.0 * w[k]"});
  // A file's own macro takes precedence over <nn>, and <nn> goes on using its own.
  check_lines("input x : f32[8]\ndef sigmoid(a) = a + 1\ny[i] = sigmoid(x[i])\noutput y : f32[8]\n",
              {"y_1[i: 8] = x[i] + 1.0"});
}

TEST_CASE("guards vanish where they are proved needless") {
  check_lines("dim S in 1..64\ninput x : f32[S, 8]\n"
              "a[i: 8] = x[0, i] else 5\n"
              "b[i: 9] = x[0, i] else 5\n"
              "c[i: S, j] = where(i > 0, x[i - 1, j], 0) + where(i < 1, 0, x[i - 1, j])\n"
              "d[i: S] = sum[k: 8 where k < i and i < 8] x[0, i - k - 1]\n"
              "output a : f32[8]\noutput b : f32[9]\n",
              {"a_1[i: 8] = x[0, i]", "b_1[i: 9] = x[0, i] else 5.0"}, {});
}

TEST_CASE("conditions around a lifted node join its filter") {
  check_lines("dim S in 1..64\ninput x : f32[S, 8]\n"
              "y[i: S] = where(i > 0, sum[k] x[i - 1, k], 0)\noutput y : f32[S]\n",
              {"y_sum[i: S] = sum[k: 8 where 0 < i] x[i - 1, k]"});
  check_lines("dim S in 1..64\ninput x : f32[S, 8]\n"
              "y[i: S, k] = where(i > 0, softmax[k] exp(x[i - 1, k]), 0)\noutput y : f32[S, 8]\n",
              {"y_x[i: S, k: 8] = where(0 < i, exp(x[i - 1, k]), 0.0)"});
  // Not where the proof does without.
  check_lines("input x : f32[4, 8]\ny[i] = where(i > 0, sum[k] x[i, k], 0)\noutput y : f32[4]\n",
              {"y_sum[i: 4] = sum[k: 8] x[i, k]"});
}

TEST_CASE("gathers read 0 outside") {
  check_lines("input x : f32[4, 8]\ninput id : i32[4] in 0..<8\ninput n : i32[4, 8]\n"
              "a[i] = x[i, id[i]]\nb[i] = n[i, id[i] + 1]\nc[i] = x[i, id[i]] else 7\n"
              "output a : f32[4]\noutput b : i32[4]\noutput c : f32[4]\n",
              {"a_1[i: 4] = x[i, id[i]] else 0.0", "b_1[i: 4] = n[i, id[i] + 1] else 0",
               "c_1[i: 4] = x[i, id[i]] else 7.0"});
}

TEST_CASE("monoids, tuples and scans") {
  check_lines("input x : f32[4, 8]\n(m[i], s[i]) = lse[k](x[i, k], 1)\n"
              "output m : f32[4]\noutput s : f32[4]\n",
              {"(m_1[i: 4], s_1[i: 4]) = lse[k: 8](x[i, k], 1.0)"});
  check_lines("input x : f32[8]\nc[t] = scan sum[t exclusive desc] x[t]\n"
              "d[t] = 1 + scan sum[t] x[t]\noutput c : f32[8]\noutput d : f32[8]\n",
              {"c_1[t: 8] = scan sum[t exclusive desc](x[t])", "d_sum[t: 8] = scan sum[t](x[t])",
               "d_1[t: 8] = 1.0 + d_sum[t]"});
  // The new index of topk may stand anywhere.
  graph::Graph g = graph_of("input x : f32[4, 8]\n(v[n, i], id[n, i]) = topk[k; 3] x[i, k]\n"
                            "output v : f32[3, 4]\noutput id : i32[3, 4]\n");
  CHECK(tensor(g, "id").range == graph::IntRange{-1, 7});
  CHECK(tensor(g, "id").type == ElemType::i32);
}

TEST_CASE("commutativity is proved, not assumed") {
  graph::Graph g = graph_of("input x : f32[8]\n"
                            "monoid both(a = 0, b = 1) (x, y) -> (y.a + x.a, x.b * y.b)\n"
                            "monoid last(a = 0) (x, y) -> (y.a + 0 * x.a)\n"
                            "(p, q) = both[k](x[k], x[k])\nr = last[k](x[k])\n"
                            "output p : f32\noutput q : f32\noutput r : f32\n");
  for (const graph::Monoid& m : g.monoids) {
    if (m.name == "both") CHECK(m.commutative);
    if (m.name == "last") CHECK(!m.commutative);
  }
}

TEST_CASE("classes and stored types") {
  graph::Graph g = graph_of("input x : f64[4, 8]\ninput n : i32[4]\ninput s : i32[4] in 0..100\n"
                            "a[i] = x[i, 0] + n[i]\nb[i] = n[i] + 1\nc[i] = s[i] + 1\n"
                            "d = sum[i] s[i]\ne = argmax[i] x[i, 0]\nf[i] = x[i, 0] < 0\n"
                            "h[i] = a[i]\nk[i: 4] = f16(i)\nm = max[i] n[i]\nr = max[i] s[i]\n"
                            "output a : f64[4]\n");
  auto type = [&](const std::string& name) { return tensor(g, name).type; };
  auto range = [&](const std::string& name) { return tensor(g, name).range; };
  CHECK(type("a") == ElemType::f64);
  CHECK(type("h") == ElemType::f64);
  CHECK(type("b") == ElemType::i64); // n + 1 may leave 32 bits
  CHECK(type("c") == ElemType::i32);
  CHECK(range("c") == graph::IntRange{1, 101});
  CHECK(range("d") == graph::IntRange{0, 400});
  CHECK(type("e") == ElemType::i32);
  CHECK(range("e") == graph::IntRange{-1, 3});
  CHECK(type("f") == ElemType::boolean);
  CHECK(type("k") == ElemType::f32);
  CHECK(type("m") == ElemType::i32); // never empty
  CHECK(range("r") == graph::IntRange{0, 100});
}

TEST_CASE("dims") {
  Given given;
  given.dims = {{"S", 512, 512, 1}};
  check_lines("dim S in 1..4096 step 64, T in 64..1024 step 64\ndim H = S / 2, U = T / 64\n"
              "input x : f32[S, H, U]\noutput x : f32[S, H, U]\n",
              {"input x : f32[512, 256, floordiv(T, 64)]"}, given);
  given.dims = {{"S", 1, 4096, 16}};
  graph::Graph g = graph_of("dim S\ninput x : f32[S]\noutput x : f32[S]\n", given);
  REQUIRE(g.dims.size() == 1);
  CHECK(g.dims[0].hi == 4096);
  CHECK(g.dims[0].step == 16);
}

TEST_CASE("bindings of dims that cannot be") {
  auto faults = [](const std::string& declared, DimBinding binding) {
    Given given;
    given.dims = {std::move(binding)};
    return elaborate_text("tg 1\n" + declared + "\n", given).text();
  };
  CHECK(faults("dim S in 1..64", {"S", 65, 65, 1}) ==
        "E0602 2:5 `-D S=65`: the dim is declared in 1..64\n");
  CHECK(faults("dim S in 0..64 step 8", {"S", 9, 9, 1}) ==
        "E0602 2:5 `-D S=9`: the dim is declared to be a multiple of 8\n");
  CHECK(faults("dim S in 1..64", {"S", 0, 32, 1}) ==
        "E0602 2:5 `--dim S=0..32`: the dim is declared in 1..64\n");
  CHECK(faults("dim S = 4", {"S", 8, 8, 1}) == "E0602 2:9 `-D S=8`: the file fixes the dim here\n");
  CHECK(faults("dim SEQ", {"SEP", 8, 8, 1})
            .starts_with("E0601 `-D SEP=8`: the file has no dim `SEP`"));
}

TEST_CASE("lets are reals, dims are integers") {
  check_lines("dim D = 128, S in 1..8\nlet h = 1 / 2\nlet s = 1 / sqrt(D)\nlet r = 1 / S\n"
              "input x : f32[S]\ny[i] = h * x[i] + s + r\noutput y : f32[S]\n",
              {"y_1[i: S] = 0.5 * x[i] + 0.08838834764831843 + 1.0 / S"}, {});
}

TEST_CASE("repeat") {
  check_lines(
      "input x : f32[8]\nparam w : f32[2, 8]\nh[i] = x[i]\n"
      "repeat l in 0..<2 carry h {\n"
      "  a[i] = where(l == 0, h[i], 2 * h[i])\n  h[i] = a[i] * w[l, i]\n  h[i] = h[i] + 1\n}\n"
      "output h : f32[8]\n",
      {"a_0[i: 8] = h_1[i]", "h_0[i: 8] = a_0[i] * w[0, i]", "h_0_2[i: 8] = h_0[i] + 1.0",
       "a_1[i: 8] = 2.0 * h_0_2[i]"});
}

TEST_CASE("recur") {
  graph::Graph g =
      graph_of("dim T\ninput x : f32[T, 8]\ninput h0 : f16[8]\n"
               "recur t carry h = h0 {\n"
               "  p[i] = where(t > 0, x[t - 1, i], 0)\n  h[i] = h[i] + x[t, i] + p[i]\n"
               "} collect hs = h, ps = p\n"
               "output h : f32[8]\noutput hs : f32[T, 8]\noutput ps : f32[T, 8]\n");
  const graph::Recur* recur = nullptr;
  for (const graph::Node& node : g.nodes)
    if (const auto* r = std::get_if<graph::Recur>(&node.definition)) recur = r;
  REQUIRE(recur);
  CHECK(recur->body.size() == 2);
  REQUIRE(recur->carries.size() == 1);
  CHECK(g[recur->carries[0].init].name == "h0");
  CHECK(g[recur->carries[0].current].type == ElemType::f32);
  REQUIRE(recur->collects.size() == 2);
  CHECK(recur->collects[0].value == recur->carries[0].next);
  CHECK(g[recur->collects[1].stacked].shape.size() == 2);
}

TEST_CASE("includes") {
  Given given;
  given.files = {
      {"lib/a.tg", "tg 1\ninclude \"b.tg\"\ninclude \"../lib/b.tg\"\ndef f(x) = g(x) + N\n"},
      {"lib/b.tg", "tg 1\ndim N = 3\ndef g(x) = x * 2\n"}};
  Outcome outcome = elaborate_text("tg 1\ninclude \"lib/a.tg\"\ninclude <nn>\ninput x : "
                                   "f32[N]\ny[i] = f(x[i])\noutput y : f32[N]\n",
                                   given);
  INFO(outcome.text(true));
  REQUIRE(outcome.graph);
  CHECK(outcome.included == std::vector<std::string>{"lib/a.tg", "lib/b.tg"});
}

TEST_CASE("outputs and precision") {
  graph::Graph g = graph_of("input kc : bf16[8]\ninput x : f32[8]\n"
                            "k2[i] = where(i == 0, x[0], kc[i])\ny = sum[i] x[i]\n"
                            "output k2 : bf16[8] over kc\noutput y as loss \"loss.0\" : f16\n"
                            "accumulate y : f16\nbudget y : rel 2e-3\nstore k2 : bf16\n");
  const graph::Tensor& k2 = tensor(g, "k2", graph::TensorKind::output);
  CHECK(k2.over == g.inputs[0]);
  const graph::Tensor& y = tensor(g, "y");
  CHECK(y.accumulate == ElemType::f16);
  CHECK(y.budget_rel == 2e-3);
  CHECK(tensor(g, "k2").type == ElemType::bf16);
  CHECK(tensor(g, "k2").store_given);
  CHECK(tensor(g, "loss", graph::TensorKind::output).type == ElemType::f16);
}

TEST_CASE("zero-size dims") {
  check_lines("input x : f32[0, 8]\ns[j] = max[i] x[i, j]\ne[i, j] = softmax[j] x[i, j]\n"
              "output s : f32[8]\noutput e : f32[0, 8]\n",
              {"s_1[j: 8] = max[i: 0] x[i, j]", "e_max[i: 0] = max[j: 8] x[i, j]"});
}

TEST_CASE("places outside the file are named") {
  Outcome outcome = elaborate_text("tg 1\ninput x : f32[4]\ny[i] = z[i] loc(\"model.py\":12:3)\n");
  CHECK(outcome.text(true) ==
        "E0301 3:8 unknown name `z`\n  note from model.py:12:3\n  help the only name is `x`\n");
}

TEST_CASE("several faults in one run, and no echoes") {
  Outcome outcome = elaborate_text("tg 1\ninput x : f32[4]\na[i] = x[i] + q\nb[i] = a[i] * 2\n"
                                   "c[i] = b[i] + x[i, i]\nd[i] = c[i]\noutput d : f32[4]\n");
  CHECK(outcome.text() ==
        "E0301 3:15 unknown name `q`\nE0304 5:15 `x` has 1 axis and is read with 2 places\n");
}

TEST_CASE("macros that double their work are refused") {
  std::string reads = "param w : f32[8]\ndef g0(i) = w[i]\n";
  for (int k = 1; k < 40; ++k) reads += fmt::format("def g{0}(i) = g{1}(i) + g{1}(i)\n", k, k - 1);
  Outcome outcome = elaborate_text("tg 1\n" + reads + "y[i] = g39(i)\noutput y : f32[8]\n");
  CHECK(outcome.text().starts_with("E0801 "));
}

TEST_CASE("long chains and deep nests") {
  std::string sum = "x[0]", nest = "x[i]";
  for (int i = 1; i < 20000; ++i) sum += fmt::format(" + {} * x[{}]", i, i % 8);
  Outcome outcome = elaborate_text("tg 1\ninput x : f32[8]\ny = " + sum + "\noutput y : f32\n");
  CHECK(outcome.graph.has_value());
  for (int i = 0; i < 100; ++i) nest = fmt::format("softmax[i]({})", nest);
  outcome = elaborate_text("tg 1\ninput x : f32[8]\ny[i] = " + nest + "\noutput y : f32[8]\n");
  REQUIRE(outcome.graph);
  // Linear: an operand that is used twice is a node of its own.
  CHECK(outcome.graph->nodes.size() == 100 * 3 + 1);
  std::string macros = "tg 1\ninput x : f32[8]\ndef g0(x) = x + 1\n";
  for (int i = 1; i < 2000; ++i) macros += fmt::format("def g{}(x) = g{}(x) + 1\n", i, i - 1);
  outcome = elaborate_text(macros + "y[i] = g1999(x[i])\n");
  CHECK(outcome.text().starts_with("E0802 "));
}

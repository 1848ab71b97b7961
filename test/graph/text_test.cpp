// The text form: what each construct looks like, and that large graphs stay small on paper.
#include "build.h"
#include "graph/text.h"
#include "graph/verify.h"
#include <catch2/catch.hpp>
#include <ctime>

using namespace tang;
using namespace tang::graph;

namespace {

std::string text_of(Builder& b) {
  verify(b.graph, "test");
  return to_text(b.graph);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a linear layer prints as it is written", "[text]") {
  Builder b;
  ExprId m = b.dim("M", 1, 65536, 16);
  TensorId x = b.input("x", ElemType::f16, {m, b.n(64)});
  TensorId w = b.tensor("w", TensorKind::param, ElemType::f16, {b.n(64), b.n(32)});
  b.graph[w].external = "layer.0.w";
  Axis i = b.axis("i", m), j = b.axis("j", b.n(32)), k = b.axis("k", b.n(64));
  TensorId z = b.reduce("z", "sum", {i, j}, {k}, {},
                        {b.mul(b.read(x, {b.at(i), b.at(k)}), b.read(w, {b.at(k), b.at(j)}))});
  b.begin();
  i = b.axis("i", m), j = b.axis("j", b.n(32));
  b.map("y", {i, j}, b.relu(b.read(z, {b.at(i), b.at(j)})), Builder::output);
  CHECK(text_of(b) == R"(tg 1
graph g
dim M in 1..65536 step 16
input x : f16[M, 64]
param w "layer.0.w" : f16[64, 32]
z[i: M, j: 32] = sum[k: 64] x[i, k] * w[k, j]
y[i: M, j: 32] = where(z[i, j] <= 0.0, 0.0, z[i, j])
output y : f32[M, 32]
)");
}

TEST_CASE("an epilogue prints as an equation of its own", "[text]") {
  Builder b;
  TensorId x = b.input("x", ElemType::f32, {b.n(4), b.n(8)});
  Axis i = b.axis("i", b.n(4)), k = b.axis("k", b.n(8));
  k.lo = b.n(1), k.hi = b.add(b.at(i), b.n(2));
  b.reduce("y", "max", {i}, {k}, b.lt(b.read(x, {b.at(i), b.at(k)}), b.r(3)),
           {b.read(x, {b.at(i), b.at(k)})}, Builder::output);
  auto& c = std::get<Comprehension>(b.graph.nodes[0].definition);
  c.results[0].value = b.mul(b.r(-2), c.results[0].value);
  std::string text = text_of(b);
  CHECK(contains(text, "y_acc[i: 4] = max[k: 8 where 1 <= k and k < i + 2 and x[i, k] < 3.0] "
                       "x[i, k]\ny[i: 4] = -2.0 * y_acc[i]\n"));
}

TEST_CASE("a hidden field is shown by the monoid's own definition", "[text]") {
  Builder b;
  TensorId x = b.input("x", ElemType::f32, {b.n(8)});
  Axis k = b.axis("k", b.n(8));
  b.reduce("y", "argmax", {}, {k}, {}, {b.read(x, {b.at(k)}), b.at(k)}, Builder::output);
  CHECK(contains(text_of(b), "y = argmax[k: 8] x[k]\n"));
  TensorId v = b.result("v", {}, Scalar::real, Builder::output);
  auto& c = std::get<Comprehension>(b.graph.nodes[0].definition);
  c.results.push_back({v, b.s.state(Op::acc, 0, Scalar::real), {}});
  std::string text = text_of(b);
  CHECK(contains(text, "monoid argmax_state(value = -inf, index = -1) (a, b) -> ("));
  CHECK(contains(text,
                 "(y_value, y_index) = argmax_state[k: 8](x[k], k)\ny = y_index\nv = y_value\n"));
}

TEST_CASE("scans, top-k, guards and conversions", "[text]") {
  Builder b;
  TensorId x = b.input("x", ElemType::f32, {b.n(8)});
  Axis t = b.axis("t", b.n(8));
  b.reduce("c", "sum", {t}, {}, {}, {b.read(x, {b.sub(b.at(t), b.n(1))}, b.r(-1))},
           Builder::output);
  std::get<Comprehension>(b.graph.nodes[0].definition).scan = Scan{0, true, true};
  CHECK(contains(text_of(b), "c[t: 8] = scan sum[t exclusive desc](x[t - 1] else (-1.0))\n"));

  b.begin();
  Axis e = b.axis("e", b.n(8)), pos = b.axis("n", b.n(2)), pos2 = b.axis("n", b.n(2));
  MonoidId top = *b.graph.builtin("topk", Scalar::real, 2);
  Comprehension k;
  k.reduction = Reduction{top, {e}, {}, {b.read(x, {b.at(e)}), b.at(e)}, {}};
  std::vector<ExprId> p{b.at(pos)}, p2{b.at(pos2)};
  k.results = {{b.result("v", {pos}, Scalar::real, Builder::output),
                b.s.state(Op::acc, 0, Scalar::real, p),
                {pos}},
               {b.result("id", {pos2}, Scalar::integer, Builder::output),
                b.s.state(Op::acc, 1, Scalar::integer, p2),
                {pos2}}};
  b.graph.nodes.push_back({k, {}, {}});
  CHECK(contains(text_of(b), "(v[n: 2], id[n_1: 2]) = topk[e: 8; 2] x[e]\n"));

  b.begin();
  Axis i = b.axis("where", b.n(8));
  ExprId real = b.s.to_real(b.at(i));
  ExprId third = b.s.binary(Op::div, real, b.s.to_real(b.n(3)));
  b.map("q", {i}, b.s.cast(ElemType::f16, b.add(third, b.s.binary(Op::div, real, real))),
        Builder::output);
  CHECK(contains(text_of(b),
                 "q[where_1: 8] = f16(where_1 / 3.0 + 1.0 * where_1 / (1.0 * where_1))\n"));
}

TEST_CASE("names that collide or are reserved change", "[text]") {
  Builder b;
  TensorId first = b.input("sum", ElemType::f32, {});
  TensorId a = b.map("h", {}, b.add(b.read(first, {}), b.r(1)));
  TensorId c = b.map("h", {}, b.add(b.read(a, {}), b.r(1)));
  b.map("y", {}, b.read(c, {}), Builder::output);
  std::string text = text_of(b);
  CHECK(contains(text, "h = sum_1 + 1.0\nh_1 = h + 1.0\ny = h_1\n"));
}

TEST_CASE("many tensors of one name are named in linear time", "[text]") {
  Builder b;
  TensorId t = b.input("x", ElemType::f32, {});
  constexpr int count = 30000;
  for (int n = 0; n < count; ++n) {
    b.begin();
    t = b.map("h", {}, b.s.unary(Op::neg, b.read(t, {})),
              n + 1 == count ? Builder::output : TensorKind::intermediate);
  }
  std::clock_t start = std::clock();
  std::string text = to_text(b.graph);
  // Trying all names that are taken would take minutes.
  CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < 10);
  CHECK(contains(text, "_29999 = -h_"));
}

TEST_CASE("a doubling DAG prints in linear size", "[text]") {
  Builder b;
  TensorId x = b.input("x", ElemType::f32, {b.n(8)});
  Axis i = b.axis("i", b.n(8));
  ExprId e = b.read(x, {b.at(i)});
  for (int level = 0; level < 60; ++level) e = b.add(b.mul(e, e), b.s.unary(Op::neg, e));
  b.map("y", {i}, e, Builder::output);
  std::string text = text_of(b);
  CHECK(text.size() < 20000);
  CHECK(contains(text, "y_t[i: 8] = "));
}

TEST_CASE("a deep term never nests deeply on paper", "[text]") {
  Builder b;
  TensorId x = b.input("x", ElemType::f32, {b.n(8)});
  Axis i = b.axis("i", b.n(8));
  ExprId e = b.read(x, {b.at(i)});
  for (int level = 0; level < 50000; ++level) e = b.s.unary(Op::exp, e);
  b.map("y", {i}, e, Builder::output);
  std::string text = text_of(b);
  int depth = 0, deepest = 0;
  for (char c : text) deepest = std::max(deepest, depth += c == '(' ? 1 : c == ')' ? -1 : 0);
  CHECK(deepest < 100);
  CHECK_FALSE(contains(text, "..."));
  // A message shows the start of it.
  CHECK(contains(to_text(b.graph, e), "..."));
}

TEST_CASE("a recurrence rebinds at the end of its block", "[text]") {
  Builder b;
  ExprId steps = b.dim("T", 0, 100);
  TensorId x = b.input("x", ElemType::f32, {steps, b.n(4)}),
           h0 = b.input("h0", ElemType::f32, {b.n(4)});
  Recur r;
  r.time = b.axis("t", steps);
  r.step = b.tensor("t", TensorKind::intermediate, ElemType::i64, {});
  b.graph[r.step].range = IntRange{0, 99}, b.graph[r.step].is_step = true;
  TensorId now = b.tensor("h", TensorKind::intermediate, ElemType::f32, {b.n(4)});
  b.begin();
  Axis i = b.axis("i", b.n(4));
  TensorId next =
      b.map("h", {i}, b.add(b.read(now, {b.at(i)}), b.read(x, {b.read(r.step, {}), b.at(i)})));
  r.body.push_back(std::move(b.graph.nodes.back()));
  b.graph.nodes.pop_back();
  TensorId last = b.tensor("h", TensorKind::intermediate, ElemType::f32, {b.n(4)});
  TensorId all = b.tensor("hs", TensorKind::output, ElemType::f32, {steps, b.n(4)});
  r.carries = {{h0, now, next, last}};
  r.collects = {{next, all}};
  b.graph.nodes.push_back({std::move(r), {}, {}});
  CHECK(text_of(b) == R"(tg 1
graph g
dim T in 0..100
input x : f32[T, 4]
input h0 : f32[4]
recur t_1: T carry h_2 = h0 {
  h_1[i: 4] = h_2[i] + x[t_1, i]
  h_2[i: 4] = h_1[i]
} collect hs = h_2
output hs : f32[T, 4]
)");
}

TEST_CASE("a gradient prints as its line", "[text]") {
  Builder b;
  TensorId x = b.input("x", ElemType::f32, {b.n(8)});
  TensorId w = b.input("w", ElemType::f32, {b.n(8)});
  Axis i = b.axis("i", b.n(8));
  TensorId y = b.map("y", {i}, b.mul(b.read(x, {b.at(i)}), b.read(w, {b.at(i)})), Builder::output);
  auto gradient_of = [&](TensorId of, const std::string& name) {
    TensorId id = b.tensor(name, TensorKind::intermediate, ElemType::f32, b.graph[of].shape);
    return GradientPair{of, id};
  };
  b.graph.nodes.push_back({Gradient{y, x, {gradient_of(x, "dx"), gradient_of(w, "dw")}}, {}, {}});
  CHECK(contains(text_of(b), "grad y with x wrt x -> dx, w -> dw\n"));
  b.begin();
  Axis k = b.axis("k", b.n(8));
  TensorId loss = b.reduce("loss", "sum", {}, {k}, {}, {b.read(y, {b.at(k)})});
  b.graph.nodes.push_back({Gradient{loss, {}, {gradient_of(x, "dx")}}, {}, {}});
  CHECK(contains(text_of(b), "grad loss wrt x -> dx_1\n"));
}

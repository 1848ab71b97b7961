// single_pass_moments: side conditions, edge rules, and the monoid itself.
#include "rewrite/moments.h"
#include "run.h"

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

const std::string head = R"(dim M in 1..64, N in 0..1000
input x : f32[M, N]
input w : f32[M, N]
)";

size_t reductions(const Graph& g) {
  size_t count = 0;
  for (const Node& node : g.nodes)
    count += std::get<Comprehension>(node.definition).reduction.has_value();
  return count;
}

Graph all(const std::string& body) {
  Graph g = checked(graph_of_body(head + body), {3, 4});
  INFO(to_text(g));
  CHECK(to_text(single_pass_moments(g)) == to_text(g));
  return g;
}

} // namespace

TEST_CASE("conditions of one row must agree", "[single_pass_moments]") {
  // Other points than those of the mean.
  Graph g = all(R"(m[i] = mean[j where j > 0] x[i, j]
v[i] = sum[j] square(x[i, j] - m[i])
output v : f32[M]
)");
  CHECK(reductions(g) == 2);
  // Written once as a filter, once as a choice.
  Graph same = all(R"(m[i] = mean[j where w[i, j] > 0] x[i, j]
v[i] = sum[j] where(w[i, j] > 0, square(x[i, j] - m[i]), 0)
output v : f32[M]
)");
  CHECK(reductions(same) == 1);
}

TEST_CASE("another row's mean is another row's", "[single_pass_moments]") {
  CHECK(reductions(all(R"(m[i] = mean[j] x[i, j]
v[i] = sum[j] square(x[i, j] - m[M - 1 - i])
output v : f32[M]
)")) == 2);
  CHECK(reductions(all(R"(m[i] = mean[j] x[i, j]
v[i] = sum[j] square(w[i, j] - m[i])
output v : f32[M]
)")) == 2);
}

TEST_CASE("what else needs the mean under the sum keeps its pass", "[single_pass_moments]") {
  CHECK(reductions(all(R"(m[i] = mean[j] x[i, j]
v[i] = sum[j] exp(x[i, j] - m[i]) * (x[i, j] - m[i])
output v : f32[M]
)")) == 2);
  CHECK(reductions(all(R"(m[i] = mean[j] x[i, j]
v[i] = sum[j] (x[i, j] - m[i]) / (x[i, j] + m[i])
output v : f32[M]
)")) == 2);
  CHECK(reductions(all(R"(m[i] = mean[j] x[i, j]
t[i] = max[j] x[i, j]
v[i] = sum[j] square(x[i, j] - t[i] * m[i])
output v : f32[M]
)")) == 2); // the max is read, and joins nothing
}

TEST_CASE("columns and points in another order", "[single_pass_moments]") {
  Graph g = checked(graph_of_body(R"(dim A in 1..9, B in 1..9
input x : f32[A, 7, B]
m[b, a] = mean[k] x[a, k, b]
v[a, b] = mean[k] square(x[a, k, b] - m[b, a])
y[a, b] = v[a, b] + m[b, a]
output y : f32[A, B]
)"),
                    {2, 3});
  CHECK(reductions(g) == 1);
}

TEST_CASE("rows without a point, and values that are not finite", "[single_pass_moments]") {
  Graph g = checked(graph_of_body(R"(dim M in 1..9
const x : f32[5, 3] = [[1, 2, 3], [nan, 1, 2], [7, 7, 7], [1e4, 1e4, 1e4], [-1, 0, 1]]
const w : f32[5, 3] = [[0, 0, 0], [1, 1, 1], [1, -1, 0], [2, 0, 0], [1, 1, 1]]
v[i] = var[j where j < i] x[i, j]
n[i] = sum[j] w[i, j]
m[i] = (sum[j] w[i, j] * x[i, j]) / n[i]
u[i] = sum[j] w[i, j] * square(x[i, j] - m[i])
q[i] = (sum[j where j < i] x[i, j]) / (i - 1.0)
z[i] = sum[j where j < i] square(x[i, j] - q[i])
output v : f32[5]
output u : f32[5]
output z : f32[5]
)"),
                    {1});
  CHECK(reductions(g) == 2); // one row with two means, one row with weights
}

TEST_CASE("a variance far from 0 keeps its digits in f32", "[single_pass_moments]") {
  // The laws of the interpreter are exact enough for anything; the formulas are evaluated in f32
  // here, as kernels do.
  ExprStore s;
  Moments moments(s);
  ExprId x = s.real(0); // stands for the element
  size_t w = moments.weight(s.real(1));
  size_t v = moments.variable(x, w);
  REQUIRE(v == 0);
  moments.need(w, {2});
  Monoid m = moments.monoid();
  REQUIRE(m.fields.size() == 3);
  using State = std::vector<float>;
  auto join = [&](const State& a, const State& b) {
    State joined;
    for (ExprId root : m.combine) {
      std::map<ExprId, float> values;
      for (ExprId id : reachable(s, {&root, 1})) {
        const Expr& e = s[id];
        auto at = [&](size_t k) { return values.at(e.operands[k]); };
        switch (e.op) {
        case Op::lhs: values[id] = a[e.ref]; break;
        case Op::rhs: values[id] = b[e.ref]; break;
        case Op::literal_real: values[id] = static_cast<float>(e.real); break;
        case Op::add: values[id] = at(0) + at(1); break;
        case Op::sub: values[id] = at(0) - at(1); break;
        case Op::mul: values[id] = at(0) * at(1); break;
        case Op::div: values[id] = at(0) / at(1); break;
        case Op::neg: values[id] = -at(0); break;
        case Op::eq: values[id] = at(0) == at(1); break;
        case Op::select: values[id] = at(0) != 0 ? at(1) : at(2); break;
        default: FAIL("unexpected " << info(e.op).name);
        }
      }
      joined.push_back(values.at(root));
    }
    return joined;
  };
  // 10000 + k/8, k = 0..7, many times, joined one by one and as a tree.
  std::vector<State> states;
  for (int k = 0; k < 4096; ++k)
    states.push_back({1.0F, 10000.0F + static_cast<float>(k % 8) / 8, 0});
  State serial{0, 0, 0};
  for (const State& state : states) serial = join(serial, state);
  while (states.size() > 1) {
    for (size_t k = 0; k < states.size() / 2; ++k)
      states[k] = join(states[2 * k], states[2 * k + 1]);
    states.resize(states.size() / 2);
  }
  const float exact = 63.0F / 768; // (8² - 1) / 12 / 64
  for (const State& state : {serial, states[0]}) {
    CHECK(state[0] == 4096);
    CHECK(std::abs(state[1] - 10000.4375F) < 2e-3F);
    CHECK(std::abs(state[2] / 4096 - exact) < 1e-3F * exact);
  }
}

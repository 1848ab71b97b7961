// split_precision: the sum over parts is the product, within its bound, for every value.
#include "interpret/formats.h"
#include "rewrite/split_precision.h"
#include "run.h"
#include <limits>
#include <random>

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

using interpret::Array;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
/// What each operation in f32 adds.
constexpr double rounding = 0x1p-24;
/// The error of a form beside |a·b| (split_precision.cpp), and of one product in its format.
struct Bound {
  const Pieces& pieces;
  double split, single;
};
const Bound bounds[] = {{tf32x3, 1.75 * 0x1p-20, 0x1p-10}, {bf16x3, 1.5 * 0x1p-14, 0x1p-7}};

Graph product(const std::string& type = "f32") {
  return graph_of_body("dim M in 0..4096, N in 0..4096, K in 0..4096\ninput a : " + type +
                       "[M, K]\ninput b : " + type +
                       "[N, K]\ny[i, j] = sum[k] a[i, k] * b[j, k]\noutput y : " + type +
                       "[M, N]\n");
}

std::vector<size_t> all_that_split(const Graph& graph) {
  std::vector<size_t> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (can_split_precision(graph, graph.nodes[n])) nodes.push_back(n);
  return nodes;
}

Array matrix(std::vector<double> values, int64_t columns) {
  Array array;
  array.shape = {static_cast<int64_t>(values.size()) / columns, columns};
  array.scalar = Scalar::real, array.reals = std::move(values);
  return array;
}

enum class How { exact, in_f32 };

/// The first output, before it is rounded.
std::vector<double> values(const Graph& graph, const Array& a, const Array& b, How how,
                           const Pieces* pieces = nullptr) {
  interpret::EvalOptions options;
  options.unrounded_outputs = true, options.emulate = options.round_operations = how != How::exact;
  for (size_t n : all_that_split(graph))
    if (pieces) options.split_products[defines_of(graph.nodes[n]).front()] = pieces;
  Sink sink;
  std::vector<int64_t> dims{a.shape[0], b.shape[0], a.shape[1]};
  auto out =
      interpret::evaluate(graph, {{graph.inputs[0], a}, {graph.inputs[1], b}}, dims, options, sink);
  REQUIRE(out.has_value());
  return out->at(graph.outputs[0]).reals;
}

/// f32 of all magnitudes whose products are normal.
std::vector<double> random_values(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<double> out(count);
  for (double& x : out) {
    double mantissa = 1 + static_cast<double>(random() % (1 << 23)) * 0x1p-23;
    x = std::ldexp(random() % 2 ? mantissa : -mantissa, static_cast<int>(random() % 20) - 10);
  }
  return out;
}

} // namespace

TEST_CASE("a product is off by its bound at most, which one of such a unit is far from",
          "[split_precision]") {
  for (const auto& [pieces, bound, of_one] : bounds) {
    INFO(pieces.name);
    std::vector<double> a = random_values(1, 20000), b = random_values(2, 20000);
    double worst = 0, worst_single = 0, sum = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      double exact = a[i] * b[i],
             single = interpret::head_of(pieces.held, a[i]) * interpret::head_of(pieces.held, b[i]);
      double error = 1 - interpret::split_product(pieces, a[i], b[i]) / exact;
      worst = std::max(worst, std::abs(error)), sum += error;
      worst_single = std::max(worst_single, std::abs(single / exact - 1));
    }
    CHECK(worst < bound + 3 * rounding);
    CHECK(worst > bound / 4);
    CHECK(std::abs(sum) / double(a.size()) < bound / 5);
    CHECK(worst_single > of_one);
    CHECK(of_one > 80 * bound);
  }
}

TEST_CASE("pieces of bf16 are numbers of it, and leave less than the last place of the rest",
          "[split_precision]") {
  for (double x : random_values(3, 20000)) {
    double head = interpret::head_of(ElemType::bf16, x),
           rest = interpret::rest_of(ElemType::bf16, x);
    CHECK(interpret::round_to(ElemType::bf16, head) == head);
    CHECK(interpret::round_to(ElemType::bf16, rest) == rest);
    CHECK(std::abs(head) <= std::abs(x));
    CHECK(x * rest >= 0);
    CHECK(std::abs(x - head - rest) <= 0x1p-16 * std::abs(x));
  }
}

TEST_CASE("sums of split products keep the bound", "[split_precision]") {
  Graph whole = product();
  constexpr size_t m = 9, n = 7, depth = 12;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const auto& [pieces, bound, of_one] = bounds[seed % 2];
    Array a = matrix(random_values(seed, m * depth), depth);
    Array b = matrix(random_values(seed + 9, n * depth), depth);
    auto exact = values(whole, a, b, How::exact), got = values(whole, a, b, How::in_f32, &pieces);
    size_t beyond_f32 = 0;
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (size_t k = 0; k < depth; ++k)
          sum += std::abs(a.reals[i * depth + k] * b.reals[j * depth + k]);
        double error = std::abs(got[i * n + j] - exact[i * n + j]);
        CHECK(error <= (bound + (depth + 3) * rounding) * sum);
        beyond_f32 += error > depth * rounding * sum / 4;
      }
    CHECK(beyond_f32 > 0);
  }
}

TEST_CASE("infinities, NaN, zeros and the ends of the range are those of the product",
          "[split_precision]") {
  Graph whole = product();
  const double largest = 0x1.fffffep127;
  const std::vector<double> special{inf,
                                    -inf,
                                    not_a_number,
                                    0,
                                    -0.0,
                                    largest,
                                    -largest,
                                    0x1.ffcp127,
                                    0x1p127,
                                    0x1.ffdffep127,
                                    1,
                                    -1,
                                    0x1.002p0,
                                    0x1.000ffep3,
                                    0x1.8p70,
                                    -0x1.00fffep90,
                                    0x1p-100,
                                    0x1.fffffep-2,
                                    -0x1.3p-60};
  Array x = matrix(special, 1);
  auto exact = values(whole, x, x, How::in_f32);
  for (const auto& [pieces, bound, of_one] : bounds) {
    auto got = values(whole, x, x, How::in_f32, &pieces);
    for (size_t i = 0; i < special.size(); ++i)
      for (size_t j = 0; j < special.size(); ++j) {
        double want = exact[i * special.size() + j], have = got[i * special.size() + j];
        INFO(pieces.name << ": " << special[i] << " * " << special[j] << " is " << want << ", not "
                         << have);
        if (std::isnan(want))
          CHECK(std::isnan(have));
        else if (std::isinf(want) || (std::abs(want) > 0x1.fffep127 && std::isinf(have)))
          // Rests to nearest may take what is next to the largest f32 beyond it.
          CHECK(have == std::copysign(inf, want));
        else
          CHECK(std::abs(have - want) <= (bound + 4 * rounding) * std::abs(want) + 0x1p-126);
      }
  }
}

TEST_CASE("what is no sum of products of f32 does not split", "[split_precision]") {
  CHECK(all_that_split(product()).size() == 1);
  CHECK(all_that_split(product("f64")).empty());
  CHECK(
      all_that_split(graph_of_body("input a : f32[4, 5]\ny[i] = max[k] a[i, k] * a[i, 0]\n"
                                   "z[i] = sum[k] a[i, k]\nw[i, k] = a[i, k] * a[i, 0]\n"
                                   "output y : f32[4]\noutput z : f32[4]\noutput w : f32[4, 5]\n"))
          .empty());
  // Integers are exact as they are.
  CHECK(
      all_that_split(graph_of_body("input a : i32[4, 5] in 0..9\ny[i] = sum[k] a[i, k] * a[i, k]\n"
                                   "output y : i32[4]\n"))
          .empty());
}

TEST_CASE("only what is named rounds so, and the derivation says it", "[split_precision]") {
  Graph two = graph_of_body("input a : f32[1, 1]\ninput b : f32[1, 1]\ny[i, j] = sum[k] a[i, k] * "
                            "b[j, k]\nz[i, j] = sum[k] a[i, k] * b[j, k]\noutput y : f32[1, 1]\n"
                            "output z : f32[1, 1]\n");
  std::vector<size_t> nodes = all_that_split(two);
  REQUIRE(nodes.size() == 2);
  interpret::EvalOptions options;
  options.emulate = true;
  options.split_products[defines_of(two.nodes[nodes[1]]).front()] = &bf16x3;
  Sink sink;
  double x = 0x1.fffffep0;
  auto out = interpret::evaluate(
      two, {{two.inputs[0], matrix({x}, 1)}, {two.inputs[1], matrix({x}, 1)}}, {}, options, sink);
  REQUIRE(out.has_value());
  CHECK(out->at(two.outputs[0]).reals[0] == static_cast<float>(x * x));
  CHECK(out->at(two.outputs[1]).reals[0] == interpret::split_product(bf16x3, x, x));
  CHECK(interpret::split_product(bf16x3, x, x) != static_cast<float>(x * x));

  Graph noted = split_precision(two, std::vector<size_t>{nodes[1]}, bf16x3);
  CHECK(noted.nodes[nodes[0]].derivation == two.nodes[nodes[0]].derivation);
  CHECK(noted.nodes[nodes[1]].derivation.back() ==
        "split_precision: each product of `z` is a sum of 3 over bf16 parts");
  // Over the reals nothing changed.
  noted.nodes[nodes[1]].derivation.pop_back();
  CHECK(to_text(noted) == to_text(two));
}

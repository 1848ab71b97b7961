// Recurrences and scans: one kernel per scan and not one per step, reductions where only the end
// counts.
#include "derived.h"

using namespace tang;
using namespace tang::rediscover;

namespace {

size_t scans(const Derived& d) {
  size_t count = 0;
  for (const Node& node : d.graph.nodes)
    if (const auto* c = std::get_if<Comprehension>(&node.definition)) count += c->scan.has_value();
  return count;
}

/// A state-space model with a decay per channel and state, as a recurrence.
std::string selective(const std::string& results) {
  return R"(tg 1
graph selective
dim T in 0..65536, D in 1..1024, N in 1..64
input x : f32[T, D]
input dt : f32[T, D]
input bm : f32[T, N]
input cm : f32[T, N]
input h0 : f32[D, N]
param alog : f32[D, N]
recur t: T carry h = h0 {
  delta[d] = softplus(dt[t, d])
  decay[d, n] = exp(-delta[d] * exp(alog[d, n]))
  h[d, n] = decay[d, n] * h[d, n] + delta[d] * bm[t, n] * x[t, d]
  y[d] = sum[n] h[d, n] * cm[t, n]
} collect ys = y, hs = h
)" + results;
}

const std::vector<std::vector<int64_t>> sizes{
    {0, 2, 3}, {1, 1, 1}, {2, 3, 1}, {17, 3, 4}, {129, 2, 5}};

} // namespace

TEST_CASE("a recurrence that is affine is one kernel", "[scans]") {
  Derived d = derive(selective("output hs : f32[T, D, N]\n"), sizes);
  CHECK(scans(d) == 1);
  CHECK(d.kernels_on(d.gpu) == 2); // and the step sizes, which all states share
  CHECK(d.largest({1000, 8, 4}) <= 1000 * 8);

  // What the states are read for behind the steps is one kernel over all of them.
  Derived y = derive(selective("output ys : f32[T, D]\n"), sizes);
  CHECK(scans(y) == 1);
  CHECK(y.kernels_on(y.gpu) == 3);
}

TEST_CASE("of a recurrence only the last value is needed", "[scans]") {
  Derived d = derive(selective("output h : f32[D, N]\n"), sizes);
  CHECK(scans(d) == 0);
  CHECK(d.kernels_on(d.gpu) == 2);
  CHECK(d.largest({1000, 8, 4}) == 1000 * 8);
  size_t reductions = 0;
  for (const Node& node : d.graph.nodes)
    reductions += std::get<Comprehension>(node.definition).reduction.has_value();
  CHECK(reductions == 1);
}

TEST_CASE("prefix sums and running extremes, written as recurrences", "[scans]") {
  for (const char* step : {"h[d] = h[d] + x[t, d]", "h[d] = max(h[d], x[t, d])",
                           "h[d] = where(x[t, d] < -0.5, 0, h[d] + x[t, d])"}) {
    Derived d = derive(std::string("tg 1\ngraph running\ndim T in 0..65536, D in 1..1024\n"
                                   "input x : f32[T, D]\ninput h0 : f32[D]\n"
                                   "recur t: T carry h = h0 { ") +
                           step + " } collect hs = h\noutput hs : f32[T, D]\n",
                       {{0, 2}, {1, 2}, {2, 1}, {3, 3}, {17, 2}, {129, 2}});
    CHECK(scans(d) == 1);
    CHECK(d.kernels_on(d.gpu) == 1);
    CHECK(d.kernels_on(d.core) == 1);
    CHECK(d.intermediates().empty());
  }
}

namespace {

size_t tiles(const plan::Plan& plan) {
  size_t count = 0;
  for (const plan::Step& step : plan.steps)
    if (const auto* p = std::get_if<plan::KernelPlan>(&step.node))
      count += plan::name(p->emitter) == "tile";
  return count;
}

const std::string shapes = R"(tg 1
graph chunks
dim T in 0..65536, H in 1..64
dim P = 64, N = 64
input x : f32[T, H, P]
input a : f32[T, H]
input bm : f32[T, N]
input cm : f32[T, N]
)";

const std::vector<std::vector<int64_t>> chunk_sizes{{0, 1}, {1, 2}, {64, 1}, {65, 1}};

} // namespace

TEST_CASE("state-space duality: matrix products in chunks", "[scans]") {
  for (const char* program :
       {"u[t, h, p, n] = x[t, h, p] * bm[t, n]\n"
        "(d[t, h, p, n], s[t, h, p, n]) = scan affine[t](a[t, h], u[t, h, p, n])\n"
        "y[t, h, p] = sum[n] s[t, h, p, n] * cm[t, n]\noutput y : f32[T, H, P]\n",
        "s0[h: H, p: P, n: N] = 0.0\n"
        "recur t: T carry s = s0 {\n"
        "  s[h, p, n] = a[t, h] * s[h, p, n] + x[t, h, p] * bm[t, n]\n"
        "  y[h, p] = sum[n] s[h, p, n] * cm[t, n]\n} collect ys = y\noutput ys : f32[T, H, P]\n"}) {
    Derived d = derive(shapes + program, chunk_sizes);
    // Decays from the start of a chunk and between its steps; what it adds, and the scan over
    // chunks; scores and weights; the two parts, and their sum.
    CHECK(d.kernels_on(d.gpu) == 9);
    CHECK(tiles(d.gpu) == 3);
    CHECK(tiles(d.core) == 3);
    // 65536 steps of 4 heads: not 65536 * 4 * 64 * 64.
    CHECK(d.largest({65536, 4}) == 65536 * 4 * 64);
  }
}

TEST_CASE("linear attention: the same without decays", "[scans]") {
  Derived d = derive(shapes + "u[t, h, p, n] = x[t, h, p] * bm[t, n]\n"
                              "s[t, h, p, n] = scan sum[t] u[t, h, p, n]\n"
                              "y[t, h, p] = sum[n] s[t, h, p, n] * cm[t, n]\n"
                              "output y : f32[T, H, P]\n",
                     chunk_sizes);
  CHECK(d.kernels_on(d.gpu) == 6);
  CHECK(tiles(d.gpu) == 3);
  CHECK(d.largest({65536, 4}) == 65536 * 4 * 64);
}

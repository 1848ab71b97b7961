// What runs beside each other: sums that share the tiles of matrix units, kernels that share a
// launch.
#include "support.h"
#include <catch2/catch.hpp>
#include <set>

using namespace tang;
using namespace tang::simulate_test;

namespace {

using Sizes = std::vector<std::pair<std::string, int64_t>>;

Outcome checked(const std::string& text, const Sizes& sizes, bool bound,
                const std::string& target = "sm_80", const std::string& schedule = "") {
  Compiled compiled = compile({text, "beside.tg", target, 2, sizes, bound, schedule, true});
  Outcome outcome = simulate(compiled, data_of(compiled, 5));
  CHECK(outcome.faults == std::vector<std::string>());
  return outcome;
}

bool uses_units(const Outcome& outcome) {
  for (const auto& [name, counts] : outcome.report.kernels)
    for (const auto& [row, count] : counts.instructions)
      if (row.rfind("mma.", 0) == 0 && count > 0) return true;
  return false;
}

std::vector<std::string> launches(const std::string& text, const Sizes& sizes, bool bound = true) {
  Compiled compiled = compile({text, "beside.tg", "sm_80", 2, sizes, bound, "", true});
  std::vector<std::string> names;
  for (const kernel::Step& step : compiled.program.steps)
    names.push_back(std::get<kernel::Dispatch>(step.node).name);
  return names;
}

/// `sums` products of one input with weights of their own, all needed for each result.
std::string gated(int sums, const std::string& result) {
  std::string text = "tg 1\ngraph gated\ndim M in 0..4096, N in 1..4096, K in 0..4096\n"
                     "input x : bf16[M, K]\n";
  for (int i = 0; i < sums; ++i)
    text += fmt::format("input w{0} : bf16[K, N]\ns{0}[i, j] = sum[k] x[i, k] * w{0}[k, j]\n", i);
  return text + "y[i, j] = " + result + "\noutput y : bf16[M, N]\n";
}

const std::string projections = R"(tg 1
graph projections
dim T in 1..4096, C in 1..4096, H in 1..4096
input x : bf16[T, C]
input wq : bf16[C, H]
input wk : bf16[C, H]
input wv : bf16[C, 2 * H]
q[t, h] = sum[c] x[t, c] * wq[c, h]
k[t, h] = sum[c] x[t, c] * wk[c, h]
v[t, h] = sum[c] x[t, c] * wv[c, h]
output q : bf16[T, H]
output k : bf16[T, H]
output v : bf16[T, 2 * H]
)";

} // namespace

TEST_CASE("sums over one space share the tiles of their common factor", "[products][sums]") {
  const Sizes sizes[] = {{{"M", 72}, {"N", 136}, {"K", 200}},
                         {{"M", 17}, {"N", 8}, {"K", 129}},
                         {{"M", 3}, {"N", 40}, {"K", 0}}};
  const std::pair<int, const char*> results[] = {{2, "silu(s0[i, j]) * s1[i, j]"},
                                                 {3, "s0[i, j] * s1[i, j] + s2[i, j]"},
                                                 {4, "s0[i, j] * s1[i, j] + s2[i, j] * s3[i, j]"}};
  for (auto [sums, result] : results)
    for (const Sizes& size : sizes) {
      INFO(sums << " sums");
      Outcome outcome = checked(gated(sums, result), size, true);
      CHECK(uses_units(outcome) == (size.back().second > 0));
      checked(gated(sums, result), size, false, "sm_90a");
    }
  // More accumulators than a thread has: each sum by itself, or none on units, but right.
  checked(gated(5, "s0[i, j] * s1[i, j] + s2[i, j] * s3[i, j] * s4[i, j]"), sizes[0], true);
}

TEST_CASE("sums of two products with no common factor", "[products][sums]") {
  std::string text = R"(tg 1
graph two
dim M in 1..4096, N in 1..4096, K in 1..4096
input a : f16[M, K]
input b : f16[K, N]
input c : f16[M, K]
input d : f16[K, N]
s[i, j] = sum[k] a[i, k] * b[k, j]
t[i, j] = sum[k] c[i, k] * d[k, j]
y[i, j] = s[i, j] * t[i, j]
output y : f16[M, N]
)";
  CHECK(uses_units(checked(text, {{"M", 40}, {"N", 72}, {"K", 136}}, true)));
  // Too few columns for a tile.
  checked(text, {{"M", 17}, {"N", 3}, {"K", 129}}, true);
}

TEST_CASE("a stated tile of two sums has half the accumulators for each", "[products][sums]") {
  auto stated = [](int warp_n) {
    return fmt::format("graph: gated\nsteps:\n- kernel: y\n  emitter: tile\n  variants:\n"
                       "  - fields: {{threads: 128, vector: 8, block_m: 128, block_n: {}, block_k: "
                       "64, precision: bf16, warp_m: 64, warp_n: {}, store: 2, pipeline: 2, stage: "
                       "true}}\n",
                       2 * warp_n, warp_n);
  };
  std::string text = gated(2, "silu(s0[i, j]) * s1[i, j]");
  Sizes sizes{{"M", 136}, {"N", 72}, {"K", 136}};
  checked(text, sizes, true, "sm_80", stated(32));
  CHECK_THROWS_WITH(checked(text, sizes, true, "sm_80", stated(64)),
                    Catch::Contains("256 accumulators of a thread are beyond 128"));
}

TEST_CASE("kernels that do not wait for each other share a launch", "[beside]") {
  Sizes sizes{{"T", 72}, {"C", 64}, {"H", 136}};
  CHECK(launches(projections, sizes) == std::vector<std::string>{"q_k_v"});
  Outcome outcome = checked(projections, sizes, true);
  CHECK(uses_units(outcome));
  checked(projections, {{"T", 17}, {"C", 129}, {"H", 3}}, true);
  // Every variant of the launcher's choice, with all sizes open.
  for (const Sizes& size : {Sizes{{"T", 17}, {"C", 129}, {"H", 3}}, sizes})
    checked(projections, size, false);
}

TEST_CASE("kernels that wait for each other do not", "[beside]") {
  std::string chain = R"(tg 1
graph chain
dim N in 1..4096
input a : bf16[N, N]
input b : bf16[N, N]
s[i, j] = sum[k] a[i, k] * b[k, j]
t[i, j] = sum[k] s[i, k] * b[k, j]
store s : bf16
output t : bf16[N, N]
)";
  CHECK(launches(chain, {{"N", 64}}) == std::vector<std::string>{"s", "t"});
  // Blocks of different threads, and a kernel that writes over what another reads.
  std::string in_place = R"(tg 1
graph in_place
input a : f32[64]
input b : f32[64]
y[i] = a[i] + b[mod(i + 1, 64)]
z[i] = b[i] * 2
output y : f32[64]
output z : f32[64] over b
)";
  CHECK(launches(in_place, {}).size() == 2);
  checked(in_place, {}, true);
}

TEST_CASE("shared launches are the same bytes and few kernels", "[beside]") {
  std::string layers = R"(tg 1
graph layers
input x : bf16[64, 64]
param w : bf16[4, 2, 64, 64]
h[i, j] = x[i, j]
repeat l in 0..<4 carry h {
  p[i, j] = sum[k] h[i, k] * w[l, 0, k, j]
  q[i, j] = sum[k] h[i, k] * w[l, 1, j, k]
  store p : bf16
  store q : bf16
  h[i, j] = (sum[k] p[i, k] * q[k, j]) / 4096
  store h : bf16
}
output h : bf16[64, 64]
)";
  Compiled compiled = compile({layers, "layers.tg", "sm_80", 2, {}, true, "", true});
  std::set<std::string> names;
  for (const kernel::Kernel& kernel : compiled.program.kernels) names.insert(kernel.name);
  INFO(kernel::to_text(compiled.program));
  // p with q, h, and the h that is the output.
  CHECK(names.size() == 3);
  CHECK(simulate(compiled, data_of(compiled, 5)).faults == std::vector<std::string>());
}

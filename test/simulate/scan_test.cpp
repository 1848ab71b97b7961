// Scans along rows: threads scan their own elements, then what they hold, and rounds hand on what
// came before.
#include "support.h"
#include <catch2/catch.hpp>
#include <limits>

using namespace tang;
using namespace tang::simulate_test;

namespace {

using Sizes = std::vector<std::pair<std::string, int64_t>>;

/// Sums of every form, what loses the order of its elements or the identity in front, and types
/// whose sums are exact.
const std::string forms = R"(tg 1
graph forms
dim B in 0..64, T in 0..1048576
monoid ends(n = 0.0, first = 0.0, last = 0.0) (a, b) -> (
  a.n + b.n, where(a.n > 0, a.first, b.first), where(b.n > 0, b.last, a.last))
input x : f32[B, T]
input g : bf16[B, T]
input n : i32[B, T] in -1000..1000
up[b, t] = scan sum[t] x[b, t]
down[b, t] = scan sum[t desc] x[b, t] * g[b, t]
before[b, t] = scan max[t exclusive] x[b, t]
count[b, t] = scan sum[t exclusive] n[b, t]
(a[b, t], h[b, t]) = scan affine[t](0.9 * g[b, t], x[b, t])
(c[b, t], f[b, t], l[b, t]) = scan ends[t desc where n[b, t] > 0](1, x[b, t], x[b, t])
y[b, t] = h[b, t] * g[b, t] + a[b, t]
z[b, t] = f[b, t] - l[b, t]
output up : f32[B, T]
output down : bf16[B, T]
output before : f32[B, T]
output count : i64[B, T]
output c : f32[B, T]
output y : f32[B, T]
output z : f32[B, T]
)";

/// Scans between other members of a row.
const std::string members = R"(tg 1
graph members
dim B in 0..64, T in 0..1048576
input x : f32[B, T]
p[b, t] = softmax[t] x[b, t]
c[b, t] = scan sum[t] p[b, t]
m[b] = max[t] c[b, t] * x[b, t]
y[b, t] = c[b, t] - m[b]
output c : f32[B, T]
output y : f32[B, T]
)";

interpret::RunOptions variants(interpret::VariantChoice choice) {
  interpret::RunOptions options;
  options.variant = choice;
  return options;
}

const auto all_variants = {interpret::VariantChoice::launcher, interpret::VariantChoice::last};

} // namespace

TEST_CASE("scans along rows agree at every length", "[scan]") {
  for (const std::string& text : {forms, members})
    for (int64_t length : {0,   1,   2,   3,   16,  17,   31,   32,   33,   64,
                           127, 128, 129, 512, 513, 1000, 1024, 1025, 2052, 2500})
      for (auto choice : all_variants) {
        INFO(text.substr(0, 20) << ", T = " << length);
        Compiled program =
            compile({text, "scan.tg", "sm_80", 2, {{"B", 5}, {"T", length}}, false, "", true});
        CHECK(simulate(program, data_of(program, 7), variants(choice)).faults ==
              std::vector<std::string>());
      }
}

TEST_CASE("threads that cannot shuffle scan in shared memory", "[scan]") {
  for (const std::string& text : {forms, members})
    for (int64_t length : {1, 17, 33, 128, 500, 1025})
      for (auto choice : all_variants) {
        INFO(text.substr(0, 20) << ", T = " << length);
        Compiled program =
            compile({text, "scan.tg", "opencl", 2, {{"B", 3}, {"T", length}}, false, "", true});
        CHECK(simulate(program, data_of(program, 7), variants(choice)).faults ==
              std::vector<std::string>());
      }
}

TEST_CASE("scans of bound sizes, of one row and of none agree", "[scan]") {
  const std::string row = R"(tg 1
graph row
dim T in 0..1048576
input x : f32[T]
input n : i32[T] in 0..1000
c[t] = scan sum[t] x[t]
d[t] = scan sum[t exclusive desc] n[t]
output c : f32[T]
output d : i64[T]
)";
  for (int64_t length : {1, 40, 128, 1000, 4096, 5000})
    for (bool bound : {false, true}) {
      INFO("T = " << length << ", bound " << bound);
      Compiled one = compile({row, "scan.tg", "sm_80", 2, {{"T", length}}, bound, "", true});
      CHECK(simulate(one, data_of(one, 3)).faults == std::vector<std::string>());
      for (int64_t rows : {0, 1, 3}) {
        Compiled many =
            compile({forms, "scan.tg", "sm_80", 2, {{"B", rows}, {"T", length}}, bound, "", true});
        CHECK(simulate(many, data_of(many, 3)).faults == std::vector<std::string>());
      }
    }
}

TEST_CASE("a scan shares its row's kernel, and needs one end of it", "[scan]") {
  auto kernels = [](const std::string& text) {
    Compiled program =
        compile({text, "scan.tg", "sm_80", 2, {{"B", 2}, {"T", 64}}, false, "", true});
    return program.program.steps.size();
  };
  CHECK(kernels(members) == 1);
  // The two directions part the row.
  const std::string head = "tg 1\ngraph ends\ndim B in 0..64, T in 1..4096\ninput x : f32[B, T]\n",
                    up = "u[b, t] = scan sum[t] x[b, t]\n",
                    down = "d[b, t] = scan sum[t desc] x[b, t]\n",
                    outputs = "output u : f32[B, T]\noutput d : f32[B, T]\n";
  CHECK(kernels(head + up + down + outputs) == 2);
  const std::string both = "d[b, t] = scan max[t] x[b, t]\n";
  CHECK(kernels(head + up + both + outputs) == 1);
}

TEST_CASE("a prefix holds what stands before it, whatever comes behind", "[scan]") {
  const std::string prefix = "tg 1\ngraph prefix\ndim T in 1..4096\ninput x : f32[T]\n"
                             "c[t] = scan sum[t] x[t]\noutput c : f32[T]\n";
  Compiled sums = compile({prefix, "scan.tg", "sm_80", 2, {{"T", 300}}, false, "", true});
  driver::TestVectors values = data_of(sums, 3);
  // NaN and infinities reach what stands behind them, and nothing else.
  values.inputs[0].reals[77] = std::numeric_limits<double>::infinity();
  values.inputs[0].reals[200] = std::numeric_limits<double>::quiet_NaN();
  evaluate_again(sums, values);
  CHECK(simulate(sums, values).faults == std::vector<std::string>());
}

// Mean and variance, however they are written, are one pass over the row (Welford, Chan).
#include "derived.h"

using namespace tang;
using namespace tang::rediscover;

namespace {

/// Comprehensions that reduce.
size_t reductions(const Derived& d) {
  size_t count = 0;
  for (const Node& node : d.graph.nodes)
    if (const auto* c = std::get_if<Comprehension>(&node.definition))
      count += c->reduction.has_value();
  return count;
}

void is_one_pass(const Derived& d) {
  CHECK(reductions(d) == 1);
  CHECK(d.kernels_on(d.gpu) == 1);
  CHECK(d.kernels_on(d.core) == 1);
  CHECK(d.intermediates().empty());
}

struct Form {
  const char* name;
  const char* body; ///< defines `v[i]`
};

const std::string rows = R"(tg 1
graph moments
dim M in 1..4096, N in 0..1000000
input x : f32[M, N]
input y : f32[M, N]
input w : f32[M, N]
)";

const Form forms[] = {
    {"the library's variance", "v[i] = var[j] x[i, j]\n"},
    {"the standard deviation", "v[i] = std[j] x[i, j]\n"},
    {"the unbiased variance", "v[i] = var_unbiased[j] x[i, j]\n"},
    {"two sums and a division", R"(m[i] = (sum[j] x[i, j]) / N
v[i] = (sum[j] (x[i, j] - m[i]) * (x[i, j] - m[i])) / N
)"},
    {"a power", R"(m[i] = (sum[j] x[i, j]) * (1.0 / N)
v[i] = sum[j] pow(m[i] - x[i, j], 2)
)"},
    {"a difference that is named", R"(m[i] = mean[j] x[i, j]
d[i, j] = x[i, j] - m[i]
v[i] = mean[j](d[i, j] * d[i, j])
)"},
    {"a scaled row", R"(m[i] = mean[j](0.5 * x[i, j])
v[i] = mean[j] square(0.5 * x[i, j] - m[i])
)"},
    {"a row that is added up", R"(m[i] = mean[j](x[i, j] + y[i, j])
v[i] = mean[j] square(y[i, j] + x[i, j] - m[i])
)"},
    {"a filter", "v[i] = var[j where j < 3 * i] x[i, j]\n"},
    {"a filter of data", "v[i] = var[j where w[i, j] > 0] x[i, j]\n"},
    {"a choice of data", R"(n[i] = sum[j] where(w[i, j] > 0, 1.0, 0)
m[i] = (sum[j] where(w[i, j] > 0, x[i, j], 0)) / n[i]
v[i] = (sum[j] where(w[i, j] > 0, square(x[i, j] - m[i]), 0)) / n[i]
)"},
    {"weights", R"(n[i] = sum[j] w[i, j]
m[i] = (sum[j] w[i, j] * x[i, j]) / n[i]
v[i] = (sum[j] w[i, j] * square(x[i, j] - m[i])) / n[i]
)"},
    {"weights that are positive", R"(n[i] = sum[j] exp(w[i, j])
m[i] = (sum[j] exp(w[i, j]) * x[i, j]) / n[i]
v[i] = (sum[j] exp(w[i, j]) * square(x[i, j] - m[i])) / n[i]
)"},
    {"a mean that is not quite the mean", R"(m[i] = (sum[j] x[i, j]) / (N + 1.0)
v[i] = sum[j] square(x[i, j] - m[i])
)"},
    {"mean and variance", R"(m[i] = mean[j] x[i, j]
v[i] = m[i] / sqrt(mean[j](square(x[i, j] - m[i])) + 1e-3)
)"},
    {"skewness", R"(m[i] = mean[j] x[i, j]
s[i] = std[j] x[i, j]
v[i] = mean[j] pow((x[i, j] - m[i]) / s[i], 3)
)"},
    {"kurtosis", R"(m[i] = mean[j] x[i, j]
v[i] = mean[j](pow(x[i, j] - m[i], 4)) / square(var[j] x[i, j])
)"},
    {"covariance", R"(m[i] = mean[j] x[i, j]
v[i] = mean[j]((x[i, j] - m[i]) * (y[i, j] - mean[j] y[i, j]))
)"},
    {"correlation", R"(a[i] = mean[j] x[i, j]
b[i] = mean[j] y[i, j]
c[i] = sum[j] (x[i, j] - a[i]) * (y[i, j] - b[i])
v[i] = c[i] / sqrt((sum[j] square(x[i, j] - a[i])) * (sum[j] square(y[i, j] - b[i])))
)"},
    {"a slope", R"(a[i] = mean[j] x[i, j]
v[i] = (sum[j] (x[i, j] - a[i]) * y[i, j]) / (sum[j] square(x[i, j] - a[i]))
)"},
};

} // namespace

TEST_CASE("moments of a row are one pass however they are written", "[moments]") {
  for (const Form& form : forms) {
    DYNAMIC_SECTION(form.name) {
      is_one_pass(derive(rows + form.body + "output v : f32[M]\n",
                         {{3, 5}, {1, 1}, {4, 129}, {2, 0}, {3, 2}}));
    }
  }
}

TEST_CASE("what is normalised over several axes reads its input twice", "[moments]") {
  SECTION("batch norm") {
    Derived d = derive(R"(tg 1
graph batch_norm
dim N in 1..64, C in 1..512
input x : f32[N, C, 8, 8]
input w : f32[C]
m[c] = (sum[n, h, k] x[n, c, h, k]) / (N * 64)
v[c] = (sum[n, h, k] square(x[n, c, h, k] - m[c])) / (N * 64)
y[n, c, h, k] = (x[n, c, h, k] - m[c]) * rsqrt(v[c] + 1e-5) * w[c]
output y : f32[N, C, 8, 8]
)",
                       {{2, 3}, {1, 1}});
    CHECK(reductions(d) == 1);
    CHECK(d.kernels_on(d.gpu) == 2);
    CHECK(d.kernels_on(d.core) == 2);
  }
  SECTION("group norm") {
    Derived d = derive(R"(tg 1
graph group_norm
dim N in 1..64
dim G = 4
input x : f32[N, G, 3, 8, 8]
m[n, g] = (sum[c, h, k] x[n, g, c, h, k]) / 192
v[n, g] = (sum[c, h, k] square(x[n, g, c, h, k] - m[n, g])) / 192
y[n, g, c, h, k] = (x[n, g, c, h, k] - m[n, g]) * rsqrt(v[n, g] + 1e-5)
output y : f32[N, G, 3, 8, 8]
)",
                       {{2}});
    CHECK(reductions(d) == 1);
    CHECK(d.kernels_on(d.gpu) == 2);
  }
}

TEST_CASE("a row that a kernel holds keeps its two passes, a long one does not", "[moments]") {
  auto norm = [](int length) {
    return derive("tg 1\ngraph g\ndim M in 1..64\ninput x : f32[M, " + std::to_string(length) +
                      "]\ny[i, j] = layernorm[j](x[i, j], 1.0, 0.0, 1e-5)\noutput y : f32[M, " +
                      std::to_string(length) + "]\n",
                  {{1}});
  };
  Derived held = norm(1024), longer = norm(20000);
  CHECK(reductions(held) == 2);
  CHECK(held.kernels_on(held.gpu) == 1);
  CHECK(reductions(longer) == 1);
}

TEST_CASE("the other way round is not taken", "[moments]") {
  // Σ x² - (Σ x)² / n cancels; what the program says stays.
  Derived d = derive(rows + R"(a[i] = mean[j](x[i, j] * x[i, j])
b[i] = mean[j] x[i, j]
v[i] = a[i] - b[i] * b[i]
output v : f32[M]
)",
                     {{3, 5}});
  for (const Monoid& monoid : d.graph.monoids) CHECK(monoid.name != "moments");
}

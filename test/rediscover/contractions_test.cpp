// Matrix products, convolutions and gated layers are one kind of node, and tiles see it.
#include "derived.h"

using namespace tang;
using namespace tang::rediscover;

TEST_CASE("gate and values of SwiGLU are one tuple-valued contraction", "[contractions]") {
  Derived d = derive(R"(tg 1
graph swiglu
dim T in 0..4096, C in 1..512, F in 1..512
input x : bf16[T, C]
param wg : bf16[C, F]
param wu : bf16[C, F]
param wd : bf16[F, C]
g[t, f] = sum[c] x[t, c] * wg[c, f]
u[t, f] = sum[c] x[t, c] * wu[c, f]
z[t, f] = silu(g[t, f]) * u[t, f]
y[t, c] = sum[f] z[t, f] * wd[f, c]
output y : bf16[T, C]
)",
                     {{5, 17, 33}, {1, 1, 1}, {0, 3, 2}});
  CHECK(Derived::emitters(d.gpu) == "tile tile");
  CHECK(Derived::emitters(d.core) == "tile tile");
  const auto& first = std::get<Comprehension>(d.graph.nodes.front().definition);
  CHECK(d.graph[first.reduction->monoid].fields.size() == 2);
  // The product of both is what the second one reads: neither of them is stored.
  CHECK(d.stored_by(d.gpu).size() == 1);
}

TEST_CASE("convolutions are implicit matrix products", "[contractions]") {
  struct Form {
    const char* name;
    const char* body;
    std::vector<int64_t> dims;
  };
  const Form forms[] = {
      {"stride, padding and dilation",
       R"(dim N in 1..64, C in 1..64, K in 1..64, OH in 1..64, OW in 1..64
input x : f32[N, C, 2*OH, 2*OW]
param w : f32[K, C, 3, 3]
y[n, k, i: OH, j: OW] = sum[c, r: 3, s: 3] (x[n, c, 2*i + 2*r - 2, 2*j + 2*s - 2] else 0) * w[k, c, r, s]
output y : f32[N, K, OH, OW]
)",
       {2, 3, 5, 4, 3}},
      {"groups",
       R"(dim N in 1..64, C in 1..64, K in 1..64, H in 1..64
input x : f32[N, 2, C, H]
param w : f32[2, K, C, 3]
y[n, g, k, i: H] = sum[c, r: 3] (x[n, g, c, i + r - 1] else 0) * w[g, k, c, r]
output y : f32[N, 2, K, H]
)",
       {2, 3, 5, 7}},
      {"transposed, in two phases",
       R"(dim N in 1..64, C in 1..64, K in 1..64, H in 1..64
input x : f32[N, C, H]
param w : f32[C, K, 4]
y[n, k, i: H, p: 2] = sum[c, a: 2] (x[n, c, i + p - a] else 0) * w[c, k, 2*a + 1 - p]
output y : f32[N, K, H, 2]
)",
       {2, 3, 5, 7}},
      {"norm and activation behind it",
       R"(dim N in 1..64, C in 1..64, K in 1..64, H in 1..64
input x : f32[N, C, H]
param w : f32[K, C, 3]
param scale : f32[K]
param shift : f32[K]
z[n, k, i: H] = sum[c, r: 3] (x[n, c, i + r - 1] else 0) * w[k, c, r]
y[n, k, i] = relu(z[n, k, i] * scale[k] + shift[k])
output y : f32[N, K, H]
)",
       {2, 3, 5, 7}},
  };
  for (const Form& form : forms) {
    DYNAMIC_SECTION(form.name) {
      Derived d = derive("tg 1\ngraph conv\n" + std::string(form.body), {form.dims});
      CHECK(Derived::emitters(d.gpu) == "tile");
      CHECK(Derived::emitters(d.core) == "tile");
      CHECK(d.intermediates().empty());
    }
  }
}

TEST_CASE("a layer norm in front of a projection is one row kernel and one product",
          "[contractions]") {
  Derived d = derive(R"(tg 1
graph norm_projection
dim T in 1..4096
dim H = 96, N = 200
input x : f32[T, H]
param w : f32[H]
param b : f32[H]
param p : f32[H, N]
n[t, h] = layernorm[h](x[t, h], w[h], b[h], 1e-5)
y[t, o] = sum[h] n[t, h] * p[h, o]
output y : f32[T, N]
)",
                     {{3}, {17}});
  CHECK(Derived::emitters(d.gpu) == "row tile");
  CHECK(d.stored_by(d.gpu).size() == 1);
}

TEST_CASE("factors that a sum does not move leave it", "[contractions]") {
  Derived d = derive(R"(tg 1
graph scaled
dim M in 1..4096, K in 1..4096
input x : f32[M, K]
input s : f32[M]
input w : f32[K, 24]
y[i, j] = sum[k] 0.5 * (x[i, k] * s[i]) * w[k, j]
output y : f32[M, 24]
)",
                     {{3, 5}, {17, 1}});
  CHECK(Derived::emitters(d.gpu) == "tile");
  const auto& c = std::get<Comprehension>(d.graph.nodes.front().definition);
  CHECK(to_text(d.graph, c, c.reduction->body[0]) == "x[i, k] * w[k, j]");
}

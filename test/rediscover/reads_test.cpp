// Gathers: what is read through indices is read where it is used, and never copied first.
#include "derived.h"

using namespace tang;
using namespace tang::rediscover;

TEST_CASE("an embedding is a gather in its reader", "[reads]") {
  Derived d = derive(R"(tg 1
graph embedding
dim T in 0..4096
input id : i32[T] in 0..<11
param e : f32[11, 24]
param w : f32[24, 40]
h[t, c] = e[id[t], c] * 2
y[t, o] = sum[c] h[t, c] * w[c, o]
output y : f32[T, 40]
)",
                     {{0}, {1}, {17}});
  CHECK(d.kernels_on(d.gpu) == 1);
  CHECK(d.intermediates().empty());
}

TEST_CASE("a paged cache is read page by page inside attention", "[reads]") {
  Derived d = derive(R"(tg 1
graph paged
dim B in 1..64, P in 1..64, R in 1..64
dim KV = 2, G = 2, D = 16
input q : f32[B, KV, G, D]
input kp : f32[P, 16, KV, D]
input vp : f32[P, 16, KV, D]
input page : i32[B, R] in 0..<P
input len : i32[B] in 0..64
k[b, j: 16*R, h, d] = kp[page[b, floordiv(j, 16)], mod(j, 16), h, d]
v[b, j: 16*R, h, d] = vp[page[b, floordiv(j, 16)], mod(j, 16), h, d]
s[b, h, g, j] = 0.25 * sum[d] q[b, h, g, d] * k[b, j, h, d]
p[b, h, g, j] = softmax[j where j < len[b]] s[b, h, g, j]
o[b, h, g, d] = sum[j] p[b, h, g, j] * v[b, j, h, d]
output o : f32[B, KV, G, D]
)",
                     {{2, 3, 4}, {1, 1, 1}});
  CHECK(d.kernels_on(d.gpu) == 1);
  CHECK(d.intermediates().empty());
}

TEST_CASE("experts are gathered by their weights' reader", "[reads]") {
  Derived d = derive(R"(tg 1
graph moe
dim T in 1..4096
dim H = 16, F = 24, E = 5, K = 2
input x : f32[T, H]
param wr : f32[H, E]
param wu : f32[E, H, F]
param wd : f32[E, F, H]
logit[t, e] = sum[h] x[t, h] * wr[h, e]
(gate[t, n], id[t, n]) = topk[e; K] logit[t, e]
a[t, n] = softmax[n] gate[t, n]
u[t, n, f] = sum[h] x[t, h] * wu[id[t, n], h, f]
y[t, h] = sum[n, f] a[t, n] * silu(u[t, n, f]) * wd[id[t, n], f, h]
output y : f32[T, H]
)",
                     {{3}, {1}, {17}});
  // No expert's weights are copied: what is stored is per token.
  for (TensorId id : d.intermediates()) {
    auto inner = d.graph.exprs.as_integer(d.graph[id].shape.back());
    CHECK(d.graph[id].shape.size() <= 3);
    CHECK((!inner || *inner <= 24));
  }
  CHECK(d.degree() == 1);
}

TEST_CASE("cross-entropy stores no probabilities", "[reads]") {
  Derived d = derive(R"(tg 1
graph loss
dim T in 1..4096, V in 1..100000
input z : f32[T, V]
input label : i32[T] in 0..<V
y[t] = logsumexp[v](z[t, v]) - z[t, label[t]]
loss = (sum[t] y[t]) / T
output loss : f32
)",
                     {{3, 7}, {1, 1}, {17, 129}});
  CHECK(d.degree() == 1);
  CHECK(d.kernels_on(d.core) <= 2);
}

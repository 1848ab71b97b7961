// The k largest of a row are a merge of sorted lists: one pass, and where rows are few and long,
// lists of parts and their merge. Nothing of the length of a row is stored.
#include "compiled.h"
#include <fmt/format.h>

using namespace tang;
using namespace tang::rediscover;

namespace {

std::string best_of(const std::string& dims) {
  return "tg 1\ngraph best\n" + dims + R"(
input x : f32[M, N]
(v[r, n], i[r, n]) = topk[j; 8] x[r, j]
output v : f32[M, 8]
output i : i32[M, 8]
)";
}

constexpr const char* gpus[] = {"sm_75", "sm_80", "sm_90a", "sm_100a"};

} // namespace

TEST_CASE("the largest of many short rows are one kernel", "[topk]") {
  const std::string program = best_of("dim M in 1..65536, N in 0..512");
  Derived d = derive(program, {{3, 0}, {2, 7}, {5, 129}});
  CHECK(d.intermediates().empty());
  for (const char* target : {"c", "sm_75", "sm_80", "sm_90a", "sm_100a"}) {
    INFO(target);
    Compiled code = compiled(program, target);
    CHECK(code.kernels() == 1);
    CHECK(code.stored().empty());
  }
}

TEST_CASE("the largest of a few long rows: lists of parts, and their merge", "[topk]") {
  const std::string program = best_of("dim M in 1..16, N in 1..1048576\ndim length = 131072");
  std::string fixed = best_of("dim M in 1..16\ndim N = 131072");
  // One core reads a row once, whatever its length.
  Compiled core = compiled(fixed, "c");
  CHECK(core.kernels() == 1);
  CHECK(core.stored().empty());
  for (const char* target : gpus) {
    INFO(target);
    Compiled code = compiled(fixed, target);
    CHECK(code.kernels() == 2);
    // A list of values and one of indices for each of 64 parts.
    CHECK(code.stored().size() == 2);
    CHECK(code.largest_bytes({3}) == 3 * 64 * 8 * 8);
    CHECK(code.stored_bytes({3}) == 3 * 64 * 8 * (4 + 8));
  }
}

TEST_CASE("the logits of a sampler pass behind its scale unseen", "[topk]") {
  const std::string program = R"(tg 1
graph sampler
dim B in 1..8
dim V = 128256, C = 64
input h : f32[B, C]
param w : f32[V, C]
input temperature : f32
z[b, v] = sum[c] h[b, c] * w[v, c]
(g[b, n], id[b, n]) = topk[v; 16] (z[b, v] / temperature)
p[b, n] = softmax[n] g[b, n]
output p : f32[B, 16]
output id : i32[B, 16]
)";
  for (const char* target : {"c", "sm_90a"}) {
    INFO(target);
    Compiled code = compiled(program, target);
    size_t rows = 0;
    for (TensorId id : code.stored()) {
      std::string shape;
      for (ExprId e : code.code.graph[id].shape) shape += to_text(code.code.graph, e) + " ";
      WARN(target << " " << code.code.graph[id].name << " " << shape);
    }
    WARN(code.kernels());
    CHECK(rows == 0);
  }
}

TEST_CASE("a router's choice stores lists alone", "[topk]") {
  for (const char* target : {"c", "sm_80", "sm_90a"}) {
    Compiled code = compiled(rewrite::test::file_text("samples/moe.tg"), target);
    for (TensorId id : code.stored()) {
      std::string shape;
      for (ExprId e : code.code.graph[id].shape) shape += to_text(code.code.graph, e) + " ";
      WARN(target << " " << code.code.graph[id].name << " " << shape);
    }
    WARN(code.kernels());
  }
}

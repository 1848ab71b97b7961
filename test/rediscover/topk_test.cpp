// The k largest of a row are a merge of sorted lists: one pass, and where rows are few and long,
// lists of parts and their merge. Nothing of the length of a row is stored.
#include "compiled.h"

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

constexpr const char* all_targets[] = {"c", "sm_75", "sm_80", "sm_90a", "sm_100a"};

} // namespace

TEST_CASE("the largest of many short rows are one kernel", "[topk]") {
  const std::string program = best_of("dim M in 1..65536, N in 0..512");
  Derived d = derive(program, {{3, 0}, {2, 7}, {5, 129}});
  CHECK(d.intermediates().empty());
  for (const char* target : all_targets) {
    INFO(target);
    Compiled code = compiled(program, target);
    CHECK(code.kernels() == 1);
    CHECK(code.stored().empty());
  }
}

TEST_CASE("the largest of a few long rows: lists of parts, and their merge", "[topk]") {
  const std::string program = best_of("dim M in 1..16\ndim N = 131072");
  for (const char* target : all_targets) {
    INFO(target);
    Compiled code = compiled(program, target);
    if (target == std::string("c")) { // one core reads a row once, whatever its length
      CHECK(code.kernels() == 1);
      CHECK(code.stored().empty());
      continue;
    }
    CHECK(code.kernels() == 2);
    // A list of values and one of indices for each of 64 parts.
    CHECK(code.stored().size() == 2);
    CHECK(code.largest_bytes({3}) == 3 * 64 * 8 * 8);
    CHECK(code.stored_bytes({3}) == 3 * 64 * 8 * (4 + 8));
  }
}

TEST_CASE("the largest of logits: their lists and what follows store no row", "[topk]") {
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
  for (const char* target : all_targets) {
    INFO(target);
    Compiled code = compiled(program, target);
    // The product stores its logits; the scaled ones are nowhere.
    size_t rows = 0;
    for (TensorId id : code.stored())
      for (ExprId extent : code.code.graph[id].shape)
        rows += code.code.graph.exprs.as_integer(extent) == 128256;
    CHECK(rows == 1);
    CHECK(code.kernels() == (target == std::string("c") ? 5 : 6));
  }
}

TEST_CASE("a router stores its logits and lists of two", "[topk]") {
  const std::string program = rewrite::test::file_text("samples/moe.tg");
  for (const char* target : all_targets) {
    INFO(target);
    Compiled code = compiled(program, target);
    Graph& g = code.code.graph;
    auto dim = [&](const std::string& name) {
      auto at =
          std::find_if(g.dims.begin(), g.dims.end(), [&](const Dim& d) { return d.name == name; });
      REQUIRE(at != g.dims.end());
      return g.exprs.dim(DimId(static_cast<uint32_t>(at - g.dims.begin())));
    };
    const ExprId experts = dim("E"), width = dim("F");
    std::vector<std::string> of_experts;
    for (TensorId id : code.stored()) {
      const auto& shape = g[id].shape;
      if (std::count(shape.begin(), shape.end(), experts)) of_experts.push_back(g[id].name);
      // Behind the choice all is per token and place of its list.
      else if (shape.size() > 1)
        CHECK(g.exprs.as_integer(shape[1]) == 2);
      if (shape.size() > 2)
        CHECK(std::vector<ExprId>(shape.begin() + 2, shape.end()) == std::vector{width});
    }
    CHECK(of_experts == std::vector<std::string>{"logit"});
    CHECK(code.kernels() == 8);
  }
}

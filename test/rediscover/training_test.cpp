// A training step whose backward pass is derived is what is written by hand: nothing of size
// sequence × sequence is stored, and of size tokens × vocabulary only the logits and their
// gradient.
#include "derived.h"
#include <fmt/format.h>

using namespace tang;
using namespace tang::rediscover;

TEST_CASE("a step of training a transformer", "[training]") {
  // B, T, V, C, F, KV, G
  Derived d = derive(rewrite::test::file_text("samples/transformer_train_step.tg"),
                     {{2, 3, 5, 4, 3, 1, 2}, {1, 1, 2, 2, 1, 2, 1}});
  auto dim = [&](const std::string& name) {
    for (uint32_t n = 0; n < d.graph.dims.size(); ++n)
      if (d.graph.dims[n].name == name) return d.graph.exprs.dim(DimId(n));
    FAIL("no dim " << name);
    return ExprId();
  };
  const ExprId sequence = dim("T"), vocabulary = dim("V");
  std::vector<std::string> of_vocabulary;
  for (TensorId id : d.intermediates()) {
    const auto& shape = d.graph[id].shape;
    INFO(d.graph[id].name);
    CHECK(std::count(shape.begin(), shape.end(), sequence) <= 1);
    bool tokens = std::count(shape.begin(), shape.end(), sequence) == 1;
    if (tokens && std::count(shape.begin(), shape.end(), vocabulary))
      of_vocabulary.push_back(d.graph[id].name);
  }
  CHECK(of_vocabulary == std::vector<std::string>{"logit", "dlogit"});
  // One sequence of 1024 tokens of 512, width 256: the logits are the largest.
  int64_t largest = d.largest({1, 1024, 512, 256, 384, 4, 2});
  WARN(fmt::format("{} kernels on a GPU, {} on a core; largest intermediate {} elements",
                   d.kernels_on(d.gpu), d.kernels_on(d.core), largest));
  CHECK(largest == 1024 * 512);
  CHECK(d.kernels_on(d.gpu) <= 93);
  CHECK(d.kernels_on(d.core) <= 93);
}

// The backward pass of attention, derived, is flash attention's: scores are computed again in each
// kernel, once for keys and values where their sums fit, and what is stored is per query.
#include "compiled.h"

using namespace tang;
using namespace tang::rediscover;

namespace {

struct Form {
  const char* name;
  const char* filter;
  bool forward; ///< whether the forward result is wanted as well
  size_t kernels, stored;
};

std::string program(const Form& form) {
  return std::string(R"(tg 1
graph flash_backward
dim B in 1..64, H in 1..64, S in 1..131072
dim D = 64
input q : f32[B, S, H, D]
input k : f32[B, S, H, D]
input v : f32[B, S, H, D]
input do : f32[B, S, H, D]
s[b, h, i, j] = 0.125 * sum[d] q[b, i, h, d] * k[b, j, h, d]
p[b, h, i, j] = softmax[j)") +
         form.filter + R"(] s[b, h, i, j]
o[b, i, h, d] = sum[j] p[b, h, i, j] * v[b, j, h, d]
grad o with do wrt q -> dq, k -> dk, v -> dv
output dq : f32[B, S, H, D]
output dk : f32[B, S, H, D]
output dv : f32[B, S, H, D]
)" + (form.forward ? "output o : f32[B, S, H, D]\n" : "");
}

constexpr const char* machines[] = {"c", "sm_75", "sm_80", "sm_90a", "sm_100a"};

} // namespace

TEST_CASE("attention's backward pass stores nothing of queries x keys", "[backward]") {
  for (const Form& form : {Form{"causal", " where j <= i", true, 4, 3},
                           {"all keys", "", true, 5, 4},
                           {"a window", " where j <= i and i - j < 128", true, 4, 3},
                           {"causal, backward alone", " where j <= i", false, 4, 3},
                           {"all keys, backward alone", "", false, 4, 3}}) {
    DYNAMIC_SECTION(form.name) {
      derive(program(form), {{1, 1, 1}, {1, 2, 5}});
      for (const char* target : machines) {
        INFO(target);
        Compiled code = compiled(program(form), target);
        Graph& g = code.code.graph;
        const ExprId sequence = g.exprs.dim(DimId(2));
        // A core computes the scores of dk and dv once; matrix units do where they take the format
        // (test/simulate/stream_test.cpp), and these take f32 as it is.
        CHECK(code.kernels() == form.kernels - (target == std::string("c")));
        CHECK(code.stored().size() == form.stored);
        for (TensorId id : code.stored()) {
          INFO(g[id].name);
          CHECK(std::count(g[id].shape.begin(), g[id].shape.end(), sequence) == 1);
          CHECK(g[id].shape.size() == 3);
        }
        // Batches, heads and queries of 4 bytes: linear in the length of the sequence.
        for (int64_t length : {1024, 4096})
          CHECK(code.stored_bytes({2, 8, length}) ==
                static_cast<int64_t>(form.stored) * 2 * 8 * length * 4);
      }
    }
  }
}

// Attention, however it is written, is one pass over the keys with an online softmax: one kernel,
// and nothing of size queries × keys is stored (flash attention).
#include "derived.h"

using namespace tang;
using namespace tang::rediscover;

namespace {

const std::string head = R"(tg 1
graph attention
dim Sq in 1..4096, Sk in 0..4096
dim H = 2, D = 16, E = 24
input q : f32[Sq, H, D]
input k : f32[Sk, H, D]
input v : f32[Sk, H, E]
)";

struct Form {
  const char* name;
  const char* body;
  const char* output = "output o : f32[Sq, H, E]\n";
};

// The ways in which frameworks, papers and people write the same function.
const Form forms[] = {
    {"a plain softmax", R"(s[h,i,j] = sum[d] q[i,h,d]*k[j,h,d]
p[h,i,j] = softmax[j] s[h,i,j]
o[i,h,e] = sum[j] p[h,i,j]*v[j,h,e]
)"},
    {"one line", R"(o[i,h,e] = sum[j] softmax[j](0.25 * (sum[d] q[i,h,d]*k[j,h,d])) * v[j,h,e]
)"},
    {"a causal filter", R"(s[h,i,j] = 0.25 * sum[d] q[i,h,d]*k[j,h,d]
p[h,i,j] = softmax[j where j <= i] s[h,i,j]
o[i,h,e] = sum[j] p[h,i,j]*v[j,h,e]
)"},
    {"a causal mask of -inf", R"(s[h,i,j] = sum[d] q[i,h,d]*k[j,h,d]
t[h,i,j] = where(j <= i, 0.25*s[h,i,j], -inf)
p[h,i,j] = softmax[j] t[h,i,j]
o[i,h,e] = sum[j] p[h,i,j]*v[j,h,e]
)"},
    {"a scale behind the mask", R"(s[h,i,j] = sum[d] q[i,h,d]*k[j,h,d]
t[h,i,j] = where(j <= i, s[h,i,j], -inf)
p[h,i,j] = softmax[j](t[h,i,j] * 0.25)
o[i,h,e] = sum[j] p[h,i,j]*v[j,h,e]
)"},
    {"scaled queries", R"(qs[i,h,d] = q[i,h,d] * 0.25
s[h,i,j] = sum[d] qs[i,h,d]*k[j,h,d]
p[h,i,j] = softmax[j where j <= i] s[h,i,j]
o[i,h,e] = sum[j] p[h,i,j]*v[j,h,e]
)"},
    {"exp2 for exp", R"(s[h,i,j] = sum[d] q[i,h,d]*k[j,h,d]
t[h,i,j] = s[h,i,j] * 0.36
m[h,i] = max[j] t[h,i,j]
e[h,i,j] = exp2(t[h,i,j] - m[h,i])
l[h,i] = sum[j] e[h,i,j]
o[i,h,n] = (sum[j] e[h,i,j]*v[j,h,n]) / l[h,i]
)"},
    {"a scale behind the maximum", R"(s[h,i,j] = sum[d] q[i,h,d]*k[j,h,d]
m[h,i] = max[j] s[h,i,j]
e[h,i,j] = exp(0.25*(s[h,i,j] - m[h,i]))
l[h,i] = sum[j] e[h,i,j]
o[i,h,n] = (sum[j] e[h,i,j]*v[j,h,n]) / l[h,i]
)"},
    {"division in two steps", R"(s[h,i,j] = sum[d] q[i,h,d]*k[j,h,d]
m[h,i] = max[j] s[h,i,j]
e[h,i,j] = exp(s[h,i,j] - m[h,i])
l[h,i] = sum[j] e[h,i,j]
r[h,i] = 1 / l[h,i]
p[h,i,j] = e[h,i,j] * r[h,i]
o[i,h,n] = sum[j] p[h,i,j]*v[j,h,n]
)"},
    {"no maximum", R"(s[h,i,j] = sum[d] q[i,h,d]*k[j,h,d]
e[h,i,j] = exp(s[h,i,j])
l[h,i] = sum[j] e[h,i,j]
o[i,h,n] = sum[j] (e[h,i,j]/l[h,i])*v[j,h,n]
)"},
    {"a sink logit", R"(input sink : f32[H]
s[h,i,j] = 0.25 * sum[d] q[i,h,d]*k[j,h,d]
m[h,i] = max(max[j where j <= i] s[h,i,j], sink[h])
e[h,i,j] = where(j <= i, exp(s[h,i,j] - m[h,i]), 0)
l[h,i] = (sum[j] e[h,i,j]) + exp(sink[h] - m[h,i])
o[i,h,n] = sum[j] (e[h,i,j]/l[h,i])*v[j,h,n]
)"},
    {"ALiBi in a sliding window",
     R"(s[h,i,j] = 0.25 * (sum[d] q[i,h,d]*k[j,h,d]) + (j - i) / (h + 1.0)
p[h,i,j] = softmax[j where j <= i and i - j < 128] s[h,i,j]
o[i,h,e] = sum[j] p[h,i,j]*v[j,h,e]
)"},
    {"a bias behind a soft cap", R"(input bias : f32[H, Sq, Sk]
s[h,i,j] = 30*tanh((sum[d] q[i,h,d]*k[j,h,d])/30) + bias[h,i,j]
p[h,i,j] = softmax[j] s[h,i,j]
o[i,h,e] = sum[j] p[h,i,j]*v[j,h,e]
)"},
    {"a logsumexp", R"(s[h,i,j] = 0.25 * sum[d] q[i,h,d]*k[j,h,d]
z[h,i] = logsumexp[j] s[h,i,j]
o[i,h,e] = sum[j] exp(s[h,i,j] - z[h,i])*v[j,h,e]
)"},
    {"a log-softmax", R"(s[h,i,j] = 0.25 * sum[d] q[i,h,d]*k[j,h,d]
z[h,i,j] = log_softmax[j] s[h,i,j]
o[i,h,e] = sum[j] exp(z[h,i,j])*v[j,h,e]
)"},
    {"heads before queries", R"(s[h,i,j] = sum[d] q[i,h,d]*k[j,h,d]
p[h,i,j] = softmax[j] s[h,i,j]
o[h,i,e] = sum[j] p[h,i,j]*v[j,h,e]
)",
     "output o : f32[H, Sq, E]\n"},
};

} // namespace

TEST_CASE("attention is flash attention however it is written", "[attention]") {
  for (const Form& form : forms) {
    DYNAMIC_SECTION(form.name) {
      Derived d =
          derive(head + form.body + form.output, {{3, 5}, {1, 1}, {17, 2}, {5, 129}, {2, 0}});
      CHECK(d.kernels_on(d.gpu) == 1);
      CHECK(d.kernels_on(d.core) == 1);
      CHECK(d.intermediates().empty());
    }
  }
}

TEST_CASE("layouts of attention", "[attention]") {
  SECTION("keys transposed") {
    Derived d = derive(R"(tg 1
graph a
dim Sq in 1..4096, Sk in 1..4096
dim H = 2, D = 16
input q : f32[H, Sq, D]
input kt : f32[H, D, Sk]
input v : f32[H, Sk, D]
k[h,j,d] = kt[h,d,j]
s[h,i,j] = sum[d] q[h,i,d]*k[h,j,d]
p[h,i,j] = softmax[j] s[h,i,j]
o[h,i,e] = sum[j] p[h,i,j]*v[h,j,e]
output o : f32[H,Sq,D]
)",
                       {{3, 5}, {17, 2}, {1, 1}});
    CHECK(d.intermediates().empty());
    CHECK(d.kernels_on(d.gpu) == 1);
  }
  SECTION("heads merged into the width") {
    Derived d = derive(R"(tg 1
graph a
dim S in 1..4096
dim HD = 32
input q : f32[S, HD]
input k : f32[S, HD]
input v : f32[S, HD]
qh[h: 2,i,d: 16] = q[i, 16*h + d]
kh[h: 2,j,d: 16] = k[j, 16*h + d]
vh[h: 2,j,d: 16] = v[j, 16*h + d]
s[h,i,j] = sum[d] qh[h,i,d]*kh[h,j,d]
p[h,i,j] = softmax[j where j <= i] s[h,i,j]
oh[h,i,e] = sum[j] p[h,i,j]*vh[h,j,e]
o[i, c: 32] = oh[floordiv(c,16), i, mod(c,16)]
output o : f32[S, 32]
)",
                       {{3}, {17}, {1}});
    // The output's view of the heads is a copy.
    CHECK(d.kernels_on(d.gpu) <= 2);
    CHECK(d.degree() == 1);
  }
  SECTION("one query a sequence, grouped heads") {
    Derived d = derive(R"(tg 1
graph a
dim B in 1..64, S in 1..131072
dim KV = 2, G = 4, D = 64
input q : bf16[B, KV, G, D]
input k : bf16[B, S, KV, D]
input v : bf16[B, S, KV, D]
s[b,h,g,j] = 0.125 * sum[d] q[b,h,g,d]*k[b,j,h,d]
p[b,h,g,j] = softmax[j] s[b,h,g,j]
o[b,h,g,d] = sum[j] p[b,h,g,j]*v[b,j,h,d]
output o : bf16[B, KV, G, D]
)",
                       {{3, 5}, {1, 127}, {2, 1}});
    CHECK(d.intermediates().empty());
    CHECK(d.kernels_on(d.gpu) == 1);
  }
}

TEST_CASE("rows of scores keep their edge rules", "[attention]") {
  // A row without keys, a row of -inf, ties and NaN: equal to the naive program, bit by bit of
  // meaning. Data is given here, since random data has none of it.
  const std::string program = R"(tg 1
graph edges
const s : f32[6, 3] = [[1, 2, 3], [-inf, -inf, -inf], [-inf, 0, -inf], [5, 5, 5], [nan, 1, 2], [inf, 1, 2]]
input v : f32[3, 4]
p[i, j] = softmax[j where j < i] s[i, j]
o[i, d] = sum[j] p[i, j] * v[j, d]
r[i, j] = softmax[j] s[i, j]
u[i, d] = sum[j] r[i, j] * v[j, d]
output o : f32[6, 4]
output u : f32[6, 4]
)";
  Derived d = derive(program, {{}});
  CHECK(d.intermediates().empty());
}

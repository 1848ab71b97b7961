// Reductions with too few rows for a machine of many units run in parts.
#include "derived.h"
#include "rewrite/split_reduction.h"
#include "schedule/split.h"

using namespace tang;
using namespace tang::rediscover;

namespace {

schedule::Machine hopper() {
  schedule::Machine machine;
  machine.units = 132;
  return machine;
}

Derived in_parts(const std::string& text, const std::vector<int64_t>& dims,
                 bool batch_invariant = false) {
  Derived d = derive(text, {dims});
  Graph naive = graph_of(text);
  for (bool rows = true; rows;) {
    rows = false;
    std::vector<rewrite::Split> splits;
    for (const auto& p : schedule::choose_parts(d.graph, hopper(), batch_invariant)) {
      splits.push_back({p.node, p.axis, p.parts});
      rows |= p.parts == 0;
    }
    d.graph = rewrite::split_reduction(std::move(d.graph), splits);
  }
  verify(d.graph, "split_reduction");
  INFO(to_text(d.graph));
  CHECK(difference(naive, d.graph, dims) == "");
  d.gpu = schedule::schedule(d.graph, 2, hopper());
  return d;
}

const std::string decode = R"(tg 1
graph decode
dim B in 1..BATCH, S in 1..131072
dim KV = 2, G = 4, D = 16
input q : f32[B, KV, G, D]
input k : f32[B, S, KV, D]
input v : f32[B, S, KV, D]
s[b, h, g, j] = 0.25 * sum[d] q[b, h, g, d] * k[b, j, h, d]
p[b, h, g, j] = softmax[j] s[b, h, g, j]
o[b, h, g, d] = sum[j] p[b, h, g, j] * v[b, j, h, d]
output o : f32[B, KV, G, D]
)";

std::string decode_of(const std::string& batch) {
  std::string text = decode;
  return text.replace(text.find("BATCH"), 5, batch);
}

std::vector<ExprId> parts_of(const Derived& d) {
  std::vector<ExprId> found;
  for (const Node& node : d.graph.nodes)
    for (const Axis& axis : std::get<Comprehension>(node.definition).points)
      if (axis.name.find("_part") != std::string::npos) found.push_back(axis.extent);
  return found;
}

} // namespace

TEST_CASE("decoding splits its keys", "[parts]") {
  Derived d = in_parts(decode_of("8"), {2, 129});
  CHECK(d.kernels_on(d.gpu) == 2);
  CHECK(d.degree() == 1); // partial states of a fixed number of parts, no scores
  // Many rows fill the machine by themselves.
  std::string heads = decode_of("65536");
  heads.replace(heads.find("KV = 2, G = 4"), 13, "KV = 16, G = 8");
  Derived many = in_parts(heads, {2, 5});
  CHECK(many.kernels_on(many.gpu) == 1);
}

TEST_CASE("a deep product of few rows and columns is split-K", "[parts]") {
  Derived d = in_parts(R"(tg 1
graph deep
input x : f16[8, 65536]
input w : f16[65536, 8]
y[i, j] = sum[k] x[i, k] * w[k, j]
output y : f32[8, 8]
)",
                       {});
  CHECK(Derived::emitters(d.gpu).substr(0, 4) == "tile");
  CHECK(d.kernels_on(d.gpu) == 2);
  REQUIRE(parts_of(d).size() == 1);
  CHECK(*d.graph.exprs.as_integer(parts_of(d)[0]) >= 32);
}

TEST_CASE("a sum over a matrix is a tree", "[parts]") {
  Derived d = in_parts(R"(tg 1
graph norm
dim N in 1..100000, M in 1..100000
input x : f32[N, M]
y = sum[i, j] x[i, j] * x[i, j]
output y : f32
)",
                       {17, 33});
  CHECK(Derived::emitters(d.gpu) == "row row");
  CHECK(d.degree() == 1);
}

TEST_CASE("the batch does not choose the parts when it must not", "[parts]") {
  auto parts = [](const std::string& batch) {
    Derived d = in_parts(decode_of(batch), {1, 5}, true);
    auto found = parts_of(d);
    REQUIRE(found.size() == 1);
    return *d.graph.exprs.as_integer(found[0]);
  };
  CHECK(parts("2") == parts("65536"));
}

// Which reductions are contractions, and which point axes are rows, columns and batch.
#include "graph/text.h"
#include "scheduled.h"

using namespace tang::schedule::test;

namespace {

/// `batch 0; rows 1; columns 2` of the first node, or `none`.
std::string sides_text(const std::string& body) {
  Graph graph = equations_of(body);
  // The last reduction: what routes or masks stands in front.
  const Comprehension* c = nullptr;
  for (const Node& node : graph.nodes)
    if (const auto* found = std::get_if<Comprehension>(&node.definition))
      if (found->reduction) c = found;
  REQUIRE(c);
  auto sides = contraction(graph, *c);
  if (!sides) return "none";
  auto names = [&](const std::vector<size_t>& axes) {
    std::string text;
    for (size_t i : axes) text += c->points[i].name;
    return text;
  };
  return "batch " + names(sides->batch) + "; rows " + names(sides->m) + "; columns " +
         names(sides->n);
}

const std::string matrices = "dim M in 0..100000, N in 0..100000, K in 0..100000\n"
                             "input a : f32[M, K]\ninput b : f32[K, N]\n";

} // namespace

TEST_CASE("sides of products", "[contraction]") {
  CHECK(sides_text(matrices + "c[i, j] = sum[k] a[i, k] * b[k, j]\noutput c : f32[M, N]\n") ==
        "batch ; rows i; columns j");
  CHECK(sides_text(matrices + "c[j, i] = sum[k] a[i, k] * b[k, j]\noutput c : f32[N, M]\n") ==
        "batch ; rows j; columns i");
  CHECK(sides_text("dim B, M, N, K\ninput a : f32[B, M, K]\ninput b : f32[B, N, K]\n"
                   "c[e, i, j] = sum[k] a[e, i, k] * b[e, j, k]\noutput c : f32[B, M, N]\n") ==
        "batch e; rows i; columns j");
}

TEST_CASE("sides of attention with grouped heads", "[contraction]") {
  std::string head = "dim B, S, T\ndim H = 8, G = 4, D = 128\n"
                     "input q : bf16[B, S, H, G, D]\ninput k : bf16[B, T, H, D]\n";
  CHECK(sides_text(head + "s[b, h, g, i, j] = sum[d] q[b, i, h, g, d] * k[b, j, h, d]\n"
                          "output s : f32[B, H, G, S, T]\n") == "batch bh; rows gi; columns j");
  CHECK(sides_text("dim B, S, T\ndim H = 8, G = 4, D = 128\n"
                   "input p : f32[B, H, G, S, T]\ninput v : bf16[B, T, H, D]\n"
                   "o[b, i, h, g, d] = sum[j] p[b, h, g, i, j] * v[b, j, h, d]\n"
                   "output o : bf16[B, S, H, G, D]\n") == "batch bh; rows ig; columns d");
}

TEST_CASE("sides of a convolution", "[contraction]") {
  CHECK(sides_text("dim N, C, O, P\ninput x : f32[N, C, 2 * P, 2 * P]\ninput w : f32[O, C, 3, 3]\n"
                   "y[n, o, i: P, j: P] = sum[c, r, s] (x[n, c, 2*i + r - 1, 2*j + s - 1] else 0)"
                   " * w[o, c, r, s]\noutput y : f32[N, O, P, P]\n") ==
        "batch ; rows o; columns nij");
  SECTION("depthwise: no operand lacks the channel") {
    CHECK(sides_text("dim C, P\ninput x : f32[C, P + 2]\ninput w : f32[C, 3]\n"
                     "y[c, i: P] = sum[r] x[c, i + r] * w[c, r]\noutput y : f32[C, P]\n") ==
          "none");
  }
}

TEST_CASE("no contractions", "[contraction]") {
  SECTION("one operand needs every point") {
    CHECK(sides_text("dim T, E, H, F\ninput x : f32[T, H]\ninput wu : f32[E, H, F]\n"
                     "input id : i32[T, 2]\n"
                     "u[t, n, f] = sum[h] x[t, h] * wu[id[t, n], h, f]\n"
                     "output u : f32[T, 2, F]\n") == "none");
  }
  SECTION("a vector has no columns") {
    CHECK(sides_text("dim M, K\ninput a : f32[M, K]\ninput b : f32[K]\n"
                     "c[i] = sum[k] a[i, k] * b[k]\noutput c : f32[M]\n") == "none");
  }
  SECTION("the body uses indices") {
    CHECK(sides_text(matrices + "c[i, j] = sum[k] a[i, k] * b[k, j] * (i + j)\n"
                                "output c : f32[M, N]\n") == "none");
    CHECK(sides_text(matrices + "c[i, j] = sum[k] a[i, k] * b[k, j] * k\n"
                                "output c : f32[M, N]\n") == "none");
  }
  SECTION("filters, by data and by index") {
    CHECK(sides_text(matrices + "c[i, j] = sum[k where a[i, k] > 0] a[i, k] * b[k, j]\n"
                                "output c : f32[M, N]\n") == "none");
    CHECK(scheduled(matrices + "c[i, j] = sum[k where k <= i] a[i, k] * b[k, j]\n"
                               "output c : f32[M, N]\n")
              .text() == "point[c]");
  }
  SECTION("truth values, tuples, scans") {
    CHECK(sides_text(matrices + "c[i, j] = any[k] (a[i, k] < b[k, j])\noutput c : bool[M, N]\n") ==
          "none");
    CHECK(sides_text(matrices + "c[i, j] = argmax[k] a[i, k] * b[k, j]\n"
                                "output c : i32[M, N]\n") == "none");
  }
  SECTION("in place of an input") {
    CHECK(scheduled(matrices + "input z : f32[M, N]\n"
                               "c[i, j] = z[i, j] + sum[k] a[i, k] * b[k, j]\n"
                               "output c : f32[M, N] over z\n")
              .text() == "tile[c_sum] point[c]");
  }
}

TEST_CASE("other monoids and bodies contract alike", "[contraction]") {
  for (const char* body : {"min[k] (a[i, k] + b[k, j])", "max[k] abs(a[i, k] - b[k, j])",
                           "prod[k] (a[i, k] - exp(b[k, j]))"})
    CHECK(sides_text(matrices + "c[i, j] = " + body + "\noutput c : f32[M, N]\n") ==
          "batch ; rows i; columns j");
}

TEST_CASE("tiles only where something is reused", "[contraction]") {
  auto plan = [](const std::string& m, const std::string& n) {
    return as_written("dim M, N, K\ninput a : f32[" + m + ", K]\ninput b : f32[K, " + n +
                      "]\nc[i, j] = sum[k] a[i, k] * b[k, j]\noutput c : f32[" + m + ", " + n +
                      "]\n")
        .text();
  };
  CHECK(plan("M", "N") == "tile[c]");
  CHECK(plan("4", "N") == "tile[c]");
  CHECK(plan("3", "N") == "point[c]");
  CHECK(plan("M", "3") == "point[c]");
}

TEST_CASE("a product of matrices is no row, though both lie along the depth", "[contraction]") {
  for (const auto& machine : {gpu(), core()})
    CHECK(as_written("dim M, N, K\ninput a : f32[M, K]\ninput b : f32[N, K]\n"
                     "c[i, j] = sum[k] a[i, k] * b[j, k]\noutput c : f32[M, N]\n",
                     machine)
              .text() == "tile[c]");
  CHECK(as_written("dim M, K\ninput a : f32[M, K]\ninput b : f32[K]\n"
                   "c[i] = sum[k] a[i, k] * b[k]\noutput c : f32[M]\n")
            .text() == "row[c]");
}

TEST_CASE("a block's tiles fit its shared memory", "[contraction]") {
  // Every product brings two operands of its own.
  for (int products : {1, 4, 8, 40}) {
    std::string text = "dim M, N, K\n", body;
    for (int p = 0; p < products; ++p) {
      text += fmt::format("input a{0} : f64[M, K]\ninput b{0} : f64[K, N]\n", p);
      body += fmt::format("{}a{}[i, k] * b{}[k, j]", p ? " + " : "", p, p);
    }
    auto s = as_written(text + "c[i, j] = sum[k] (" + body + ")\noutput c : f64[M, N]\n");
    INFO(products << " products: " << s.text());
    if (s.kernel().emitter != tang::plan::Emitter::tile) continue;
    const auto& f = s.kernel().variants[0].fields;
    int64_t bytes = int64_t{f.block_k} * (f.block_m + f.block_n + 8) * 8 * products;
    CHECK(bytes <= gpu().shared_bytes);
    CHECK(f.block_m % f.thread_m == 0);
    CHECK(f.block_n % f.thread_n == 0);
  }
}

namespace {

/// 132 multiprocessors with asynchronous copies.
tang::schedule::Machine ampere() {
  tang::schedule::Machine machine = gpu();
  machine.target = "sm_80";
  machine.dynamic_shared_bytes = 166912;
  machine.units = 132;
  return machine;
}

/// `128x64 M<=256 | 128x128`: the tiles of a product of f32 and when they are taken.
std::string tiles(const std::string& m, const std::string& n, const std::string& type = "f32",
                  const std::string& body = "a[i, k] * b[k, j]") {
  auto s = as_written("dim M, N, K\ninput a : " + type + "[" + m + ", K]\ninput b : " + type +
                          "[K, " + n + "]\nc[i, j] = sum[k] " + body + "\noutput c : " + type +
                          "[" + m + ", " + n + "]\n",
                      ampere());
  std::string text;
  for (const auto& v : s.kernel().variants) {
    text += fmt::format("{}{}x{}", text.empty() ? "" : " | ", v.fields.block_m, v.fields.block_n);
    CHECK(v.fields.pipeline > 1);
    for (const auto& fact : v.when)
      text += fmt::format(" {}<={}", tang::graph::to_text(s.graph, fact.extent), fact.value);
  }
  return text;
}

} // namespace

TEST_CASE("tiles of plain contractions by size", "[contraction][plain]") {
  CHECK(tiles("M", "N") == "32x64 M<=64 | 128x64 M<=256 | 128x64 M<=1024 N<=2304 | 64x128 M<=2304 "
                           "| 128x128");
  // What is known is not asked for, and columns that are few decide.
  CHECK(tiles("300", "N") == "128x64 N<=2304 | 64x128");
  CHECK(tiles("200", "N") == "128x64");
  CHECK(tiles("M", "48") == "32x64");
  CHECK(tiles("M", "4096") == "32x64 M<=64 | 128x64 M<=256 | 64x128 M<=2304 | 128x128");
  // Waves of blocks: 256 and 272 of 128 x 128 on 132 multiprocessors, 528 of 64 x 128.
  CHECK(tiles("2048", "2048") == "128x128");
  CHECK(tiles("2049", "2047") == "64x128");
  CHECK(tiles("1024", "1024") == "128x64");
  CHECK(tiles("64", "4096") == "32x64");
  CHECK(tiles("16", "4096") == "16x64");
}

TEST_CASE("tiles of plain contractions that fit a thread's registers", "[contraction][plain]") {
  // Two words for each number: half as many points of a thread.
  CHECK(tiles("4096", "4096", "f64") == "128x64");
  // What is computed waits in registers for its slot, and so do two operands of either side.
  CHECK(tiles("4096", "4096", "f32", "exp(a[i, k]) * b[k, j]") == "128x64");
  CHECK(tiles("4096", "4096", "f32", "(a[i, k] * b[k, j] + exp(a[i, k]) * sin(b[k, j]))") ==
        "64x64");
}

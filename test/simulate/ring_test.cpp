// Contractions in tiles without matrix units, with chunks under way at once.
#include "support.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tang;
using namespace tang::simulate_test;

namespace {

using Sizes = std::vector<std::pair<std::string, int64_t>>;

struct Tile {
  int block_m, block_n, block_k, thread_m, thread_n, warp_m, warp_n, pipeline, raster;
};
const Tile tiles[] = {{16, 32, 4, 2, 4, 16, 16, 2, 1},  {8, 16, 4, 1, 4, 8, 16, 3, 2},
                      {32, 32, 2, 8, 4, 32, 32, 4, 1},  {64, 32, 16, 4, 8, 32, 32, 3, 4},
                      {32, 64, 8, 8, 8, 32, 64, 2, 1},  {16, 16, 16, 4, 2, 16, 16, 5, 1},
                      {64, 128, 8, 16, 8, 64, 64, 4, 1}};

std::string stated(const Tile& t) {
  return fmt::format("steps:\n- kernel: c\n  variants:\n  - fields: {{threads: {}, block_m: {}, "
                     "block_n: {}, block_k: {}, thread_m: {}, thread_n: {}, warp_m: {}, warp_n: "
                     "{}, raster: {}, pipeline: {}, stage: true}}\n",
                     (t.block_m / t.thread_m) * (t.block_n / t.thread_n), t.block_m, t.block_n,
                     t.block_k, t.thread_m, t.thread_n, t.warp_m, t.warp_n, t.raster, t.pipeline);
}

struct Form {
  const char *a, *b, *a_shape, *b_shape;
};
const Form forms[] = {{"i, k", "k, j", "M, K", "K, N"},
                      {"k, i", "k, j", "K, M", "K, N"},
                      {"i, k", "j, k", "M, K", "N, K"},
                      {"k, i", "j, k", "K, M", "N, K"}};

/// Over matrices in one of the forms; `$a` and `$b` in the body are their elements.
std::string contraction(const Form& f, std::string body, const char* type = "f32",
                        const char* result = "f32") {
  for (auto [name, index] : {std::pair("a", f.a), std::pair("b", f.b)})
    for (size_t at; (at = body.find(fmt::format("${}", name))) != std::string::npos;)
      body.replace(at, 2, fmt::format("{}[{}]", name, index));
  return fmt::format("tg 1\ngraph ring\ndim M in 0..4096, N in 0..4096, K in 0..4096\ninput a : "
                     "{0}[{1}]\ninput b : {0}[{2}]\nc[i, j] = {3}\noutput c : {4}[M, N]\n",
                     type, f.a_shape, f.b_shape, body, result);
}

interpret::Counts check(const std::string& text, const Sizes& sizes, const std::string& schedule,
                        bool bound = false, const std::string& target = "sm_80") {
  Compiled compiled = compile({text, "ring.tg", target, 2, sizes, bound, schedule, true});
  Outcome outcome = simulate(compiled, data_of(compiled, 7));
  CHECK(outcome.faults == std::vector<std::string>());
  interpret::Counts all;
  for (const auto& [name, counts] : outcome.report.kernels)
    for (const auto& [row, count] : counts.instructions) all.instructions[row] += count;
  return all;
}

bool copies(const interpret::Counts& counts) {
  for (const auto& [row, count] : counts.instructions)
    if (row.rfind("cp.async.ca", 0) == 0 && count > 0) return true;
  return false;
}

} // namespace

TEST_CASE("products of every form in stated tiles, at sizes that end anywhere", "[ring]") {
  const Sizes sizes[] = {{{"M", 1}, {"N", 2}, {"K", 3}},    {{"M", 17}, {"N", 3}, {"K", 1}},
                         {{"M", 2}, {"N", 127}, {"K", 17}}, {{"M", 33}, {"N", 129}, {"K", 18}},
                         {{"M", 64}, {"N", 32}, {"K", 32}}, {{"M", 129}, {"N", 17}, {"K", 2}}};
  for (const Form& form : forms)
    for (const Tile& tile : tiles) {
      std::string text = contraction(form, "sum[k] $a * $b");
      for (const Sizes& size : sizes) {
        INFO(form.a << "; " << form.b << "\n" << stated(tile));
        INFO(size[0].second << " x " << size[1].second << " x " << size[2].second);
        CHECK(copies(check(text, size, stated(tile))));
      }
      check(text, sizes[3], stated(tile), true);
    }
}

TEST_CASE("an empty sum, and no points", "[ring]") {
  std::string text = contraction(forms[0], "sum[k] $a * $b");
  check(text, {{"M", 5}, {"N", 6}, {"K", 0}}, stated(tiles[0]));
  check(text, {{"M", 0}, {"N", 6}, {"K", 9}}, stated(tiles[0]));
  check(text, {{"M", 5}, {"N", 0}, {"K", 9}}, stated(tiles[0]));
}

TEST_CASE("what is no term of another monoid is not combined", "[ring]") {
  // Zeros behind the last term would be the least, or make a product 0.
  for (const char* body : {"min[k] ($a + $b + 9)", "max[k] (0 - abs($a - $b) - 1)",
                           "prod[k] (1 + 0.1 * $a * $b)", "sum[k] ($a * $b + 2)"})
    for (const Form& form : forms)
      for (const Tile& tile : {tiles[0], tiles[2]}) {
        INFO(body << "\n" << stated(tile));
        CHECK(copies(
            check(contraction(form, body), {{"M", 19}, {"N", 35}, {"K", 13}}, stated(tile))));
      }
}

TEST_CASE("factors that are computed come through registers", "[ring]") {
  for (const Form& form : forms)
    for (const Tile& tile : {tiles[0], tiles[1], tiles[3]}) {
      Sizes sizes{{"M", 35}, {"N", 34}, {"K", 45}};
      INFO(form.a << "; " << form.b << "\n" << stated(tile));
      // One of two, both, and both formats of memory that is computed with as f32.
      CHECK(copies(check(contraction(form, "sum[k] exp($a) * $b"), sizes, stated(tile))));
      CHECK_FALSE(
          copies(check(contraction(form, "sum[k] ($a + 1) * sin($b)"), sizes, stated(tile))));
      CHECK_FALSE(copies(
          check(contraction(form, "min[k] ($a + $b)", "bf16", "bf16"), sizes, stated(tile))));
    }
}

TEST_CASE("several operands of a side, gathers, sums over several axes, wide formats", "[ring]") {
  const std::string dims =
      "tg 1\ngraph ring\ndim B in 1..8, M in 1..512, N in 1..512, K in 1..512\n";
  struct {
    std::string text;
    Sizes sizes;
  } const cases[] = {
      {dims + "input a : f32[M, K]\ninput d : f32[K, M]\ninput b : f32[K, N]\n"
              "c[i, j] = sum[k] (a[i, k] * b[k, j] + d[k, i] * b[k, j])\noutput c : f32[M, N]\n",
       {{"M", 19}, {"N", 33}, {"K", 21}, {"B", 1}}},
      {dims + "input a : f32[B, M, K]\ninput b : f32[B, K, N]\ninput v : f32[N]\n"
              "c[z, i, j] = max(v[j] + (sum[k] a[z, i, k] * b[z, k, j]), 0)\n"
              "output c : f32[B, M, N]\n",
       {{"M", 19}, {"N", 33}, {"K", 21}, {"B", 3}}},
      {dims + "input a : f32[M, K]\ninput p : i32[M] in 0..M-1\ninput b : f32[K, N]\n"
              "c[i, j] = sum[k] a[p[i], k] * b[k, j]\noutput c : f32[M, N]\n",
       {{"M", 19}, {"N", 33}, {"K", 21}, {"B", 1}}},
      {dims + "input a : f32[M + 2, B + 2, K]\ninput b : f32[N, 3, 3, K]\n"
              "c[y: M, x: B, j] = sum[r: 3, s: 3, k] a[y + r, x + s, k] * b[j, r, s, k]\n"
              "output c : f32[M, B, N]\n",
       {{"M", 5}, {"N", 19}, {"K", 5}, {"B", 7}}},
      {dims + "input a : f64[M, K]\ninput b : f64[N, K]\n"
              "c[i, j] = sum[k] a[i, k] * b[j, k]\noutput c : f64[M, N]\n",
       {{"M", 19}, {"N", 33}, {"K", 21}, {"B", 1}}},
      {dims + "input a : i32[M, K] in -99..99\ninput b : i32[K, N] in -99..99\n"
              "c[i, j] = sum[k] a[i, k] * b[k, j]\noutput c : i32[M, N]\n",
       {{"M", 19}, {"N", 33}, {"K", 21}, {"B", 1}}}};
  for (const auto& c : cases)
    for (const Tile& tile : {tiles[1], tiles[5]}) {
      INFO(c.text << stated(tile));
      check(c.text, c.sizes, stated(tile));
    }
}

TEST_CASE("the tiles that are chosen by size, at sizes of any other", "[ring]") {
  const Sizes sizes[] = {{{"M", 129}, {"N", 127}, {"K", 17}}, {{"M", 2}, {"N", 130}, {"K", 129}}};
  for (const Form& form : forms) {
    std::string text = contraction(form, "sum[k] $a * $b");
    for (const Sizes& size : sizes) {
      Compiled compiled = compile({text, "ring.tg", "sm_80:h200", 2, size, false, "", true});
      size_t variants = 0;
      for (const kernel::Step& step : compiled.program.steps)
        variants += std::get<kernel::Dispatch>(step.node).variants.size();
      CHECK(variants >= 5);
      driver::TestVectors data = data_of(compiled, 7);
      for (size_t variant = 0; variant < variants; ++variant) {
        INFO(form.a << "; " << form.b << ": variant " << variant);
        interpret::RunOptions options;
        options.only_variant = variant;
        CHECK(simulate(compiled, data, options).faults == std::vector<std::string>());
      }
      check(text, size, "", true, "sm_80:h200");
    }
  }
}

TEST_CASE("a long sum of f32 for few points is added up in parts", "[ring][parts]") {
  for (const Form& form : forms) {
    std::string text = contraction(form, "sum[k] $a * $b");
    Sizes sizes{{"M", 24}, {"N", 40}, {"K", 4096}};
    Compiled compiled = compile({text, "ring.tg", "sm_80:h200", 2, sizes, true, "", true});
    CHECK(compiled.program.steps.size() == 2);
    check(text, sizes, "", true, "sm_80:h200");
  }
  Compiled whole = compile({contraction(forms[0], "sum[k] $a * $b"),
                            "ring.tg",
                            "sm_80:h200",
                            2,
                            {{"M", 2048}, {"N", 2048}, {"K", 2048}},
                            true,
                            "",
                            true});
  CHECK(whole.program.steps.size() == 1);
}

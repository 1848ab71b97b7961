// Products on matrix units: all four ways in which operands lie, batches, epilogues, partial tiles.
#include "support.h"
#include <catch2/catch.hpp>
#include <limits>

using namespace tang;
using namespace tang::simulate_test;

namespace {

using Sizes = std::vector<std::pair<std::string, int64_t>>;

struct Form {
  std::string name, a, b, a_shape, b_shape;
};
const Form forms[] = {{"row times column", "i, k", "k, j", "M, K", "K, N"},
                      {"column times column", "k, i", "k, j", "K, M", "K, N"},
                      {"row times row", "i, k", "j, k", "M, K", "N, K"},
                      {"column times row", "k, i", "j, k", "K, M", "N, K"}};

std::string product(const Form& f, const std::string& type, bool batch, bool epilogue) {
  std::string z = batch ? "z, " : "", e = batch ? "B, " : "";
  std::string sum = fmt::format("sum[k] a[{0}{1}] * b[{0}{2}]", z, f.a, f.b);
  if (epilogue) sum = fmt::format("max(({}) + bias[j], 0)", sum);
  return fmt::format("tg 1\ngraph product\n"
                     "dim {}M in 0..8192, N in 0..8192, K in 0..8192\n"
                     "input a : {}[{}{}]\ninput b : {}[{}{}]\n{}"
                     "c[{}i, j] = {}\noutput c : {}[{}M, N]\n",
                     batch ? "B in 1..64, " : "", type, e, f.a_shape, type, e, f.b_shape,
                     epilogue ? "input bias : f32[N]\n" : "", z, sum, epilogue ? "f32" : type, e);
}

bool uses_units(const Outcome& outcome) {
  for (const auto& [name, counts] : outcome.report.kernels)
    for (const auto& [row, count] : counts.instructions)
      if (row.rfind("mma.", 0) == 0 && count > 0) return true;
  return false;
}

void check(const std::string& text, const Sizes& sizes, const std::string& target,
           const std::string& schedule = "", std::optional<size_t> variant = {},
           bool bound = false) {
  Compiled compiled = compile({text, "product.tg", target, 2, sizes, bound, schedule, true});
  interpret::RunOptions options;
  options.only_variant = variant;
  Outcome outcome = simulate(compiled, data_of(compiled, 7), options);
  CHECK(outcome.faults == std::vector<std::string>());
  CHECK(uses_units(outcome));
}

} // namespace

TEST_CASE("products of every form, with partial tiles", "[products]") {
  for (const Form& form : forms)
    for (const char* type : {"f16", "bf16"}) {
      INFO(form.name << ", " << type);
      bool half = type[0] == 'f';
      std::string text = product(form, type, false, half);
      check(text, {{"M", 72}, {"N", 136}, {"K", 200}}, half ? "sm_80" : "sm_90a");
      check(text, {{"M", 8}, {"N", 8}, {"K", 8}}, "sm_80", "", 2);
    }
}

TEST_CASE("the large tile, and grids of several blocks", "[products]") {
  // Rows of blocks that run side by side, the last group with fewer.
  check(product(forms[0], "f16", false, true), {{"M", 264}, {"N", 136}, {"K", 72}}, "sm_80", "", 2);
  check(product(forms[3], "bf16", false, false), {{"M", 264}, {"N", 136}, {"K", 72}}, "sm_90a");
}

TEST_CASE("batches", "[products]") {
  for (const Form& form : forms) {
    INFO(form.name);
    check(product(form, "f16", true, true), {{"B", 3}, {"M", 40}, {"N", 24}, {"K", 80}}, "sm_80");
  }
}

TEST_CASE("an empty sum is 0, and no rows are nothing", "[products]") {
  std::string text = product(forms[0], "f16", false, true);
  Compiled compiled =
      compile({text, "product.tg", "sm_80", 2, {{"M", 72}, {"N", 136}, {"K", 0}}, false, "", true});
  CHECK(simulate(compiled, data_of(compiled, 3)).faults == std::vector<std::string>());
  compiled.dims = {0, 136, 16};
  CHECK(simulate(compiled, data_of(compiled, 3)).faults == std::vector<std::string>());
}

TEST_CASE("stated tiles: rings of two to five chunks, one warp and many", "[products]") {
  struct Tile {
    int block_m, block_n, block_k, warp_m, warp_n, pipeline, raster;
  };
  const Tile tiles[] = {{32, 32, 32, 32, 32, 2, 1},
                        {64, 32, 32, 32, 16, 5, 2},
                        {64, 64, 64, 16, 32, 3, 4},
                        {32, 64, 64, 16, 16, 2, 1}};
  for (const Form& form : forms)
    for (const Tile& t : tiles) {
      int threads = 32 * (t.block_m / t.warp_m) * (t.block_n / t.warp_n);
      std::string schedule = fmt::format(
          "steps:\n- kernel: c\n  variants:\n  - fields: {{threads: {}, vector: 8, block_m: "
          "{}, block_n: {}, block_k: {}, precision: f16, warp_m: {}, warp_n: {}, raster: {}, "
          "pipeline: {}, stage: true}}\n",
          threads, t.block_m, t.block_n, t.block_k, t.warp_m, t.warp_n, t.raster, t.pipeline);
      INFO(form.name << "\n" << schedule);
      std::string text = product(form, "f16", false, true);
      for (const char* dim : {"M", "N", "K"})
        text.replace(text.find(fmt::format("{} in 0..8192", dim)), 12,
                     fmt::format("{} in 0..8192 step 8", dim));
      check(text, {{"M", 72}, {"N", 88}, {"K", 104}}, "sm_80", schedule);
    }
}

TEST_CASE("lines that begin anywhere stay on matrix units", "[products][unaligned]") {
  for (const Form& form : forms) {
    std::string text = product(form, "f16", false, true);
    // One dim after the other is odd; the rest would allow vectors.
    const Sizes odd[] = {{{"M", 17}, {"N", 8}, {"K", 16}},   {{"M", 16}, {"N", 3}, {"K", 40}},
                         {{"M", 8}, {"N", 24}, {"K", 33}},   {{"M", 129}, {"N", 127}, {"K", 65}},
                         {{"M", 1}, {"N", 1}, {"K", 1}},     {{"M", 2}, {"N", 130}, {"K", 31}},
                         {{"M", 127}, {"N", 257}, {"K", 3}}, {{"M", 255}, {"N", 9}, {"K", 129}}};
    for (const Sizes& sizes : odd) {
      INFO(form.name << " " << sizes[0].second << " " << sizes[1].second << " " << sizes[2].second);
      check(text, sizes, "sm_80");
    }
    INFO(form.name);
    check(text, odd[3], "sm_90a", "", {}, true);
    check(product(form, "bf16", true, false), {{"B", 2}, {"M", 33}, {"N", 17}, {"K", 35}}, "sm_80");
  }
}

TEST_CASE("no variant of a product is left to scalar tiles", "[products][unaligned]") {
  for (const Form& form : forms) {
    Compiled compiled = compile({product(form, "bf16", false, false),
                                 "product.tg",
                                 "sm_80",
                                 2,
                                 {{"M", 8}, {"N", 8}, {"K", 8}},
                                 false,
                                 "",
                                 true});
    for (const kernel::Kernel& k : compiled.program.kernels) {
      INFO(form.name << ": " << k.name);
      CHECK(kernel::to_text(k).find("mma.") != std::string::npos);
    }
  }
}

TEST_CASE("odd sizes: an empty sum, and what is not finite", "[products][unaligned]") {
  std::string text = product(forms[1], "f16", false, true);
  Compiled compiled =
      compile({text, "product.tg", "sm_80", 2, {{"M", 33}, {"N", 17}, {"K", 0}}, false, "", true});
  CHECK(simulate(compiled, data_of(compiled, 3)).faults == std::vector<std::string>());
  compiled.dims = {33, 17, 35};
  driver::TestVectors data = data_of(compiled, 5);
  data.inputs[0].reals[40] = std::numeric_limits<double>::infinity();
  data.inputs[1].reals[20] = std::numeric_limits<double>::quiet_NaN();
  evaluate_again(compiled, data);
  CHECK(simulate(compiled, data).faults == std::vector<std::string>());
}

TEST_CASE("a long sum for few points is added up in parts", "[products][parts]") {
  for (const Form& form : forms)
    for (const Sizes& sizes :
         {Sizes{{"M", 24}, {"N", 40}, {"K", 8192}}, Sizes{{"M", 4}, {"N", 129}, {"K", 4096}}}) {
      INFO(form.name);
      std::string text = product(form, "bf16", false, true);
      check(text, sizes, "sm_80", "", {}, true);
      Compiled compiled = compile({text, "product.tg", "sm_80", 2, sizes, true, "", true});
      CHECK(compiled.program.slots.size() == 1);
      CHECK(compiled.program.steps.size() == 2);
    }
  // Enough tiles, or too short a sum: one kernel.
  for (const Sizes& sizes :
       {Sizes{{"M", 2048}, {"N", 2048}, {"K", 2048}}, Sizes{{"M", 24}, {"N", 40}, {"K", 128}}}) {
    Compiled compiled = compile(
        {product(forms[0], "f16", false, true), "product.tg", "sm_80", 2, sizes, true, "", true});
    CHECK(compiled.program.slots.empty());
  }
}

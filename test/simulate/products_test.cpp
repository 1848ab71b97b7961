// Products on matrix units: all four ways in which operands lie, batches, epilogues, partial tiles.
#include "interpret/formats.h"
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
           const std::string& schedule = "", std::optional<size_t> variant = {}, bool bound = false,
           double tolerance = 0) {
  Compiled compiled = compile({text, "product.tg", target, 2, sizes, bound, schedule, true});
  interpret::RunOptions options;
  options.only_variant = variant;
  driver::TestVectors data = data_of(compiled, 7);
  data.tolerances[0] = std::max(data.tolerances[0], tolerance);
  Outcome outcome = simulate(compiled, data, options);
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

TEST_CASE("addresses of copies begin with what stands still", "[products][order_offsets]") {
  Compiled compiled = compile({product(forms[0], "bf16", false, false),
                               "product.tg",
                               "sm_80",
                               2,
                               {{"M", 256}, {"N", 256}, {"K", 256}},
                               true,
                               "",
                               true});
  std::string text = kernel::to_text(compiled.program);
  // A pointer, what moves with the loop over chunks, what an unrolled loop knows.
  CHECK_THAT(text, Catch::Contains("b[0 + (bn*128 + chunk.2*8 + row.2*256) + k*16384 + (49152 + "
                                   "s*2048)]"));
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

namespace {

std::string split_product(const Form& form, bool epilogue = false,
                          const char* budget = "rel 1e-5") {
  return product(form, "f32", false, epilogue) + fmt::format("budget c : {}\n", budget);
}
/// What products of pieces of bf16 keep, which take half as long.
constexpr const char* wide_budget = "rel 1e-4";

struct Size {
  int64_t m, n, k;
};
Compiled compiled_for(const std::string& text, const std::string& target, const Size& size) {
  Sizes dims{{"M", size.m}, {"N", size.n}, {"K", size.k}};
  return compile({text, "product.tg", target, 2, dims, false, "", true});
}

int64_t count_of(const Outcome& outcome, std::string_view wanted) {
  int64_t sum = 0;
  for (const auto& [name, counts] : outcome.report.kernels)
    for (const auto& [row, count] : counts.instructions)
      if (row == wanted) sum += count;
  return sum;
}
constexpr const char *tf32_row = "mma.m16n8k8.f32.tf32", *bf16_row = "mma.m16n8k16.f32.bf16";

/// By how much the largest output is off, beside itself, when each factor is one tf32.
double error_of_single(const Form& form, const driver::TestVectors& data) {
  const interpret::Array &a = data.inputs[0], &b = data.inputs[1], &c = data.outputs[0];
  int64_t m = c.shape[0], n = c.shape[1];
  bool ta = form.a == "k, i", tb = form.b == "j, k";
  int64_t depth = ta ? a.shape[0] : a.shape[1];
  double worst = 0, largest = 0;
  auto at = [](const interpret::Array& x, int64_t row, int64_t column) {
    return interpret::cut_tf32(x.as_real(row * x.shape[1] + column));
  };
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += (ta ? at(a, k, i) : at(a, i, k)) * (tb ? at(b, j, k) : at(b, k, j));
      worst = std::max(worst, std::abs(sum - c.as_real(i * n + j)));
      largest = std::max(largest, std::abs(c.as_real(i * n + j)));
    }
  return worst / largest;
}

} // namespace

TEST_CASE("f32 under a budget runs as three products of pieces, far nearer than one", "[split]") {
  struct {
    const char *budget, *row;
    double tight, nearer; ///< what f32 leaves open beside the pieces, and one tf32 product by far
    int64_t depth;        ///< of one product
  } const ways[] = {{"rel 1e-5", tf32_row, 2e-6, 50, 8}, {wide_budget, bf16_row, 3e-5, 3, 16}};
  for (const auto& way : ways)
    for (const Form& form : forms) {
      INFO(form.name << ", " << way.row);
      Compiled compiled =
          compiled_for(split_product(form, false, way.budget), "sm_80", {68, 76, 108});
      driver::TestVectors data = data_of(compiled, 11);
      data.tolerances[0] = way.tight;
      CHECK(error_of_single(form, data) > way.nearer * way.tight);
      Outcome outcome = simulate(compiled, data);
      CHECK(outcome.faults == std::vector<std::string>());
      // 2 x 2 blocks of 2 x 2 warps, 2 x 4 products, 4 chunks of 32: each thrice.
      int64_t products = 3 * 4 * 4 * 8 * 4 * 32 / way.depth;
      for (const char* row : {tf32_row, bf16_row})
        CHECK(count_of(outcome, row) == (row == way.row ? products : 0));
      // Sizes that cannot be copied 16 bytes at a time run as f32.
      compiled.dims = {67, 61, 33};
      data = data_of(compiled, 11);
      data.tolerances[0] = way.tight;
      outcome = simulate(compiled, data);
      CHECK(outcome.faults == std::vector<std::string>());
      for (const char* row : {tf32_row, bf16_row}) CHECK(count_of(outcome, row) == 0);
    }
}

TEST_CASE("split products: the large tile, an epilogue, an empty sum", "[split]") {
  for (const char* budget : {"rel 1e-5", wide_budget}) {
    Compiled compiled =
        compiled_for(split_product(forms[0], true, budget), "sm_90a", {1028, 132, 40});
    driver::TestVectors data = data_of(compiled, 5);
    if (budget == wide_budget) data.tolerances[0] = 3e-5;
    Outcome outcome = simulate(compiled, data);
    CHECK(outcome.faults == std::vector<std::string>());
    CHECK(count_of(outcome, budget == wide_budget ? bf16_row : tf32_row) > 0);
    compiled.dims = {72, 136, 0};
    CHECK(simulate(compiled, data_of(compiled, 3)).faults == std::vector<std::string>());
  }
}

TEST_CASE("split products of what is not finite are those of f32", "[split]") {
  const char* budget = GENERATE(false, true) ? wide_budget : "rel 1e-5";
  Compiled compiled = compiled_for(split_product(forms[0], false, budget), "sm_80", {40, 24, 40});
  driver::TestVectors data = data_of(compiled, 9);
  auto &a = data.inputs[0].reals, &b = data.inputs[1].reals;
  auto at = [](size_t row, size_t column, size_t columns) { return row * columns + column; };
  const double inf = std::numeric_limits<double>::infinity();
  a[at(0, 3, 40)] = inf, a[at(1, 5, 40)] = -inf;
  a[at(2, 7, 40)] = std::numeric_limits<double>::quiet_NaN();
  a[at(4, 3, 40)] = inf, a[at(4, 5, 40)] = inf;
  // Exact in one piece, so that its rest is 0, and much larger than 1 with a rest.
  b[at(3, 0, 24)] = 1, b[at(3, 1, 24)] = -0x1.00fffep90, b[at(3, 2, 24)] = 0;
  b[at(5, 0, 24)] = -inf, b[at(5, 6, 24)] = inf;
  // The largest f32 rounds to infinity in tf32 and bf16.
  a[at(8, 11, 40)] = 0x1.fffffep127, a[at(9, 11, 40)] = -0x1.fffffep127;
  for (size_t j = 0; j < 24; ++j) b[at(11, j, 24)] = 0x1p-100 * double(j % 5);
  evaluate_again(compiled, data);
  // One product is larger than all others: the bound, not what a sum of many leaves.
  if (budget == wide_budget) data.tolerances[0] = 1e-4;
  Outcome outcome = simulate(compiled, data);
  CHECK(outcome.faults == std::vector<std::string>());
  CHECK(count_of(outcome, budget == wide_budget ? bf16_row : tf32_row) > 0);
}

TEST_CASE("without a budget f32 stays f32", "[split]") {
  Compiled compiled = compiled_for(product(forms[0], "f32", false, false), "sm_80", {40, 24, 40});
  Outcome outcome = simulate(compiled, data_of(compiled, 9));
  CHECK(outcome.faults == std::vector<std::string>());
  CHECK(count_of(outcome, tf32_row) == 0);
}

TEST_CASE("stated tiles of split products", "[split]") {
  for (const Form& form : forms)
    for (bool narrow : {false, true}) {
      INFO(form.name << (narrow ? " of bf16" : " of tf32"));
      std::string text = split_product(form, false, narrow ? wide_budget : "rel 1e-5");
      for (const char* dim : {"M", "N", "K"})
        text.replace(text.find(fmt::format("{} in 0..8192", dim)), 12,
                     fmt::format("{} in 0..8192 step 4", dim));
      check(text, {{"M", 68}, {"N", 44}, {"K", 52}}, "sm_80",
            fmt::format("steps:\n- kernel: c\n  variants:\n  - fields: {{threads: 64, vector: 4, "
                        "block_m: 32, block_n: 32, block_k: {}, precision: {}, warp_m: 32, "
                        "warp_n: 16, pipeline: 2, stage: true}}\n",
                        narrow ? 32 : 16, narrow ? "bf16x3" : "tf32x3"),
            {}, false, narrow ? 3e-5 : 0);
    }
}

TEST_CASE("tiles that a wider search finds", "[products][search]") {
  struct {
    int64_t m, n, k;
    std::string target;
  } const sizes[] = {{16, 512, 64, "sm_80"},
                     {200, 24, 80, "sm_90a"},
                     {128, 264, 64, "sm_80:h200"},
                     {16, 32, 1024, "sm_80"}};
  size_t others = 0;
  for (const auto& size : sizes)
    for (const Form& form : forms) {
      INFO(form.name << " " << size.m << " x " << size.n << " x " << size.k);
      std::string text = product(form, "bf16", false, true);
      Sizes dims{{"M", size.m}, {"N", size.n}, {"K", size.k}};
      Compiled usual = compile({text, "product.tg", size.target, 2, dims, true, "", true}),
               searched = compile({text, "product.tg", size.target, 3, dims, true, "", true});
      others += kernel::to_text(usual.program) != kernel::to_text(searched.program);
      Outcome outcome = simulate(searched, data_of(searched, 7));
      CHECK(outcome.faults == std::vector<std::string>());
      CHECK(uses_units(outcome));
    }
  CHECK(others > 10);
}

// -O3: the same model over every legal tile. No choice of it is modelled slower than that of -O2.
#include "schedule/legal.h"
#include "schedule/product_tiles.h"
#include "scheduled.h"
#include <filesystem>
#include <map>

using namespace tang::schedule;
using namespace tang::schedule::test;
namespace plan = tang::plan;

namespace {

MatrixProduct half_product() {
  MatrixProduct product;
  product.precision = plan::Precision::bf16;
  return product;
}

/// Rates of an H200 and of an A100 (targets/devices/), as the driver hands them over.
Machine rates(bool search, int64_t cache, int64_t products, int64_t shared, int load) {
  Machine machine;
  machine.cache_bytes_per_us = cache, machine.product_flop_per_us = products;
  machine.load_ns = load, machine.search = search;
  if (search) machine.shared_bytes_per_us = shared;
  return machine;
}
Machine hopper(bool search) {
  Machine machine = rates(search, 8430000, 1070530560, 33454080, 254);
  machine.target = "sm_90a", machine.units = 132, machine.dynamic_shared_bytes = 232448;
  return machine;
}
Machine ampere(bool search) {
  Machine machine = rates(search, 14438400, 311869440, 19491840, 140);
  machine.target = "sm_80", machine.units = 108, machine.dynamic_shared_bytes = 166912;
  return machine;
}

std::string product(int m, int n, int k) {
  return fmt::format("tg 1\ngraph product\ndim M = {}, N = {}, K = {}\n"
                     "input a : bf16[M, K]\ninput b : bf16[K, N]\n"
                     "c[i, j] = sum[k] a[i, k] * b[k, j]\noutput c : bf16[M, N]\n",
                     m, n, k);
}

Tile tile_of(const plan::Fields& f) {
  int bits = info(plan::format_of(f.precision)).bits;
  return {f.block_m, f.block_n, f.block_k * bits / 8, f.warp_m, f.warp_n, f.pipeline, f.raster};
}

std::vector<const plan::KernelPlan*> kernels_of(const plan::Plan& plan) {
  std::vector<const plan::KernelPlan*> kernels;
  for (const plan::Step& step : plan.steps)
    if (const auto* kernel = std::get_if<plan::KernelPlan>(&step.node)) kernels.push_back(kernel);
  return kernels;
}

/// A sample with its dims bound to what multiples of vectors allow, 256 or fewer.
Graph bound_sample(const std::filesystem::path& path) {
  std::string text = file_text("samples/" + path.filename().string());
  std::vector<tang::parse::DimBinding> dims;
  for (const Dim& dim : graph_of(text).dims) {
    int64_t size = std::clamp<int64_t>(256 / dim.step * dim.step, dim.lo, dim.hi);
    dims.push_back({dim.name, size, size, 1});
  }
  return rewritten(graph_of(text, dims));
}

} // namespace

TEST_CASE("a few rows of a wide matrix get another tile than that of -O2", "[search]") {
  // One wave of an H200's 132 multiprocessors: 64 blocks of 64 x 128, or 128 of 64 x 64, which copy
  // two thirds of the bytes each.
  Graph graph = rewritten(graph_of(product(128, 4096, 4096)));
  plan::Plan few = schedule(graph, 2, hopper(false)), all = schedule(graph, 3, hopper(true));
  const plan::KernelPlan &usual = *kernels_of(few)[0], &searched = *kernels_of(all)[0];
  const plan::Fields &before = usual.variants[0].fields, &after = searched.variants[0].fields;
  CHECK(before.block_m == 64);
  CHECK(before.block_n == 128);
  CHECK(after.block_m == 64);
  CHECK(after.block_n == 64);
  ProductSizes sizes{128, 4096, 4096, 1, 16};
  CHECK(searched.modelled_ns == time_ns(tile_of(after), sizes, hopper(true)));
  CHECK(searched.modelled_ns < time_ns(tile_of(before), sizes, hopper(true)));
  CHECK(searched.reason.find("least modelled time") != std::string::npos);
  CHECK(usual.modelled_ns == 0);
}

TEST_CASE("a product that fills the machine keeps the tile that was measured", "[search]") {
  Graph graph = rewritten(graph_of(product(4096, 4096, 4096)));
  for (auto machine : {hopper, ampere})
    CHECK(kernels_of(schedule(graph, 3, machine(true)))[0]->variants[0].fields ==
          kernels_of(schedule(graph, 2, machine(false)))[0]->variants[0].fields);
}

TEST_CASE("sizes that are not bound are scheduled as at -O2", "[search]") {
  for (const auto& name : {"matmul", "linear_relu", "transformer_block", "softmax"}) {
    Graph graph = rewritten(graph_of(file_text(std::string("samples/") + name + ".tg")));
    CHECK(to_text(graph, schedule(graph, 3, ampere(true))) ==
          to_text(graph, schedule(graph, 2, ampere(false))));
  }
}

TEST_CASE("no sample is modelled slower, and all tiles are legal", "[search]") {
  size_t products = 0, others = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TANGC_SOURCE_DIR) + "/samples")) {
    if (entry.path().extension() != ".tg" || entry.path().stem() == "transformer_36") continue;
    INFO(entry.path().filename().string());
    Graph graph = bound_sample(entry.path());
    for (auto machine : {hopper, ampere}) {
      Machine wide = machine(true), narrow = machine(false);
      wide.allow_tf32 = narrow.allow_tf32 = true; // most samples are f32
      plan::Plan plan = schedule(graph, 3, wide), few = schedule(graph, 2, narrow);
      CHECK(to_text(graph, plan) == to_text(graph, schedule(graph, 3, wide)));
      // Kernels that share a launch are those of equal fields, which may be others now.
      std::map<std::vector<uint32_t>, const plan::KernelPlan*> usual;
      for (const plan::KernelPlan* kernel : kernels_of(few)) usual[kernel->nodes] = kernel;
      for (const plan::KernelPlan* kernel : kernels_of(plan)) {
        if (kernel->beside || !usual.contains(kernel->nodes)) continue;
        const plan::KernelPlan &after = *kernel, &before = *usual.at(kernel->nodes);
        REQUIRE(after.variants.size() == before.variants.size());
        if (after.modelled_ns == 0) {
          for (size_t v = 0; v < after.variants.size(); ++v)
            CHECK(after.variants[v].fields == before.variants[v].fields);
          continue;
        }
        const plan::Variant& variant = after.variants[0];
        CHECK(why_illegal(graph, graph.nodes, after, variant, true, wide) == std::nullopt);
        const auto& c = std::get<Comprehension>(graph.nodes[after.nodes[0]].definition);
        auto sides = sides_of(graph, c);
        ProductSizes sizes{*fixed_size(graph, c, sides.m),
                           *fixed_size(graph, c, sides.n),
                           1,
                           *fixed_size(graph, c, sides.batch),
                           info(plan::format_of(variant.fields.precision)).bits,
                           plan::bits_of_product(variant.fields.precision)};
        for (const Axis& axis : c.reduction->axes)
          sizes.depth *= *graph.exprs.as_integer(axis.extent);
        // Sums that share a tile are columns of one.
        int sums = static_cast<int>(c.reduction->body.size());
        sizes.cols *= sums;
        auto whole = [&](const plan::Fields& f) {
          Tile tile = tile_of(f);
          tile.block_n *= sums, tile.warp_n *= sums;
          return tile;
        };
        int64_t least = time_ns(whole(variant.fields), sizes, wide);
        CHECK(after.modelled_ns == least);
        CHECK(least <= time_ns(whole(before.variants[0].fields), sizes, wide));
        ++products, others += variant.fields != before.variants[0].fields;
      }
    }
  }
  CHECK(products > 20);
  CHECK(others > 5);
}

TEST_CASE("no sum in parts is modelled slower", "[search]") {
  size_t sooner = 0;
  for (auto machine : {hopper, ampere}) {
    Machine wide = machine(true);
    std::vector<Tile> others = searched_tiles(half_product(), wide);
    REQUIRE(others.size() > 300);
    for (int64_t rows : {64, 256, 1024})
      for (int64_t cols : {128, 768, 4096})
        for (int64_t depth : {256, 3072, 65536}) {
          ProductSizes sizes{rows, cols, depth, 1, 16};
          int64_t few = best_parts(whole_tiles, {}, sizes, 1, wide),
                  all = best_parts(whole_tiles, others, sizes, few, wide);
          INFO(rows << " x " << cols << " x " << depth << " in " << few << " and " << all);
          int64_t before = time_in_parts(whole_tiles, {}, sizes, few, wide),
                  after = time_in_parts(whole_tiles, others, sizes, all, wide);
          CHECK(after <= before);
          sooner += after < before;
        }
  }
  CHECK(sooner > 10);
}

TEST_CASE("what makes a tile slow", "[search]") {
  // 128 blocks of 64 x 64 on 132 multiprocessors.
  ProductSizes sizes{512, 1024, 2048, 1, 16};
  Machine machine = ampere(true);
  machine.units = 132;
  auto ns = [&](Tile tile) { return time_ns(tile, sizes, machine); };
  const Tile tile{64, 64, 128, 32, 32, 4, 1};
  SECTION("units without a warp") {
    Tile two = tile;
    two.warp_n = 64;
    machine.shared_bytes_per_us = 0;
    CHECK(ns(two) > ns(tile));
  }
  SECTION("warps that read the same lines over and over") {
    Tile many = tile;
    many.warp_m = many.warp_n = 16;
    CHECK(ns(many) > ns(tile));
  }
  SECTION("a ring too short to cover a load") {
    machine.load_ns = 600;
    Tile two = tile;
    two.pipeline = 2;
    CHECK(ns(two) > ns(tile));
  }
  SECTION("registers") {
    // 8 warps of 64 x 64 have 255 registers a thread, 16 have 128.
    CHECK(registers_of({256, 128, 128, 64, 64, 3, 1}, plan::Precision::bf16) <= 255);
    for (const Tile& t : searched_tiles(half_product(), machine))
      CHECK(registers_of(t, plan::Precision::bf16) * t.warps() * 32 <= machine.registers);
  }
  SECTION("blocks that run at once touch few lines") {
    ProductSizes large{8192, 8192, 8192, 1, 16};
    CHECK(best_raster({128, 128, 128, 64, 32, 4, 1}, large, machine) == 8);
    CHECK(best_raster(tile, sizes, machine) == 1);
  }
}

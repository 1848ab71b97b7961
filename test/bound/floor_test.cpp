// Times: exact arithmetic, allowances for caches, the unit that counts, monotonicity.
#include "run.h"
#include "targets/find.h"

using namespace tang::bound::test;
using namespace tang::bound;
using tang::targets::CapacityKey;
using tang::targets::Device;
using tang::targets::device_named;
using tang::targets::RoofKey;

namespace {

const Device& h200() {
  return *device_named("h200");
}
const Term* term(const Floor& floor, const std::string& name) {
  for (const Term& t : floor.terms)
    if (t.name == name) return &t;
  return nullptr;
}

} // namespace

TEST_CASE("times round down to picoseconds", "[bound]") {
  CHECK(picoseconds(Amount(3), 2e12) == 1);
  CHECK(picoseconds(Amount(1), 2e12) == 0);
  CHECK(picoseconds(Amount(0), 1e12) == 0);
  CHECK(picoseconds(Amount(), 1e12) == 0);
  CHECK(picoseconds(4.5e-7) == 450000);
  // No overflow: 2^63 bytes at one byte a second is more than the range holds.
  CHECK(picoseconds(Amount(INT64_MAX), 1) == INT64_MAX);
}

TEST_CASE("cold floors leave one cache of stores, warm floors one cache of loads too", "[bound]") {
  int64_t l2 = h200().capacity(CapacityKey::l2_bytes);
  int64_t launch = picoseconds(h200().roof(RoofKey::launch_s)->hard);
  int64_t latency = picoseconds(h200().roof(RoofKey::dram_latency_s)->hard);
  double rate = h200().roof(RoofKey::dram_bytes_per_s)->hard;
  Work work;
  work.read_bytes = 4 * l2, work.written_bytes = 3 * l2;
  Floor floor = floor_of(work, h200());
  CHECK(floor.bound_by == "dram");
  CHECK(floor.ps == picoseconds(Amount(6 * l2), rate) + latency);
  CHECK(floor.warm_ps == picoseconds(Amount(5 * l2), rate));
  work.read_bytes = 100, work.written_bytes = 100;
  floor = floor_of(work, h200());
  CHECK(floor.bound_by == "launch");
  CHECK(floor.ps == launch);
}

TEST_CASE("a contraction is held to the fastest unit that its formats allow", "[bound]") {
  auto name = [](const Device& device, int bits, Scalar scalar = Scalar::real,
                 bool narrow = false) {
    Contraction c;
    c.bits = bits, c.scalar = scalar, c.both_narrow = narrow;
    auto unit = fastest_unit(device, c);
    return unit ? std::string(unit->name) : std::string();
  };
  CHECK(name(h200(), 8) == "bf16_mma_flop_per_s");
  CHECK(name(h200(), 11) == "f16_mma_flop_per_s");
  CHECK(name(h200(), 4) == "f8_mma_flop_per_s");
  // f32 on matrix units in three products: faster than outside of them.
  Contraction f32;
  auto unit = fastest_unit(h200(), f32);
  REQUIRE(unit);
  CHECK(unit->per_second >= h200().roof(RoofKey::f32_flop_per_s)->hard);
  CHECK(name(h200(), 8, Scalar::integer, true) == "int8_mma_op_per_s");
  // No roof speaks of a processor's byte products.
  CHECK(name(*device_named("generic-x86"), 8, Scalar::integer, true) == "");
  CHECK(name(*device_named("generic-x86"), 24) == "f32_flop_per_s");
}

TEST_CASE("a large product is bound by operations, a small one by its launch", "[bound]") {
  Bound b = bound_sample("matmul");
  Numbers large{8192, 8192, 8192};
  Floor floor = floor_of(b.analysis, b.analysis.kernels[0], large, h200());
  CHECK(floor.bound_by == "bf16_mma");
  CHECK(floor.ps == picoseconds(Amount(2 * 8192LL * 8192 * 8192), 1.07053056e15));
  CHECK(floor_of(b.analysis, b.analysis.kernels[0], Numbers{16, 16, 16}, h200()).bound_by ==
        "launch");
}

TEST_CASE("special functions are assumed and never part of a floor", "[bound]") {
  Bound b = bound_of("dim N in 1..1000000000\ninput x : f32[N]\n"
                     "y = sum[i] exp(exp(exp(exp(exp(exp(x[i]))))))\noutput y : f32\n");
  Floor floor = floor_of(b.analysis, b.analysis.kernels[0], Numbers{100000000}, h200());
  const Term* sfu = term(floor, "sfu");
  REQUIRE(sfu);
  CHECK(sfu->kind == TermKind::assumed);
  CHECK(sfu->ps > 0);
  CHECK(floor.bound_by == "dram");
}

TEST_CASE("floors never fall when a dim grows", "[bound]") {
  for (const char* sample : {"matmul", "softmax", "gqa_causal", "conv2d", "sliding_window"}) {
    Bound b = bound_sample(sample, false);
    INFO(sample);
    for (size_t d = 0; d < b.graph.dims.size(); ++d) {
      int64_t before = 0;
      for (int64_t n : {1, 2, 16, 64, 256, 1024}) {
        Numbers dims;
        for (const Dim& dim : b.graph.dims) dims.push_back(std::min<int64_t>(64, dim.hi));
        dims[d] = std::min(n, b.graph.dims[d].hi);
        int64_t now = floor_of_whole(b.analysis, dims, h200()).ps;
        INFO(b.graph.dims[d].name << " = " << n);
        CHECK(now >= before);
        before = now;
      }
    }
  }
}

TEST_CASE("the whole graph's floor is below any plan's", "[bound]") {
  for (const char* sample : {"matmul", "softmax", "layer_norm", "attention", "swiglu_mlp",
                             "lstm_sequence", "kmeans_step", "moe", "selective_scan"}) {
    Bound b = bound_sample(sample, false);
    INFO(sample);
    Numbers dims;
    for (const Dim& dim : b.graph.dims) dims.push_back(std::clamp<int64_t>(96, dim.lo, dim.hi));
    std::vector<Floor> floors;
    int64_t moved = 0;
    for (const KernelBound& kernel : b.analysis.kernels) {
      floors.push_back(floor_of(b.analysis, kernel, dims, h200()));
      CHECK(floors.back().warm_ps <= floors.back().ps);
      int64_t least =
          b.value(kernel.traffic.read_bytes, dims) + b.value(kernel.traffic.written_bytes, dims);
      CHECK(least <= b.value(kernel.moved_bytes, dims));
      moved += least;
    }
    int64_t whole =
        b.value(b.analysis.whole.read_bytes, dims) + b.value(b.analysis.whole.written_bytes, dims);
    CHECK(whole <= b.value(b.analysis.fused_bytes, dims));
    CHECK(floor_of_whole(b.analysis, dims, h200()).warm_ps <=
          critical_path_ps(b.analysis, floors, dims));
  }
}

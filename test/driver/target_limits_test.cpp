// What a target refuses, one thing at a time.
#include "driver/target_limits.h"
#include <catch2/catch.hpp>

using namespace tang;
using namespace tang::kernel;
using targets::Feature;
using targets::LimitKey;

namespace {

/// A kernel of one block that stores `1 + 1` in a format.
Kernel kernel_in(Type type, graph::ElemType stored, int threads = 1) {
  Kernel k;
  k.name = "k";
  ValueStore& v = k.values;
  TensorId y = k.add({"y", stored, Memory::global, {v.integer(1)}, {v.integer(1)}, true});
  k.params = {y};
  VarId thread = v.add_var({"thread", Type::index, 0, threads - 1});
  k.threads = {{thread, threads}};
  VarId x = v.add_var({"x", type, {}, {}});
  ValueId place[] = {v.integer(0)};
  k.body.push_back({Let{x, v.real(1, type)}});
  k.body.push_back({Store{{y, {place[0]}}, v.binary(Op::add, v.variable(x), v.variable(x)), {}}});
  return k;
}

targets::Target small_target() {
  targets::Target target;
  target.name = "small";
  target.features = {Feature::hardware_grid, Feature::shared_memory, Feature::f64};
  auto set = [&](LimitKey key, int64_t value) {
    target.limits[static_cast<size_t>(key)].value = value;
  };
  set(LimitKey::max_threads_per_block, 8);
  set(LimitKey::static_shared_bytes, 64);
  set(LimitKey::max_buffers, 2);
  return target;
}

/// What is said of a kernel; empty where it can run.
std::string fault(const Kernel& kernel, const targets::Target& target) {
  Sink sink;
  bool good = driver::check_kernel(kernel, {}, target, sink);
  CHECK(good == sink.ok());
  return good ? "" : sink.diagnostics()[0].message;
}

} // namespace

TEST_CASE("a target without f64 refuses what computes in it or stores it", "[target_limits]") {
  targets::Target target = small_target();
  Kernel single = kernel_in(Type::f32, graph::ElemType::f32),
         wide = kernel_in(Type::f64, graph::ElemType::f32),
         stores = kernel_in(Type::f32, graph::ElemType::f64);
  for (const Kernel* k : {&single, &wide, &stores}) CHECK(fault(*k, target) == "");
  target.features.remove(Feature::f64);
  CHECK(fault(single, target) == "");
  CHECK(fault(wide, target) == "small cannot run kernel `k`: it computes in f64");
  CHECK(fault(stores, target) == "small cannot run kernel `k`: it computes in f64");
}

TEST_CASE("threads, shared memory, shuffles and buffers have limits", "[target_limits]") {
  targets::Target target = small_target();
  CHECK(fault(kernel_in(Type::f32, graph::ElemType::f32, 8), target) == "");
  CHECK(fault(kernel_in(Type::f32, graph::ElemType::f32, 9), target) ==
        "small cannot run kernel `k`: its blocks have 9 threads, and 8 are the most");
  for (int64_t elements : {16, 17}) {
    Kernel k = kernel_in(Type::f32, graph::ElemType::f32);
    ValueStore& v = k.values;
    TensorId part = k.add(
        {"part", graph::ElemType::f32, Memory::shared, {v.integer(elements)}, {v.integer(1)}});
    k.body.insert(k.body.begin(), {Allocate{part}});
    CHECK(fault(k, target) == (elements == 16 ? ""
                                              : "small cannot run kernel `k`: it uses 68 bytes of "
                                                "shared memory, and 64 are the most"));
  }
  Kernel shuffles = kernel_in(Type::f32, graph::ElemType::f32);
  VarId other = shuffles.values.add_var({"o", Type::f32, {}, {}});
  shuffles.body.push_back({Shfl{other, shuffles.values.real(1, Type::f32), 1}});
  CHECK(fault(shuffles, target) ==
        "small cannot run kernel `k`: it exchanges values within a warp");
  Kernel many = kernel_in(Type::f32, graph::ElemType::f32);
  many.params = {many.params[0], many.params[0], many.params[0]};
  CHECK(fault(many, target) ==
        "small cannot run kernel `k`: it reads and writes 3 tensors, and 2 are the most");
}

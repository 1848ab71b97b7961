#pragma once
// A small kernel for tests: y[i] = 2*x[i] on blocks of four threads, two elements each, with a
// tail.
#include "kernel/program.h"

namespace tang::kernel::test {

struct Sample {
  Kernel kernel;
  VarId n, block, thread, lane;
  TensorId x, y, acc;

  explicit Sample(std::optional<int64_t> extent = {}) {
    ValueStore& s = kernel.values;
    kernel.name = "twice";
    kernel.comment = {"y = 2*x"};
    n = s.add_var({"N", Type::index, 1, 1000});
    ValueId size = extent ? s.integer(*extent) : s.variable(n);
    block = s.add_var({"block", Type::index, 0, {}});
    thread = s.add_var({"thread", Type::index, 0, 3});
    lane = s.add_var({"v", Type::index, 0, 1});
    x = kernel.add({"x", ElemType::f16, Memory::global, {size}, {s.integer(1)}, false, 16});
    y = kernel.add({"y", ElemType::f32, Memory::global, {size}, {s.integer(1)}, true, 16});
    acc = kernel.add(
        {"acc", ElemType::f32, Memory::registers, {s.integer(2)}, {s.integer(1)}, false, 16});
    kernel.params = {x, y};
    kernel.scalars = {{n}};
    kernel.blocks = {{block, s.ceildiv(size, 8)}};
    kernel.threads = {{thread, 4}};
    body();
  }

  ValueId place() {
    ValueStore& s = kernel.values;
    return s.add(
        s.add(s.mul(s.variable(block), s.integer(8)), s.mul(s.variable(thread), s.integer(2))),
        s.variable(lane));
  }

  void body() {
    ValueStore& s = kernel.values;
    ValueId in_range = s.less(place(), kernel[x].shape[0]);
    VarId loaded = s.add_var({"a", Type::f32, {}, {}}), twice = s.add_var({"b", Type::f32, {}, {}});
    ValueId lane_place[] = {s.variable(lane)};
    ValueId element = s.element(acc, Type::f32, lane_place);
    Body inner;
    inner.push_back({Load{loaded, {x, {place()}}, in_range, s.real(0, Type::f32)}});
    inner.push_back({Store{{acc, {s.variable(lane)}}, s.variable(loaded), {}}});
    inner.push_back({Let{twice, s.binary(Op::mul, element, s.real(2, Type::f32))}});
    inner.push_back({Store{{y, {place()}}, s.variable(twice), in_range}});
    Spec spec{"UnaryPointwise", "y = 2*x", {y}, {x}, {}};
    spec.body.push_back({For{lane, s.integer(0), s.integer(2), s.integer(1), LoopKind::unrolled,
                             std::move(inner)}});
    kernel.body.push_back({Allocate{acc}});
    kernel.body.push_back({std::move(spec)});
  }
};

} // namespace tang::kernel::test

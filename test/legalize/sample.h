#pragma once
// y[i, j] = x[layer, i, j] + 1 for i < N, j < 6, on blocks (j tiles, i, one), threads (4, 1): a
// tail in j, a constant leading place, and modes of one place.
#include "kernel/program.h"

namespace tang::kernel::test {

struct Sample {
  static constexpr int columns = 6;
  VarId n, bj, bi, b1, tj, t1;

  Kernel kernel(int64_t layer, int threads = 4) {
    Kernel k;
    ValueStore& s = k.values;
    k.name = "layer" + std::to_string(layer);
    n = s.add_var({"N", Type::index, 0, 1000});
    ValueId size = s.variable(n), width = s.integer(columns), one = s.integer(1);
    int64_t tiles = (columns + threads - 1) / threads;
    bj = s.add_var({"bj", Type::index, 0, tiles - 1});
    bi = s.add_var({"i", Type::index, 0, 999});
    b1 = s.add_var({"b1", Type::index, 0, {}});
    tj = s.add_var({"tj", Type::index, 0, threads - 1});
    t1 = s.add_var({"t1", Type::index, 0, {}});
    ValueId plane = s.mul(size, width);
    TensorId x = k.add({"x",
                        ElemType::f32,
                        Memory::global,
                        {s.integer(3), size, width},
                        {plane, width, one},
                        false,
                        16});
    TensorId y = k.add({"y", ElemType::f32, Memory::global, {size, width}, {width, one}, true, 16});
    TensorId r = k.add({"r",
                        ElemType::f32,
                        Memory::registers,
                        {one, s.integer(2)},
                        {s.integer(2), one},
                        false,
                        16});
    k.params = {x, y};
    k.scalars = {{n}};
    k.blocks = {{bj, s.integer(tiles)}, {bi, size}, {b1, one}};
    k.threads = {{tj, threads}, {t1, 1}};
    ValueId j = s.add(s.mul(s.variable(bj), s.integer(threads)), s.variable(tj));
    ValueId i = s.add(s.variable(bi), s.add(s.variable(b1), s.variable(t1)));
    VarId a = s.add_var({"a", Type::f32, {}, {}});
    ValueId zero = s.integer(0), inside = s.less(j, width);
    ValueId at[] = {zero, one};
    k.body.push_back({Allocate{r}});
    k.body.push_back({Load{a, {x, {s.integer(layer), i, j}}, inside, s.real(0, Type::f32)}});
    k.body.push_back(
        {Store{{r, {zero, one}}, s.binary(Op::add, s.variable(a), s.real(1, Type::f32)), {}}});
    k.body.push_back({Store{{y, {i, j}}, s.element(r, Type::f32, at), inside}});
    return k;
  }

  /// One launch per kernel; each reads `x` and writes its own `y`.
  Program program(std::vector<Kernel> kernels, int64_t most = 1000) {
    Program p;
    p.name = "model";
    ValueStore& h = p.values;
    VarId dim = h.add_var({"N", Type::i64, 0, most});
    p.dims = {dim};
    ValueId size = h.variable(dim), plane = h.mul(size, h.integer(columns, Type::i64));
    p.buffers.push_back({Buffer::Kind::argument,
                         "x",
                         ElemType::f32,
                         h.mul(plane, h.integer(3, Type::i64)),
                         {},
                         false,
                         16,
                         0});
    for (Kernel& kernel : kernels) {
      BufferId y(static_cast<uint32_t>(p.buffers.size()));
      p.buffers.push_back({Buffer::Kind::argument,
                           "y" + std::to_string(y.value),
                           ElemType::f32,
                           plane,
                           {},
                           true,
                           16,
                           0});
      Dispatch d;
      d.name = kernel.name;
      Variant v;
      v.kernel = KernelId(static_cast<uint32_t>(p.kernels.size()));
      v.bindings = {{BufferId(0), h.integer(0, Type::i64)}, {y, h.integer(0, Type::i64)}};
      v.scalars = {size};
      v.blocks = {h.integer(kernel.values.as_integer(kernel.blocks[0].extent).value(), Type::i64),
                  size, h.integer(1, Type::i64)};
      d.variants.push_back(std::move(v));
      p.steps.push_back({std::move(d)});
      p.kernels.push_back(std::move(kernel));
    }
    return p;
  }
};

} // namespace tang::kernel::test

#include "base/check.h"
#include "kernel/verify.h"
#include "sample.h"
#include <catch2/catch.hpp>

using namespace tang::kernel;
using tang::kernel::test::Sample;

namespace {

/// The loop over the lanes of a sample, and its statements: load, store, let, store.
For& lanes(Kernel& kernel) {
  return std::get<For>(std::get<Spec>(kernel.body[1].node).body[0].node);
}
Load& load(Kernel& kernel) {
  return std::get<Load>(lanes(kernel).body[0].node);
}
Store& result(Kernel& kernel) {
  return std::get<Store>(lanes(kernel).body[3].node);
}

std::string fault(const Kernel& kernel) {
  try {
    verify(kernel, "test");
  } catch (const tang::InternalError& e) {
    std::string text = e.what();
    return text.substr(0, text.find('\n'));
  }
  return "none";
}

std::string uncovered(const Kernel& kernel) {
  Report report = check_coverage(kernel);
  return report.unproved.empty() ? "none" : report.unproved[0];
}

} // namespace

TEST_CASE("a correct kernel is correct", "[verify]") {
  for (std::optional<int64_t> extent : {std::optional<int64_t>(), {64}, {63}, {1}}) {
    Sample sample(extent);
    CHECK(fault(sample.kernel) == "none");
    Report ranges = check_ranges(sample.kernel);
    INFO(to_text(sample.kernel));
    CHECK(ranges.unproved.empty());
    CHECK(ranges.proved == 4); // x, y, and acc written and read
    CHECK(uncovered(sample.kernel) == "none");
  }
}

TEST_CASE("structural faults are named", "[verify]") {
  Sample s;
  Kernel& k = s.kernel;
  ValueStore& v = k.values;
  SECTION("a variable before its definition") {
    std::swap(lanes(k).body[1], lanes(k).body[0]);
    CHECK(fault(k) == "after `test`: kernel `twice`: `a` is used where it has no value");
  }
  SECTION("a variable behind its scope") {
    k.body.push_back({Let{v.add_var({"late", Type::index, {}, {}}), v.variable(s.lane)}});
    CHECK(fault(k).find("`v` is used where it has no value") != std::string::npos);
  }
  SECTION("a variable twice") {
    k.body.push_back({Let{s.lane, v.integer(0)}});
    CHECK(fault(k).find("`v` is defined twice") != std::string::npos);
  }
  SECTION("rank") {
    load(k).src.coordinates.push_back(v.integer(0));
    CHECK(fault(k).find("`x` of rank 1 has 2 coordinates") != std::string::npos);
  }
  SECTION("a register tensor that is not allocated") {
    k.body.erase(k.body.begin());
    CHECK(fault(k).find("`acc` is used where it does not exist") != std::string::npos);
  }
  SECTION("a store to an input") {
    result(k).dst.tensor = s.x;
    CHECK(fault(k).find("`x` is stored to and not marked written") != std::string::npos);
  }
  SECTION("a constant coordinate outside") {
    k.body.push_back({Store{{s.acc, {v.integer(2)}}, v.real(0, Type::f32), {}}});
    CHECK(fault(k).find("coordinate 0 of `acc` is always out of range") != std::string::npos);
  }
  SECTION("a value of another type") {
    load(k).otherwise = v.integer(0);
    CHECK(fault(k).find("`a` is f32 or else index") != std::string::npos);
  }
  SECTION("a copy inside memory") {
    k.body.push_back({Copy{{s.y, {v.integer(0)}}, {s.x, {v.integer(0)}}, 4, {}}});
    CHECK(fault(k).find("does not move between registers and memory") != std::string::npos);
  }
}

TEST_CASE("threads meet only where none is missing", "[verify]") {
  Sample s;
  ValueStore& v = s.kernel.values;
  auto with = [&](Stmt inner, ValueId condition) {
    Kernel k = s.kernel;
    If branch{condition, {}, {}};
    branch.then.push_back(std::move(inner));
    k.body.push_back({std::move(branch)});
    return fault(k);
  };
  VarId o = v.add_var({"o", Type::index, {}, {}});
  Shfl shuffle{o, v.variable(s.n), 1};
  ValueId uniform = v.less(v.variable(s.block), v.variable(s.n));
  ValueId by_thread = v.less(v.variable(s.thread), v.variable(s.n));
  CHECK(with({Barrier{}}, uniform) == "none");
  CHECK(with({Barrier{}}, by_thread).find("a barrier stands where threads of a block part") !=
        std::string::npos);
  CHECK(with({shuffle}, uniform) == "none");
  CHECK(with({shuffle}, by_thread).find("a shuffle stands where threads of a group part") !=
        std::string::npos);
  // Rows of 32 threads may part from each other, but not at a barrier.
  VarId row = v.add_var({"row", Type::index, 0, 3});
  s.kernel.threads = {{s.thread, 32}, {row, 4}};
  ValueId by_row = v.less(v.variable(row), v.variable(s.n));
  CHECK(with({shuffle}, by_row) == "none");
  CHECK(with({Barrier{}}, by_row) != "none");
}

TEST_CASE("what is not proved in range is said", "[verify]") {
  Sample s;
  SECTION("no guard") {
    load(s.kernel).predicate = {};
  }
  SECTION("a guard that is too wide") {
    ValueStore& v = s.kernel.values;
    load(s.kernel).predicate = v.binary(Op::le, s.place(), v.variable(s.n));
  }
  Report report = check_ranges(s.kernel);
  REQUIRE(report.unproved.size() == 1);
  CHECK(report.unproved[0] == "coordinate 0 of `x` in kernel `twice` is not proved in range");
  CHECK(report.proved == 3);
}

TEST_CASE("alternatives of a predicate are proved one by one", "[verify]") {
  Sample s;
  ValueStore& v = s.kernel.values;
  ValueId in = load(s.kernel).predicate, other = v.less(v.variable(s.block), v.integer(3));
  ValueId opposite = v.unary(Op::logical_not, other);
  auto either = [&](ValueId a, ValueId b) { return v.binary(Op::logical_or, a, b); };
  auto unproved = [&](ValueId predicate) {
    load(s.kernel).predicate = predicate;
    return check_ranges(s.kernel).unproved.size();
  };
  CHECK(unproved(either(v.both(in, other), v.both(opposite, in))) == 0);
  CHECK(unproved(v.both(either(other, opposite), in)) == 0);
  CHECK(unproved(either(v.both(in, other), opposite)) == 1);
  CHECK(unproved(either(in, v.both(other, v.less(v.variable(s.block), v.integer(0))))) == 0);
}

TEST_CASE("what is never reached touches nothing", "[verify]") {
  Sample s;
  ValueStore& v = s.kernel.values;
  auto unproved = [&](int64_t last) {
    // n < place and place <= last: only where last > n, which is at least 1.
    load(s.kernel).predicate =
        v.both(v.less(v.variable(s.n), s.place()), v.binary(Op::le, s.place(), v.integer(last)));
    return check_ranges(s.kernel).unproved.size();
  };
  CHECK(unproved(1) == 0);
  CHECK(unproved(100000) == 1);
}

TEST_CASE("what may not be written once is said", "[coverage]") {
  Sample s;
  Kernel& k = s.kernel;
  ValueStore& v = k.values;
  const std::string head = "`y` in kernel `twice` is not proved to be written exactly once: ";
  SECTION("no guard") {
    result(k).predicate = {};
    CHECK(uncovered(k) == head + "its last block is not guarded");
  }
  SECTION("too few blocks") {
    k.blocks[0].extent = v.binary(Op::floordiv, v.variable(s.n), v.integer(8));
    CHECK(uncovered(k) == head + "its blocks may not reach every element");
  }
  SECTION("a gap between blocks") {
    result(k).dst.coordinates[0] =
        v.add(v.mul(v.variable(s.block), v.integer(16)),
              v.add(v.mul(v.variable(s.thread), v.integer(2)), v.variable(s.lane)));
    result(k).predicate = v.less(result(k).dst.coordinates[0], v.variable(s.n));
    CHECK(uncovered(k) == head + "its coordinates are no numerals");
  }
  SECTION("one element by several threads") {
    k.threads.push_back({v.add_var({"copy", Type::index, 0, 1}), 2});
    CHECK(uncovered(k) ==
          head + "it is written for several values of a coordinate that it does not depend on");
    // One of them is fine.
    result(k).predicate = v.both(
        result(k).predicate, v.binary(Op::eq, v.variable(k.threads[1].coordinate), v.integer(1)));
    CHECK(uncovered(k) == "none");
  }
  SECTION("a condition that leaves elements out") {
    result(k).predicate = v.both(result(k).predicate, v.less(v.integer(0), s.place()));
    CHECK(uncovered(k) == head + "a condition may exclude elements");
  }
  SECTION("a branch that leaves elements out") {
    If branch{v.less(v.integer(2), v.variable(s.n)), std::move(k.body), {}};
    k.body.clear();
    k.body.push_back({std::move(branch)});
    CHECK(uncovered(k) == head + "a condition may exclude elements");
  }
  SECTION("twice") {
    lanes(k).body.push_back({result(k)});
    CHECK(uncovered(k) == head + "several statements store to it");
  }
}

namespace {

/// z[i, j] = 0 on threads numbered through, as the point emitter does: flat -> (i, j), in vectors
/// of `width` along j.
Kernel flat_kernel(int width, bool divisible) {
  Kernel k;
  k.name = "flat";
  ValueStore& v = k.values;
  VarId n = v.add_var({"N", Type::index, 0, 5000}), m = v.add_var({"M", Type::index, 0, 5000});
  k.scalars = {{n}, {m}};
  ValueId one = v.integer(1), columns = divisible ? v.integer(32) : v.variable(m);
  TensorId z = k.add(
      {"z", ElemType::f32, Memory::global, {v.variable(n), columns}, {columns, one}, true, 16});
  TensorId r = k.add({"r", ElemType::f32, Memory::registers, {v.integer(width)}, {one}, false, 16});
  k.params = {z};
  ValueId vectors = v.binary(Op::floordiv, columns, v.integer(width));
  ValueId total = v.mul(v.variable(n), vectors);
  VarId block = v.add_var({"block", Type::index, 0, {}}),
        thread = v.add_var({"thread", Type::index, 0, 127});
  k.blocks = {{block, v.ceildiv(total, 128)}};
  k.threads = {{thread, 128}};
  VarId flat = v.add_var({"flat", Type::index, 0, {}}), i = v.add_var({"i", Type::index, 0, {}}),
        j = v.add_var({"j", Type::index, 0, {}});
  k.body.push_back({Allocate{r}});
  k.body.push_back(
      {Let{flat, v.add(v.mul(v.variable(block), v.integer(128)), v.variable(thread))}});
  If tail{v.less(v.variable(flat), total), {}, {}};
  tail.then.push_back({Delinearize{{i, j}, v.variable(flat), {v.variable(n), vectors}}});
  tail.then.push_back({Copy{{z, {v.variable(i), v.mul(v.variable(j), v.integer(width))}},
                            {r, {v.integer(0)}},
                            width,
                            {}}});
  k.body.push_back({std::move(tail)});
  return k;
}

} // namespace

TEST_CASE("coordinates split off a flat number are put together again", "[coverage]") {
  for (int width : {1, 4}) {
    Kernel k = flat_kernel(width, width > 1);
    INFO(to_text(k));
    CHECK(fault(k) == "none");
    CHECK(check_ranges(k).unproved.empty());
    CHECK(uncovered(k) == "none");
  }
  // Vectors do not reach the end of a row that they do not divide.
  CHECK(uncovered(flat_kernel(4, false)) != "none");
}

TEST_CASE("stores at constant distances are one", "[coverage]") {
  // The loop over lanes unrolled: two stores, one element apart.
  Sample s;
  Kernel& k = s.kernel;
  ValueStore& v = k.values;
  auto store = [&](int64_t lane) {
    ValueId place = v.add(
        v.add(v.mul(v.variable(s.block), v.integer(8)), v.mul(v.variable(s.thread), v.integer(2))),
        v.integer(lane));
    return Stmt{Store{{s.y, {place}}, v.real(0, Type::f32), v.less(place, v.variable(s.n))}};
  };
  k.body.clear();
  k.body.push_back(store(0));
  CHECK(uncovered(k) != "none");
  k.body.push_back(store(1));
  CHECK(uncovered(k) == "none");
  SECTION("one too many") {
    k.body.push_back(store(2));
  }
  SECTION("the same twice") {
    k.body.push_back(store(1));
  }
  SECTION("a gap") {
    k.body[1] = store(2);
  }
  SECTION("one without a guard") {
    std::get<Store>(k.body[1].node).predicate = {};
  }
  SECTION("one under a condition") {
    Store& second = std::get<Store>(k.body[1].node);
    second.predicate = v.both(second.predicate, v.less(v.variable(s.block), v.integer(3)));
  }
  CHECK(uncovered(k) != "none");
}

TEST_CASE("threads that stride over a row cover it", "[coverage]") {
  Kernel k;
  k.name = "stride";
  ValueStore& v = k.values;
  ValueId n = v.variable({"N", Type::index, 0, 5000});
  k.scalars = {{VarId(v[n].ref)}};
  TensorId z = k.add({"z", ElemType::f32, Memory::global, {n}, {v.integer(1)}, true, 16});
  k.params = {z};
  VarId thread = v.add_var({"thread", Type::index, 0, 127}),
        j = v.add_var({"j", Type::index, 0, 4999});
  k.threads = {{thread, 128}};
  auto body = [&](int64_t step) {
    For loop{j, v.variable(thread), n, v.integer(step), LoopKind::serial, {}};
    loop.body.push_back({Store{{z, {v.variable(j)}}, v.real(0, Type::f32), {}}});
    k.body.clear();
    k.body.push_back({std::move(loop)});
  };
  body(128);
  CHECK(fault(k) == "none");
  CHECK(check_ranges(k).unproved.empty());
  CHECK(uncovered(k) == "none");
  body(64);
  CHECK(uncovered(k) != "none");
  body(256);
  CHECK(uncovered(k) != "none");
}

TEST_CASE("a numeral below 1 stands still", "[coverage]") {
  Kernel k;
  k.name = "scalar";
  ValueStore& v = k.values;
  TensorId z = k.add({"z", ElemType::f32, Memory::global, {}, {}, true, 16});
  k.params = {z};
  VarId block = v.add_var({"block", Type::index, 0, {}}),
        thread = v.add_var({"thread", Type::index, 0, 127});
  k.blocks = {{block, v.integer(1)}};
  k.threads = {{thread, 128}};
  ValueId flat = v.add(v.mul(v.variable(block), v.integer(128)), v.variable(thread));
  k.body.push_back({Store{{z, {}}, v.real(0, Type::f32), v.less(flat, v.integer(1))}});
  CHECK(uncovered(k) == "none");
  std::get<Store>(k.body[0].node).predicate = v.less(flat, v.integer(2));
  CHECK(uncovered(k) != "none");
  std::get<Store>(k.body[0].node).predicate = {};
  CHECK(uncovered(k) != "none");
}

TEST_CASE("one block of several modes exists where each of them does", "[coverage]") {
  Kernel k;
  k.name = "corner";
  ValueStore& v = k.values;
  ValueId n = v.variable({"N", Type::index, 0, 1}), m = v.variable({"M", Type::index, 0, 1});
  k.scalars = {{VarId(v[n].ref)}, {VarId(v[m].ref)}};
  TensorId z = k.add({"z", ElemType::f32, Memory::global, {n, m}, {m, v.integer(1)}, true, 16});
  k.params = {z};
  VarId bm = v.add_var({"bm", Type::index, 0, 0}), bn = v.add_var({"bn", Type::index, 0, 0});
  k.flat_block = v.add_var({"block", Type::index, 0, 0});
  k.flat_thread = v.add_var({"thread", Type::index, 0, 0});
  ValueId rows = v.ceildiv(n, 64);
  auto uncovered_with = [&](ValueId columns) {
    k.blocks = {{bn, columns}, {bm, rows}};
    k.body.clear();
    k.body.push_back({Delinearize{{bm, bn}, v.variable(k.flat_block), {rows, columns}}});
    ValueId i = v.mul(v.variable(bm), v.integer(64)), j = v.mul(v.variable(bn), v.integer(64));
    k.body.push_back(
        {Store{{z, {i, j}}, v.real(0, Type::f32), v.both(v.less(i, n), v.less(j, m))}});
    return uncovered(k);
  };
  CHECK(uncovered_with(v.ceildiv(m, 64)) == "none");
  CHECK(uncovered_with(v.binary(Op::floordiv, m, v.integer(64))) != "none");
}

namespace {

std::string fault(const Program& program) {
  try {
    verify(program, "test");
  } catch (const tang::InternalError& e) {
    std::string text = e.what();
    return text.substr(0, text.find('\n'));
  }
  return "none";
}

Program program_of(Sample sample) {
  Program p;
  p.name = "model";
  VarId n = p.values.add_var({"N", Type::i64, 1, 1000});
  p.dims = {n};
  ValueId size = p.values.variable(n);
  p.buffers = {{Buffer::Kind::argument, "x", ElemType::f16, size, {}, false, 16, 0},
               {Buffer::Kind::argument, "y", ElemType::f32, size, {}, true, 16, 0}};
  p.arguments = {BufferId(0), BufferId(1)};
  Dispatch d;
  d.name = "twice";
  ValueId zero = p.values.integer(0, Type::i64);
  d.variants.push_back({KernelId(0),
                        {{BufferId(0), zero}, {BufferId(1), zero}},
                        {size},
                        {p.values.ceildiv(size, 8)},
                        {}});
  p.steps.push_back({std::move(d)});
  p.kernels.push_back(std::move(sample.kernel));
  return p;
}

} // namespace

TEST_CASE("a program binds what its kernels want", "[verify]") {
  Program p = program_of(Sample());
  CHECK(fault(p) == "none");
  CHECK(check_ranges(p).unproved.empty());
  CHECK(check_coverage(p).unproved.empty());
  Variant& v = std::get<Dispatch>(p.steps[0].node).variants[0];
  SECTION("what the launcher tests is known") {
    // Without a guard all is well only where 8 divides N.
    result(p.kernels[0]).predicate = {};
    load(p.kernels[0]).predicate = {};
    CHECK(check_coverage(p).unproved.size() == 1);
    CHECK(check_ranges(p).unproved.size() == 2);
    ValueId n8 = p.values.binary(Op::mod, v.scalars[0], p.values.integer(8, Type::i64));
    v.condition = p.values.binary(Op::eq, n8, p.values.integer(0, Type::i64));
    CHECK(check_coverage(p).unproved.empty());
    CHECK(check_ranges(p).unproved.empty());
  }
  SECTION("too few bindings") {
    v.bindings.pop_back();
    CHECK(fault(p).find("`twice` binds 1 of 2 tensors of `twice`") != std::string::npos);
  }
  SECTION("another type") {
    std::swap(v.bindings[0], v.bindings[1]);
    CHECK(fault(p).find("`twice` binds f32 `y` to f16 `x`") != std::string::npos);
  }
  SECTION("an output that nobody writes") {
    p.steps.clear();
    CHECK(fault(p).find("nothing writes output `y`") != std::string::npos);
  }
  SECTION("grid extents") {
    v.blocks.clear();
    CHECK(fault(p).find("`twice` gives 0 of 1 grid extents of `twice`") != std::string::npos);
  }
  SECTION("workspace in use twice") {
    for (Buffer& buffer : p.buffers) buffer.kind = Buffer::Kind::workspace;
    p.slots.push_back({p.values.integer(64, Type::i64)});
    p.kernels[0].tensors[0].written = true;
    CHECK(fault(p).find("share slot 0 at one time") != std::string::npos);
    p.buffers[1].slot = 1;
    CHECK(fault(p).find("is in slot 1 of 1") != std::string::npos);
  }
}

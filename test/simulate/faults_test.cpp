// Each fault in the smallest kernel that has it, and the nearest one that does not.
#include "one_kernel.h"
#include <catch2/catch.hpp>

using namespace tang;
using namespace tang::simulate_test;
using interpret::Fault;

namespace {

/// The faults of a run, each once.
std::vector<Fault> faults_of(OneKernel& k) {
  std::vector<Fault> found;
  for (const interpret::Finding& f : k.run().findings) {
    CHECK(!to_text(f).empty());
    if (std::find(found.begin(), found.end(), f.fault) == found.end()) found.push_back(f.fault);
  }
  return found;
}

using Faults = std::vector<Fault>;

} // namespace

TEST_CASE("a kernel that keeps the rules has no faults, and the right result", "[faults]") {
  OneKernel k(64, 2);
  TensorId x = k.global("x", 128, false), y = k.global("y", 128, true);
  TensorId s = k.local("s", Memory::shared, 64);
  ValueId place = k.v().add(k.times(k.block, 64), k.t);
  k.store(s, k.t, k.load(x, place));
  k.add(Barrier{});
  k.store(y, place, k.load(s, k.v().sub(k.number(63), k.t)));
  CHECK(faults_of(k) == Faults{});
  std::vector<float> y_is = k.result(y);
  CHECK(y_is[0] == 63);
  CHECK(y_is[63] == 0);
  CHECK(y_is[64] == 127);
}

TEST_CASE("accesses out of range", "[faults]") {
  for (int64_t more : {0, 1}) {
    OneKernel k(8);
    TensorId x = k.global("x", 8, false), y = k.global("y", 8, true);
    k.store(y, k.t, k.load(x, k.v().add(k.t, k.number(more))));
    CHECK(faults_of(k) == (more ? Faults{Fault::out_of_range} : Faults{}));
  }
  // A buffer that is shorter than its parameter says.
  OneKernel k(8);
  TensorId x = k.global("x", 8, false), y = k.global("y", 8, true);
  k.program.buffers[0].elements = k.program.values.integer(7, Type::i64);
  k.arguments[BufferId(0)].bytes.resize(28);
  k.store(y, k.t, k.load(x, k.t));
  CHECK(faults_of(k) == Faults{Fault::out_of_range});
}

TEST_CASE("a branch of a choice that is not taken reads nothing", "[faults]") {
  OneKernel k(8);
  TensorId y = k.global("y", 8, true), r = k.local("r", Memory::registers, 4);
  k.store(r, k.number(0), k.real(5));
  ValueId at[] = {k.t};
  ValueId element = k.v().element(r, Type::f32, at);
  k.store(y, k.t, k.v().select(k.v().less(k.t, k.number(1)), element, k.real(1)));
  CHECK(faults_of(k) == Faults{});
  CHECK(k.result(y) == std::vector<float>{5, 1, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("vectors at addresses that their bytes do not divide", "[faults]") {
  for (int64_t first : {0, 2, 4}) {
    OneKernel k(4);
    TensorId x = k.global("x", 24, false), y = k.global("y", 16, true);
    TensorId r = k.local("r", Memory::registers, 4);
    k.add(Copy{{r, {k.number(0)}}, {x, {k.v().add(k.times(k.t, 4), k.number(first))}}, 4, {}});
    k.add(Copy{{y, {k.times(k.t, 4)}}, {r, {k.number(0)}}, 4, {}});
    CHECK(faults_of(k) == (first % 4 ? Faults{Fault::misaligned} : Faults{}));
    CHECK(k.result(y)[15] == static_cast<float>(15 + first));
  }
}

TEST_CASE("elements that nothing wrote", "[faults]") {
  SECTION("registers") {
    OneKernel k(4);
    TensorId y = k.global("y", 4, true), r = k.local("r", Memory::registers, 2);
    k.store(r, k.number(0), k.real(1));
    ValueId at[] = {k.number(1)};
    k.store(y, k.t, k.v().element(r, Type::f32, at));
    CHECK(faults_of(k) == Faults{Fault::unwritten});
  }
  SECTION("shared memory, through registers") {
    OneKernel k(4);
    TensorId y = k.global("y", 4, true), s = k.local("s", Memory::shared, 8);
    TensorId r = k.local("r", Memory::registers, 1);
    k.store(s, k.t, k.real(1));
    k.add(Barrier{});
    // Moved and never used: no fault.
    k.add(Copy{{r, {k.number(0)}}, {s, {k.v().add(k.t, k.number(4))}}, 1, {}});
    SECTION("not used") {
      k.store(y, k.t, k.real(0));
    }
    SECTION("stored") {
      k.add(Copy{{y, {k.t}}, {r, {k.number(0)}}, 1, {}});
    }
    bool used = std::holds_alternative<Copy>(k.kernel().body.back().node);
    CHECK(faults_of(k) == (used ? Faults{Fault::unwritten} : Faults{}));
  }
  SECTION("an output") {
    OneKernel k(4);
    TensorId y = k.global("y", 4, true), z = k.global("z", 4, true);
    k.store(y, k.t, k.load(z, k.t));
    k.store(z, k.t, k.real(1));
    CHECK(faults_of(k) == Faults{Fault::unwritten});
  }
  SECTION("what lies between strided elements") {
    OneKernel k(4);
    TensorId x = k.global("x", 8, false), y = k.global("y", 4, true);
    k.arguments[BufferId(0)].holds = {0, 2, 4, 7};
    k.store(y, k.t, k.load(x, k.times(k.t, 2)));
    CHECK(faults_of(k) == Faults{Fault::unwritten});
  }
}

TEST_CASE("outputs are written once", "[faults]") {
  for (int64_t step : {1, 2, 0}) {
    OneKernel k(4);
    TensorId y = k.global("y", 4, true);
    k.store(y, k.times(k.t, step), k.real(1), k.v().less(k.times(k.t, step), k.number(4)));
    CHECK(faults_of(k) == (step == 1   ? Faults{}
                           : step == 2 ? Faults{Fault::not_written}
                                       : Faults{Fault::written_twice, Fault::not_written}));
  }
}

TEST_CASE("threads that touch one cell without a barrier between", "[faults]") {
  for (bool barrier : {true, false}) {
    SECTION(barrier ? "with" : "without") {
      OneKernel k(64);
      TensorId y = k.global("y", 64, true), s = k.local("s", Memory::shared, 64);
      ValueId other = k.v().sub(k.number(63), k.t);
      SECTION("a read behind a write") {
        k.store(s, k.t, k.real(1));
        if (barrier) k.add(Barrier{});
        k.store(y, k.t, k.load(s, other));
      }
      SECTION("a write behind a read") {
        k.store(s, k.t, k.real(1));
        k.add(Barrier{});
        k.store(y, k.t, k.load(s, other));
        if (barrier) k.add(Barrier{});
        k.store(s, k.t, k.real(2));
      }
      SECTION("two writes") {
        k.store(s, k.t, k.real(1));
        if (barrier) k.add(Barrier{});
        k.store(s, other, k.real(2));
        k.store(y, k.t, k.real(0));
      }
      CHECK(faults_of(k) == (barrier ? Faults{} : Faults{Fault::race}));
    }
  }
  SECTION("what a thread wrote itself, and what several read, is no race") {
    OneKernel k(64);
    TensorId y = k.global("y", 64, true), s = k.local("s", Memory::shared, 64);
    k.store(s, k.t, k.real(1));
    ValueId own = k.load(s, k.t);
    k.add(Barrier{});
    k.store(y, k.t, k.v().binary(Op::add, own, k.load(s, k.number(3))));
    CHECK(faults_of(k) == Faults{});
  }
  SECTION("in global memory") {
    OneKernel k(64);
    TensorId y = k.global("y", 64, true), z = k.global("z", 64, true);
    k.store(y, k.t, k.real(1));
    k.store(z, k.t, k.load(y, k.number(5)));
    CHECK(faults_of(k) == Faults{Fault::race});
  }
}

TEST_CASE("barriers that not all threads reach, exchanges with nobody", "[faults]") {
  for (int64_t there : {64, 40}) {
    OneKernel k(64);
    TensorId y = k.global("y", 64, true);
    VarId got = k.v().add_var({"o", Type::f32, {}, {}, 1});
    If some{k.v().less(k.t, k.number(there)), {}, {}};
    bool barrier = GENERATE(true, false);
    if (barrier)
      some.then.push_back({Barrier{}});
    else
      some.then.push_back({Shfl{got, k.real(1), 16}});
    // The condition stands for the block where it holds for all of it.
    k.add(some);
    k.store(y, k.t, k.real(0));
    CHECK(faults_of(k) == (there == 64 ? Faults{}
                           : barrier   ? Faults{Fault::divergence}
                                       : Faults{Fault::missing_lanes}));
  }
  OneKernel k(48);
  TensorId y = k.global("y", 48, true);
  VarId got = k.v().add_var({"o", Type::f32, {}, {}, 1});
  k.add(Shfl{got, k.real(1), 16});
  k.store(y, k.t, k.v().variable(got));
  CHECK(faults_of(k) == Faults{Fault::missing_lanes});
}

namespace {

/// Threads copy 4 elements each from x to shared memory and store those of a neighbour to y.
Faults copied(int64_t pending, bool barrier, bool second_copy, int64_t distance) {
  OneKernel k(32);
  TensorId x = k.global("x", 128, false), y = k.global("y", 32, true);
  TensorId s = k.local("s", Memory::shared, 128);
  k.atom("cp.async.cg.16.b32", {{s, {k.times(k.t, 4)}}, {x, {k.times(k.t, 4)}}});
  if (second_copy) k.atom("cp.async.cg.16.b32", {{s, {k.times(k.t, 4)}}, {x, {k.times(k.t, 4)}}});
  k.atom("cp.async.commit_group", {});
  k.atom("cp.async.commit_group", {});
  k.atom("cp.async.wait_group", {}, {pending});
  if (barrier) k.add(Barrier{});
  ValueId other = k.v().binary(Op::mod, k.v().add(k.t, k.number(distance)), k.number(32));
  k.store(y, k.t, k.load(s, k.times(other, 4)));
  Faults found = faults_of(k);
  if (found.empty()) CHECK(k.result(y)[0] == static_cast<float>(4 * distance));
  return found;
}

} // namespace

TEST_CASE("asynchronous copies are there behind their wait, for others behind a barrier",
          "[faults]") {
  CHECK(copied(0, true, false, 1) == Faults{});
  CHECK(copied(1, true, false, 1) == Faults{});
  CHECK(copied(2, true, false, 1) == Faults{Fault::early_read});
  CHECK(copied(0, false, false, 1) == Faults{Fault::race});
  CHECK(copied(0, false, false, 0) == Faults{});
  CHECK(copied(0, true, true, 1) == Faults{Fault::early_write});
}

TEST_CASE("copies fill with zeros where their predicate fails", "[faults]") {
  OneKernel k(4);
  TensorId x = k.global("x", 8, false), y = k.global("y", 16, true);
  TensorId s = k.local("s", Memory::shared, 16), r = k.local("r", Memory::registers, 4);
  k.atom("cp.async.cg.16.b32", {{s, {k.times(k.t, 4)}}, {x, {k.times(k.t, 4)}}}, {},
         k.v().less(k.t, k.number(2)));
  k.atom("cp.async.commit_group", {});
  k.atom("cp.async.wait_group", {}, {0});
  k.add(Copy{{r, {k.number(0)}}, {s, {k.times(k.t, 4)}}, 4, {}});
  k.add(Copy{{y, {k.times(k.t, 4)}}, {r, {k.number(0)}}, 4, {}});
  CHECK(faults_of(k) == Faults{});
  std::vector<float> y_is = k.result(y);
  CHECK(y_is[7] == 7);
  CHECK(y_is[8] == 0);
  CHECK(y_is[15] == 0);
}

TEST_CASE("registers of a short format hold what the format has", "[faults]") {
  OneKernel k(1);
  TensorId y = k.global("y", 1, true), r = k.local("r", Memory::registers, 1, ElemType::f16);
  k.store(r, k.number(0), k.real(1.0001));
  ValueId at[] = {k.number(0)};
  k.store(y, k.number(0), k.v().element(r, Type::f32, at));
  CHECK(faults_of(k) == Faults{});
  CHECK(k.result(y)[0] == 1);
}

TEST_CASE("instructions of a warp want all of it", "[faults]") {
  OneKernel k(40);
  TensorId s = k.local("s", Memory::shared, 64, ElemType::f16);
  TensorId f = k.local("f", Memory::registers, 2, ElemType::f16);
  ValueId row = k.v().binary(Op::mod, k.t, k.number(8));
  k.atom("ldmatrix.x1", {{f, {k.number(0)}}, {s, {k.times(row, 8)}}});
  CHECK(faults_of(k) == Faults{Fault::missing_lanes});
}

TEST_CASE("flat numbers beyond their extents, launches that are refused", "[faults]") {
  for (int64_t extent : {2, 4}) {
    OneKernel k(16);
    TensorId y = k.global("y", 16, true);
    VarId a = k.v().add_var({"a", Type::index, 0, extent - 1, 1}),
          b = k.v().add_var({"b", Type::index, 0, 3, 1});
    k.add(Delinearize{{a, b}, k.t, {k.number(extent), k.number(4)}});
    k.store(y, k.v().add(k.times(k.v().variable(a), 4), k.v().variable(b)), k.real(1));
    Faults found = faults_of(k);
    CHECK((std::find(found.begin(), found.end(), Fault::number_too_large) == found.end()) ==
          (extent == 4));
  }
  OneKernel k(4, 3);
  k.variant.condition = k.program.values.boolean(false);
  CHECK(faults_of(k) == Faults{Fault::refused});
  k.variant.condition = {};
  k.program.max_blocks = 2;
  CHECK(faults_of(k) == Faults{Fault::refused});
}

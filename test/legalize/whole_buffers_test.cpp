// Launches that bind buffers from their beginning, or from few places.
#include "legalize/passes.h"
#include "run.h"
#include "sample.h"
#include <catch2/catch.hpp>

using namespace tang::kernel;
using namespace tang::legalize;
using tang::kernel::test::Memory_;
using tang::kernel::test::Run;
using tang::kernel::test::Sample;

namespace {

const Variant& variant(const Program& p, size_t step, size_t number = 0) {
  return std::get<Dispatch>(p.steps[step].node).variants[number];
}

/// A host value where N = n.
int64_t at(const Program& p, ValueId id, int64_t n) {
  ValueStore host = p.values;
  ValueId known = rewrite(host, id, [&](ValueId x) {
    return host[x].form == Form::variable ? host.integer(n, Type::i64) : x;
  });
  return host[known].type == Type::boolean ? *host.as_boolean(known) : *host.as_integer(known);
}

/// Layers 0 and 2 of `x`, where launches can bind from multiples of `alignment` bytes.
Program layers(int64_t alignment, bool int64 = true, int64_t most = 1000) {
  Sample sample;
  Program p = sample.program({sample.kernel(0), sample.kernel(2)}, most);
  Capabilities c;
  c.buffer_alignment = alignment, c.int64 = int64;
  legalize(p, c, {IndexBits::narrow});
  return p;
}

bool binds_an_offset(const Program& p, const Variant& v) {
  return std::any_of(v.bindings.begin(), v.bindings.end(),
                     [&](const Binding& b) { return b.offset && at(p, b.offset, 5) != 0; });
}

} // namespace

TEST_CASE("a kernel adds what a launch cannot bind", "[whole_buffers]") {
  Program p = layers(0);
  CHECK(p.whole_buffers);
  REQUIRE(p.kernels.size() == 1); // the first layer is at 0
  CHECK(p.kernels[0].scalars.size() == 2);
  for (int64_t n : {0, 1, 5})
    for (size_t layer : {0, 1}) {
      const Variant& v = variant(p, layer);
      CHECK_FALSE(binds_an_offset(p, v));
      Memory_ x(static_cast<size_t>(3 * n * Sample::columns)),
          y(static_cast<size_t>(n * Sample::columns), -1);
      for (size_t e = 0; e < x.size(); ++e) x[e] = static_cast<double>(e);
      Run(p.kernels[0], {&x, &y}, {at(p, v.scalars[0], n), at(p, v.scalars[1], n)}).all();
      for (size_t e = 0; e < y.size(); ++e)
        CHECK(y[e] == static_cast<double>(layer * 2 * y.size() + e + 1));
    }
}

TEST_CASE("what a launch can bind stays with it", "[whole_buffers]") {
  // The second layer is 2*6*N elements of 4 bytes further on.
  for (int64_t alignment : {1, 4, 16, 48}) {
    Program p = layers(alignment);
    CHECK_FALSE(p.whole_buffers);
    CHECK(p.kernels[0].scalars.size() == 1);
    CHECK(at(p, variant(p, 1).bindings[0].offset, 5) == 60);
  }
  for (int64_t alignment : {32, 256}) {
    Program p = layers(alignment);
    CHECK_FALSE(p.whole_buffers);
    CHECK(p.kernels[0].scalars.size() == 2);
    CHECK_FALSE(binds_an_offset(p, variant(p, 1)));
  }
}

TEST_CASE("each buffer of the workspace begins where its slot does", "[whole_buffers]") {
  Sample sample;
  Program p = sample.program({sample.kernel(0), sample.kernel(0)});
  ValueStore& h = p.values;
  for (uint32_t i : {1u, 2u}) {
    p.buffers[i].kind = Buffer::Kind::workspace, p.buffers[i].slot = i - 1;
    p.slots.push_back({h.mul(p.buffers[i].elements, h.integer(4, Type::i64))});
  }
  Capabilities c;
  c.buffer_alignment = 0;
  legalize(p, c, {IndexBits::narrow});
  REQUIRE(p.kernels.size() == 1);
  // 6*4*n bytes, from there on a multiple of 256.
  for (auto [n, begin] : {std::pair(1, 64), std::pair(10, 64), std::pair(11, 128)}) {
    CHECK(at(p, variant(p, 0).scalars[1], n) == 0);
    CHECK(at(p, variant(p, 1).scalars[1], n) == begin);
  }
}

TEST_CASE("without 64-bit integers a launcher refuses what has no number", "[whole_buffers]") {
  Program small = layers(0, false);
  const Kernel& k = small.kernels[0];
  CHECK(k.values[k.scalars[1].var].type == Type::i32);
  Program large = layers(0, false, int64_t{1} << 40);
  const Variant& v = variant(large, 1);
  REQUIRE(v.condition);
  CHECK(at(large, v.condition, 1000) == 1);
  // 12*n + 18*n elements would have to have numbers.
  CHECK(at(large, v.condition, 2147483647 / 30) == 1);
  CHECK(at(large, v.condition, 2147483647 / 30 + 1) == 0);
}

TEST_CASE("shared memory is placed only where a launcher can ask for it", "[whole_buffers]") {
  for (bool dynamic : {true, false}) {
    Sample sample;
    Kernel k = sample.kernel(0);
    TensorId big = k.add(
        {"big", ElemType::f32, Memory::shared, {k.values.integer(64)}, {k.values.integer(1)}});
    k.body.insert(k.body.begin(), {Allocate{big}});
    Program p = sample.program({std::move(k)});
    Capabilities c;
    c.static_shared_bytes = 128, c.dynamic_shared = dynamic;
    legalize(p, c, {});
    CHECK(p.kernels[0].shared_bytes == (dynamic ? 256 : 0));
  }
}

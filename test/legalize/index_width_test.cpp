#include "legalize/index_bound.h"
#include "legalize/passes.h"
#include "sample.h"
#include <catch2/catch.hpp>

using namespace tang::kernel;
using namespace tang::legalize;
using tang::kernel::test::Sample;

namespace {

constexpr int64_t greatest = 2147483647;

std::vector<Variant> variants_after(int64_t most, const Capabilities& c, const Options& o,
                                    Program& p) {
  Sample sample;
  p = sample.program({sample.kernel(1)}, most);
  // The kernel's own dim has the same range.
  Kernel k = sample.kernel(1);
  index_width(p, c, o);
  return std::get<Dispatch>(p.steps[0].node).variants;
}

/// The condition of a variant for N = n.
bool holds(const Program& p, ValueId condition, int64_t n) {
  ValueStore host = p.values;
  ValueId id = rewrite(host, condition, [&](ValueId x) {
    return host[x].form == Form::variable ? host.integer(n, Type::i64) : x;
  });
  return host.as_boolean(id).value();
}

} // namespace

TEST_CASE("declared ranges that prove 32 bits leave one kernel", "[index_width]") {
  Program p;
  auto variants = variants_after(1000, {}, {}, p);
  REQUIRE(variants.size() == 1);
  CHECK(!variants[0].condition);
  CHECK(p.kernels[0].index_bits == 32);
}

TEST_CASE("an open range makes two kernels and a sound condition", "[index_width]") {
  Program p;
  auto variants = variants_after(greatest, {}, {}, p);
  REQUIRE(variants.size() == 2);
  CHECK(p.kernels[variants[0].kernel.value].index_bits == 32);
  CHECK(p.kernels[variants[1].kernel.value].index_bits == 64);
  CHECK(p.kernels[1].name == "layer1_wide");
  CHECK(!variants[1].condition);
  // x has 18*N elements.
  CHECK(holds(p, variants[0].condition, 1000));
  CHECK(holds(p, variants[0].condition, 100000000));
  CHECK(!holds(p, variants[0].condition, greatest / 18 + 1));
  CHECK(!holds(p, variants[0].condition, greatest));
}

TEST_CASE("the width can be asked for", "[index_width]") {
  Program p;
  auto wide = variants_after(1000, {}, {IndexBits::wide}, p);
  REQUIRE(wide.size() == 1);
  CHECK(p.kernels[0].index_bits == 64);
  auto narrow = variants_after(greatest, {}, {IndexBits::narrow}, p);
  REQUIRE(narrow.size() == 1);
  CHECK(p.kernels[0].index_bits == 32);
  CHECK(!holds(p, narrow[0].condition, greatest));
}

TEST_CASE("without 64-bit integers large sizes are refused, never run", "[index_width]") {
  Program p;
  Capabilities c;
  c.int64 = false;
  for (IndexBits bits : {IndexBits::automatic, IndexBits::wide}) {
    auto variants = variants_after(greatest, c, {bits}, p);
    REQUIRE(variants.size() == 1);
    CHECK(p.kernels[0].index_bits == 32);
    CHECK(holds(p, variants[0].condition, 1000));
    CHECK(!holds(p, variants[0].condition, greatest));
  }
}

TEST_CASE("where 32 bits are no cheaper, addresses are 64-bit", "[index_width]") {
  Program p;
  Capabilities c;
  c.narrow_index = false;
  auto variants = variants_after(1000, c, {}, p);
  REQUIRE(variants.size() == 1);
  CHECK(p.kernels[0].index_bits == 64);
}

TEST_CASE("a gathered coordinate counts as in range, and only as a coordinate", "[index_width]") {
  for (bool shifted : {false, true}) {
    Sample sample;
    Kernel k = sample.kernel(1);
    ValueStore& s = k.values;
    VarId id = s.add_var({"id", Type::i64, {}, {}}), extra = s.add_var({"e", Type::f32, {}, {}});
    ValueId zero = s.integer(0), place = s.convert(Type::index, s.variable(id));
    if (shifted) place = s.add(place, s.integer(1));
    ValueId wide = s.variable(id), bound = s.convert(Type::i64, k[k.params[0]].shape[1]);
    ValueId inside = s.both(s.binary(Op::le, s.integer(0, Type::i64), wide), s.less(wide, bound));
    k.body.push_back({Load{id, {k.params[0], {zero, zero, zero}}, {}, {}}});
    k.body.push_back(
        {Load{extra, {k.params[0], {zero, place, zero}}, inside, s.real(0, Type::f32)}});
    Program p = sample.program({std::move(k)}, 1000);
    index_width(p, {}, {});
    // Data plus one has no bound: 64 bits.
    REQUIRE(p.kernels.size() == 1);
    CHECK(p.kernels[0].index_bits == (shifted ? 64 : 32));
  }
}

TEST_CASE("bounds are evaluated without overflow", "[index_width]") {
  ValueStore host;
  ValueId a = host.variable({"A", Type::i64, 0, greatest}),
          b = host.variable({"B", Type::i64, 0, greatest});
  ValueId c = host.variable({"C", Type::i64, 0, greatest}),
          d = host.variable({"D", Type::i64, 0, {}});
  using tang::graph::Polynomial;
  Polynomial product = Polynomial::constant(1);
  for (ValueId id : {a, b, c, d, d})
    product = *product.times(Polynomial::atom(tang::graph::ExprId(id.value)));
  product = *product.plus(product);
  ValueId value = saturated(host, product);
  CHECK(host.range(value).hi < std::numeric_limits<int64_t>::max());
  auto at = [&](int64_t n) {
    ValueId id = rewrite(host, value, [&](ValueId x) {
      return host[x].form == Form::variable ? host.integer(n, Type::i64) : x;
    });
    return host.as_integer(id).value();
  };
  CHECK(at(3) == 2 * 243);
  CHECK(at(0) == 0);
  CHECK(at(greatest) > greatest);
  CHECK(at(100) > greatest);
}

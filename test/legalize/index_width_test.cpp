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
  CHECK(variants[0].index_bits == 32);
  type_indices(p, {}, {});
  REQUIRE(p.kernels.size() == 1);
  CHECK(p.kernels[0].index_bits == 32);
  CHECK(p.kernels[0].name == "layer1");
}

TEST_CASE("an open range makes two kernels and a sound condition", "[index_width]") {
  Program p;
  auto variants = variants_after(greatest, {}, {}, p);
  REQUIRE(variants.size() == 2);
  CHECK(variants[0].index_bits == 32);
  CHECK(variants[1].index_bits == 64);
  // One kernel serves both until its addresses have a type.
  CHECK(variants[0].kernel == variants[1].kernel);
  CHECK(p.kernels.size() == 1);
  CHECK(!variants[1].condition);
  // x has 18*N elements.
  CHECK(holds(p, variants[0].condition, 1000));
  CHECK(holds(p, variants[0].condition, 100000000));
  CHECK(!holds(p, variants[0].condition, greatest / 18 + 1));
  CHECK(!holds(p, variants[0].condition, greatest));
}

TEST_CASE("what a variant's condition says of the dims counts", "[index_width]") {
  // x has 18*N elements, and N can be anything.
  auto widths = [](int64_t most) {
    Sample sample;
    Program p = sample.program({sample.kernel(1)}, greatest);
    auto& variants = std::get<Dispatch>(p.steps[0].node).variants;
    ValueId n = p.values.variable(p.dims[0]);
    Variant some = variants[0];
    some.condition = p.values.both(p.values.binary(Op::le, n, p.values.integer(most, Type::i64)),
                                   p.values.binary(Op::ne, n, p.values.integer(7, Type::i64)));
    variants.insert(variants.begin(), some);
    index_width(p, {}, {});
    std::vector<int> bits;
    for (const Variant& v : variants) bits.push_back(v.index_bits);
    CHECK(variants[0].condition == some.condition);
    return bits;
  };
  CHECK(widths(greatest / 18) == std::vector{32, 32, 64});
  CHECK(widths(1000) == std::vector{32, 32, 64});
}

TEST_CASE("a variant made for 32 bits leaves larger tensors to the next", "[index_width]") {
  Sample sample;
  auto widths = [&](int64_t most, const Options& options) {
    Program p = sample.program({sample.kernel(1)}, most);
    auto& variants = std::get<Dispatch>(p.steps[0].node).variants;
    Variant some = variants[0];
    some.index_bits = 32;
    ValueId n = p.values.variable(p.dims[0]);
    some.condition = p.values.binary(Op::ne, n, p.values.integer(7, Type::i64));
    variants.insert(variants.begin(), some);
    index_width(p, {}, options);
    std::vector<int> bits;
    for (const Variant& v : variants) bits.push_back(v.index_bits);
    CHECK(!variants.back().condition);
    return bits;
  };
  CHECK(widths(1000, {}) == std::vector{32, 32});
  CHECK(widths(greatest, {}) == std::vector{32, 32, 64});
  CHECK(widths(greatest, {IndexBits::wide}) == std::vector{64, 64});
}

TEST_CASE("each width that is launched gets a kernel", "[type_indices]") {
  Sample sample;
  Program p = sample.program({sample.kernel(1)}, greatest);
  Kernel other = sample.kernel(1);
  other.name = "layer1_wide"; // the name that the wide one wishes for
  p.kernels.push_back(std::move(other));
  index_width(p, {}, {});
  type_indices(p, {}, {});
  const auto& variants = std::get<Dispatch>(p.steps[0].node).variants;
  REQUIRE(variants.size() == 2);
  REQUIRE(p.kernels.size() == 2); // nobody launches the other
  const Kernel& narrow = p.kernels[variants[0].kernel.value];
  const Kernel& wide = p.kernels[variants[1].kernel.value];
  CHECK(narrow.name == "layer1");
  CHECK(wide.name == "layer1_wide_2");
  CHECK(narrow.index_bits == 32);
  CHECK(wide.index_bits == 64);
  for (const Var& var : narrow.values.vars())
    CHECK((var.type != Type::index && var.type != Type::i64));
  for (const Var& var : wide.values.vars())
    CHECK((var.type != Type::index && var.type != Type::i32));
}

TEST_CASE("equal launches ask for their width once", "[index_width]") {
  Sample sample;
  Program p = sample.program({sample.kernel(1)}, greatest);
  p.steps.push_back(p.steps[0]);
  size_t before = p.values.size();
  index_width(p, {}, {});
  auto conditions = [&](size_t i) {
    return std::get<Dispatch>(p.steps[i].node).variants[0].condition;
  };
  CHECK(p.values.size() > before);
  CHECK(conditions(0) == conditions(1));
}

TEST_CASE("the width can be asked for", "[index_width]") {
  Program p;
  auto wide = variants_after(1000, {}, {IndexBits::wide}, p);
  REQUIRE(wide.size() == 1);
  CHECK(wide[0].index_bits == 64);
  auto narrow = variants_after(greatest, {}, {IndexBits::narrow}, p);
  REQUIRE(narrow.size() == 1);
  CHECK(narrow[0].index_bits == 32);
  CHECK(!holds(p, narrow[0].condition, greatest));
}

TEST_CASE("without 64-bit integers large sizes are refused, never run", "[index_width]") {
  Program p;
  Capabilities c;
  c.int64 = false;
  for (IndexBits bits : {IndexBits::automatic, IndexBits::wide}) {
    auto variants = variants_after(greatest, c, {bits}, p);
    REQUIRE(variants.size() == 1);
    CHECK(variants[0].index_bits == 32);
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
  CHECK(variants[0].index_bits == 64);
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
    const auto& variants = std::get<Dispatch>(p.steps[0].node).variants;
    REQUIRE(variants.size() == 1);
    CHECK(variants[0].index_bits == (shifted ? 64 : 32));
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

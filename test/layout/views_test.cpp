// Reshape, recast, slices and swizzles, by their laws on whole domains.
#include "support.h"

using namespace tang::layout;

TEST_CASE("reshape: the same function of the index, in another shape", "[reshape]") {
  hold(
      [](Random& random) -> std::string {
        Layout a = random_layout(random, 48, Strides::mixed, {1, 2, 2, 3, 4});
        // The same factors in another order and form.
        Shape shape{"", {}};
        for (int64_t left = count_of(a); left > 1;) {
          int64_t size = random.in(2, left);
          if (left % size != 0) continue;
          shape.leaves.push_back(Monomial::constant(size));
          left /= size;
        }
        if (shape.leaves.empty()) shape.leaves.emplace_back();
        shape.form = random_form(random, shape.leaves.size());
        auto r = reshape(a, shape);
        if (!r) return refused;
        if (!refines(*r, shape)) return "the shape is lost: " + show(a, *r);
        return values_of(*r) == values_of(a) ? "" : "another function: " + show(a, *r);
      },
      40);
}

TEST_CASE("reshape keeps the number of elements", "[reshape]") {
  Shape shape = shape_of(read("(3,3):(0,0)"));
  CHECK(reshape(read("8:1"), shape).refusal().reason == "a shape of 9 elements for a layout of 8");
}

namespace {

/// `coarse` counts elements of `count` of those that `fine` counts.
std::string recast_law(const Layout& fine, int64_t count, const Layout& coarse) {
  std::vector<int64_t> elements, starts;
  for (int64_t value : values_of(coarse))
    for (int64_t i = 0; i < count; ++i) elements.push_back(value * count + i);
  std::vector<int64_t> values = values_of(fine);
  for (int64_t value : values)
    if (value % count == 0) starts.push_back(value / count);
  if (starts != values_of(coarse)) return "out of order: " + show(fine, coarse);
  std::sort(elements.begin(), elements.end());
  std::sort(values.begin(), values.end());
  return elements == values ? "" : "other bytes: " + show(fine, coarse);
}

} // namespace

TEST_CASE("recast to larger elements: the same bytes in the same order", "[recast]") {
  hold(
      [](Random& random) -> std::string {
        Layout a = random_layout(random, 64, random.chance(70) ? Strides::compact : Strides::mixed,
                                 {1, 2, 2, 4, 4, 8, 3});
        int64_t count = random.of<int64_t>({2, 4, 8, 3});
        auto r = recast(a, 8, 8 * count);
        return r ? recast_law(a, count, *r) : refused;
      },
      30);
}

TEST_CASE("recast to smaller elements, and back", "[recast]") {
  hold(
      [](Random& random) -> std::string {
        Layout a = random_layout(random, 32);
        int64_t count = random.of<int64_t>({2, 4, 8, 3});
        auto r = recast(a, 8 * count, 8);
        int contiguous = 0;
        for (const Mode& mode : a.leaves)
          contiguous += mode.size.factor > 1 && mode.stride.amount.factor == 1;
        if (static_cast<bool>(r) != (contiguous == 1))
          return "refused without a reason: " + show(a);
        if (!r) return refused;
        return recast_law(*r, count, a);
      },
      50);
}

TEST_CASE("recast of swizzles, offsets and odd widths", "[recast]") {
  for (int shift : {3, -3})
    for (int64_t x = 0; x < 1 << 13; ++x) {
      auto bytes = make_swizzle(3, 4, shift), halves = recast(*bytes, 8, 16);
      REQUIRE(halves);
      CHECK_FALSE((*bytes)(x) / 2 != (*halves)(x / 2));
    }
  CHECK(to_text(*recast(read_whole("Sw<3,4,3> o 16 + (64,8):(1,64)"), 8, 16)) ==
        "Sw<3,3,3> o 8 + (32,8):(1,32)");
  CHECK(to_text(*recast(read_whole("Sw<3,3,3> o 8 + (32,8):(1,32)"), 16, 8)) ==
        "Sw<3,4,3> o 16 + (64,8):(1,64)");
  CHECK(recast(read_whole("3 + 64:1"), 8, 16).refusal().reason ==
        "offset 3 is not a multiple of 2 elements");
  CHECK(recast(read_whole("Sw<3,0,3> o 64:1"), 8, 16).refusal().reason ==
        "the swizzle moves bits inside of elements of 16 bits");
  CHECK(recast(read("8:1"), 8, 12).refusal().reason ==
        "elements of 12 bits are not made of whole elements of 8");
  CHECK(recast(read("8:2"), 8, 16).refusal().reason ==
        "no mode has stride 1, so that 2 neighbours do not make one element");
}

TEST_CASE("slice: what is left, at every coordinate that is left", "[slice]") {
  hold(
      [](Random& random) -> std::string {
        size_t rank = static_cast<size_t>(random.in(2, 3));
        Layout a = random_tuple(random, rank, 6, Strides::any);
        auto parts = a.parts();
        // Each mode is fixed by a number, kept, or, where it is a tuple, taken apart.
        std::vector<Coordinate> at;
        std::vector<Layout> kept;
        int64_t offset = 0;
        for (const Layout& part : parts) {
          auto inner = part.parts();
          bool apart = !part.is_leaf() && random.chance(50);
          if (!apart) inner = {part};
          std::vector<Coordinate> numbers;
          for (const Layout& mode : inner) {
            std::optional<int64_t> index;
            if (random.chance(50)) index = random.in(0, count_of(mode) - 1);
            numbers.push_back(Coordinate::leaf(index));
            if (index)
              offset += value_at(mode, *index);
            else
              kept.push_back(mode);
          }
          at.push_back(apart ? Coordinate::tuple(numbers) : numbers[0]);
        }
        auto r = slice({{}, 100, a}, Coordinate::tuple(at));
        if (!r) return r.refusal().reason + ": " + show(a);
        Layout rest = kept.empty() ? single_element() : Layout::tuple(kept);
        if (r->offset != Sum(100 + offset)) return "wrong offset: " + show(a, r->layout);
        return values_of(r->layout) == values_of(rest) ? "" : "wrong rest: " + show(a, r->layout);
      },
      100);
}

TEST_CASE("slices keep the form of what is left", "[slice]") {
  auto text_of = [](std::string_view layout, Coordinate at) {
    return to_text(*slice(read_whole(layout), at));
  };
  auto all = Coordinate::leaf(std::nullopt), two = Coordinate::leaf(2), one = Coordinate::leaf(1);
  CHECK(text_of("(4,(2,8)):(2,(1,8))", Coordinate::tuple({all, one})) == "1 + 4:2");
  CHECK(text_of("(4,(2,8)):(2,(1,8))", Coordinate::tuple({two, all})) == "4 + (2,8):(1,8)");
  CHECK(text_of("(4,(2,8)):(2,(1,8))", Coordinate::tuple({all, Coordinate::tuple({one, all})})) ==
        "1 + (4,8):(2,8)");
  CHECK(text_of("Sw<1,0,1> o 8:1", all) == "Sw<1,0,1> o 8:1");
  CHECK(text_of("Sw<1,0,1> o (8,4):(1,8)", Coordinate::tuple({all, two})) ==
        "Sw<1,0,1> o 16 + 8:1");
  CHECK(text_of("(M,N):(1,M)", Coordinate::tuple({all, two})) == "2*M + M:1");
  CHECK(text_of("(8,4):(1@m,2@n)", Coordinate::tuple({one, two})) == "1@m + 4@n + 1:0");
  CHECK(slice(read_whole("(8,4):(1,8)"), Coordinate::tuple({all})).refusal().reason ==
        "the coordinate has another form than the layout");
}

TEST_CASE("swizzles are their own inverse and permute aligned blocks", "[swizzle]") {
  hold(
      [](Random& random) -> std::string {
        int64_t bits = random.in(0, 4), base = random.in(0, 4),
                shift = random.in(bits, 5) * (random.chance(50) ? 1 : -1);
        auto sw = make_swizzle(bits, base, shift);
        if (!sw) return sw.refusal().reason;
        int64_t block = int64_t{1} << (bits + base + std::abs(shift));
        int64_t x = random.in(0, 1 << 20), y = (*sw)(x);
        if ((*sw)(y) != x) return "not its own inverse: " + to_text(*sw);
        if (y / block != x / block) return "leaves its block: " + to_text(*sw);
        return x % (int64_t{1} << base) == y % (int64_t{1} << base) ? "" : "moves low bits";
      },
      100);
}

TEST_CASE("swizzled layouts: the swizzle comes last", "[swizzle]") {
  hold(
      [](Random& random) -> std::string {
        Swizzled a{*make_swizzle(2, random.in(0, 3), 2), random.in(0, 40),
                   random_layout(random, 64)};
        Layout b = random_layout(random, 24);
        auto r = compose(a, b);
        if (!r) return refused;
        auto values = image(*r), whole = image(a);
        for (int64_t i = 0; i < count_of(b); ++i)
          if ((*values)[static_cast<size_t>(i)] != (*whole)[static_cast<size_t>(value_at(b, i))])
            return "wrong: " + to_text(a) + " " + show(b);
        auto twice = compose(a.swizzle, a);
        for (int64_t i = 0; i < count_of(a.layout); ++i)
          if (image(*twice)->at(static_cast<size_t>(i)) !=
              value_at(a.layout, i) + *a.offset.constant())
            return "twice is not none: " + to_text(a);
        return "";
      },
      15);
  CHECK(compose(*make_swizzle(1, 0, 1), read_whole("Sw<2,0,2> o 8:1")).refusal().reason ==
        "two different swizzles one after the other are no swizzle");
  CHECK(make_swizzle(3, 0, 2).refusal().reason ==
        "the two fields of 3 bits overlap: they are only 2 apart");
  CHECK(make_swizzle(3, 50, 10).refusal().reason ==
        "a swizzle lies within 62 bits, and this one reaches bit 62");
}

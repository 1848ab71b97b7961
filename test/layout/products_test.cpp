// Divisions and products, by their laws on whole domains.
#include "support.h"

using namespace tang::layout;

TEST_CASE("logical divide: (tile, rest) of the same elements, none lost", "[divide]") {
  hold(
      [](Random& random) {
        Layout a = random_layout(random, 64, random.chance(70) ? Strides::compact : Strides::any);
        Layout b = random_layout(random, 8, random.chance(60) ? Strides::gaps : Strides::compact);
        auto r = logical_divide(a, b);
        return r ? divide_law(a, b, *r) : refused;
      },
      30);
}

TEST_CASE("what a tile of one contiguous mode divides is never refused", "[divide]") {
  hold(
      [](Random& random) {
        auto a = coalesce(random_layout(random, 64, Strides::gaps));
        // A tile that fits the first mode, or a single mode and any tile, which may be partial.
        Layout whole = random.chance(50) ? *a : Layout::leaf(a->leaves[0]);
        int64_t size = random.in(1, 12);
        if (!whole.is_leaf() && whole.leaves[0].size.factor % size != 0) size = 1;
        Layout b = Layout::leaf({Monomial::constant(size), {Monomial::constant(1), ""}});
        auto r = logical_divide(whole, b);
        return r ? divide_law(whole, b, *r) : r.refusal().reason + ": " + show(whole, b);
      },
      100);
}

TEST_CASE("divisions by mode, zipped, and tile with the halves exchanged", "[divide]") {
  hold(
      [](Random& random) -> std::string {
        Layout a = random_tuple(random, 3, 8, Strides::compact);
        Tiler tiler{random_layout(random, 4), random_layout(random, 4)};
        if (random.chance(30)) tiler[0].reset();
        auto by_mode = logical_divide(a, tiler), zipped = zipped_divide(a, tiler),
             tiled = tile(a, tiler);
        if (static_cast<bool>(by_mode) != static_cast<bool>(zipped))
          return "one is refused: " + show(a);
        if (!by_mode) return refused;
        auto modes = a.parts(), divided = by_mode->parts();
        std::vector<Layout> tiles, rests;
        for (size_t i = 0; i < 3; ++i) {
          if (i == 2 || !tiler[i]) {
            if (divided[i] != modes[i])
              return "a mode without a tile changed: " + show(a, *by_mode);
            rests.push_back(modes[i]);
            continue;
          }
          auto fault = divide_law(modes[i], *tiler[i], divided[i]);
          if (!fault.empty()) return fault;
          tiles.push_back(divided[i].parts()[0]);
          rests.push_back(divided[i].parts()[1]);
        }
        Layout halves[2] = {Layout::tuple(tiles), Layout::tuple(rests)};
        if (*zipped != Layout::tuple({halves[0], halves[1]}))
          return "wrong halves: " + show(*zipped);
        return *tiled == Layout::tuple({halves[1], halves[0]}) ? "" : "wrong tile: " + show(*tiled);
      },
      10);
}

TEST_CASE("logical product: copies in order that do not overlap", "[product]") {
  hold(
      [](Random& random) {
        Layout a = random_layout(random, 16, random.chance(80) ? Strides::gaps : Strides::any);
        Layout b = random_layout(random, 12);
        auto r = logical_product(a, b);
        return r ? product_law(a, b, *r) : refused;
      },
      40);
}

TEST_CASE("logical product: what is compact is never refused", "[product]") {
  hold(
      [](Random& random) {
        Layout a = random_layout(random, 16, Strides::compact),
               b = random_layout(random, 12, Strides::compact);
        auto r = logical_product(a, b);
        return r ? product_law(a, b, *r) : r.refusal().reason + ": " + show(a, b);
      },
      100);
}

namespace {

/// One number for each mode of a tuple layout.
int64_t value_by_mode(const Layout& layout, const std::vector<int64_t>& indices) {
  int64_t value = 0;
  auto parts = layout.parts();
  for (size_t i = 0; i < parts.size(); ++i) value += value_at(parts[i], indices[i]);
  return value;
}

std::string pair_law(Random& random, bool raked) {
  Layout a = random_tuple(random, 2, 4, Strides::gaps),
         b = random_tuple(random, 2, 4, Strides::mixed);
  auto r = raked ? raked_product(a, b) : blocked_product(a, b);
  auto product = logical_product(a, b);
  if (static_cast<bool>(r) != static_cast<bool>(product)) return "one is refused: " + show(a, b);
  if (!r) return refused;
  if (r->rank() != 2) return "not two modes: " + show(a, b, *r);
  auto modes_a = a.parts(), modes_b = b.parts();
  for (int64_t i = 0; i < count_of(a); ++i)
    for (int64_t j = 0; j < count_of(b); ++j) {
      std::vector<int64_t> at;
      int64_t left_a = i, left_b = j;
      for (size_t k = 0; k < 2; ++k) {
        int64_t size_a = count_of(modes_a[k]), size_b = count_of(modes_b[k]);
        int64_t in_a = left_a % size_a, in_b = left_b % size_b;
        left_a /= size_a, left_b /= size_b;
        at.push_back(raked ? in_b + size_b * in_a : in_a + size_a * in_b);
      }
      if (value_by_mode(*r, at) != value_at(*product, i + count_of(a) * j))
        return fmt::format("wrong at {} of copy {}: {}", i, j, show(a, b, *r));
    }
  return "";
}

} // namespace

TEST_CASE("blocked product: elements of a block are neighbours in each mode", "[product]") {
  hold([](Random& random) { return pair_law(random, false); }, 20);
}

TEST_CASE("raked product: copies of an element are neighbours in each mode", "[product]") {
  hold([](Random& random) { return pair_law(random, true); }, 20);
}

TEST_CASE("products pair modes, and say so", "[product]") {
  CHECK(blocked_product(read("(2,5):(5,1)"), read("4:1")).refusal().reason ==
        "the product pairs modes, and there are 2 and 1");
  CHECK(zipped_divide(read("4:1"), {read("2:1"), read("2:1")}).refusal().reason ==
        "a tiler of 2 modes for a layout of 1");
}

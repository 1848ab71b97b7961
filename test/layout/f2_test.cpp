// The bit matrices: the same function as the layout, and its algebra, by looking at all values.
#include "layout/f2.h"
#include "support.h"
#include <set>

using namespace tang::layout;

namespace {

/// Powers of two; mostly with disjoint bits, some with a swizzle and an offset.
Swizzled random_bits(Random& random, int64_t most) {
  Swizzled a{{},
             0,
             random_layout(random, most, random.chance(60) ? Strides::compact : Strides::mixed,
                           {1, 2, 2, 4, 4, 8})};
  if (random.chance(40)) {
    int64_t bits = random.in(1, 3);
    a.swizzle =
        *make_swizzle(bits, random.in(0, 2), random.in(bits, 4) * (random.chance(50) ? 1 : -1));
  }
  if (random.chance(30)) a.offset = random.of<int64_t>({1, 2, 8, 64, 192, 3});
  return a;
}

int64_t value_of(const Swizzled& a, int64_t index) {
  return a.swizzle(*a.offset.constant() + value_at(a.layout, index));
}

} // namespace

TEST_CASE("the matrix is the layout", "[f2]") {
  hold(
      [](Random& random) -> std::string {
        Swizzled a = random_bits(random, 128);
        auto f = f2_of(a);
        auto count = static_cast<uint64_t>(count_of(a.layout));
        if (!f) {
          // Refused without an offset: then some two values do not add by XOR.
          if (a.offset != Sum(0)) return refused;
          for (uint64_t i = 0; i < count; ++i)
            for (uint64_t bit = 1; bit < count; bit *= 2)
              if ((value_at(a.layout, static_cast<int64_t>(i)) ^
                   value_at(a.layout, static_cast<int64_t>(bit))) !=
                  value_at(a.layout, static_cast<int64_t>(i ^ bit)))
                return refused;
          return "refused: " + to_text(a);
        }
        for (uint64_t i = 0; i < count; ++i)
          if ((*f)(i) != static_cast<uint64_t>(value_of(a, static_cast<int64_t>(i))))
            return fmt::format("wrong at {}: {}", i, to_text(a));
        int bits = 0;
        for (int mode : f->domain) bits += mode;
        return uint64_t{1} << bits == count && f->domain.size() == a.layout.rank() ? ""
                                                                                   : "wrong domain";
      },
      40);
}

TEST_CASE("composition, inverse, rank and bijectivity of matrices", "[f2]") {
  hold(
      [](Random& random) -> std::string {
        Swizzled a = random_bits(random, 64), b = random_bits(random, 64);
        auto f = f2_of(a), g = f2_of(b);
        if (!f || !g) return refused;
        std::set<int64_t> distinct;
        for (int64_t i = 0; i < count_of(b.layout); ++i) distinct.insert(value_of(b, i));
        if (int64_t{1} << rank(*g) != static_cast<int64_t>(distinct.size()))
          return "rank: " + to_text(b);
        bool onto = static_cast<int64_t>(distinct.size()) == count_of(b.layout) &&
                    *distinct.rbegin() == count_of(b.layout) - 1;
        if (is_bijective(*g) != onto) return "bijective? " + to_text(b);
        auto back = inverse(*g);
        if (static_cast<bool>(back) != onto) return "inverse? " + to_text(b);
        for (int64_t i = 0; onto && i < count_of(b.layout); ++i)
          if ((*back)(static_cast<uint64_t>(value_of(b, i))) != static_cast<uint64_t>(i))
            return "wrong inverse: " + to_text(b);
        auto both = compose(*f, *g);
        bool inside = *distinct.rbegin() < count_of(a.layout);
        if (!inside) return both ? "beyond the end: " + to_text(a) + " " + to_text(b) : refused;
        if (!both) {
          // Each bit fits, or some value is missing from the set that the bits span.
          uint64_t bits = 0;
          for (int64_t v : distinct) bits |= static_cast<uint64_t>(v);
          return bits >= static_cast<uint64_t>(count_of(a.layout)) ? refused
                                                                   : "refused: " + to_text(b);
        }
        for (int64_t i = 0; i < count_of(b.layout); ++i)
          if ((*both)(static_cast<uint64_t>(i)) !=
              static_cast<uint64_t>(value_of(a, value_of(b, i))))
            return "wrong composition: " + to_text(a) + " " + to_text(b);
        return "";
      },
      10);
}

TEST_CASE("what has no matrix", "[f2]") {
  CHECK(f2_of(read_whole("6:1")).refusal().reason == "size 6 is not a power of two");
  CHECK(f2_of(read_whole("M:1")).refusal().reason == "size M is not a power of two");
  CHECK(f2_of(read_whole("4:M")).refusal().reason == "`M` has symbols");
  CHECK(f2_of(read_whole("(4,2):(1,3)")).refusal().reason ==
        "mode `2:3` has bits in common with other modes or the offset, and carries when it is "
        "added to them");
  CHECK_FALSE(f2_of(read_whole("8:4611686018427387904")));
  CHECK_FALSE(f2_of(read_whole("8:1@m"), {"n"}));
}

TEST_CASE("bits of coordinates: the A fragment of m16n8k16", "[f2]") {
  auto f = f2_of(read_whole("((4,8),(2,2,2)):((2@k,1@m),(1@k,8@m,8@k))"));
  REQUIRE(f);
  CHECK(f->axes == std::vector<std::string>{"k", "m"});
  CHECK(f->domain == std::vector<int>{5, 3});
  // (m, k) of each bit.
  std::vector<std::pair<uint64_t, uint64_t>> wanted{{0, 2}, {0, 4}, {1, 0}, {2, 0},
                                                    {4, 0}, {0, 1}, {8, 0}, {0, 8}};
  REQUIRE(f->columns.size() == wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    CHECK(f->columns[i] == (wanted[i].first << f->axis_bits() | wanted[i].second));
}

TEST_CASE("passes of shared memory: the ranks count what the addresses show", "[banks]") {
  hold(
      [](Random& random) -> std::string {
        Swizzled a = random_bits(random, 32);
        int64_t bytes = random.of<int64_t>({1, 2, 4, 8, 16});
        for (Mode& mode : a.layout.leaves)
          mode.stride.amount.factor *= bytes * random.of<int64_t>({1, 1, 4, 32});
        a.offset = *a.offset.constant() * bytes;
        if (!a.swizzle.is_identity()) a.swizzle.base += 4;
        auto f = f2_of(a);
        if (!f) return refused;
        auto passes = bank_passes(*f, bytes), counted = bank_passes(*image(a), bytes);
        if (!passes || !counted) return "refused: " + to_text(a);
        return *passes == *counted
                   ? ""
                   : fmt::format("{} instead of {}: {}", *passes, *counted, to_text(a));
      },
      30);
}

TEST_CASE("passes of shared memory: known cases", "[banks]") {
  auto passes = [](std::string_view text, int64_t bytes) {
    Swizzled a = read_whole(text);
    auto f = f2_of(a);
    return f ? *bank_passes(*f, bytes) : *bank_passes(*image(a), bytes);
  };
  CHECK(passes("32:4", 4) == 1);
  CHECK(passes("32:8", 4) == 2);
  CHECK(passes("32:128", 4) == 32);
  CHECK(passes("32:0", 4) == 1);
  CHECK(passes("32:132", 4) == 1); // padded rows carry, and are counted
  CHECK(passes("32:2", 2) == 1);
  CHECK(passes("32:8", 8) == 1);
  CHECK(passes("32:16", 16) == 1);
  CHECK(passes("Sw<3,4,3> o 8:128", 16) == 1);
  CHECK(bank_passes(*f2_of(read_whole("32:2")), 4).refusal().reason ==
        "not all addresses are aligned to the 4 bytes of an access");
  CHECK(bank_passes(std::vector<int64_t>{2}, 4).refusal().reason ==
        "address 2 is not aligned to the 4 bytes of an access");
  CHECK(bank_passes(std::vector<int64_t>{0}, 3).refusal().reason ==
        "a lane moves 1, 2, 4, 8 or 16 bytes, not 3");
}

TEST_CASE("rows of contiguous bytes", "[f2]") {
  // 64 rows of 64 elements of 16 bits: rows of 8 elements are 16 bytes.
  auto rows = [](std::string_view text, int64_t elements) {
    return has_contiguous_rows(*f2_of(read_whole(text)), 1, elements);
  };
  CHECK(rows("(64,64):(64,1)", 8));
  CHECK(rows("Sw<3,3,3> o (64,64):(64,1)", 8));
  CHECK_FALSE(rows("Sw<3,2,3> o (64,64):(64,1)", 8));
  CHECK(rows("Sw<3,2,3> o (64,64):(64,1)", 4));
  CHECK_FALSE(rows("(64,64):(1,64)", 8));
  CHECK_FALSE(rows("4 + (64,4):(64,1)", 8));
  CHECK_FALSE(rows("(64,4):(64,1)", 8));
  CHECK_FALSE(rows("(64,64):(64,1)", 6));
  CHECK_FALSE(has_contiguous_rows(*f2_of(read_whole("(64,64):(64,1)")), 2, 8));
}

TEST_CASE("fragments that 8x8 matrices load, by looking at each row", "[f2]") {
  hold(
      [](Random& random) -> std::string {
        // Lanes in the order of some fragment, over a tile of 16x16 halves in some memory layout.
        Layout fragment = read(random.chance(50) ? "((4,8),(2,2,2)):((32,1),(16,8,128))"
                                                 : "((4,8),(2,2,2)):((2,16),(1,128,8))");
        Swizzled tile = read_whole(random.of<std::string>(
            {"(16,16):(16,1)", "(16,16):(1,16)", "Sw<1,3,3> o (16,16):(16,1)",
             "Sw<1,2,3> o (16,16):(16,1)", "(16,16):(32,1)", "8 + (16,16):(16,1)",
             "4 + (16,16):(16,1)", "(16,(2,8)):(16,(8,1))"}));
        if (random.chance(30)) std::swap(fragment.leaves[0].stride, fragment.leaves[2].stride);
        if (random.chance(20)) std::swap(fragment.leaves[0], fragment.leaves[1]);
        auto whole = compose(tile, fragment);
        if (!whole) return refused;
        auto f = f2_of(*whole);
        if (!f) return refused;
        // Matrix after matrix: 8 rows of 8; lane 4*row + column/2 gets elements column and
        // column+1.
        bool plain = true, transposed = true;
        for (uint64_t matrix = 0; matrix < 4; ++matrix)
          for (uint64_t row = 0; row < 8; ++row)
            for (uint64_t column = 0; column < 8; ++column) {
              auto at = [&](uint64_t r, uint64_t c) {
                return (*f)((4 * r + c / 2) | (c % 2) << 5 | matrix << 6);
              };
              plain = plain && at(row, column) == at(row, 0) + column && at(row, 0) % 8 == 0;
              transposed =
                  transposed && at(column, row) == at(0, row) + column && at(0, row) % 8 == 0;
            }
        if (loads_matrices(*f) != plain) return "plain? " + to_text(*whole);
        return loads_transposed_matrices(*f) == transposed ? "" : "transposed? " + to_text(*whole);
      },
      50);
  Swizzled tile = read_whole("Sw<1,3,3> o (16,16):(16,1)");
  CHECK(loads_matrices(*f2_of(*compose(tile, read("((4,8),(2,2,2)):((32,1),(16,8,128))")))));
  CHECK(loads_transposed_matrices(
      *f2_of(*compose(read_whole("(16,16):(1,16)"), read("((4,8),(2,2,2)):((32,1),(16,8,128))")))));
}

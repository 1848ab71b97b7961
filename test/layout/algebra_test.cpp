// Coalesce, compose, complement and the inverses, by their laws on whole domains.
#include "support.h"
#include <set>

using namespace tang::layout;

TEST_CASE("coalesce: the same function in the fewest flat modes", "[coalesce]") {
  hold(
      [](Random& random) {
        Layout a = random_layout(random, 64);
        auto r = coalesce(a);
        return r ? coalesce_law(a, *r) : r.refusal().reason;
      },
      100);
}

TEST_CASE("coalesce by mode keeps the rank, and each mode's function", "[coalesce]") {
  hold(
      [](Random& random) -> std::string {
        Layout a = random_tuple(random, static_cast<size_t>(random.in(1, 3)), 12);
        auto r = coalesce_modes(a);
        if (!r) return r.refusal().reason;
        auto from = a.parts(), to = r->parts();
        if (from.size() != to.size()) return "the rank changed: " + show(a, *r);
        for (size_t i = 0; i < from.size(); ++i)
          if (auto fault = coalesce_law(from[i], to[i]); !fault.empty()) return fault;
        return "";
      },
      100);
}

TEST_CASE("compose: R(c) = A(B(c)) in the shape of B", "[compose]") {
  hold(
      [](Random& random) {
        Layout a = random_layout(random, 96), b = random_layout(random, 48);
        auto r = compose(a, b);
        return r ? compose_law(a, b, *r) : refused;
      },
      15, 30000);
}

TEST_CASE("compose with what is known to fit is not refused", "[compose]") {
  hold(
      [](Random& random) -> std::string {
        // Any layout composes with the index itself, and with any of its own flat modes.
        Layout a = random_layout(random, 64);
        auto flat = coalesce(a);
        auto index = compact(shape_of(*flat));
        const Mode& whole = random.of(index->leaves);
        Layout b = random.chance(50) ? *index : Layout::leaf(whole);
        auto r = compose(a, b);
        return r ? compose_law(a, b, *r) : r.refusal().reason + ": " + show(a, b);
      },
      100);
}

TEST_CASE("compose refuses exactly where by-mode strides are wrong", "[compose]") {
  // Where each mode of B composes alone, the sum of the parts is the only candidate. It is refused
  // where it is wrong somewhere, and taken where it is right.
  hold(
      [](Random& random) -> std::string {
        Layout a = random_layout(random, 64), b = random_layout(random, 24);
        std::vector<Layout> alone;
        for (const Mode& mode : b.leaves) {
          auto part = compose(a, Layout::leaf(mode));
          if (!part) return refused;
          alone.push_back(*part);
        }
        Layout candidate = Layout::tuple(alone);
        bool right = true;
        for (int64_t i = 0; i < count_of(b); ++i)
          right = right && value_at(b, i) < count_of(a) &&
                  value_at(candidate, i) == value_at(a, value_at(b, i));
        bool taken = static_cast<bool>(compose(a, b));
        return taken == right ? ""
                              : fmt::format("taken {}, right {}: {}", taken, right, show(a, b));
      },
      30, 30000);
}

TEST_CASE("compose by mode", "[compose]") {
  hold(
      [](Random& random) -> std::string {
        Layout a = random_tuple(random, 2, 16, Strides::compact);
        Tiler tiler{random_layout(random, 6), std::nullopt};
        if (random.chance(50)) tiler.pop_back();
        auto r = compose(a, tiler);
        if (!r) return refused;
        auto from = a.parts(), to = r->parts();
        if (to.size() != 2 || to[1] != from[1]) return "the other mode changed: " + show(a, *r);
        return compose_law(from[0], *tiler[0], to[0]);
      },
      20);
}

TEST_CASE("compose through coordinates counts each mode along its axis", "[compose]") {
  hold(
      [](Random& random) -> std::string {
        Layout a = random_tuple(random, 2, 16, Strides::compact), b = random_layout(random, 16);
        for (Mode& mode : b.leaves)
          if (!mode.stride.is_zero()) mode.stride.basis = random.chance(50) ? "m" : "n";
        auto r = compose_coordinates(a, b, {"m", "n"});
        if (!r) return refused;
        if (!refines(*r, shape_of(b))) return "the shape is lost: " + show(a, b, *r);
        Layout along[2] = {b, b};
        for (size_t i = 0; i < b.leaves.size(); ++i)
          along[b.leaves[i].stride.basis == "m" ? 1 : 0].leaves[i].stride = {};
        auto modes = a.parts();
        for (int64_t i = 0; i < count_of(b); ++i) {
          int64_t m = value_at(along[0], i), n = value_at(along[1], i);
          if (m >= count_of(modes[0]) || n >= count_of(modes[1])) return "outside: " + show(a, b);
          if (value_at(*r, i) != value_at(modes[0], m) + value_at(modes[1], n))
            return fmt::format("wrong at {}: {}", i, show(a, b, *r));
        }
        return "";
      },
      10);
}

TEST_CASE("complement: ordered, disjoint, without gaps, no larger than needed", "[complement]") {
  hold(
      [](Random& random) -> std::string {
        Layout a = random_layout(random, 48);
        int64_t target = random.in(1, 200);
        auto r = complement(a, Monomial::constant(target));
        if (r) return complement_law(a, target, *r);
        // Refused: in the order of strides one mode starts inside of what is filled.
        std::vector<std::pair<int64_t, int64_t>> modes;
        for (const Mode& mode : without_broadcasts(a).leaves)
          if (mode.size.factor > 1) modes.emplace_back(mode.stride.amount.factor, mode.size.factor);
        std::sort(modes.begin(), modes.end());
        bool fits = true;
        int64_t filled = 1;
        for (auto [stride, size] : modes)
          fits = fits && stride % filled == 0, filled = stride * size;
        return fits ? r.refusal().reason + ": " + show(a) : refused;
      },
      40);
}

TEST_CASE("right inverse: L(R(k)) = k, as long as possible", "[inverse]") {
  hold(
      [](Random& random) {
        Layout a = random_layout(random, 64);
        auto r = right_inverse(a);
        return r ? right_inverse_law(a, *r) : r.refusal().reason;
      },
      100);
}

TEST_CASE("left inverse: R(L(i)) = i, and refused for what is not injective", "[inverse]") {
  hold(
      [](Random& random) -> std::string {
        Layout a = random_layout(random, 48);
        auto r = left_inverse(a);
        if (r) return left_inverse_law(a, *r);
        // Every injective layout that has a complement has a left inverse.
        bool possible = !has_repeats(values_of(a)) && complement(a, Monomial::constant(1));
        return possible ? r.refusal().reason + ": " + show(a) : refused;
      },
      40);
}

TEST_CASE("max common vector: the longest run that is in order on both sides", "[vector]") {
  hold(
      [](Random& random) -> std::string {
        Layout a = random_layout(random, 48, Strides::gaps), b = random_layout(random, 48);
        if (random.chance(60)) {
          // The same elements in the order of another layout.
          b = a;
          b.leaves[0].stride = a.leaves.back().stride;
          b.leaves.back().stride = a.leaves[0].stride;
          if (random.chance(30)) b.leaves.back().stride.amount.factor *= 2;
        }
        auto r = max_common_vector(a, b);
        if (count_of(a) != count_of(b)) return r ? "unequal sizes: " + show(a, b) : refused;
        if (!r) return r.refusal().reason;
        if (has_repeats(values_of(a)) || has_repeats(values_of(b))) return refused;
        auto place_of = [](const std::vector<int64_t>& values, int64_t k) {
          return std::find(values.begin(), values.end(), k) - values.begin();
        };
        std::vector<int64_t> in_a = values_of(a), in_b = values_of(b);
        int64_t n = 0;
        while (n < count_of(a) && place_of(in_a, n) == place_of(in_b, n) &&
               place_of(in_a, n) != count_of(a))
          ++n;
        return r->factor == n ? "" : fmt::format("{} instead of {}: {}", r->factor, n, show(a, b));
      },
      30);
}

#pragma once
// Random layouts without symbols, and what layouts mean, computed here in the plainest way.
#include "layout/algebra.h"
#include "layout/evaluate.h"
#include "layout/text.h"
#include <catch2/catch.hpp>

namespace tang::layout {

/// A counter-based generator: the same numbers with every library.
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  /// In [low, high].
  int64_t in(int64_t low, int64_t high);
  bool chance(int percent) { return in(1, 100) <= percent; }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[static_cast<size_t>(in(0, static_cast<int64_t>(values.size()) - 1))];
  }

private:
  uint64_t state_;
};

/// How the strides of a random layout come about.
enum class Strides {
  any,     ///< small numbers
  compact, ///< some order of the modes without gaps
  gaps,    ///< some order of the modes, with gaps that strides can fill
  mixed    ///< one of these
};

/// Of at most `most` elements, with sizes among `sizes`.
Layout random_layout(Random& random, int64_t most, Strides strides = Strides::mixed,
                     const std::vector<int64_t>& sizes = {1, 2, 2, 3, 4, 4, 5, 6, 8});
/// A nested form around leaves.
std::string random_form(Random& random, size_t leaves);
/// A tuple of random layouts of that many modes.
Layout random_tuple(Random& random, size_t rank, int64_t most, Strides strides = Strides::mixed);

int64_t count_of(const Layout& layout);
/// The value at an index, digit by digit.
int64_t value_at(const Layout& layout, int64_t index);
std::vector<int64_t> values_of(const Layout& layout);
bool has_repeats(std::vector<int64_t> values);
/// Layout without modes of stride 0 or size 1, flat.
Layout without_broadcasts(const Layout& layout);
/// Whether tuples of `fine` stand only where `coarse` has leaves, of the same sizes.
bool refines(const Layout& fine, const Shape& coarse);

std::string show(const Layout& a);
template <class... Rest>
std::string show(const Layout& a, const Rest&... rest) {
  return show(a) + "   " + show(rest...);
}

/// Runs `law` on `cases` seeded random cases. It says what is wrong, "" where all holds, or
/// `refused`; at least `percent` of the cases must not be refused.
inline const std::string refused = "refused";
template <class Law>
void hold(Law&& law, int percent, int cases = 10000) {
  int answered = 0;
  for (int seed = 0; seed < cases; ++seed) {
    Random random(static_cast<uint64_t>(seed));
    std::string fault = law(random);
    answered += fault != refused;
    if (fault.empty() || fault == refused) continue;
    FAIL("seed " << seed << ": " << fault);
  }
  CHECK(answered * 100 >= percent * cases);
}

/// Reads a layout without swizzle and offset; the test fails where the text is wrong.
Layout read(std::string_view text);
Swizzled read_whole(std::string_view text);

// Laws: what an answer must be for these arguments; "" where it is.
std::string coalesce_law(const Layout& a, const Layout& r);
std::string compose_law(const Layout& a, const Layout& b, const Layout& r);
std::string complement_law(const Layout& a, int64_t target, const Layout& r);
std::string right_inverse_law(const Layout& a, const Layout& r);
std::string left_inverse_law(const Layout& a, const Layout& r);
std::string divide_law(const Layout& a, const Layout& b, const Layout& r);
std::string product_law(const Layout& a, const Layout& b, const Layout& r);

} // namespace tang::layout

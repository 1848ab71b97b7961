// Sizes at which generated code is tried: small, and such that the launcher takes the variant
// meant.
#include "base/checked.h"
#include "driver/storage.h"
#include "driver/test_program.h"
#include "graph/dims.h"
#include <algorithm>

namespace tang::driver {

namespace {

/// Combinations that are looked at.
constexpr size_t most_combinations = 4096;

/// A value that is no power of two, and small, where the range allows it.
int64_t small_value(const graph::Dim& dim, size_t position) {
  int64_t wanted = 3 + static_cast<int64_t>(position % 3), step = std::max<int64_t>(dim.step, 1);
  int64_t value = std::max(dim.lo, std::min(dim.hi, wanted));
  value = (value + step - 1) / step * step;
  return value > dim.hi ? dim.hi / step * step : value;
}

bool holds(const graph::Dim& dim, int64_t value) {
  return dim.lo <= value && value <= dim.hi && value % std::max<int64_t>(dim.step, 1) == 0;
}

bool holds(const graph::Graph& variant, const std::vector<int64_t>& values) {
  return std::equal(variant.dims.begin(), variant.dims.end(), values.begin(),
                    [](const graph::Dim& dim, int64_t value) { return holds(dim, value); });
}

/// Values of one dim, the favourite first: then those beside it, and those just outside what
/// earlier variants take.
std::vector<int64_t> candidates(std::span<const graph::Graph> variants, size_t number, size_t d) {
  const graph::Dim& dim = variants[number].dims[d];
  int64_t first = small_value(dim, d);
  std::vector<int64_t> found;
  auto add = [&](int64_t value) {
    if (holds(dim, value) && std::find(found.begin(), found.end(), value) == found.end())
      found.push_back(value);
  };
  add(first);
  for (int64_t n = 1; n <= 4; ++n)
    if (auto step = checked_mul(n, dim.step)) {
      if (auto next = checked_add(first, *step)) add(*next);
      add(first - *step);
    }
  for (const graph::Graph& earlier : variants.first(number)) {
    const graph::Dim& other = earlier.dims[d];
    if (other.hi < dim.hi) add(ceildiv(other.hi + 1, dim.step) * dim.step);
    if (other.lo > 0) add(floordiv(other.lo - 1, dim.step) * dim.step);
  }
  return found;
}

} // namespace

std::optional<std::vector<int64_t>> sizes_for_variant(std::span<const graph::Graph> variants,
                                                      size_t number) {
  size_t rank = variants[number].dims.size();
  std::vector<std::vector<int64_t>> choices;
  for (size_t d = 0; d < rank; ++d) choices.push_back(candidates(variants, number, d));
  std::optional<std::vector<int64_t>> crowded;
  std::vector<size_t> at(rank, 0);
  for (size_t tried = 0; tried < most_combinations; ++tried) {
    std::vector<int64_t> values;
    for (size_t d = 0; d < rank; ++d) values.push_back(choices[d][at[d]]);
    bool taken = std::any_of(variants.begin(), variants.begin() + static_cast<ptrdiff_t>(number),
                             [&](const graph::Graph& earlier) { return holds(earlier, values); });
    if (!taken && outputs_have_room(variants[number], values)) return values;
    if (!taken && !crowded) crowded = values;
    size_t d = 0;
    while (d < rank && ++at[d] == choices[d].size()) at[d++] = 0;
    if (d == rank) break;
  }
  return crowded; // which the launcher refuses
}

} // namespace tang::driver

#include "interpret/random.h"
#include "base/check.h"
#include "interpret/formats.h"
#include <algorithm>

namespace tang::interpret {
namespace {

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The high half of a 64 by 64 bit product.
uint64_t multiply_high(uint64_t a, uint64_t b) {
  uint64_t a_lo = a & 0xffffffffu, a_hi = a >> 32, b_lo = b & 0xffffffffu, b_hi = b >> 32;
  uint64_t middle = a_hi * b_lo + (a_lo * b_lo >> 32);
  uint64_t carry = (middle & 0xffffffffu) + a_lo * b_hi;
  return a_hi * b_hi + (middle >> 32) + (carry >> 32);
}

graph::IntRange range_for(const graph::Tensor& tensor) {
  graph::IntRange held = graph::range_of(tensor.type);
  graph::IntRange wanted = tensor.range.value_or(
      graph::is_signed(tensor.type) ? graph::IntRange{-128, 127} : graph::IntRange{0, 255});
  graph::IntRange range{std::max(held.lo, wanted.lo), std::min(held.hi, wanted.hi)};
  // Sizes at which no value is allowed have data that breaks the declaration.
  return {range.lo, std::max(range.lo, range.hi)};
}

} // namespace

uint64_t random_word(uint64_t seed, uint64_t position, uint64_t element, uint64_t n) {
  return mix(mix(mix(mix(seed) + position) + element) + n);
}

double random_normal(uint64_t seed, uint64_t position, uint64_t element) {
  int64_t sum = 0;
  for (uint64_t n = 0; n < 3; ++n)
    for (uint64_t word = random_word(seed, position, element, n); word != 0; word >>= 16)
      sum += static_cast<int64_t>(word & 0xffff);
  return static_cast<double>(sum + 6) / 65536 - 6;
}

int64_t random_integer(uint64_t seed, uint64_t position, uint64_t element, graph::IntRange range) {
  uint64_t word = random_word(seed, position, element, 0);
  uint64_t count = static_cast<uint64_t>(range.hi) - static_cast<uint64_t>(range.lo) + 1;
  if (count == 0) return static_cast<int64_t>(word); // all 2^64 values
  return static_cast<int64_t>(static_cast<uint64_t>(range.lo) + multiply_high(word, count));
}

Array random_array(const graph::Tensor& tensor, std::vector<int64_t> shape, uint64_t seed,
                   uint64_t position) {
  Array array = zeros(graph::scalar_of(tensor.type), std::move(shape));
  for (size_t i = 0; i < array.reals.size(); ++i)
    array.reals[i] = round_to(tensor.type, random_normal(seed, position, i));
  for (size_t i = 0; i < array.integers.size(); ++i)
    array.integers[i] = array.scalar == Scalar::boolean
                            ? static_cast<int64_t>(random_word(seed, position, i, 0) >> 63)
                            : random_integer(seed, position, i, range_for(tensor));
  if (tensor.sorted) {
    std::sort(array.reals.begin(), array.reals.end());
    std::sort(array.integers.begin(), array.integers.end());
  }
  return array;
}

} // namespace tang::interpret

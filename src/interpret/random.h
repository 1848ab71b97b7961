#pragma once
// Stated random data: a counter-based generator, so that any element can be computed alone.
//
//     mix(x)   = the finaliser of SplitMix64 applied to x + 0x9e3779b97f4a7c15
//     h(n)     = mix(mix(mix(mix(seed) + position) + element) + n)     (64-bit, wrapping)
//
// `position` is the tensor's place in the graph's list of inputs, `element` the row-major place.
//
// - Reals approximate N(0, 1) by twelve uniform numbers: the four 16-bit lanes of h(0), h(1), h(2),
//   summed as integers, give (sum + 6) / 65536 - 6: mean 0, variance 1, within -6..6. Only integer
//   operations and one exact division by a power of two, so that no libm decides a bit. The value
//   is then rounded to the tensor's type.
// - Integers are uniform: lo + floor(h(0) * (hi - lo + 1) / 2^64) over the declared range, or over
//   -128..127 (0..255 when unsigned), cut to what the type holds. Booleans are the top bit of h(0).
// - A tensor declared `sorted` is sorted afterwards.
#include "graph/graph.h"
#include "interpret/value.h"

namespace tang::interpret {

uint64_t random_word(uint64_t seed, uint64_t position, uint64_t element, uint64_t n);
double random_normal(uint64_t seed, uint64_t position, uint64_t element);
/// Uniform in `range`, ends included.
int64_t random_integer(uint64_t seed, uint64_t position, uint64_t element, graph::IntRange range);

/// Data for `tensor`, whose shape is `shape`.
Array random_array(const graph::Tensor& tensor, std::vector<int64_t> shape, uint64_t seed,
                   uint64_t position);

} // namespace tang::interpret

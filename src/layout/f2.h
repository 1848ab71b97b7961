#pragma once
// Layouts of powers of two as matrices over F2, the field of one bit.
//
// The bits of an index are the coordinates of a vector, and a layout whose strides have no bits in
// common adds them without carries, which is XOR: value = offset ^ (XOR of column i where bit i of
// the index is set). An XOR swizzle is a matrix too, so that layouts with swizzles compose, invert
// and compare like those without.
//
//   (4,(2,4)):(2,(1,8))    columns 2 4 | 1 8 16
#include "layout/layout.h"
#include <cstdint>
#include <span>

namespace tang::layout {

struct F2Layout {
  std::vector<int> domain; ///< bits of each mode of the top level, the first one lowest
  std::vector<std::string>
      axes; ///< what values count along: the empty basis, or those of coordinates
  std::vector<uint64_t>
      columns; ///< of each bit of the index; axis i takes bits from i * axis_bits()
  uint64_t offset = 0;

  int axis_bits() const { return axes.empty() ? 62 : 62 / static_cast<int>(axes.size()); }
  uint64_t operator()(uint64_t index) const;
  friend bool operator==(const F2Layout&, const F2Layout&) = default;
};

/// Refused where a size is no power of two, a stride or offset carries when added, or symbols
/// occur. `axes` are those of the layout unless given; all of the layout's must be among them.
Result<F2Layout> f2_of(const Swizzled& layout, std::vector<std::string> axes = {});

/// a(b(x)) for a plain b that stays below the size of a.
Result<F2Layout> compose(const F2Layout& a, const F2Layout& b);
/// Onto 0, 1, ... size-1, each once.
bool is_bijective(const F2Layout& a);
/// Of a bijective layout; one mode.
Result<F2Layout> inverse(const F2Layout& a);
/// The dimension of the values: 2^rank different ones.
int rank(const F2Layout& a);

/// What stands between two layouts (lane, register) -> element of one set of elements.
enum class Exchange : uint8_t {
  none,      ///< they are the same
  registers, ///< registers have other names in all lanes alike
  selects,   ///< no value leaves its lane, but its register depends on the lane
  shuffles   ///< values change lanes
};
std::string_view name(Exchange exchange);

struct Conversion {
  Exchange exchange = Exchange::none;
  /// Bit i of a destination (lane, register) comes from these bits of the source (lane, register).
  std::vector<uint64_t> columns;
  uint64_t offset = 0;
  /// The registers of one lane come from 2^source_lane_bits different lanes.
  int source_lane_bits = 0;
};
/// Both have two modes, as many lanes, and the same axes. Refused where `to` holds an element that
/// `from` does not.
Result<Conversion> conversion(const F2Layout& from, const F2Layout& to);

/// Whether the bits `low` of the index are the lowest bits of the value, in this order, and no
/// other bit and not the offset reaches those: `low` runs through aligned blocks of contiguous
/// elements.
bool runs_through_blocks(const F2Layout& a, std::span<const int> low);
/// Whether the first `elements` (a power of two) of mode `mode` are such a block: rows of 16 bytes
/// are 8 elements of 16 bits.
bool has_contiguous_rows(const F2Layout& a, size_t mode, int64_t elements);
/// Whether a layout (lane, register) -> address, in elements of 16 bits, is what 8x8 matrices load:
/// a row of 16 contiguous, aligned bytes goes to four lanes, two neighbours to each.
bool loads_matrices(const F2Layout& a);
/// The same with each matrix transposed: a row goes to one register of eight lanes.
bool loads_transposed_matrices(const F2Layout& a);

/// How many passes shared memory needs for one access of `bytes` bytes a lane, from addresses in
/// bytes: 1 without conflicts. 32 banks are 4 bytes wide; 128 bytes are served at once, so that 8
/// and 16 bytes a lane are accesses of 16 and 8 lanes. Lanes that read one word do not conflict.
Result<int64_t> bank_passes(const F2Layout& lanes, int64_t bytes);
/// The same from a list of addresses, one a lane.
Result<int64_t> bank_passes(const std::vector<int64_t>& addresses, int64_t bytes);

} // namespace tang::layout

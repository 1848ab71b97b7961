#pragma once
// Times of bounds: whole picoseconds, rounded down.
#include "bound/operations.h"
#include "targets/device.h"

namespace tang::bound {

/// What has an exact value at one choice of the dims; empty where it leaves 64 bits.
using Amount = std::optional<int64_t>;

/// amount / rate, rounded down to picoseconds; the rate is the device's hard roof, rounded up to a
/// whole number. 0 for an unknown amount.
int64_t picoseconds(Amount amount, double per_second);
/// Seconds as picoseconds, rounded down.
int64_t picoseconds(double seconds);

enum class TermKind : uint8_t {
  certified, ///< no implementation can be faster
  assumed    ///< holds for implementations as we know them; never part of a floor
};

/// One resource, and the time that it alone needs.
struct Term {
  std::string name; ///< "dram", "f16_mma", "sfu", "launch"
  int64_t ps = 0;
  TermKind kind = TermKind::certified;
  std::string source;
};

/// The fastest unit of a device that may do a contraction's products. A unit with fewer bits of
/// significand does them in parts: n parts of each operand make n(n+1)/2 products that matter.
struct UnitRate {
  std::string_view name; ///< of the roof
  double per_second = 0; ///< products and sums of whole operands, two operations each
  const targets::Roof* roof = nullptr;
  int products = 1; ///< of the unit, for one of the contraction
};
/// Empty where no roof of the device bounds this kind of product.
std::optional<UnitRate> fastest_unit(const targets::Device& device, const Contraction& contraction);

/// What one kernel moves and does, at one choice of the dims.
struct Work {
  Amount read_bytes = 0, written_bytes = 0;
  /// Operations (two a product) by contraction; and special functions.
  std::vector<std::pair<Contraction, Amount>> operations;
  Amount special = 0;
};

struct Floor {
  int64_t ps = 0, warm_ps = 0;
  std::string bound_by = "launch";
  std::vector<Term> terms;
};

/// The same in formulas: texts over dims, and the words `read` and `written` for the bytes.
struct WorkText {
  bool reads = true, writes = true;                            ///< at some dims
  bool always_reads = false;                                   ///< at all dims
  std::vector<std::pair<Contraction, std::string>> operations; ///< two a product
};

/// The maximum over resources. Cold: inputs come from memory, up to one last-level cache of stores
/// may not have reached it. Warm: as much of the inputs may be in that cache.
Floor floor_of(const Work& work, const targets::Device& device);

/// The cold floor as formulas in microseconds, of which the greatest counts, each behind the name
/// of its resource: `f16_mma 2*K*M*N / 311869440`. Rates are those of a microsecond.
std::vector<std::string> floor_formulas(const WorkText& work, const targets::Device& device);

} // namespace tang::bound

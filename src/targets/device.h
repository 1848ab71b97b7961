#pragma once
// A device: how fast and how large its parts are, each figure with the source that a reader can
// check. Bounds use `hard` only; `achievable` is for judging quality (report.md, rule 2).
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tang::targets {

enum class RoofKey : uint8_t {
#define TANG_ROOF(name, unit, bound, need, documentation) name,
#include "targets/roof.def"
#undef TANG_ROOF
};

enum class CapacityKey : uint8_t {
#define TANG_CAPACITY(name, unit, documentation) name,
#include "targets/capacity.def"
#undef TANG_CAPACITY
};

/// most: a rate that no implementation can exceed. least: a time that none can undercut.
enum class RoofBound : uint8_t { most, least };

struct RoofInfo {
  RoofKey key;
  std::string_view name, unit;
  RoofBound bound;
  bool required; ///< every device file must state it
  std::string_view documentation;
};

struct CapacityInfo {
  CapacityKey key;
  std::string_view name, unit, documentation;
};

inline constexpr RoofInfo roof_rows[] = {
#define TANG_ROOF(name, unit, bound, need, documentation)                                          \
  {RoofKey::name, #name, unit, RoofBound::bound, std::string_view(#need) == "required",            \
   documentation},
#include "targets/roof.def"
#undef TANG_ROOF
};

inline constexpr CapacityInfo capacity_rows[] = {
#define TANG_CAPACITY(name, unit, documentation) {CapacityKey::name, #name, unit, documentation},
#include "targets/capacity.def"
#undef TANG_CAPACITY
};

struct Roof {
  double hard = 0;                  ///< can never be exceeded (undercut, for times)
  std::optional<double> achievable; ///< the best that was measured, where it was
  std::string source;               ///< of `hard`, and of `achievable` where there is one
};

/// A whole number and where it is from.
struct Figure {
  int64_t value = 0;
  std::string source;
};

struct Device {
  std::string name;              ///< "h200": what follows the colon in `--target=sm_90a:h200`
  std::string title;             ///< "NVIDIA H200 SXM, 141 GB"
  std::string tested;            ///< how far the figures were checked, as text
  std::vector<std::string> runs; ///< names of the targets whose code it can run
  std::array<Figure, std::size(capacity_rows)> capacities;
  std::array<std::optional<Roof>, std::size(roof_rows)> roofs;

  int64_t capacity(CapacityKey key) const { return capacities[static_cast<size_t>(key)].value; }
  /// Null where the device has no such unit.
  const Roof* roof(RoofKey key) const {
    const auto& entry = roofs[static_cast<size_t>(key)];
    return entry ? &*entry : nullptr;
  }
  bool can_run(std::string_view target) const;
};

} // namespace tang::targets

#include "bound/time.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace tang::bound {
using namespace targets;
using graph::Scalar;

namespace {

/// Units that multiply: the roof, and the bits of significand (of integers: all bits) they keep.
struct Multiplier {
  RoofKey roof;
  int bits;
};
constexpr Multiplier multipliers[] = {
    {RoofKey::f32_flop_per_s, 24},     {RoofKey::f64_flop_per_s, 53},
    {RoofKey::f16_flop_per_s, 11},     {RoofKey::f16_mma_flop_per_s, 11},
    {RoofKey::bf16_mma_flop_per_s, 8}, {RoofKey::tf32_mma_flop_per_s, 11},
    {RoofKey::f64_mma_flop_per_s, 53}, {RoofKey::f8_mma_flop_per_s, 4},
    {RoofKey::int8_mma_op_per_s, 8},   {RoofKey::int32_op_per_s, 32},
};

/// Parts of an operand: each carries two bits more than its significand (signs, and the next part's
/// rounding), so that splittings in use, such as three tf32 products for f32, stay above the bound.
int parts_of(int needed, int bits) {
  return needed <= bits ? 1 : (needed + bits + 1) / (bits + 2);
}

const RoofInfo& info(RoofKey key) {
  return roof_rows[static_cast<size_t>(key)];
}

std::string unit_name(std::string_view roof) {
  for (std::string_view end : {"_flop_per_s", "_op_per_s"})
    if (roof.ends_with(end)) roof.remove_suffix(end.size());
  return std::string(roof);
}

} // namespace

int64_t picoseconds(Amount amount, double per_second) {
  if (!amount || *amount <= 0 || !(per_second > 0)) return 0;
  if (per_second >= 9e18) return 0;
  auto rate = static_cast<int64_t>(per_second);
  if (static_cast<double>(rate) < per_second) ++rate;
  rate = std::max<int64_t>(rate, 1);
  __int128 ps = static_cast<__int128>(*amount) * 1'000'000'000'000 / rate;
  return static_cast<int64_t>(std::min<__int128>(ps, std::numeric_limits<int64_t>::max()));
}

int64_t picoseconds(double seconds) {
  // Decimal constants such as 4.5e-7 may be a little below their name: a thousandth of a picosecond
  // makes up for that.
  if (!(seconds > 0) || seconds > 1e6) return 0;
  return static_cast<int64_t>(seconds * 1e12 + 1e-3);
}

std::optional<UnitRate> fastest_unit(const Device& device, const Contraction& c) {
  if (c.scalar == Scalar::boolean) return std::nullopt;
  // Processors have instructions for narrow integers that no roof describes.
  bool narrow = c.scalar == Scalar::integer && c.both_narrow;
  if (narrow && (!device.roof(RoofKey::int8_mma_op_per_s) || c.bits < 8)) return std::nullopt;
  // Blocks of reals can share an exponent and be split into integers; it takes more than one part.
  bool integer_parts = c.scalar == Scalar::integer || c.bits > 11;
  std::optional<UnitRate> best;
  int best_bits = 0;
  for (const Multiplier& unit : multipliers) {
    const Roof* roof = device.roof(unit.roof);
    bool integers = unit.roof == RoofKey::int8_mma_op_per_s || unit.roof == RoofKey::int32_op_per_s;
    if (!roof || (integers && !integer_parts)) continue;
    int parts = parts_of(c.bits, unit.bits);
    int products = parts * (parts + 1) / 2;
    double rate = roof->hard / products;
    // Among equals the unit whose format is the operands' own.
    bool nearer = best && rate == best->per_second && products == 1 &&
                  (best->products > 1 || unit.bits < best_bits);
    if (best && rate <= best->per_second && !nearer) continue;
    best = {info(unit.roof).name, rate, roof, products};
    best_bits = unit.bits;
  }
  return best;
}

namespace {

class FloorBuilder {
public:
  FloorBuilder(const Work& work, const Device& device) : work_(work), device_(device) {}

  Floor run() {
    dram();
    operations();
    const Roof* launch = device_.roof(RoofKey::launch_s);
    add("launch", picoseconds(launch->hard), picoseconds(launch->hard), TermKind::certified,
        launch->source);
    if (work_.special.value_or(0) > 0) {
      const Roof* sfu = device_.roof(RoofKey::sfu_op_per_s);
      int64_t ps = picoseconds(work_.special, sfu->hard);
      add("sfu", ps, ps, TermKind::assumed,
          sfu->source + "; assumes each special function is evaluated as written");
    }
    return std::move(floor_);
  }

private:
  void add(std::string name, int64_t ps, int64_t warm, TermKind kind, std::string source) {
    if (kind == TermKind::certified) {
      if (ps > floor_.ps) floor_.bound_by = name;
      floor_.ps = std::max(floor_.ps, ps);
      floor_.warm_ps = std::max(floor_.warm_ps, warm);
    }
    floor_.terms.push_back({std::move(name), ps, kind, std::move(source)});
  }

  void dram() {
    const Roof* roof = device_.roof(RoofKey::dram_bytes_per_s);
    // Where a core keeps its own cache from kernel to kernel, that holds data too.
    int64_t own = device_.capacity(CapacityKey::shared_per_block_bytes) > 0
                      ? 0
                      : device_.capacity(CapacityKey::sm_count) *
                            (device_.capacity(CapacityKey::shared_bytes) +
                             device_.capacity(CapacityKey::register_bytes));
    int64_t cache = device_.capacity(CapacityKey::l2_bytes) + own;
    int64_t read = work_.read_bytes.value_or(0), written = work_.written_bytes.value_or(0);
    int64_t stores = std::max<int64_t>(written - cache, 0);
    int64_t loads = std::max<int64_t>(read - cache, 0);
    auto sum = [](int64_t a, int64_t b) {
      return a > std::numeric_limits<int64_t>::max() - b ? std::numeric_limits<int64_t>::max()
                                                         : a + b;
    };
    int64_t ps = picoseconds(sum(read, stores), roof->hard);
    // The first byte is under way before any can arrive.
    if (read > 0) ps = sum(ps, picoseconds(device_.roof(RoofKey::dram_latency_s)->hard));
    int64_t warm = picoseconds(sum(loads, stores), roof->hard);
    add("dram", ps, warm, TermKind::certified, roof->source);
    // All of it crosses from the last cache to the cores.
    const Roof* l2 = device_.roof(RoofKey::l2_bytes_per_s);
    auto beyond = [&](int64_t bytes) { return std::max<int64_t>(bytes - own, 0); };
    add("l2", picoseconds(sum(read, beyond(written)), l2->hard),
        picoseconds(sum(beyond(read), beyond(written)), l2->hard), TermKind::certified, l2->source);
  }

  void operations() {
    // Work on one unit adds up.
    std::map<std::string, std::pair<int64_t, std::string>> units;
    for (const auto& [contraction, amount] : work_.operations) {
      auto unit = fastest_unit(device_, contraction);
      if (!unit) continue;
      auto& [ps, source] = units[unit_name(unit->name)];
      ps += picoseconds(amount, unit->per_second);
      source = unit->roof->source;
      if (unit->products > 1)
        source += fmt::format("; {} products of this unit make one", unit->products);
    }
    for (const auto& [name, entry] : units)
      add(name, entry.first, entry.first, TermKind::certified, entry.second);
  }

  const Work& work_;
  const Device& device_;
  Floor floor_;
};

} // namespace

Floor floor_of(const Work& work, const Device& device) {
  return FloorBuilder(work, device).run();
}

} // namespace tang::bound

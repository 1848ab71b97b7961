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

/// What one resource needs.
template <class Time>
struct Need {
  std::string name;
  Time cold, warm;
  TermKind kind = TermKind::certified;
  std::string source;
};

/// What every resource of a device needs. `Times` says what amounts and times are: numbers, or the
/// text of a formula.
template <class Times>
class Resources {
public:
  using Amount = typename Times::Amount;
  using Time = typename Times::Time;

  Resources(const Times& times, const Device& device) : t_(times), device_(device) {}

  void memory(Amount read, Amount written) {
    const Roof* roof = device_.roof(RoofKey::dram_bytes_per_s);
    // Where a core keeps its own cache from kernel to kernel, that holds data too.
    int64_t own = device_.capacity(CapacityKey::shared_per_block_bytes) > 0
                      ? 0
                      : device_.capacity(CapacityKey::sm_count) *
                            (device_.capacity(CapacityKey::shared_bytes) +
                             device_.capacity(CapacityKey::register_bytes));
    int64_t cache = device_.capacity(CapacityKey::l2_bytes) + own;
    Amount stores = t_.beyond(written, cache);
    // The first byte is under way before any can arrive.
    Time cold = t_.after_first(read, t_.time(t_.sum(read, stores), roof->hard),
                               device_.roof(RoofKey::dram_latency_s)->hard);
    Time warm = t_.time(t_.sum(t_.beyond(read, cache), stores), roof->hard);
    add("dram", cold, warm, TermKind::certified, roof->source);
    // All of it crosses from the last cache to the cores.
    const Roof* l2 = device_.roof(RoofKey::l2_bytes_per_s);
    Amount left = t_.beyond(written, own);
    add("l2", t_.time(t_.sum(read, left), l2->hard),
        t_.time(t_.sum(t_.beyond(read, own), left), l2->hard), TermKind::certified, l2->source);
  }

  /// `operations` holds products and sums, two a product.
  template <class List>
  void operations(const List& list) {
    // Work on one unit adds up.
    std::map<std::string, std::pair<Time, std::string>> units;
    for (const auto& [contraction, amount] : list) {
      auto unit = fastest_unit(device_, contraction);
      if (!unit) continue;
      Time time = t_.time(amount, unit->per_second);
      auto [at, fresh] = units.try_emplace(unit_name(unit->name), time, "");
      auto& [total, source] = at->second;
      if (!fresh) total = t_.both(total, time);
      source = unit->roof->source;
      if (unit->products > 1)
        source += fmt::format("; {} products of this unit make one", unit->products);
    }
    for (const auto& [name, entry] : units)
      add(name, entry.first, entry.first, TermKind::certified, entry.second);
  }

  void launch() {
    const Roof* launch = device_.roof(RoofKey::launch_s);
    add("launch", t_.fixed(launch->hard), t_.fixed(launch->hard), TermKind::certified,
        launch->source);
  }

  void special(Amount amount) {
    const Roof* sfu = device_.roof(RoofKey::sfu_op_per_s);
    Time time = t_.time(amount, sfu->hard);
    add("sfu", time, time, TermKind::assumed,
        sfu->source + "; assumes each special function is evaluated as written");
  }

  std::vector<Need<Time>> needs;

private:
  void add(std::string name, Time cold, Time warm, TermKind kind, std::string source) {
    needs.push_back({std::move(name), std::move(cold), std::move(warm), kind, std::move(source)});
  }

  const Times& t_;
  const Device& device_;
};

/// Picoseconds.
struct Numbers {
  using Amount = int64_t;
  using Time = int64_t;

  int64_t sum(int64_t a, int64_t b) const {
    return a > std::numeric_limits<int64_t>::max() - b ? std::numeric_limits<int64_t>::max()
                                                       : a + b;
  }
  int64_t beyond(int64_t amount, int64_t kept) const { return std::max<int64_t>(amount - kept, 0); }
  int64_t time(bound::Amount amount, double per_second) const {
    return picoseconds(amount, per_second);
  }
  int64_t fixed(double seconds) const { return picoseconds(seconds); }
  int64_t after_first(int64_t amount, int64_t time, double seconds) const {
    return amount > 0 ? sum(time, picoseconds(seconds)) : time;
  }
  int64_t both(int64_t a, int64_t b) const { return a + b; }
};

/// A sum or difference outside all brackets.
bool is_sum(std::string_view text) {
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    depth += (text[at] == '(') - (text[at] == ')');
    bool sign = text[at] == '+' || text[at] == '-';
    if (depth == 0 && sign && at > 0 && text[at - 1] == ' ') return true;
  }
  return false;
}

/// Microseconds, as text. An empty amount is none.
struct Texts {
  using Amount = std::string;
  using Time = std::string;
  bool always_reads = false;

  std::string sum(const std::string& a, const std::string& b) const {
    return a.empty() ? b : b.empty() ? a : a + " + " + b;
  }
  std::string beyond(const std::string& amount, int64_t kept) const {
    return amount.empty() || kept == 0 ? amount : fmt::format("max({} - {}, 0)", amount, kept);
  }
  std::string time(const std::string& amount, double per_second) const {
    if (amount.empty()) return "";
    return fmt::format("{} / {}", is_sum(amount) ? "(" + amount + ")" : amount, per_second / 1e6);
  }
  std::string fixed(double seconds) const {
    return seconds > 0 ? fmt::format("{:.6g}", seconds * 1e6) : "";
  }
  std::string after_first(const std::string& amount, const std::string& time,
                          double seconds) const {
    if (amount.empty()) return time;
    std::string latency = fixed(seconds);
    if (!latency.empty() && !always_reads) latency += fmt::format("*min({}, 1)", amount);
    return sum(time, latency);
  }
  std::string both(const std::string& a, const std::string& b) const { return sum(a, b); }
};

} // namespace

Floor floor_of(const Work& work, const Device& device) {
  Numbers numbers;
  Resources resources(numbers, device);
  resources.memory(work.read_bytes.value_or(0), work.written_bytes.value_or(0));
  resources.operations(work.operations);
  resources.launch();
  if (work.special.value_or(0) > 0) resources.special(*work.special);
  Floor floor;
  for (Need<int64_t>& need : resources.needs) {
    if (need.kind == TermKind::certified) {
      if (need.cold > floor.ps) floor.bound_by = need.name;
      floor.ps = std::max(floor.ps, need.cold);
      floor.warm_ps = std::max(floor.warm_ps, need.warm);
    }
    floor.terms.push_back({std::move(need.name), need.cold, need.kind, std::move(need.source)});
  }
  return floor;
}

std::vector<std::string> floor_formulas(const WorkText& work, const Device& device) {
  Texts texts{work.always_reads};
  Resources resources(texts, device);
  resources.memory(work.reads ? "read" : "", work.writes ? "written" : "");
  resources.operations(work.operations);
  resources.launch();
  std::vector<std::string> formulas;
  for (const Need<std::string>& need : resources.needs)
    if (!need.cold.empty()) formulas.push_back(need.name + " " + need.cold);
  return formulas;
}

} // namespace tang::bound

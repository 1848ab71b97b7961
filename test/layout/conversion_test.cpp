// What stands between two layouts of the same elements over lanes and registers.
#include "layout/f2.h"
#include "support.h"
#include <set>

using namespace tang::layout;

namespace {

constexpr uint64_t lanes = 8;

/// (lane, register) -> element of 64, mostly each once.
Layout random_fragment(Random& random) {
  std::vector<Mode> modes;
  for (int bit = 0; bit < 6; ++bit)
    modes.push_back({Monomial::constant(2), {Monomial::constant(int64_t{1} << bit), ""}});
  for (size_t i = 6; i > 1; --i)
    std::swap(modes[i - 1].stride,
              modes[static_cast<size_t>(random.in(0, static_cast<int64_t>(i) - 1))].stride);
  if (random.chance(20)) modes[static_cast<size_t>(random.in(0, 5))].stride = {};
  return {"((***)(***))", modes};
}

/// Permutes only the registers, or only the lanes, of another fragment.
Layout relative(Random& random, Layout a) {
  size_t first = random.chance(70) ? 3 : 0;
  std::swap(a.leaves[first].stride, a.leaves[first + static_cast<size_t>(random.in(0, 2))].stride);
  return a;
}

/// By trying all sources of all elements.
Exchange exchange_of(const F2Layout& from, const F2Layout& to) {
  uint64_t count = 64;
  bool same = true, alike = true, stays = true;
  for (uint64_t r = 0; r < count / lanes; ++r) {
    std::set<uint64_t> common; // source registers that are right in all lanes
    for (uint64_t s = 0; s < count / lanes; ++s) common.insert(s);
    for (uint64_t lane = 0; lane < lanes; ++lane) {
      uint64_t element = to(lane + lanes * r);
      same = same && element == from(lane + lanes * r);
      bool found = false;
      for (uint64_t s = 0; s < count / lanes; ++s) {
        bool here = from(lane + lanes * s) == element;
        found = found || here;
        if (!here) common.erase(s);
      }
      stays = stays && found;
    }
    alike = alike && !common.empty();
  }
  return same     ? Exchange::none
         : !stays ? Exchange::shuffles
         : alike  ? Exchange::registers
                  : Exchange::selects;
}

} // namespace

TEST_CASE("conversions: where each value comes from, and how far it moves", "[conversion]") {
  std::set<Exchange> met;
  hold(
      [&](Random& random) -> std::string {
        Layout a = random_fragment(random),
               b = random.chance(50) ? relative(random, a) : random_fragment(random);
        Swizzled source{{}, 0, a}, destination{{}, 0, b};
        // A swizzle that mixes lane bits into register bits, or the other way round.
        if (random.chance(40))
          destination.swizzle = *make_swizzle(random.in(1, 2), random.in(0, 2), random.in(2, 3));
        if (random.chance(20)) source.swizzle = *make_swizzle(1, random.in(0, 3), random.in(1, 2));
        auto from = f2_of(source), to = f2_of(destination);
        if (!from || !to) return "no matrix";
        auto found = conversion(*from, *to);
        std::set<uint64_t> held;
        for (uint64_t i = 0; i < 64; ++i) held.insert((*from)(i));
        bool possible = true;
        for (uint64_t i = 0; i < 64; ++i) possible = possible && held.count((*to)(i));
        if (static_cast<bool>(found) != possible)
          return "possible? " + to_text(source) + "  " + to_text(destination);
        if (!found) return refused;
        std::vector<std::set<uint64_t>> source_lanes(lanes);
        for (uint64_t i = 0; i < 64; ++i) {
          uint64_t place = found->offset;
          for (size_t bit = 0; bit < 6; ++bit)
            if (i >> bit & 1) place ^= found->columns[bit];
          if ((*from)(place) != (*to)(i))
            return "wrong source: " + to_text(source) + "  " + to_text(destination);
          source_lanes[i % lanes].insert(place % lanes);
        }
        for (const auto& sources : source_lanes)
          if (sources.size() != size_t{1} << found->source_lane_bits)
            return "wrong number of lanes";
        met.insert(found->exchange);
        Exchange wanted = exchange_of(*from, *to);
        return found->exchange == wanted
                   ? ""
                   : fmt::format("{} instead of {}: {}  {}", name(found->exchange), name(wanted),
                                 to_text(source), to_text(destination));
      },
      40);
  CHECK(met.size() == 4);
}

TEST_CASE("conversions: known cases", "[conversion]") {
  auto exchange = [](std::string_view from, std::string_view to) -> std::string {
    auto found = conversion(*f2_of(read_whole(from)), *f2_of(read_whole(to)));
    return found ? std::string(name(found->exchange)) : found.refusal().reason;
  };
  // Two accumulator tiles of m16n8 side by side, with the column pair first, are the A fragment of
  // m16n8k16.
  CHECK(exchange("((4,8),(2,2,2)):((32,1),(16,8,128))", "((4,8),(2,2,2)):((32,1),(16,8,128))") ==
        "none");
  CHECK(exchange("((4,8),(2,2,2)):((32,1),(16,8,128))", "((4,8),(2,2,2)):((32,1),(8,16,128))") ==
        "registers");
  CHECK(exchange("((4,8),(2,2)):((2,16),(1,8))", "((4,8),(2,2)):((1,16),(4,8))") == "shuffles");
  CHECK(exchange("(4,8):(1,4)", "(8,4):(1,8)") == "one side has 2^2 lanes and the other 2^3");
  CHECK(exchange("(4,8):(1,4)", "(4,8):(1,8)") ==
        "the destination has elements that the source does not hold");
  CHECK(exchange("32:1", "(4,8):(1,4)") ==
        "a conversion needs layouts (lane, register), of two modes");
  CHECK(exchange("(4,8):(1,4)", "(4,8):(1@m,4@m)") == "the two sides count along different axes");
}

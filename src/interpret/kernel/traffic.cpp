#include "interpret/kernel/traffic.h"
#include <algorithm>
#include <array>

namespace tang::interpret::simulator {

namespace {

bool is_run(std::span<const int64_t> addresses, int64_t bytes) {
  for (size_t l = 1; l < addresses.size(); ++l)
    if (addresses[l] != addresses[l - 1] + bytes) return false;
  return true;
}

} // namespace

int64_t sectors_of(std::span<const int64_t> addresses, int64_t bytes) {
  constexpr int64_t sector = 32;
  if (is_run(addresses, bytes))
    return (addresses.back() + bytes - 1) / sector - addresses.front() / sector + 1;
  std::array<int64_t, 64> seen; // 32 lanes, each of which may straddle two
  auto end = seen.begin();
  for (int64_t address : addresses)
    for (int64_t at = address / sector; at <= (address + bytes - 1) / sector; ++at)
      if (std::find(seen.begin(), end, at) == end) *end++ = at;
  return end - seen.begin();
}

Passes passes_of(std::span<const int64_t> addresses, std::span<const uint8_t> lanes,
                 int64_t bytes) {
  constexpr int64_t bank_bytes = 4, banks = 32;
  int64_t at_once = std::min<int64_t>(banks, banks * bank_bytes / bytes);
  Passes passes;
  for (size_t first = 0; first < addresses.size();) {
    size_t end = first;
    int64_t group = lanes[first] / at_once;
    std::array<std::array<int64_t, 32>, banks> words;
    std::array<int64_t, banks> count{};
    int64_t made = 0;
    for (; end < addresses.size() && lanes[end] / at_once == group; ++end)
      for (int64_t inside = 0; inside < bytes; inside += bank_bytes) {
        int64_t word = (addresses[end] + inside) / bank_bytes;
        auto bank = static_cast<size_t>(word % banks);
        auto known = words[bank].begin() + count[bank];
        if (std::find(words[bank].begin(), known, word) != known) continue;
        *known = word;
        made = std::max(made, ++count[bank]);
      }
    passes.made += made, passes.least += 1;
    first = end;
  }
  return passes;
}

} // namespace tang::interpret::simulator

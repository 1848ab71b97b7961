// Conflicts of banks: of a matrix by two ranks, of a list by counting.
#include "layout/f2.h"
#include "layout/f2_span.h"
#include <map>
#include <set>

namespace tang::layout {

namespace {

constexpr int64_t bank_bytes = 4, bank_count = 32, pass_bytes = bank_bytes * bank_count;

Result<int64_t> lanes_at_once(int64_t bytes) {
  if (bytes < 1 || bytes > 16 || !std::has_single_bit(static_cast<uint64_t>(bytes)))
    return refuse("a lane moves 1, 2, 4, 8 or 16 bytes, not {}", bytes);
  return std::min(bank_count, pass_bytes / bytes);
}

} // namespace

Result<int64_t> bank_passes(const F2Layout& lanes, int64_t bytes) {
  auto group = lanes_at_once(bytes);
  if (!group) return group.refusal();
  if (lanes.axes != std::vector<std::string>{""})
    return refuse("lanes have addresses, not coordinates");
  uint64_t all = lanes.offset;
  for (uint64_t column : lanes.columns) all |= column;
  if (all % static_cast<uint64_t>(bytes) != 0)
    return refuse("not all addresses are aligned to the {} bytes of an access", bytes);
  // The words that a group touches are an affine space: each bank among them holds as many.
  F2Span words, banks;
  auto touch = [&](uint64_t address) {
    uint64_t word = address / bank_bytes;
    words.add(word, 0);
    banks.add(word % bank_count, 0);
  };
  for (size_t bit = 0; bit < lanes.columns.size() && int64_t{1} << bit < *group; ++bit)
    touch(lanes.columns[bit]);
  for (int64_t inside = bank_bytes; inside < bytes; inside *= 2)
    touch(static_cast<uint64_t>(inside));
  return int64_t{1} << (words.rank() - banks.rank());
}

Result<int64_t> bank_passes(const std::vector<int64_t>& addresses, int64_t bytes) {
  auto group = lanes_at_once(bytes);
  if (!group) return group.refusal();
  int64_t passes = 0;
  for (size_t first = 0; first < addresses.size(); first += static_cast<size_t>(*group)) {
    std::map<int64_t, std::set<int64_t>> words;
    size_t last = std::min(addresses.size(), first + static_cast<size_t>(*group));
    for (size_t lane = first; lane < last; ++lane) {
      if (addresses[lane] % bytes != 0)
        return refuse("address {} is not aligned to the {} bytes of an access", addresses[lane],
                      bytes);
      for (int64_t inside = 0; inside < bytes; inside += bank_bytes) {
        int64_t word = (addresses[lane] + inside) / bank_bytes;
        words[word % bank_count].insert(word);
      }
    }
    for (const auto& [bank, distinct] : words)
      passes = std::max(passes, static_cast<int64_t>(distinct.size()));
  }
  return passes;
}

} // namespace tang::layout

#pragma once
// Decisions read from bytes, so that a change of one byte changes one decision.
#include <cstdint>
#include <span>

namespace tang::fuzz {

class Choices {
public:
  explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  /// A number in lo..hi, both included, at most 256 of them; `lo` once the bytes have run out.
  int pick(int lo, int hi) {
    if (at_ == bytes_.size() || hi <= lo) return lo;
    return lo + bytes_[at_++] % (hi - lo + 1);
  }
  bool one_in(int n) { return pick(0, n - 1) == n - 1; }
  bool empty() const { return at_ == bytes_.size(); }

private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

} // namespace tang::fuzz

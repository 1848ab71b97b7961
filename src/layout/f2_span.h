#pragma once
// Linear algebra over F2 on words of 64 bits.
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

namespace tang::layout {

/// Vectors in echelon form, each with the set of inputs whose XOR it is.
class F2Span {
public:
  /// True when the vector is not in the span of those before.
  bool add(uint64_t vector, uint64_t input) {
    reduce(vector, input);
    if (vector == 0) return false;
    pivots_[static_cast<size_t>(std::bit_width(vector)) - 1] = {vector, input};
    ++rank_;
    return true;
  }
  /// Inputs whose XOR is the vector.
  std::optional<uint64_t> solve(uint64_t vector) const {
    uint64_t inputs = 0;
    reduce(vector, inputs);
    return vector == 0 ? std::optional(inputs) : std::nullopt;
  }
  int rank() const { return rank_; }

private:
  struct Pivot {
    uint64_t vector = 0, inputs = 0;
  };
  void reduce(uint64_t& vector, uint64_t& inputs) const {
    for (int bit = 63; bit >= 0; --bit) {
      const Pivot& pivot = pivots_[static_cast<size_t>(bit)];
      if ((vector >> bit & 1) == 0 || pivot.vector == 0) continue;
      vector ^= pivot.vector;
      inputs ^= pivot.inputs;
    }
  }
  std::array<Pivot, 64> pivots_{}; ///< by leading bit
  int rank_ = 0;
};

} // namespace tang::layout

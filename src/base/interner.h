#pragma once
// A store in which equal values have equal ids.
#include "base/id.h"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tang {

inline void hash_combine(size_t& seed, size_t value) {
  seed ^= value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2);
}

/// Values in blocks that never move: a reference stays good while values are added.
template <class T>
class Blocks {
public:
  Blocks() = default;
  Blocks(const Blocks& o) : size_(o.size_) {
    blocks_.resize(o.blocks_.size());
    for (size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i].reserve(block_size);
      blocks_[i].assign(o.blocks_[i].begin(), o.blocks_[i].end());
    }
  }
  Blocks(Blocks&& o) noexcept : blocks_(std::move(o.blocks_)), size_(std::exchange(o.size_, 0)) {}
  Blocks& operator=(Blocks o) noexcept {
    blocks_ = std::move(o.blocks_);
    size_ = o.size_;
    return *this;
  }
  void push_back(T value) {
    if (size_ % block_size == 0) {
      blocks_.resize(size_ / block_size + 1);
      blocks_.back().reserve(block_size);
    }
    blocks_.back().push_back(std::move(value));
    ++size_;
  }
  const T& operator[](uint32_t i) const { return blocks_[i / block_size][i % block_size]; }
  uint32_t size() const { return size_; }

private:
  static constexpr uint32_t block_size = 256;
  std::vector<std::vector<T>> blocks_;
  uint32_t size_ = 0;
};

/// Owns immutable values of type `T`, named by `IdT` in order of first appearance.
/// `Hash` and `operator==` decide equality; interning an equal value returns the first one's id.
/// References to values stay good as long as the store.
template <class T, class IdT, class Hash>
class Interner {
public:
  IdT intern(T value) {
    if (2 * (size() + 1) > slots_.size()) grow();
    auto hash = static_cast<uint32_t>(mixed(Hash{}(value)));
    size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].number != 0; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.hash == hash && values_[slot.number - 1] == value) return IdT(slot.number - 1);
    }
    values_.push_back(std::move(value));
    slots_[at] = {hash, values_.size()};
    return IdT(values_.size() - 1);
  }
  const T& operator[](IdT id) const { return values_[id.value]; }
  size_t size() const { return values_.size(); }

private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t number = 0; ///< id + 1; 0: free
  };
  /// Every bit of the hash in the lower half, of which the slot is taken.
  static size_t mixed(size_t hash) { return (hash * 0x9e3779b97f4a7c15ull) >> 32; }
  void grow() {
    std::vector<Slot> old(std::max<size_t>(32, slots_.size() * 2));
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number == 0) continue;
      size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].number != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }
  Blocks<T> values_;
  std::vector<Slot> slots_; ///< a power of two, at most half of them taken; the next one is tried
};

} // namespace tang

#pragma once
// A store in which equal values have equal ids.
#include "base/id.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_set>
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
  Blocks(const Blocks& o) {
    for (uint32_t i = 0; i < o.size_; ++i) push_back(o[i]);
  }
  void push_back(T value) {
    if (size_ % block_size == 0) {
      blocks_.resize(size_ / block_size + 1);
      blocks_.back().reserve(block_size);
    }
    blocks_.back().push_back(std::move(value));
    ++size_;
  }
  void pop_back() {
    blocks_.back().pop_back();
    if (--size_ % block_size == 0) blocks_.pop_back();
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
  Interner() = default;
  Interner(const Interner& o) : values_(std::make_unique<Blocks<T>>(*o.values_)) { reindex(); }
  Interner(Interner&&) noexcept = default;
  Interner& operator=(Interner o) noexcept {
    values_ = std::move(o.values_);
    index_ = std::move(o.index_);
    return *this;
  }

  IdT intern(T value) {
    values_->push_back(std::move(value));
    IdT id(values_->size() - 1);
    auto [it, inserted] = index_.insert(id);
    if (!inserted) values_->pop_back();
    return *it;
  }
  const T& operator[](IdT id) const { return (*values_)[id.value]; }
  size_t size() const { return values_->size(); }

private:
  struct HashOf {
    const Blocks<T>* values;
    size_t operator()(IdT id) const { return Hash{}((*values)[id.value]); }
  };
  struct Equal {
    const Blocks<T>* values;
    bool operator()(IdT a, IdT b) const { return (*values)[a.value] == (*values)[b.value]; }
  };
  using Index = std::unordered_set<IdT, HashOf, Equal>;
  Index empty_index() const { return Index(16, HashOf{values_.get()}, Equal{values_.get()}); }
  void reindex() {
    index_ = empty_index();
    index_.reserve(values_->size());
    for (uint32_t i = 0; i < values_->size(); ++i) index_.insert(IdT(i));
  }
  /// On the heap, so that the index still finds the values after a move.
  std::unique_ptr<Blocks<T>> values_ = std::make_unique<Blocks<T>>();
  Index index_ = empty_index();
};

} // namespace tang

#pragma once
// A store in which equal values have equal ids.
#include "base/id.h"
#include <cstddef>
#include <unordered_set>
#include <vector>

namespace tang {

inline void hash_combine(size_t& seed, size_t value) {
  seed ^= value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2);
}

/// Owns immutable values of type `T`, named by `IdT` in order of first appearance.
/// `Hash` and `operator==` decide equality; interning an equal value returns the first one's id.
template <class T, class IdT, class Hash>
class Interner {
public:
  Interner() : index_(16, HashOf{this}, Equal{this}) {}
  Interner(const Interner& o) : values_(o.values_), index_(16, HashOf{this}, Equal{this}) {
    reindex();
  }
  Interner(Interner&& o) noexcept
      : values_(std::move(o.values_)), index_(16, HashOf{this}, Equal{this}) {
    reindex();
  }
  Interner& operator=(Interner o) {
    values_ = std::move(o.values_);
    reindex();
    return *this;
  }

  IdT intern(T value) {
    values_.push_back(std::move(value));
    IdT id(static_cast<uint32_t>(values_.size() - 1));
    auto [it, inserted] = index_.insert(id);
    if (!inserted) values_.pop_back();
    return *it;
  }
  const T& operator[](IdT id) const { return values_[id.value]; }
  size_t size() const { return values_.size(); }

private:
  struct HashOf {
    const Interner* s;
    size_t operator()(IdT id) const { return Hash{}(s->values_[id.value]); }
  };
  struct Equal {
    const Interner* s;
    bool operator()(IdT a, IdT b) const { return s->values_[a.value] == s->values_[b.value]; }
  };
  void reindex() {
    index_.clear();
    index_.reserve(values_.size());
    for (uint32_t i = 0; i < values_.size(); ++i) index_.insert(IdT(i));
  }
  std::vector<T> values_;
  std::unordered_set<IdT, HashOf, Equal> index_;
};

} // namespace tang

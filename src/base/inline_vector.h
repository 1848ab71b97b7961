#pragma once
// A vector for short lists, such as the operands of a term.
#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace tang {

/// Like std::vector; up to `N` values lie in the object itself.
template <class T, uint32_t N>
class InlineVector {
  static_assert(std::is_nothrow_move_constructible_v<T>);

public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  InlineVector() noexcept {}
  InlineVector(std::initializer_list<T> list) { append(list.begin(), list.end()); }
  template <std::input_iterator It>
  InlineVector(It first, It last) {
    append(first, last);
  }
  InlineVector(const InlineVector& o) { append(o.begin(), o.end()); }
  InlineVector(InlineVector&& o) noexcept { take(o); }
  InlineVector& operator=(const InlineVector& o) {
    if (this != &o) assign(o.begin(), o.end());
    return *this;
  }
  InlineVector& operator=(InlineVector&& o) noexcept {
    if (this != &o) release(), take(o);
    return *this;
  }
  ~InlineVector() { release(); }

  /// The values of a range that does not lie in this vector.
  template <std::input_iterator It>
  void assign(It first, It last) {
    clear();
    append(first, last);
  }
  template <std::input_iterator It>
  void append(It first, It last) {
    if constexpr (std::forward_iterator<It>) {
      auto count = static_cast<uint32_t>(std::distance(first, last));
      reserve(size_t{size_} + count);
      for (T* to = end(); first != last; ++first, ++to) std::construct_at(to, *first);
      size_ += count;
    } else {
      for (; first != last; ++first) push_back(*first);
    }
  }
  void reserve(size_t count) {
    if (count > capacity_) grow(std::max(count, size_t{capacity_} * 2));
  }
  void push_back(T value) {
    if (size_ == capacity_) grow(size_t{capacity_} * 2);
    std::construct_at(data() + size_, std::move(value));
    ++size_;
  }
  void resize(size_t count, const T& value) {
    reserve(count);
    while (size_ > count) pop_back();
    while (size_ < count) push_back(value);
  }
  void pop_back() { std::destroy_at(data() + --size_); }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }
  iterator insert(const_iterator at, T value) {
    auto place = at - begin();
    push_back(std::move(value));
    std::rotate(begin() + place, end() - 1, end());
    return begin() + place;
  }
  iterator erase(const_iterator first, const_iterator last) {
    iterator place = begin() + (first - begin());
    iterator rest = std::move(place + (last - first), end(), place);
    std::destroy(rest, end());
    size_ = static_cast<uint32_t>(rest - begin());
    return place;
  }
  iterator erase(const_iterator at) { return erase(at, at + 1); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return capacity_ == N ? here_ : away_; }
  const T* data() const { return capacity_ == N ? here_ : away_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }
  iterator begin() { return data(); }
  iterator end() { return data() + size_; }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return data() + size_; }
  reverse_iterator rbegin() { return reverse_iterator(end()); }
  reverse_iterator rend() { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }

  friend bool operator==(const InlineVector& a, const InlineVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend auto operator<=>(const InlineVector& a, const InlineVector& b) {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

private:
  void grow(size_t count) {
    T* larger = std::allocator<T>().allocate(count);
    std::uninitialized_move(begin(), end(), larger);
    std::destroy(begin(), end());
    free();
    away_ = larger;
    capacity_ = static_cast<uint32_t>(count);
  }
  void free() {
    if (capacity_ != N) std::allocator<T>().deallocate(away_, capacity_);
  }
  /// Leaves an object without values, whose members `take` sets.
  void release() {
    std::destroy(begin(), end());
    free();
  }
  void take(InlineVector& o) {
    size_ = o.size_;
    capacity_ = o.capacity_;
    if (capacity_ == N) {
      for (uint32_t i = 0; i < size_; ++i) std::construct_at(here_ + i, std::move(o.here_[i]));
      o.clear();
      return;
    }
    away_ = o.away_;
    o.capacity_ = N;
    o.size_ = 0;
  }

  uint32_t size_ = 0, capacity_ = N; ///< with room for N, the values lie here
  union {
    T here_[N];
    T* away_;
  };
};

/// Every value that is equal to `value`; how many there were.
template <class T, uint32_t N, class U>
size_t erase(InlineVector<T, N>& list, const U& value) {
  auto rest = std::remove(list.begin(), list.end(), value);
  auto count = static_cast<size_t>(list.end() - rest);
  list.erase(rest, list.end());
  return count;
}

} // namespace tang

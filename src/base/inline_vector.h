#pragma once
// A vector for short lists of small things, such as the operands of a term.
#include <algorithm>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <type_traits>

namespace tang {

/// Like std::vector, for values that can be copied as bytes; up to `N` of them lie in the object
/// itself.
template <class T, uint32_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

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
  InlineVector(std::initializer_list<T> list) : InlineVector(list.begin(), list.end()) {}
  template <std::input_iterator It>
  InlineVector(It first, It last) {
    assign(first, last);
  }
  InlineVector(const InlineVector& o) : InlineVector(o.begin(), o.end()) {}
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

  template <std::input_iterator It>
  void assign(It first, It last) {
    size_ = 0;
    if constexpr (std::forward_iterator<It>)
      reserve(static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first) push_back(*first);
  }
  void reserve(size_t count) {
    if (count > capacity_) grow(count);
  }
  void push_back(T value) {
    if (size_ == capacity_) grow(size_t{capacity_} * 2);
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  iterator erase(const_iterator at) {
    iterator place = begin() + (at - begin());
    std::copy(place + 1, end(), place);
    --size_;
    return place;
  }

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
    T* larger = new T[count];
    std::copy(begin(), end(), larger);
    release();
    away_ = larger;
    capacity_ = static_cast<uint32_t>(count);
  }
  void release() {
    if (capacity_ != N) delete[] away_;
    capacity_ = N;
  }
  void take(InlineVector& o) {
    size_ = o.size_;
    if (o.capacity_ == N) {
      std::copy(o.here_, o.here_ + o.size_, here_);
      return;
    }
    away_ = o.away_;
    capacity_ = o.capacity_;
    o.capacity_ = N;
    o.size_ = 0;
  }

  uint32_t size_ = 0, capacity_ = N; ///< with room for N, the values lie here
  union {
    T here_[N];
    T* away_;
  };
};

} // namespace tang

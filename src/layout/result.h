#pragma once
// An exact answer, or the reason why there is none.
#include <fmt/format.h>
#include <string>
#include <variant>

namespace tang::layout {

/// Why a question has no exact answer, or one that symbols keep open: lower case, no final period.
struct Refusal {
  std::string reason;
};

template <class... Args>
Refusal refuse(fmt::format_string<Args...> format, Args&&... args) {
  return Refusal{fmt::format(format, std::forward<Args>(args)...)};
}

template <class T>
class [[nodiscard]] Result {
public:
  Result(T value) : held_(std::move(value)) {}
  Result(Refusal refusal) : held_(std::move(refusal)) {}
  explicit operator bool() const { return held_.index() == 0; }
  T& operator*() & { return std::get<0>(held_); }
  const T& operator*() const& { return std::get<0>(held_); }
  T operator*() && { return std::get<0>(std::move(held_)); }
  T* operator->() { return &std::get<0>(held_); }
  const T* operator->() const { return &std::get<0>(held_); }
  const Refusal& refusal() const { return std::get<1>(held_); }

private:
  std::variant<T, Refusal> held_;
};

} // namespace tang::layout

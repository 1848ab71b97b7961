#pragma once
// Typed 32-bit names for things that live in vectors.
#include <compare>
#include <cstdint>
#include <functional>

namespace tang {

/// A 32-bit index into the store that owns `Tag`s. Ids of different tags do not convert into each
/// other. A default-constructed id names nothing and tests false.
template <class Tag>
struct Id {
  static constexpr uint32_t none = 0xffffffffu;
  uint32_t value = none;

  constexpr Id() = default;
  constexpr explicit Id(uint32_t v) : value(v) {}
  constexpr explicit operator bool() const { return value != none; }
  friend constexpr auto operator<=>(Id, Id) = default; // NOLINT(modernize-use-nullptr)
};

} // namespace tang

template <class Tag>
struct std::hash<tang::Id<Tag>> {
  size_t operator()(tang::Id<Tag> id) const noexcept { return id.value * 0x9e3779b97f4a7c15ull; }
};

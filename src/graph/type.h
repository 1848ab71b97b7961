#pragma once
// Element types (storage formats) and scalar classes (what an expression's value is).
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace tang::graph {

/// The class of an expression's value. Reals are real numbers, integers are exact (language.md 5);
/// a format enters only where a value is stored or rounded explicitly.
enum class Scalar : uint8_t { boolean, integer, real };

/// A storage format. The enumerator `boolean` is spelled `bool` in text.
enum class ElemType : uint8_t {
#define TANG_TYPE(name, bits, scalar, bytes) name,
#include "graph/types.def"
#undef TANG_TYPE
};

struct TypeInfo {
  std::string_view name; ///< as written in `.tg`
  int bits; ///< per element in memory; i4 and u4 are packed two to a byte, low nibble first
  Scalar scalar;
};

const TypeInfo& info(ElemType type);
std::optional<ElemType> type_of_name(std::string_view name);
inline Scalar scalar_of(ElemType type) {
  return info(type).scalar;
}
inline bool is_packed(ElemType type) {
  return info(type).bits < 8;
}
inline bool is_signed(ElemType type) {
  return type != ElemType::u32 && type != ElemType::u8 && type != ElemType::u4;
}

/// The bytes that `elements` elements of `type` take; the last byte of a packed tensor is padded.
inline int64_t bytes_of(ElemType type, int64_t elements) {
  int bits = info(type).bits;
  return bits < 8 ? (elements + 1) / 2 : elements * (bits / 8);
}

struct IntRange {
  int64_t lo = std::numeric_limits<int64_t>::min();
  int64_t hi = std::numeric_limits<int64_t>::max();
  friend bool operator==(const IntRange&, const IntRange&) = default;
  bool contains(const IntRange& o) const { return lo <= o.lo && o.hi <= hi; }
};
/// The values an integer format can hold; boolean is 0..1.
IntRange range_of(ElemType integer_type);

} // namespace tang::graph

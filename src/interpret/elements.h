#pragma once
// Raw little-endian elements of tensor files.
#include "interpret/value.h"

namespace tang::interpret {

/// How one element is written in a file.
struct ElementCode {
  enum class Kind : uint8_t { real, signed_integer, unsigned_integer, boolean };
  Kind kind = Kind::real;
  int bytes = 4;
  ElemType real = ElemType::f32; ///< format of a real
};

/// Decodes `count` = product of `shape` elements; `bytes` holds at least count * code.bytes. Empty
/// when an unsigned 64-bit element is above 2^63 - 1; `*at` is its position then.
std::optional<Array> decode_elements(const ElementCode& code, std::string_view bytes,
                                     std::vector<int64_t> shape, int64_t* at);

/// Appends the low `bytes` bytes of `word`, lowest first.
void append_little_endian(std::string& out, uint64_t word, int bytes);

} // namespace tang::interpret

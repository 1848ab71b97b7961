#include "interpret/elements.h"
#include "interpret/formats.h"

namespace tang::interpret {
namespace {

uint64_t little_endian(std::string_view bytes, size_t at, int count) {
  uint64_t word = 0;
  for (int n = count; n-- > 0;)
    word = word << 8 | static_cast<unsigned char>(bytes[at + static_cast<size_t>(n)]);
  return word;
}

} // namespace

std::optional<Array> decode_elements(const ElementCode& code, std::string_view bytes,
                                     std::vector<int64_t> shape, int64_t* at) {
  using Kind = ElementCode::Kind;
  Scalar scalar = code.kind == Kind::real      ? Scalar::real
                  : code.kind == Kind::boolean ? Scalar::boolean
                                               : Scalar::integer;
  Array array = zeros(scalar, std::move(shape));
  int64_t count = array.size();
  int unused = 64 - 8 * code.bytes;
  for (int64_t i = 0; i < count; ++i) {
    auto n = static_cast<size_t>(i);
    uint64_t word = little_endian(bytes, n * static_cast<size_t>(code.bytes), code.bytes);
    switch (code.kind) {
    case Kind::real: array.reals[n] = decode_real(code.real, word); break;
    case Kind::boolean: array.integers[n] = word != 0; break;
    case Kind::signed_integer:
      array.integers[n] = static_cast<int64_t>(word << unused) >> unused;
      break;
    case Kind::unsigned_integer:
      if (word >> 63) {
        *at = i;
        return std::nullopt;
      }
      array.integers[n] = static_cast<int64_t>(word);
      break;
    }
  }
  return array;
}

void append_little_endian(std::string& out, uint64_t word, int bytes) {
  for (int n = 0; n < bytes; ++n) out += static_cast<char>(word >> (8 * n) & 0xff);
}

} // namespace tang::interpret

#include "print/tables.h"
#include "base/check.h"
#include <bit>
#include <cmath>

namespace tang::print {

using graph::ElemType;

namespace {

struct FloatFormat {
  int mantissa, bias;
  uint32_t largest;  ///< code of the largest finite value
  uint32_t overflow; ///< code of what lies beyond
  uint32_t nan;
};

uint32_t encode_magnitude(const FloatFormat& format, double value) {
  if (value == 0) return 0;
  int exponent = 0;
  std::frexp(value, &exponent);
  // The unit in the last place of the format at this magnitude, also below the least normal value.
  int place = std::max(exponent - 1, 1 - format.bias) - format.mantissa;
  double units = std::nearbyint(std::ldexp(value, -place));
  double code = units + std::ldexp(place + format.mantissa + format.bias - 1.0, format.mantissa);
  return code > format.largest ? format.overflow : static_cast<uint32_t>(code);
}

uint32_t encode_float(const FloatFormat& format, int sign_bit, double value) {
  uint32_t sign = std::signbit(value) ? 1u << sign_bit : 0;
  if (std::isnan(value)) return sign | format.nan;
  if (std::isinf(value)) return sign | format.overflow;
  return sign | encode_magnitude(format, std::fabs(value));
}

} // namespace

uint32_t encode(ElemType type, double value) {
  switch (type) {
  case ElemType::f32: return std::bit_cast<uint32_t>(static_cast<float>(value));
  case ElemType::f16: return encode_float({10, 15, 0x7bff, 0x7c00, 0x7e00}, 15, value);
  case ElemType::bf16: return encode_float({7, 127, 0x7f7f, 0x7f80, 0x7fc0}, 15, value);
  case ElemType::f8e4m3: return encode_float({3, 7, 0x7e, 0x7e, 0x7f}, 7, value);
  case ElemType::f8e5m2: return encode_float({2, 15, 0x7b, 0x7b, 0x7f}, 7, value);
  case ElemType::f64:
  case ElemType::i64:
  case ElemType::i32:
  case ElemType::i16:
  case ElemType::i8:
  case ElemType::i4:
  case ElemType::u32:
  case ElemType::u8:
  case ElemType::u4:
  case ElemType::boolean: break;
  }
  TANG_CHECK(false, "{} has no short float code", graph::info(type).name);
  return 0;
}

std::string_view table_word(const Dialect& dialect, ElemType type) {
  if (graph::scalar_of(type) == graph::Scalar::real && graph::info(type).bits == 16)
    return "uint16_t";
  return graph::scalar_of(type) == graph::Scalar::real && graph::info(type).bits == 8
             ? "uint8_t"
             : dialect.storages[type].type.text();
}

namespace {

std::string real_element(ElemType type, double value) {
  if (type == ElemType::f64 || type == ElemType::f32) {
    bool single = type == ElemType::f32;
    if (single) value = static_cast<float>(value);
    if (std::isnan(value)) return single ? "NAN" : "(double)NAN";
    if (std::isinf(value))
      return std::string(value < 0 ? "-" : "") + (single ? "INFINITY" : "HUGE_VAL");
    std::string digits =
        single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
    if (digits.find_first_of(".e") == digits.npos) digits += ".0";
    return single ? digits + "f" : digits;
  }
  return fmt::format("{:#x}", encode(type, value));
}

std::vector<std::string> packed_elements(const kernel::Buffer& buffer) {
  std::vector<std::string> out;
  for (size_t i = 0; i < buffer.integers.size(); i += 2) {
    int64_t low = buffer.integers[i] & 15;
    int64_t high = i + 1 < buffer.integers.size() ? buffer.integers[i + 1] & 15 : 0;
    out.push_back(fmt::format("{:#x}", low | high << 4));
  }
  return out;
}

} // namespace

std::string table_elements(const kernel::Buffer& buffer) {
  std::vector<std::string> elements;
  if (graph::is_packed(buffer.type)) {
    elements = packed_elements(buffer);
  } else {
    for (double value : buffer.reals) elements.push_back(real_element(buffer.type, value));
    for (int64_t value : buffer.integers)
      elements.push_back(value == std::numeric_limits<int64_t>::min() ? "-9223372036854775807ll - 1"
                         : value > 2147483647 || value < -2147483647  ? fmt::format("{}ll", value)
                                                                      : fmt::format("{}", value));
  }
  if (elements.empty()) elements.push_back("0");
  std::string out = "{", line;
  for (size_t i = 0; i < elements.size(); ++i) {
    std::string next = elements[i] + (i + 1 < elements.size() ? ", " : "");
    if (line.size() + next.size() > 88) {
      while (line.ends_with(' ')) line.pop_back();
      out += line + "\n  ";
      line.clear();
    }
    line += next;
  }
  return out + line + "}";
}

} // namespace tang::print

#pragma once
// What the languages that are C underneath share.
#include "print/dialect.h"

namespace tang::print {

/// A format that is an array of machine values and needs no conversion.
constexpr Storage plain_storage(const char* type, const char* store = "$p[$i] = $v") {
  return {type, "$p[$i]", Precedence::postfix, store, "$v", ""};
}
/// Two elements in a byte (targets/preludes/integers.h).
constexpr Storage packed_storage(const char* load) {
  return {"uint8_t", load, Precedence::postfix, "tg_store_4($p, $i, $v)", "$v", ""};
}
/// Computed with in 64 bits from the load on: next to an unsigned int C would make all unsigned.
inline constexpr Storage u32_storage = {
    "uint32_t", "(int64_t)$p[$i]", Precedence::prefix, "$p[$i] = (uint32_t)$v", "$v", ""};
/// A byte that is 0 or 1.
inline constexpr Storage boolean_storage = {"uint8_t",     "$p[$i] != 0", Precedence::equality,
                                            "$p[$i] = $v", "$v",          ""};

/// Launchers that hold pointers.
inline constexpr std::string_view pointer_host[] = {"host.h"};
inline constexpr const char* misaligned_argument =
    "if (tg_host_misaligned(pointers[i], alignments[i])) return TG_E_ALIGN;";

/// The arguments as `f(a, b)` takes them.
std::string joined(const std::vector<std::string>& parts);

} // namespace tang::print

#pragma once
// What the languages that are C underneath share.
#include "print/dialect.h"

namespace tang::print {

/// A format that is an array of machine values and needs no conversion.
constexpr Storage plain_storage(const char* type) {
  return {type, "$p[$i]", Precedence::postfix, "$p[$i] = $v", "$v"};
}
constexpr Storage narrow_storage(const char* type, const char* store) {
  return {type, "$p[$i]", Precedence::postfix, store, "$v"};
}

/// The arguments as `f(a, b)` takes them.
std::string joined(const std::vector<std::string>& parts);

} // namespace tang::print

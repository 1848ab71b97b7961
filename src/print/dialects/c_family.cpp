#include "print/dialects/c_family.h"

namespace tang::print {

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

} // namespace tang::print

#include "base/check.h"
#include <string_view>

namespace tang {

void fail_check(const char* file, int line, const char* condition, const std::string& text) {
  // Only the path inside the source tree, so that messages are the same on every machine.
  std::string_view path(file);
  if (auto at = path.rfind("src/"); at != std::string_view::npos) path.remove_prefix(at);
  throw InternalError(fmt::format("{}:{}: {} (check `{}` failed)", path, line, text, condition));
}

} // namespace tang

#include "diagnostics/kind.h"
#include <iterator>

namespace tang {
namespace {

constexpr KindInfo rows[] = {
#define TANG_DIAGNOSTIC(name, code, severity, blame, flag, explanation)                            \
  {Kind::name, #name, code, Severity::severity, Blame::blame, flag, explanation},
#include "diagnostics/kinds.def"
#undef TANG_DIAGNOSTIC
};

} // namespace

const KindInfo& info(Kind kind) {
  return rows[static_cast<size_t>(kind)];
}

KindRange all_kinds() {
  return {std::begin(rows), std::end(rows)};
}

std::optional<Kind> kind_of_code(std::string_view code) {
  for (const KindInfo& row : rows)
    if (row.code == code) return row.kind;
  return std::nullopt;
}

std::optional<Kind> kind_of_flag(std::string_view flag) {
  for (const KindInfo& row : rows)
    if (!row.flag.empty() && row.flag == flag) return row.kind;
  return std::nullopt;
}

} // namespace tang

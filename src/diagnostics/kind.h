#pragma once
// The closed list of diagnostics. Rows live in kinds.def; `tangc explain` prints the long text.
#include <cstdint>
#include <optional>
#include <string_view>

namespace tang {

enum class Severity : uint8_t { error, warning, note, help };

/// Who has to act: the author of the input, or nobody yet (a limitation of this version).
enum class Blame : uint8_t { user, limitation };

enum class Kind : uint16_t {
#define TANG_DIAGNOSTIC(name, code, severity, blame, flag, explanation) name,
#include "diagnostics/kinds.def"
#undef TANG_DIAGNOSTIC
};

struct KindInfo {
  Kind kind;
  std::string_view name; ///< the enumerator
  std::string_view code; ///< "E0301"; never reused
  Severity severity;     ///< error or warning
  Blame blame;
  std::string_view flag;        ///< for warnings: the x of -Wx; empty for errors
  std::string_view explanation; ///< a few sentences and an example, printed by `tangc explain`
};

const KindInfo& info(Kind kind);
/// All rows in the order of kinds.def.
struct KindRange {
  const KindInfo* first;
  const KindInfo* last;
  const KindInfo* begin() const { return first; }
  const KindInfo* end() const { return last; }
};
KindRange all_kinds();
std::optional<Kind> kind_of_code(std::string_view code);
std::optional<Kind> kind_of_flag(std::string_view flag);

} // namespace tang

#include "graph/dims.h"
#include "base/checked.h"
#include "graph/interval.h"
#include <fmt/format.h>

namespace tang::graph {

std::optional<Dim> meet(const Dim& a, const Dim& b) {
  Dim both = a;
  auto step = checked_mul(a.step / common_divisor(a.step, b.step), b.step);
  IntRange range{std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
  // A step beyond 64 bits leaves 0 at most.
  if (!step && (range.lo > 0 || range.hi < 0)) return std::nullopt;
  if (!step) range = {0, 0};
  both.step = step.value_or(1);
  if (range.lo > range.hi || floordiv(range.hi, both.step) * both.step < range.lo)
    return std::nullopt;
  range = interval::multiples(range, both.step);
  both.lo = range.lo, both.hi = range.hi;
  return both;
}

bool covers(const Dim& outer, const Dim& inner) {
  auto both = meet(inner, outer), same = meet(inner, inner);
  return both && same && both->lo == same->lo && both->hi == same->hi &&
         (both->step == same->step || both->lo == both->hi);
}

std::string condition_text(const Dim& narrow, const Dim& wide, std::string_view name) {
  if (covers(narrow, wide)) return "";
  auto number = [](int64_t v) { return fmt::format("{}{}", v, v > 2147483647 ? "ll" : ""); };
  if (narrow.lo == narrow.hi) return fmt::format("{} == {}", name, number(narrow.lo));
  std::string text;
  auto add = [&](std::string part) { text += (text.empty() ? "" : " && ") + part; };
  // The ends of a step's own making need no test.
  auto stepped = meet(wide, {"", wide.lo, wide.hi, narrow.step, {}});
  if (!stepped || narrow.lo > stepped->lo) add(fmt::format("{} >= {}", name, number(narrow.lo)));
  if (!stepped || narrow.hi < stepped->hi) add(fmt::format("{} <= {}", name, number(narrow.hi)));
  if (wide.step % narrow.step != 0) add(fmt::format("{} % {} == 0", name, number(narrow.step)));
  return text;
}

std::string condition_text(const Graph& narrow, const Graph& wide) {
  std::string text;
  for (size_t d = 0; d < wide.dims.size(); ++d) {
    std::string part = condition_text(narrow.dims[d], wide.dims[d], wide.dims[d].name);
    if (!part.empty()) text += (text.empty() ? "" : " && ") + part;
  }
  return text;
}

} // namespace tang::graph

#include "linear.h"
#include <fmt/format.h>

namespace tang::fuzz {

Linear linear(Choices& choices, Terms& terms, const std::string& name, const Extent& time,
              const Extent& rows, const Extent& columns, bool corrected) {
  const Index t{"t", time}, p{"p", rows}, n{"n", columns};
  Linear out;
  auto define = [&](const std::string& part, const Indices& points, const std::string& value) {
    std::string binders;
    for (const Index& i : points) binders += (binders.empty() ? "" : ", ") + Terms::binder(i);
    out.statements.push_back(fmt::format("{}_{}[{}] = {}", name, part, binders, value));
  };
  auto given = [&](const std::string& part, const Indices& points, int64_t limit) {
    define(part, points, Terms::clamped(terms.real(points, 1), limit).text);
  };
  given("a", {t}, 1), given("x", {t, p}, 2), given("b", {t, n}, 1), given("c", {t, n}, 2);
  std::string factor = fmt::format("{}_a[t]", name);
  if (choices.one_in(4)) factor = "1.0";
  if (choices.one_in(4)) factor = fmt::format("where(mod(t, 5) == 3, 0, {})", factor);
  const std::string added = fmt::format("{0}_x[t, p] * {0}_b[t, n]", name),
                    reads = fmt::format("sum[n] {0}_c[t, n] * {0}_s", name);
  // A step keeps a state of this size, adds to it, or takes off a sum over its columns.
  int64_t size = 2;
  for (int64_t step = 0; step < time.hi; ++step)
    size = corrected ? size * (1 + columns.hi) + 2 : size + 2;
  const Size state{size, false}, contracted{size * 2 * columns.hi, false};
  if (!corrected && choices.one_in(3)) {
    define("u", {t, p, n}, added);
    out.statements.push_back(fmt::format("({0}_d[t, p, n], {0}_s[t, p, n]) = scan affine[t{1}]"
                                         "({2}, {0}_u[t, p, n])",
                                         name, choices.one_in(3) ? " desc" : "", factor));
    out.statements.push_back(fmt::format("{}_y[t, p] = {}[t, p, n]", name, reads));
    out.defined.push_back({name + "_y", Sort::real, {time, rows}, contracted});
    return out;
  }
  if (choices.one_in(2))
    given("i", {p, n}, 2);
  else
    define("i", {p, n}, "0.0");
  std::string step = fmt::format("{}_s[p, n] = {} * {}_s[p, n] + {}", name, factor, name, added);
  if (corrected)
    step = fmt::format("{0}_r[p] = {1} * sum[n] {0}_s[p, n] * {0}_b[t, n]\n"
                       "  {0}_s[p, n] = {1} * {0}_s[p, n] + ({0}_x[t, p] - {0}_r[p]) * {0}_b[t, n]",
                       name, factor);
  out.statements.push_back(fmt::format("recur t: {0} carry {1}_s = {1}_i {{\n  {2}\n  {1}_o[p] = "
                                       "{3}[p, n]\n}} collect {1}_y = {1}_o",
                                       time.text, name, step, reads));
  out.defined.push_back({name + "_y", Sort::real, {time, rows}, contracted});
  out.defined.push_back({name + "_s", Sort::real, {rows, columns}, state});
  return out;
}

} // namespace tang::fuzz

// What can be said of all values of a layout: by its strides where they decide, else by looking at
// all of them.
#include "layout/algebra.h"
#include "layout/evaluate.h"
#include "layout/f2.h"

namespace tang::layout {

namespace {

enum class Answer : uint8_t { no, yes, open };

/// Modes of one basis are distinct where each stride exceeds all that smaller ones add up to.
Answer distinct(std::vector<Mode> modes) {
  Sum reached;
  bool constant = true;
  while (!modes.empty()) {
    size_t least = 0;
    for (size_t i = 1; i < modes.size(); ++i) {
      Sum a, b;
      if (!a.add(Stride{modes[i].stride.amount, ""}) ||
          !b.add(Stride{modes[least].stride.amount, ""}))
        return Answer::open;
      if (a != b && proven_at_most(a, b)) least = i;
    }
    Mode mode = modes[least];
    modes.erase(modes.begin() + static_cast<std::ptrdiff_t>(least));
    mode.stride.basis.clear();
    constant = constant && mode.size.is_constant() && mode.stride.amount.is_constant();
    Sum above = reached, stride;
    auto more = reach(mode.size, mode.stride);
    if (!above.add(1) || !stride.add(mode.stride) || !proven_at_most(above, stride) || !more ||
        !reached.add(*more))
      return Answer::open;
  }
  return Answer::yes;
}

Answer distinct(const Layout& layout) {
  if (layout.leaves.size() > 256) return Answer::open;
  for (const Mode& mode : layout.leaves) {
    if (!mode.stride.is_zero() || mode.size.is(1)) continue;
    // A mode of size M is one of size 1 as well.
    return mode.size.is_constant() ? Answer::no : Answer::open;
  }
  for (const std::string& axis : bases(layout)) {
    std::vector<Mode> modes;
    for (const Mode& mode : layout.leaves)
      if (!mode.size.is(1) && mode.stride.basis == axis) modes.push_back(mode);
    if (distinct(std::move(modes)) == Answer::open) return Answer::open;
  }
  return Answer::yes;
}

} // namespace

Result<bool> is_injective(const Swizzled& layout) {
  // Swizzles and offsets keep what is distinct.
  if (Answer answer = distinct(layout.layout); answer != Answer::open) return answer == Answer::yes;
  auto values = image({{}, {}, layout.layout});
  if (!values) return values.refusal();
  std::sort(values->begin(), values->end());
  return std::adjacent_find(values->begin(), values->end()) == values->end();
}

Result<bool> is_bijective(const Swizzled& layout) {
  auto count = size(layout.layout);
  if (!count) return count.refusal();
  if (layout.is_strided() && is_plain(layout.layout)) {
    auto inverse = right_inverse(layout.layout);
    if (!inverse) return inverse.refusal();
    auto reached = size(*inverse);
    if (!reached) return reached.refusal();
    if (*reached == *count) return true;
    if (count->is_constant()) return false;
    return refuse("whether {} of {} values are in sequence depends on the symbols",
                  to_text(*reached), to_text(*count));
  }
  if (auto f2 = f2_of(layout)) return is_bijective(*f2);
  auto values = image(layout);
  if (!values) return values.refusal();
  std::sort(values->begin(), values->end());
  for (size_t i = 0; i < values->size(); ++i)
    if ((*values)[i] != static_cast<int64_t>(i)) return false;
  return true;
}

Result<bool> is_same(const Swizzled& a, const Swizzled& b) {
  auto count_a = size(a.layout), count_b = size(b.layout);
  if (!count_a) return count_a.refusal();
  if (!count_b) return count_b.refusal();
  auto flat_a = coalesce(a.layout), flat_b = coalesce(b.layout);
  if (!flat_a) return flat_a.refusal();
  if (!flat_b) return flat_b.refusal();
  if (a.offset == b.offset && a.swizzle == b.swizzle && *flat_a == *flat_b) return true;
  bool symbols = !count_a->is_constant() || !count_b->is_constant();
  for (const Layout* layout : {&*flat_a, &*flat_b})
    for (const Mode& mode : layout->leaves) symbols = symbols || !mode.stride.amount.is_constant();
  for (const Sum* offset : {&a.offset, &b.offset})
    for (const Stride& term : offset->terms()) symbols = symbols || !term.amount.is_constant();
  if (symbols) return refuse("whether the layouts are the same depends on the symbols");
  if (*count_a != *count_b) return false;
  if (a.swizzle == b.swizzle) return false; // a swizzle keeps apart what differs
  auto first = f2_of(a), second = f2_of(b);
  if (first && second)
    return first->axes == second->axes && first->columns == second->columns &&
           first->offset == second->offset;
  auto values_a = image(a), values_b = image(b);
  if (!values_a) return values_a.refusal();
  if (!values_b) return values_b.refusal();
  return *values_a == *values_b;
}

} // namespace tang::layout

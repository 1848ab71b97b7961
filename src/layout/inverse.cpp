// Complements and inverses: both follow the modes in the order of their strides.
#include "base/checked.h"
#include "layout/algebra.h"

namespace tang::layout {

namespace {

/// The modes of a plain layout that count: neither size 1 nor stride 0.
Result<std::vector<Mode>> counting_modes(const Layout& a) {
  if (!is_plain(a)) return refuse("the layout maps into coordinates, not into memory");
  std::vector<Mode> modes;
  for (const Mode& mode : a.leaves)
    if (!mode.size.is(1) && !mode.stride.is_zero()) modes.push_back(mode);
  return modes;
}

/// The mode whose stride divides all others, where the strides are a chain of multiples.
size_t least_stride(const std::vector<Mode>& modes) {
  size_t least = 0;
  for (size_t i = 1; i < modes.size(); ++i)
    if (modes[i].stride != modes[least].stride &&
        quotient(modes[least].stride.amount, modes[i].stride.amount))
      least = i;
  return least;
}

/// How many blocks of `block` cover `target`.
Result<Monomial> blocks_of(const Monomial& target, const Monomial& block) {
  if (auto exact = quotient(target, block)) return *exact;
  if (!target.is_constant() || !block.is_constant())
    return refuse("whether {} divides {} depends on the symbols", to_text(block), to_text(target));
  // Rounded up without leaving 64 bits.
  return Monomial::constant(target.factor / block.factor + (target.factor % block.factor != 0));
}

} // namespace

Result<Layout> complement(const Layout& a, const Monomial& target) {
  auto modes = counting_modes(a);
  if (!modes) return modes.refusal();
  std::vector<Mode> gaps;
  Monomial filled;
  while (!modes->empty()) {
    size_t i = least_stride(*modes);
    Mode mode = (*modes)[i];
    modes->erase(modes->begin() + static_cast<std::ptrdiff_t>(i));
    auto gap = quotient(mode.stride.amount, filled);
    if (!gap)
      return refuse(
          "no layout fills the gaps of mode `{}:{}`: its stride is not a multiple of the {} "
          "that the modes below it take",
          to_text(mode.size), to_text(mode.stride), to_text(filled));
    gaps.push_back({std::move(*gap), {filled, ""}});
    auto next = times(mode.size, mode.stride.amount);
    if (!next) return next.refusal();
    filled = std::move(*next);
  }
  auto rest = blocks_of(target, filled);
  if (!rest) return rest.refusal();
  gaps.push_back({std::move(*rest), {filled, ""}});
  return coalesce(Layout::flat(std::move(gaps)));
}

Result<Layout> right_inverse(const Layout& a) {
  auto modes = coalesce(a);
  if (!modes) return modes.refusal();
  if (!is_plain(a)) return refuse("the layout maps into coordinates, not into memory");
  // The mode whose stride is what the modes before it have filled comes next.
  std::vector<Mode> inverse;
  Monomial filled;
  for (bool found = true; found;) {
    found = false;
    Monomial position;
    for (const Mode& mode : modes->leaves) {
      if (!mode.size.is(1) && mode.stride.amount == filled) {
        auto next = times(filled, mode.size);
        if (!next) return next.refusal();
        inverse.push_back({mode.size, {position, ""}});
        filled = std::move(*next);
        found = true;
        break;
      }
      auto next = times(position, mode.size);
      if (!next) return next.refusal();
      position = std::move(*next);
    }
  }
  if (inverse.empty()) return single_element();
  return coalesce(Layout::flat(std::move(inverse)));
}

Result<Layout> left_inverse(const Layout& a) {
  for (const Mode& mode : a.leaves)
    if (!mode.size.is(1) && mode.stride.is_zero())
      return refuse("mode `{}:0` sends several coordinates to one place", to_text(mode.size));
  auto gaps = complement(a, Monomial{});
  if (!gaps) return gaps.refusal();
  return right_inverse(Layout::tuple({a, *gaps}));
}

Result<Monomial> max_common_vector(const Layout& a, const Layout& b) {
  auto size_a = size(a), size_b = size(b);
  if (!size_a) return size_a.refusal();
  if (!size_b) return size_b.refusal();
  if (*size_a != *size_b)
    return refuse("a copy has as many elements on both sides, not {} and {}", to_text(*size_a),
                  to_text(*size_b));
  auto from = right_inverse(a), to = right_inverse(b);
  if (!from) return from.refusal();
  if (!to) return to.refusal();
  // Both inverses are coalesced, so where their modes part, their values do.
  Monomial common;
  for (size_t i = 0; i < std::min(from->leaves.size(), to->leaves.size()); ++i) {
    const Mode &p = from->leaves[i], &q = to->leaves[i];
    if (p.stride != q.stride) break;
    bool less =
        proven_at_most(Sum(*reach(p.size, {Monomial{}, ""})), *reach(q.size, {Monomial{}, ""}));
    bool more =
        proven_at_most(Sum(*reach(q.size, {Monomial{}, ""})), *reach(p.size, {Monomial{}, ""}));
    if (!less && !more)
      return refuse("which of {} and {} is smaller depends on the symbols", to_text(p.size),
                    to_text(q.size));
    auto next = times(common, less ? p.size : q.size);
    if (!next) return next.refusal();
    common = std::move(*next);
    if (p.size != q.size) break;
  }
  return common;
}

} // namespace tang::layout

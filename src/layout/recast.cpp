// The same bytes as larger or smaller elements.
#include "layout/algebra.h"
#include <bit>

namespace tang::layout {

namespace {

/// How many elements of one side make one of the other.
struct Ratio {
  int64_t count;
  bool larger;
};

Result<Ratio> ratio_of(int64_t from, int64_t to) {
  if (from < 1 || to < 1) return refuse("elements have at least one bit, not {} and {}", from, to);
  if (to % from == 0) return Ratio{to / from, true};
  if (from % to == 0) return Ratio{from / to, false};
  return refuse("elements of {} bits are not made of whole elements of {}", std::max(from, to),
                std::min(from, to));
}

/// Modes that lie inside one of the new elements lose their coordinates; the one that crosses its
/// end keeps a part.
Result<Layout> to_larger(Layout a, int64_t count) {
  std::vector<bool> done(a.leaves.size());
  for (int64_t filled = 1; filled < count;) {
    size_t i = 0;
    while (i < a.leaves.size() && (a.leaves[i].size.is(1) || !a.leaves[i].stride.amount.is(filled)))
      ++i;
    if (i == a.leaves.size())
      return refuse("no mode has stride {}, so that {} neighbours do not make one element", filled,
                    count);
    Mode& mode = a.leaves[i];
    Monomial inside = Monomial::constant(count / filled);
    if (auto beyond = quotient(mode.size, inside)) {
      mode = {*beyond, beyond->is(1) ? Stride{} : Stride{Monomial{}, ""}};
      done[i] = true;
      break;
    }
    if (!mode.size.is_constant() || inside.factor % mode.size.factor != 0)
      return refuse("mode `{}:{}` does not fill elements of {}", to_text(mode.size),
                    to_text(mode.stride), count);
    filled *= mode.size.factor;
    mode = {Monomial{}, {}};
  }
  for (size_t i = 0; i < a.leaves.size(); ++i) {
    Mode& mode = a.leaves[i];
    if (done[i] || mode.size.is(1) || mode.stride.is_zero()) continue;
    auto stride = quotient(mode.stride.amount, Monomial::constant(count));
    if (!stride)
      return refuse("stride {} is not a multiple of {} elements", to_text(mode.stride), count);
    mode.stride.amount = std::move(*stride);
  }
  return a;
}

Result<Layout> to_smaller(Layout a, int64_t count) {
  Mode* contiguous = nullptr;
  for (Mode& mode : a.leaves) {
    if (mode.size.is(1)) continue;
    if (!mode.stride.amount.is(1)) {
      auto stride = times(Monomial::constant(count), mode.stride);
      if (!stride) return stride.refusal();
      mode.stride = std::move(*stride);
      continue;
    }
    if (contiguous) return refuse("several modes have stride 1, and only one can grow");
    contiguous = &mode;
  }
  if (!contiguous)
    return refuse("no mode has stride 1, so that none can hold the smaller elements");
  auto grown = times(Monomial::constant(count), contiguous->size);
  if (!grown) return grown.refusal();
  contiguous->size = std::move(*grown);
  return a;
}

} // namespace

Result<Layout> recast(const Layout& a, int64_t from, int64_t to) {
  auto ratio = ratio_of(from, to);
  if (!ratio) return ratio.refusal();
  if (!is_plain(a)) return refuse("the layout maps into coordinates, not into memory");
  if (ratio->count == 1) return a;
  return ratio->larger ? to_larger(a, ratio->count) : to_smaller(a, ratio->count);
}

Result<Swizzle> recast(const Swizzle& a, int64_t from, int64_t to) {
  auto ratio = ratio_of(from, to);
  if (!ratio) return ratio.refusal();
  if (a.is_identity()) return a;
  if (!std::has_single_bit(static_cast<uint64_t>(ratio->count)))
    return refuse("a swizzle of bits has no meaning for elements {} times the size", ratio->count);
  int places = std::countr_zero(static_cast<uint64_t>(ratio->count));
  if (!ratio->larger) return make_swizzle(a.bits, a.base + places, a.shift);
  if (places > a.base)
    return refuse("the swizzle moves bits inside of elements of {} bits", std::max(from, to));
  return make_swizzle(a.bits, a.base - places, a.shift);
}

Result<Swizzled> recast(const Swizzled& a, int64_t from, int64_t to) {
  auto ratio = ratio_of(from, to);
  if (!ratio) return ratio.refusal();
  auto swizzle = recast(a.swizzle, from, to);
  if (!swizzle) return swizzle.refusal();
  auto inner = recast(a.layout, from, to);
  if (!inner) return inner.refusal();
  Sum offset;
  Monomial count = Monomial::constant(ratio->count);
  for (Stride term : a.offset.terms()) {
    if (!ratio->larger) {
      if (!offset.add(term, ratio->count)) return refuse("the offset leaves 64 bits");
      continue;
    }
    auto part = quotient(term.amount, count);
    if (!part)
      return refuse("offset {} is not a multiple of {} elements", to_text(term), ratio->count);
    if (!offset.add({std::move(*part), term.basis})) return refuse("the offset leaves 64 bits");
  }
  return Swizzled{*swizzle, std::move(offset), std::move(*inner)};
}

} // namespace tang::layout

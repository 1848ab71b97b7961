#include "layout/layout.h"
#include "base/check.h"
#include <cstdlib>

namespace tang::layout {

Layout single_element() {
  return Layout::leaf({});
}

Result<Layout> compact(const Shape& shape) {
  Layout out{shape.form, {}};
  Monomial stride;
  for (const Monomial& size : shape.leaves) {
    out.leaves.push_back({size, size.is(1) ? Stride{} : Stride{stride, ""}});
    auto next = times(stride, size);
    if (!next) return next.refusal();
    stride = std::move(*next);
  }
  return out;
}

Shape shape_of(const Layout& layout) {
  Shape out{layout.form, {}};
  for (const Mode& mode : layout.leaves) out.leaves.push_back(mode.size);
  return out;
}

Result<Monomial> size(const Layout& layout) {
  Monomial product;
  for (const Mode& mode : layout.leaves) {
    auto next = times(product, mode.size);
    if (!next) return next.refusal();
    product = std::move(*next);
  }
  return product;
}

std::vector<std::string> bases(const Layout& layout) {
  std::vector<std::string> out;
  for (const Mode& mode : layout.leaves)
    if (!mode.stride.is_zero()) out.push_back(mode.stride.basis);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool is_plain(const Layout& layout) {
  return std::all_of(layout.leaves.begin(), layout.leaves.end(),
                     [](const Mode& mode) { return mode.stride.basis.empty(); });
}

bool is_plain(const Swizzled& layout) {
  const auto& terms = layout.offset.terms();
  return is_plain(layout.layout) && std::all_of(terms.begin(), terms.end(), [](const Stride& term) {
           return term.basis.empty();
         });
}

Result<Sum> cosize(const Layout& layout) {
  Sum out;
  bool good = true;
  auto axes = bases(layout);
  if (axes.empty()) axes.emplace_back();
  for (const std::string& axis : axes) good = good && out.add({Monomial{}, axis});
  for (const Mode& mode : layout.leaves) {
    auto more = reach(mode.size, mode.stride);
    if (!more) return more.refusal();
    good = good && out.add(*more);
  }
  if (!good) return refuse("the values of the layout leave 64 bits");
  return out;
}

int64_t Swizzle::operator()(int64_t x) const {
  uint64_t value = static_cast<uint64_t>(x), mask = (uint64_t{1} << bits) - 1;
  if (shift >= 0) return static_cast<int64_t>(value ^ ((value & mask << (base + shift)) >> shift));
  return static_cast<int64_t>(value ^ ((value & mask << base) << -shift));
}

Result<Swizzle> make_swizzle(int64_t bits, int64_t base, int64_t shift) {
  for (int64_t field : {bits, base, shift})
    if (field < -62 || field > 62)
      return refuse("a swizzle lies within 62 bits, and {} does not", field);
  if (bits < 0 || base < 0) return refuse("a swizzle cannot have {} bits from bit {}", bits, base);
  if (std::abs(shift) < bits)
    return refuse("the two fields of {} bits overlap: they are only {} apart", bits,
                  std::abs(shift));
  if (bits + base + std::abs(shift) > 62)
    return refuse("a swizzle lies within 62 bits, and this one reaches bit {}",
                  bits + base + std::abs(shift) - 1);
  return Swizzle{static_cast<int>(bits), static_cast<int>(base), static_cast<int>(shift)};
}

} // namespace tang::layout

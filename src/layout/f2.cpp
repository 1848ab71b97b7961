#include "layout/f2.h"
#include "layout/f2_span.h"

namespace tang::layout {

namespace {

bool is_power_of_two(const Monomial& m) {
  return m.is_constant() && std::has_single_bit(static_cast<uint64_t>(m.factor));
}

uint64_t limit_of(size_t bits) {
  return uint64_t{1} << bits;
}

/// All bits that some value has.
uint64_t reached(const F2Layout& a) {
  uint64_t bits = a.offset;
  for (uint64_t column : a.columns) bits |= column;
  return bits;
}

/// The bits of `term` in the space of its axis.
Result<uint64_t> place(const F2Layout& out, const Stride& term, int shift) {
  auto axis = std::find(out.axes.begin(), out.axes.end(), term.basis);
  if (axis == out.axes.end()) return refuse("`{}` counts along none of the axes", to_text(term));
  if (!term.amount.is_constant()) return refuse("`{}` has symbols", to_text(term));
  auto amount = static_cast<uint64_t>(term.amount.factor);
  if (static_cast<int>(std::bit_width(amount)) + shift > out.axis_bits())
    return refuse("`{}` and its multiples leave {} bits", to_text(term), out.axis_bits());
  return amount << shift << (axis - out.axes.begin()) * out.axis_bits();
}

} // namespace

uint64_t F2Layout::operator()(uint64_t index) const {
  uint64_t value = offset;
  for (size_t bit = 0; bit < columns.size(); ++bit)
    if (index >> bit & 1) value ^= columns[bit];
  return value;
}

Result<F2Layout> f2_of(const Swizzled& layout, std::vector<std::string> axes) {
  F2Layout out;
  out.axes = axes.empty() ? bases(layout.layout) : std::move(axes);
  if (out.axes.empty()) out.axes.emplace_back();
  for (const Stride& term : layout.offset.terms()) {
    auto bits = place(out, term, 0);
    if (!bits) return bits.refusal();
    out.offset |= *bits; // terms without symbols have different axes
  }
  uint64_t used = out.offset;
  for (const Layout& part : layout.layout.parts()) {
    size_t before = out.columns.size();
    for (const Mode& mode : part.leaves) {
      if (!is_power_of_two(mode.size))
        return refuse("size {} is not a power of two", to_text(mode.size));
      for (int i = 0; i < std::countr_zero(static_cast<uint64_t>(mode.size.factor)); ++i) {
        Result<uint64_t> column = mode.stride.is_zero() ? uint64_t{0} : place(out, mode.stride, i);
        if (!column) return column.refusal();
        if (used & *column)
          return refuse(
              "mode `{}:{}` has bits in common with other modes or the offset, and carries "
              "when it is added to them",
              to_text(mode.size), to_text(mode.stride));
        used |= *column;
        out.columns.push_back(*column);
      }
    }
    out.domain.push_back(static_cast<int>(out.columns.size() - before));
  }
  if (out.columns.size() > 62) return refuse("the layout has more than 2^62 elements");
  if (layout.swizzle.is_identity()) return out;
  auto swizzled = [&](uint64_t x) {
    return static_cast<uint64_t>(layout.swizzle(static_cast<int64_t>(x)));
  };
  for (uint64_t& column : out.columns) column = swizzled(column);
  out.offset = swizzled(out.offset);
  return out;
}

Result<F2Layout> compose(const F2Layout& a, const F2Layout& b) {
  if (b.axes != std::vector<std::string>{""})
    return refuse("the right side maps into coordinates, not to an index of the left side");
  if (reached(b) >= limit_of(a.columns.size()))
    return refuse("the right side reaches beyond the {} elements of the left side",
                  limit_of(a.columns.size()));
  F2Layout out{b.domain, a.axes, {}, a(b.offset)};
  for (uint64_t column : b.columns) out.columns.push_back(a(column) ^ a.offset);
  return out;
}

int rank(const F2Layout& a) {
  F2Span span;
  for (uint64_t column : a.columns) span.add(column, 0);
  return span.rank();
}

bool is_bijective(const F2Layout& a) {
  return a.axes == std::vector<std::string>{""} && reached(a) < limit_of(a.columns.size()) &&
         rank(a) == static_cast<int>(a.columns.size());
}

Result<F2Layout> inverse(const F2Layout& a) {
  if (!is_bijective(a)) return refuse("the layout does not reach each index below its size once");
  F2Span span;
  for (size_t i = 0; i < a.columns.size(); ++i) span.add(a.columns[i], uint64_t{1} << i);
  F2Layout out{{static_cast<int>(a.columns.size())}, a.axes, {}, *span.solve(a.offset)};
  for (size_t i = 0; i < a.columns.size(); ++i)
    out.columns.push_back(*span.solve(uint64_t{1} << i));
  return out;
}

bool runs_through_blocks(const F2Layout& a, std::span<const int> low) {
  uint64_t block = (uint64_t{1} << low.size()) - 1;
  if (a.axes.size() != 1 || (a.offset & block) != 0) return false;
  for (size_t bit = 0; bit < a.columns.size(); ++bit) {
    auto place = std::find(low.begin(), low.end(), static_cast<int>(bit));
    uint64_t wanted = place == low.end() ? 0 : uint64_t{1} << (place - low.begin());
    if (place == low.end() ? (a.columns[bit] & block) != 0 : a.columns[bit] != wanted) return false;
  }
  // All of them exist.
  return std::all_of(low.begin(), low.end(),
                     [&](int bit) { return static_cast<size_t>(bit) < a.columns.size(); });
}

bool has_contiguous_rows(const F2Layout& a, size_t mode, int64_t elements) {
  if (mode >= a.domain.size() || elements < 1 ||
      !std::has_single_bit(static_cast<uint64_t>(elements)))
    return false;
  int first = 0;
  for (size_t i = 0; i < mode; ++i) first += a.domain[i];
  std::vector<int> low;
  for (int i = 0; int64_t{1} << i < elements; ++i) low.push_back(first + i);
  return static_cast<int>(low.size()) <= a.domain[mode] && runs_through_blocks(a, low);
}

namespace {

constexpr int lane_bits = 5;

bool is_warp_fragment(const F2Layout& a) {
  return a.domain.size() == 2 && a.domain[0] == lane_bits && a.domain[1] >= 1;
}

} // namespace

bool loads_matrices(const F2Layout& a) {
  constexpr int row[] = {lane_bits, 0, 1};
  return is_warp_fragment(a) && runs_through_blocks(a, row);
}

bool loads_transposed_matrices(const F2Layout& a) {
  constexpr int row[] = {2, 3, 4};
  return is_warp_fragment(a) && runs_through_blocks(a, row);
}

} // namespace tang::layout

#include "atomics/match.h"
#include "atomics/check.h"
#include "atomics/table.h"
#include "layout/algebra.h"
#include "layout/f2.h"
#include <algorithm>
#include <bit>

namespace tang::atomics {

using graph::ElemType;
using layout::F2Layout;
using layout::Layout;

namespace {

bool has_axes(const Operand& operand, std::initializer_list<std::string_view> axes) {
  auto extents = extents_by_axis(operand.layout);
  return extents.size() == axes.size() &&
         std::all_of(axes.begin(), axes.end(),
                     [&](std::string_view axis) { return extents.contains(std::string(axis)); });
}

/// One product of two matrices, not several side by side.
bool is_plain_product(const Row& row) {
  return row.operands.size() == 3 && has_axes(row.operands[0], {"m", "n"}) &&
         has_axes(row.operands[1], {"m", "k"}) && has_axes(row.operands[2], {"n", "k"});
}

} // namespace

const Row* find_matmul(std::string_view target, ElemType d, ElemType a, ElemType b) {
  const Row* best = nullptr;
  for (const Row* row : rows_of(Kind::matmul, target)) {
    const ElemType formats[] = {d, a, b};
    bool takes = is_plain_product(*row) && row->accumulates;
    for (size_t i = 0; takes && i < 3; ++i)
      takes = row->operands[i].memory == Memory::registers && row->operands[i].takes(formats[i]) &&
              !row->operands[i].tf32;
    if (takes && (!best || row->fma > best->fma)) best = row;
  }
  return best;
}

const Row* find_move(std::string_view target, const MoveShape& shape) {
  for (const Row* row : rows_of(Kind::move, target)) {
    if (row->threads != 1 || row->operands.size() != 2) continue;
    const Operand &dst = row->operands[0], &src = row->operands[1];
    if (dst.memory == shape.to && src.memory == shape.from && dst.takes(shape.type) &&
        src.takes(shape.type) && src.run_bytes() == shape.bytes &&
        row->zero_fills == shape.zero_fills && row->token.empty() != shape.asynchronous)
      return row;
  }
  return nullptr;
}

namespace {

const Row* find_about(Kind kind, std::string_view target, std::string_view token) {
  for (const Row* row : rows_of(kind, target))
    if (row->token == token) return row;
  return nullptr;
}

/// The bits of which the columns add up to `value`; empty where none do. The columns are
/// independent.
std::optional<uint64_t> expressed(std::span<const uint64_t> columns, uint64_t value) {
  // Gaussian elimination: each kept vector knows which columns made it.
  std::vector<std::pair<uint64_t, uint64_t>> kept;
  auto reduce = [&](uint64_t vector, uint64_t made) {
    for (const auto& [pivot, from] : kept)
      if (vector & std::bit_floor(pivot)) vector ^= pivot, made ^= from;
    return std::pair(vector, made);
  };
  for (size_t i = 0; i < columns.size(); ++i) {
    auto [vector, made] = reduce(columns[i], uint64_t{1} << i);
    if (vector) kept.push_back({vector, made});
  }
  auto [rest, made] = reduce(value, 0);
  return rest ? std::nullopt : std::optional(made);
}

/// A step of coordinates as a stride; empty where it goes along no axis or several.
std::optional<layout::Stride> stride_of(const F2Layout& f, uint64_t step) {
  std::optional<layout::Stride> stride;
  for (size_t axis = 0; axis < f.axes.size(); ++axis) {
    int width = f.axis_bits();
    uint64_t amount = (step >> (axis * static_cast<size_t>(width))) & ((uint64_t{1} << width) - 1);
    if (!amount) continue;
    if (stride) return std::nullopt;
    stride = {layout::Monomial::constant(static_cast<int64_t>(amount)), f.axes[axis]};
  }
  return stride;
}

/// Where the runs of a row's source begin in the coordinates of the fragment, lane by lane.
std::optional<Layout> runs_of(const Row& row, const Layout& fragment,
                              const std::string& contiguous) {
  auto axes = layout::bases(row.operands[0].layout);
  auto plain = [](const Layout& layout) { return layout::Swizzled{{}, {}, layout}; };
  auto dst = layout::f2_of(plain(row.operands[0].layout), axes);
  auto src = layout::f2_of(plain(row.operands[1].layout), axes);
  auto wanted = layout::f2_of(plain(fragment));
  if (!dst || !src || !wanted || dst->columns.size() != wanted->columns.size() ||
      dst->domain != wanted->domain)
    return std::nullopt;
  // The element that a bit of the source index moves to is named by bits of the destination's
  // index, which the fragment says the coordinates of.
  size_t lanes = static_cast<size_t>(src->domain[0]);
  std::vector<layout::Mode> modes;
  for (size_t bit = 0; bit < src->columns.size(); ++bit) {
    auto index = expressed(dst->columns, src->columns[bit]);
    if (!index) return std::nullopt;
    uint64_t step = 0;
    for (size_t i = 0; i < wanted->columns.size(); ++i)
      if (*index >> i & 1) step ^= wanted->columns[i];
    auto stride = stride_of(*wanted, step);
    if (!stride) return std::nullopt;
    if (bit < lanes) {
      modes.push_back({layout::Monomial::constant(2), *stride});
    } else if (stride->basis != contiguous || !stride->amount.is(int64_t{1} << (bit - lanes))) {
      return std::nullopt;
    }
  }
  auto runs = layout::coalesce(Layout::flat(std::move(modes)));
  return runs ? std::optional(*runs) : std::nullopt;
}

} // namespace

const Row* find_commit(std::string_view target, std::string_view token) {
  return find_about(Kind::commit, target, token);
}

const Row* find_wait(std::string_view target, std::string_view token) {
  return find_about(Kind::wait, target, token);
}

std::optional<FragmentLoad> find_fragment_load(std::string_view target, ElemType type,
                                               const Layout& fragment,
                                               const std::string& contiguous) {
  for (const Row* row : rows_of(Kind::move, target)) {
    if (row->threads == 1 || row->operands.size() != 2) continue;
    const Operand &dst = row->operands[0], &src = row->operands[1];
    if (dst.memory != Memory::registers || src.memory != Memory::shared || !dst.takes(type))
      continue;
    if (auto lanes = runs_of(*row, fragment, contiguous)) return FragmentLoad{row, *lanes};
  }
  return std::nullopt;
}

} // namespace tang::atomics

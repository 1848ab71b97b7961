#include "atomics/match.h"
#include "atomics/check.h"
#include "base/check.h"
#include "layout/algebra.h"
#include "layout/f2.h"
#include "layout/text.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace tang::atomics {

using graph::ElemType;
using layout::F2Layout;
using layout::Layout;

namespace {

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;

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
layout::Result<Layout> runs_of(const Row& row, const FragmentShape& shape) {
  auto axes = layout::bases(row.operands[0].layout);
  auto plain = [](const Layout& layout) { return layout::Swizzled{{}, {}, layout}; };
  auto dst = layout::f2_of(plain(row.operands[0].layout), axes);
  auto src = layout::f2_of(plain(row.operands[1].layout), axes);
  auto wanted = layout::f2_of(plain(shape.fragment));
  if (!dst || !src || !wanted) return layout::refuse("a layout is no map of bits");
  if (dst->domain != wanted->domain)
    return layout::refuse("gives a lane {} values", row.operands[0].values);
  // The element that a bit of the source index moves to is named by bits of the destination's
  // index, which the fragment says the coordinates of.
  size_t lanes = static_cast<size_t>(src->domain[0]);
  std::vector<layout::Mode> modes;
  for (size_t bit = 0; bit < src->columns.size(); ++bit) {
    auto index = expressed(dst->columns, src->columns[bit]);
    if (!index) return layout::refuse("moves other elements than the fragment holds");
    uint64_t step = 0;
    for (size_t i = 0; i < wanted->columns.size(); ++i)
      if (*index >> i & 1) step ^= wanted->columns[i];
    auto stride = stride_of(*wanted, step);
    if (!stride) return layout::refuse("its steps go along no axis of the fragment");
    if (bit < lanes) {
      modes.push_back({layout::Monomial::constant(2), *stride});
    } else if (stride->basis != shape.contiguous ||
               !stride->amount.is(int64_t{1} << (bit - lanes))) {
      return layout::refuse("its runs in memory would not lie along {}", shape.contiguous);
    }
  }
  return layout::coalesce(Layout::flat(std::move(modes)));
}

std::string format_of(const Operand& operand) {
  return operand.tf32   ? "tf32"
         : operand.type ? std::string(graph::info(*operand.type).name)
                        : fmt::format("b{}", operand.bits);
}

bool has_axes(const Operand& operand, std::initializer_list<std::string_view> axes) {
  auto extents = extents_by_axis(operand.layout);
  return extents.size() == axes.size() &&
         std::all_of(axes.begin(), axes.end(),
                     [&](std::string_view axis) { return extents.contains(std::string(axis)); });
}

std::string mismatch_of(const Row& row, const Product& leaf) {
  const std::pair<std::string_view, ElemType> formats[] = {
      {"D", leaf.d}, {"A", leaf.a}, {"B", leaf.b}};
  const std::initializer_list<std::string_view> axes[] = {{"m", "n"}, {"m", "k"}, {"n", "k"}};
  if (!row.accumulates) return "does not add to what D holds";
  for (size_t i = 0; i < 3; ++i) {
    const Operand& o = row.operands[i];
    if (o.memory != Memory::registers)
      return fmt::format("its {} lies in {} memory", formats[i].first, name(o.memory));
    if (!has_axes(o, axes[i])) return "its axes are not those of one matrix product";
    if (!o.takes(formats[i].second) || (o.tf32 && !leaf.tf32))
      return fmt::format("its {} is {}", formats[i].first, format_of(o));
  }
  return "";
}

std::string mismatch_of(const Row& row, const MoveShape& leaf) {
  if (row.threads != 1) return fmt::format("{} threads issue it together", row.threads);
  if (row.operands.size() != 2) return "it has other operands";
  if (row.rounds != Rounds::no) return "it rounds";
  const std::pair<const Operand&, Memory> sides[] = {{row.operands[0], leaf.to},
                                                     {row.operands[1], leaf.from}};
  for (const auto& [o, memory] : sides) {
    if (o.memory != memory)
      return fmt::format("it moves from {} to {} memory", name(row.operands[1].memory),
                         name(row.operands[0].memory));
    if (!o.takes(leaf.type)) return fmt::format("its elements are {}", format_of(o));
    if (o.run_bytes() != leaf.bytes) return fmt::format("it moves {} bytes", o.run_bytes());
  }
  if (row.zero_fills != leaf.zero_fills)
    return row.zero_fills ? "it takes a predicate" : "it takes no predicate";
  if (row.token.empty() == leaf.asynchronous)
    return leaf.asynchronous ? "it is not asynchronous" : "it is asynchronous";
  return "";
}

std::string mismatch_of(const Row& row, const FragmentShape& leaf) {
  if (row.threads == 1) return "one thread issues it";
  if (row.operands.size() != 2) return "it has other operands";
  const Operand &dst = row.operands[0], &src = row.operands[1];
  if (dst.memory != Memory::registers || src.memory != Memory::shared)
    return fmt::format("it moves from {} to {} memory", name(src.memory), name(dst.memory));
  if (!dst.takes(leaf.type)) return fmt::format("its elements are {}", format_of(dst));
  auto runs = runs_of(row, leaf);
  return runs ? "" : runs.refusal().reason;
}

std::string mismatch_of(const Row& row, const GroupShape& leaf) {
  return row.token == leaf.token ? "" : fmt::format("it is about `{}`", row.token);
}

std::string mismatch_of(const Row& row, const Rounding& leaf) {
  if (row.rounds == Rounds::no) return "it does not round";
  if (row.rounds != leaf.to) return fmt::format("it gives the {}", name(row.rounds));
  if (row.threads != 1 || row.operands.size() != 2) return "it has other operands";
  const Operand& dst = row.operands[0];
  return dst.takes(leaf.format) ? "" : fmt::format("its result is {}", format_of(dst));
}

std::string mismatch_of(const Row& row, const Function& leaf) {
  if (row.op != leaf.op) return fmt::format("it is `{}`", row.op);
  bool one = row.threads == 1 && row.operands.size() == 2;
  for (const Operand& o : row.operands)
    one = one && o.memory == Memory::registers && o.type == ElemType::f32 && o.values == 1;
  return one ? "" : "it is not about one f32 in a register";
}

} // namespace

Kind kind_of(const Leaf& leaf) {
  return std::visit(overloaded{[](const Product&) { return Kind::matmul; },
                               [](const MoveShape&) { return Kind::move; },
                               [](const FragmentShape&) { return Kind::move; },
                               [](const Rounding&) { return Kind::move; },
                               [](const Function&) { return Kind::unary; },
                               [](const GroupShape& group) { return group.kind; }},
                    leaf);
}

std::string to_text(const Leaf& leaf) {
  auto format = [](ElemType type, bool tf32 = false) {
    return tf32 && type == ElemType::f32 ? std::string_view("tf32") : graph::info(type).name;
  };
  return std::visit(
      overloaded{
          [&](const Product& p) {
            return fmt::format("MatMul {} += {} * {}", format(p.d), format(p.a, p.tf32),
                               format(p.b, p.tf32));
          },
          [&](const MoveShape& m) {
            return fmt::format("Move of {} bytes of {} from {} to {} memory{}{}", m.bytes,
                               format(m.type), name(m.from), name(m.to),
                               m.asynchronous ? ", asynchronous" : "",
                               m.zero_fills ? ", zeros where there is nothing" : "");
          },
          [&](const FragmentShape& f) {
            return fmt::format(
                "Move of {} from shared memory, contiguous along {}, to registers {}",
                format(f.type), f.contiguous, layout::to_text(f.fragment));
          },
          [](const Function& f) { return fmt::format("{} of f32", f.op); },
          [&](const Rounding& r) {
            return fmt::format("Move of f32 to the {} {}", name(r.to), format(r.format, true));
          },
          [&](const GroupShape& g) { return fmt::format("{} `{}`", name(g.kind), g.token); }},
      leaf);
}

std::string mismatch(const Row& row, const Leaf& leaf) {
  if (row.kind != kind_of(leaf)) return fmt::format("it is a {}", name(row.kind));
  return std::visit([&](const auto& shape) { return mismatch_of(row, shape); }, leaf);
}

const Row* find(const Target& target, const Leaf& leaf) {
  const Row* best = nullptr;
  for (const Row* row : rows_of(kind_of(leaf), target))
    if ((!best || row->fma > best->fma) && mismatch(*row, leaf).empty()) best = row;
  return best;
}

std::optional<FragmentLoad> find_fragment_load(const Target& target, const FragmentShape& shape) {
  const Row* row = find(target, shape);
  if (!row) return std::nullopt;
  return FragmentLoad{row, *runs_of(*row, shape)};
}

} // namespace tang::atomics

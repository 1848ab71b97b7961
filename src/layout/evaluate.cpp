#include "layout/evaluate.h"
#include "base/checked.h"

namespace tang::layout {

namespace {

/// Adds what index `index` into the modes [first, last) contributes.
Result<bool> add_index(const Mode* first, const Mode* last, int64_t index, Sum& sum) {
  // The last mode that counts takes what is left; all others need a size without symbols.
  const Mode* top = last;
  while (top != first && top[-1].size.is(1)) --top;
  int64_t left = index;
  for (const Mode* mode = first; mode != top && left != 0; ++mode) {
    bool symbolic = !mode->size.is_constant();
    if (symbolic && mode + 1 != top)
      return refuse("which element of the tuple index {} means depends on `{}`", index,
                    to_text(mode->size));
    int64_t digit = symbolic ? left : left % mode->size.factor;
    left = symbolic ? 0 : left / mode->size.factor;
    if (!sum.add(mode->stride, digit)) return refuse("the value leaves 64 bits");
  }
  if (left != 0 || index < 0) return refuse("index {} lies outside of its mode", index);
  return true;
}

Refusal other_form() {
  return Refusal{"the coordinate has another form than the layout"};
}

struct Sliced {
  Layout layout;
  Sum offset;
};

/// Walks the coordinate and the layout side by side, with a list of the kept parts of each open
/// tuple.
Result<Sliced> take(const Layout& layout, const Coordinate& coordinate) {
  Sliced out;
  std::vector<std::vector<Layout>> open(1);
  size_t at = 0, leaf = 0, number = 0;
  for (char c : coordinate.form) {
    if (at == layout.form.size()) return other_form();
    char there = layout.form[at];
    if (c == '(') {
      if (there != '(') return other_form();
      open.emplace_back();
      ++at;
    } else if (c == ')') {
      if (there != ')') return other_form();
      std::vector<Layout> kept = std::move(open.back());
      open.pop_back();
      if (kept.size() == 1) open.back().push_back(std::move(kept[0]));
      if (kept.size() > 1) open.back().push_back(Layout::tuple(kept));
      ++at;
    } else {
      if (there == ')') return other_form();
      size_t end = part_end(layout.form, at);
      Layout part{layout.form.substr(at, end - at), {}};
      auto count = static_cast<size_t>(std::count(part.form.begin(), part.form.end(), '*'));
      const Mode* first = layout.leaves.data() + leaf;
      if (const std::optional<int64_t>& index = coordinate.leaves[number++]) {
        auto added = add_index(first, first + count, *index, out.offset);
        if (!added) return added.refusal();
      } else {
        part.leaves.assign(first, first + count);
        open.back().push_back(std::move(part));
      }
      leaf += count;
      at = end;
    }
  }
  out.layout = open[0].empty() ? single_element() : std::move(open[0][0]);
  return out;
}

} // namespace

Result<Sum> evaluate(const Layout& layout, const Coordinate& coordinate) {
  for (const auto& index : coordinate.leaves)
    if (!index) return refuse("a value needs a whole coordinate, without `_`");
  auto taken = take(layout, coordinate);
  if (!taken) return taken.refusal();
  return std::move(taken->offset);
}

Result<Sum> evaluate(const Swizzled& layout, const Coordinate& coordinate) {
  auto value = evaluate(layout.layout, coordinate);
  if (!value) return value.refusal();
  if (!value->add(layout.offset)) return refuse("the value leaves 64 bits");
  if (layout.swizzle.is_identity()) return value;
  auto address = value->constant();
  if (!address) return refuse("a swizzle of {} depends on the symbols", to_text(*value));
  return Sum(layout.swizzle(*address));
}

Result<Swizzled> slice(const Swizzled& layout, const Coordinate& coordinate) {
  auto taken = take(layout.layout, coordinate);
  if (!taken) return taken.refusal();
  if (!taken->offset.add(layout.offset)) return refuse("the offset leaves 64 bits");
  return Swizzled{layout.swizzle, std::move(taken->offset), std::move(taken->layout)};
}

Result<Coordinate> coordinate_of(const Layout& layout, int64_t index) {
  auto whole = size(layout);
  if (!whole) return whole.refusal();
  if (!whole->is_constant()) return refuse("the size {} has symbols", to_text(*whole));
  if (index < 0 || index >= whole->factor)
    return refuse("index {} lies outside of the {} elements", index, whole->factor);
  Coordinate out{layout.form, {}};
  for (const Mode& mode : layout.leaves) {
    out.leaves.emplace_back(index % mode.size.factor);
    index /= mode.size.factor;
  }
  return out;
}

Result<std::vector<int64_t>> image(const Swizzled& layout, int64_t most) {
  auto count = size(layout.layout);
  if (!count) return count.refusal();
  auto last = cosize(layout.layout);
  if (!last) return last.refusal();
  Sum reached = *last;
  if (!reached.add(layout.offset)) return refuse("the values leave 64 bits");
  auto offset = layout.offset.constant();
  if (!count->is_constant() || !offset || !reached.constant())
    return refuse("the values have symbols or bases");
  if (count->factor > most)
    return refuse("the layout has {} elements, and lists end at {}", count->factor, most);
  // Mode by mode: what a mode adds to all that the modes before it give.
  std::vector<int64_t> values{*offset};
  values.reserve(static_cast<size_t>(count->factor));
  for (const Mode& mode : layout.layout.leaves) {
    size_t before = values.size();
    for (int64_t i = 1; i < mode.size.factor; ++i)
      for (size_t k = 0; k < before; ++k)
        values.push_back(values[k] + i * mode.stride.amount.factor);
  }
  for (int64_t& value : values) value = layout.swizzle(value);
  return values;
}

} // namespace tang::layout

#include "layout/compose.h"

namespace tang::layout {

Result<Layout> logical_divide(const Layout& a, const Layout& b) {
  auto whole = size(a);
  if (!whole) return whole.refusal();
  auto rest = complement(b, *whole);
  if (!rest) return rest.refusal();
  return compose_partial(a, Layout::tuple({b, *rest}));
}

namespace {

struct Halves {
  std::vector<Layout> tiles, rests;
};

/// By mode; untouched modes count as rests.
Result<Halves> divide_modes(const Layout& a, const Tiler& b) {
  std::vector<Layout> parts = a.parts();
  if (b.size() > parts.size())
    return refuse("a tiler of {} modes for a layout of {}", b.size(), parts.size());
  Halves out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i >= b.size() || !b[i]) {
      out.rests.push_back(parts[i]);
      continue;
    }
    auto divided = logical_divide(parts[i], *b[i]);
    if (!divided) return divided.refusal();
    auto halves = divided->parts();
    out.tiles.push_back(std::move(halves[0]));
    out.rests.push_back(std::move(halves[1]));
  }
  if (out.tiles.empty()) return refuse("the tiler has no tile");
  return out;
}

Result<Layout> zip_products(const Layout& a, const Layout& b, bool raked) {
  if (a.rank() != b.rank())
    return refuse("the product pairs modes, and there are {} and {}", a.rank(), b.rank());
  auto product = logical_product(a, b);
  if (!product) return product.refusal();
  auto halves = product->parts();
  auto blocks = halves[0].parts(), copies = halves[1].parts();
  // A single mode of `b` can become several, all of which belong to it.
  if (b.is_leaf()) copies = {halves[1]};
  std::vector<Layout> zipped;
  for (size_t i = 0; i < blocks.size(); ++i)
    zipped.push_back(Layout::tuple({raked ? copies[i] : blocks[i], raked ? blocks[i] : copies[i]}));
  if (a.is_leaf()) return coalesce(zipped[0]);
  return coalesce_modes(Layout::tuple(zipped));
}

} // namespace

Result<Layout> logical_divide(const Layout& a, const Tiler& b) {
  std::vector<Layout> parts = a.parts();
  if (b.size() > parts.size())
    return refuse("a tiler of {} modes for a layout of {}", b.size(), parts.size());
  for (size_t i = 0; i < b.size(); ++i) {
    if (!b[i]) continue;
    auto divided = logical_divide(parts[i], *b[i]);
    if (!divided) return divided.refusal();
    parts[i] = std::move(*divided);
  }
  return a.is_leaf() ? parts[0] : Layout::tuple(parts);
}

Result<Layout> zipped_divide(const Layout& a, const Tiler& b) {
  auto halves = divide_modes(a, b);
  if (!halves) return halves.refusal();
  return Layout::tuple({Layout::tuple(halves->tiles), Layout::tuple(halves->rests)});
}

Result<Layout> tile(const Layout& a, const Tiler& b) {
  auto halves = divide_modes(a, b);
  if (!halves) return halves.refusal();
  return Layout::tuple({Layout::tuple(halves->rests), Layout::tuple(halves->tiles)});
}

Result<Layout> logical_product(const Layout& a, const Layout& b) {
  auto count = size(a);
  if (!count) return count.refusal();
  if (!is_plain(b)) return refuse("the arrangement maps into coordinates, not into memory");
  auto reached = cosize(b);
  if (!reached) return reached.refusal();
  auto places = reached->monomial();
  if (!places)
    return refuse("the arrangement reaches {} places, which is no product", to_text(*reached));
  auto target = times(*count, *places);
  if (!target) return target.refusal();
  auto free = complement(a, *target);
  if (!free) return free.refusal();
  auto copies = compose(*free, b);
  if (!copies) return copies.refusal();
  return Layout::tuple({a, *copies});
}

Result<Layout> blocked_product(const Layout& a, const Layout& b) {
  return zip_products(a, b, false);
}

Result<Layout> raked_product(const Layout& a, const Layout& b) {
  return zip_products(a, b, true);
}

Result<Layout> reshape(const Layout& a, const Shape& shape) {
  auto inner = compact(shape);
  if (!inner) return inner.refusal();
  auto from = size(a), to = size(*inner);
  if (!from) return from.refusal();
  if (!to) return to.refusal();
  if (*from != *to)
    return refuse("a shape of {} elements for a layout of {}", to_text(*to), to_text(*from));
  return compose(a, *inner);
}

} // namespace tang::layout

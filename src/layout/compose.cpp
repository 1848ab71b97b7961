// Composition by digits. The flat coalesced modes of `a` are a mixed radix: an index of `a` is one
// digit per mode. A mode s:d of `b` counts in steps of d, which is a run of digits where d and s go
// evenly into the sizes of `a`. The run's strides add up to a(b(c)) as long as no sum of digits
// leaves its mode, because then nothing carries.
#include "layout/compose.h"
#include <utility>

namespace tang::layout {

namespace {

/// The part of `a` that one basis of `b` counts through.
struct Radix {
  std::string axis;
  std::vector<Mode> modes;  ///< flat and coalesced
  std::vector<Sum> largest; ///< by mode: the largest sum of digits so far
};

Result<Radix> radix_of(const Layout& a, std::string axis) {
  auto modes = coalesce(a);
  if (!modes) return modes.refusal();
  size_t count = modes->leaves.size();
  return Radix{std::move(axis), std::move(modes->leaves), std::vector<Sum>(count)};
}

/// Whether `count` steps of `step` digits stay within a mode of `a`.
bool stays_inside(const Monomial& count, const Monomial& step, const Monomial& size) {
  auto last = reach(count, Stride{step, ""});
  auto room = reach(size, Stride{Monomial{}, ""});
  return last && room && proven_at_most(*last, *room);
}

Result<Mode> add_piece(Radix& radix, size_t i, const Monomial& count, const Monomial& step) {
  auto digits = reach(count, Stride{step, ""});
  if (!digits) return digits.refusal();
  if (!radix.largest[i].add(*digits)) return refuse("the coordinates leave 64 bits");
  auto stride = times(step, radix.modes[i].stride);
  if (!stride) return stride.refusal();
  return Mode{count, std::move(*stride)};
}

/// The modes that `count` steps of `step` become.
Result<std::vector<Mode>> peel(Radix& radix, Monomial count, Monomial step, bool open) {
  std::string whole = fmt::format("{}:{}", to_text(count), to_text(step));
  size_t i = 0, last = radix.modes.size() - 1;
  for (; i < last; ++i) {
    auto above = quotient(step, radix.modes[i].size);
    if (!above) break;
    step = std::move(*above);
  }
  std::vector<Mode> pieces;
  for (;; ++i) {
    const Monomial& size = radix.modes[i].size;
    bool ends = (i == last && open) || stays_inside(count, step, size);
    if (i == last && !ends)
      return refuse("`{}` of the right side reaches beyond the left side, or nothing shows that it "
                    "does not",
                    whole);
    auto room = quotient(size, step);
    auto rest = room ? quotient(count, *room) : std::nullopt;
    if (!ends && !rest)
      return refuse(
          "`{}` of the right side does not step evenly through the left side: {} steps of "
          "{} in a mode of size {}",
          whole, to_text(count), to_text(step), to_text(size));
    auto piece = add_piece(radix, i, ends ? count : *room, step);
    if (!piece) return piece.refusal();
    pieces.push_back(std::move(*piece));
    if (ends) return pieces;
    count = std::move(*rest);
    step = Monomial{};
  }
}

Result<bool> check_carries(const Radix& radix, bool open) {
  for (size_t i = 0; i + (open ? 1 : 0) < radix.modes.size(); ++i) {
    auto room = reach(radix.modes[i].size, Stride{Monomial{}, ""});
    if (!room) return room.refusal();
    if (!proven_at_most(radix.largest[i], *room))
      return refuse(
          "modes of the right side carry: together they count to {} in a mode of the left "
          "side of size {}",
          to_text(radix.largest[i]), to_text(radix.modes[i].size));
  }
  return true;
}

Result<Layout> compose_radices(std::vector<Radix>& radices, const Layout& b, bool open) {
  Layout out;
  size_t leaf = 0;
  for (char c : b.form) {
    if (c != '*') {
      out.form += c;
      continue;
    }
    const Mode& mode = b.leaves[leaf++];
    std::vector<Mode> pieces{{mode.size, {}}};
    if (!mode.size.is(1) && !mode.stride.is_zero()) {
      auto radix = std::find_if(radices.begin(), radices.end(),
                                [&](const Radix& r) { return r.axis == mode.stride.basis; });
      if (radix == radices.end())
        return refuse("the right side steps by `{}`, which is no index of the left side",
                      to_text(mode.stride));
      auto peeled = peel(*radix, mode.size, mode.stride.amount, open);
      if (!peeled) return peeled.refusal();
      pieces = std::move(*peeled);
    }
    out.form += pieces.size() == 1 ? "*" : "(" + std::string(pieces.size(), '*') + ")";
    out.leaves.insert(out.leaves.end(), pieces.begin(), pieces.end());
  }
  for (const Radix& radix : radices) {
    auto good = check_carries(radix, open);
    if (!good) return good.refusal();
  }
  // Digits can be within sizes whose product, and so what they count, is not within 64 bits.
  for (const Layout* layout : {&b, &std::as_const(out)}) {
    auto reached = cosize(*layout);
    if (!reached) return reached.refusal();
  }
  return out;
}

Result<Layout> compose_plain(const Layout& a, const Layout& b, bool open) {
  auto radix = radix_of(a, "");
  if (!radix) return radix.refusal();
  std::vector<Radix> radices{std::move(*radix)};
  return compose_radices(radices, b, open);
}

} // namespace

Result<Layout> compose(const Layout& a, const Layout& b) {
  return compose_plain(a, b, false);
}

Result<Layout> compose_partial(const Layout& a, const Layout& b) {
  return compose_plain(a, b, true);
}

Result<Layout> compose(const Layout& a, const Tiler& b) {
  std::vector<Layout> parts = a.parts();
  if (b.size() > parts.size())
    return refuse("a tiler of {} modes for a layout of {}", b.size(), parts.size());
  for (size_t i = 0; i < b.size(); ++i) {
    if (!b[i]) continue;
    auto part = compose(parts[i], *b[i]);
    if (!part) return part.refusal();
    parts[i] = std::move(*part);
  }
  return a.is_leaf() ? parts[0] : Layout::tuple(parts);
}

Result<Layout> compose_coordinates(const Layout& a, const Layout& b,
                                   const std::vector<std::string>& axes) {
  std::vector<Layout> parts = a.parts();
  if (axes.size() != parts.size())
    return refuse("{} axes for a layout of {} modes", axes.size(), parts.size());
  std::vector<Radix> radices;
  for (size_t i = 0; i < axes.size(); ++i) {
    auto radix = radix_of(parts[i], axes[i]);
    if (!radix) return radix.refusal();
    radices.push_back(std::move(*radix));
  }
  return compose_radices(radices, b, false);
}

Result<Swizzled> compose(const Swizzle& a, const Swizzled& b) {
  if (!b.swizzle.is_identity() && b.swizzle != a)
    return refuse("two different swizzles one after the other are no swizzle");
  if (!is_plain(b)) return refuse("a swizzle permutes addresses, not coordinates");
  // The same twice is none.
  return Swizzled{b.swizzle.is_identity() ? a : Swizzle{}, b.offset, b.layout};
}

Result<Swizzled> compose(const Swizzled& a, const Layout& b) {
  auto inner = compose(a.layout, b);
  if (!inner) return inner.refusal();
  return Swizzled{a.swizzle, a.offset, std::move(*inner)};
}

} // namespace tang::layout

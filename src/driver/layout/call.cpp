#include "driver/layout/call.h"
#include "base/check.h"

namespace tang::driver {

using namespace layout;

namespace {

std::string_view what_is(const LayoutValue& value) {
  return std::visit(
      Overload{[](const Sum&) { return "a number"; }, [](const Nested<Item>&) { return "a tuple"; },
               [](const Swizzled&) { return "a layout"; },
               [](const Swizzle&) { return "a swizzle"; }, [](const Tiler&) { return "a tiler"; },
               [](const Answer&) { return "an answer"; }},
      value);
}

std::optional<Shape> as_shape(const LayoutValue& value) {
  if (const auto* number = std::get_if<Sum>(&value)) {
    auto size = number->monomial();
    if (!size || size->factor < 1) return std::nullopt;
    return Shape::leaf(std::move(*size));
  }
  const auto* tuple = std::get_if<Nested<Item>>(&value);
  if (!tuple) return std::nullopt;
  Shape out{tuple->form, {}};
  for (const Item& item : tuple->leaves) {
    if (!item || item->is_zero() || !item->basis.empty()) return std::nullopt;
    out.leaves.push_back(item->amount);
  }
  return out;
}

std::string item_text(const Item& item) {
  return item ? to_text(*item) : "_";
}

} // namespace

std::string value_text(const LayoutValue& value) {
  return std::visit(Overload{[](const Sum& v) { return to_text(v); },
                             [](const Nested<Item>& v) { return nested_text(v, item_text); },
                             [](const Swizzled& v) { return to_text(v); },
                             [](const Swizzle& v) { return to_text(v); },
                             [](const Tiler& v) {
                               std::string text;
                               for (const auto& tile : v)
                                 text += (text.empty() ? "" : ", ") +
                                         (tile ? to_text(*tile) : std::string("_"));
                               return "<" + text + ">";
                             },
                             [](const Answer& v) { return v.text; }},
                    value);
}

std::optional<Result<Swizzled>> as_layout(const LayoutValue& value) {
  if (const auto* whole = std::get_if<Swizzled>(&value)) return Result<Swizzled>(*whole);
  auto shape = as_shape(value);
  if (!shape) return std::nullopt;
  auto plain = compact(*shape);
  if (!plain) return Result<Swizzled>(plain.refusal());
  return Result<Swizzled>(Swizzled{{}, {}, std::move(*plain)});
}

Refusal LayoutCall::blame(size_t i, std::string_view wanted) {
  blamed_ = i;
  return refuse("argument {} is {}, and {} is wanted: `{}`", i + 1, what_is(arguments_[i]), wanted,
                value_text(arguments_[i]));
}

Result<Swizzled> LayoutCall::swizzled(size_t i) {
  auto taken = as_layout(arguments_[i]);
  if (!taken) return blame(i, "a layout");
  return std::move(*taken);
}

Result<Layout> LayoutCall::strided(size_t i) {
  auto whole = swizzled(i);
  if (!whole) return whole.refusal();
  if (!whole->is_strided()) return blame(i, "a layout without swizzle and offset");
  return std::move(whole->layout);
}

Result<Monomial> LayoutCall::monomial(size_t i) {
  const auto* sum = as<Sum>(i);
  auto value = sum ? sum->monomial() : std::nullopt;
  if (!value) return blame(i, "one number or product");
  return std::move(*value);
}

Result<int64_t> LayoutCall::number(size_t i) {
  const auto* sum = as<Sum>(i);
  auto value = sum ? sum->constant() : std::nullopt;
  if (!value) return blame(i, "a number without symbols");
  return *value;
}

Result<Shape> LayoutCall::shape(size_t i) {
  auto taken = as_shape(arguments_[i]);
  if (!taken) return blame(i, "a shape");
  return std::move(*taken);
}

Result<Coordinate> LayoutCall::coordinate(size_t i) {
  if (as<Sum>(i)) {
    auto value = number(i);
    if (!value) return value.refusal();
    return Coordinate::leaf(*value);
  }
  const auto* tuple = as<Nested<Item>>(i);
  if (!tuple) return blame(i, "a coordinate");
  Coordinate out{tuple->form, {}};
  for (const Item& item : tuple->leaves) {
    if (item && (!item->basis.empty() || !item->amount.is_constant()))
      return blame(i, "a coordinate of numbers and `_`");
    out.leaves.push_back(item ? std::optional(item->amount.factor) : std::nullopt);
  }
  return out;
}

Result<Tiler> LayoutCall::tiler(size_t i) {
  if (const auto* tiles = as<Tiler>(i)) return *tiles;
  auto plain = strided(i);
  if (!plain) return plain.refusal();
  return Tiler{std::move(*plain)};
}

Result<std::vector<std::string>> LayoutCall::axes(size_t first) {
  std::vector<std::string> names;
  for (size_t i = first; i < count(); ++i) {
    const auto* sum = as<Sum>(i);
    auto value = sum ? sum->monomial() : std::nullopt;
    bool named = value && value->factor == 1 && value->symbols.size() == 1;
    if (!named && !(value && value->is_constant())) return blame(i, "the name of an axis");
    names.push_back(to_text(*value));
    if (std::count(names.begin(), names.end(), names.back()) > 1)
      return blame(i, "another name, as this one stands twice");
  }
  return names;
}

} // namespace tang::driver

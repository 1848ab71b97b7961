// The functions of `tangc layout`, one row each.
#include "base/check.h"
#include "driver/layout/call.h"
#include "layout/algebra.h"
#include "layout/evaluate.h"
#include "layout/f2.h"

namespace tang::driver {

using namespace layout;

namespace {

constexpr size_t any_number = 64;
/// Longer lists are refused.
constexpr int64_t longest_list = 1 << 16;

LayoutValue value_of(Layout v) {
  return Swizzled{{}, {}, std::move(v)};
}
LayoutValue value_of(Monomial v) {
  Sum sum;
  TANG_CHECK(sum.add({std::move(v), ""}), "a sum of one term");
  return sum;
}
LayoutValue value_of(int64_t v) {
  return Sum(v);
}
LayoutValue value_of(bool v) {
  return Answer{v ? "true" : "false"};
}
LayoutValue value_of(Coordinate v) {
  return Answer{to_text(v)};
}
template <class T>
LayoutValue value_of(T v) {
  return v;
}

template <class T>
Result<LayoutValue> lift(Result<T> result) {
  if (!result) return result.refusal();
  return value_of(*std::move(result));
}

template <class T>
std::string list_text(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) {
    text += text.empty() ? "" : ", ";
    if constexpr (std::is_same_v<T, std::string>)
      text += value;
    else
      text += std::to_string(value);
  }
  return "[" + text + "]";
}

// Functions of one and of two layouts.
template <class T, Result<T> (*F)(const Layout&)>
Result<LayoutValue> of_layout(LayoutCall& call) {
  auto a = call.strided(0);
  if (!a) return a.refusal();
  return lift(F(*a));
}
template <Result<bool> (*F)(const Swizzled&)>
Result<LayoutValue> of_swizzled(LayoutCall& call) {
  auto a = call.swizzled(0);
  if (!a) return a.refusal();
  return lift(F(*a));
}
template <class T, Result<T> (*F)(const Layout&, const Layout&)>
Result<LayoutValue> of_two(LayoutCall& call) {
  auto a = call.strided(0), b = call.strided(1);
  if (!a) return a.refusal();
  if (!b) return b.refusal();
  return lift(F(*a, *b));
}
/// A layout and tiles by mode.
template <Result<Layout> (*F)(const Layout&, const Tiler&)>
Result<LayoutValue> of_tiler(LayoutCall& call) {
  auto a = call.strided(0);
  if (!a) return a.refusal();
  auto b = call.tiler(1);
  if (!b) return b.refusal();
  return lift(F(*a, *b));
}
/// The same, where one layout instead of a tiler divides all modes as one.
template <Result<Layout> (*F)(const Layout&, const Tiler&)>
Result<LayoutValue> of_tiler_or_layout(LayoutCall& call) {
  return call.as<Tiler>(1) ? of_tiler<F>(call) : of_two<Layout, logical_divide>(call);
}
/// A layout of powers of two.
Result<F2Layout> f2_argument(LayoutCall& call, size_t i, std::vector<std::string> axes = {}) {
  auto a = call.swizzled(i);
  if (!a) return a.refusal();
  return f2_of(*a, std::move(axes));
}

Result<LayoutValue> run_compose(LayoutCall& call) {
  if (call.count() == 2) return compose_values(call);
  auto a = call.strided(0), b = call.strided(1);
  if (!a) return a.refusal();
  if (!b) return b.refusal();
  auto axes = call.axes(2);
  if (!axes) return axes.refusal();
  return lift(compose_coordinates(*a, *b, *axes));
}

Result<LayoutValue> run_complement(LayoutCall& call) {
  auto a = call.strided(0);
  if (!a) return a.refusal();
  if (call.count() == 2) {
    auto target = call.monomial(1);
    if (!target) return target.refusal();
    return lift(complement(*a, *target));
  }
  auto reached = cosize(*a);
  if (!reached) return reached.refusal();
  auto target = reached->monomial();
  if (!target) return refuse("the cosize {} is no product", to_text(*reached));
  return lift(complement(*a, *target));
}

Result<LayoutValue> run_swizzle(LayoutCall& call) {
  if (!call.as<Swizzle>(0)) return refuse("the first argument is a swizzle, `Sw<B,M,S>`");
  return compose_values(call);
}

Result<LayoutValue> run_recast(LayoutCall& call) {
  auto from = call.number(1), to = call.number(2);
  if (!from) return from.refusal();
  if (!to) return to.refusal();
  if (const auto* swizzle = call.as<Swizzle>(0)) return lift(recast(*swizzle, *from, *to));
  auto a = call.swizzled(0);
  if (!a) return a.refusal();
  return lift(recast(*a, *from, *to));
}

Result<LayoutValue> run_reshape(LayoutCall& call) {
  auto a = call.strided(0);
  if (!a) return a.refusal();
  auto shape = call.shape(1);
  if (!shape) return shape.refusal();
  return lift(reshape(*a, *shape));
}

Result<LayoutValue> run_slice(LayoutCall& call) {
  auto a = call.swizzled(0);
  if (!a) return a.refusal();
  auto at = call.coordinate(1);
  if (!at) return at.refusal();
  return lift(slice(*a, *at));
}

Result<Sum> value_at(LayoutCall& call, size_t i) {
  if (const auto* swizzle = call.as<Swizzle>(0)) {
    auto address = call.number(i);
    if (!address) return address.refusal();
    return Sum((*swizzle)(*address));
  }
  auto a = call.swizzled(0);
  if (!a) return a.refusal();
  auto at = call.coordinate(i);
  if (!at) return at.refusal();
  return evaluate(*a, *at);
}

Result<LayoutValue> run_eval(LayoutCall& call) {
  std::vector<std::string> values;
  for (size_t i = 1; i < call.count(); ++i) {
    auto value = value_at(call, i);
    if (!value) return value.refusal();
    if (call.count() == 2) return LayoutValue(*value);
    values.push_back(to_text(*value));
  }
  return LayoutValue(Answer{list_text(values)});
}

Result<LayoutValue> run_coordinate(LayoutCall& call) {
  auto a = call.swizzled(0);
  if (!a) return a.refusal();
  auto index = call.number(1);
  if (!index) return index.refusal();
  return lift(coordinate_of(a->layout, *index));
}

Result<LayoutValue> run_image(LayoutCall& call) {
  auto a = call.swizzled(0);
  if (!a) return a.refusal();
  if (auto values = image(*a, longest_list)) return LayoutValue(Answer{list_text(*values)});
  auto count = size(a->layout);
  if (!count) return count.refusal();
  if (!count->is_constant()) return refuse("the size {} has symbols", to_text(*count));
  if (count->factor > longest_list)
    return refuse("the layout has {} elements, and lists end at {}", count->factor, longest_list);
  std::vector<std::string> texts;
  for (int64_t i = 0; i < count->factor; ++i) {
    auto value = evaluate(*a, Coordinate::leaf(i));
    if (!value) return value.refusal();
    texts.push_back(to_text(*value));
  }
  return LayoutValue(Answer{list_text(texts)});
}

Result<LayoutValue> run_size(LayoutCall& call) {
  auto a = call.swizzled(0);
  if (!a) return a.refusal();
  return lift(size(a->layout));
}

Result<LayoutValue> run_cosize(LayoutCall& call) {
  auto a = call.swizzled(0);
  if (!a) return a.refusal();
  if (a->swizzle.is_identity()) {
    auto reached = cosize(a->layout);
    if (!reached) return reached.refusal();
    if (!reached->add(a->offset)) return refuse("the values leave 64 bits");
    return LayoutValue(*reached);
  }
  auto values = image(*a);
  if (!values) return values.refusal();
  return LayoutValue(Sum(*std::max_element(values->begin(), values->end()) + 1));
}

Result<LayoutValue> run_same(LayoutCall& call) {
  auto a = call.swizzled(0), b = call.swizzled(1);
  if (!a) return a.refusal();
  if (!b) return b.refusal();
  return lift(is_same(*a, *b));
}

Result<LayoutValue> run_compact(LayoutCall& call) {
  auto shape = call.shape(0);
  if (!shape) return shape.refusal();
  return lift(compact(*shape));
}

/// `[[2@k, 4@k], [1@m]]`: a list for each mode.
Result<LayoutValue> run_bits(LayoutCall& call) {
  auto f2 = f2_argument(call, 0);
  if (!f2) return f2.refusal();
  auto text_of = [&](uint64_t value) {
    Sum sum;
    uint64_t mask = (uint64_t{1} << f2->axis_bits()) - 1;
    for (size_t axis = 0; axis < f2->axes.size(); ++axis) {
      auto part = static_cast<int64_t>(value >> axis * static_cast<size_t>(f2->axis_bits()) & mask);
      TANG_CHECK(sum.add({Monomial::constant(part), part ? f2->axes[axis] : ""}), "bits fit");
    }
    return to_text(sum);
  };
  std::vector<std::string> modes;
  size_t bit = 0;
  for (int count : f2->domain) {
    std::vector<std::string> columns;
    for (int i = 0; i < count; ++i) columns.push_back(text_of(f2->columns[bit++]));
    modes.push_back(list_text(columns));
  }
  std::string offset = f2->offset ? text_of(f2->offset) + " ^ " : "";
  return LayoutValue(Answer{offset + list_text(modes)});
}

Result<LayoutValue> run_conversion(LayoutCall& call) {
  auto a = call.swizzled(0), b = call.swizzled(1);
  if (!a) return a.refusal();
  if (!b) return b.refusal();
  std::vector<std::string> axes = bases(a->layout);
  for (const std::string& axis : bases(b->layout))
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
  auto from = f2_of(*a, axes), to = f2_of(*b, axes);
  if (!from) return from.refusal();
  if (!to) return to.refusal();
  auto found = conversion(*from, *to);
  if (!found) return found.refusal();
  return LayoutValue(Answer{std::string(name(found->exchange))});
}

Result<LayoutValue> run_ldmatrix(LayoutCall& call) {
  auto f2 = f2_argument(call, 0);
  if (!f2) return f2.refusal();
  return LayoutValue(Answer{loads_matrices(*f2)              ? "plain"
                            : loads_transposed_matrices(*f2) ? "transposed"
                                                             : "none"});
}

Result<LayoutValue> run_banks(LayoutCall& call) {
  auto a = call.swizzled(0);
  if (!a) return a.refusal();
  auto bytes = call.number(1);
  if (!bytes) return bytes.refusal();
  if (auto f2 = f2_of(*a)) return lift(bank_passes(*f2, *bytes));
  auto addresses = image(*a);
  if (!addresses) return addresses.refusal();
  return lift(bank_passes(*addresses, *bytes));
}

constexpr LayoutFunction functions[] = {
    {"coalesce", "L", "the fewest flat modes of the same function", 1, 1,
     of_layout<Layout, coalesce>},
    {"coalesce_modes", "L", "the same for each mode of the top level", 1, 1,
     of_layout<Layout, coalesce_modes>},
    {"compose", "A, B[, axis...]", "A(B(c)); B a layout, a tiler, or coordinates along axes", 2,
     any_number, run_compose},
    {"complement", "L[, target]", "what fills the gaps of L up to a target", 1, 2, run_complement},
    {"right_inverse", "L", "the longest R with L(R(k)) = k", 1, 1,
     of_layout<Layout, right_inverse>},
    {"left_inverse", "L", "R with R(L(i)) = i", 1, 1, of_layout<Layout, left_inverse>},
    {"logical_divide", "L, tile", "(tile, rest), or so for each mode of a tiler", 2, 2,
     of_tiler_or_layout<logical_divide>},
    {"zipped_divide", "L, tile", "((tiles...), (rests...))", 2, 2,
     of_tiler_or_layout<zipped_divide>},
    {"tile", "L, tile", "((rests...), (tiles...)), tiles outside", 2, 2, of_tiler<tile>},
    {"logical_product", "block, arrangement", "copies of a block, arranged", 2, 2,
     of_two<Layout, logical_product>},
    {"blocked_product", "block, arrangement", "the same by mode, elements of a block side by side",
     2, 2, of_two<Layout, blocked_product>},
    {"raked_product", "block, arrangement", "the same by mode, copies of an element side by side",
     2, 2, of_two<Layout, raked_product>},
    {"swizzle", "Sw<B,M,S>, L", "the swizzle after the layout", 2, 2, run_swizzle},
    {"recast", "L, from bits, to bits", "the same bytes as elements of another width", 3, 3,
     run_recast},
    {"reshape", "L, shape", "the same function in another shape", 2, 2, run_reshape},
    {"slice", "L, coordinate", "what a coordinate with `_` leaves", 2, 2, run_slice},
    {"max_common_vector", "A, B", "elements that a copy moves at once", 2, 2,
     of_two<Monomial, max_common_vector>},
    {"eval", "L, coordinate...", "the value at each coordinate", 2, any_number, run_eval},
    {"coordinate", "L, index", "the coordinate of an index", 2, 2, run_coordinate},
    {"image", "L", "all values", 1, 1, run_image},
    {"size", "L", "the number of coordinates", 1, 1, run_size},
    {"cosize", "L", "the largest value plus 1", 1, 1, run_cosize},
    {"injective", "L", "whether no value comes twice", 1, 1, of_swizzled<is_injective>},
    {"bijective", "L", "whether 0 .. size-1 come once each", 1, 1, of_swizzled<is_bijective>},
    {"same", "A, B", "whether two layouts are the same function", 2, 2, run_same},
    {"compact", "shape", "the layout whose index is its value", 1, 1, run_compact},
    {"bits", "L", "the value of each bit of the index (powers of two)", 1, 1, run_bits},
    {"conversion", "from, to",
     "none, registers, selects or shuffles between two (lane, register) layouts", 2, 2,
     run_conversion},
    {"ldmatrix", "L", "whether (lane, register) loads 8x8 matrices: plain, transposed or none", 1,
     1, run_ldmatrix},
    {"banks", "L, bytes", "passes of shared memory, for bytes a lane at address L(lane)", 2, 2,
     run_banks},
};

} // namespace

Result<LayoutValue> compose_values(LayoutCall& call) {
  if (const auto* swizzle = call.as<Swizzle>(0)) {
    auto b = call.swizzled(1);
    if (!b) return b.refusal();
    return lift(compose(*swizzle, *b));
  }
  if (call.as<Tiler>(1)) return of_tiler<compose>(call);
  auto a = call.swizzled(0);
  if (!a) return a.refusal();
  auto b = call.strided(1);
  if (!b) return b.refusal();
  return lift(compose(*a, *b));
}

std::span<const LayoutFunction> layout_functions() {
  return functions;
}

const LayoutFunction* layout_function_named(std::string_view name) {
  for (const LayoutFunction& function : functions)
    if (function.name == name) return &function;
  return nullptr;
}

} // namespace tang::driver

#include "lower/accumulate.h"
#include "base/check.h"
#include "base/checked.h"
#include "graph/contraction.h"

namespace tang::lower {

using graph::Axis;
using graph::Monoid;
using graph::Op;
using graph::Scalar;
using kernel::LoopKind;

Accumulator::Accumulator(Terms& terms, graph::MonoidId monoid, const std::string& name,
                         std::vector<Type> types)
    : terms_(terms), monoid_(monoid), types_(std::move(types)) {
  const Monoid& m = this->monoid();
  for (uint32_t f = 0; f < m.fields.size(); ++f) {
    std::string field = m.fields[f].name.empty() ? name : name + "_" + m.fields[f].name;
    fields_.push_back(terms.builder().registers(field, types_[f], shape_of(f)));
  }
}

std::vector<int64_t> Accumulator::shape_of(uint32_t field) const {
  std::vector<int64_t> shape;
  for (const Axis& axis : monoid().fields[field].axes)
    shape.push_back(*terms_.builder().graph().exprs.as_integer(axis.extent));
  return shape;
}

/// True when the new state of an indexed field at one place needs, of the two old states, that
/// place and scalar fields only, and no other field needs it: then it is replaced place by place.
bool Accumulator::is_pointwise(uint32_t field) const {
  const Monoid& m = monoid();
  const auto& store = terms_.builder().graph().exprs;
  const auto& axes = m.fields[field].axes;
  if (axes.empty() || m.form != Monoid::Form::expressions) return false;
  for (uint32_t f = 0; f < m.fields.size(); ++f)
    for (ExprId id : graph::reachable(store, {&m.combine[f], 1})) {
      const graph::Expr& e = store[id];
      if (e.op == Op::fold && f == field) return false;
      if (e.op != Op::lhs && e.op != Op::rhs) continue;
      if (f != field && e.ref == field) return false;
      if (f == field && e.ref != field && !e.operands.empty()) return false;
      if (f != field || e.ref != field) continue;
      for (size_t k = 0; k < axes.size(); ++k) {
        const graph::Expr& place = store[e.operands[k]];
        if (place.op != Op::index || place.ref != axes[k].index.value) return false;
      }
    }
  return true;
}

const Monoid& Accumulator::monoid() const {
  return terms_.builder().graph()[monoid_];
}

/// Loops over the places of a field (none for a scalar field).
template <class F>
void Accumulator::over_field(uint32_t field, F&& inside, bool bind) {
  const auto& axes = monoid().fields[field].axes;
  auto& b = terms_.builder();
  std::vector<ValueId> places;
  auto nest = [&](auto&& self, size_t level) -> void {
    if (level == axes.size()) return inside(places);
    int64_t extent = *b.graph().exprs.as_integer(axes[level].extent);
    b.loop(axes[level].name, extent, LoopKind::unrolled, [&](ValueId index) {
      terms_.scope([&] {
        if (bind) terms_.bind(axes[level], index);
        places.push_back(index);
        self(self, level + 1);
        places.pop_back();
      });
    });
  };
  nest(nest, 0);
}

/// The same with the field's own axes bound, as the monoid's identity and combine name them.
template <class F>
void Accumulator::over_own_axes(uint32_t field, F&& inside) {
  terms_.isolate([&] { over_field(field, inside, true); });
}

void Accumulator::init() {
  for (uint32_t f = 0; f < fields_.size(); ++f)
    over_own_axes(f, [&](const std::vector<ValueId>& places) {
      ValueId identity = terms_.convert(terms_.lower(monoid().fields[f].identity), types_[f]);
      terms_.builder().store({fields_[f], places}, identity);
    });
}

ValueId Accumulator::value(uint32_t field, const std::vector<ValueId>& places) {
  return terms_.builder().element(fields_[field], places);
}

Terms::State Accumulator::state() {
  return [this](Op op, uint32_t field, const std::vector<ValueId>& places) {
    TANG_CHECK(op == Op::acc, "`{}` in a result", graph::info(op).name);
    return value(field, places);
  };
}

void Accumulator::combine(std::span<const ExprId> body,
                          std::span<const std::vector<Axis>> field_axes, ExprId filter) {
  auto& b = terms_.builder();
  const Monoid& m = monoid();
  if (filter && b.graph().exprs.as_boolean(filter) == true) filter = {};
  bool indexed =
      m.form == Monoid::Form::expressions &&
      std::any_of(m.fields.begin(), m.fields.end(), [](const auto& f) { return !f.axes.empty(); });
  if (!indexed) {
    std::vector<ExprId> roots(body.begin(), body.end());
    if (filter) roots.push_back(filter);
    // The filter itself is needed always; what it excludes is loaded only where it holds.
    std::vector<ValueId> values;
    ValueId condition;
    if (filter) condition = b.let("c", terms_.lower(filter));
    values = terms_.lower(body, filter);
    for (size_t f = 0; f < values.size(); ++f) values[f] = terms_.convert(values[f], types_[f]);
    if (m.form == Monoid::Form::topk) return insert(values[0], values[1], condition);
    merge([&](Op, uint32_t field, const std::vector<ValueId>&) { return values[field]; },
          condition);
    return;
  }
  ValueId condition;
  if (filter) condition = b.let("c", terms_.lower(filter));
  b.when(condition, [&] { terms_.scope([&] { combine_indexed(body, field_axes); }); });
}

/// What all places of a field share is computed before the loops over them. The element of a field
/// that is combined place by place is computed where it is combined; another indexed element is a
/// small tensor of its own.
void Accumulator::combine_indexed(std::span<const ExprId> body,
                                  std::span<const std::vector<Axis>> field_axes) {
  auto& b = terms_.builder();
  const Monoid& m = monoid();
  terms_.hoist(body, {}, true);
  auto at_places = [&](uint32_t f, const std::vector<ValueId>& places) {
    for (size_t i = 0; i < places.size(); ++i) terms_.bind(field_axes[f][i], places[i]);
    return terms_.convert(terms_.lower(body[f]), types_[f]);
  };
  std::vector<ValueId> scalars(m.fields.size());
  std::vector<kernel::TensorId> tensors(m.fields.size());
  for (uint32_t f = 0; f < m.fields.size(); ++f) {
    if (m.fields[f].axes.empty()) {
      scalars[f] = b.let("e_" + m.fields[f].name, at_places(f, {}));
    } else if (!is_pointwise(f)) {
      tensors[f] = b.registers("e_" + m.fields[f].name, types_[f], shape_of(f));
      over_field(f, [&](const std::vector<ValueId>& places) {
        terms_.scope([&] { b.store({tensors[f], places}, at_places(f, places)); });
      });
    }
  }
  merge([&](Op, uint32_t field, const std::vector<ValueId>& places) {
    if (scalars[field]) return scalars[field];
    if (tensors[field]) return b.element(tensors[field], places);
    ValueId element;
    terms_.outside([&] { element = at_places(field, places); });
    return element;
  });
}

void Accumulator::merge(const Terms::State& other, ValueId condition) {
  TANG_CHECK(monoid().form == Monoid::Form::expressions, "merge of `{}`", monoid().name);
  terms_.isolate([&] {
    auto outer =
        terms_.exchange_state([&](Op op, uint32_t field, const std::vector<ValueId>& places) {
          return op == Op::lhs ? value(field, places) : other(op, field, places);
        });
    merge_fields(condition);
    terms_.exchange_state(std::move(outer));
  });
}

/// All fields are computed from the old state before any is replaced; those that no other field
/// needs are replaced place by place. What several fields or places share is computed once.
void Accumulator::merge_fields(ValueId condition) {
  auto& b = terms_.builder();
  const Monoid& m = monoid();
  auto combined = [&](uint32_t f) { return terms_.convert(terms_.lower(m.combine[f]), types_[f]); };
  if (m.fields.size() == 1 && m.fields[0].axes.empty()) {
    ValueId next = combined(0);
    if (condition) next = terms_.values().select(condition, next, value(0, {}));
    b.store({fields_[0], {}}, next);
    return;
  }
  terms_.hoist(m.combine, {}, true);
  std::vector<ValueId> scalars(m.fields.size());
  std::vector<kernel::TensorId> tensors(m.fields.size());
  for (uint32_t f = 0; f < m.fields.size(); ++f) {
    if (m.fields[f].axes.empty()) {
      ValueId next = combined(f);
      if (condition) next = terms_.values().select(condition, next, value(f, {}));
      scalars[f] = b.let("n", next);
    } else if (!is_pointwise(f)) {
      tensors[f] = b.registers("n_" + m.fields[f].name, types_[f], shape_of(f));
      over_field(
          f,
          [&](const std::vector<ValueId>& places) {
            b.store({tensors[f], places}, combined(f));
          },
          true);
    }
  }
  for (uint32_t f = 0; f < m.fields.size(); ++f) {
    if (scalars[f]) continue;
    b.when(condition, [&] {
      over_field(
          f,
          [&](const std::vector<ValueId>& places) {
            b.store({fields_[f], places}, tensors[f] ? b.element(tensors[f], places) : combined(f));
          },
          true);
    });
  }
  for (uint32_t f = 0; f < m.fields.size(); ++f)
    if (scalars[f]) b.store({fields_[f], {}}, scalars[f]);
}

void Accumulator::only_where(ValueId condition, const std::function<void()>& inside) {
  if (!condition) return inside();
  auto& b = terms_.builder();
  std::vector<ValueId> before;
  for (uint32_t f = 0; f < fields_.size(); ++f) before.push_back(b.let("b", value(f, {})));
  inside();
  for (uint32_t f = 0; f < fields_.size(); ++f)
    b.store({fields_[f], {}}, terms_.values().select(condition, value(f, {}), before[f]));
}

/// Insertion into the sorted list: value descending, NaN first, then index ascending; an empty
/// place has index -1.
void Accumulator::insert(ValueId value, ValueId index, ValueId condition) {
  auto& b = terms_.builder();
  auto& v = terms_.values();
  int64_t k = monoid().k;
  if (k == 0) return;
  auto beats = [&](ValueId av, ValueId ai, ValueId bv, ValueId bi) {
    ValueId empty = v.less(bi, v.integer(0, types_[1]));
    ValueId greater = v.less(bv, av), tie = v.binary(Op::eq, av, bv);
    if (kernel::is_real(types_[0])) {
      ValueId a_nan = v.binary(Op::ne, av, av), b_nan = v.binary(Op::ne, bv, bv);
      greater = v.binary(Op::logical_or, greater,
                         v.binary(Op::logical_and, a_nan, v.unary(Op::logical_not, b_nan)));
      tie = v.binary(Op::logical_or, tie, v.binary(Op::logical_and, a_nan, b_nan));
    }
    ValueId first = v.binary(Op::logical_and, tie, v.less(ai, bi));
    return v.binary(Op::logical_or, empty, v.binary(Op::logical_or, greater, first));
  };
  kernel::TensorId held_value = b.registers("held", types_[0], {}),
                   held_index = b.registers("held_index", types_[1], {});
  value = b.let("v", value), index = b.let("i", index);
  ValueId last = v.integer(k - 1);
  ValueId enters = beats(value, index, this->value(0, {last}), this->value(1, {last}));
  b.when(v.both(condition, enters), [&] {
    b.store({held_value, {}}, value);
    b.store({held_index, {}}, index);
    b.loop("n", v.integer(0), v.integer(k), v.integer(1), LoopKind::serial, [&](ValueId n) {
      ValueId hv = b.let("hv", b.element(held_value)), hi = b.let("hi", b.element(held_index));
      ValueId lv = b.let("lv", this->value(0, {n})), li = b.let("li", this->value(1, {n}));
      ValueId wins = b.let("wins", beats(hv, hi, lv, li));
      b.store({fields_[0], {n}}, v.select(wins, hv, lv));
      b.store({fields_[1], {n}}, v.select(wins, hi, li));
      b.store({held_value, {}}, v.select(wins, lv, hv));
      b.store({held_index, {}}, v.select(wins, li, hi));
    });
  });
}

std::vector<Type> field_types(const graph::Graph& graph, const graph::Comprehension& node,
                              const graph::Prover& prover, Type real) {
  const Monoid& m = graph[node.reduction->monoid];
  std::vector<Type> types;
  for (size_t f = 0; f < m.fields.size(); ++f) {
    if (m.fields[f].scalar == Scalar::real)
      types.push_back(real);
    else if (m.fields[f].scalar == Scalar::boolean)
      types.push_back(Type::boolean);
    else
      types.push_back(graph::fits_i32(graph, node, f, prover) ? Type::i32 : Type::i64);
  }
  return types;
}

} // namespace tang::lower

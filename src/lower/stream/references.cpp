#include "lower/stream/references.h"
#include <algorithm>
#include <numbers>

namespace tang::lower {

using graph::Op;

const References::Reference& References::add(uint32_t field, const std::string& name) {
  const graph::Graph& g = b_.graph();
  Op op = g.exprs[g[r_.monoid].combine[field]].op;
  auto [term, factor] = constant_factor(g.exprs, r_.body[field]);
  if (factor <= 0) term = r_.body[field], factor = 1;
  references_.push_back({field, op, term, factor, lanes_.per_row(name),
                         lanes_.per_row(name + "_next"),
                         lanes_.per_element(name + "_e", column_tiles_)});
  return references_.back();
}

size_t References::scale_of(const Fall& fall) {
  for (size_t i = 0; i < scales_.size(); ++i)
    if (scales_[i].fall == fall) return i;
  size_t n = 0;
  while (references_[n].field != fall.reference) ++n;
  double rate = references_[n].factor * (fall.power == Op::exp ? std::numbers::log2e : 1);
  scales_.push_back({fall, n, rate, lanes_.per_row("scale"), lanes_.per_row("level")});
  return scales_.size() - 1;
}

ValueId References::identity(const Reference& r) {
  return terms_.lower(b_.graph()[r_.monoid].fields[r.field].identity);
}

ValueId References::kept(const Reference& r, ValueId value) {
  auto& v = b_.values();
  return r.factor == 1 ? value : v.binary(Op::mul, value, v.real(r.factor, Type::f32));
}

void References::gather(const Row& row) {
  for (const Reference& r : references_)
    lanes_.across(r.next, row,
                  [&](ValueId a, ValueId b) { return b_.values().binary(r.op, a, b); });
  for (const Scale& s : scales_) gather(s, row);
}

void References::gather(const Scale& s, const Row& row) {
  auto& v = b_.values();
  const Reference& r = references_[s.reference];
  ValueId before = b_.let("before", lanes_.at(r.state, row)),
          after = b_.let("after", lanes_.at(r.next, row));
  ValueId level = b_.let("level", v.binary(Op::mul, after, v.real(s.rate, Type::f32)));
  ValueId distance = v.binary(Op::sub, v.binary(Op::mul, before, v.real(s.rate, Type::f32)), level);
  // Sides at the same infinity add up.
  lanes_.set(s.factor, row,
             v.select(v.binary(Op::le, after, before), v.real(1, Type::f32),
                      terms_.power_of_two(distance)));
  lanes_.set(s.level, row, level);
}

void References::settle(const Row& row) {
  for (const Reference& r : references_) lanes_.set(r.state, row, lanes_.at(r.next, row));
}

ValueId References::weight(ExprId term, const std::function<ValueId(const Reference&)>& left,
                           const std::function<ValueId(const Reference&)>& right) {
  ValueId out;
  terms_.isolate([&] {
    auto outer = terms_.exchange_state([&](Op op, uint32_t field, const std::vector<ValueId>&) {
      const Reference& r = *std::find_if(references_.begin(), references_.end(),
                                         [&](const Reference& x) { return x.field == field; });
      return op == Op::lhs ? left(r) : right(r);
    });
    out = terms_.lower(term);
    terms_.exchange_state(std::move(outer));
  });
  return out;
}

ValueId References::fallen(const Scale& s, ValueId own, const Row& row, bool finite) {
  auto& v = b_.values();
  const Reference& r = references_[s.reference];
  ValueId rate = v.real(s.rate, Type::f32);
  if (finite)
    return terms_.power_of_two(
        v.binary(Op::sub, v.binary(Op::mul, own, rate), lanes_.at(s.level, row)));
  ValueId state = lanes_.at(r.state, row);
  ValueId power = terms_.power_of_two(v.binary(Op::mul, v.binary(Op::sub, own, state), rate));
  return v.select(v.binary(Op::le, state, own), v.real(1, Type::f32), power);
}

ValueId References::moved(const Scale& s) {
  auto& v = b_.values();
  return some_row("moved", [&](const Row& row) {
    return v.binary(Op::ne, lanes_.at(s.factor, row), v.real(1, Type::f32));
  });
}

ValueId References::some_infinite() {
  auto& v = b_.values();
  if (scales_.empty()) return {};
  return some_row("infinite", [&](const Row& row) {
    ValueId one;
    for (const Scale& s : scales_) {
      ValueId at = lanes_.at(s.level, row); // NaN as well
      ValueId ends = v.binary(Op::ne, v.binary(Op::sub, at, at), v.real(0, Type::f32));
      one = one ? v.binary(Op::logical_or, one, ends) : ends;
    }
    return one;
  });
}

/// Whether something holds in one of the thread's rows.
ValueId References::some_row(const std::string& name,
                             const std::function<ValueId(const Row&)>& holds) {
  auto& v = b_.values();
  kernel::TensorId any = b_.registers(name, Type::boolean, {});
  b_.store({any, {}}, v.boolean(false));
  lanes_.over_rows([&](const Row& row) {
    b_.store({any, {}}, v.binary(Op::logical_or, b_.element(any), holds(row)));
  });
  return b_.let(name, b_.element(any));
}

} // namespace tang::lower

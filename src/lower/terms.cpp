#include "lower/terms.h"
#include "base/check.h"
#include "lower/accumulate.h"
#include "lower/needs.h"
#include "lower/signature.h"
#include "lower/vectors.h"
#include <algorithm>
#include <cmath>
#include <numbers>

namespace tang::lower {

using graph::Expr;
using graph::ExprStore;
using graph::Op;
using graph::Scalar;

namespace {

/// Numbers of which neither the f32 nor the reciprocal's f32 is near an end of the range.
bool has_reciprocal(double value) {
  return std::fabs(value) >= 0x1p-100 && std::fabs(value) <= 0x1p100;
}

} // namespace

std::pair<ExprId, double> constant_factor(const ExprStore& store, ExprId term) {
  const Expr& e = store[term];
  if (e.op != Op::mul && e.op != Op::div) return {term, 1};
  const Expr &a = store[e.operands[0]], &b = store[e.operands[1]];
  if (b.op == Op::literal_real && has_reciprocal(b.real))
    return {e.operands[0], e.op == Op::mul ? b.real : 1 / b.real};
  if (e.op == Op::mul && a.op == Op::literal_real && has_reciprocal(a.real))
    return {e.operands[1], a.real};
  return {term, 1};
}

Terms::Terms(Builder& builder, Type real)
    : builder_(builder), real_(real), here_(builder.graph()) {}

void Terms::bind(graph::IndexId index, ValueId value) {
  auto at = here_.indices.find(index);
  here_.index_trail.emplace_back(index, at == here_.indices.end() ? std::nullopt
                                                                  : std::optional(at->second));
  here_.indices[index] = value;
}

void Terms::bind(const graph::Axis& axis, ValueId value) {
  bind(axis.index, value);
  here_.prover->add_axis(axis);
}

void Terms::leave(size_t terms, size_t indices, size_t facts) {
  for (; here_.trail.size() > terms; here_.trail.pop_back()) here_.done.erase(here_.trail.back());
  for (; here_.index_trail.size() > indices; here_.index_trail.pop_back()) {
    auto& [index, before] = here_.index_trail.back();
    if (before)
      here_.indices[index] = *before;
    else
      here_.indices.erase(index);
  }
  here_.prover->rewind(facts);
}

void Terms::remember(ExprId id, ValueId value) {
  if (here_.done.insert_or_assign(id, value).second) here_.trail.push_back(id);
}

std::vector<ValueId> Terms::lower(std::span<const ExprId> roots, ExprId path) {
  const ExprStore& store = builder_.graph().exprs;
  if (path && store.as_boolean(path) == true) path = {};
  Needs needs(store, roots, path);
  loosened_.insert(needs.loosened.begin(), needs.loosened.end());
  std::vector<ExprId> all(roots.begin(), roots.end());
  size_t before = here_.trail.size();
  emit_terms(all, needs);
  std::vector<ValueId> values;
  for (ExprId root : roots) values.push_back(here_.done.at(root));
  // A load under a path is no value elsewhere, and a state changes.
  std::vector<ExprId> kept;
  for (size_t i = before; i < here_.trail.size(); ++i) {
    ExprId id = here_.trail[i];
    if (store[id].has_state || (store[id].has_read && !needs.always(id)))
      here_.done.erase(id);
    else
      kept.push_back(id);
  }
  here_.trail.resize(before);
  here_.trail.insert(here_.trail.end(), kept.begin(), kept.end());
  return values;
}

std::optional<ExprId> Terms::invariant_divisor(const Expr& e) const {
  if (e.op != Op::div || !reciprocal_index_) return std::nullopt;
  auto moves = [&](ExprId id) {
    const auto& free = builder_.graph().exprs[id].free;
    return std::binary_search(free.begin(), free.end(), reciprocal_index_);
  };
  if (!moves(e.operands[0]) || moves(e.operands[1])) return std::nullopt;
  return e.operands[1];
}

void Terms::hoist(std::span<const ExprId> roots, ExprId path, bool states) {
  const ExprStore& store = builder_.graph().exprs;
  Needs needs(store, roots, path);
  std::vector<ExprId> all(roots.begin(), roots.end());
  if (path) all.push_back(path);
  auto order = reachable_here(store, all);
  std::unordered_set<ExprId> ready, held; // held: from registers alone, whatever path needs it
  for (ExprId id : order) {
    const Expr& e = store[id];
    bool known = std::all_of(e.free.begin(), e.free.end(),
                             [&](graph::IndexId i) { return here_.indices.contains(i); });
    bool state =
        !states && (e.op == Op::acc || e.op == Op::lhs || e.op == Op::rhs || e.op == Op::fold);
    auto here = direct_operands(e);
    bool operands =
        std::all_of(here.begin(), here.end(), [&](ExprId o) { return ready.contains(o); });
    if (!known || state || !operands) continue;
    bool registers = e.op == Op::read ? override_ && override_(id)
                                      : std::all_of(e.operands.begin(), e.operands.end(),
                                                    [&](ExprId o) { return held.contains(o); });
    if (registers) held.insert(id);
    if (!registers && e.has_read && !needs.always(id)) continue;
    if (e.op == Op::read && !registers && !e.guarded && !builder_.is_step(graph::TensorId(e.ref))) {
      // What held only inside the loop does not prove the read out here.
      const graph::Tensor& t = builder_.graph()[graph::TensorId(e.ref)];
      bool inside = true;
      graph::Prover known = whatever_data_hold();
      for (size_t i = 0; i < t.shape.size() && inside; ++i) {
        auto place = graph::polynomial_of(store, e.operands[i]);
        inside = place && known.nonnegative(*place) && known.less(e.operands[i], t.shape[i]);
      }
      if (!inside) continue;
    }
    ready.insert(id);
  }
  // Only the largest terms: what a term that stays behind uses, or a root.
  std::unordered_set<ExprId> wanted;
  for (ExprId id : order)
    if (!ready.contains(id))
      for (ExprId operand : direct_operands(store[id]))
        if (ready.contains(operand)) wanted.insert(operand);
  for (ExprId root : roots)
    if (ready.contains(root)) wanted.insert(root);
  std::vector<ExprId> list;
  for (ExprId id : wanted)
    if (!store.is_literal(id) && !here_.done.contains(id)) list.push_back(id);
  order_by_appearance(store, all, list);
  auto values = lower(list);
  for (size_t i = 0; i < list.size(); ++i) {
    // An index sum is as cheap at its use as by name.
    bool address = store[list[i]].scalar == Scalar::integer && !store[list[i]].has_read;
    if (!address) remember(list[i], builder_.let("t", values[i]));
  }
  for (ExprId id : order) {
    auto divisor = ready.contains(id) ? std::nullopt : invariant_divisor(store[id]);
    if (!divisor || !ready.contains(*divisor) || reciprocals_.contains(*divisor)) continue;
    reciprocals_[*divisor] = reciprocal_of(lower(*divisor));
  }
}

Terms::Reciprocal Terms::reciprocal_of(ValueId divisor) {
  // A divisor so small that its reciprocal overflows is scaled together with the dividend.
  auto& v = builder_.values();
  int scale = real_ == Type::f64 ? 1000 : 100;
  ValueId tiny = v.less(v.unary(Op::abs, divisor), v.real(std::ldexp(1.0, -scale), real_));
  ValueId factor =
      builder_.let("s", v.select(tiny, v.real(std::ldexp(1.0, scale), real_), v.real(1, real_)));
  ValueId reciprocal = v.binary(Op::div, v.real(1, real_), v.binary(Op::mul, divisor, factor));
  return {factor, builder_.let("r", reciprocal)};
}

Type Terms::type_of(ExprId id) const {
  const Expr& e = builder_.graph().exprs[id];
  switch (e.scalar) {
  case Scalar::real: return real_;
  case Scalar::boolean: return Type::boolean;
  case Scalar::integer: break;
  }
  if (!e.has_read) return Type::index;
  return graph::range_of(graph::ElemType::i32).contains(here_.prover->range(id)) ? Type::i32
                                                                                 : Type::i64;
}

void Terms::emit_terms(std::span<const ExprId> roots, Needs& needs) {
  const ExprStore& store = builder_.graph().exprs;
  auto& v = values();
  // What is made next, behind what it waits for: the value of a term, or whether it is needed.
  using Kind = Literal::Kind;
  std::unordered_map<ExprId, ValueId> needed;
  std::vector<Literal> stack;
  for (ExprId root : roots) stack.push_back({root, Kind::holds});
  auto made = [&](Kind kind) -> auto& {
    return kind == Kind::needed ? needed : here_.done;
  };
  auto any_path = [&](const std::vector<Path>& paths) {
    ValueId any;
    for (const Path& path : paths) {
      ValueId all;
      for (const auto& [term, kind] : path) {
        ValueId value = made(kind).at(term);
        all = v.both(all, kind == Kind::fails ? v.unary(Op::logical_not, value) : value);
      }
      any = any ? v.binary(Op::logical_or, any, all) : all;
    }
    return any;
  };
  while (!stack.empty()) {
    const auto [id, kind] = stack.back();
    bool is_need = kind == Kind::needed;
    if (made(kind).contains(id)) {
      stack.pop_back();
      continue;
    }
    const Expr& e = store[id];
    if (operands_ && !is_need)
      if (auto value = operands_(id)) {
        remember(id, *value);
        continue;
      }
    size_t waiting = stack.size();
    if (!is_need)
      for (ExprId operand : direct_operands(e))
        if (!here_.done.contains(operand)) stack.push_back({operand, Kind::holds});
    bool conditional = is_need || (e.op == Op::read && !needs.always(id));
    if (conditional)
      for (const Path& path : needs.paths[id])
        for (const Literal& literal : path)
          if (!made(literal.kind).contains(literal.term)) stack.push_back(literal);
    if (stack.size() != waiting) continue;
    stack.pop_back();
    ValueId predicate = conditional ? any_path(needs.paths[id]) : ValueId();
    if (is_need) {
      needed[id] = builder_.let("n", predicate);
      continue;
    }
    ValueId value = emit_term(id, predicate);
    bool address = e.scalar == Scalar::integer && !e.has_read;
    if (needs.uses[id] > 1 && !address && e.op != Op::read)
      value = builder_.let(e.scalar == Scalar::boolean ? "c" : "t", value);
    remember(id, value);
  }
}

ValueId Terms::at(ExprId id, Type type) {
  return values().convert(type, here_.done.at(id));
}

ValueId Terms::emit_term(ExprId id, ValueId predicate) {
  const Expr& e = builder_.graph().exprs[id];
  auto& v = values();
  switch (e.op) {
  case Op::literal_int: return v.integer(e.integer);
  case Op::literal_real: return v.real(e.real, real_);
  case Op::literal_bool: return v.boolean(e.integer != 0);
  case Op::dim: return builder_.dim(graph::DimId(e.ref));
  case Op::index: {
    auto at = here_.indices.find(graph::IndexId(e.ref));
    TANG_CHECK(at != here_.indices.end(), "index {} has no value in kernel `{}`", e.ref,
               builder_.kernel().name);
    return at->second;
  }
  case Op::read: return emit_read(e, id, predicate);
  case Op::acc:
  case Op::lhs:
  case Op::rhs: {
    TANG_CHECK(state_ != nullptr, "a state outside a reduction in kernel `{}`",
               builder_.kernel().name);
    std::vector<ValueId> places;
    for (ExprId place : e.operands) places.push_back(at(place, Type::index));
    return state_(e.op, e.ref, places);
  }
  case Op::fold: return emit_fold(e);
  case Op::to_real: {
    ValueId a = here_.done.at(e.operands[0]);
    return v.convert(real_, a);
  }
  case Op::cast: {
    ValueId a = here_.done.at(e.operands[0]);
    if (e.scalar == Scalar::real) return v.round(e.to, v.convert(real_, a));
    if (e.scalar == Scalar::boolean) return a;
    return v.round(e.to, v.convert(Type::i64, a));
  }
  default: return operation(e, type_of(id));
  }
}

ValueId Terms::operation(const Expr& e, Type type) {
  const ExprStore& store = builder_.graph().exprs;
  auto& v = values();
  // The machine type in which integer operands meet.
  auto common = [&](std::span<const ExprId> operands) {
    bool all_index = true, small = true;
    for (ExprId id : operands) {
      all_index &= v[here_.done.at(id)].type == Type::index;
      small &= graph::range_of(graph::ElemType::i32).contains(here_.prover->range(id));
    }
    return all_index ? Type::index : small ? Type::i32 : Type::i64;
  };
  std::span<const ExprId> operands(e.operands);
  if (e.op == Op::select) {
    ValueId c = here_.done.at(operands[0]);
    Type t = e.scalar == Scalar::integer ? common(operands.subspan(1)) : type;
    return v.select(c, at(operands[1], t), at(operands[2], t));
  }
  Scalar in = store[operands[0]].scalar;
  Type t = in == Scalar::real ? real_ : in == Scalar::boolean ? Type::boolean : common(operands);
  if (e.scalar == Scalar::integer && t != Type::index && type == Type::i64) t = Type::i64;
  if ((e.op == Op::exp || e.op == Op::exp2) && powers_of_two_)
    return power_of_two(scaled(operands[0], e.op == Op::exp ? std::numbers::log2e : 1));
  if (operands.size() == 1) return v.unary(e.op, at(operands[0], t));
  if (e.op == Op::div)
    if (auto value = quotient(e, t)) return *value;
  return v.binary(e.op, at(operands[0], t), at(operands[1], t));
}

/// A quotient as a product, where that is the same or permitted.
std::optional<ValueId> Terms::quotient(const Expr& e, Type type) {
  auto& v = values();
  const Expr& divisor = builder_.graph().exprs[e.operands[1]];
  if (divisor.op == Op::literal_real && reciprocal_index_ && has_reciprocal(divisor.real))
    return v.binary(Op::mul, at(e.operands[0], type), v.real(1 / divisor.real, type));
  auto invariant = invariant_divisor(e);
  auto r = invariant ? reciprocals_.find(*invariant) : reciprocals_.end();
  if (r == reciprocals_.end()) return std::nullopt;
  return v.binary(Op::mul, v.binary(Op::mul, at(e.operands[0], type), r->second.factor),
                  r->second.reciprocal);
}

void Terms::use_powers_of_two(const atomics::Row* instruction) {
  powers_of_two_ = true;
  if (real_ != Type::f32 || !instruction) return;
  power_ = instruction;
  exponent_ = builder_.registers("power", Type::f32, {});
}

ValueId Terms::power_of_two(ValueId exponent) {
  if (!power_) return values().unary(Op::exp2, exponent);
  kernel::Ref place{exponent_, {}};
  builder_.store(place, exponent);
  builder_.emit({kernel::Atom{power_, {place, place}, {}, {}}});
  return builder_.let("power_of_2", builder_.element(exponent_));
}

ValueId Terms::scaled(ExprId term, double factor) {
  const Expr& e = builder_.graph().exprs[term];
  bool sum = e.op == Op::add || e.op == Op::sub;
  if (!sum || !here_.done.contains(e.operands[0]) || !here_.done.contains(e.operands[1]))
    return scaled_product(term, factor);
  return values().binary(e.op, scaled_product(e.operands[0], factor),
                         scaled_product(e.operands[1], factor));
}

ValueId Terms::scaled_product(ExprId term, double factor) {
  const ExprStore& store = builder_.graph().exprs;
  for (;;) {
    auto [rest, constant] = constant_factor(store, term);
    double more = factor * constant;
    if (rest == term || !here_.done.contains(rest) || !has_reciprocal(more)) break;
    term = rest, factor = more;
  }
  auto& v = values();
  if (store[term].op == Op::literal_real) return v.real(store[term].real * factor, real_);
  return factor == 1 ? at(term, real_) : v.binary(Op::mul, at(term, real_), v.real(factor, real_));
}

std::pair<kernel::TensorId, size_t> Terms::memory_of(const Expr& read) {
  TensorSource source = source_of(builder_.graph(), read);
  return {builder_.param(source), source.places.size()};
}

ValueId Terms::emit_read(const Expr& e, ExprId id, ValueId predicate) {
  graph::TensorId tensor(e.ref);
  auto& v = values();
  if (builder_.is_step(tensor)) return builder_.step(tensor);
  if (override_)
    if (auto value = override_(id))
      // Registers change: what conditions compare is what is used under them.
      return e.scalar == Scalar::integer ? builder_.let(builder_.graph()[tensor].name, *value)
                                         : *value;
  const ExprStore& store = builder_.graph().exprs;
  const graph::Tensor& t = builder_.graph()[tensor];
  auto [param, dropped] = memory_of(e);
  kernel::Ref ref{param, {}};
  ValueId inside;
  bool is_tested = e.guarded || loosened_.contains(id);
  std::optional<graph::Prover> known;
  if (is_tested) known.emplace(whatever_data_hold());
  for (size_t i = dropped; i < t.shape.size(); ++i) {
    ExprId place = e.operands[i];
    ValueId value = here_.done.at(place);
    bool gathered = store[place].has_read && v[value].type != Type::index;
    if (gathered) value = builder_.let("place", value);
    if (is_tested) {
      // Data is compared before it is narrowed to an address.
      Type type = gathered ? Type::i64 : Type::index;
      ValueId p = v.convert(type, value),
              extent = v.convert(type, builder_.kernel()[param].shape[i - dropped]);
      auto polynomial = graph::polynomial_of(store, place);
      if (gathered || !polynomial || !known->nonnegative(*polynomial))
        inside = v.both(inside, v.binary(Op::le, v.integer(0, type), p));
      if (gathered || !known->less(place, t.shape[i])) inside = v.both(inside, v.less(p, extent));
    }
    ref.coordinates.push_back(v.convert(Type::index, value));
  }
  if (inside) inside = builder_.let("in", inside);
  Type type = register_type(t.type);
  ValueId all = v.both(predicate, inside);
  if (all) all = builder_.let("c", all);
  ValueId zero = type == Type::boolean   ? v.boolean(false)
                 : kernel::is_real(type) ? v.real(0, type)
                                         : v.integer(0, type);
  Type wanted = e.scalar == Scalar::real ? real_ : type;
  if (!e.guarded)
    return v.convert(wanted,
                     builder_.load(t.name, type, std::move(ref), all, all ? zero : ValueId{}));
  ExprId otherwise = e.operands.back();
  ValueId other = v.convert(wanted, here_.done.at(otherwise));
  if (!inside)
    return v.convert(wanted,
                     builder_.load(t.name, type, std::move(ref), all, all ? zero : ValueId{}));
  if (store.is_literal(otherwise) && wanted == type)
    return builder_.load(t.name, type, std::move(ref), all, other);
  ValueId loaded = builder_.load(t.name, type, std::move(ref), all, zero);
  return v.select(inside, v.convert(wanted, loaded), other);
}

ValueId Terms::emit_fold(const Expr& e) {
  graph::MonoidId monoid(e.ref);
  Accumulator acc(*this, monoid, "fold",
                  {e.scalar == Scalar::integer ? Type::i64
                   : e.scalar == Scalar::real  ? real_
                                               : Type::boolean});
  acc.init();
  auto& v = values();
  // Loops nest in the order of the bound indices; the innermost combines.
  auto nest = [&](auto&& self, size_t level) -> void {
    if (level == e.bound.size()) {
      ExprId body = e.operands[0];
      acc.combine({&body, 1}, {}, e.operands[1]);
      return;
    }
    ValueId extent = builder_.extent(e.operands[2 + level]);
    builder_.loop("l", v.integer(0), extent, v.integer(1), kernel::LoopKind::serial,
                  [&](ValueId index) {
                    scope([&] {
                      bind(graph::Axis{e.bound[level], e.operands[2 + level], "l", {}, {}}, index);
                      self(self, level + 1);
                    });
                  });
  };
  nest(nest, 0);
  return acc.value(0, {});
}

} // namespace tang::lower

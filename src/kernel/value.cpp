#include "kernel/value.h"
#include "base/check.h"
#include "base/reachable.h"
#include "kernel/interval.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_set>

namespace tang::kernel {
namespace {

IntRange limits(Type type) {
  switch (type) {
  case Type::boolean: return {0, 1};
  case Type::i32: return graph::range_of(ElemType::i32);
  case Type::i64:
  case Type::index:
  case Type::f32:
  case Type::f64: return {};
  }
  return {};
}

IntRange intersect(IntRange a, IntRange b) {
  IntRange r{std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
  return r.lo <= r.hi ? r : b; // an empty one is a value that never comes to be
}

/// Range of an operation on integers; unknown where no rule gives one.
IntRange range_of_operation(const Value& v, const std::vector<IntRange>& ranges) {
  IntRange a = ranges[v.operands.front().value], b = ranges[v.operands.back().value];
  switch (v.op) {
  case Op::add: return add(a, b);
  case Op::sub: return add(a, negate(b));
  case Op::mul: return multiply(a, b);
  case Op::neg: return negate(a);
  case Op::min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
  case Op::max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  case Op::abs:
    if (a.lo >= 0) return a;
    return {std::max<int64_t>(0, negate(a).lo), std::max(a.hi, negate(a).hi)};
  case Op::sign: return {a.lo > 0 ? 1 : a.lo == 0 ? 0 : -1, a.hi < 0 ? -1 : a.hi == 0 ? 0 : 1};
  case Op::floordiv:
    if (b.lo == b.hi && b.lo > 0) return divide(a, b.lo);
    if (b.lo > 0 && a.lo >= 0)
      return {0, a.hi == unbounded_above ? unbounded_above : floordiv(a.hi, b.lo)};
    return {};
  case Op::mod:
    if (b.lo <= 0) return {};
    if (a.lo >= 0 && a.hi < b.lo) return a;
    return {0, b.hi == unbounded_above ? a.lo >= 0 ? a.hi : unbounded_above
               : a.lo >= 0             ? std::min(a.hi, b.hi - 1)
                                       : b.hi - 1};
  case Op::bit_and:
    if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
    if (a.lo >= 0) return {0, a.hi};
    return b.lo >= 0 ? IntRange{0, b.hi} : IntRange{};
  case Op::bit_xor: {
    int64_t most = std::max(a.hi, b.hi);
    if (a.lo < 0 || b.lo < 0 || most >= int64_t{1} << 62) return {};
    return {0, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(most) + 1)) - 1};
  }
  case Op::shr:
    if (b.lo == b.hi && b.lo >= 0 && b.lo < 62) return divide(a, int64_t(1) << b.lo);
    return {};
  case Op::shl:
    if (b.lo == b.hi && b.lo >= 0 && b.lo < 62) return scale(a, int64_t(1) << b.lo);
    return {};
  case Op::select: return join(ranges[v.operands[1].value], b);
  default: return {};
  }
}

/// Range of a value, given the ranges of all values made before it.
IntRange range_of_value(const Value& v, const std::vector<IntRange>& ranges,
                        const std::vector<Var>& vars) {
  if (is_real(v.type)) return {};
  IntRange known;
  switch (v.form) {
  case Form::literal: return {v.integer, v.integer};
  case Form::variable: {
    const Var& var = vars[v.ref];
    known = {var.lo.value_or(unbounded_below), var.hi.value_or(unbounded_above)};
    break;
  }
  case Form::element: break;
  case Form::operation:
    if (v.type != Type::boolean) known = range_of_operation(v, ranges);
    break;
  case Form::convert: known = ranges[v.operands[0].value]; break; // of a real: unknown
  case Form::round: known = intersect(ranges[v.operands[0].value], graph::range_of(v.to)); break;
  }
  return intersect(known, limits(v.type));
}

} // namespace

Type register_type(ElemType type) {
  switch (type) {
  case ElemType::f64: return Type::f64;
  case ElemType::f32:
  case ElemType::f16:
  case ElemType::bf16:
  case ElemType::f8e4m3:
  case ElemType::f8e5m2: return Type::f32;
  case ElemType::i64:
  case ElemType::u32: return Type::i64;
  case ElemType::i32:
  case ElemType::i16:
  case ElemType::i8:
  case ElemType::i4:
  case ElemType::u8:
  case ElemType::u4: return Type::i32;
  case ElemType::boolean: return Type::boolean;
  }
  return Type::f32;
}

std::string_view name(Type type) {
  switch (type) {
  case Type::boolean: return "bool";
  case Type::i32: return "i32";
  case Type::i64: return "i64";
  case Type::index: return "index";
  case Type::f32: return "f32";
  case Type::f64: return "f64";
  }
  return "";
}

bool operator==(const Value& a, const Value& b) {
  return a.form == b.form && a.op == b.op && a.type == b.type && a.to == b.to && a.ref == b.ref &&
         a.integer == b.integer &&
         std::bit_cast<uint64_t>(a.real) == std::bit_cast<uint64_t>(b.real) &&
         a.operands == b.operands;
}

size_t ValueStore::Hash::operator()(const Value& v) const {
  size_t seed = static_cast<size_t>(v.form) * 8 + static_cast<size_t>(v.type);
  hash_combine(seed, static_cast<size_t>(v.op) * 32 + static_cast<size_t>(v.to));
  hash_combine(seed, v.ref);
  hash_combine(seed, static_cast<size_t>(v.integer));
  hash_combine(seed, std::bit_cast<uint64_t>(v.real));
  for (ValueId id : v.operands) hash_combine(seed, id.value);
  return seed;
}

ValueId ValueStore::intern(Value value) {
  for (ValueId operand : value.operands)
    TANG_CHECK(operand && operand.value < values_.size(), "an operand is missing");
  ValueId id = values_.intern(std::move(value));
  if (ranges_.size() < values_.size())
    ranges_.push_back(range_of_value(values_[id], ranges_, vars_));
  return id;
}

VarId ValueStore::add_var(Var var) {
  vars_.push_back(std::move(var));
  return VarId(static_cast<uint32_t>(vars_.size() - 1));
}

ValueId ValueStore::variable(VarId id) {
  const Var& var = vars_[id.value];
  if (is_integer(var.type) && var.lo && var.lo == var.hi) return integer(*var.lo, var.type);
  Value v;
  v.form = Form::variable, v.type = var.type, v.ref = id.value;
  return intern(std::move(v));
}

ValueId ValueStore::integer(int64_t value, Type type) {
  TANG_CHECK(is_integer(type), "an integer literal of type `{}`", name(type));
  Value v;
  v.type = type, v.integer = value;
  return intern(std::move(v));
}

ValueId ValueStore::boolean(bool value) {
  Value v;
  v.type = Type::boolean, v.integer = value;
  return intern(std::move(v));
}

ValueId ValueStore::real(double value, Type type) {
  TANG_CHECK(is_real(type), "a real literal of type `{}`", name(type));
  Value v;
  v.type = type, v.real = type == Type::f32 ? static_cast<float>(value) : value;
  return intern(std::move(v));
}

ValueId ValueStore::element(TensorId tensor, Type type, std::span<const ValueId> coordinates) {
  Value v;
  v.form = Form::element, v.type = type, v.ref = tensor.value;
  v.operands.assign(coordinates.begin(), coordinates.end());
  return intern(std::move(v));
}

namespace {

/// A literal in another format, where the conversion is exact or defined (float to int truncates,
/// saturates, and takes NaN to 0).
std::optional<Value> convert_literal(Type to, const Value& x) {
  Value v;
  v.type = to;
  if (is_real(x.type)) {
    if (is_real(to)) {
      v.real = to == Type::f32 ? static_cast<float>(x.real) : x.real;
      return v;
    }
    if (to != Type::i32 && to != Type::i64) return std::nullopt;
    double least = to == Type::i32 ? -0x1p31 : -0x1p63;
    IntRange range = graph::range_of(to == Type::i32 ? ElemType::i32 : ElemType::i64);
    v.integer = std::isnan(x.real) ? 0
                : x.real <= least  ? range.lo
                : x.real >= -least ? range.hi
                                   : static_cast<int64_t>(x.real);
    return v;
  }
  if (is_real(to)) {
    // Beyond these a format no longer holds every integer.
    int64_t exact = to == Type::f32 ? int64_t(1) << 24 : int64_t(1) << 53;
    if (x.integer < -exact || x.integer > exact) return std::nullopt;
    v.real = static_cast<double>(x.integer);
    return v;
  }
  if (to == Type::boolean || !limits(to).contains({x.integer, x.integer})) return std::nullopt;
  v.integer = x.integer;
  return v;
}

} // namespace

ValueId ValueStore::convert(Type to, ValueId a) {
  if (values_[a].type == to) return a;
  if (values_[a].form == Form::literal)
    if (auto literal = convert_literal(to, values_[a])) return intern(std::move(*literal));
  Value v;
  v.form = Form::convert, v.type = to, v.operands = {a};
  return intern(std::move(v));
}

ValueId ValueStore::round(ElemType to, ValueId a) {
  const Value& x = values_[a];
  if (x.form == Form::round && x.to == to) return a;
  if (is_real(x.type)) {
    if (to == ElemType::f64 || (to == ElemType::f32 && x.type == Type::f32)) return a;
  } else {
    IntRange held = graph::range_of(to);
    if (held.contains(ranges_[a.value])) return a;
    if (x.form == Form::literal)
      return integer(std::clamp(x.integer, held.lo, held.hi), Type(x.type));
  }
  Value v;
  v.form = Form::round, v.type = x.type, v.to = to, v.operands = {a};
  return intern(std::move(v));
}

ValueId ValueStore::with_operands(ValueId id, std::span<const ValueId> operands) {
  const Value& v = values_[id];
  if (std::equal(operands.begin(), operands.end(), v.operands.begin(), v.operands.end())) return id;
  switch (v.form) {
  case Form::literal:
  case Form::variable: return id;
  case Form::element: return element(TensorId(v.ref), v.type, operands);
  case Form::convert: return convert(v.type, operands[0]);
  case Form::round: return round(v.to, operands[0]);
  case Form::operation: break;
  }
  if (v.op == Op::select) return select(operands[0], operands[1], operands[2]);
  return operands.size() == 1 ? unary(v.op, operands[0]) : binary(v.op, operands[0], operands[1]);
}

std::optional<int64_t> ValueStore::as_integer(ValueId id) const {
  const Value& v = values_[id];
  return v.form == Form::literal && is_integer(v.type) ? std::optional(v.integer) : std::nullopt;
}

std::optional<bool> ValueStore::as_boolean(ValueId id) const {
  const Value& v = values_[id];
  return v.form == Form::literal && v.type == Type::boolean ? std::optional(v.integer != 0)
                                                            : std::nullopt;
}

graph::IntRange ValueStore::range(ValueId id) const {
  return ranges_[id.value];
}

std::vector<ValueId> reachable(const ValueStore& store, std::span<const ValueId> roots) {
  return reachable_ids(
      roots, [&](ValueId id) -> const auto& { return store[id].operands; });
}

std::vector<ValueId> reading_order(const ValueStore& store, std::span<const ValueId> roots,
                                   const std::function<bool(ValueId)>& known) {
  std::vector<ValueId> found;
  std::vector<bool> seen(store.size(), false);
  struct Open {
    ValueId id;
    size_t next = 0; ///< operand
  };
  InlineVector<Open, 32> open;
  auto enter = [&](ValueId id) {
    if (!id || seen[id.value] || (known && known(id))) return;
    seen[id.value] = true;
    open.push_back({id});
  };
  for (ValueId root : roots) {
    enter(root);
    while (!open.empty()) {
      Open& last = open.back();
      const auto& operands = store[last.id].operands;
      if (last.next < operands.size()) {
        enter(operands[last.next++]);
        continue;
      }
      found.push_back(last.id);
      open.pop_back();
    }
  }
  return found;
}

ValueId rewrite(ValueStore& store, ValueId root, const std::function<ValueId(ValueId)>& visit) {
  if (!root) return root;
  const std::vector<ValueId> order = reachable(store, {&root, 1});
  std::vector<ValueId> done;
  InlineVector<ValueId, 8> operands;
  done.reserve(order.size());
  for (ValueId id : order) {
    operands.clear();
    for (ValueId operand : store[id].operands) operands.push_back(value_for(order, done, operand));
    done.push_back(visit(store.with_operands(id, operands)));
  }
  return done.back();
}

} // namespace tang::kernel

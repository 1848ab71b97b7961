#include "graph/expr.h"
#include "base/check.h"
#include "base/checked.h"
#include "base/reachable.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace tang::graph {
namespace {

constexpr OperandClass any = OperandClass::any, num = OperandClass::num, same = OperandClass::same;
constexpr OperandClass real = OperandClass::real, integer = OperandClass::integer;
constexpr OperandClass boolean = OperandClass::boolean;

constexpr OpInfo rows[] = {
#define TANG_OP(name, arity, operands, result, text) {#name, arity, operands, result, text},
#include "graph/ops.def"
#undef TANG_OP
};

} // namespace

const OpInfo& info(Op op) {
  return rows[static_cast<size_t>(op)];
}

std::optional<Op> op_of_function(std::string_view name) {
  for (size_t i = 0; i < std::size(rows); ++i)
    if (!rows[i].text.empty() && rows[i].text[0] >= 'a' && rows[i].text[0] <= 'z' &&
        rows[i].text == name && static_cast<Op>(i) != Op::logical_and &&
        static_cast<Op>(i) != Op::logical_or && static_cast<Op>(i) != Op::logical_not)
      return static_cast<Op>(i);
  return std::nullopt;
}

bool operator==(const Expr& a, const Expr& b) {
  return a.op == b.op && a.scalar == b.scalar && a.to == b.to && a.guarded == b.guarded &&
         a.ref == b.ref && a.integer == b.integer &&
         std::bit_cast<uint64_t>(a.real) == std::bit_cast<uint64_t>(b.real) &&
         a.operands == b.operands && a.bound == b.bound;
}

size_t ExprStore::Hash::operator()(const Expr& e) const {
  size_t seed = static_cast<size_t>(e.op) * 31 + static_cast<size_t>(e.scalar);
  hash_combine(seed, static_cast<size_t>(e.to) * 2 + e.guarded);
  hash_combine(seed, e.ref);
  hash_combine(seed, static_cast<size_t>(e.integer));
  hash_combine(seed, std::bit_cast<uint64_t>(e.real));
  for (ExprId id : e.operands) hash_combine(seed, id.value);
  for (IndexId id : e.bound) hash_combine(seed, id.value);
  return seed;
}

ExprId ExprStore::intern(Expr e) {
  uint64_t size = 1;
  if (e.op == Op::index) e.free = {IndexId(e.ref)};
  e.has_read = e.op == Op::read || e.op == Op::acc || e.op == Op::lhs || e.op == Op::rhs;
  e.has_state = e.op == Op::acc || e.op == Op::lhs || e.op == Op::rhs || e.op == Op::fold;
  for (ExprId id : e.operands) {
    const Expr& o = terms_[id];
    size += o.tree_size;
    e.has_read |= o.has_read;
    e.has_state |= o.has_state;
    if (std::includes(e.free.begin(), e.free.end(), o.free.begin(), o.free.end())) continue;
    InlineVector<IndexId, 4> merged;
    std::set_union(e.free.begin(), e.free.end(), o.free.begin(), o.free.end(),
                   std::back_inserter(merged));
    e.free = std::move(merged);
  }
  for (IndexId bound : e.bound) erase(e.free, bound);
  e.tree_size = static_cast<uint32_t>(std::min<uint64_t>(size, 0xffffffffu));
  return terms_.intern(std::move(e));
}

ExprId ExprStore::integer(int64_t value) {
  Expr e;
  e.integer = value;
  return intern(std::move(e));
}

ExprId ExprStore::real(double value) {
  Expr e;
  e.op = Op::literal_real, e.scalar = Scalar::real, e.real = value;
  return intern(std::move(e));
}

ExprId ExprStore::boolean(bool value) {
  Expr e;
  e.op = Op::literal_bool, e.scalar = Scalar::boolean, e.integer = value;
  return intern(std::move(e));
}

ExprId ExprStore::index(IndexId id) {
  Expr e;
  e.op = Op::index, e.ref = id.value;
  return intern(std::move(e));
}

ExprId ExprStore::dim(DimId id) {
  Expr e;
  e.op = Op::dim, e.ref = id.value;
  return intern(std::move(e));
}

ExprId ExprStore::read(TensorId tensor, Scalar scalar, std::span<const ExprId> places,
                       ExprId otherwise) {
  Expr e;
  e.op = Op::read, e.scalar = scalar, e.ref = tensor.value,
  e.guarded = static_cast<bool>(otherwise);
  e.operands.assign(places.begin(), places.end());
  if (otherwise) e.operands.push_back(otherwise);
  return intern(std::move(e));
}

ExprId ExprStore::state(Op op, uint32_t field, Scalar scalar, std::span<const ExprId> places) {
  TANG_CHECK(op == Op::acc || op == Op::lhs || op == Op::rhs, "`{}` is not a state", info(op).name);
  Expr e;
  e.op = op, e.scalar = scalar, e.ref = field;
  e.operands.assign(places.begin(), places.end());
  return intern(std::move(e));
}

ExprId ExprStore::fold(MonoidId monoid, Scalar scalar, std::span<const IndexId> bound,
                       std::span<const ExprId> extents, ExprId filter, ExprId body) {
  TANG_CHECK(bound.size() == extents.size(), "a fold over {} indices has {} extents", bound.size(),
             extents.size());
  Expr e;
  e.op = Op::fold, e.scalar = scalar, e.ref = monoid.value;
  e.operands = {body, filter ? filter : boolean(true)};
  e.operands.append(extents.begin(), extents.end());
  e.bound.assign(bound.begin(), bound.end());
  return intern(std::move(e));
}

bool ExprStore::is_literal(ExprId id) const {
  Op op = terms_[id].op;
  return op == Op::literal_int || op == Op::literal_real || op == Op::literal_bool;
}

std::optional<int64_t> ExprStore::as_integer(ExprId id) const {
  const Expr& e = terms_[id];
  return e.op == Op::literal_int ? std::optional(e.integer) : std::nullopt;
}

std::optional<bool> ExprStore::as_boolean(ExprId id) const {
  const Expr& e = terms_[id];
  return e.op == Op::literal_bool ? std::optional(e.integer != 0) : std::nullopt;
}

namespace {

/// Integer folding; empty where the operation overflows (the run time reports that).
std::optional<int64_t> fold_integers(Op op, int64_t a, int64_t b) {
  switch (op) {
  case Op::add: return checked_add(a, b);
  case Op::sub: return checked_sub(a, b);
  case Op::mul: return checked_mul(a, b);
  case Op::min: return std::min(a, b);
  case Op::max: return std::max(a, b);
  case Op::floordiv: return floordiv(a, b);
  case Op::mod: return floormod(a, b);
  default: return std::nullopt;
  }
}

std::optional<bool> compare_integers(Op op, int64_t a, int64_t b) {
  switch (op) {
  case Op::eq: return a == b;
  case Op::ne: return a != b;
  case Op::lt: return a < b;
  case Op::le: return a <= b;
  default: return std::nullopt;
  }
}

} // namespace

ExprId ExprStore::unary(Op op, ExprId a) {
  const Expr& x = terms_[a];
  if (op == Op::neg && x.op == Op::literal_int && x.integer != std::numeric_limits<int64_t>::min())
    return integer(-x.integer);
  if (op == Op::neg && x.op == Op::literal_real) return real(-x.real);
  // Exactly rounded everywhere, as it is in the evaluation of the term.
  if (op == Op::sqrt && x.op == Op::literal_real && x.real >= 0) return real(std::sqrt(x.real));
  if (op == Op::logical_not && x.op == Op::literal_bool) return boolean(x.integer == 0);
  if (op == Op::logical_not && x.op == Op::logical_not) return x.operands[0];
  Expr e;
  e.op = op, e.operands = {a};
  switch (info(op).result) {
  case OperandClass::real: e.scalar = Scalar::real; break;
  case OperandClass::boolean: e.scalar = Scalar::boolean; break;
  default: e.scalar = x.scalar; break;
  }
  return intern(std::move(e));
}

ExprId ExprStore::binary(Op op, ExprId a, ExprId b) {
  auto ia = as_integer(a), ib = as_integer(b);
  if (ia && ib) {
    if (auto v = fold_integers(op, *ia, *ib)) return integer(*v);
    if (auto v = compare_integers(op, *ia, *ib)) return boolean(*v);
  }
  if ((op == Op::add && ib == 0) || (op == Op::sub && ib == 0) || (op == Op::mul && ib == 1) ||
      (op == Op::floordiv && ib == 1))
    return a;
  if ((op == Op::add && ia == 0) || (op == Op::mul && ia == 1)) return b;
  const Expr &x = terms_[a], &y = terms_[b];
  bool one_a = x.op == Op::literal_real && x.real == 1,
       one_b = y.op == Op::literal_real && y.real == 1;
  if ((op == Op::mul || op == Op::div) && one_b) return a;
  if (op == Op::mul && one_a) return b;
  auto ba = as_boolean(a), bb = as_boolean(b);
  if (op == Op::logical_and && (ba || bb)) {
    if (ba == false || bb == false) return boolean(false);
    return ba ? b : a;
  }
  if (op == Op::logical_or && (ba || bb)) {
    if (ba == true || bb == true) return boolean(true);
    return ba ? b : a;
  }
  if ((op == Op::logical_and || op == Op::logical_or) && a == b) return a;
  Expr e;
  e.op = op, e.operands = {a, b};
  switch (info(op).result) {
  case OperandClass::real: e.scalar = Scalar::real; break;
  case OperandClass::boolean: e.scalar = Scalar::boolean; break;
  case OperandClass::integer: e.scalar = Scalar::integer; break;
  default: e.scalar = x.scalar; break;
  }
  return intern(std::move(e));
}

ExprId ExprStore::select(ExprId condition, ExprId a, ExprId b) {
  if (auto c = as_boolean(condition)) return *c ? a : b;
  if (a == b) return a;
  Expr e;
  e.op = Op::select, e.scalar = terms_[a].scalar, e.operands = {condition, a, b};
  return intern(std::move(e));
}

ExprId ExprStore::to_real(ExprId a) {
  const Expr& x = terms_[a];
  if (x.scalar == Scalar::real) return a;
  // 2^53: beyond it a double no longer holds every integer.
  if (x.op == Op::literal_int && std::abs(static_cast<double>(x.integer)) <= 9007199254740992.0)
    return real(static_cast<double>(x.integer));
  Expr e;
  e.op = Op::to_real, e.scalar = Scalar::real, e.operands = {a};
  return intern(std::move(e));
}

ExprId ExprStore::cast(ElemType to, ExprId a) {
  const Expr& x = terms_[a];
  if (x.op == Op::cast && x.to == to) return a;
  Expr e;
  e.op = Op::cast, e.scalar = scalar_of(to), e.to = to, e.operands = {a};
  return intern(std::move(e));
}

ExprId ExprStore::with_operands(ExprId id, std::span<const ExprId> operands) {
  const Expr& e = terms_[id];
  if (std::equal(operands.begin(), operands.end(), e.operands.begin(), e.operands.end())) return id;
  switch (e.op) {
  case Op::select: return select(operands[0], operands[1], operands[2]);
  case Op::to_real: return to_real(operands[0]);
  case Op::cast: return cast(e.to, operands[0]);
  default: break;
  }
  if (info(e.op).arity == 1) return unary(e.op, operands[0]);
  if (info(e.op).arity == 2) return binary(e.op, operands[0], operands[1]);
  Expr copy = e;
  copy.operands.assign(operands.begin(), operands.end());
  copy.free.clear();
  return intern(std::move(copy));
}

std::vector<ExprId> reachable(const ExprStore& store, std::span<const ExprId> roots) {
  return reachable_ids(
      roots, [&](ExprId id) -> const auto& { return store[id].operands; });
}

ExprId rewrite(ExprStore& store, ExprId root, const std::function<ExprId(ExprId)>& visit) {
  if (!root) return root;
  const std::vector<ExprId> order = reachable(store, {&root, 1});
  std::vector<ExprId> done;
  InlineVector<ExprId, 8> operands;
  done.reserve(order.size());
  for (ExprId id : order) {
    operands.clear();
    for (ExprId operand : store[id].operands) operands.push_back(value_for(order, done, operand));
    done.push_back(visit(store.with_operands(id, operands)));
  }
  return done.back();
}

ExprId substitute(ExprStore& store, ExprId root, const std::unordered_map<IndexId, ExprId>& map) {
  if (!root || map.empty()) return root;
  bool touched = std::any_of(store[root].free.begin(), store[root].free.end(),
                             [&](IndexId i) { return map.contains(i); });
  if (!touched) return root;
  return rewrite(store, root, [&](ExprId id) {
    const Expr& e = store[id];
    if (e.op != Op::index) return id;
    auto at = map.find(IndexId(e.ref));
    return at == map.end() ? id : at->second;
  });
}

} // namespace tang::graph

#include "interpret/facts.h"
#include "base/check.h"
#include "graph/interval.h"
#include <algorithm>

namespace tang::interpret {

namespace interval = graph::interval;
using graph::Expr;
using graph::IntRange;
using graph::Op;
using graph::Scalar;

namespace {

constexpr size_t longest_form = 8;

int64_t wrapping_multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

template <class Key>
void add_scaled(std::vector<std::pair<Key, int64_t>>& to,
                const std::vector<std::pair<Key, int64_t>>& from, int64_t factor) {
  for (auto [key, value] : from) {
    auto at = std::lower_bound(to.begin(), to.end(), key,
                               [](const auto& entry, Key k) { return entry.first < k; });
    if (at == to.end() || at->first != key) at = to.insert(at, {key, 0});
    at->second = wrapping_add(at->second, wrapping_multiply(value, factor));
    if (at->second == 0) to.erase(at);
  }
}

/// An interval whose end is at the limit of 64 bits may stand for more (interval.h).
bool bounded(IntRange r) {
  return r.lo > std::numeric_limits<int64_t>::min() && r.hi < std::numeric_limits<int64_t>::max();
}

bool is_state(Op op) {
  return op == Op::acc || op == Op::lhs || op == Op::rhs;
}

} // namespace

std::optional<Affine> combine(const Affine& a, const Affine& b, int64_t factor) {
  Affine sum = a;
  sum.constant = wrapping_add(sum.constant, wrapping_multiply(b.constant, factor));
  add_scaled(sum.indices, b.indices, factor);
  add_scaled(sum.terms, b.terms, factor);
  if (sum.indices.size() + sum.terms.size() > longest_form) return std::nullopt;
  return sum;
}

Facts::Facts(const Context& context, std::span<const ExprId> roots) {
  for (ExprId id : graph::reachable(context.graph.exprs, roots)) {
    const Expr& e = context.graph.exprs[id];
    facts_[id] = derive(context, e, id);
  }
}

bool Facts::place_in_range(const Expr& read, size_t n, int64_t extent) const {
  IntRange r = facts_.at(read.operands[n]).range;
  return r.lo >= 0 && r.hi < extent;
}

Fact Facts::derive(const Context& context, const Expr& e, ExprId id) const {
  Fact fact;
  fact.safe = true, fact.fits = true, fact.uses_acc = e.op == Op::acc;
  for (ExprId operand : e.operands) {
    fact.safe &= facts_.at(operand).safe;
    fact.uses_acc |= facts_.at(operand).uses_acc;
  }
  if (e.op == Op::read || is_state(e.op)) {
    fact.safe &= derive_read(context, e, fact);
  } else if (e.op == Op::fold) {
    const graph::Monoid& monoid = context.graph.monoids[e.ref];
    // The combine of a built-in over reals cannot fail.
    fact.safe &= monoid.builtin && e.scalar != Scalar::integer;
  } else if (e.op == Op::dim) {
    fact.range = interval::point(context.dims[e.ref]);
  } else if (e.op == Op::index) {
    fact.range = context.indices.at(IndexId(e.ref));
  } else if (e.scalar == Scalar::integer) {
    derive_integer(e, fact);
    fact.safe &= fact.fits;
  }
  if (e.scalar == Scalar::boolean) fact.range = {0, 1};
  if (e.scalar == Scalar::integer) derive_form(e, id, fact);
  return fact;
}

bool Facts::derive_read(const Context& context, const Expr& e, Fact& fact) const {
  const Readable& readable = context.readable(e);
  fact.range = readable.range;
  size_t rank = e.operands.size() - e.guarded;
  TANG_CHECK(rank == readable.shape.size(), "a read with {} places of a tensor of rank {}", rank,
             readable.shape.size());
  if (e.guarded) {
    fact.range = interval::hull(fact.range, facts_.at(e.operands.back()).range);
    return true;
  }
  bool safe = true, gathers = false;
  for (size_t n = 0; n < rank; ++n) {
    bool gathered = context.graph.exprs[e.operands[n]].has_read;
    gathers |= gathered;
    safe &= gathered || place_in_range(e, n, readable.shape[n]);
  }
  // A gather outside its tensor reads as 0.
  if (gathers) fact.range = interval::hull(fact.range, interval::point(0));
  return safe;
}

void Facts::derive_integer(const Expr& e, Fact& fact) const {
  auto range = [&](size_t n) { return facts_.at(e.operands[n]).range; };
  bool may_overflow = false;
  switch (e.op) {
  case Op::literal_int: fact.range = interval::point(e.integer); break;
  case Op::add:
    fact.range = interval::add(range(0), range(1));
    may_overflow = true;
    break;
  case Op::sub:
    fact.range = interval::add(range(0), interval::negate(range(1)));
    may_overflow = true;
    break;
  case Op::mul:
    fact.range = interval::multiply(range(0), range(1));
    may_overflow = true;
    break;
  case Op::neg:
    fact.range = interval::negate(range(0));
    may_overflow = true;
    break;
  case Op::abs:
    fact.range = interval::absolute(range(0));
    may_overflow = true;
    break;
  case Op::min: fact.range = interval::min(range(0), range(1)); break;
  case Op::max: fact.range = interval::max(range(0), range(1)); break;
  case Op::sign: fact.range = {-1, 1}; break;
  case Op::floordiv: fact.range = interval::floordiv(range(0), range(1)); break;
  case Op::mod: fact.range = interval::mod(range(0), range(1)); break;
  case Op::select: fact.range = interval::hull(range(1), range(2)); break;
  case Op::cast: fact.range = graph::range_of(e.to); break;
  case Op::shl: fact.fits = false; break;
  case Op::shr: fact.fits = range(1).lo >= 0; break;
  default: break; // bit operations: any integer, and they always fit
  }
  if (may_overflow && !bounded(fact.range)) {
    fact.fits = false;
    fact.range = {};
  }
}

void Facts::derive_form(const Expr& e, ExprId id, Fact& fact) const {
  auto form = [&](size_t n) -> const std::optional<Affine>& {
    return facts_.at(e.operands[n]).form;
  };
  auto constant = [&](size_t n) -> std::optional<int64_t> {
    IntRange r = facts_.at(e.operands[n]).range;
    return r.lo == r.hi ? std::optional(r.lo) : std::nullopt;
  };
  if (fact.safe && fact.range.lo == fact.range.hi && !e.has_read)
    fact.form = Affine{fact.range.lo, {}, {}};
  else if (e.op == Op::index)
    fact.form = Affine{0, {{IndexId(e.ref), 1}}, {}};
  else if (fact.safe && e.op == Op::add && form(0) && form(1))
    fact.form = combine(*form(0), *form(1), 1);
  else if (fact.safe && e.op == Op::sub && form(0) && form(1))
    fact.form = combine(*form(0), *form(1), -1);
  else if (fact.safe && e.op == Op::neg && form(0))
    fact.form = combine({}, *form(0), -1);
  else if (fact.safe && e.op == Op::mul && constant(0) && form(1))
    fact.form = combine({}, *form(1), *constant(0));
  else if (fact.safe && e.op == Op::mul && constant(1) && form(0))
    fact.form = combine({}, *form(0), *constant(1));
  if (!fact.form) fact.form = Affine{0, {}, {{id, 1}}};
}

} // namespace tang::interpret

// The laws that construction applies (value.h). All are exact for every value of the operands:
// sums of index values are taken apart and put together in one order, divisions and comparisons are
// decided by ranges, reals know only x*1, x/1, x + -0 and x - 0.
#include "base/check.h"
#include "base/checked.h"
#include "kernel/interval.h"
#include "kernel/linear.h"
#include <bit>
#include <utility>

namespace tang::kernel {

using graph::Polynomial;

namespace {

/// A sum with more terms than this is no address; it stays as it was written.
constexpr size_t most_terms = 64;

std::optional<int64_t> fold_integers(Op op, int64_t a, int64_t b) {
  switch (op) {
  case Op::add: return checked_add(a, b);
  case Op::sub: return checked_sub(a, b);
  case Op::mul: return checked_mul(a, b);
  case Op::min: return std::min(a, b);
  case Op::max: return std::max(a, b);
  case Op::floordiv: return floordiv(a, b);
  case Op::mod: return floormod(a, b);
  case Op::bit_and: return a & b;
  case Op::bit_or: return a | b;
  case Op::bit_xor: return a ^ b;
  default: return std::nullopt;
  }
}

bool fits(int64_t value, Type type) {
  return type != Type::i32 || graph::range_of(ElemType::i32).contains({value, value});
}

Type type_of_result(Op op, Type operand) {
  return graph::info(op).result == graph::OperandClass::boolean ? Type::boolean : operand;
}

/// Terms whose coefficients are a multiple of `c`, divided by it (the constant towards zero), and
/// the rest: form = c*multiple + rest.
struct Division {
  Polynomial multiple, rest;
};
Division divide_terms(const Polynomial& form, int64_t c) {
  Division d;
  for (const auto& [monomial, coefficient] : form.terms()) {
    int64_t quotient = coefficient / c, remainder = coefficient % c;
    if (!monomial.empty() && remainder != 0) quotient = 0, remainder = coefficient;
    d.multiple = *d.multiple.plus(Polynomial::term(monomial, quotient));
    d.rest = *d.rest.plus(Polynomial::term(monomial, remainder));
  }
  return d;
}

/// The k with k*c <= form < (k+1)*c for every value of the atoms.
std::optional<int64_t> cell(const ValueStore& store, const Polynomial& form, int64_t c) {
  IntRange r = range(store, form);
  if (!is_bounded(r) || floordiv(r.lo, c) != floordiv(r.hi, c)) return std::nullopt;
  return floordiv(r.lo, c);
}

/// The only atom of a form that is nothing else.
ValueId single_atom(const Polynomial& form) {
  if (form.terms().size() != 1) return {};
  const auto& [monomial, coefficient] = *form.terms().begin();
  return monomial.size() == 1 && coefficient == 1 ? value_of(monomial[0]) : ValueId();
}

/// floordiv(x, c)*(k*c) + mod(x, c)*k  =  x*k
void recombine(const ValueStore& store, Polynomial& form) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [monomial, k] : form.terms()) {
      if (monomial.size() != 1) continue;
      const Value& m = store[value_of(monomial[0])];
      if (m.form != Form::operation || m.op != Op::mod) continue;
      auto divisor = store.as_integer(m.operands[1]);
      auto scaled = divisor ? checked_mul(k, *divisor) : std::nullopt;
      if (!scaled || *divisor <= 0 || *scaled == unbounded_below || k == unbounded_below) continue;
      for (const auto& [other, coefficient] : form.terms()) {
        if (coefficient != *scaled || other.size() != 1) continue;
        const Value& q = store[value_of(other[0])];
        if (q.form != Form::operation || q.op != Op::floordiv || q.operands != m.operands) continue;
        auto parts = Polynomial::atom(monomial[0]).times(Polynomial::constant(k));
        auto whole = Polynomial::atom(other[0]).times(Polynomial::constant(*scaled));
        auto x = linear_form(store, m.operands[0]);
        auto xk = x ? x->times(Polynomial::constant(k)) : std::nullopt;
        auto rest = xk ? form.minus(*parts)->minus(*whole)->plus(*xk) : std::nullopt;
        if (!rest) continue;
        form = std::move(*rest);
        changed = true;
        break;
      }
      if (changed) break;
    }
  }
}

} // namespace

ValueId ValueStore::operation(Op op, Type type, std::initializer_list<ValueId> operands) {
  Value v;
  v.form = Form::operation, v.op = op, v.type = type, v.operands = operands;
  return intern(std::move(v));
}

ValueId ValueStore::product(const Polynomial::Monomial& atoms) {
  ValueId product;
  for (graph::ExprId atom : atoms)
    product = product ? operation(Op::mul, Type::index, {product, value_of(atom)}) : value_of(atom);
  return product;
}

namespace {

/// Terms of a sum that share one factor: `(i - j)*8`. Terms with factor 1 stand alone.
struct Group {
  int64_t factor = 1;
  std::vector<std::pair<const Polynomial::Monomial*, bool>> terms; ///< negative?
  size_t degree() const {
    size_t degree = 0;
    for (const auto& term : terms) degree = std::max(degree, term.first->size());
    return degree;
  }
  bool leads() const { return !terms.front().second; }
};

/// Symbolic products first, then large factors; inside a group positive terms first.
std::vector<Group> groups_of(const Polynomial& form) {
  std::vector<Group> groups;
  for (const auto& [monomial, coefficient] : form.terms()) {
    if (monomial.empty()) continue;
    bool negative = coefficient < 0;
    // The least integer has no magnitude; it keeps its sign as a factor.
    if (coefficient == unbounded_below) negative = false;
    int64_t factor = negative ? -coefficient : coefficient;
    auto same = std::find_if(groups.begin(), groups.end(),
                             [&](const Group& g) { return factor != 1 && g.factor == factor; });
    if (same == groups.end()) same = groups.insert(groups.end(), Group{factor, {}});
    same->terms.emplace_back(&monomial, negative);
  }
  for (Group& group : groups)
    std::stable_sort(group.terms.begin(), group.terms.end(), [](const auto& a, const auto& b) {
      if (a.second != b.second) return b.second;
      return a.first->size() > b.first->size();
    });
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    if (a.degree() != b.degree()) return a.degree() > b.degree();
    return a.factor > b.factor;
  });
  // A sum does not begin with a minus when it can be helped.
  auto first = std::find_if(groups.begin(), groups.end(), [](const Group& g) { return g.leads(); });
  if (first != groups.end()) std::rotate(groups.begin(), first, first + 1);
  return groups;
}

} // namespace

ValueId ValueStore::sum(const Polynomial& form) {
  int64_t constant = form.constant_term();
  std::vector<Group> groups = groups_of(form);
  if (groups.empty()) return integer(constant);
  ValueId total;
  auto append = [&](ValueId term, bool negative) {
    if (!total)
      total = negative ? operation(Op::neg, Type::index, {term}) : term;
    else
      total = operation(negative ? Op::sub : Op::add, Type::index, {total, term});
  };
  if (!groups.front().leads() && constant > 0) append(integer(std::exchange(constant, 0)), false);
  for (const Group& group : groups) {
    bool negative = !group.leads();
    ValueId inner;
    for (const auto& [monomial, minus] : group.terms) {
      ValueId next = product(*monomial);
      inner = inner ? operation(minus == negative ? Op::add : Op::sub, Type::index, {inner, next})
                    : next;
    }
    if (group.factor != 1) {
      bool keep_sign = negative && total;
      int64_t factor = negative && !keep_sign ? -group.factor : group.factor;
      inner = operation(Op::mul, Type::index, {inner, integer(factor)});
      negative = keep_sign;
    }
    append(inner, negative);
  }
  if (constant == 0) return total;
  bool negative = constant < 0 && constant != unbounded_below;
  append(integer(negative ? -constant : constant), negative);
  return total;
}

ValueId ValueStore::integer_arithmetic(Op op, ValueId a, ValueId b) {
  Type type = values_[a].type;
  auto ia = as_integer(a), ib = as_integer(b);
  if ((op == Op::add && ib == 0) || (op == Op::sub && ib == 0) || (op == Op::mul && ib == 1))
    return a;
  if ((op == Op::add && ia == 0) || (op == Op::mul && ia == 1)) return b;
  if (op == Op::mul && (ia == 0 || ib == 0)) return integer(0, type);
  if (op == Op::sub && a == b) return integer(0, type);
  if (type != Type::index) return operation(op, type, {a, b});
  bool product = op == Op::mul && !ia && !ib;
  auto fa = product ? product_form(*this, a) : linear_form(*this, a);
  auto fb = product ? product_form(*this, b) : linear_form(*this, b);
  if (!fa || !fb) return operation(op, type, {a, b});
  auto form = op == Op::add ? fa->plus(*fb) : op == Op::sub ? fa->minus(*fb) : fa->times(*fb);
  if (!form || form->terms().size() > most_terms) return operation(op, type, {a, b});
  if (!product) recombine(*this, *form);
  return sum(*form);
}

ValueId ValueStore::real_arithmetic(Op op, ValueId a, ValueId b) {
  Type type = values_[a].type;
  auto is = [&](ValueId id, double value) {
    const Value& v = values_[id];
    return v.form == Form::literal &&
           std::bit_cast<uint64_t>(v.real) == std::bit_cast<uint64_t>(value);
  };
  if ((op == Op::mul || op == Op::div) && is(b, 1)) return a;
  if (op == Op::mul && is(a, 1)) return b;
  if ((op == Op::add && is(b, -0.0)) || (op == Op::sub && is(b, 0.0))) return a;
  if (op == Op::add && is(a, -0.0)) return b;
  if ((op == Op::min || op == Op::max) && a == b) return a;
  return operation(op, type, {a, b});
}

ValueId ValueStore::divide(Op op, ValueId a, ValueId b) {
  Type type = values_[a].type;
  bool quotient = op == Op::floordiv;
  if (as_integer(a) == 0 || as_integer(b) == 0) return integer(0, type);
  if (as_integer(b) == 1) return quotient ? a : integer(0, type);
  IntRange ra = range(a), rb = range(b);
  if (ra.lo >= 0 && rb.lo > 0 && ra.hi < rb.lo) return quotient ? integer(0, type) : a;
  if (type != Type::index || rb.lo <= 0) return operation(op, type, {a, b});
  auto form = linear_form(*this, a);
  if (!form) return operation(op, type, {a, b});
  auto divisor = as_integer(b);
  if (!divisor) {
    // (q*S + r) over S
    auto parts = form->split(atom_of(b));
    if (!parts || parts->first.is_zero()) return operation(op, type, {a, b});
    ValueId rest = divide(op, sum(parts->second), b);
    return quotient ? add(build(*this, parts->first), rest) : rest;
  }
  int64_t c = *divisor;
  Division whole = divide_terms(*form, c);
  if (auto k = cell(*this, whole.rest, c)) {
    auto resolved = quotient ? whole.multiple.plus(Polynomial::constant(*k))
                             : whole.rest.minus(Polynomial::constant(*k * c));
    return resolved ? build(*this, *resolved) : operation(op, type, {a, b});
  }
  // A factor g of c: when the terms that g does not divide stay below g, they do not carry.
  std::vector<int64_t> factors;
  for (const auto& [monomial, coefficient] : whole.rest.terms()) {
    int64_t g = common_divisor(coefficient % c, c);
    if (g > 1 && g < c && !monomial.empty()) factors.push_back(g);
  }
  std::sort(factors.rbegin(), factors.rend());
  for (int64_t g : factors) {
    Division part = divide_terms(whole.rest, g);
    auto k = cell(*this, part.rest, g);
    if (!k) continue;
    ValueId coarse = add(build(*this, part.multiple), integer(*k));
    ValueId inner = divide(op, coarse, integer(c / g));
    if (quotient) return add(build(*this, whole.multiple), inner);
    return add(mul(inner, integer(g)), sub(build(*this, part.rest), integer(*k * g)));
  }
  ValueId rest = sum(whole.rest);
  if (ValueId atom = single_atom(whole.rest)) {
    const Value& v = values_[atom];
    auto inner = v.form == Form::operation && v.operands.size() == 2 ? as_integer(v.operands[1])
                                                                     : std::nullopt;
    ValueId x = v.operands.empty() ? ValueId() : v.operands[0];
    if (inner && *inner > 0 && v.op == op) {
      // floordiv(floordiv(x, m), c) = floordiv(x, m*c);  mod(mod(x, m), c) = mod(x, c) for c | m
      auto both = checked_mul(*inner, c);
      if (quotient && both) return add(build(*this, whole.multiple), divide(op, x, integer(*both)));
      if (!quotient && *inner % c == 0) return divide(op, x, integer(c));
    }
  }
  ValueId left = operation(op, type, {rest, b});
  return quotient ? add(build(*this, whole.multiple), left) : left;
}

ValueId ValueStore::compare(Op op, ValueId a, ValueId b) {
  if (a == b && op == Op::lt) return boolean(false);
  if (is_integer(values_[a].type)) {
    IntRange difference = kernel::add(range(b), negate(range(a)));
    if (a == b) {
      difference = {0, 0};
    } else if (values_[a].type == Type::index) {
      auto fa = linear_form(*this, a), fb = linear_form(*this, b);
      auto form = fa && fb ? fb->minus(*fa) : std::nullopt;
      if (form) difference = kernel::range(*this, *form);
    }
    auto [lo, hi] = difference;
    bool apart = lo > 0 || hi < 0, equal = lo == 0 && hi == 0;
    if (op == Op::lt && (lo > 0 || hi <= 0)) return boolean(lo > 0);
    if (op == Op::le && (lo >= 0 || hi < 0)) return boolean(lo >= 0);
    if (op == Op::eq && (apart || equal)) return boolean(equal);
    if (op == Op::ne && (apart || equal)) return boolean(apart);
  }
  if (values_[a].type == Type::boolean && (op == Op::eq || op == Op::ne)) {
    if (as_boolean(a)) std::swap(a, b);
    if (auto c = as_boolean(b)) return *c == (op == Op::eq) ? a : unary(Op::logical_not, a);
  }
  return operation(op, Type::boolean, {a, b});
}

ValueId ValueStore::extremum(Op op, ValueId a, ValueId b) {
  if (a == b) return a;
  if (auto less = as_boolean(compare(Op::le, a, b))) return *less == (op == Op::min) ? a : b;
  return operation(op, values_[a].type, {a, b});
}

ValueId ValueStore::connective(Op op, ValueId a, ValueId b) {
  bool absorbing = op == Op::logical_or; // true or x, false and x
  if (auto c = as_boolean(a)) return *c == absorbing ? a : b;
  if (auto c = as_boolean(b)) return *c == absorbing ? b : a;
  // `b` may stand in the chain of `a` already.
  constexpr int longest_chain = 32;
  ValueId at = a;
  for (int i = 0; i < longest_chain; ++i) {
    if (at == b) return a;
    const Value& v = values_[at];
    if (v.form != Form::operation || v.op != op) break;
    if (v.operands[1] == b) return a;
    at = v.operands[0];
  }
  return operation(op, Type::boolean, {a, b});
}

ValueId ValueStore::binary(Op op, ValueId a, ValueId b) {
  Type type = values_[a].type;
  TANG_CHECK(type == values_[b].type, "`{}` of `{}` and `{}`", graph::info(op).name, name(type),
             name(values_[b].type));
  if (auto ia = as_integer(a), ib = as_integer(b); ia && ib)
    if (auto v = fold_integers(op, *ia, *ib); v && fits(*v, type)) return integer(*v, type);
  switch (op) {
  case Op::add:
  case Op::sub:
  case Op::mul: return is_real(type) ? real_arithmetic(op, a, b) : integer_arithmetic(op, a, b);
  case Op::min:
  case Op::max: return is_real(type) ? real_arithmetic(op, a, b) : extremum(op, a, b);
  case Op::div: return real_arithmetic(op, a, b);
  case Op::floordiv:
  case Op::mod: return is_real(type) ? operation(op, type, {a, b}) : divide(op, a, b);
  case Op::eq:
  case Op::ne:
  case Op::lt:
  case Op::le: return compare(op, a, b);
  case Op::logical_and:
  case Op::logical_or: return connective(op, a, b);
  default: return operation(op, type_of_result(op, type), {a, b});
  }
}

ValueId ValueStore::unary(Op op, ValueId a) {
  const Value x = values_[a];
  bool is_operation = x.form == Form::operation;
  if (op == Op::neg) {
    if (is_operation && x.op == Op::neg) return x.operands[0];
    if (x.form == Form::literal && is_real(x.type)) return real(-x.real, x.type);
    if (is_integer(x.type) && (x.type == Type::index || x.form == Form::literal))
      return binary(Op::sub, integer(0, x.type), a);
  }
  if (op == Op::abs && is_integer(x.type) && range(a).lo >= 0) return a;
  if (op == Op::logical_not) {
    if (x.form == Form::literal) return boolean(x.integer == 0);
    if (is_operation && x.op == Op::logical_not) return x.operands[0];
    if (is_operation && x.op == Op::eq)
      return operation(Op::ne, Type::boolean, {x.operands[0], x.operands[1]});
    if (is_operation && x.op == Op::ne)
      return operation(Op::eq, Type::boolean, {x.operands[0], x.operands[1]});
    // NaN is neither below nor above, so only integer orders turn round.
    bool order = is_operation && (x.op == Op::lt || x.op == Op::le);
    if (order && is_integer(values_[x.operands[0]].type))
      return operation(x.op == Op::lt ? Op::le : Op::lt, Type::boolean,
                       {x.operands[1], x.operands[0]});
  }
  return operation(op, type_of_result(op, x.type), {a});
}

ValueId ValueStore::select(ValueId condition, ValueId a, ValueId b) {
  TANG_CHECK(values_[condition].type == Type::boolean && values_[a].type == values_[b].type,
             "`select` of `{}` and `{}`", name(values_[a].type), name(values_[b].type));
  if (auto c = as_boolean(condition)) return *c ? a : b;
  if (a == b) return a;
  const Value& c = values_[condition];
  if (c.form == Form::operation && c.op == Op::logical_not) {
    ValueId positive = c.operands[0];
    return operation(Op::select, values_[a].type, {positive, b, a});
  }
  if (as_boolean(a) == true && as_boolean(b) == false) return condition;
  if (as_boolean(a) == false && as_boolean(b) == true) return unary(Op::logical_not, condition);
  return operation(Op::select, values_[a].type, {condition, a, b});
}

ValueId ValueStore::ceildiv(ValueId a, int64_t b) {
  TANG_CHECK(b > 0, "a tile of {} elements", b);
  Type type = values_[a].type;
  return binary(Op::floordiv, binary(Op::add, a, integer(b - 1, type)), integer(b, type));
}

ValueId ValueStore::both(ValueId a, ValueId b) {
  if (!a) return b;
  return b ? binary(Op::logical_and, a, b) : a;
}

} // namespace tang::kernel

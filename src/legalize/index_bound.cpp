#include "legalize/index_bound.h"
#include "base/check.h"
#include "kernel/interval.h"
#include "kernel/linear.h"
#include <unordered_set>

namespace tang::legalize {

using namespace kernel;
using graph::Polynomial;

namespace {

using Bound = std::optional<Polynomial>;

Bound plus(const Bound& a, const Bound& b) {
  return a && b ? a->plus(*b) : std::nullopt;
}

Bound times(const Bound& a, const Bound& b) {
  return a && b ? a->times(*b) : std::nullopt;
}

} // namespace

IndexBounds::IndexBounds(Program& program, const Kernel& kernel, const kernel::Variant& variant)
    : program_(program), kernel_(kernel), variant_(variant) {
  for (size_t i = 0; i < kernel.scalars.size(); ++i)
    if (program.values.range(variant.scalars[i]).lo >= 0)
      vars_[kernel.scalars[i].var] = of_host(variant.scalars[i]);
  for (const BlockMode& mode : kernel.blocks) vars_[mode.coordinate] = of(mode.extent);
  for (const ThreadMode& mode : kernel.threads)
    vars_[mode.coordinate] = Polynomial::constant(mode.extent);
  if (kernel.flat_block) {
    Bound blocks = Polynomial::constant(1);
    for (const BlockMode& mode : kernel.blocks) blocks = times(blocks, of(mode.extent));
    vars_[kernel.flat_block] = blocks;
  }
}

/// Sums and products are taken apart, so that `saturated` can hold them inside 64 bits.
Polynomial IndexBounds::of_host(ValueId host) const {
  auto form = expanded_form(program_.values, host);
  bool positive = form.has_value();
  if (form)
    for (const auto& [monomial, coefficient] : form->terms()) {
      positive &= coefficient >= 0;
      for (graph::ExprId atom : monomial) positive &= program_.values.range(value_of(atom)).lo >= 0;
    }
  return positive ? *form : Polynomial::atom(atom_of(host));
}

Bound IndexBounds::of_range(ValueId id) const {
  IntRange r = kernel_.values.range(id);
  if (!is_bounded(r)) return std::nullopt;
  return Polynomial::constant(std::max(std::abs(r.lo), std::abs(r.hi)));
}

Bound IndexBounds::of_variable(VarId id) const {
  auto at = vars_.find(id);
  if (at != vars_.end() && at->second) return at->second;
  const Var& var = kernel_.values[id];
  if (!var.lo || !var.hi) return std::nullopt;
  return Polynomial::constant(std::max(std::abs(*var.lo), std::abs(*var.hi)));
}

/// floordiv and mod of values that are not negative.
Bound IndexBounds::of_division(const Value& v) {
  ValueId a = v.operands[0], b = v.operands[1];
  const ValueStore& s = kernel_.values;
  if (s.range(b).lo < 0) return std::nullopt;
  if (v.op == Op::mod) return of(b);
  ValueId divisor = host_value(kernel_, b, program_.values, variant_.scalars);
  Bound dividend = of(a);
  if (!divisor || !dividend || s.range(a).lo < 0) return dividend;
  ValueId quotient =
      program_.values.binary(Op::floordiv, saturated(program_.values, *dividend), divisor);
  return of_host(quotient);
}

Bound IndexBounds::make(ValueId id) {
  const ValueStore& s = kernel_.values;
  const Value& v = s[id];
  // Constants that are small need no more than that.
  constexpr int64_t small = 1 << 16;
  Bound constant = of_range(id);
  if (constant && constant->constant_term() <= small && v.form != Form::variable) return constant;
  switch (v.form) {
  case Form::literal: return constant;
  case Form::variable: return of_variable(VarId(v.ref));
  case Form::convert: {
    auto at = gathers_.find(id);
    if (at != gathers_.end()) return at->second;
    return is_integer(s[v.operands[0]].type) ? of(v.operands[0]) : constant;
  }
  case Form::element:
  case Form::round: return constant;
  case Form::operation: break;
  }
  switch (v.op) {
  case Op::min:
    // Either is an upper bound of what is not negative.
    if (s.range(id).lo >= 0)
      if (Bound a = of(v.operands[0]), b = of(v.operands[1]); a && b) return below(*b, *a) ? b : a;
    return plus(of(v.operands[0]), of(v.operands[1]));
  case Op::add:
  case Op::sub:
  case Op::max:
  case Op::bit_xor: return plus(of(v.operands[0]), of(v.operands[1]));
  case Op::mul: return times(of(v.operands[0]), of(v.operands[1]));
  case Op::neg:
  case Op::abs: return of(v.operands[0]);
  case Op::select: return plus(of(v.operands[1]), of(v.operands[2]));
  case Op::floordiv:
  case Op::mod: {
    Bound bound = of_division(v);
    return bound ? bound : constant;
  }
  default: return constant;
  }
}

Bound IndexBounds::of(ValueId root) {
  if (auto at = known_.find(root); at != known_.end()) return at->second;
  // Operands first, so that the recursion of `make` is one step deep.
  for (ValueId id : reachable(kernel_.values, {&root, 1}))
    if (!known_.contains(id) && is_integer(kernel_.values[id].type)) {
      Bound bound = make(id);
      known_[id] = std::move(bound);
    }
  return known_.at(root);
}

/// Bounds of loop variables and lets, in the order of the statements.
void IndexBounds::define(const Body& body) {
  const ValueStore& s = kernel_.values;
  for (const Stmt& stmt : body)
    std::visit(Overload{[&](const For& f) {
                          Bound bound = plus(of(f.begin), of(f.end));
                          if (s.as_integer(f.step) != 1) bound = plus(bound, of(f.step));
                          vars_[f.var] = bound;
                          define(f.body);
                        },
                        [&](const If& i) {
                          define(i.then);
                          define(i.otherwise);
                        },
                        [&](const Let& l) {
                          if (is_integer(s[l.value].type)) vars_[l.var] = of(l.value);
                        },
                        [&](const Delinearize& d) {
                          // Divided by what the later coordinates count together.
                          Bound below = Polynomial::constant(1);
                          for (size_t k = d.vars.size(); k-- > 0;) {
                            if (k + 1 < d.vars.size()) add(below);
                            below = times(below, of(d.extents[k]));
                            vars_[d.vars[k]] = of(d.extents[k]);
                          }
                        },
                        [&](const Spec& spec) { define(spec.body); }, [](const Allocate&) {},
                        [](const Load&) {}, [](const Store&) {}, [](const Copy&) {},
                        [](const Shfl&) {}, [](const Barrier&) {}, [](const Atom&) {}},
               stmt.node);
}

/// A coordinate that is data, where it is nothing else.
void IndexBounds::note_gathers(const Ref& ref) {
  const Tensor& tensor = kernel_[ref.tensor];
  for (size_t i = 0; i < ref.coordinates.size(); ++i) {
    const Value& v = kernel_.values[ref.coordinates[i]];
    if (v.form != Form::convert || v.type != Type::index) continue;
    ValueId extent = host_value(kernel_, tensor.shape[i], program_.values, variant_.scalars);
    Bound bound = extent ? Bound(of_host(extent)) : std::nullopt;
    auto [at, fresh] = gathers_.try_emplace(ref.coordinates[i], bound);
    if (!fresh) at->second = plus(at->second, bound);
  }
}

Bound IndexBounds::of_ref(const Ref& ref) {
  const Tensor& tensor = kernel_[ref.tensor];
  Bound total = Polynomial();
  for (size_t i = 0; i < ref.coordinates.size(); ++i)
    total = plus(total, times(of(ref.coordinates[i]), of(tensor.stride[i])));
  if (tensor.memory != Memory::global) return total;
  // Where all parts of the offset are >= 0, none exceeds the last element of the tensor.
  for (size_t i = 0; i < ref.coordinates.size(); ++i) {
    auto form = linear_form(kernel_.values, ref.coordinates[i]);
    if (!form || kernel_.values.range(tensor.stride[i]).lo < 0) return total;
    bool gathered = gathers_.contains(ref.coordinates[i]);
    for (const auto& [monomial, coefficient] : form->terms()) {
      bool positive = coefficient >= 0;
      for (graph::ExprId atom : monomial) positive &= kernel_.values.range(value_of(atom)).lo >= 0;
      if (!positive && !gathered) return total;
    }
  }
  for (size_t p = 0; p < kernel_.params.size(); ++p)
    if (kernel_.params[p] == ref.tensor)
      return of_host(program_.buffers[variant_.bindings[p].buffer.value].elements);
  return total;
}

/// Whether a <= b wherever the host values take values of their ranges: each term of a is covered
/// by a term of b with the same atoms, or more atoms that are at least 1.
bool IndexBounds::below(const Polynomial& a, const Polynomial& b) const {
  auto left = b.terms();
  for (const auto& [monomial, coefficient] : a.terms()) {
    bool covered = false;
    for (auto& [larger, available] : left) {
      if (available < coefficient) continue;
      Polynomial::Monomial extra;
      if (!std::includes(larger.begin(), larger.end(), monomial.begin(), monomial.end())) continue;
      std::set_difference(larger.begin(), larger.end(), monomial.begin(), monomial.end(),
                          std::back_inserter(extra));
      covered = std::all_of(extra.begin(), extra.end(), [&](graph::ExprId atom) {
        return program_.values.range(value_of(atom)).lo >= 1;
      });
      if (!covered) continue;
      available -= coefficient;
      break;
    }
    if (!covered) return false;
  }
  return true;
}

void IndexBounds::add(Bound bound) {
  if (!bound) {
    complete_ = false;
    return;
  }
  for (const Polynomial& other : bounds_)
    if (below(*bound, other)) return;
  std::erase_if(bounds_, [&](const Polynomial& other) { return below(other, *bound); });
  bounds_.push_back(std::move(*bound));
}

std::optional<std::vector<Polynomial>> IndexBounds::all() {
  const ValueStore& s = kernel_.values;
  Body body = kernel_.body;
  std::vector<ValueId> roots;
  for (const BlockMode& mode : kernel_.blocks) roots.push_back(mode.extent);
  map_values(body, [&](ValueId id) {
    roots.push_back(id);
    return id;
  });
  std::vector<ValueId> values = reachable(s, roots);
  // What goes into a sum or product is bounded with it.
  std::unordered_set<ValueId> inner, operands;
  for (ValueId id : values) {
    const Value& v = s[id];
    bool sum = v.form == Form::operation && v.type == Type::index &&
               (v.op == Op::add || v.op == Op::sub || v.op == Op::mul || v.op == Op::neg);
    for (ValueId operand : v.operands) {
      operands.insert(operand);
      if (sum) inner.insert(operand);
    }
  }
  for_each_ref(body, [&](Ref& ref) { note_gathers(ref); });
  std::erase_if(gathers_, [&](const auto& g) { return operands.contains(g.first); });
  define(kernel_.body);
  // Sizes first: where they do not fit, the launcher looks no further.
  for (const Binding& binding : variant_.bindings)
    add(of_host(program_.buffers[binding.buffer.value].elements));
  for (ValueId id : values) {
    if (s[id].type != Type::index || inner.contains(id)) continue;
    // A quotient is not larger than its dividend, a remainder not than its divisor.
    bool division =
        s[id].form == Form::operation && (s[id].op == Op::floordiv || s[id].op == Op::mod);
    if (!division) add(of(id));
  }
  for_each_ref(body, [&](Ref& ref) { add(of_ref(ref)); });
  Bound grid = Polynomial::constant(1);
  for (ValueId extent : variant_.blocks) grid = times(grid, of_host(extent));
  add(grid);
  return complete_ ? std::optional(std::move(bounds_)) : std::nullopt;
}

ValueId saturated(ValueStore& host, const Polynomial& bound) {
  constexpr int64_t too_large = int64_t{1} << 31;
  auto hold = [&](ValueId v) {
    return host.binary(Op::min, v, host.integer(too_large, Type::i64));
  };
  auto wide = [&](ValueId v) { return host.range(v).hi == unbounded_above; };
  auto combine = [&](Op op, ValueId a, ValueId b) {
    ValueId result = host.binary(op, a, b);
    if (!wide(result)) return result;
    return host.binary(op, hold(a), hold(b));
  };
  ValueId sum = host.integer(bound.constant_term(), Type::i64);
  for (const auto& [monomial, coefficient] : bound.terms()) {
    if (monomial.empty()) continue;
    ValueId product;
    for (graph::ExprId atom : monomial)
      product = product ? combine(Op::mul, product, value_of(atom)) : value_of(atom);
    if (coefficient != 1) product = combine(Op::mul, product, host.integer(coefficient, Type::i64));
    sum = combine(Op::add, product, sum);
  }
  return sum;
}

} // namespace tang::legalize

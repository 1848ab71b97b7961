#include "kernel/facts.h"
#include "base/check.h"
#include "kernel/interval.h"
#include <map>
#include <numeric>

namespace tang::kernel {

using graph::ExprId;

Facts::Facts(const Kernel& kernel) : kernel_(kernel) {
  grid();
}

namespace {

/// Host variables that are declared to be multiples of a constant, or that a condition says are:
/// `mod(N, 8) == 0 and ...`.
std::map<VarId, int64_t> multiples(const ValueStore& host, ValueId condition) {
  std::map<VarId, int64_t> found;
  for (uint32_t id = 0; id < host.vars().size(); ++id)
    if (host.vars()[id].step > 1) found[VarId(id)] = host.vars()[id].step;
  std::vector<ValueId> stack;
  if (condition) stack.push_back(condition);
  while (!stack.empty()) {
    const Value& v = host[stack.back()];
    stack.pop_back();
    if (v.form != Form::operation) continue;
    if (v.op == Op::logical_and) stack.insert(stack.end(), v.operands.begin(), v.operands.end());
    if (v.op != Op::eq || host.as_integer(v.operands[1]) != 0) continue;
    const Value& mod = host[v.operands[0]];
    if (mod.form != Form::operation || mod.op != Op::mod) continue;
    const Value& dim = host[mod.operands[0]];
    auto divisor = host.as_integer(mod.operands[1]);
    if (dim.form != Form::variable || !divisor || *divisor <= 0) continue;
    int64_t& multiple = found.try_emplace(VarId(dim.ref), 1).first->second;
    multiple = checked_mul(multiple / std::gcd(multiple, *divisor), *divisor).value_or(multiple);
  }
  return found;
}

} // namespace

Facts::Facts(const Kernel& kernel, const ValueStore& host, const Variant& variant)
    : kernel_(kernel) {
  std::unordered_map<VarId, ExprId> host_vars;
  Terms host_terms;
  // A dim that is a multiple of c is c times another dim: then all that is computed from it
  // divides.
  for (const auto& [var, multiple] : multiples(host, variant.condition)) {
    const Var& dim = host[var];
    IntRange range{dim.lo ? ceildiv(*dim.lo, multiple) : unbounded_below,
                   dim.hi ? floordiv(*dim.hi, multiple) : unbounded_above};
    ExprId part = unknown(Type::i64, range);
    host_vars[var] = exprs().binary(Op::mul, part, exprs().integer(multiple));
  }
  for (size_t i = 0; i < kernel.scalars.size(); ++i)
    vars_[kernel.scalars[i].var] = translate(host, variant.scalars[i], host_terms, host_vars);
  if (variant.condition) prover_.assume(translate(host, variant.condition, host_terms, host_vars));
  grid();
}

/// A value of which only the range is known: a dim that nobody else names.
ExprId Facts::unknown(Type type, graph::IntRange range) {
  graph::Dim dim;
  dim.name = fmt::format("u{}", graph_.dims.size());
  if (type == Type::boolean || is_real(type)) range = {0, 1};
  dim.lo = range.lo, dim.hi = range.hi;
  graph::DimId id(static_cast<uint32_t>(graph_.dims.size()));
  graph_.dims.push_back(dim);
  ExprId term = exprs().dim(id);
  return type == Type::boolean ? exprs().binary(Op::lt, exprs().integer(0), term) : term;
}

Digit Facts::digit(ExprId extent, const std::string& name) {
  graph::IndexId index(indices_++);
  prover_.add_axis({index, extent, name, {}, {}});
  unconditional_.add_axis({index, extent, name, {}, {}});
  bounds_.push_back(extent);
  factors_are_positive(extent);
  return {index, extent};
}

graph::Prover Facts::about_dims() const {
  graph::Prover prover = prover_;
  prover.rewind(about_dims_);
  return prover;
}

void Facts::grid() {
  about_dims_ = prover_.mark();
  auto mode = [&](VarId coordinate, ExprId extent) {
    Digit d = digit(extent, kernel_.values[coordinate].name);
    vars_[coordinate] = exprs().index(d.index);
    grid_.push_back(d);
  };
  auto flat = [&](VarId number, const std::vector<ExprId>& extents) {
    ExprId product = exprs().integer(1);
    for (ExprId extent : extents) product = exprs().binary(Op::mul, product, extent);
    mode(number, product);
  };
  std::vector<ExprId> blocks, threads;
  for (const BlockMode& m : kernel_.blocks) blocks.push_back(term(m.extent));
  for (const ThreadMode& m : kernel_.threads) threads.push_back(exprs().integer(m.extent));
  // Coordinates bound to flat numbers are lets.
  if (kernel_.flat_block)
    flat(kernel_.flat_block, blocks);
  else
    for (size_t i = 0; i < blocks.size(); ++i) mode(kernel_.blocks[i].coordinate, blocks[i]);
  if (kernel_.flat_thread)
    flat(kernel_.flat_thread, threads);
  else
    for (size_t i = 0; i < threads.size(); ++i) mode(kernel_.threads[i].coordinate, threads[i]);
}

/// Where a value >= 0 is less than a product of values >= 0, each of them is at least 1.
void Facts::factors_are_positive(ExprId product) {
  auto p = polynomial(product);
  if (!p || p->terms().size() != 1 || p->terms().begin()->second <= 0) return;
  const graph::Polynomial::Monomial atoms = p->terms().begin()->first;
  for (ExprId atom : atoms)
    if (prover_.range(atom).lo < 0) return;
  for (ExprId atom : atoms)
    if (prover_.range(atom).lo == 0)
      prover_.assume(exprs().binary(Op::le, exprs().integer(1), atom));
}

Facts::Mark Facts::mark() const {
  return {prover_.mark(), unconditional_.mark(), bounds_.size(), splits_.size(), trail_.size()};
}

void Facts::rewind(const Mark& mark) {
  prover_.rewind(mark.facts);
  unconditional_.rewind(mark.unconditional);
  bounds_.resize(mark.bounds);
  splits_.resize(mark.splits);
  // Terms may hold splits that were possible only there.
  for (; trail_.size() > mark.terms; trail_.pop_back()) done_.erase(trail_.back());
}

void Facts::assume(ExprId condition) {
  prover_.assume(condition);
  std::vector<ExprId> stack{condition};
  while (!stack.empty()) {
    const graph::Expr e = exprs()[stack.back()];
    stack.pop_back();
    if (e.op == Op::logical_and) stack.insert(stack.end(), e.operands.begin(), e.operands.end());
    if (e.op != Op::lt || exprs()[e.operands[0]].scalar != graph::Scalar::integer) continue;
    bounds_.push_back(e.operands[1]);
    if (prover_.less_equal(exprs().integer(0), e.operands[0])) factors_are_positive(e.operands[1]);
  }
}

namespace {

/// p / (factor*atom) where that leaves nothing.
std::optional<graph::Polynomial> divided(const graph::Polynomial& p, int64_t factor, ExprId atom) {
  auto parts = p.split(atom);
  if (!parts || parts->first.is_zero() || !parts->second.is_zero()) return std::nullopt;
  graph::Polynomial result;
  for (const auto& [atoms, coefficient] : parts->first.terms()) {
    if (coefficient % factor != 0) return std::nullopt;
    auto term = graph::Polynomial::constant(coefficient / factor);
    for (ExprId other : atoms) term = *term.times(graph::Polynomial::atom(other));
    result = *result.plus(term);
  }
  return result;
}

} // namespace

/// A quotient by `divisor`: below every E for which x < divisor*E is known.
ExprId Facts::quotient(ExprId x, const graph::Polynomial& divisor) {
  const auto& [atoms, factor] = *divisor.terms().begin();
  if (divisor.terms().size() == 1 && factor > 0 && atoms.size() == 1)
    for (size_t i = bounds_.size(); i-- > 0;) {
      auto bound = polynomial(bounds_[i]);
      auto below = bound ? divided(*bound, factor, atoms[0]) : std::nullopt;
      if (!below || !prover_.less(x, bounds_[i])) continue;
      graph::IndexId index(indices_++);
      ExprId extent = graph::build(exprs(), *below);
      prover_.add_axis({index, extent, "q", {}, {}});
      bounds_.push_back(extent);
      return exprs().index(index);
    }
  return unknown(Type::index, {0, unbounded_above});
}

ExprId Facts::divide(Op op, ExprId x, ExprId divisor) {
  if (exprs().as_integer(divisor)) return exprs().binary(op, x, divisor);
  for (const Split& split : splits_)
    if (split.x == x && split.divisor == divisor)
      return op == Op::floordiv ? split.quotient : split.remainder;
  auto p = polynomial(divisor);
  ExprId one = exprs().integer(1), zero = exprs().integer(0);
  if (!p || !prover_.less_equal(one, divisor) || !prover_.less_equal(zero, x)) return {};
  graph::IndexId index(indices_++);
  prover_.add_axis({index, divisor, "r", {}, {}});
  Split split{x, divisor, quotient(x, *p), exprs().index(index)};
  ExprId whole = exprs().binary(Op::mul, split.quotient, divisor);
  prover_.assume(exprs().binary(Op::eq, x, exprs().binary(Op::add, whole, split.remainder)));
  splits_.push_back(split);
  return op == Op::floordiv ? split.quotient : split.remainder;
}

ExprId Facts::translate_one(const ValueStore& store, const Value& v, const Terms& done) {
  auto& e = exprs();
  auto in = [&](size_t i) { return done.at(v.operands[i]); };
  auto integer_operand = [&] { return is_integer(store[v.operands[0]].type); };
  switch (v.form) {
  case Form::literal:
    if (is_real(v.type)) return {};
    return v.type == Type::boolean ? e.boolean(v.integer) : e.integer(v.integer);
  case Form::variable:
  case Form::element:
  case Form::round: return {};
  case Form::convert: return is_integer(v.type) && integer_operand() ? in(0) : ExprId();
  case Form::operation: break;
  }
  if (is_real(v.type)) return {};
  switch (v.op) {
  case Op::add:
  case Op::sub:
  case Op::mul:
  case Op::min:
  case Op::max:
  case Op::logical_and:
  case Op::logical_or: return e.binary(v.op, in(0), in(1));
  case Op::floordiv:
  case Op::mod: return divide(v.op, in(0), in(1));
  case Op::eq:
  case Op::ne:
  case Op::lt:
  case Op::le: return integer_operand() ? e.binary(v.op, in(0), in(1)) : ExprId();
  case Op::neg:
  case Op::abs:
  case Op::logical_not: return e.unary(v.op, in(0));
  case Op::select: return e.select(in(0), in(1), in(2));
  default: return {};
  }
}

ExprId Facts::translate(const ValueStore& store, ValueId root, Terms& done,
                        std::unordered_map<VarId, ExprId>& vars) {
  if (auto at = done.find(root); at != done.end()) return at->second;
  std::unordered_set<ValueId> changing; // registers change, so what reads them is new each time
  for (ValueId id : reachable(store, {&root, 1})) {
    const Value& v = store[id];
    bool changes = v.form == Form::element;
    for (ValueId operand : v.operands) changes |= changing.contains(operand);
    if (changes)
      changing.insert(id);
    else if (done.contains(id))
      continue;
    ExprId term;
    if (v.form == Form::variable) {
      auto [at, fresh] = vars.try_emplace(VarId(v.ref));
      if (fresh) at->second = unknown(v.type, store.range(id));
      term = at->second;
    } else {
      term = translate_one(store, v, done);
      if (!term) term = unknown(v.type, store.range(id));
    }
    done[id] = term;
    if (&done == &done_) trail_.push_back(id);
  }
  ExprId result = done.at(root);
  for (ValueId id : changing) done.erase(id);
  return result;
}

ExprId Facts::term(ValueId id) {
  return translate(kernel_.values, id, done_, vars_);
}

void Facts::walk(const std::function<void(const Stmt&, const Place&)>& visit) {
  Place place;
  place.digits = grid_;
  body(kernel_.body, place, visit);
}

void Facts::loop(const For& loop, Place& place,
                 const std::function<void(const Stmt&, const Place&)>& visit) {
  auto& e = exprs();
  ExprId begin = term(loop.begin), rounds = e.binary(Op::sub, term(loop.end), begin);
  auto step = kernel_.values.as_integer(loop.step);
  ExprId scale = term(loop.step);
  if (step && *step > 1)
    rounds = e.binary(Op::floordiv, e.binary(Op::add, rounds, e.integer(*step - 1)), scale);
  Mark before = mark();
  Digit d = digit(rounds, kernel_.values[loop.var].name);
  ExprId offset = e.binary(Op::mul, e.index(d.index), scale);
  vars_[loop.var] = e.binary(Op::add, begin, offset);
  // A step that is no constant: the last round is known from the end only.
  if (!step) prover_.assume(e.binary(Op::lt, vars_[loop.var], term(loop.end)));
  // `thread .. N step 512` has as many rounds for every thread, with a guard `< N`.
  bool shifted = step && *step > 1 && !kernel_.values.as_integer(loop.begin) &&
                 prover_.less_equal(e.integer(0), begin);
  if (shifted) {
    ExprId rounded = e.binary(Op::add, term(loop.end), e.integer(*step - 1));
    d.extent = e.binary(Op::floordiv, rounded, scale);
    place.conditions.push_back(e.binary(Op::lt, vars_[loop.var], term(loop.end)));
  }
  place.digits.push_back(d);
  ++place.branches;
  body(loop.body, place, visit);
  --place.branches;
  place.digits.pop_back();
  if (shifted) place.conditions.pop_back();
  rewind(before);
}

void Facts::branch(const Body& statements, ExprId condition, Place& place,
                   const std::function<void(const Stmt&, const Place&)>& visit) {
  Mark before = mark();
  assume(condition);
  place.conditions.push_back(condition);
  ++place.branches;
  body(statements, place, visit);
  --place.branches;
  place.conditions.pop_back();
  rewind(before);
}

void Facts::body(const Body& statements, Place& place,
                 const std::function<void(const Stmt&, const Place&)>& visit) {
  for (const Stmt& stmt : statements) {
    visit(stmt, place);
    std::visit(Overload{[&](const For& s) { loop(s, place, visit); },
                        [&](const If& s) {
                          ExprId condition = term(s.condition);
                          branch(s.then, condition, place, visit);
                          branch(s.otherwise, exprs().unary(Op::logical_not, condition), place,
                                 visit);
                        },
                        [&](const Spec& s) { body(s.body, place, visit); },
                        [&](const Let& s) {
                          if (!is_real(kernel_.values[s.value].type)) vars_[s.var] = term(s.value);
                        },
                        [](const Allocate&) {}, [](const Load&) {}, [](const Store&) {},
                        [](const Copy&) {}, [](const Shfl&) {}, [](const Barrier&) {}},
               stmt.node);
  }
}

} // namespace tang::kernel

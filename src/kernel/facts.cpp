#include "kernel/facts.h"
#include "base/checked.h"
#include "kernel/equations.h"
#include "kernel/interval.h"
#include "kernel/linear.h"
#include "kernel/value_terms.h"

namespace tang::kernel {

using graph::ExprId;

namespace {

/// What reads registers, which change: by value.
std::vector<bool> changing_values(const ValueStore& store) {
  std::vector<bool> changing(store.size());
  for (uint32_t i = 0; i < store.size(); ++i) {
    const Value& v = store[ValueId(i)];
    bool changes = v.form == Form::element;
    for (ValueId operand : v.operands) changes = changes || changing[operand.value];
    changing[i] = changes;
  }
  return changing;
}

} // namespace

Facts::Facts(const Kernel& kernel)
    : kernel_(kernel), terms_(kernel.values.size()), changing_(changing_values(kernel.values)) {
  for (const ScalarParam& scalar : kernel.scalars) {
    const Var& var = kernel.values[scalar.var];
    vars_[scalar.var] =
        unknown(var.type, {var.lo.value_or(unbounded_below), var.hi.value_or(unbounded_above)});
  }
  grid({});
}

Facts::Facts(const Kernel& kernel, const ValueStore& host, const Variant& variant,
             std::span<const Loop* const> loops)
    : kernel_(kernel), terms_(kernel.values.size()), changing_(changing_values(kernel.values)) {
  Vars host_vars;
  std::vector<ExprId> host_terms;
  ValueTerms host_values(exprs(), host, host_vars, host_terms, unknowns());
  auto host_term = [&](ValueId id) { return host_values.term(id); };
  // Where N + r is a multiple of c, N is c*u - r for another dim u: then all that is computed from
  // N + r divides. Where it is a constant, N is that less r.
  auto solve = [&](ValueId value, auto&& right_side) {
    auto form = linear_form(host, value);
    auto alone = form ? lone_variable(host, *form, host_vars) : std::nullopt;
    if (!alone) return;
    ExprId solved = right_side();
    for (const auto& [monomial, coefficient] : form->terms()) {
      if (monomial == graph::Polynomial::Monomial{alone->atom}) continue;
      ExprId product = exprs().integer(coefficient);
      for (ExprId atom : monomial)
        product = exprs().binary(Op::mul, product, host_term(value_of(atom)));
      solved = exprs().binary(Op::sub, solved, product);
    }
    host_vars[alone->var] = alone->sign > 0 ? solved : exprs().unary(Op::neg, solved);
  };
  auto one_of = [&](IntRange range, Residues r) {
    if (range.lo != unbounded_below) range.lo = ceildiv(range.lo - r.rest, r.modulus);
    if (range.hi != unbounded_above) range.hi = floordiv(range.hi - r.rest, r.modulus);
    return exprs().binary(
        Op::add, exprs().integer(r.rest),
        exprs().binary(Op::mul, exprs().integer(r.modulus), unknown(Type::i64, range)));
  };
  Equations equations = equations_of(host, variant.condition);
  for (const auto& [value, constant] : equations.constants)
    solve(value, [&, c = constant] { return exprs().integer(c); });
  // Declared steps, and what is said of a single dim; sums of dims then know them.
  std::vector<Residues> residues;
  for (const Var& var : host.vars()) residues.push_back({std::max<int64_t>(var.step, 1), 0});
  std::vector<std::pair<ValueId, int64_t>> sums;
  for (const auto& [value, multiple] : equations.multiples) {
    auto form = linear_form(host, value);
    auto line = form ? line_of(host, *form) : std::nullopt;
    if (line)
      residues[line->var.value].keep(line->factor, line->offset, multiple);
    else
      sums.emplace_back(value, multiple);
  }
  for (uint32_t id = 0; id < residues.size(); ++id) {
    const Var& var = host.vars()[id];
    if (residues[id].modulus > 1 && !host_vars.contains(VarId(id)))
      host_vars[VarId(id)] = one_of(
          {var.lo.value_or(unbounded_below), var.hi.value_or(unbounded_above)}, residues[id]);
  }
  for (const auto& [value, multiple] : sums)
    solve(value, [&, v = value, c = multiple] { return one_of(host.range(v), {c, 0}); });
  for (const Loop* loop : loops) {
    steps_.push_back(digit(host_term(loop->extent), host[loop->var].name));
    host_vars[loop->var] = steps_.back().index;
  }
  for (size_t i = 0; i < kernel.scalars.size(); ++i)
    vars_[kernel.scalars[i].var] = host_term(variant.scalars[i]);
  if (variant.condition)
    for (graph::Prover* prover : {&prover_, &about_dims_})
      prover->assume(host_term(variant.condition));
  std::vector<ExprId> launched;
  for (ValueId extent : variant.blocks) launched.push_back(host_term(extent));
  grid(launched);
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

/// A new digit; `conditional` where that it exists is due to the conditions around.
Digit Facts::digit(ExprId extent, const std::string& name, bool conditional) {
  graph::IndexId index(static_cast<uint32_t>(axes_.size()));
  axes_.push_back({extent, conditional});
  prover_.add_axis({index, extent, name, {}, {}});
  return {exprs().index(index), extent};
}

graph::Prover Facts::unconditional() const {
  graph::Prover prover = about_dims_;
  for (uint32_t i = 0; i < axes_.size(); ++i)
    if (!axes_[i].conditional) prover.add_axis({graph::IndexId(i), axes_[i].extent, {}, {}, {}});
  return prover;
}

bool Facts::is_digit_below(ExprId term, ExprId extent) const {
  const graph::Expr& e = graph_.exprs[term];
  if (e.op != Op::index) return false;
  ExprId own = axes_[e.ref].extent;
  return own == extent || polynomial(own) == polynomial(extent);
}

ExprId Facts::product(std::span<const ExprId> extents) {
  ExprId product = exprs().integer(1);
  for (ExprId extent : extents) product = exprs().binary(Op::mul, product, extent);
  return product;
}

void Facts::grid(std::span<const ExprId> launched) {
  auto mode = [&](VarId coordinate, ExprId extent) {
    Digit d = digit(extent, kernel_.values[coordinate].name);
    vars_[coordinate] = d.index;
    grid_.push_back(d);
  };
  std::vector<ExprId> blocks, threads;
  for (const BlockMode& m : kernel_.blocks) blocks.push_back(term(m.extent));
  for (const ThreadMode& m : kernel_.threads) threads.push_back(exprs().integer(m.extent));
  for (size_t i = 0; i < launched.size() && i < blocks.size(); ++i)
    if (launched[i] != blocks[i] && polynomial(launched[i]) != polynomial(blocks[i]))
      disagreement_ = fmt::format("it is launched with another extent of `{}` than it counts on",
                                  kernel_.values[kernel_.blocks[i].coordinate].name);
  // Coordinates that come from flat numbers are no variables of their own.
  if (kernel_.flat_block)
    mode(kernel_.flat_block, product(blocks));
  else
    for (size_t i = 0; i < blocks.size(); ++i) mode(kernel_.blocks[i].coordinate, blocks[i]);
  if (kernel_.flat_thread)
    mode(kernel_.flat_thread, product(threads));
  else
    for (size_t i = 0; i < threads.size(); ++i) mode(kernel_.threads[i].coordinate, threads[i]);
}

void Facts::assume(ExprId condition) {
  prover_.assume(condition);
  // What is said of a quotient says the same of what is divided: floordiv(x, c) < b is x < c*b.
  auto& e = exprs();
  auto dividend = [&](ExprId id) {
    const graph::Expr& q = e[id];
    bool divides = q.op == Op::floordiv && e.as_integer(q.operands[1]).value_or(0) > 0;
    return divides ? std::optional(std::pair(q.operands[0], q.operands[1])) : std::nullopt;
  };
  std::vector<ExprId> open{condition};
  while (!open.empty()) {
    const graph::Expr part = e[open.back()]; // a copy: terms are made below
    open.pop_back();
    if (part.op == Op::logical_and) {
      open.insert(open.end(), part.operands.begin(), part.operands.end());
    } else if (part.op == Op::lt || part.op == Op::le) {
      ExprId a = part.operands[0], b = part.operands[1], one = e.integer(1);
      if (auto x = dividend(a)) {
        ExprId end = part.op == Op::lt ? b : e.binary(Op::add, b, one);
        prover_.assume(e.binary(Op::lt, x->first, e.binary(Op::mul, x->second, end)));
      }
      if (auto x = dividend(b)) {
        ExprId least = part.op == Op::le ? a : e.binary(Op::add, a, one);
        prover_.assume(e.binary(Op::le, e.binary(Op::mul, x->second, least), x->first));
      }
    }
  }
}

Facts::Mark Facts::mark() const {
  return {prover_.mark(), trail_.size(), splits_.size(), axes_.size()};
}

void Facts::rewind(const Mark& mark) {
  prover_.rewind(mark.facts);
  splits_.resize(mark.splits);
  axes_.resize(mark.axes);
  // Terms hold indices that are given anew.
  for (; trail_.size() > mark.terms; trail_.pop_back()) terms_[trail_.back().value] = {};
}

ExprId Facts::term(ValueId root) {
  if (terms_[root.value]) return terms_[root.value];
  std::vector<ValueId> changed;
  ValueTerms values(exprs(), kernel_.values, vars_, terms_, unknowns());
  ExprId result = values.term(
      root, [&](ValueId id) { (changing_[id.value] ? changed : trail_).push_back(id); });
  for (ValueId id : changed) terms_[id.value] = {};
  return result;
}

} // namespace tang::kernel

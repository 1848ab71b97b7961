// Every access lies in its tensor: one proof per coordinate, from loop bounds and conditions. The
// same for flat numbers, which are below the product of their coordinates' extents, and for what
// variables are said to be in.
#include "base/check.h"
#include "kernel/interval.h"
#include "kernel/proofs.h"
#include <algorithm>

namespace tang::kernel {

RangeProof::RangeProof(Facts& facts) : facts_(facts), kernel_(facts.kernel()) {
  for (const ScalarParam& scalar : kernel_.scalars)
    holds(scalar.var, facts_.prover().range(facts_.term(scalar.var)));
  modes();
}

void RangeProof::visit(const Stmt& stmt) {
  std::visit(Overload{[&](const For& s) {
                        values({s.begin, s.end, s.step});
                        holds(s.var, {kernel_.values.range(s.begin).lo, last_below(s.end)});
                      },
                      [&](const If& s) { values({s.condition}); },
                      [&](const Let& s) {
                        values({s.value});
                        holds(s.var, kernel_.values.range(s.value));
                      },
                      [&](const Delinearize& s) {
                        values({s.value});
                        number(s);
                        for (size_t i = 0; i < s.vars.size(); ++i)
                          holds(s.vars[i], {0, last_below(s.extents[i])});
                      },
                      [&](const Load& s) {
                        under(s.predicate, [&] { access(s.src, 1); });
                        values({s.predicate, s.otherwise});
                      },
                      [&](const Store& s) {
                        under(s.predicate, [&] {
                          access(s.dst, 1);
                          values({s.value});
                        });
                        values({s.predicate});
                      },
                      [&](const Copy& s) {
                        under(s.predicate, [&] {
                          access(s.dst, s.width);
                          access(s.src, s.width);
                        });
                        values({s.predicate});
                      },
                      [&](const Atom& s) {
                        under(s.predicate, [&] {
                          for (size_t i = 0; i < s.operands.size(); ++i)
                            access(s.operands[i], s.row->operands[i].values);
                        });
                        values({s.predicate});
                      },
                      [&](const Shfl& s) { values({s.value}); }, [](const Allocate&) {},
                      [](const Barrier&) {}, [](const Spec&) {}},
             stmt.node);
}

namespace {

int64_t last_of(IntRange end) {
  return end.hi == unbounded_above ? end.hi : end.hi - 1;
}

} // namespace

int64_t RangeProof::last_below(ValueId end) const {
  return last_of(kernel_.values.range(end));
}

void RangeProof::modes() {
  IntRange blocks{1, 1};
  for (const BlockMode& mode : kernel_.blocks) {
    holds(mode.coordinate, {0, last_below(mode.extent)});
    blocks = multiply(blocks, kernel_.values.range(mode.extent));
  }
  for (const ThreadMode& mode : kernel_.threads) holds(mode.coordinate, {0, mode.extent - 1});
  if (kernel_.flat_block) holds(kernel_.flat_block, {0, last_of(blocks)});
  if (kernel_.flat_thread) holds(kernel_.flat_thread, {0, kernel_.thread_count() - 1});
}

/// Ranges of values count on what variables are said to be in, so that must follow from how they
/// are defined. A range without values belongs to what never runs.
void RangeProof::holds(VarId id, IntRange defined) {
  const Var& var = kernel_.values[id];
  int64_t lo = var.lo.value_or(unbounded_below), hi = var.hi.value_or(unbounded_above);
  if (defined.lo > defined.hi || (defined.lo >= lo && defined.hi <= hi)) return;
  report_.unproved.push_back(fmt::format("`{}` in kernel `{}` is said to be in {}..{}, not {}..{}",
                                         var.name, kernel_.name, lo, hi, defined.lo, defined.hi));
}

template <class F>
void RangeProof::under(ValueId predicate, F&& inside) {
  if (!predicate) return inside();
  graph::ExprId condition = facts_.term(predicate);
  if (facts_.exprs().as_boolean(condition) == false) return;
  Facts::Mark mark = facts_.mark();
  facts_.assume(condition);
  predicate_ = condition;
  inside();
  predicate_ = {};
  facts_.rewind(mark);
}

/// Register elements that values read.
void RangeProof::values(std::initializer_list<ValueId> roots) {
  for (ValueId root : roots) {
    if (!root || !facts_.reads_registers(root)) continue;
    for (ValueId id : reachable(kernel_.values, {&root, 1})) {
      const Value& v = kernel_.values[id];
      if (v.form == Form::element)
        access({TensorId(v.ref), {v.operands.begin(), v.operands.end()}}, 1);
    }
  }
}

namespace {

/// The mode along which neighbours lie next to each other; none for scalars.
std::optional<size_t> contiguous_mode(const ValueStore& values, const Tensor& tensor) {
  for (size_t i = tensor.stride.size(); i-- > 0;)
    if (values.as_integer(tensor.stride[i]) == 1) return i;
  return std::nullopt;
}

} // namespace

void RangeProof::access(const Ref& ref, int width) {
  const Tensor& tensor = kernel_[ref.tensor];
  auto inner = width > 1 ? contiguous_mode(kernel_.values, tensor) : std::nullopt;
  for (size_t i = 0; i < ref.coordinates.size(); ++i) {
    int places = inner == i ? width : 1;
    if (is_in_range(ref.coordinates[i], tensor.shape[i], places) ||
        is_in_range_by_cases(ref.coordinates[i], tensor.shape[i], places))
      ++report_.proved;
    else
      report_.unproved.push_back(
          fmt::format("coordinate {} of `{}` in kernel `{}` is not proved in range", i, tensor.name,
                      kernel_.name));
  }
}

/// Whether `width` places from `place` on are in 0 .. extent.
bool RangeProof::is_in_range(ValueId place, ValueId extent, int width) {
  IntRange at = kernel_.values.range(place), size = kernel_.values.range(extent);
  if (at.lo >= 0 && size.lo >= width && at.hi <= size.lo - width) return true;
  auto& e = facts_.exprs();
  graph::ExprId first = facts_.term(place), end = facts_.term(extent);
  if (width == 1 && facts_.is_digit_below(first, end)) return true;
  graph::ExprId last = width == 1 ? first : e.binary(Op::add, first, e.integer(width - 1));
  const graph::Prover& known = facts_.prover();
  return (at.lo >= 0 || known.less_equal(e.integer(0), first)) && known.less(last, end);
}

namespace {

/// Conditions of which one holds where `root` does: alternatives are taken apart, so that each says
/// what it needs. The condition itself where there are none, or too many.
std::vector<graph::ExprId> cases_of(graph::ExprStore& store, graph::ExprId root) {
  constexpr size_t most = 16;
  std::vector<graph::ExprId> cases, open;
  if (root) open.push_back(root);
  while (!open.empty()) {
    if (cases.size() + open.size() > most) return {root};
    graph::ExprId id = open.back();
    open.pop_back();
    // The first alternative among the conjuncts, and what stands beside it.
    graph::ExprId either, rest;
    std::vector<graph::ExprId> conjuncts{id};
    while (!conjuncts.empty()) {
      graph::ExprId part = conjuncts.back();
      conjuncts.pop_back();
      const graph::Expr e = store[part];
      if (e.op == Op::logical_and)
        conjuncts.insert(conjuncts.end(), e.operands.begin(), e.operands.end());
      else if (e.op == Op::logical_or && !either)
        either = part;
      else
        rest = rest ? store.logical_and(rest, part) : part;
    }
    if (!either) {
      cases.push_back(id);
      continue;
    }
    const auto alternatives = store[either].operands;
    for (graph::ExprId alternative : alternatives)
      open.push_back(rest ? store.logical_and(alternative, rest) : alternative);
  }
  return cases;
}

} // namespace

/// The same, one alternative of the predicate at a time; what is never reached is in range as well.
bool RangeProof::is_in_range_by_cases(ValueId place, ValueId extent, int width) {
  if (facts_.prover().contradictory()) return true;
  auto cases = cases_of(facts_.exprs(), predicate_);
  return cases.size() > 1 && std::all_of(cases.begin(), cases.end(), [&](graph::ExprId condition) {
           Facts::Mark mark = facts_.mark();
           facts_.assume(condition);
           bool holds = is_in_range(place, extent, width) || facts_.prover().contradictory();
           facts_.rewind(mark);
           return holds;
         });
}

void RangeProof::number(const Delinearize& s) {
  auto& e = facts_.exprs();
  graph::ExprId number = facts_.term(s.value), end = e.integer(1);
  for (ValueId extent : s.extents) end = e.binary(Op::mul, end, facts_.term(extent));
  const graph::Prover& known = facts_.prover();
  if (facts_.is_digit_below(number, end) ||
      ((kernel_.values.range(s.value).lo >= 0 || known.less_equal(e.integer(0), number)) &&
       known.less(number, end)))
    ++report_.proved;
  else
    report_.unproved.push_back(
        fmt::format("the number that `{}` comes from in kernel `{}` is not proved in range",
                    kernel_.values[s.vars[0]].name, kernel_.name));
}

} // namespace tang::kernel

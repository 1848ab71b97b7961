// How facts change from statement to statement: what loops, branches, lets, coordinates and loads
// say of the variables they define, and which conditions hold inside.
#include "base/check.h"
#include "kernel/facts.h"
#include "kernel/interval.h"

namespace tang::kernel {

using graph::ExprId;

void Facts::walk(const std::function<void(const Stmt&, const Place&)>& visit) {
  Place place;
  place.digits = grid_;
  Mark before = mark();
  body(kernel_.body, place, visit);
  rewind(before);
}

namespace {

/// What a value is the least of: the operands of nested minima, or the value itself.
std::vector<ExprId> minimum_of(const graph::ExprStore& store, ExprId root) {
  std::vector<ExprId> parts, stack{root};
  while (!stack.empty()) {
    ExprId id = stack.back();
    stack.pop_back();
    const graph::Expr& e = store[id];
    if (e.op == Op::min)
      stack.insert(stack.end(), e.operands.rbegin(), e.operands.rend());
    else
      parts.push_back(id);
  }
  return parts;
}

/// Takes one out of `bounds` that is the same for every value of the indices, a literal if there is
/// one. Empty where there is none.
ExprId take_fixed(const graph::ExprStore& store, std::vector<ExprId>& bounds) {
  auto fixed = std::find_if(bounds.begin(), bounds.end(),
                            [&](ExprId id) { return store.as_integer(id).has_value(); });
  if (fixed == bounds.end())
    fixed = std::find_if(bounds.begin(), bounds.end(),
                         [&](ExprId id) { return store[id].free.empty(); });
  if (fixed == bounds.end()) return {};
  ExprId id = *fixed;
  bounds.erase(fixed);
  return id;
}

} // namespace

void Facts::loop(const For& loop, Place& place,
                 const std::function<void(const Stmt&, const Place&)>& visit) {
  auto& e = exprs();
  ExprId begin = term(loop.begin), end = term(loop.end), step = term(loop.step);
  auto stride = kernel_.values.as_integer(loop.step);
  ExprId rounds = e.as_integer(begin) == 0 ? end : e.binary(Op::sub, end, begin);
  auto rounded = [&](ExprId id) {
    return e.binary(Op::floordiv, e.binary(Op::add, id, e.integer(*stride - 1)), step);
  };
  if (stride && *stride > 1) rounds = rounded(rounds);
  Place outer = place;
  Mark before = mark();
  Digit d = digit(rounds, kernel_.values[loop.var].name);
  ExprId at = e.binary(Op::add, begin, e.binary(Op::mul, d.index, step));
  vars_[loop.var] = at;
  // The extent of `d` says it where rounds do not skip and begin at a number; else the end does,
  // and each bound of which it is the least.
  std::vector<ExprId> bounds = minimum_of(e, end);
  if (stride != 1) prover_.assume(e.binary(Op::lt, at, end));
  if (bounds.size() > 1 || !e.as_integer(begin))
    for (ExprId bound : bounds) prover_.assume(e.binary(Op::lt, at, bound));
  bool counts_up = stride == 1 && e.as_integer(begin) == 0 && bounds.size() > 1;
  if (stride && *stride > 1 && !e.as_integer(begin) && prover_.less_equal(e.integer(0), begin)) {
    // `thread .. N step 512` has as many rounds for every thread, with a guard `< N`.
    d.extent = rounded(end);
    place.conditions.push_back(e.binary(Op::lt, at, end));
  } else if (ExprId fixed = counts_up ? take_fixed(e, bounds) : ExprId()) {
    // `0 .. min(4, N - i)` has 4 rounds with a guard `< N - i`.
    d.extent = fixed;
    for (ExprId bound : bounds) place.conditions.push_back(e.binary(Op::lt, at, bound));
  }
  place.digits.push_back(d);
  body(loop.body, place, visit);
  place = std::move(outer);
  rewind(before);
}

void Facts::branch(const Body& statements, ExprId condition, Place& place,
                   const std::function<void(const Stmt&, const Place&)>& visit) {
  if (exprs().as_boolean(condition) == false) return;
  Place outer = place;
  Mark before = mark();
  // That not all parts of a condition hold says nothing about any of them.
  const graph::Expr& e = exprs()[condition];
  bool parts_fail = e.op == Op::logical_not && exprs()[e.operands[0]].op == Op::logical_and;
  if (!parts_fail) assume(condition);
  place.conditions.push_back(condition);
  body(statements, place, visit);
  place = std::move(outer);
  rewind(before);
}

void Facts::delinearize(const Delinearize& s, Place& place) {
  std::vector<ExprId> extents;
  for (ValueId extent : s.extents) extents.push_back(term(extent));
  // A digit that the coordinates stand for whole gives its place to them.
  ExprId number = term(s.value);
  auto whole = std::find_if(place.digits.begin(), place.digits.end(), [&](const Digit& d) {
    return d.index == number && polynomial(d.extent) == polynomial(product(extents));
  });
  bool is_whole = whole != place.digits.end();
  Split split{number, {}};
  for (size_t i = 0; i < extents.size(); ++i) {
    split.digits.push_back(digit(extents[i], kernel_.values[s.vars[i]].name, !is_whole));
    vars_[s.vars[i]] = split.digits.back().index;
  }
  if (is_whole) {
    whole = place.digits.erase(whole);
    place.digits.insert(whole, split.digits.begin(), split.digits.end());
  } else {
    splits_.push_back(std::move(split));
  }
}

/// Of what is read, no more is known than the format in which it is stored.
void Facts::load(const Load& s) {
  Type type = kernel_.values[s.var].type;
  if (!is_integer(type)) return;
  IntRange range = graph::range_of(kernel_[s.src.tensor].type);
  if (s.otherwise) range = join(range, kernel_.values.range(s.otherwise));
  vars_[s.var] = unknown(type, range);
}

void Facts::body(const Body& statements, Place& place,
                 const std::function<void(const Stmt&, const Place&)>& visit) {
  for (const Stmt& stmt : statements) {
    visit(stmt, place);
    std::visit(
        Overload{[&](const For& s) { loop(s, place, visit); },
                 [&](const If& s) {
                   ExprId condition = term(s.condition);
                   branch(s.then, condition, place, visit);
                   if (!s.otherwise.empty())
                     branch(s.otherwise, exprs().unary(Op::logical_not, condition), place, visit);
                 },
                 [&](const Spec& s) { body(s.body, place, visit); },
                 [&](const Let& s) {
                   if (!is_real(kernel_.values[s.value].type)) vars_[s.var] = term(s.value);
                 },
                 [&](const Delinearize& s) { delinearize(s, place); },
                 [&](const Load& s) { load(s); }, [](const Allocate&) {}, [](const Store&) {},
                 [](const Copy&) {}, [](const Shfl&) {}, [](const Barrier&) {}, [](const Atom&) {}},
        stmt.node);
  }
}

} // namespace tang::kernel

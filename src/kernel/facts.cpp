#include "kernel/facts.h"
#include "base/check.h"
#include "base/checked.h"
#include "kernel/interval.h"
#include "kernel/linear.h"
#include <map>

namespace tang::kernel {

using graph::ExprId;

/// Values as terms: all operands first, each value once.
class Facts::Translation {
public:
  Translation(Facts& facts, const ValueStore& store, Vars& vars, std::vector<ExprId>& done)
      : facts_(facts), e_(facts.exprs()), store_(store), vars_(vars), done_(done) {
    done_.resize(store.size());
  }

  /// `made` is told of every value that gets a term.
  template <class F>
  ExprId operator()(ValueId root, F&& made) {
    std::vector<ValueId> stack{root};
    while (!stack.empty()) {
      ValueId id = stack.back();
      if (done_[id.value]) {
        stack.pop_back();
        continue;
      }
      const Value& v = store_[id];
      bool ready = true;
      if (has_meaning(v))
        for (ValueId operand : v.operands)
          if (!done_[operand.value]) stack.push_back(operand), ready = false;
      if (!ready) continue;
      stack.pop_back();
      ExprId term = one(id, v);
      done_[id.value] = term ? term : facts_.unknown(v.type, store_.range(id));
      made(id);
    }
    return done_[root.value];
  }

private:
  bool is_integer_operand(const Value& v) const { return is_integer(store_[v.operands[0]].type); }

  /// Whether the value's operands say what it is: integers and booleans made of such.
  bool has_meaning(const Value& v) const {
    if (is_real(v.type)) return false;
    if (v.form == Form::convert) return is_integer(v.type) && is_integer_operand(v);
    if (v.form != Form::operation) return false;
    switch (v.op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::min:
    case Op::max:
    case Op::neg:
    case Op::abs:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_not:
    case Op::select: return true;
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le: return is_integer_operand(v);
    // The prover knows quotients by constants.
    case Op::floordiv:
    case Op::mod: return store_.as_integer(v.operands[1]).value_or(0) > 0;
    default: return false;
    }
  }

  /// Empty for what has no meaning in the graph.
  ExprId one(ValueId id, const Value& v) {
    auto in = [&](size_t i) { return done_[v.operands[i].value]; };
    switch (v.form) {
    case Form::literal:
      if (is_real(v.type)) return {};
      return v.type == Type::boolean ? e_.boolean(v.integer) : e_.integer(v.integer);
    case Form::variable: {
      auto [at, fresh] = vars_.try_emplace(VarId(v.ref));
      if (fresh) at->second = facts_.unknown(v.type, store_.range(id));
      return at->second;
    }
    case Form::convert: return has_meaning(v) ? in(0) : ExprId();
    case Form::element:
    case Form::round: return {};
    case Form::operation: break;
    }
    if (!has_meaning(v)) return {};
    if (v.op == Op::floordiv || v.op == Op::mod)
      return e_.binary(v.op, graph::canonical(e_, in(0)), in(1));
    if (v.op == Op::select) return e_.select(in(0), in(1), in(2));
    return v.operands.size() == 1 ? e_.unary(v.op, in(0)) : e_.binary(v.op, in(0), in(1));
  }

  Facts& facts_;
  graph::ExprStore& e_;
  const ValueStore& store_;
  Vars& vars_;
  std::vector<ExprId>& done_;
};

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

/// What a condition says about host values: `mod(N + 1, 8) == 0 and M == 3` is that N + 1 is 8
/// times something, and M 3.
struct Equations {
  std::map<ValueId, int64_t> multiples, constants;
};
Equations equations_of(const ValueStore& host, ValueId condition) {
  Equations found;
  std::vector<ValueId> stack;
  if (condition) stack.push_back(condition);
  while (!stack.empty()) {
    const Value& v = host[stack.back()];
    stack.pop_back();
    if (v.form != Form::operation) continue;
    if (v.op == Op::logical_and) stack.insert(stack.end(), v.operands.begin(), v.operands.end());
    auto constant = v.op == Op::eq ? host.as_integer(v.operands[1]) : std::nullopt;
    if (!constant) continue;
    const Value& left = host[v.operands[0]];
    bool mod = left.form == Form::operation && left.op == Op::mod;
    auto divisor = mod ? host.as_integer(left.operands[1]) : std::nullopt;
    if (!mod) found.constants[v.operands[0]] = *constant;
    if (constant != 0 || divisor.value_or(0) <= 0) continue;
    int64_t& multiple = found.multiples.try_emplace(left.operands[0], 1).first->second;
    multiple =
        checked_mul(multiple / common_divisor(multiple, *divisor), *divisor).value_or(multiple);
  }
  return found;
}

/// The values that a variable may take: modulus*u + rest for any integer u.
struct Residues {
  int64_t modulus = 1, rest = 0;

  /// Keeps those for which factor*value + offset is a multiple of c. False where that is too much
  /// to say, or there are none: then nothing runs.
  bool keep(int64_t factor, int64_t offset, int64_t c) {
    constexpr int64_t most = 4096;
    auto a = checked_mul(factor, modulus), product = checked_mul(factor, rest);
    auto b = product ? checked_add(*product, offset) : std::nullopt;
    if (!a || !b || c < 1 || c > most) return false;
    for (int64_t u = 0; u < c; ++u) {
      if (floormod(floormod(*a, c) * u + floormod(*b, c), c) != 0) continue;
      auto wider = checked_mul(modulus, c / common_divisor(*a, c));
      auto first = checked_mul(modulus, u);
      first = first ? checked_add(*first, rest) : std::nullopt;
      if (!wider || !first) return false;
      modulus = *wider, rest = *first;
      return true;
    }
    return false;
  }
};

/// factor*N + offset for a variable N.
struct Line {
  VarId var;
  int64_t factor, offset;
};
std::optional<Line> line_of(const ValueStore& store, const graph::Polynomial& form) {
  std::optional<Line> line;
  for (const auto& [monomial, coefficient] : form.terms()) {
    if (monomial.empty()) continue;
    if (monomial.size() != 1 || line) return std::nullopt;
    const Value& v = store[value_of(monomial[0])];
    if (v.form != Form::variable) return std::nullopt;
    line = Line{VarId(v.ref), coefficient, form.constant_term()};
  }
  return line;
}

/// A variable that a sum holds once, as +N or -N.
struct Alone {
  ExprId atom;
  VarId var;
  int64_t sign;
};
std::optional<Alone> lone_variable(const ValueStore& store, const graph::Polynomial& form,
                                   const std::unordered_map<VarId, ExprId>& known) {
  for (const auto& [monomial, coefficient] : form.terms()) {
    if (monomial.size() != 1 || (coefficient != 1 && coefficient != -1)) continue;
    const Value& v = store[value_of(monomial[0])];
    if (v.form != Form::variable || known.contains(VarId(v.ref))) continue;
    auto parts = form.split(monomial[0]);
    if (parts && parts->first.as_constant()) return Alone{monomial[0], VarId(v.ref), coefficient};
  }
  return std::nullopt;
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
  Translation translate(*this, host, host_vars, host_terms);
  auto host_term = [&](ValueId id) { return translate(id, [](ValueId) {}); };
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
  Translation translate(*this, kernel_.values, vars_, terms_);
  ExprId result =
      translate(root, [&](ValueId id) { (changing_[id.value] ? changed : trail_).push_back(id); });
  for (ValueId id : changed) terms_[id.value] = {};
  return result;
}

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

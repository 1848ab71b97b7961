// prove_commutative: a reduction is free of order where its monoid commutes on every state that the
// reduction reaches, although it does not on all.
//
//   welford[j](1, x[j], 0):   (n, mean, m2) commutes where n > 0, and n is 0 in the identity only
//
// Proof. The identity commutes with every state by the monoid's law. Every other state is combined
// from elements, so a field whose elements are positive, and whose combine of positive fields is
// positive, is positive in it. With that the choices of the combine are decided, and both orders
// give each field as a quotient of polynomials in the two states' fields; equal quotients are equal
// products across. Functions of states (exp) are atoms of the polynomials, divisors are known to be
// no zero. Law over the reals: a state that holds an infinity may become another one.
#include "base/check.h"
#include "graph/polynomial.h"
#include "rewrite/blocks.h"
#include "rewrite/passes.h"
#include <bit>
#include <cmath>
#include <map>

namespace tang::rewrite {
using namespace graph;

namespace {

struct Quotient {
  Polynomial over, under;
};

/// What stays whole in polynomials: a field of a state, a literal that is no integer, a function.
struct Atom {
  Op op;
  uint64_t ref; ///< side and field, bits of the literal, format of a cast
  std::vector<std::vector<std::vector<Polynomial::Term>>> operands; ///< over, under of each
  auto operator<=>(const Atom&) const = default;
};

class Combine {
public:
  Combine(const ExprStore& store, const Monoid& monoid) : s_(store), monoid_(monoid) {}

  /// Whether the states of all fields are the same in both orders, where these fields are positive.
  bool commutes(const std::vector<bool>& positive) {
    positive_ = &positive;
    for (ExprId combine : monoid_.combine) {
      auto ab = value(combine, false), ba = value(combine, true);
      auto left = ab && ba ? ab->over.times(ba->under) : std::nullopt;
      auto right = ab && ba ? ba->over.times(ab->under) : std::nullopt;
      if (!left || !right || *left != *right) return false;
    }
    return true;
  }

  /// Whether a field's combine is positive where these fields are.
  bool stays_positive(size_t field, const std::vector<bool>& positive) {
    positive_ = &positive;
    auto q = value(monoid_.combine[field], false);
    return q && sign(*q) == 1;
  }

private:
  /// The term as a quotient, with the two states exchanged or not; empty where it is none.
  std::optional<Quotient> value(ExprId root, bool exchanged) {
    std::unordered_map<ExprId, std::optional<Quotient>> numbers;
    std::unordered_map<ExprId, std::optional<bool>> truths;
    for (ExprId id : reachable(s_, {&root, 1})) {
      const Expr& e = s_[id];
      if (e.scalar == Scalar::boolean)
        truths[id] = truth(e, numbers, truths);
      else
        numbers[id] = number(e, exchanged, numbers, truths);
    }
    return numbers.at(root);
  }

  using Numbers = std::unordered_map<ExprId, std::optional<Quotient>>;
  using Truths = std::unordered_map<ExprId, std::optional<bool>>;

  std::optional<Quotient> number(const Expr& e, bool exchanged, const Numbers& numbers,
                                 const Truths& truths) {
    auto in = [&](size_t i) { return numbers.at(e.operands[i]); };
    switch (e.op) {
    case Op::literal_int: return whole(Polynomial::constant(e.integer));
    case Op::literal_real:
      if (std::abs(e.real) < 0x1p53 && e.real == std::floor(e.real))
        return whole(Polynomial::constant(static_cast<int64_t>(e.real)));
      return whole(atom({e.op, std::bit_cast<uint64_t>(e.real), {}}));
    case Op::dim: return whole(atom({e.op, e.ref, {}}));
    case Op::lhs:
    case Op::rhs:
      if (!e.operands.empty()) return std::nullopt;
      return whole(atom({(e.op == Op::lhs) != exchanged ? Op::lhs : Op::rhs, e.ref, {}}));
    case Op::select: {
      auto condition = truths.at(e.operands[0]);
      return condition ? in(*condition ? 1 : 2) : std::nullopt;
    }
    case Op::to_real: return in(0);
    case Op::index:
    case Op::read:
    case Op::acc:
    case Op::fold: return std::nullopt;
    default: break;
    }
    if (e.scalar == Scalar::boolean) return std::nullopt;
    for (ExprId operand : e.operands)
      if (s_[operand].scalar == Scalar::boolean || !numbers.at(operand)) return std::nullopt;
    if (e.op == Op::neg) return arithmetic(Op::sub, *whole(Polynomial()), *in(0));
    if (e.op == Op::add || e.op == Op::sub || e.op == Op::mul || e.op == Op::div)
      return arithmetic(e.op, *in(0), *in(1));
    return function(e, numbers);
  }

  static std::optional<Quotient> whole(std::optional<Polynomial> p) {
    if (!p) return std::nullopt;
    return Quotient{std::move(*p), Polynomial::constant(1)};
  }

  std::optional<Quotient> arithmetic(Op op, const Quotient& a, const Quotient& b) const {
    if (op == Op::div && !sign(b).value_or(0)) return std::nullopt;
    auto quotient = [](std::optional<Polynomial> over, std::optional<Polynomial> under) {
      return over && under ? std::optional(Quotient{std::move(*over), std::move(*under)})
                           : std::nullopt;
    };
    if (op == Op::mul) return quotient(a.over.times(b.over), a.under.times(b.under));
    if (op == Op::div) return quotient(a.over.times(b.under), a.under.times(b.over));
    auto x = a.over.times(b.under), y = b.over.times(a.under);
    if (!x || !y) return std::nullopt;
    return quotient(op == Op::add ? x->plus(*y) : x->minus(*y), a.under.times(b.under));
  }

  std::optional<Quotient> function(const Expr& e, const Numbers& numbers) {
    Atom a{e.op, static_cast<uint64_t>(e.to), {}};
    for (ExprId operand : e.operands) {
      const Quotient& q = *numbers.at(operand);
      const auto &over = q.over.terms(), &under = q.under.terms();
      a.operands.push_back({{over.begin(), over.end()}, {under.begin(), under.end()}});
    }
    bool symmetric = e.op == Op::min || e.op == Op::max || e.op == Op::bit_and ||
                     e.op == Op::bit_or || e.op == Op::bit_xor;
    if (symmetric) std::sort(a.operands.begin(), a.operands.end());
    return whole(atom(a));
  }

  std::optional<bool> truth(const Expr& e, const Numbers& numbers, const Truths& truths) {
    auto in = [&](size_t i) { return truths.at(e.operands[i]); };
    switch (e.op) {
    case Op::literal_bool: return e.integer != 0;
    case Op::logical_not: return in(0) ? std::optional(!*in(0)) : std::nullopt;
    case Op::logical_and: return in(0) && in(1) ? std::optional(*in(0) && *in(1)) : std::nullopt;
    case Op::logical_or: return in(0) && in(1) ? std::optional(*in(0) || *in(1)) : std::nullopt;
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le: break;
    default: return std::nullopt;
    }
    if (s_[e.operands[0]].scalar == Scalar::boolean) return std::nullopt;
    const auto &a = numbers.at(e.operands[0]), &b = numbers.at(e.operands[1]);
    auto difference = a && b ? arithmetic(Op::sub, *a, *b) : std::nullopt;
    auto s = difference ? sign(*difference) : std::nullopt;
    if (!s) return std::nullopt;
    return e.op == Op::eq ? *s == 0 : e.op == Op::ne ? *s != 0 : e.op == Op::lt ? *s < 0 : *s <= 0;
  }

  /// -1, 0 or 1 where all states agree on it.
  std::optional<int> sign(const Quotient& q) const {
    auto over = sign(q.over), under = sign(q.under);
    return over && under && *under != 0 ? std::optional(*over * *under) : std::nullopt;
  }
  std::optional<int> sign(const Polynomial& p) const {
    int all = 0;
    for (const auto& [atoms, coefficient] : p.terms()) {
      for (ExprId id : atoms)
        if (!positive_atom(id)) return std::nullopt;
      int s = coefficient > 0 ? 1 : -1;
      if (all != 0 && s != all) return std::nullopt;
      all = s;
    }
    return all;
  }
  bool positive_atom(ExprId id) const {
    const Atom& a = *names_[id.value];
    return (a.op == Op::lhs || a.op == Op::rhs) && (*positive_)[a.ref];
  }

  Polynomial atom(const Atom& a) {
    auto [at, fresh] = atoms_.emplace(a, static_cast<uint32_t>(names_.size()));
    if (fresh) names_.push_back(&at->first);
    return Polynomial::atom(ExprId(at->second));
  }

  const ExprStore& s_;
  const Monoid& monoid_;
  const std::vector<bool>* positive_ = nullptr;
  std::map<Atom, uint32_t> atoms_; ///< numbered like terms, of which polynomials are made
  std::vector<const Atom*> names_;
};

bool is_positive(const ExprStore& store, const Prover& prover, ExprId body) {
  const Expr& e = store[body];
  if (e.op == Op::literal_real) return e.real > 0 && std::isfinite(e.real);
  if (e.op == Op::to_real) body = e.operands[0];
  return store[body].scalar == Scalar::integer && prover.range(body).lo >= 1;
}

/// Fields that are positive in every state but the identity.
std::vector<bool> positive_fields(const Graph& graph, const Comprehension& c, Combine& combine) {
  Prover prover = prover_of(graph, c);
  std::vector<bool> positive;
  for (ExprId body : c.reduction->body) positive.push_back(is_positive(graph.exprs, prover, body));
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t f = 0; f < positive.size(); ++f)
      if (positive[f] && !combine.stays_positive(f, positive)) {
        positive[f] = false;
        changed = true;
      }
  }
  return positive;
}

void prove(Graph& graph, Node& node) {
  auto& c = std::get<Comprehension>(node.definition);
  if (!c.reduction || c.scan) return;
  Monoid monoid = graph[c.reduction->monoid];
  bool scalar = std::all_of(monoid.fields.begin(), monoid.fields.end(),
                            [](const MonoidField& f) { return f.axes.empty(); });
  if (monoid.commutative || monoid.form != Monoid::Form::expressions || !scalar) return;
  Combine combine(graph.exprs, monoid);
  if (!combine.commutes(positive_fields(graph, c, combine))) return;
  monoid.commutative = true;
  c.reduction->monoid = graph.add(std::move(monoid));
  node.derivation.push_back(fmt::format("prove_commutative: the states of `{}` commute",
                                        graph[c.results[0].tensor].name));
}

} // namespace

Graph prove_commutative(Graph graph) {
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet&) {
    for (Node& node : nodes)
      if (std::holds_alternative<Comprehension>(node.definition)) prove(graph, node);
  });
  return graph;
}

} // namespace tang::rewrite

#include "rewrite/moments.h"
#include "base/check.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

namespace {

/// Every Degrees from 0 to `most`, `most` last.
template <class F>
void for_each_below(const Degrees& most, F&& f) {
  Degrees at(most.size(), 0);
  while (true) {
    Degrees trimmed = at;
    while (!trimmed.empty() && trimmed.back() == 0) trimmed.pop_back();
    f(trimmed);
    size_t k = 0;
    while (k < at.size() && at[k] == most[k]) at[k++] = 0;
    if (k == at.size()) return;
    ++at[k];
  }
}

int degree_of(const Degrees& degrees, size_t variable) {
  return variable < degrees.size() ? degrees[variable] : 0;
}

int64_t binomial(int n, int k) {
  int64_t value = 1;
  for (int i = 1; i <= k; ++i) value = value * (n - k + i) / i;
  return value;
}

} // namespace

int total(const Degrees& degrees) {
  int sum = 0;
  for (int d : degrees) sum += d;
  return sum;
}

bool is_nonnegative(const ExprStore& store, ExprId root) {
  std::unordered_map<ExprId, bool> known;
  for (ExprId id : reachable(store, {&root, 1})) {
    const Expr& e = store[id];
    auto all = [&](size_t first) {
      return std::all_of(e.operands.begin() + static_cast<ptrdiff_t>(first), e.operands.end(),
                         [&](ExprId operand) { return known.at(operand); });
    };
    switch (e.op) {
    case Op::literal_real: known[id] = e.real >= 0; break;
    case Op::literal_int: known[id] = e.integer >= 0; break;
    case Op::index:
    case Op::dim:
    case Op::abs:
    case Op::exp:
    case Op::exp2:
    case Op::sqrt:
    case Op::rsqrt: known[id] = true; break;
    case Op::mul: known[id] = e.operands[0] == e.operands[1] || all(0); break;
    case Op::add:
    case Op::div:
    case Op::min:
    case Op::max:
    case Op::cast:
    case Op::to_real: known[id] = all(0); break;
    case Op::select: known[id] = all(1); break;
    default: known[id] = e.scalar == Scalar::boolean;
    }
  }
  return known.at(root);
}

size_t Moments::weight(ExprId term) {
  for (size_t w = 0; w < weights_.size(); ++w)
    if (weights_[w].term == term) return w;
  weights_.push_back({term, is_nonnegative(s_, term)});
  return weights_.size() - 1;
}

size_t Moments::variable(ExprId x, size_t weight) {
  for (size_t v = 0; v < variables_.size(); ++v)
    if (variables_[v].term == x && variables_[v].weight == weight) return v;
  variables_.push_back({x, weight});
  add(total_of(weight));
  add({Kind::mean, variables_.size() - 1, {}});
  return variables_.size() - 1;
}

void Moments::need(size_t weight, const Degrees& degrees) {
  for_each_below(degrees, [&](const Degrees& lower) {
    if (!vanishes(weight, lower)) add({Kind::moment, weight, lower});
  });
}

uint32_t Moments::add(Field field) {
  auto [at, fresh] = numbers_.try_emplace(field, static_cast<uint32_t>(fields_.size()));
  if (fresh) fields_.push_back(std::move(field));
  return at->second;
}

/// The sum of absolute weights, which for weights that are never negative is the moment of degree
/// 0.
Moments::Field Moments::total_of(size_t weight) const {
  return {weights_[weight].nonnegative ? Kind::moment : Kind::total, weight, {}};
}

/// True when every variable's mean is the mean under this very weight.
bool Moments::self_centred(size_t weight, const Degrees& degrees) const {
  if (!weights_[weight].nonnegative) return false;
  for (size_t v = 0; v < degrees.size(); ++v)
    if (degrees[v] > 0 && variables_[v].weight != weight) return false;
  return true;
}

bool Moments::vanishes(size_t weight, const Degrees& degrees) const {
  return total(degrees) == 1 && self_centred(weight, degrees);
}

ExprId Moments::state(Op side, const Field& field) const {
  return s_.state(side, numbers_.at(field), Scalar::real);
}

ExprId Moments::mean(size_t variable) const {
  return state(Op::acc, {Kind::mean, variable, {}});
}

ExprId Moments::moment(size_t weight, const Degrees& degrees) const {
  return vanishes(weight, degrees) ? ExprId() : state(Op::acc, {Kind::moment, weight, degrees});
}

std::vector<ExprId> Moments::body() const {
  std::vector<ExprId> terms;
  for (const Field& field : fields_) switch (field.kind) {
    case Kind::total: terms.push_back(s_.unary(Op::abs, weights_[field.of].term)); break;
    case Kind::mean: terms.push_back(variables_[field.of].term); break;
    case Kind::moment:
      terms.push_back(field.degrees.empty() ? weights_[field.of].term : s_.real(0));
      break;
    }
  return terms;
}

Monoid Moments::monoid() const {
  Monoid m;
  m.name = "moments", m.commutative = true;
  for (const Field& field : fields_) {
    std::string name = "m";
    switch (field.kind) {
    case Kind::total: name = fmt::format("n{}", field.of); break;
    case Kind::mean: name = fmt::format("mean{}", field.of); break;
    case Kind::moment:
      name = field.degrees.empty() ? fmt::format("w{}", field.of) : fmt::format("m{}", field.of);
      for (int d : field.degrees) name += fmt::format("_{}", d);
      break;
    }
    m.visible.push_back(static_cast<uint32_t>(m.fields.size()));
    m.fields.push_back({std::move(name), Scalar::real, {}, s_.real(0)});
    m.combine.push_back(combined(field));
  }
  return m;
}

/// The later part's share of the total; 0 where it weighs nothing.
ExprId Moments::share(size_t weight) const {
  ExprId earlier = state(Op::lhs, total_of(weight)), later = state(Op::rhs, total_of(weight));
  ExprId none = s_.binary(Op::eq, later, s_.real(0));
  return s_.select(none, s_.real(0), s_.binary(Op::div, later, s_.binary(Op::add, earlier, later)));
}

ExprId Moments::gap(size_t variable) const {
  Field mean{Kind::mean, variable, {}};
  return s_.binary(Op::sub, state(Op::rhs, mean), state(Op::lhs, mean));
}

/// A part's mean minus the mean of the whole.
ExprId Moments::shift(Op side, size_t variable) const {
  ExprId step = s_.binary(Op::mul, gap(variable), share(variables_[variable].weight));
  return side == Op::lhs ? s_.unary(Op::neg, step) : s_.binary(Op::sub, gap(variable), step);
}

ExprId Moments::power(ExprId base, int exponent) const {
  ExprId value = s_.real(1);
  for (int k = 0; k < exponent; ++k) value = s_.binary(Op::mul, value, base);
  return value;
}

ExprId Moments::combined(const Field& field) const {
  if (field.kind == Kind::moment) return joined(field.of, field.degrees);
  if (field.kind == Kind::total)
    return s_.binary(Op::add, state(Op::lhs, field), state(Op::rhs, field));
  ExprId step = s_.binary(Op::mul, gap(field.of), share(variables_[field.of].weight));
  return s_.binary(Op::add, state(Op::lhs, field), step);
}

ExprId Moments::joined(size_t weight, const Degrees& degrees) const {
  std::vector<ExprId> parts;
  bool collapses = !degrees.empty() && self_centred(weight, degrees);
  for_each_below(degrees, [&](const Degrees& lower) {
    if (vanishes(weight, lower) || (collapses && lower.empty())) return;
    for (Op side : {Op::rhs, Op::lhs}) {
      ExprId part = state(side, {Kind::moment, weight, lower});
      for (size_t v = 0; v < degrees.size(); ++v) {
        int rest = degrees[v] - degree_of(lower, v);
        if (rest == 0) continue;
        part = s_.binary(Op::mul, part, power(shift(side, v), rest));
        auto ways = static_cast<double>(binomial(degrees[v], rest));
        part = s_.binary(Op::mul, s_.real(ways), part);
      }
      parts.push_back(part);
    }
  });
  if (collapses) parts.insert(parts.begin(), between_means(weight, degrees));
  ExprId sum = parts.back();
  for (size_t k = parts.size() - 1; k-- > 0;) sum = s_.binary(Op::add, sum, parts[k]);
  return sum;
}

/// What the distance of two means adds, both sides together: with the later part's share r and
/// δ = -r Δ, (1 - r) Δ this is Δ^d n r ((1-r)^(d-1) + (-1)^d r^(d-1)), where n counts the earlier.
ExprId Moments::between_means(size_t weight, const Degrees& degrees) const {
  int d = total(degrees);
  ExprId r = share(weight), rest = s_.binary(Op::sub, s_.real(1), r);
  ExprId value = s_.binary(Op::mul, state(Op::lhs, total_of(weight)), r);
  for (size_t v = 0; v < degrees.size(); ++v)
    value = s_.binary(Op::mul, value, power(gap(v), degrees[v]));
  if (d == 2) return value;
  ExprId sides = s_.binary(d % 2 == 0 ? Op::add : Op::sub, power(rest, d - 1), power(r, d - 1));
  return s_.binary(Op::mul, value, sides);
}

} // namespace tang::rewrite

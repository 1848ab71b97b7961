// Every element of a written tensor is written exactly once. The argument, per store:
//
// A store runs once for each value of its digits: block and thread coordinates, rounds of loops,
// and the lanes of a vector. Its coordinates are a numeral with mixed radix in these digits,
//
//     i = d0 + e0*d1 + e0*e1*d2 + ...     with 0 <= dk < ek,
//
// so different digits give different i, and every i below the product T of the extents occurs.
// Where T is the extent E of the mode, that is all; where T >= E, the store must be guarded by i <
// E and by nothing else. Coordinates that were split off a flat number are first put together
// again: floordiv(x, m)*m + mod(x, m) = x. A digit that no coordinate has must be fixed by a guard
// (`thread
// == 0`) or have one value. Several stores at constant distances, as an unrolled tile has them,
// count as one store with one more digit per coordinate.
#include "base/check.h"
#include "kernel/facts.h"
#include "kernel/verify.h"
#include <set>
#include <utility>

namespace tang::kernel {
namespace {

using graph::ExprId;
using graph::Polynomial;

/// One store, with its place: where it runs and what it needs.
struct Site {
  Ref dst;
  int width = 1;
  Place place;
};

Polynomial one() {
  return Polynomial::constant(1);
}

/// What a site covers: one numeral per coordinate, or for several coordinates together.
struct Numeral {
  Polynomial value, extent;
  int lanes = 1;        ///< of a vector, along this numeral
  bool guarded = false; ///< the site runs only where value < extent
};
struct Part {
  std::string fault; ///< why nothing is known; the rest counts only when it is empty
  std::vector<Numeral> numerals;
  std::vector<Digit> digits; ///< that are not fixed
};

/// Reads one site; works while the facts of its place are in force.
class SiteReader {
public:
  SiteReader(Facts& facts, const Site& site)
      : facts_(facts), site_(site), tensor_(facts.kernel()[site.dst.tensor]),
        digits_(site.place.digits) {}

  Part read() {
    for (ExprId condition : site_.place.conditions) split(condition);
    for (ExprId& condition : conditions_) fix_digit(condition);
    std::erase_if(conditions_, [](ExprId id) { return !id; });
    for (const Digit& digit : digits_)
      if (facts_.exprs().as_integer(digit.extent) == 1) fixed_[index(digit)] = 0;
    Part part;
    if (!coordinates(part.numerals)) {
      part.fault = "its coordinates are no numerals";
      return part;
    }
    for (Numeral& numeral : part.numerals) find_guard(numeral);
    // The proof may not lean on the guards: they are what it is about. But where the tensor has no
    // element, none is left out.
    graph::Prover known = facts_.unconditional();
    for (ValueId extent : tensor_.shape)
      known.assume(facts_.exprs().binary(Op::le, facts_.exprs().integer(1), facts_.term(extent)));
    for (ExprId condition : conditions_)
      if (known.decide(condition) != true) part.fault = "a condition may exclude elements";
    for (const Digit& digit : digits_)
      if (!fixed_.contains(index(digit))) part.digits.push_back(digit);
    return part;
  }

private:
  ExprId index(const Digit& digit) const { return facts_.exprs().index(digit.index); }

  void split(ExprId root) {
    std::vector<ExprId> stack{root};
    while (!stack.empty()) {
      ExprId id = stack.back();
      stack.pop_back();
      const graph::Expr e = facts_.exprs()[id];
      if (e.op == Op::logical_and) {
        stack.push_back(e.operands[1]), stack.push_back(e.operands[0]);
      } else {
        conditions_.push_back(id);
      }
    }
  }

  /// A numeral below 1 is 0 in every digit: `block*256 + thread < 1`.
  bool fix_to_zero(const graph::Expr& less) {
    auto p = facts_.polynomial(less.operands[0]);
    if (facts_.exprs().as_integer(less.operands[1]) != 1 || !p) return false;
    for (const auto& [monomial, coefficient] : p->terms())
      if (monomial.size() != 1 || !is_digit(monomial[0]) || coefficient <= 0) return false;
    graph::Prover prover = facts_.about_dims();
    for (const Digit& digit : digits_)
      if (prover.range(digit.extent).lo < 1) return false;
    for (const auto& [monomial, coefficient] : p->terms()) fixed_[monomial[0]] = 0;
    return true;
  }

  /// `digit == c` makes the digit the constant c.
  void fix_digit(ExprId& condition) {
    const graph::Expr e = facts_.exprs()[condition];
    if (e.op == Op::lt && fix_to_zero(e)) condition = {};
    if (e.op != Op::eq) return;
    for (int k : {0, 1}) {
      ExprId index = e.operands[static_cast<size_t>(k)];
      auto literal = facts_.exprs().as_integer(e.operands[static_cast<size_t>(1 - k)]);
      for (const Digit& digit : digits_)
        if (literal && index == facts_.exprs().index(digit.index) && *literal >= 0 &&
            facts_.about_dims().range(digit.extent).lo > *literal) {
          fixed_[index] = *literal;
          condition = {};
          return;
        }
    }
  }

  std::optional<Polynomial> polynomial(ValueId id) {
    auto p = facts_.polynomial(facts_.term(id));
    for (auto& [atom, value] : fixed_) {
      auto parts = p ? p->split(atom) : std::nullopt;
      auto product = parts ? parts->first.times(Polynomial::constant(value)) : std::nullopt;
      p = product ? product->plus(parts->second) : std::nullopt;
    }
    return p;
  }

  bool is_digit(ExprId atom) const {
    return std::any_of(digits_.begin(), digits_.end(),
                       [&](const Digit& d) { return facts_.exprs().index(d.index) == atom; });
  }

  bool is_split(ExprId atom) const {
    return std::any_of(facts_.splits().begin(), facts_.splits().end(), [&](const Facts::Split& s) {
      return s.quotient == atom || s.remainder == atom;
    });
  }

  bool only_digits(const Polynomial& p) const {
    for (const auto& [monomial, coefficient] : p.terms()) {
      int digits = 0;
      for (ExprId atom : monomial) digits += is_digit(atom);
      bool other = std::any_of(monomial.begin(), monomial.end(), [&](ExprId atom) {
        Op op = facts_.exprs()[atom].op;
        return !is_digit(atom) && (op == Op::floordiv || op == Op::mod || is_split(atom));
      });
      if (digits > 1 || (digits == 0 && other)) return false;
    }
    return true;
  }

  /// Coordinates that are numerals already, and those that are parts of one flat number, together.
  bool coordinates(std::vector<Numeral>& numerals) {
    Polynomial flat, stride = one();
    bool any = false;
    int lanes = 1;
    for (size_t i = site_.dst.coordinates.size(); i-- > 0;) {
      auto value = polynomial(site_.dst.coordinates[i]), extent = polynomial(tensor_.shape[i]);
      if (!value || !extent) return false;
      bool inner = facts_.kernel().values.as_integer(tensor_.stride[i]) == 1 && !lanes_placed_;
      lanes_placed_ |= inner;
      int width = inner ? site_.width : 1;
      if (only_digits(*value)) {
        numerals.push_back({*value, *extent, width});
        continue;
      }
      auto part = value->times(stride), next = stride.times(*extent);
      auto sum = part ? flat.plus(*part) : std::nullopt;
      if (!sum || !next) return false;
      flat = *sum, stride = *next;
      any = true, lanes *= width;
    }
    if (!any) return true;
    recombine(flat);
    numerals.push_back({flat, stride, lanes});
    return only_digits(flat);
  }

  /// k*m*floordiv(x, m) + k*mod(x, m) = k*x, and the same for floordiv(x, a*m) and
  /// mod(floordiv(x, a), m), which constant divisors make of it.
  void recombine(Polynomial& p) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Facts::Split& split : facts_.splits())
        changed |= join(p, split.remainder, split.quotient, split.x, split.divisor);
      if (changed) continue;
      const Polynomial before = p;
      for (const auto& [monomial, coefficient] : before.terms()) {
        for (ExprId atom : monomial)
          if (facts_.exprs()[atom].op == Op::mod) {
            ExprId x = facts_.exprs()[atom].operands[0], m = facts_.exprs()[atom].operands[1];
            changed = join(p, atom, floordiv(x, m), x, m);
            if (changed) break;
          }
        if (changed) break;
      }
    }
  }

  ExprId floordiv(ExprId x, ExprId m) const {
    const graph::Expr e = facts_.exprs()[x];
    auto inner = e.op == Op::floordiv ? facts_.exprs().as_integer(e.operands[1]) : std::nullopt;
    auto outer = facts_.exprs().as_integer(m);
    if (inner && outer && *inner > 0 && *outer > 0)
      return facts_.exprs().binary(Op::floordiv, e.operands[0],
                                   facts_.exprs().integer(*inner * *outer));
    return facts_.exprs().binary(Op::floordiv, x, m);
  }

  bool join(Polynomial& p, ExprId remainder, ExprId quotient, ExprId x, ExprId m) {
    auto low = p.split(remainder);
    auto divisor = facts_.polynomial(m), whole = facts_.polynomial(x);
    if (!low || low->first.is_zero() || !divisor || !whole) return false;
    auto high = low->second.split(quotient);
    auto expected = low->first.times(*divisor);
    if (!high || !expected || high->first != *expected) return false;
    auto joined = whole->times(low->first);
    auto sum = joined ? joined->plus(high->second) : std::nullopt;
    if (!sum) return false;
    p = *sum;
    return true;
  }

  /// Whether a condition says `value < extent`, or the same of whole vectors.
  bool guards(ExprId condition, const Numeral& numeral) const {
    const graph::Expr e = facts_.exprs()[condition];
    if (e.op != Op::lt && e.op != Op::le) return false;
    auto a = facts_.polynomial(e.operands[0]), b = facts_.polynomial(e.operands[1]);
    auto slack = a && b ? b->minus(*a) : std::nullopt;
    if (slack && e.op == Op::le) slack = slack->plus(one());
    auto room = numeral.extent.minus(numeral.value);
    if (!slack || !room) return false;
    // In elements; a vector that begins inside ends inside, or its range is not proved.
    if (slack == room) return true;
    auto scaled = slack->times(Polynomial::constant(numeral.lanes));
    if (scaled == room) return true;
    // In vectors: floordiv(E, w) of them, where w divides E.
    auto difference = scaled ? room->minus(*scaled) : std::nullopt;
    auto less = difference ? Polynomial().minus(*difference) : std::nullopt;
    graph::Prover prover = facts_.about_dims();
    return less && prover.nonnegative(*difference) && prover.nonnegative(*less);
  }

  void find_guard(Numeral& numeral) {
    auto guard = std::find_if(conditions_.begin(), conditions_.end(),
                              [&](ExprId id) { return guards(id, numeral); });
    if (guard == conditions_.end()) return;
    conditions_.erase(guard);
    numeral.guarded = true;
  }

  Facts& facts_;
  const Site& site_;
  const Tensor& tensor_;
  std::vector<Digit> digits_;
  std::vector<ExprId> conditions_;
  std::unordered_map<ExprId, int64_t> fixed_;
  bool lanes_placed_ = false;
};

/// Whether the sites of one tensor write each of its elements once.
class Cover {
public:
  Cover(Facts& facts, const std::vector<Part>& parts)
      : facts_(facts), parts_(parts), used_(parts[0].digits.size(), false) {}

  /// Why not; empty when they do.
  std::string fault() {
    for (const Part& part : parts_)
      if (!part.fault.empty()) return part.fault;
    if (!alike()) return "several statements store to it";
    size_t sites = 1;
    for (size_t n = 0; n < parts_[0].numerals.size(); ++n) {
      std::set<int64_t> offsets;
      for (const Part& part : parts_) offsets.insert(part.numerals[n].value.constant_term());
      sites *= offsets.size();
      if (std::string text = covers(n, offsets); !text.empty()) return text;
    }
    if (sites != parts_.size()) return "several statements store to it";
    if (std::find(used_.begin(), used_.end(), false) != used_.end())
      return "it is written for several values of a coordinate that it does not depend on";
    return {};
  }

private:
  static Polynomial without_constant(const Polynomial& p) {
    return *p.minus(Polynomial::constant(p.constant_term()));
  }

  /// The sites differ in constant distances only, and no two of them in nothing.
  bool alike() const {
    std::set<std::vector<int64_t>> places;
    for (const Part& part : parts_) {
      std::vector<int64_t> place;
      bool same = part.numerals.size() == parts_[0].numerals.size() &&
                  std::equal(part.digits.begin(), part.digits.end(), parts_[0].digits.begin(),
                             parts_[0].digits.end(),
                             [](const Digit& a, const Digit& b) { return a.index == b.index; });
      for (size_t n = 0; same && n < part.numerals.size(); ++n) {
        const Numeral &a = part.numerals[n], &b = parts_[0].numerals[n];
        same = without_constant(a.value) == without_constant(b.value) && a.extent == b.extent &&
               a.lanes == b.lanes;
        place.push_back(a.value.constant_term());
      }
      if (!same || !places.insert(place).second) return false;
    }
    return true;
  }

  /// The product of the radices when the value is a numeral in the digits, each of which it uses
  /// up, and in the distances between sites.
  std::optional<Polynomial> radix_product(const Numeral& numeral,
                                          const std::set<int64_t>& offsets) {
    Polynomial rest = without_constant(numeral.value), radix = Polynomial::constant(numeral.lanes);
    int64_t count = static_cast<int64_t>(offsets.size()), step = 0;
    if (*offsets.begin() != 0) return std::nullopt;
    if (count > 1) {
      step = *std::next(offsets.begin());
      for (int64_t k = 0; int64_t offset : offsets)
        if (offset != step * k++) return std::nullopt;
    }
    for (bool found = true; found;) {
      found = false;
      if (count > 1 && radix == Polynomial::constant(step)) {
        radix = *radix.times(Polynomial::constant(std::exchange(count, 1)));
        found = true;
      }
      for (size_t i = 0; i < used_.size() && !found; ++i) {
        const Digit& digit = parts_[0].digits[i];
        auto split = rest.split(facts_.exprs().index(digit.index));
        if (used_[i] || !split || split->first != radix) continue;
        auto extent = facts_.polynomial(digit.extent);
        auto next = extent ? radix.times(*extent) : std::nullopt;
        if (!next) return std::nullopt;
        rest = split->second, radix = *next;
        used_[i] = found = true;
      }
    }
    return rest.is_zero() && count == 1 ? std::optional(radix) : std::nullopt;
  }

  std::string covers(size_t n, const std::set<int64_t>& offsets) {
    const Numeral& numeral = parts_[0].numerals[n];
    auto total = radix_product(numeral, offsets);
    if (!total) return "its coordinates are no numerals";
    if (*total == numeral.extent) return {};
    auto over = total->minus(numeral.extent);
    auto under = numeral.extent.minus(*total);
    graph::Prover prover = facts_.about_dims();
    bool enough = over && prover.nonnegative(*over);
    if (enough && under && prover.nonnegative(*under)) return {};
    for (const Part& part : parts_)
      if (!part.numerals[n].guarded) return "its last block is not guarded";
    return enough ? std::string() : "its blocks may not reach every element";
  }

  Facts& facts_;
  const std::vector<Part>& parts_;
  std::vector<bool> used_;
};

Report coverage_of(Facts& facts) {
  Report report;
  const Kernel& kernel = facts.kernel();
  std::unordered_map<TensorId, std::vector<Part>> parts;
  facts.walk([&](const Stmt& stmt, const Place& place) {
    Site site;
    ValueId predicate;
    if (const auto* store = std::get_if<Store>(&stmt.node)) {
      site.dst = store->dst, predicate = store->predicate;
    } else if (const auto* copy = std::get_if<Copy>(&stmt.node)) {
      site.dst = copy->dst, site.width = copy->width, predicate = copy->predicate;
    } else {
      return;
    }
    if (kernel[site.dst.tensor].memory != Memory::global) return;
    site.place = place;
    Facts::Mark mark = facts.mark();
    if (predicate) {
      site.place.conditions.push_back(facts.term(predicate));
      facts.assume(site.place.conditions.back());
    }
    parts[site.dst.tensor].push_back(SiteReader(facts, site).read());
    facts.rewind(mark);
  });
  for (TensorId id : kernel.params) {
    if (!kernel[id].written) continue;
    std::string fault =
        parts[id].empty() ? "nothing stores to it" : Cover(facts, parts[id]).fault();
    if (fault.empty())
      ++report.proved;
    else
      report.unproved.push_back(
          fmt::format("`{}` in kernel `{}` is not proved to be written once: {}", kernel[id].name,
                      kernel.name, fault));
  }
  return report;
}

void each_variant(const Program& program, const std::vector<Step>& steps, Report& report) {
  for (const Step& step : steps)
    std::visit(Overload{[&](const Dispatch& d) {
                          for (const Variant& v : d.variants) {
                            Facts facts(program.kernels[v.kernel.value], program.values, v);
                            report += coverage_of(facts);
                          }
                        },
                        [&](const Loop& l) { each_variant(program, l.body, report); }},
               step.node);
}

} // namespace

Report check_coverage(const Kernel& kernel) {
  Facts facts(kernel);
  return coverage_of(facts);
}

Report check_coverage(const Program& program) {
  Report report;
  each_variant(program, program.steps, report);
  return report;
}

} // namespace tang::kernel

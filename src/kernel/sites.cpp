#include "kernel/sites.h"
#include "kernel/interval.h"
#include <map>
#include <set>

namespace tang::kernel {
namespace {

using graph::ExprId;
using graph::Polynomial;

class Reader {
public:
  Reader(Facts& facts, const Place& place) : facts_(facts), e_(facts.exprs()) {
    site_.steps = facts.steps();
    site_.digits = place.digits;
    for (ExprId condition : place.conditions) add_condition(condition);
  }

  void add_condition(ExprId condition) {
    std::vector<ExprId> stack{condition};
    while (!stack.empty()) {
      ExprId id = stack.back();
      stack.pop_back();
      const graph::Expr& e = e_[id];
      if (e.op == Op::logical_and)
        stack.insert(stack.end(), e.operands.rbegin(), e.operands.rend());
      else
        parts_.push_back({id, condition, false, {}});
    }
  }

  Site read(const Ref& ref, int width) {
    for (const Part& part : parts_) site_.never |= e_.as_boolean(part.id) == false;
    if (site_.never) return std::move(site_);
    fix();
    coordinates(ref, width);
    splits();
    if (!site_.fault.empty()) return std::move(site_);
    for (Numeral& numeral : site_.numerals) reflect(numeral);
    for (Part& part : parts_)
      if (!part.used) part.slack = slack_of(part.id);
    for (Numeral& numeral : site_.numerals) find_guard(numeral);
    leave_open();
    std::erase_if(site_.digits, [&](const Digit& d) { return fixed_.contains(d.index); });
    std::erase_if(site_.steps, [&](const Digit& d) { return fixed_.contains(d.index); });
    return std::move(site_);
  }

private:
  /// A condition is the conjunction of its parts.
  struct Part {
    ExprId id, whole;
    bool used;
    std::optional<Polynomial> slack; ///< of a comparison: where it is >= 0 it holds
  };

  /// Digits that run within a launch.
  template <class F>
  void each_digit(F&& visit) {
    for (const Digit& digit : site_.digits) visit(digit);
    for (const Split& split : facts_.splits())
      for (const Digit& digit : split.digits) visit(digit);
  }

  /// Digits that have one value here.
  void fix() {
    for (Part& part : parts_) part.used = fix_digit(part.id) || fix_to_zero(part.id);
    for (const auto& [digit, value] : fixed_) chosen_.insert(digit);
    auto is_single = [&](const Digit& digit) {
      return facts_.about_dims().range(digit.extent).hi <= 1;
    };
    each_digit([&](const Digit& digit) {
      if (is_single(digit) && fixed_.try_emplace(digit.index, 0).second) must_exist(digit.extent);
    });
    // A step has a value, or nothing runs.
    for (const Digit& step : site_.steps)
      if (is_single(step)) fixed_[step.index] = 0;
  }

  /// What is fixed to 0 is reached where there is a 0: where each factor of its extent is positive.
  void must_exist(ExprId extent) {
    std::vector<ExprId> factors{extent};
    while (!factors.empty()) {
      ExprId id = factors.back();
      factors.pop_back();
      const graph::Expr e = e_[id];
      if (e.op == Op::mul)
        factors.insert(factors.end(), e.operands.begin(), e.operands.end());
      else if (facts_.about_dims().range(id).lo < 1)
        exists_.push_back(e_.binary(Op::lt, e_.integer(0), id));
    }
  }

  /// `digit == c` makes the digit the constant c.
  bool fix_digit(ExprId condition) {
    const graph::Expr e = e_[condition];
    if (e.op != Op::eq) return false;
    bool fixed = false;
    for (size_t k : {size_t{0}, size_t{1}}) {
      auto literal = e_.as_integer(e.operands[1 - k]);
      if (!literal || *literal < 0) continue;
      each_digit([&](const Digit& digit) {
        if (e.operands[k] == digit.index && facts_.about_dims().range(digit.extent).lo > *literal)
          fixed |= fixed_.try_emplace(digit.index, *literal).first->second == *literal;
      });
    }
    return fixed;
  }

  /// A sum of digits below 1 is 0 in every digit: `block*256 + thread < 1`.
  bool fix_to_zero(ExprId condition) {
    const graph::Expr e = e_[condition];
    if (e.op != Op::lt || facts_.about_dims().range(e.operands[1]).hi > 1) return false;
    auto p = facts_.polynomial(e.operands[0]);
    if (!p) return false;
    std::vector<Digit> digits;
    for (const graph::Polynomial::Term& term : p->terms()) {
      size_t before = digits.size();
      if (term.first.size() == 1 && term.second > 0)
        each_digit([&](const Digit& d) {
          if (d.index == term.first[0]) digits.push_back(d);
        });
      if (digits.size() == before) return false;
    }
    bool fixed = true;
    for (const Digit& digit : digits) {
      fixed &= fixed_.try_emplace(digit.index, 0).first->second == 0;
      must_exist(digit.extent);
    }
    must_exist(e.operands[1]);
    return fixed;
  }

  std::optional<Polynomial> polynomial(ExprId term) const {
    auto p = facts_.polynomial(term);
    for (auto& [atom, value] : fixed_) {
      auto parts = p ? p->split(atom) : std::nullopt;
      auto product = parts ? parts->first.times(Polynomial::constant(value)) : std::nullopt;
      p = product ? product->plus(parts->second) : std::nullopt;
    }
    return p;
  }

  void add(std::optional<Polynomial> value, std::optional<Polynomial> extent, int lanes) {
    if (value && extent)
      site_.numerals.push_back({std::move(*value), std::move(*extent), lanes});
    else
      site_.fault = "its coordinates are no numerals";
  }

  void coordinates(const Ref& ref, int width) {
    const Tensor& tensor = facts_.kernel()[ref.tensor];
    bool placed = width == 1;
    for (size_t i = ref.coordinates.size(); i-- > 0;) {
      bool inner = !placed && facts_.kernel().values.as_integer(tensor.stride[i]) == 1;
      placed |= inner;
      add(polynomial(facts_.term(ref.coordinates[i])),
          facts_.polynomial(facts_.term(tensor.shape[i])), inner ? width : 1);
    }
    if (!placed) site_.fault = "its neighbours are not contiguous";
  }

  bool occurs(ExprId atom) const {
    return std::any_of(site_.numerals.begin(), site_.numerals.end(), [&](const Numeral& n) {
      return std::any_of(n.value.terms().begin(), n.value.terms().end(), [&](const auto& term) {
        return std::find(term.first.begin(), term.first.end(), atom) != term.first.end();
      });
    });
  }

  /// Coordinates stand for the flat number that they come from, which has to be a numeral itself.
  void splits() {
    // A number may hold coordinates of an earlier one.
    for (size_t s = facts_.splits().size(); s-- > 0;) {
      const Split& split = facts_.splits()[s];
      bool needed = std::any_of(split.digits.begin(), split.digits.end(), [&](const Digit& d) {
        return occurs(d.index) || chosen_.contains(d.index);
      });
      if (!needed) continue;
      std::optional<Polynomial> extent = Polynomial::constant(1);
      for (const Digit& digit : split.digits) {
        auto factor = facts_.polynomial(digit.extent);
        extent = extent && factor ? extent->times(*factor) : std::nullopt;
        site_.digits.push_back(digit);
      }
      add(polynomial(split.number), std::move(extent), 1);
    }
  }

  /// Whether no digit of the site makes a value smaller.
  bool counts_up(const Polynomial& value) const {
    return std::none_of(value.terms().begin(), value.terms().end(), [&](const auto& term) {
      return term.second < 0 &&
             std::any_of(site_.digits.begin(), site_.digits.end(), [&](const Digit& digit) {
               return std::find(term.first.begin(), term.first.end(), digit.index) !=
                      term.first.end();
             });
    });
  }

  /// What fills an extent from its end counts up as extent - lanes - value, and a digit that counts
  /// down as its extent - 1 - digit.
  void reflect(Numeral& numeral) {
    if (counts_up(numeral.value)) return;
    auto end = numeral.extent.minus(Polynomial::constant(numeral.lanes));
    if (auto from_end = end ? end->minus(numeral.value) : std::nullopt;
        from_end && counts_up(*from_end)) {
      numeral.value = std::move(*from_end);
      return;
    }
    for (const Digit& digit : site_.digits) {
      auto parts = numeral.value.split(digit.index);
      auto extent = facts_.polynomial(digit.extent);
      if (!parts || !extent || parts->first.is_zero()) continue;
      const auto& terms = parts->first.terms();
      if (std::any_of(terms.begin(), terms.end(), [](const auto& t) { return t.second > 0; }))
        continue;
      auto last = extent->minus(Polynomial::constant(1));
      auto weight = Polynomial().minus(parts->first);
      auto top = weight && last ? parts->first.times(*last) : std::nullopt;
      auto up = weight ? weight->times(Polynomial::atom(digit.index)) : std::nullopt;
      auto sum = top && up ? top->plus(*up) : std::nullopt;
      auto whole = sum ? sum->plus(parts->second) : std::nullopt;
      if (whole) numeral.value = std::move(*whole);
    }
  }

  /// What a comparison says is at least 0.
  std::optional<Polynomial> room_of(ExprId condition) const {
    const graph::Expr& e = e_[condition];
    if (e.op != Op::lt && e.op != Op::le) return std::nullopt;
    auto a = polynomial(e.operands[0]), b = polynomial(e.operands[1]);
    auto slack = a && b ? b->minus(*a) : std::nullopt;
    if (slack && e.op == Op::lt) slack = slack->minus(Polynomial::constant(1));
    return slack;
  }
  std::optional<Polynomial> slack_of(ExprId condition) const {
    auto room = room_of(condition);
    return room ? std::optional(graph::normalized(*room)) : std::nullopt;
  }

  /// A condition may say `value < extent`; what is always in range needs none.
  void find_guard(Numeral& numeral) {
    auto room = numeral.extent.minus(numeral.value);
    if (room) room = room->minus(Polynomial::constant(1));
    if (!room) return;
    Polynomial least = graph::normalized(*room);
    for (Part& part : parts_)
      if (part.slack == least) part.used = numeral.guarded = true;
    if (!numeral.guarded && !is_digit(numeral))
      numeral.guarded = facts_.prover().nonnegative(least);
  }

  /// Whether the value is a digit that runs through the extent, as most coordinates are.
  bool is_digit(const Numeral& numeral) const {
    return std::any_of(site_.digits.begin(), site_.digits.end(), [&](const Digit& digit) {
      return numeral.value == Polynomial::atom(digit.index) &&
             facts_.polynomial(digit.extent) == numeral.extent;
    });
  }

  /// The proof may not lean on the guards: they are what it is about. But where there is no
  /// element, none is left out.
  void leave_open() {
    bool all = std::all_of(parts_.begin(), parts_.end(), [](const Part& p) { return p.used; });
    if (all && exists_.empty()) return;
    graph::Prover dims = facts_.about_dims(), known = facts_.unconditional();
    for (const Numeral& numeral : site_.numerals) {
      ExprId some = e_.binary(Op::lt, e_.integer(0), graph::build(e_, numeral.extent));
      dims.assume(some), known.assume(some);
    }
    for (size_t i = 0; i < parts_.size();) {
      size_t end = i;
      bool none = true, holds = true;
      for (; end < parts_.size() && parts_[end].whole == parts_[i].whole; ++end)
        none &= !parts_[end].used;
      size_t before = site_.open.size();
      for (; i < end; ++i) {
        if (parts_[i].used || known.holds(parts_[i].id) || follows(parts_[i], known)) continue;
        holds = false;
        site_.open.push_back(parts_[i].id);
      }
      // What is open as a whole may be the complement of another site's condition.
      if (holds || !none) continue;
      site_.open.resize(before);
      site_.open.push_back(parts_[end - 1].whole);
    }
    for (ExprId exists : exists_)
      if (!dims.holds(exists)) site_.open.push_back(exists);
  }

  /// Whether a condition follows from a guard, as that of a whole block does: it leaves out only
  /// what does not exist.
  bool follows(const Part& part, const graph::Prover& known) const {
    auto room = room_of(part.id);
    return room && std::any_of(parts_.begin(), parts_.end(), [&](const Part& guard) {
             auto less = guard.used ? room_of(guard.id) : std::nullopt;
             auto more = less ? room->minus(*less) : std::nullopt;
             return more && known.nonnegative(*more);
           });
  }

  Facts& facts_;
  graph::ExprStore& e_;
  Site site_;
  std::vector<Part> parts_;
  std::vector<ExprId> exists_;      ///< conditions for single-valued digits to have a value
  std::map<ExprId, int64_t> fixed_; ///< digits of one value
  std::set<ExprId> chosen_;         ///< of them, those that a condition chose
};

} // namespace

Site read_site(Facts& facts, const Place& place, const Ref& ref, int width, ValueId predicate) {
  Reader reader(facts, place);
  if (!predicate) return reader.read(ref, width);
  Facts::Mark mark = facts.mark();
  reader.add_condition(facts.term(predicate));
  facts.assume(facts.term(predicate));
  Site site = reader.read(ref, width);
  facts.rewind(mark);
  return site;
}

} // namespace tang::kernel

// Every element of a written tensor is written exactly once. The argument:
//
// A store runs once for each value of its digits: block and thread coordinates, rounds of loops,
// and the lanes of a vector. Each of its coordinates is a numeral with mixed radix in digits of its
// own,
//
//     i = d0 + e0*d1 + e0*e1*d2 + ...     with 0 <= dk < ek,
//
// so different digits give different i, and every i below the product T of the extents occurs.
// Where T is the extent E of the mode, that is all; where T >= E, the store must be guarded by i <
// E and by nothing else. Coordinates that were taken from a flat number (Delinearize) are digits
// too, and that number must be such a numeral below the product of their extents. A digit that no
// numeral has must be fixed by a guard (`thread == 0`) or have one value.
//
// Several stores at constant distances, as an unrolled tile has them, count as one store with one
// more digit per numeral; two stores under a condition and its complement count as one without it.
//
// Of a tensor that is written in part each element is written at most once: nothing needs to be
// reached, and conditions may exclude what they like.
#include "base/check.h"
#include "kernel/proofs.h"
#include <set>
#include <utility>

namespace tang::kernel {
namespace {

using graph::ExprId;
using graph::Polynomial;

Polynomial without_constant(const Polynomial& p) {
  return *p.minus(Polynomial::constant(p.constant_term()));
}

/// Where a site stands among those that are alike: the constants of its numerals.
std::vector<int64_t> place_of(const Site& site) {
  std::vector<int64_t> place;
  for (const Numeral& numeral : site.numerals) place.push_back(numeral.value.constant_term());
  return place;
}

/// Whether the sites of one tensor write each of its elements once.
class Cover {
public:
  Cover(Facts& facts, std::vector<Site> sites, bool in_part)
      : facts_(facts), sites_(std::move(sites)), in_part_(in_part) {}

  /// Why not; empty when they do.
  std::string fault() {
    for (const Site& site : sites_)
      if (!site.fault.empty()) return site.fault;
    join_complements();
    if (!in_part_)
      for (const Site& site : sites_)
        if (!site.open.empty()) return "a condition may exclude elements";
    if (!alike()) return "several statements store to it";
    digits_ = sites_[0].digits;
    required_ = digits_.size();
    digits_.insert(digits_.end(), sites_[0].steps.begin(), sites_[0].steps.end());
    used_.assign(digits_.size(), false);
    size_t places = 1;
    for (size_t n = 0; n < sites_[0].numerals.size(); ++n) {
      std::set<int64_t> offsets;
      for (const Site& site : sites_) offsets.insert(site.numerals[n].value.constant_term());
      places *= offsets.size();
      if (std::string text = covers(n, offsets); !text.empty()) return text;
    }
    if (places != sites_.size()) return "several statements store to it";
    if (std::find(used_.begin(), used_.begin() + static_cast<ptrdiff_t>(required_), false) !=
        used_.begin() + static_cast<ptrdiff_t>(required_))
      return "it is written for several values of a coordinate that it does not depend on";
    return {};
  }

private:
  bool are_complements(ExprId a, ExprId b) {
    return facts_.exprs().unary(Op::logical_not, a) == b ||
           facts_.exprs().unary(Op::logical_not, b) == a;
  }

  /// Two sites of one place that differ in `c` and `not c` become one under neither.
  void join_complements() {
    for (size_t i = 0; i < sites_.size(); ++i)
      for (size_t k = i + 1; k < sites_.size(); ++k) {
        Site &a = sites_[i], &b = sites_[k];
        if (a.open.empty() || a.open.size() != b.open.size() || !same(a, b) ||
            place_of(a) != place_of(b))
          continue;
        auto [x, y] = std::mismatch(a.open.begin(), a.open.end(), b.open.begin());
        if (x == a.open.end() || !are_complements(*x, *y) ||
            !std::equal(x + 1, a.open.end(), y + 1))
          continue;
        a.open.erase(x);
        for (size_t n = 0; n < a.numerals.size(); ++n)
          a.numerals[n].guarded = a.numerals[n].guarded && b.numerals[n].guarded;
        sites_.erase(sites_.begin() + static_cast<ptrdiff_t>(k));
        k = i;
      }
  }

  /// Whether two sites differ in constant distances and conditions only.
  static bool same(const Site& a, const Site& b) {
    return a.digits == b.digits && a.steps == b.steps &&
           std::equal(a.numerals.begin(), a.numerals.end(), b.numerals.begin(), b.numerals.end(),
                      [](const Numeral& x, const Numeral& y) {
                        return x.extent == y.extent && x.lanes == y.lanes &&
                               without_constant(x.value) == without_constant(y.value);
                      });
  }

  /// The sites differ in constant distances only, and no two of them in nothing.
  bool alike() const {
    std::set<std::vector<int64_t>> places;
    for (const Site& site : sites_)
      if (!same(site, sites_[0]) || !places.insert(place_of(site)).second) return false;
    return true;
  }

  /// The product of the radices when the value is a numeral in the digits, each of which it uses
  /// up, and in the distances between sites.
  std::optional<Polynomial> radix_product(const Numeral& numeral,
                                          const std::set<int64_t>& offsets) {
    Polynomial rest = without_constant(numeral.value), radix = Polynomial::constant(numeral.lanes);
    int64_t count = static_cast<int64_t>(offsets.size()), step = 0;
    // What is written in part may begin anywhere.
    int64_t first = in_part_ ? *offsets.begin() : 0;
    if (*offsets.begin() != first) return std::nullopt;
    if (count > 1) {
      step = *std::next(offsets.begin()) - first;
      for (int64_t k = 0; int64_t offset : offsets)
        if (offset - first != step * k++) return std::nullopt;
    }
    for (bool found = true; found;) {
      found = false;
      if (count > 1 && radix == Polynomial::constant(step)) {
        radix = *radix.times(Polynomial::constant(std::exchange(count, 1)));
        found = true;
      }
      for (size_t i = 0; i < digits_.size() && !found; ++i) {
        auto split = used_[i] ? std::nullopt : rest.split(digits_[i].index);
        if (!split || split->first != radix) continue;
        auto extent = facts_.polynomial(digits_[i].extent);
        auto next = extent ? radix.times(*extent) : std::nullopt;
        if (!next) return std::nullopt;
        rest = split->second, radix = *next;
        used_[i] = found = true;
      }
    }
    return rest.is_zero() && count == 1 ? std::optional(radix) : std::nullopt;
  }

  std::string covers(size_t n, const std::set<int64_t>& offsets) {
    const Numeral& numeral = sites_[0].numerals[n];
    auto total = radix_product(numeral, offsets);
    if (!total) return "its coordinates are no numerals";
    if (in_part_ || *total == numeral.extent) return {};
    auto over = total->minus(numeral.extent), under = numeral.extent.minus(*total);
    const graph::Prover& known = facts_.about_dims();
    if (!over || !known.nonnegative(*over)) return "its blocks may not reach every element";
    bool guarded = std::all_of(sites_.begin(), sites_.end(),
                               [&](const Site& site) { return site.numerals[n].guarded; });
    if (guarded || (under && known.nonnegative(*under))) return {};
    return "its last block is not guarded";
  }

  Facts& facts_;
  std::vector<Site> sites_;
  bool in_part_;
  std::vector<Digit> digits_; ///< those that must be used up first
  size_t required_ = 0;
  std::vector<bool> used_;
};

/// Whether some extent is 0 for certain.
bool is_empty(Facts& facts, const Tensor& tensor) {
  return std::any_of(tensor.shape.begin(), tensor.shape.end(), [&](ValueId extent) {
    return facts.about_dims().less_equal(facts.term(extent), facts.exprs().integer(0));
  });
}

} // namespace

void CoverageProof::visit(const Stmt& stmt, const Place& place) {
  auto add = [&](const Ref& dst, int width, ValueId predicate) {
    if (facts_.kernel()[dst.tensor].memory != Memory::global) return;
    Site site = read_site(facts_, place, dst, width, predicate);
    if (!site.never) sites_[dst.tensor].push_back(std::move(site));
  };
  if (const auto* store = std::get_if<Store>(&stmt.node)) add(store->dst, 1, store->predicate);
  if (const auto* copy = std::get_if<Copy>(&stmt.node))
    add(copy->dst, copy->width, copy->predicate);
}

/// Why the elements of a tensor may not be written once; empty when they are.
std::string CoverageProof::fault(TensorId id) {
  if (!facts_.disagreement().empty()) return facts_.disagreement();
  const Tensor& tensor = facts_.kernel()[id];
  std::vector<Site>& sites = sites_[id];
  std::string fault;
  if (!sites.empty())
    fault = Cover(facts_, std::move(sites), tensor.in_part).fault();
  else if (!tensor.in_part)
    fault = "nothing stores to it";
  return fault.empty() || is_empty(facts_, tensor) ? std::string() : fault;
}

Report CoverageProof::take() {
  Report report;
  const Kernel& kernel = facts_.kernel();
  for (TensorId id : kernel.params) {
    if (!kernel[id].written) continue;
    std::string text = fault(id);
    if (text.empty())
      ++report.proved;
    else
      report.unproved.push_back(fmt::format(
          "`{}` in kernel `{}` is not proved to be written {} once: {}", kernel[id].name,
          kernel.name, kernel[id].in_part ? "at most" : "exactly", text));
  }
  return report;
}

} // namespace tang::kernel

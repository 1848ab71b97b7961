#include "layout/monomial.h"
#include "base/checked.h"
#include <algorithm>
#include <map>
#include <tuple>

namespace tang::layout {

Result<Monomial> times(const Monomial& a, const Monomial& b) {
  auto factor = checked_mul(a.factor, b.factor);
  if (!factor) return refuse("{} times {} leaves 64 bits", to_text(a), to_text(b));
  if (*factor == 0) return Monomial{0, {}};
  if (a.symbols.size() + b.symbols.size() > max_symbols)
    return refuse("{} times {} has more than {} symbols", to_text(a), to_text(b), max_symbols);
  Monomial out{*factor, {}};
  std::merge(a.symbols.begin(), a.symbols.end(), b.symbols.begin(), b.symbols.end(),
             std::back_inserter(out.symbols));
  return out;
}

std::optional<Monomial> quotient(const Monomial& a, const Monomial& b) {
  if (b.factor == 0 || a.factor % b.factor != 0) return std::nullopt;
  if (a.factor == 0) return a;
  if (!std::includes(a.symbols.begin(), a.symbols.end(), b.symbols.begin(), b.symbols.end()))
    return std::nullopt;
  Monomial out{a.factor / b.factor, {}};
  std::set_difference(a.symbols.begin(), a.symbols.end(), b.symbols.begin(), b.symbols.end(),
                      std::back_inserter(out.symbols));
  return out;
}

std::string to_text(const Monomial& m) {
  if (m.symbols.empty()) return std::to_string(m.factor);
  std::string text = m.factor == 1 ? "" : fmt::format("{}*", m.factor);
  return text + fmt::format("{}", fmt::join(m.symbols, "*"));
}

Result<Stride> times(const Monomial& a, const Stride& b) {
  auto amount = times(a, b.amount);
  if (!amount) return amount.refusal();
  return Stride{*amount, amount->factor == 0 ? "" : b.basis};
}

std::string to_text(const Stride& stride) {
  return to_text(stride.amount) + (stride.basis.empty() ? "" : "@" + stride.basis);
}

bool Sum::add(Stride term, int64_t scale) {
  auto factor = checked_mul(term.amount.factor, scale);
  if (!factor) return false;
  term.amount.factor = *factor;
  if (term.is_zero()) return true;
  auto key = [](const Stride& s) { return std::tie(s.basis, s.amount.symbols); };
  auto place = std::lower_bound(terms_.begin(), terms_.end(), term,
                                [&](const Stride& a, const Stride& b) { return key(a) < key(b); });
  if (place == terms_.end() || key(*place) != key(term)) {
    terms_.insert(place, std::move(term));
    return true;
  }
  auto sum = checked_add(place->amount.factor, term.amount.factor);
  if (!sum) return false;
  place->amount.factor = *sum;
  if (*sum == 0) terms_.erase(place);
  return true;
}

bool Sum::add(const Sum& o, int64_t scale) {
  return std::all_of(o.terms_.begin(), o.terms_.end(),
                     [&](const Stride& term) { return add(term, scale); });
}

std::optional<Monomial> Sum::monomial() const {
  if (terms_.empty()) return Monomial{0, {}};
  if (terms_.size() > 1 || !terms_[0].basis.empty()) return std::nullopt;
  return terms_[0].amount;
}

std::optional<int64_t> Sum::constant() const {
  auto m = monomial();
  return m && m->is_constant() ? std::optional(m->factor) : std::nullopt;
}

std::string to_text(const Sum& sum) {
  if (sum.terms().empty()) return "0";
  std::string text;
  for (const Stride& term : sum.terms()) text += (text.empty() ? "" : " + ") + to_text(term);
  return text;
}

Result<Sum> reach(const Monomial& size, const Stride& stride) {
  auto whole = times(size, stride);
  if (!whole) return whole.refusal();
  Sum out;
  if (!out.add(*whole) || !out.add(stride, -1))
    return refuse("{} times {} leaves 64 bits", to_text(size), to_text(stride));
  return out;
}

bool proven_at_most(const Sum& a, const Sum& b) {
  Sum difference = b;
  if (!difference.add(a, -1)) return false;
  if (auto value = difference.constant()) return *value >= 0;
  // With s = 1 + t each symbol becomes some t >= 0, and a polynomial in the t without negative
  // factors is never negative.
  std::map<std::vector<std::string>, int64_t> shifted;
  for (const Stride& term : difference.terms()) {
    std::map<std::vector<std::string>, int64_t> product{{{}, term.amount.factor}};
    if (term.amount.symbols.size() > 8) return false;
    for (const std::string& symbol : term.amount.symbols) {
      auto with = product;
      for (const auto& [symbols, factor] : product) {
        std::vector<std::string> more = symbols; // sorted, as the symbols come in order
        more.push_back(symbol);
        if (__builtin_add_overflow(with[more], factor, &with[more])) return false;
      }
      product = std::move(with);
    }
    for (const auto& [symbols, factor] : product)
      if (__builtin_add_overflow(shifted[symbols], factor, &shifted[symbols])) return false;
  }
  return std::all_of(shifted.begin(), shifted.end(), [](const auto& t) { return t.second >= 0; });
}

} // namespace tang::layout

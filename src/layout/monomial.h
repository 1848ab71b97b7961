#pragma once
// Sizes, strides and offsets: integers with symbols in them.
//
//   size     4*M         Monomial: a factor times symbols
//   stride   8*M, 2@n    Stride: a monomial, along a basis vector in a coordinate tensor
//   offset   2 + 3*M     Sum: strides added up; also coordinates, 2@m + 3@n
//
// A symbol stands for any integer from 1; what is said of it holds for all of them.
#include "layout/result.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace tang::layout {

/// factor * symbols. Symbols are sorted, and repeated for powers; 0 has none.
struct Monomial {
  int64_t factor = 1;
  std::vector<std::string> symbols;

  static Monomial constant(int64_t value) { return {value, {}}; }
  bool is(int64_t value) const { return factor == value && symbols.empty(); }
  bool is_constant() const { return symbols.empty(); }
  friend bool operator==(const Monomial&, const Monomial&) = default;
};

/// Refused beyond 64 bits or `max_symbols` symbols.
Result<Monomial> times(const Monomial& a, const Monomial& b);
inline constexpr size_t max_symbols = 16;
/// a / b where that is a monomial. Empty where b does not divide a or is 0, and where it depends on
/// the symbols: M / 4, 4 / M.
std::optional<Monomial> quotient(const Monomial& a, const Monomial& b);
std::string to_text(const Monomial& m);

/// Steps of `amount` along a basis vector; an empty basis is plain memory. 0 has no basis.
struct Stride {
  Monomial amount{0, {}};
  std::string basis;

  bool is_zero() const { return amount.factor == 0; }
  friend bool operator==(const Stride&, const Stride&) = default;
};
Result<Stride> times(const Monomial& a, const Stride& b);
std::string to_text(const Stride& stride);

/// A sum of strides: at most one for each basis and list of symbols, ordered by both, none 0.
/// Factors may be negative.
class Sum {
public:
  Sum() = default;
  Sum(int64_t value) { static_cast<void>(add({Monomial::constant(value), {}})); }

  const std::vector<Stride>& terms() const { return terms_; }
  /// False, and unchanged, beyond 64 bits.
  [[nodiscard]] bool add(Stride term, int64_t scale = 1);
  /// False beyond 64 bits.
  [[nodiscard]] bool add(const Sum& o, int64_t scale = 1);
  /// The value where there are neither symbols nor bases.
  std::optional<int64_t> constant() const;
  /// The monomial where it is one, without a basis; 0 for the empty sum.
  std::optional<Monomial> monomial() const;
  friend bool operator==(const Sum&, const Sum&) = default;

private:
  std::vector<Stride> terms_;
};
std::string to_text(const Sum& sum);

/// (size - 1) * stride, the largest value that a mode adds.
Result<Sum> reach(const Monomial& size, const Stride& stride);
/// Whether a <= b for all values of the symbols. False also where that is open, and beyond 64 bits.
/// Both are plain.
bool proven_at_most(const Sum& a, const Sum& b);

} // namespace tang::layout

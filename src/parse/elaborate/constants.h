#pragma once
// Constant expressions: extents, dims, lets, steps, table entries.
#include "graph/polynomial.h"
#include "parse/elaborate/context.h"

namespace tang::parse {

/// A number known at compile time, up to symbolic dims. Exact: numerator / denominator, the
/// numerator a polynomial over dims. Otherwise a real; `symbolic` when it depends on a dim that is
/// not bound, so that it has no value yet.
struct Number {
  bool exact = false;
  bool overflow = false; ///< an exact value left 64 bits; `real` is near it
  bool symbolic = false;
  graph::Polynomial numerator;
  int64_t denominator = 1;
  double real = 0;

  /// Value where it is an integer without dims.
  std::optional<int64_t> as_integer() const;
  std::optional<double> as_real() const;
};

/// Reports names that are no constants. Uses of dims and lets count as uses.
std::optional<Number> evaluate_constant(Context& context, const Module& module, ExprId id);

/// An exact integer without symbolic dims; reports `kind` otherwise. `what` is the noun of the
/// message: "the step".
std::optional<int64_t> constant_integer(Context& context, const Module& module, ExprId id,
                                        Kind kind, std::string_view what);
std::optional<double> constant_real(Context& context, const Module& module, ExprId id,
                                    std::string_view what);

/// An integer term over dims, canonical; reports `kind` when it is none, dim_overflow when it
/// leaves 64 bits. Division is exact or an error: a symbolic dim must be a multiple of the divisor.
Term constant_term(Context& context, const Module& module, ExprId id, Kind kind,
                   std::string_view what);
/// As above, and not negative.
Term extent_term(Context& context, const Module& module, ExprId id);

/// The binary expressions along the left edge of `id`, outermost first. A chain of operators has
/// any length, so it is walked as a list.
std::vector<ExprId> left_spine(const Module& module, ExprId id);

} // namespace tang::parse

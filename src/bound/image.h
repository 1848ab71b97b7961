#pragma once
// How many different elements a read touches at least.
#include "bound/demand.h"

namespace tang::bound {

/// A lower bound of the number of distinct elements, as formulas over dims.
struct Image {
  std::vector<ExprId> counts;  ///< one per place that has an index of its own; multiply
  std::vector<ExprId> factors; ///< 0 or 1: the axes that only have to be non-empty
  std::string reason;          ///< not empty: no bound, or one below the whole image, and why
  bool known = true;           ///< false: nothing can be claimed, the bound is 0
};

/// Picks an index (or a mixed radix of two) for each place such that different values of the picked
/// indices touch different elements, fixes all other indices at one value each where the conditions
/// hold for every value of the picked ones, and counts the picked ones. `opaque` axes have one
/// unknown value: conditions must hold for all of it.
Image image_of(Formulas& formulas, const Demand& demand, std::span<const graph::Axis> opaque);

/// counts * factors.
ExprId total(Formulas& formulas, const Image& image);

} // namespace tang::bound

#pragma once
// Bounds on the address arithmetic of a kernel, as host values over the dims.
#include "graph/polynomial.h"
#include "kernel/program.h"
#include "legalize/rewriting.h"

namespace tang::legalize {

/// Finds, for a kernel as one variant launches it, host values that no index value, no sum and no
/// product on the way to one exceeds in magnitude.
///
/// A bound is a polynomial with coefficients >= 0 whose atoms are host values >= 0: |a + b| and
/// |a - b| stay below the sum of the bounds, |a*b| below the product, and so does every part of
/// such a sum in whatever order it is computed. Coordinates taken from data count as in range of
/// their tensor, because memory is touched only where they are.
class IndexBounds {
public:
  using Polynomial = graph::Polynomial;
  IndexBounds(kernel::Program& program, const kernel::Kernel& kernel,
              const kernel::Variant& variant);

  /// Empty when some value has no bound.
  std::optional<std::vector<Polynomial>> all();

private:
  std::optional<Polynomial> of(kernel::ValueId id);
  std::optional<Polynomial> make(kernel::ValueId id);
  std::optional<Polynomial> of_variable(kernel::VarId id) const;
  std::optional<Polynomial> of_division(const kernel::Value& v);
  std::optional<Polynomial> of_ref(const kernel::Ref& ref);
  Polynomial of_host(kernel::ValueId host) const;
  std::optional<Polynomial> of_range(kernel::ValueId id) const;
  void define(const kernel::Body& body);
  void note_gathers(const kernel::Ref& ref);
  void add(std::optional<Polynomial> bound);
  bool below(const Polynomial& a, const Polynomial& b) const;

  kernel::Program& program_;
  const kernel::Kernel& kernel_;
  const kernel::Variant& variant_;
  std::unordered_map<kernel::VarId, std::optional<Polynomial>> vars_;
  std::unordered_map<kernel::ValueId, std::optional<Polynomial>> known_;
  std::unordered_map<kernel::ValueId, std::optional<Polynomial>> gathers_;
  std::vector<Polynomial> bounds_;
  bool complete_ = true;
};

/// The value of a bound, with factors and sums that could leave 64 bits held at 2^31, which is
/// already too large for 32.
kernel::ValueId saturated(kernel::ValueStore& host, const graph::Polynomial& bound);

} // namespace tang::legalize

#pragma once
// The proofs about a kernel. Each is shown every statement in order, while the facts of its place
// are in force (Facts::walk), and reports at the end.
#include "kernel/facts.h"
#include "kernel/sites.h"
#include "kernel/verify.h"
#include <map>

namespace tang::kernel {

/// Every access is in range (ranges.cpp).
class RangeProof {
public:
  explicit RangeProof(Facts& facts);
  void visit(const Stmt& stmt);
  Report take() { return std::move(report_); }

private:
  void modes();
  void holds(VarId id, graph::IntRange defined);
  template <class F>
  void under(ValueId predicate, F&& inside);
  void values(std::initializer_list<ValueId> roots);
  void access(const Ref& ref, int width);
  bool is_in_range(ValueId place, ValueId extent, int width);
  bool is_in_range_by_cases(ValueId place, ValueId extent, int width);
  void number(const Delinearize& s);
  int64_t last_below(ValueId end) const;

  Facts& facts_;
  const Kernel& kernel_;
  Report report_;
  graph::ExprId predicate_; ///< of the access that is looked at; may be empty
};

/// Every element of an output is written once (coverage.cpp).
class CoverageProof {
public:
  explicit CoverageProof(Facts& facts) : facts_(facts) {}
  void visit(const Stmt& stmt, const Place& place);
  Report take();

private:
  std::string fault(TensorId id);
  Facts& facts_;
  std::map<TensorId, std::vector<Site>> sites_;
};

} // namespace tang::kernel

#pragma once
// Runs a kernel on small data, block after block and thread after thread: enough to see that a pass
// keeps the meaning. Kernels with barriers or shuffles are not run.
#include "kernel/kernel.h"
#include <map>
#include <stdexcept>

namespace tang::kernel::test {

/// One double per element: integers and reals of the samples are small.
using Memory_ = std::vector<double>;

class Run {
public:
  /// `params`: one array per Kernel::params; `scalars`: one per Kernel::scalars.
  Run(const Kernel& kernel, std::vector<Memory_*> params, std::vector<int64_t> scalars);
  /// Accesses outside an array throw.
  void all();

private:
  double value(ValueId id);
  bool holds(ValueId predicate) { return !predicate || value(predicate) != 0; }
  double& at(const Ref& ref);
  double& element(TensorId tensor, std::span<const ValueId> coordinates);
  void body(const Body& body);
  void thread(int64_t block, int64_t thread, const std::vector<int64_t>& extents);

  const Kernel& kernel_;
  std::map<uint32_t, Memory_*> memory_;
  std::map<uint32_t, Memory_> registers_;
  std::map<uint32_t, double> vars_;
};

} // namespace tang::kernel::test

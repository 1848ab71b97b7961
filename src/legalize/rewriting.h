#pragma once
// What passes share: substitution of variables in a whole kernel, visiting of variants.
#include "kernel/program.h"

namespace tang::legalize {

/// Rewrites all values of a body bottom-up, shared terms once (kernel::rewrite).
class ValueRewriter {
public:
  ValueRewriter(kernel::ValueStore& store, std::function<kernel::ValueId(kernel::ValueId)> visit)
      : store_(store), visit_(std::move(visit)) {}
  kernel::ValueId operator()(kernel::ValueId root);

private:
  kernel::ValueStore& store_;
  std::function<kernel::ValueId(kernel::ValueId)> visit_;
  std::vector<kernel::ValueId> done_; ///< by value; empty where it was not met
};

/// Replaces variables by values in a kernel's body, extents and layouts.
void substitute(kernel::Kernel& kernel,
                const std::unordered_map<kernel::VarId, kernel::ValueId>& replacements);

/// Rewrites every value that a body, the grid and the layouts hold.
void map_all_values(kernel::Kernel& kernel,
                    const std::function<kernel::ValueId(kernel::ValueId)>& map);

/// Every dispatch of a program, in loops too.
void for_each_dispatch(std::vector<kernel::Step>& steps,
                       const std::function<void(kernel::Dispatch&)>& visit);

/// A value over a kernel's scalar parameters as a host value, given theirs. Empty where it depends
/// on anything else.
kernel::ValueId host_value(const kernel::Kernel& kernel, kernel::ValueId value,
                           kernel::ValueStore& host, std::span<const kernel::ValueId> scalars);

} // namespace tang::legalize

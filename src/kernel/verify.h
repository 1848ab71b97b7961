#pragma once
// Invariants of kernels and programs. What is surely wrong throws; what could not be proved is
// reported, because a proof that fails does not make a kernel wrong.
#include "kernel/program.h"

namespace tang::kernel {

/// What a check proved, and one sentence for each thing it did not.
struct Report {
  int proved = 0;
  std::vector<std::string> unproved;
  Report& operator+=(Report other) {
    proved += other.proved;
    for (std::string& text : other.unproved) unproved.push_back(std::move(text));
    return *this;
  }
};

/// Every element that a kernel touches lies in its tensor: each coordinate of each load, store,
/// copy and register element is proved in range by loop bounds and conditions.
Report check_ranges(const Kernel& kernel);
/// The same for every variant of a program, which knows more about the dims.
Report check_ranges(const Program& program);

/// Every element of a written tensor is written exactly once (coverage.cpp has the argument).
Report check_coverage(const Kernel& kernel);
Report check_coverage(const Program& program);

/// Invariants of a kernel, on every compile: variables are defined once and before use, refs have
/// their tensor's rank, operands have the types their statements want, registers and shared tensors
/// are allocated before use and have constant layouts, only `written` parameters are stored to,
/// copies have registers on one side, barriers and shuffles stand in control flow that does not
/// depend on the thread, and no access is out of range for certain. Throws InternalError that names
/// `stage` and prints the kernel.
void verify(const Kernel& kernel, std::string_view stage);

/// Invariants of a program: verify() of its kernels; bindings, scalars and blocks match their
/// kernels in number and type, buffers and slots exist, every argument that is written is written
/// by some launch, workspace slots of overlapping lives are distinct, variants but the last have
/// conditions.
void verify(const Program& program, std::string_view stage);

} // namespace tang::kernel

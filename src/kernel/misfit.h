#pragma once
// How the verifiers of kernels and programs stop at the first thing that is wrong.
#include "kernel/verify.h"

namespace tang::kernel {

/// Thrown by check(const Kernel&) and caught in verify.cpp and verify_program.cpp.
struct KernelMisfit {
  std::string text;
  std::optional<size_t> statement;
};
void check(const Kernel& kernel);

} // namespace tang::kernel

#pragma once
#include "kernel/program.h"

namespace tang::kernel {

/// Invariants of a kernel, on every compile: variables are defined once and before use, refs have
/// their tensor's rank, register coordinates are constants after unrolling or loop variables with
/// constant bounds, barriers and shuffles stand in uniform control flow, shared memory fits, every
/// load and store is proved inside its tensor or predicated by conditions that prove it. Throws
/// InternalError that names `stage` and prints the kernel.
void verify(const Kernel& kernel, std::string_view stage);

/// Invariants of a program: bindings match parameters, every output buffer is written by exactly one
/// dispatch and each of its elements exactly once (coverage.cpp has the argument), workspace slots
/// of overlapping lives are distinct.
void verify(const Program& program, std::string_view stage);

} // namespace tang::kernel

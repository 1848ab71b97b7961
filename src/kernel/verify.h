#pragma once
// Invariants of kernels and programs: their structure, and proofs that they touch what they may and
// write what they must.
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
/// copy and register element is proved in range by loop bounds and conditions. Flat numbers are
/// below the product of their extents, and variables in the ranges that they are said to be in.
Report check_ranges(const Kernel& kernel);
/// The same for every variant of a program, which knows more about the dims.
Report check_ranges(const Program& program);

/// Every element of a written tensor is written exactly once, of one that is written in part at
/// most once (coverage.cpp has the argument).
Report check_coverage(const Kernel& kernel);
/// The same for every variant of a program, inside the recurrences that launch it.
Report check_coverage(const Program& program);

/// Both for a program that a compile made: throws InternalError that names `stage` and prints the
/// kernel, because what is not proved is not emitted. Returns the number of proofs.
int prove(const Program& program, std::string_view stage);
/// The second alone: passes that move work among blocks, threads and loops keep what is accessed.
int prove_coverage(const Program& program, std::string_view stage);

/// What `prove` does not prove of a program that a person wrote, launch by launch.
struct Unproved {
  KernelId kernel;
  std::string text;
};
std::vector<Unproved> find_unproved(const Program& program);

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

/// What is wrong with a program that a person wrote, in the words of verify(), and where.
struct Misfit {
  std::string text;
  KernelId kernel;                 ///< empty: of the program
  std::optional<size_t> statement; ///< its number as for_each_stmt visits them; else of the head
};
/// The first that verify() would throw for.
std::optional<Misfit> find_misfit(const Program& program);

} // namespace tang::kernel

#pragma once
// What the condition of a variant says about the dims: which sums of them are multiples of numbers,
// or numbers themselves, and for which variables that can be solved.
#include "graph/polynomial.h"
#include "kernel/value.h"
#include <map>
#include <optional>
#include <unordered_map>

namespace tang::kernel {

/// What a condition says about host values: `mod(N + 1, 8) == 0 and M == 3` is that N + 1 is 8
/// times something, and M 3.
struct Equations {
  std::map<ValueId, int64_t> multiples, constants;
};
Equations equations_of(const ValueStore& host, ValueId condition);

/// The values that a variable may take: modulus*u + rest for any integer u.
struct Residues {
  int64_t modulus = 1, rest = 0;

  /// Keeps those for which factor*value + offset is a multiple of c. False where that is too much
  /// to say, or there are none: then nothing runs.
  bool keep(int64_t factor, int64_t offset, int64_t c);
};

/// factor*N + offset for a variable N.
struct Line {
  VarId var;
  int64_t factor, offset;
};
std::optional<Line> line_of(const ValueStore& store, const graph::Polynomial& form);

/// A variable that a sum holds once, as +N or -N.
struct Alone {
  graph::ExprId atom;
  VarId var;
  int64_t sign;
};
/// The first such variable that is not in `known`.
std::optional<Alone> lone_variable(const ValueStore& store, const graph::Polynomial& form,
                                   const std::unordered_map<VarId, graph::ExprId>& known);

} // namespace tang::kernel

#pragma once
// What each op of ops.def does to values: the one place where the interpreter defines them.
#include "graph/expr.h"
#include <optional>

namespace tang::interpret {

using graph::Op;

/// real -> real: neg abs sign floor ceil round exp ... erf.
double real_unary(Op op, double a);
/// real, real -> real: add sub mul div min max floordiv mod pow atan2.
double real_binary(Op op, double a, double b);
/// eq ne lt le.
bool real_compare(Op op, double a, double b);
bool integer_compare(Op op, int64_t a, int64_t b);

/// Empty where the exact result leaves 64 bits.
std::optional<int64_t> integer_unary(Op op, int64_t a);
/// add sub mul min max floordiv mod bit_* shl shr. `shl(a, n)` is floor(a * 2^n) and `shr(a, n)` is
/// floor(a / 2^n), for every n of either sign.
std::optional<int64_t> integer_binary(Op op, int64_t a, int64_t b);

} // namespace tang::interpret

#pragma once
// Storage formats: which value a real or an integer becomes when it is stored (language.md 5).
//
// Every conversion goes from the exact value to the format in one rounding to nearest, ties to
// even, with subnormals. f32, f16 and bf16 overflow to infinity; f8e4m3 (the variant without
// infinity, OCP 8-bit floating point specification) and f8e5m2 saturate, infinities included. NaN
// stays NaN.
#include "graph/pieces.h"
#include <cstdint>

namespace tang::interpret {

using graph::ElemType;

/// The value of `x` in the real format `type`.
double round_to(ElemType type, double x);
/// `x` as f32 without the 13 lower bits of its mantissa, which tf32 units do not read. NaN stays
/// NaN.
double cut_tf32(double x);
/// The part of an f32 that a split product takes first, in a format of pieces: finite, cut towards
/// 0; the largest for NaN.
double head_of(ElemType held, double x);
/// What the head leaves, as a register holds it: rounded to nearest, f32 for tf32.
double rest_of(ElemType held, double x);
/// The product of two f32 as the sum of those of their pieces (the law split_precision), each
/// operation in f32.
double split_product(const graph::Pieces& pieces, double a, double b);
/// The value of an integer in the real format `type`, rounded once also above 2^53.
double round_integer_to(ElemType type, int64_t x);

/// The value of `x` in the integer format `type`: truncated towards zero, saturated; NaN gives 0.
/// For bool: whether `x` differs from 0.
int64_t to_integer(ElemType type, double x);
/// The same for an integer: saturated; for bool whether it differs from 0.
int64_t to_integer(ElemType type, int64_t x);

/// The bits of `x`, rounded to `type` first, in the low bits of the result. `type` is a real
/// format.
uint64_t encode_real(ElemType type, double x);
double decode_real(ElemType type, uint64_t bits);

} // namespace tang::interpret

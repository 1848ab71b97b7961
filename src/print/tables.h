#pragma once
// Constant tables of a program as arrays in the storage format's own bits.
#include "kernel/program.h"
#include "print/dialect.h"

namespace tang::print {

/// The bits of `value` in a storage format of at most 32 bits, rounded to nearest, ties to even;
/// f16 and bf16 overflow to infinity, 8-bit floats saturate.
uint32_t encode(graph::ElemType type, double value);

/// The integer type of a table's elements: a format's bits where it is not a type of C.
std::string_view table_word(const Dialect& dialect, graph::ElemType type);

/// `{a, b, c}`, several lines for long tables.
std::string table_elements(const kernel::Buffer& buffer);

} // namespace tang::print

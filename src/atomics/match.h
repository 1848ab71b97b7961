#pragma once
// Which row carries out a leaf of a kernel: found by kind, formats, memories and the composition of
// layouts, never by name.
#include "atomics/table.h"
#include <variant>

namespace tang::atomics {

/// D += A * B over matrices, D in registers.
struct Product {
  graph::ElemType d, a, b;
  bool tf32 = false; ///< the factors may lose what a tf32 unit does not read
};
/// A Move of one thread's run of `bytes` bytes between memories, elements of `type`.
struct MoveShape {
  Memory to, from;
  graph::ElemType type;
  int bytes = 16;
  bool zero_fills = false; ///< with a predicate
  bool asynchronous = false;
};
/// A Move from shared memory to the registers of a group of threads, of which the values go where
/// `fragment`, as (lane, value) -> coordinates, has them, and whose runs lie along the axis that is
/// contiguous in memory.
struct FragmentShape {
  graph::ElemType type;
  layout::Layout fragment;
  std::string contiguous;
};
/// The end of a group of asynchronous moves, or the wait for groups.
struct GroupShape {
  Kind kind = Kind::commit;
  std::string token;
};
/// An f32 in a register becomes what tf32 units are given of it, or as many as fill a register
/// become numbers of a narrower format.
struct Rounding {
  Rounds to = Rounds::nearest;
  graph::ElemType format = graph::ElemType::f32; ///< of the result; f32: tf32
};
/// A function of an f32 in a register, as exact as the unit is; subnormal results may be 0.
struct Function {
  std::string op; ///< as rows name it: exp2, reciprocal
};
/// What a kernel may ask an instruction for.
using Leaf = std::variant<Product, MoveShape, FragmentShape, GroupShape, Rounding, Function>;

/// The kind of the rows that a leaf is about.
Kind kind_of(const Leaf& leaf);
/// `f32 += bf16 * bf16`: in the words of rows.
std::string to_text(const Leaf& leaf);
/// Why a row does not carry out a leaf; empty where it does.
std::string mismatch(const Row& row, const Leaf& leaf);

/// The row for a leaf: of products that with the most work in one issue, else the first that fits;
/// null where the target has none.
const Row* find(const Target& target, const Leaf& leaf);

/// A leaf that asked for an instruction, and what it got.
struct Asked {
  Leaf leaf;
  const Row* row = nullptr; ///< outlives the kernel; null: none
};

/// How a row loads a fragment: where each lane's run begins.
struct FragmentLoad {
  const Row* row = nullptr;
  layout::Layout lanes; ///< lane -> coordinates
};
std::optional<FragmentLoad> find_fragment_load(const Target& target, const FragmentShape& shape);

} // namespace tang::atomics

#pragma once
// The kernel level: what a block of threads does, statement by statement (kernel-ir.md).
//
// Data tensors are layouts over a memory; the grid and the block are thread tensors whose modes
// have coordinate variables. Specs say what a group of threads computes; a spec with a body is
// decomposed, a leaf is something every target prints directly (Move, Pointwise, Init, Shfl) or an
// instruction, which is a row of atomics/.
#include "atomics/match.h"
#include "kernel/value.h"
#include <string>
#include <variant>

namespace tang::kernel {

using atomics::Memory;

/// A data tensor: name, `shape:stride` layout, element type, memory. Offsets count elements.
struct Tensor {
  std::string name;
  /// Global and shared: storage. Registers: f32, f64, i32, i64 or bool; or a shorter format,
  /// several elements in a register, which only instructions read and write.
  ElemType type = ElemType::f32;
  Memory memory = Memory::global;
  std::vector<ValueId> shape;
  std::vector<ValueId>
      stride;           ///< row-major where not given otherwise; registers and shared: constants
  bool written = false; ///< global only: some store reaches it
  int align = 16;       ///< bytes of its first element
  int64_t offset = 0;   ///< shared, placed: bytes from the beginning
  bool in_part = false; ///< written in place: elements that keep their value are not stored
};

/// Whether several elements share a register, which only instructions read and write.
bool is_fragment(const Tensor& tensor);

/// One element (or the first of a vector) of a tensor.
struct Ref {
  TensorId tensor;
  std::vector<ValueId> coordinates; ///< one per mode; after `linearize`, one flat offset
};

struct Stmt;
using Body = std::vector<Stmt>;

enum class LoopKind : uint8_t {
  serial,
  unrolled, ///< constant bounds; the target unrolls
  vector    ///< iterations are independent: the target may vectorise
};
/// for var = begin; var < end; var += step
struct For {
  VarId var;
  ValueId begin, end, step;
  LoopKind kind = LoopKind::serial;
  Body body;
};
struct If {
  ValueId condition;
  Body then, otherwise;
};
/// Pointwise spec on scalars: `var <- value`.
struct Let {
  VarId var;
  ValueId value;
};
/// Coordinates from one flat number, the last one fastest: `value` is below the product of the
/// extents, and 0 <= vars[k] < extents[k] with
///   value = (vars[0]*extents[1] + vars[1])*extents[2] + vars[2] ...
/// So each number has its own coordinates and each coordinates their own number, which a quotient
/// and a remainder no longer show once they are simplified.
struct Delinearize {
  std::vector<VarId> vars;
  ValueId value;
  std::vector<ValueId> extents;
};
/// Brings a register or shared tensor into being, uninitialised, to the end of the enclosing body
/// (shared: of the kernel).
struct Allocate {
  TensorId tensor;
};
/// Move to a scalar: reads one element, converted to the variable's type. With a predicate, memory
/// is touched only where it holds; elsewhere the variable is `otherwise`.
struct Load {
  VarId var;
  Ref src;
  ValueId predicate, otherwise;
};
/// Move from a scalar: writes `value` rounded to the tensor's element type where the predicate
/// holds.
struct Store {
  Ref dst;
  ValueId value;
  ValueId predicate;
};
/// Move of `width` neighbouring elements between a register tensor and global or shared memory,
/// with conversion; the memory side is contiguous and aligned to the vector's bytes. Where the
/// predicate fails nothing moves (registers keep their value). Or, without a predicate, from
/// registers into a fragment: an even number of values, rounded to its format.
struct Copy {
  Ref dst, src;
  int width = 1;
  ValueId predicate;
};
/// Exchange within groups of 32 consecutive threads: `var` is `value` of the thread whose number
/// within its group is its own XOR `mask`.
struct Shfl {
  VarId var;
  ValueId value;
  int mask = 0;
};
/// All threads of the block meet; shared memory written before is visible after.
struct Barrier {};
/// An instruction: threads carry it out in groups of as many neighbours as its row says. Of a
/// register operand the ref names the first value, and the values follow each other; of a memory
/// operand the first element of the thread's run. With a predicate, memory is read only where it
/// holds; elsewhere the destination becomes 0.
struct Atom {
  const atomics::Row* row = nullptr; ///< outlives every kernel
  std::vector<Ref> operands;         ///< one per operand of the row
  std::vector<int64_t> immediates;   ///< one per immediate of the row
  ValueId predicate;
};
/// A decomposed spec: outputs <- kind<params>(inputs) { body }. Adds no meaning to its body; text,
/// comments and reports use it.
struct Spec {
  std::string kind;    ///< Move, MatMul, UnaryPointwise, BinaryPointwise, Reduction, Shfl, Init,
                       ///< Allocate, Spec
  std::string comment; ///< what it computes, in the words of the input
  std::vector<TensorId> outputs, inputs;
  Body body;
};

struct Stmt {
  std::variant<For, If, Let, Delinearize, Allocate, Load, Store, Copy, Shfl, Barrier, Atom, Spec>
      node;
};

/// One mode of a thread tensor. Modes are colexicographic: the first varies fastest.
struct BlockMode {
  VarId coordinate;
  ValueId extent;
};
struct ThreadMode {
  VarId coordinate;
  int extent = 1;
};

/// A kernel parameter besides tensors: a dim, or the step of a recurrence.
struct ScalarParam {
  VarId var;
};

struct Kernel {
  std::string name;                 ///< without prefix; unique in its program
  std::vector<std::string> comment; ///< what it computes, its schedule, its floor: one line each
  ValueStore values;
  std::vector<Tensor> tensors;
  std::vector<TensorId> params;     ///< global tensors in binding order
  std::vector<ScalarParam> scalars; ///< in order
  std::vector<BlockMode> blocks;    ///< grid; empty = one block
  std::vector<ThreadMode> threads;  ///< block; the product is a constant; empty = one thread
  bool descending = false;          ///< the hardware begins with the last block
  /// Set by `bind_grid`: the number of the block in the grid and of the thread in its block, from
  /// which the coordinates are defined. Empty = the coordinates still stand for themselves.
  VarId flat_block, flat_thread;
  /// What `index` values became, 32 or 64 bits; 0 = they are still `index`. The launcher sees to it
  /// that they fit.
  int index_bits = 0;
  /// Set by `place_shared`: bytes of shared memory that the launcher must ask for, at which offsets
  /// (Tensor::offset) shared tensors lie; 0 = each is declared by itself.
  int64_t shared_bytes = 0;
  /// What it asked instructions for, and got. Adds no meaning to the body.
  std::vector<atomics::Asked> asked;
  Body body;

  const Tensor& operator[](TensorId id) const { return tensors[id.value]; }
  TensorId add(Tensor tensor);
  int thread_count() const;
};

/// Elements from the first to the last of a tensor of constant shape; empty strides: row-major.
int64_t element_span(const Kernel& kernel, const Tensor& tensor);
/// Bytes of the shared tensors that a kernel declares.
int64_t declared_bytes(const Kernel& kernel);

/// Visits every statement of a body and its nested bodies, outermost first (bodies nest only as
/// deep as emitters nest them).
void for_each_stmt(const Body& body, const std::function<void(const Stmt&)>& visit);
/// Visits every ref of loads, stores and copies, which may be changed.
void for_each_ref(Body& body, const std::function<void(Ref&)>& visit);
/// Rewrites every value that statements hold.
void map_values(Body& body, const std::function<ValueId(ValueId)>& map);

/// The `.spec` text of a kernel.
std::string to_text(const Kernel& kernel);

/// Bytes that are the same for kernels that differ only in names, comments, the ranges and
/// alignments they promise and the sizes of flat memory: such kernels are emitted once.
std::string canonical_form(const Kernel& kernel);

} // namespace tang::kernel

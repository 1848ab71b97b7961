#pragma once
// Everything one target's source file holds: kernels, buffers, and the order of launches.
#include "graph/graph.h"
#include "kernel/kernel.h"

namespace tang::kernel {

struct Buffer;
using BufferId = Id<Buffer>;
using KernelId = Id<Kernel>;

/// Storage that launches bind: an argument of the call, a part of the workspace, or a constant
/// table embedded in the source.
struct Buffer {
  enum class Kind : uint8_t { argument, workspace, table };
  Kind kind = Kind::argument;
  std::string name;
  ElemType type = ElemType::f32;
  ValueId elements; ///< host value; rank 0 is 1 element. Strided arguments: 1 + the largest offset
  graph::TensorId tensor; ///< the graph tensor it stores, where there is a graph
  bool written = false;   ///< argument: an output (or an input that an `over` output shares)
  int align = 16;         ///< bytes
  uint32_t slot = 0;      ///< workspace: which slot
  /// What readers of the interface see: host values; strides where they are not row-major.
  std::vector<ValueId> shape = {}, strides = {};
  std::vector<double> reals = {}; ///< table: its elements, of one of these
  std::vector<int64_t> integers = {};
};

/// Bytes at a multiple of which every slot of the workspace starts.
inline constexpr int64_t slot_alignment = 256;

/// Workspace is a list of slots laid end to end, each aligned to 256 bytes; buffers whose lives do
/// not overlap share one.
struct Slot {
  ValueId bytes; ///< host value
};

/// What a caller promises about the integers of an input: every one lies in lo..hi, and where
/// `sorted` none is less than the one before it in row-major order.
struct Promise {
  BufferId buffer;
  std::vector<ValueId> shape, strides; ///< host values, elements; at least one mode
  ValueId lo, hi;                      ///< host values
  bool sorted = false;
};

/// An argument that is written in strides that may leave its elements too little room at some
/// sizes: then two would share an address.
struct Room {
  BufferId buffer;
  std::vector<ValueId> shape, strides; ///< host values, elements; at least one mode
};

struct Binding {
  BufferId buffer;
  ValueId offset; ///< host value, elements: constant leading places of `repeat` live here
};

/// One way to run a step. The launcher takes the first variant whose condition holds.
struct Variant {
  KernelId kernel;
  std::vector<Binding> bindings; ///< one per Kernel::params
  std::vector<ValueId> scalars;  ///< one host value per Kernel::scalars
  std::vector<ValueId> blocks;   ///< host extents, one per Kernel::blocks
  ValueId condition;             ///< host boolean; empty = always
  /// Bits in which the kernel computes addresses here, 32 or 64, from `index_width` on; until
  /// `type_indices` makes one kernel of each width, variants of both share one. Before: 32 = for no
  /// more, 0 = not decided.
  int index_bits = 0;
};
struct Dispatch {
  static constexpr uint32_t no_plan = 0xffffffffu;
  std::string name;            ///< for comments and reports
  std::vector<uint32_t> nodes; ///< positions in graph.nodes (or in the recurrence's body)
  /// The launcher takes the first whose condition holds, and reports TG_E_UNSUPPORTED when there is
  /// none: the last has a condition only where the target has no 64-bit integers to fall back on.
  std::vector<Variant> variants;
  bool beside = false; ///< it may run while the one before it does: neither waits for the other
  uint32_t plan =
      no_plan; ///< position among the plan's kernels in order, or none for a recurrence's copies
};
struct Step;
/// A recurrence: the steps run `extent` times with `var` = 0, 1, ...
struct Loop {
  VarId var; ///< host variable
  ValueId extent;
  std::vector<Step> body;
};
struct Step {
  std::variant<Dispatch, Loop> node;
};

struct Program {
  std::string name;        ///< the graph's
  std::string target = {}; ///< that it was made for; empty: not said
  ValueStore values;       ///< host values: dims, sizes, conditions
  std::vector<VarId> dims; ///< host variables of graph.dims, in order
  std::vector<Kernel> kernels;
  std::vector<Buffer> buffers;
  std::vector<BufferId> arguments; ///< inputs and params as declared, then outputs as declared
  std::vector<Promise> promises;
  std::vector<Room> rooms; ///< what the launcher sees to
  std::vector<Slot> slots;
  std::vector<Step> steps;
  int64_t max_blocks = 0; ///< the launcher refuses a grid with more; 0 = no limit
  /// Set by `whole_buffers`: launches bind the whole workspace for each buffer in it, and kernels
  /// add where that begins.
  bool whole_buffers = false;
};

/// Where each slot ends, alignment included, in bytes from the beginning of the workspace: the next
/// one begins there.
std::vector<ValueId> slot_ends(ValueStore& values, const std::vector<Slot>& slots);

/// The `.spec` text of a whole program: buffers, kernels, launches.
std::string to_text(const Program& program);
/// A host value alone.
std::string to_text(const Program& program, ValueId host);

} // namespace tang::kernel

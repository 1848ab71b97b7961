#pragma once
// Rows of atomics/*.yaml: an instruction as a spec with a meaning (kernel-ir.md, "Atomic specs").
//
// An operand's layout says which element each value of each thread is, as (thread, value) ->
// coordinates with strides along named axes. For registers the values are registers in order. For
// memory the threads are those that give an address, and the values lie behind it one after the
// other: the instruction says nothing about how rows of memory follow each other. A Move takes each
// element from where one layout has its coordinates to where the other has them; a MatMul adds
// products over the axis that its output lacks.
#include "graph/type.h"
#include "layout/layout.h"
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tang::atomics {

enum class Memory : uint8_t { global, shared, registers };
std::string_view name(Memory memory);

/// What a row does. `commit` closes a group of asynchronous moves, `wait` waits until at most so
/// many groups as its immediate says are open. `shfl` gives each thread what another of its group
/// holds, `reduction` combines over the axes that its output lacks, or into memory, atomically,
/// `sync` orders threads, memory and what runs beside them, `unary` gives each element a function
/// of the one beside it; for these four `op` says how.
enum class Kind : uint8_t { move, matmul, unary, commit, wait, shfl, reduction, sync };
std::string_view name(Kind kind);

/// What a Move within the registers of a thread makes of an f32, so that units read it as it is:
/// the nearest that tf32 units read whole; or one of the parts of a split product in the
/// destination's format, `head`: the largest finite one towards 0 (of NaN the largest), `rest`:
/// what that leaves.
enum class Rounds : uint8_t { no, nearest, head, rest };
std::string_view name(Rounds rounds);

struct Operand {
  std::string name;                    ///< D, A, B; dst, src
  std::optional<graph::ElemType> type; ///< empty: any format of so many bits (`b16`)
  int bits = 32;
  bool tf32 = false; ///< registers hold f32 of which the unit reads the 19 upper bits
  Memory memory = Memory::registers;
  /// A word of 64 bits that is no address says where the elements lie in shared memory.
  bool described = false;
  layout::Layout layout;
  int threads = 1; ///< how many hold the operand, or give an address
  int values = 1;  ///< of each
  /// Bytes of one run in memory, which its address is a multiple of.
  int run_bytes() const { return values * bits / 8; }
  bool takes(graph::ElemType format) const {
    return type ? *type == format : graph::info(format).bits == bits;
  }
};

/// A number that is part of an instruction.
struct Immediate {
  std::string name;
  int64_t least = 0, greatest = std::numeric_limits<int32_t>::max(), step = 1;
  bool takes(int64_t value) const {
    return least <= value && value <= greatest && (value - least) % step == 0;
  }
};

struct Row {
  std::string name; ///< "mma.m16n8k16.f32.bf16"
  Kind kind = Kind::move;
  int threads = 1;                    ///< that issue it together, neighbours; 1: each for itself
  std::vector<Operand> operands;      ///< outputs first
  std::string needs;                  ///< the first target that has it
  std::vector<std::string> native_on; ///< where it is no emulation: nowhere else it is selected
  std::string token; ///< class of what an asynchronous row returns; what commit and wait are about
  std::string op;    ///< shfl: index, xor, up, down; reduction: add, min, max, and, or, xor; unary:
                     ///< exp2, reciprocal; sync: a word
  std::vector<Immediate> immediates;
  bool zero_fills = false;    ///< takes a predicate: where it fails, the destination becomes 0
  bool accumulates = false;   ///< the first operand is read too
  Rounds rounds = Rounds::no; ///< how the destination differs from the source
  bool flushes = false;       ///< subnormal numbers are taken and given as 0
  int64_t fma = 0;            ///< multiply-adds of one issue
  std::map<std::string, std::string> print; ///< by dialect
  std::string source;

  const Operand& operand(std::string_view name) const;
};

/// The name of the function that stands for a row in generated code.
std::string symbol_of(std::string_view name);

/// Whether a list of targets holds this one, or the architecture whose variant it is: sm_90a can do
/// what sm_90 can.
bool is_native(std::span<const std::string_view> native_on, std::string_view target);

} // namespace tang::atomics

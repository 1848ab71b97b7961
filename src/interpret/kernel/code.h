#pragma once
// A kernel as flat code: what compile.h makes and machine.h executes.
//
// A slot holds one word for each thread of a block, or one word for all where a value cannot depend
// on the thread. Code runs for the active threads of the block, one operation after the other. What
// does not change inside a loop stands in front of it.
#include "interpret/kernel/row_map.h"
#include "interpret/program.h"
#include "kernel/kernel.h"

namespace tang::interpret::simulator {

using kernel::ElemType;
using kernel::Memory;
using kernel::Op;
using kernel::TensorId;
using kernel::Type;

inline constexpr uint32_t nothing = 0xffffffffu;

struct Slot {
  uint32_t at = nothing; ///< of its first word
  bool varies = false;
  explicit operator bool() const { return at != nothing; }
};

enum class Code : uint8_t {
  move,    ///< d = a
  unary,   ///< d = op(a)
  binary,  ///< d = op(a, b), comparisons included
  select,  ///< d = a ? b : c
  convert, ///< d = a, of type `from`, as `type`
  round,   ///< d = a rounded to `format`
  element, ///< d = accesses[ref], in registers
  delinearize,
  loop,   ///< for d = a; d < b; d += c: bodies[ref]
  branch, ///< if a: bodies[ref], else bodies[other]
  load,   ///< d = accesses[ref] where a, else b
  store,  ///< accesses[ref] = a, of type `from`, where b
  copy,   ///< `count` elements from accesses[other] to accesses[ref] where a
  allocate,
  shuffle, ///< d = a of the thread whose number differs by XOR `count`
  barrier,
  atom ///< atoms[ref]
};

struct Instruction {
  Code code = Code::move;
  Op op = Op::add;
  Type type = Type::index, from = Type::index;
  ElemType format = ElemType::f32;
  Slot d = {}, a = {}, b = {}, c = {};
  uint32_t ref = nothing, other = nothing;
  int count = 1;
  uint32_t statement = 0;
};

/// A ref with its coordinates computed.
struct Access {
  TensorId tensor;
  std::vector<Slot> coordinates, extents; ///< one for each mode
  Slot offset;                            ///< in elements
  int contiguous = -1;                    ///< the mode along which neighbours lie
};

struct Delinearized {
  Slot number;
  std::vector<Slot> digits, extents;
};

struct AtomUse {
  const atomics::Row* row = nullptr;
  const RowMap* map = nullptr;
  std::vector<uint32_t> accesses; ///< one per operand
  std::vector<int64_t> immediates;
  Slot predicate;
  uint32_t token = nothing; ///< number of its class
};

/// Where a tensor of the block lies.
struct Place {
  int64_t elements = 0; ///< of registers and shared memory
  int64_t begin = 0;    ///< registers: elements before it; shared: byte
};

struct CompiledKernel {
  const kernel::Kernel* kernel = nullptr;
  int threads = 1;
  std::vector<std::vector<Instruction>> bodies;
  uint32_t launch = 0, block = 1, body = 2; ///< bodies that run once for a launch, for a block
  std::vector<std::pair<uint32_t, Word>> constants; ///< by word
  uint32_t words = 0;                               ///< of all slots
  std::vector<Slot> scalars;                        ///< per Kernel::scalars
  std::vector<Slot> block_coordinates;              ///< per Kernel::blocks; empty where unused
  std::vector<Slot> thread_coordinates;             ///< per Kernel::threads
  Slot flat_block, flat_thread;
  std::vector<Access> accesses;
  std::vector<Delinearized> delinearized;
  std::vector<AtomUse> atoms;
  std::map<const atomics::Row*, RowMap> maps;
  std::vector<Place> places;     ///< per tensor
  int64_t register_elements = 0; ///< of a thread
  int64_t shared_bytes = 0;
  int granule = 1; ///< bytes of the smallest element in shared memory
  uint32_t tokens = 0;
  std::vector<std::string> statements; ///< what they are, by number
};

} // namespace tang::interpret::simulator

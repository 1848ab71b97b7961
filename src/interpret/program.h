#pragma once
// Register code for one comprehension: what `compile` makes and `run` executes.
//
// Registers are 8-byte words (a double or an int64). Buffers are row-major arrays of such words:
// tensors, and scratch for states with indexed fields. Jumps are absolute instruction numbers.
#include "graph/graph.h"
#include <bit>
#include <cstdint>
#include <vector>

namespace tang::interpret {

using Word = uint64_t;
inline double real_of(Word w) {
  return std::bit_cast<double>(w);
}
inline int64_t integer_of(Word w) {
  return static_cast<int64_t>(w);
}
inline Word word(double x) {
  return std::bit_cast<Word>(x);
}
inline Word word(int64_t x) {
  return static_cast<Word>(x);
}

enum class Code : uint8_t {
  move,         ///< d = a
  multiply_add, ///< d = a + b * imm, wrapping: offsets and integers proved in range
  add_wrapping, ///< integers whose result was proved to fit
  subtract_wrapping,
  multiply_wrapping,
  integer_unary,  ///< d = op(a); overflow stops the run
  integer_binary, ///< d = op(a, b); overflow stops the run
  add_real,
  subtract_real,
  multiply_real,
  split_product, ///< of reals, as the sum of those of their pieces
  divide_real,
  min_real,
  max_real,
  negate_real,
  real_unary,  ///< d = op(a)
  real_binary, ///< d = op(a, b)
  less_real,
  less_equal_real,
  real_compare,
  less_integer,
  less_equal_integer,
  integer_compare,
  logical_and,
  logical_or,
  logical_not,
  choose, ///< d = c ? a : b, both at hand
  to_real,
  round_real,      ///< d = a rounded to format `type`
  round_integer,   ///< d = integer a as a real of format `type`
  real_to_integer, ///< truncate, saturate
  integer_to_integer,
  check_integer, ///< an accumulator kept in integer format `type`: a outside it stops the run
  load,          ///< d = buffer[a + b * imm]
  load_at,       ///< d = buffer[a]
  store,         ///< buffer[a] = b
  copy,          ///< the first imm words of buffer c become those of buffer d
  check_place,   ///< d names the dimension; a outside 0..<imm stops the run: an unguarded place
  jump,
  jump_if_false,      ///< a
  jump_unless_within, ///< a outside 0..<imm
  loop_up,            ///< d = a; no round when d >= b: jump to the end
  next_up,            ///< ++d; while d < b jump back
  loop_down,          ///< d = b - 1; no round when d < a
  next_down,          ///< --d; while d >= a jump back
  call_once,          ///< unless register d is set: set it, remember the place in b, jump
  come_back,          ///< to the place in b
  push_top,           ///< topk: insert value a, index b into scratch buffers c (values), c + 1
  halt,
};

struct Instruction {
  Code code = Code::halt;
  graph::Op op = graph::Op::add;
  graph::ElemType type = graph::ElemType::f64;
  bool flag = false; ///< push_top: values are reals
  uint32_t d = 0, a = 0, b = 0, c = 0;
  int64_t imm = 0;     ///< factor, extent, K, or number in graph::all_pieces
  uint32_t target = 0; ///< of jumps
};

struct Program {
  std::vector<Instruction> code;
  std::vector<Word> registers; ///< start values: constants are preset
  /// Buffer n is tensor `tensors[n]`, or scratch of `scratch[n]` words where the id is empty.
  std::vector<graph::TensorId> tensors;
  std::vector<int64_t> scratch;
  Span span; ///< of the node, for run-time errors
};

/// Why a run stopped early.
struct Stop {
  Instruction at;
  Word a = 0, b = 0;
};

/// Runs the code on `buffers` (one pointer to words for each of `program.tensors`, empty entries
/// ignored). Empty when it ran to the end.
std::optional<Stop> run(const Program& program, std::vector<void*> buffers);

} // namespace tang::interpret

#pragma once
// What one output language says differently: words (total tables: a missing word does not compile),
// rows for operations and storage formats, and a few sentences. Nobody outside print/dialects/
// names a dialect.
#include "base/text_writer.h"
#include "kernel/kernel.h"
#include "print/names.h"
#include <array>
#include <set>

namespace tang::print {

/// A word has no default, so a table that forgets one does not compile.
class Word {
public:
  constexpr Word(const char* text) : text_(text) {}
  constexpr std::string_view text() const { return text_; }

private:
  std::string_view text_;
};

/// How tightly an expression holds together, loosest first.
enum class Precedence : uint8_t {
  lowest,
  conditional,
  logical_or,
  logical_and,
  bit_or,
  bit_xor,
  bit_and,
  equality,
  relational,
  shift,
  additive,
  multiplicative,
  prefix,
  postfix,
  primary
};

/// `$0 $1 $2` stand for the operands, `$t` for the type's name (i32, i64, f32, f64), `$s` for what
/// functions on f32 end in. Operands of infix patterns are bracketed where they bind
/// looser; those of calls never are.
struct Pattern {
  std::string_view text; ///< empty: the op has no such row
  Precedence precedence = Precedence::postfix;
};
/// Patterns of one op by the class of its first data operand.
struct OpRow {
  Pattern real, integer, boolean;
};
struct OpOverride {
  kernel::Op op;
  OpRow row; ///< empty patterns leave the default
};

/// How elements of one storage format are kept and moved. `$p` pointer, `$i` offset, `$v` value.
struct Storage {
  Word type; ///< of one element in memory; packed formats: of one byte
  Word load; ///< a value of the natural type (printer.cpp, register_type)
  Precedence load_precedence;
  Word store;     ///< a statement without `;` from a value of the natural type
  Word round;     ///< a value of the natural type rounded to the format and back
  Word include;   ///< a line that the patterns need; may be empty
  Word pair = ""; ///< a statement that puts two rounded values `$v` into word `$i` of a fragment
};
struct Storages {
  Storage f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, i4, u32, u8, u4, boolean;
  constexpr const Storage& operator[](graph::ElemType type) const;
};

struct Words {
  Word boolean_type, i32_type, i64_type, f32_type, f64_type;
  Word true_value, false_value;
  Word infinity_f32, nan_f32, infinity_f64, nan_f64;
  Word suffix_f32, suffix_i64;
  Word function_suffix_f32; ///< of functions on f32: `$s` in rows
  Word least_i32, least_i64;
  Word cast;               ///< `$w` the type's word, `$0` the operand
  Word buffer_head;        ///< before the type of a buffer that a kernel is given, with its blank
  Word restrict_qualifier; ///< of a pointer that nothing else reaches, with its blank
  Word helper_head;        ///< replaces `static inline` before prelude functions of kernels
  Word shared_head;        ///< before shared arrays, with its blank
  Word shared_pool;        ///< declares the block of bytes `$n` that the launcher asks for
  Word fragment_type;      ///< of 32 bits that hold several elements
  Word register_value;     ///< what register arrays start as, with ` = `; may be empty
  Word table_head;         ///< before embedded constant tables, with its blank
  Word barrier;            ///< a statement
  Word unroll;             ///< the line before an unrolled loop; empty for none
  Word flat_block, flat_block_from_last, flat_thread;
  Word stream_use; ///< first statement of the launcher about `stream`; may be empty
  /// What a launcher says to argument `i` of `pointers`, `sizes` in bytes and `alignments`.
  Word argument_check;
};

/// A move of `width` neighbouring elements between registers and memory.
struct VectorMove {
  bool load = true;
  std::string pointer, offset; ///< memory side
  const Storage* storage = nullptr;
  int width = 1, bytes = 4;
  bool packed = false;
  NameScope* names = nullptr;
  std::string part; ///< the sentence's own: what `end_move` writes back
};
/// Where the element statements of a move read or write memory.
struct MoveView {
  std::string pointer, offset; ///< an empty offset is 0
};

/// An instruction as a function: what its statement is made of.
struct Instruction {
  const atomics::Row* row = nullptr;
  std::vector<int64_t> immediates;
  std::string symbol;
};

struct KernelHead {
  std::string symbol;
  std::vector<std::string> parameters; ///< complete declarations
  int threads = 1;
};
struct Launch {
  std::string symbol;
  std::vector<std::string> types, arguments; ///< one per parameter
  std::string grid;                          ///< number of blocks: the name of an i64 >= 1
  int threads = 1;
  int64_t shared_bytes = 0; ///< beyond what the kernel declares
  NameScope* names = nullptr;
};
struct TableUse {
  std::string type, name, pointer; ///< the table's element type, its symbol, the variable to set
};

template <class F>
class Hook {
public:
  constexpr Hook(F* function) : function_(function) {}
  template <class... Args>
  auto operator()(Args&&... args) const {
    return function_(std::forward<Args>(args)...);
  }

private:
  F* function_;
};

/// With those of a host file at most twelve; the thirteenth would be a pass that is missing.
struct Sentences {
  Hook<std::string(const KernelHead&)> kernel_head;
  Hook<MoveView(TextWriter&, VectorMove&)> begin_move;
  Hook<void(TextWriter&, const VectorMove&)> end_move;
  Hook<std::string(std::string_view value, int mask)> shuffle;
  Hook<void(TextWriter&, const Launch&)> launch;
  Hook<void(TextWriter&, const TableUse&)> table_address;
  /// The definition of a function that carries out a row; its parameters are pointers to the row's
  /// operands, and for a row that takes a predicate the bytes that it reads (0 where it fails).
  Hook<std::string(const Instruction&)> instruction;
};

struct Dialect;

/// What a launcher in a file of its own keeps from call to call.
struct Session {
  std::string symbol;               ///< what its functions start with
  std::vector<std::string> kernels; ///< symbols in the source, in order
  std::vector<std::string> tables;  ///< arrays of the launcher that kernels read, in order
  int most_threads = 1;             ///< of a kernel's block
  int64_t most_shared_bytes = 0;    ///< that a kernel declares
  bool f64 = false;                 ///< a kernel computes in f64
};

/// How a launcher is written that is no part of its kernels' source: it hands that source, which it
/// holds as data, to a compiler at run time, and names kernels and tables by their numbers.
struct HostFile {
  std::string_view extension; ///< of `--emit=launcher`, with its dot
  const Dialect* language;    ///< of its values: words and rows
  std::span<const WordList> reserved;
  std::span<const std::string_view> includes; ///< whole lines
  Word buffer_type;                           ///< how a launcher names a whole buffer
  Word library; ///< package and target of cmake that programs link to, a blank between
  /// The type of a session and the prototypes of what makes and ends it, for headers.
  Hook<void(TextWriter&, const Session&)> declare_session;
  /// Their definitions. The source is the array of bytes `tg_source`.
  /// Notes the helpers of launchers that they call.
  Hook<void(TextWriter&, const Session&, std::set<std::string>& helpers)> define_session;
};

struct Dialect {
  std::string_view name;                      ///< as `dialect:` in targets/*.yaml
  std::span<const std::string_view> includes; ///< whole lines
  std::span<const WordList> reserved;
  std::span<const std::string_view>
      preludes,      ///< files of targets/preludes/ with helpers of kernels
      host_preludes; ///< and of launchers
  Words words;
  Storages storages;
  std::span<const OpOverride> ops,
      fast_ops; ///< rows that differ from default_row; with --fast-math
  /// Rows for floordiv and mod of what is never negative by what is positive and no literal.
  std::span<const OpOverride> natural_ops;
  bool
      packed_stores; ///< two threads never write one byte at a time: stores to half a byte are safe
  int widest_move;   ///< bytes of the widest single access
  bool reads_arguments; ///< the launcher may read what its pointers point to
  const HostFile* host; ///< null: the launcher stands behind the kernels, in their language
  Sentences sentences;
};

/// Null when no dialect has that name.
const Dialect* dialect_named(std::string_view name);

/// The row of an op in the languages that look like C; empty for leaves.
OpRow default_row(kernel::Op op);

constexpr const Storage& Storages::operator[](graph::ElemType type) const {
  using graph::ElemType;
  switch (type) {
  case ElemType::f64: return f64;
  case ElemType::f32: return f32;
  case ElemType::f16: return f16;
  case ElemType::bf16: return bf16;
  case ElemType::f8e4m3: return f8e4m3;
  case ElemType::f8e5m2: return f8e5m2;
  case ElemType::i64: return i64;
  case ElemType::i32: return i32;
  case ElemType::i16: return i16;
  case ElemType::i8: return i8;
  case ElemType::i4: return i4;
  case ElemType::u32: return u32;
  case ElemType::u8: return u8;
  case ElemType::u4: return u4;
  case ElemType::boolean: return boolean;
  }
  return f32;
}

} // namespace tang::print

#pragma once
// Global and shared memory of a run: bytes, which of them hold data, and who touched them last.
#include "graph/type.h"
#include "interpret/program.h"

namespace tang::interpret::simulator {

using graph::ElemType;

/// A register's word as `type` stores it, in the low bits: reals are rounded, integers saturate.
/// `real`: the word holds a real.
uint64_t encode(ElemType type, Word value, bool real);
/// What a register holds of stored bits.
Word decode(ElemType type, uint64_t bits);
/// What a register of element type `to` holds of a word that `from` held.
Word converted(ElemType from, ElemType to, Word value);

/// Storage in bytes. Each byte carries a mark of its two halves, and a tag of what it belongs to:
/// stale data of another buffer is no data.
class Storage {
public:
  void resize(size_t bytes, uint8_t fill) { bytes_.assign(bytes, fill), marks_.assign(bytes, 0); }
  void clear_marks() { std::fill(marks_.begin(), marks_.end(), uint8_t{0}); }
  size_t size() const { return bytes_.size(); }
  std::vector<uint8_t>& bytes() { return bytes_; }

  /// Element number `element` of `bits` bits behind byte `begin`.
  uint64_t read(size_t begin, int64_t element, int bits) const;
  void write(size_t begin, int64_t element, int bits, uint64_t value, uint8_t tag);
  bool is_written(size_t begin, int64_t element, int bits, uint8_t tag) const;
  void forget(size_t begin, int64_t element, int bits);

private:
  std::vector<uint8_t> bytes_, marks_;
};

/// Who touched a cell last.
struct Cell {
  uint32_t write_run = 0, writer = 0, write_epoch = 0;
  uint32_t read_run = 0, reader = 0, read_epoch = 0, read_block = 0;
};
/// A thread: `run` numbers what no access before it can disturb (a launch; in shared memory a block
/// of it), `thread` counts across blocks, `epoch` counts the barriers that its block passed.
struct Visitor {
  uint32_t run = 1, block = 0, thread = 0, epoch = 0, threads_of_block = 1;
};

/// Whether the visit conflicts with one before it; notes it.
bool read_conflicts(Cell& cell, const Visitor& visitor);
bool write_conflicts(Cell& cell, const Visitor& visitor);

} // namespace tang::interpret::simulator

#include "interpret/kernel/storage.h"
#include "interpret/formats.h"
#include <array>
#include <cstring>

namespace tang::interpret::simulator {

using graph::Scalar;

namespace {

/// Every value of a format of 16 bits.
std::array<double, 65536> table_of(ElemType type) {
  std::array<double, 65536> table;
  for (size_t i = 0; i < table.size(); ++i) table[i] = decode_real(type, i);
  return table;
}

int64_t extended(uint64_t bits, int width) {
  return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}

constexpr uint8_t low = 1, high = 2, both = 3;

} // namespace

uint64_t encode(ElemType type, Word value, bool real) {
  if (graph::scalar_of(type) == Scalar::real) {
    double x = real ? real_of(value) : round_integer_to(type, integer_of(value));
    return encode_real(type, x);
  }
  int64_t x =
      real ? to_integer(type, real_of(value)) : interpret::to_integer(type, integer_of(value));
  int bits = graph::info(type).bits;
  return bits == 64 ? static_cast<uint64_t>(x)
                    : static_cast<uint64_t>(x) & ((uint64_t{1} << bits) - 1);
}

Word decode(ElemType type, uint64_t bits) {
  if (type == ElemType::f32)
    return word(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
  if (type == ElemType::f16) {
    static const auto table = table_of(ElemType::f16);
    return word(table[bits]);
  }
  if (type == ElemType::bf16)
    return word(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits << 16))));
  if (graph::scalar_of(type) == Scalar::real) return word(decode_real(type, bits));
  if (type == ElemType::boolean) return bits != 0;
  return graph::is_signed(type) ? word(extended(bits, graph::info(type).bits)) : bits;
}

Word converted(ElemType from, ElemType to, Word value) {
  bool real = graph::scalar_of(from) == Scalar::real;
  if (graph::scalar_of(to) == Scalar::real)
    return word(real ? round_to(to, real_of(value)) : round_integer_to(to, integer_of(value)));
  return word(real ? to_integer(to, real_of(value)) : to_integer(to, integer_of(value)));
}

namespace {

/// Whole bytes, of the widths that formats have.
uint64_t whole(const uint8_t* at, size_t width) {
  auto as = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return uint64_t{value};
  };
  switch (width) {
  case 1: return *at;
  case 2: return as(uint16_t{});
  case 4: return as(uint32_t{});
  default: return as(uint64_t{});
  }
}

} // namespace

uint64_t Storage::read(size_t begin, int64_t element, int bits) const {
  if (bits < 8) {
    uint8_t byte = bytes_[begin + static_cast<size_t>(element / 2)];
    return element % 2 ? byte >> 4 : byte & 15;
  }
  auto width = static_cast<size_t>(bits / 8);
  return whole(&bytes_[begin + static_cast<size_t>(element) * width], width);
}

void Storage::write(size_t begin, int64_t element, int bits, uint64_t value, uint8_t tag) {
  auto tagged = static_cast<uint8_t>(tag << 2);
  if (bits < 8) {
    size_t at = begin + static_cast<size_t>(element / 2);
    int shift = element % 2 ? 4 : 0;
    bytes_[at] = static_cast<uint8_t>((bytes_[at] & ~(15 << shift)) | (value & 15) << shift);
    uint8_t kept = (marks_[at] & ~both) == tagged ? marks_[at] & both : 0;
    marks_[at] = static_cast<uint8_t>(tagged | kept | (element % 2 ? high : low));
    return;
  }
  size_t width = static_cast<size_t>(bits / 8), at = begin + static_cast<size_t>(element) * width;
  std::memcpy(&bytes_[at], &value, width);
  std::memset(&marks_[at], tagged | both, width);
}

bool Storage::is_written(size_t begin, int64_t element, int bits, uint8_t tag) const {
  auto tagged = static_cast<uint8_t>(tag << 2);
  if (bits < 8) {
    uint8_t mark = marks_[begin + static_cast<size_t>(element / 2)];
    return (mark & ~both) == tagged && (mark & (element % 2 ? high : low));
  }
  auto width = static_cast<size_t>(bits / 8);
  uint64_t marks = whole(&marks_[begin + static_cast<size_t>(element) * width], width);
  uint64_t each = 0x0101010101010101 >> (64 - bits);
  return marks == each * static_cast<uint64_t>(tagged | both);
}

void Storage::forget(size_t begin, int64_t element, int bits) {
  if (bits < 8) {
    marks_[begin + static_cast<size_t>(element / 2)] &=
        static_cast<uint8_t>(~(element % 2 ? high : low));
    return;
  }
  size_t width = static_cast<size_t>(bits / 8);
  std::memset(&marks_[begin + static_cast<size_t>(element) * width], 0, width);
}

namespace {

/// More than one thread of a block, or of the grid.
constexpr uint32_t many = 0xffffffffu;

/// Whether a barrier stands between what `thread` of `block` did at `epoch` and the visitor.
bool is_ordered(uint32_t block, uint32_t thread, uint32_t epoch, const Visitor& visitor) {
  return thread == visitor.thread || (block == visitor.block && epoch < visitor.epoch);
}

bool follows_write(const Cell& cell, const Visitor& visitor) {
  return cell.write_run != visitor.run ||
         is_ordered(cell.writer / visitor.threads_of_block, cell.writer, cell.write_epoch, visitor);
}

} // namespace

bool read_conflicts(Cell& cell, const Visitor& visitor) {
  bool first = cell.read_run != visitor.run;
  if (!first && cell.read_block != visitor.block)
    cell.reader = cell.read_block = many;
  else if (first || cell.read_epoch < visitor.epoch)
    cell.reader = visitor.thread, cell.read_block = visitor.block;
  else if (cell.reader != visitor.thread)
    cell.reader = many;
  cell.read_run = visitor.run, cell.read_epoch = visitor.epoch;
  return !follows_write(cell, visitor);
}

bool write_conflicts(Cell& cell, const Visitor& visitor) {
  bool ordered = follows_write(cell, visitor) &&
                 (cell.read_run != visitor.run ||
                  is_ordered(cell.read_block, cell.reader, cell.read_epoch, visitor));
  cell.write_run = visitor.run, cell.writer = visitor.thread, cell.write_epoch = visitor.epoch;
  return !ordered;
}

} // namespace tang::interpret::simulator

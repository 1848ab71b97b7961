// Single elements of memory: what they hold, who else touches them, and what reaching them costs.
#include "interpret/kernel/lanes.h"
#include "interpret/kernel/traffic.h"
#include <algorithm>
#include <array>

namespace tang::interpret::simulator {

namespace {

int bits_of(const kernel::Tensor& tensor) {
  return graph::info(tensor.type).bits;
}

bool is_real(ElemType type) {
  return graph::scalar_of(type) == graph::Scalar::real;
}

} // namespace

Machine::Held Machine::fetch(const Instruction& i, const Access& access, size_t lane,
                             int64_t element) {
  switch (tensor(access).memory) {
  case Memory::global: return read_global(i, access, lane, element);
  case Memory::shared: return read_shared(i, access, lane, element);
  case Memory::registers: break;
  }
  size_t at = register_at(access, lane, element);
  return {registers_[at], register_written_[at] != 0};
}

void Machine::put(const Instruction& i, const Access& access, size_t lane, int64_t element,
                  Held held) {
  switch (tensor(access).memory) {
  case Memory::global: return write_global(i, access, lane, element, held);
  case Memory::shared: return write_shared(i, access, lane, element, held);
  case Memory::registers: break;
  }
  size_t at = register_at(access, lane, element);
  registers_[at] = held.word, register_written_[at] = held.written;
}

Machine::Held Machine::read_global(const Instruction& i, const Access& access, size_t lane,
                                   int64_t element) {
  const Bound& bound = bound_[access.tensor.value];
  BufferState& buffer = *bound.buffer;
  int64_t at = bound.offset + element;
  if (bound.shared) {
    visitor_.thread = visitor_.block * visitor_.threads_of_block + static_cast<uint32_t>(lane);
    if (read_conflicts(buffer.cells[static_cast<size_t>(at)], visitor_))
      static_cast<void>(fault(Fault::race, i, static_cast<uint32_t>(lane), &access));
  }
  int bits = graph::info(buffer.type).bits;
  return {decode(buffer.type, buffer.memory->read(buffer.begin, at, bits)),
          buffer.memory->is_written(buffer.begin, at, bits, buffer.tag)};
}

void Machine::write_global(const Instruction& i, const Access& access, size_t lane, int64_t element,
                           Held held) {
  const Bound& bound = bound_[access.tensor.value];
  BufferState& buffer = *bound.buffer;
  int64_t at = bound.offset + element;
  Cell& cell = buffer.cells[static_cast<size_t>(at)];
  visitor_.thread = visitor_.block * visitor_.threads_of_block + static_cast<uint32_t>(lane);
  bool twice = cell.write_run == visitor_.run;
  bool conflict = write_conflicts(cell, visitor_);
  if (twice)
    static_cast<void>(fault(Fault::written_twice, i, static_cast<uint32_t>(lane), &access));
  else if (conflict)
    static_cast<void>(fault(Fault::race, i, static_cast<uint32_t>(lane), &access));
  int bits = graph::info(buffer.type).bits;
  uint64_t value = encode(buffer.type, held.word, is_real(buffer.type));
  buffer.memory->write(buffer.begin, at, bits, value, buffer.tag);
}

Machine::Cells Machine::cells_of(const Access& access, int64_t element) const {
  int bits = bits_of(tensor(access));
  int64_t byte = code_.places[access.tensor.value].begin + element * bits / 8;
  auto first = static_cast<uint32_t>(byte / code_.granule);
  return {first, first + static_cast<uint32_t>(std::max(1, bits / 8 / code_.granule))};
}

Machine::Held Machine::read_shared(const Instruction& i, const Access& access, size_t lane,
                                   int64_t element) {
  visitor_.thread = visitor_.block * visitor_.threads_of_block + static_cast<uint32_t>(lane);
  Visitor visitor = visitor_;
  visitor.run = block_run_;
  Cells cells = cells_of(access, element);
  for (uint32_t c = cells.first; c < cells.second; ++c) {
    if (copied_by_[c] != 0) {
      if (Finding* f = fault(Fault::early_read, i, static_cast<uint32_t>(lane), &access))
        f->note = fmt::format("thread {} has not waited for its copy", copied_by_[c] - 1);
    } else if (read_conflicts(shared_cells_[c], visitor)) {
      if (Finding* f = fault(Fault::race, i, static_cast<uint32_t>(lane), &access))
        f->note = fmt::format("thread {} wrote it, and no barrier stands between",
                              shared_cells_[c].writer % threads_);
    }
  }
  int bits = bits_of(tensor(access));
  auto begin = static_cast<size_t>(code_.places[access.tensor.value].begin);
  return {decode(tensor(access).type, shared_.read(begin, element, bits)),
          shared_.is_written(begin, element, bits, 0)};
}

void Machine::write_shared(const Instruction& i, const Access& access, size_t lane, int64_t element,
                           Held held) {
  visitor_.thread = visitor_.block * visitor_.threads_of_block + static_cast<uint32_t>(lane);
  Visitor visitor = visitor_;
  visitor.run = block_run_;
  Cells cells = cells_of(access, element);
  for (uint32_t c = cells.first; c < cells.second; ++c) {
    uint32_t other = shared_cells_[c].writer;
    if (copied_by_[c] != 0) {
      if (Finding* f = fault(Fault::early_write, i, static_cast<uint32_t>(lane), &access))
        f->note = fmt::format("a copy of thread {} is under way", copied_by_[c] - 1);
    } else if (write_conflicts(shared_cells_[c], visitor)) {
      if (Finding* f = fault(Fault::race, i, static_cast<uint32_t>(lane), &access))
        f->note = fmt::format("last written by thread {}, last read by thread {}", other % threads_,
                              shared_cells_[c].reader % threads_);
    }
  }
  const kernel::Tensor& t = tensor(access);
  auto begin = static_cast<size_t>(code_.places[access.tensor.value].begin);
  shared_.write(begin, element, bits_of(t), encode(t.type, held.word, is_real(t.type)), 0);
  if (!held.written) shared_.forget(begin, element, bits_of(t));
}

int64_t Machine::address(const Access& access, int64_t element) const {
  const kernel::Tensor& t = tensor(access);
  if (t.memory == Memory::shared)
    return code_.places[access.tensor.value].begin + element * bits_of(t) / 8;
  const Bound& bound = bound_[access.tensor.value];
  return static_cast<int64_t>(bound.buffer->begin) + (bound.offset + element) * bits_of(t) / 8;
}

void Machine::check_alignment(const Instruction& i, const Resolved& at, int64_t bytes) {
  int64_t vector = std::min<int64_t>(bytes & -bytes, 16);
  bool global = tensor(*at.access).memory == Memory::global;
  bool promised = !global || bound_[at.access->tensor.value].buffer->align % vector == 0;
  for (uint32_t t : at.lanes->lanes) {
    if (promised && address(*at.access, at(t)) % vector == 0) continue;
    if (Finding* f = fault(Fault::misaligned, i, t, at.access))
      f->note = fmt::format("{} bytes at once", vector);
  }
}

void Machine::count(const Instruction& i, const Resolved& at, int width, bool write) {
  const kernel::Tensor& t = tensor(*at.access);
  if (t.memory == Memory::registers || at.lanes->lanes.empty()) return;
  int64_t bits = int64_t{bits_of(t)} * width, bytes = std::max<int64_t>(bits / 8, 1);
  if (width > 1) check_alignment(i, at, bytes);
  bool global = t.memory == Memory::global;
  int64_t total = static_cast<int64_t>(at.lanes->lanes.size()) * bits / 8;
  (global  ? write ? counts_.global_bytes_written : counts_.global_bytes_read
   : write ? counts_.shared_bytes_written
           : counts_.shared_bytes_read) += total;
  constexpr uint32_t warp = 32;
  std::array<int64_t, warp> addresses;
  std::array<uint8_t, warp> numbers;
  const std::vector<uint32_t>& lanes = at.lanes->lanes;
  for (size_t first = 0; first < lanes.size();) {
    size_t n = 0;
    uint32_t group = lanes[first] / warp;
    for (; first + n < lanes.size() && lanes[first + n] / warp == group; ++n) {
      addresses[n] = address(*at.access, at(lanes[first + n]));
      numbers[n] = static_cast<uint8_t>(lanes[first + n] % warp);
    }
    first += n;
    // No access moves more than 16 bytes a lane.
    for (int64_t done = 0; done < bytes; done += 16) {
      int64_t piece = std::min<int64_t>(bytes - done, 16);
      if (global) {
        (write ? counts_.sectors_written : counts_.sectors_read) +=
            sectors_of({addresses.data(), n}, piece);
      } else {
        Passes passes = passes_of({addresses.data(), n}, {numbers.data(), n}, piece);
        counts_.shared_passes += passes.made;
        counts_.shared_conflicts += passes.made - passes.least;
      }
      for (size_t l = 0; l < n; ++l) addresses[l] += 16;
    }
  }
}

} // namespace tang::interpret::simulator

#include "base/checked.h"
#include "kernel/program.h"

namespace tang::kernel {

std::vector<ValueId> slot_ends(ValueStore& values, const std::vector<Slot>& slots) {
  std::vector<ValueId> ends;
  ValueId end = values.integer(0, slots.empty() ? Type::i64 : values[slots[0].bytes].type);
  for (const Slot& slot : slots) {
    ValueId units = values.ceildiv(slot.bytes, slot_alignment);
    end = values.add(end, values.mul(units, values.integer(slot_alignment, values[end].type)));
    ends.push_back(end);
  }
  return ends;
}

} // namespace tang::kernel

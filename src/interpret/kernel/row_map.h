#pragma once
// What an instruction does, as tables: its row's layouts carried out once.
#include "atomics/row.h"

namespace tang::interpret::simulator {

struct RowMap {
  /// A value of an operand, in one of the threads that hold it or give its address.
  struct Place {
    int thread = 0, value = 0;
  };
  /// Move: where value v of thread t of the destination comes from, at t * values + v.
  std::vector<Place> sources;

  /// MatMul: the place of value v of thread t in the operand's own dense box, at t * values + v.
  struct Box {
    std::vector<uint32_t> at;
    uint32_t size = 1;
  };
  Box d, a, b;
  /// Where the factors of a product lie: that of element e of d and term k of the sum at
  /// a_of[e] + a_term[k] and b_of[e] + b_term[k] of their boxes.
  std::vector<uint32_t> a_of, b_of, a_term, b_term;
};

/// Throws InternalError where a destination has an element that no source has.
RowMap map_of(const atomics::Row& row);

} // namespace tang::interpret::simulator

#pragma once
// What legalize asks about a target: facts, never its name.
#include "targets/target.h"

namespace tang::legalize {

struct Capabilities {
  bool hardware_grid = true;           ///< blocks are started by the hardware
  bool int64 = true;                   ///< has 64-bit integers
  bool narrow_index = true;            ///< 32-bit address arithmetic is cheaper than 64-bit
  int64_t static_shared_bytes = 49152; ///< that a kernel may declare
  bool dynamic_shared = true;          ///< a launcher may ask for more
  int64_t max_blocks = 2147483647;     ///< blocks of one launch, numbered along one axis
  /// Launches bind a buffer from multiples of these bytes on; 0: from its beginning alone.
  int64_t buffer_alignment = 1;
  int64_t max_buffers = 0; ///< of one kernel; 0 = no limit
};

Capabilities capabilities_of(const targets::Target& target);

/// `--index-bits`: the width of address arithmetic. `automatic` makes 32-bit kernels where they are
/// cheaper, guarded by a condition on the dims, and 64-bit ones beyond it.
enum class IndexBits : uint8_t { automatic, narrow, wide };

struct Options {
  IndexBits index_bits = IndexBits::automatic;
};

} // namespace tang::legalize

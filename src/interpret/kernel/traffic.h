#pragma once
// What accesses of a warp cost: sectors of global memory, passes over the banks of shared memory.
#include <cstdint>
#include <span>

namespace tang::interpret::simulator {

/// How many aligned pieces of 32 bytes up to 32 lanes touch: `bytes` bytes, at most 32, behind each
/// address.
int64_t sectors_of(std::span<const int64_t> addresses, int64_t bytes);

struct Passes {
  int64_t made = 0, least = 0; ///< `least`: without conflicts
};
/// Of an access of `bytes` bytes a lane, a power of two up to 16. `lanes`: the number of each lane
/// within its warp; 128 bytes are served at once, so that 8 and 16 bytes a lane are accesses of 16
/// and 8 lanes. Lanes that touch one word do not conflict.
Passes passes_of(std::span<const int64_t> addresses, std::span<const uint8_t> lanes, int64_t bytes);

} // namespace tang::interpret::simulator

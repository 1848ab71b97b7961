#pragma once
// What a fuzz target is. `libfuzzer.cpp` makes a libFuzzer program of it and `seeded.cpp` an
// ordinary one that ctest runs.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tang::fuzz {

using Bytes = std::vector<uint8_t>;

/// Runs what is under test on an input. Empty when all holds, else what went wrong, with everything
/// needed to see it again. Anything may be passed.
std::string fault_of(std::span<const uint8_t> input);

/// Inputs to start from, and texts that mutations insert; both may be empty.
std::vector<Bytes> initial_corpus();
std::vector<std::string> dictionary();

/// Whether faults are worth making the input smaller for: false where `fault_of` does so itself.
bool shrinks_by_bytes();

/// To be called by a `fault_of` that goes on for long, so that it is not taken for one that hangs.
void still_alive();

/// Counts of what was run, for people: "312 programs, 9 rejected".
std::string statistics();

} // namespace tang::fuzz

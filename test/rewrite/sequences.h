#pragma once
// Random programs with recurrences and scans, and what the laws owe each.
#include <cstdint>
#include <string>
#include <vector>

namespace tang::rewrite::test {

/// What is left of a recurrence over all steps.
enum class Steps : uint8_t {
  parallel,   ///< no recurrence
  chunks,     ///< recurrences over chunks of steps alone
  sequential, ///< one step after another
};

struct Sequence {
  std::string form;            ///< which part of the generator made it
  std::string law;             ///< that must have something to do, or empty
  std::string text;            ///< a `.tg` file; its first dim, T, is the number of steps
  std::vector<int64_t> widths; ///< values of the other dims
  Steps steps = Steps::parallel;
  int64_t least = 0; ///< the fewest steps that the file allows

  /// Values of all dims for so many steps.
  std::vector<int64_t> dims(int64_t length) const;
  /// The file with a loss over all that it gives, and the loss' gradient by all its inputs; empty
  /// where these are no reals.
  std::string with_gradient() const;
};

/// Numbers of steps around which chunks of 64 and their halves begin and end.
inline constexpr int64_t sequence_lengths[] = {0, 1, 2, 3, 17, 63, 64, 65, 129};

/// How many forms there are: the seeds k, k + 1, ... of as many programs make each form once.
uint32_t sequence_forms();
/// Values stay near 1 for any number of steps, so that a comparison with the largest of them sees
/// all of them.
Sequence random_sequence(uint32_t seed);

} // namespace tang::rewrite::test

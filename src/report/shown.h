#pragma once
// What the views of a report share: fields that may be missing or wrong, and numbers for people.
#include "report/json.h"

namespace tang::report {

/// A number below an object, or nothing: readers of other people's files never rely on one.
std::optional<double> number(const Json& json, const char* key);
/// A text below an object, or nothing; control characters, which a terminal might obey, are `?`.
std::string text(const Json& json, const char* key);
std::string printable(std::string text);
/// A member of an object; null where there is none.
const Json& member(const Json& json, const char* key);

/// Three digits that count, in the largest unit below the value; `-` for nothing.
std::string bytes(std::optional<double> value);
std::string count(std::optional<double> value);
std::string micros(std::optional<double> value);
std::string kernel_count(size_t kernels);
/// The change between two numbers in percent; `=` for none.
std::string change(std::optional<double> before, std::optional<double> after);

/// Fields that `read_report` has checked.
double floor_of(const Json& kernel);
std::optional<double> measured_of(const Json& kernel);
/// Part of the speed of light that a measured kernel reaches, in percent.
std::string reached(const Json& kernel);
/// Of all kernels together, where each is measured.
struct MeasuredTotal {
  std::optional<double> us;
  bool violated = false; ///< some measurement is below its floor
};
MeasuredTotal measured_total(const Json& report);
/// Bytes of a kernel's tensors: at least, or whole.
double traffic_of(const Json& kernel, const char* key);
/// Kernels with the longest floor first.
std::vector<const Json*> by_floor(const Json& kernels);
/// `file:line` of a kernel.
std::string place(const Json& kernel);
/// ` M=3 N=4`
std::string dims_text(const Json& report);

using Rows = std::vector<std::vector<std::string>>;
/// What differs from a baseline, each with a first row of headings: totals, and kernels.
Rows differing_totals(const Json& report, const Json& base);
Rows differing_kernels(const Json& report, const Json& base);

} // namespace tang::report

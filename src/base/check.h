#pragma once
// Internal invariants. A failed check is a bug of tangc, never of its input: exit code 70.
#include <fmt/format.h>
#include <stdexcept>

namespace tang {

/// Thrown by TANG_CHECK and caught once, in the driver, which reports the running stage and
/// exits 70.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* file, int line, const char* condition,
                             const std::string& text);

/// Visits a closed variant with one lambda per alternative; a missing alternative does not compile.
template <class... Fs>
struct Overload : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overload(Fs...) -> Overload<Fs...>;

} // namespace tang

#define TANG_CHECK(condition, ...)                                                                 \
  do {                                                                                             \
    if (!(condition))                                                                              \
      ::tang::fail_check(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__));                \
  } while (0)

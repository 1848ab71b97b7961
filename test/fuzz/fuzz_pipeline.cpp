// Bytes make a well-typed program on small integers; the interpreter's value, C at -O0 and C at -O2
// must be equal, with dims free and bound, bit for bit.
#include "agreement.h"
#include "fuzz.h"
#include "minimize.h"
#include <cstdlib>
#include <fmt/format.h>

namespace tang::fuzz {

namespace {

struct Counts {
  uint64_t programs = 0, rejected = 0, only_tinycc = 0;
} counts;

} // namespace

std::string fault_of(std::span<const uint8_t> input) {
  Choices choices(input);
  Case program = generate(choices);
  bool talks = std::getenv("TANGC_FUZZ_VERBOSE") != nullptr;
  if (talks) std::fprintf(stderr, "%s\n", program.text().c_str());
  Verdict verdict = verdict_of(program);
  ++counts.programs;
  counts.rejected += verdict.rejected;
  counts.only_tinycc += verdict.only_tinycc;
  if (talks && verdict.rejected) std::fprintf(stderr, "rejected: %s\n", verdict.why.c_str());
  if (verdict.fault.empty()) return "";
  auto wrong = [](const Case& candidate) {
    still_alive();
    return !verdict_of(candidate).fault.empty();
  };
  Case small = minimize(std::move(program), wrong, 600);
  return small.text() + verdict_of(small).fault;
}

std::vector<Bytes> initial_corpus() {
  return {};
}
std::vector<std::string> dictionary() {
  return {};
}
bool shrinks_by_bytes() {
  return false;
}

std::string statistics() {
  return fmt::format("{} programs, {} not valid, {} wrong under TinyCC alone", counts.programs,
                     counts.rejected, counts.only_tinycc);
}

} // namespace tang::fuzz

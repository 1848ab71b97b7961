// A fuzz target as libFuzzer calls it.
#include "fuzz.h"
#include <cstdio>
#include <cstdlib>

void tang::fuzz::still_alive() {}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string fault = tang::fuzz::fault_of({data, size});
  if (fault.empty()) return 0;
  std::fprintf(stderr, "%s\n", fault.c_str());
  std::abort();
}

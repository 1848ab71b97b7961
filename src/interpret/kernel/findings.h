#pragma once
// What a run found, each kind once for each statement.
#include "interpret/run_kernel.h"

namespace tang::interpret::simulator {

class Findings {
public:
  /// Notes one more; returns it where it is the first of its kind at this statement and tensor.
  Finding* add(Fault fault, const std::string& kernel, uint32_t statement,
               const std::string& tensor);
  std::vector<Finding> take() { return std::move(list_); }

private:
  std::vector<Finding> list_;
  std::map<std::tuple<Fault, std::string, uint32_t, std::string>, size_t> known_;
};

} // namespace tang::interpret::simulator

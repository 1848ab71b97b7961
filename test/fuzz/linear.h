#pragma once
// Recurrences and scans of states that are only contracted: what the laws of chunks look for.
#include "terms.h"

namespace tang::fuzz {

struct Linear {
  std::vector<std::string> statements;
  std::vector<Tensor> defined;
};

/// Over `time`, with states of `rows` by `columns`, in names that start with `name`. `corrected`:
/// each step takes off what the state already gives along what it adds (the delta rule); values
/// then grow with every step, so that there may be few.
Linear linear(Choices& choices, Terms& terms, const std::string& name, const Extent& time,
              const Extent& rows, const Extent& columns, bool corrected);

} // namespace tang::fuzz

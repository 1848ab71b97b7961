#pragma once
// Every dialect, once.
#include "print/dialect.h"
#include "print/dialects/keywords.h"

namespace tang::print {

extern const Dialect c_dialect, cuda_dialect, opencl_dialect;

} // namespace tang::print

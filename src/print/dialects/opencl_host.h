#pragma once
// The host's side of OpenCL: C11 with the headers of Khronos.
#include "print/dialect.h"

namespace tang::print {

extern const HostFile opencl_host;
void opencl_launch(TextWriter& out, const Launch& launch);
void opencl_table(TextWriter& out, const TableUse& use);

} // namespace tang::print

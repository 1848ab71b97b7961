#pragma once
// The end of a product on matrix units: each thread stores the points of which it holds the sums.
#include "lower/matrix_frame.h"

namespace tang::lower {

/// `sums`, one for each field of the state: (atoms along rows, atoms along columns, values of a
/// thread).
void emit_matrix_results(MatrixFrame& frame, std::vector<kernel::TensorId> sums);

} // namespace tang::lower

#pragma once
// Layouts of at most two modes as pictures: the value at each coordinate, or, for a layout
// (thread, value) -> coordinates, who holds each element.
#include "layout/layout.h"

namespace tang::driver {

/// One field of a picture. `group` decides the colour: the thread, or the value.
struct PictureCell {
  std::string text;
  int64_t group = 0;
};

struct LayoutPicture {
  std::string row_axis, column_axis; ///< empty where they are modes
  int64_t rows = 0, columns = 0;
  std::vector<PictureCell> cells; ///< row by row
};

/// A layout of two bases shows threads and values, `T5 V1`, in their coordinates; the contracted
/// axis `k`, else the later name, runs along columns. A plain one shows values, mode 0 down and
/// mode 1 across. Refused for symbols, more than two modes or bases, and more than 2^14 cells.
layout::Result<LayoutPicture> picture_of(const layout::Swizzled& layout);

std::string picture_text(const LayoutPicture& picture);
std::string picture_svg(const LayoutPicture& picture, std::string_view title);

} // namespace tang::driver

#include "driver/layout/picture.h"
#include "layout/evaluate.h"

namespace tang::driver {

using namespace layout;

namespace {

constexpr int64_t most_cells = 1 << 14;

struct Extents {
  int64_t first, second;
};

/// Sizes of the two modes of the top level; a single mode is the second.
Result<Extents> extents_of(const Layout& layout, std::string_view what) {
  auto parts = layout.parts();
  if (parts.size() > 2)
    return refuse("{} has {} modes, and a picture has two: group them with `zipped_divide` or "
                  "`slice` some away",
                  what, parts.size());
  int64_t sizes[2] = {1, 1};
  for (size_t i = 0; i < parts.size(); ++i) {
    auto count = size(parts[i]);
    if (!count) return count.refusal();
    if (!count->is_constant()) return refuse("size {} has symbols", to_text(*count));
    sizes[parts.size() == 1 ? 1 : i] = count->factor;
  }
  if (sizes[0] > most_cells || sizes[1] > most_cells || sizes[0] * sizes[1] > most_cells)
    return refuse("{} has {} by {} elements, and pictures end at {}", what, sizes[0], sizes[1],
                  most_cells);
  return Extents{sizes[0], sizes[1]};
}

Result<LayoutPicture> picture_of_values(const Swizzled& layout) {
  auto extents = extents_of(layout.layout, "the layout");
  if (!extents) return extents.refusal();
  auto values = image(layout);
  if (!values) return values.refusal();
  LayoutPicture out{"", "", extents->first, extents->second, {}};
  for (int64_t row = 0; row < out.rows; ++row)
    for (int64_t column = 0; column < out.columns; ++column) {
      int64_t value = (*values)[static_cast<size_t>(row + column * out.rows)];
      out.cells.push_back({std::to_string(value), value});
    }
  return out;
}

/// What of a value counts along an axis.
int64_t along(const Sum& value, const std::string& axis) {
  for (const Stride& term : value.terms())
    if (term.basis == axis) return term.amount.factor;
  return 0;
}

Result<LayoutPicture> picture_of_threads(const Swizzled& layout, std::vector<std::string> axes) {
  if (axes[0] == "k") std::swap(axes[0], axes[1]);
  auto extents = extents_of(layout.layout, "the layout of threads and values");
  if (!extents) return extents.refusal();
  auto reached = cosize(layout.layout);
  if (!reached) return reached.refusal();
  if (!reached->add(layout.offset)) return refuse("the coordinates leave 64 bits");
  for (const Stride& term : reached->terms())
    if (!term.amount.is_constant()) return refuse("coordinate {} has symbols", to_text(term));
  LayoutPicture out{axes[0], axes[1], along(*reached, axes[0]), along(*reached, axes[1]), {}};
  if (out.rows > most_cells || out.columns > most_cells || out.rows * out.columns > most_cells)
    return refuse("the tile has {} by {} elements, and pictures end at {}", out.rows, out.columns,
                  most_cells);
  out.cells.resize(static_cast<size_t>(out.rows * out.columns));
  for (int64_t thread = 0; thread < extents->first; ++thread)
    for (int64_t value = 0; value < extents->second; ++value) {
      auto place = evaluate(layout, Coordinate::leaf(thread + value * extents->first));
      if (!place) return place.refusal();
      PictureCell& cell = out.cells[static_cast<size_t>(along(*place, axes[0]) * out.columns +
                                                        along(*place, axes[1]))];
      // Where several hold an element, the first one shows, marked.
      if (cell.text.empty())
        cell = {fmt::format("T{} V{}", thread, value), thread};
      else if (cell.text.back() != '+')
        cell.text += " +";
    }
  return out;
}

} // namespace

Result<LayoutPicture> picture_of(const Swizzled& layout) {
  auto axes = bases(layout.layout);
  for (const Stride& term : layout.offset.terms())
    if (std::find(axes.begin(), axes.end(), term.basis) == axes.end() &&
        !(axes.empty() && term.basis.empty()))
      return refuse("offset {} counts along no axis of the layout", to_text(term));
  if (axes.empty() || axes == std::vector<std::string>{""}) return picture_of_values(layout);
  if (axes.size() == 2 && !axes[0].empty()) return picture_of_threads(layout, std::move(axes));
  return refuse("a picture of coordinates needs two axes, and the layout has {}", axes.size());
}

std::string picture_text(const LayoutPicture& picture) {
  std::string corner =
      picture.row_axis.empty() ? "" : fmt::format("{}\\{}", picture.row_axis, picture.column_axis);
  size_t width = std::to_string(picture.columns - 1).size(),
         left = std::max(corner.size(), std::to_string(picture.rows - 1).size());
  for (const PictureCell& cell : picture.cells) width = std::max(width, cell.text.size());
  std::string text = fmt::format("{:>{}} |", corner, left);
  for (int64_t column = 0; column < picture.columns; ++column)
    text += fmt::format(" {:>{}}", column, width);
  text += "\n" + std::string(left + 1, '-') + "+" +
          std::string((width + 1) * static_cast<size_t>(picture.columns), '-') + "\n";
  for (int64_t row = 0; row < picture.rows; ++row) {
    text += fmt::format("{:>{}} |", row, left);
    for (int64_t column = 0; column < picture.columns; ++column)
      text += fmt::format(" {:>{}}",
                          picture.cells[static_cast<size_t>(row * picture.columns + column)].text,
                          width);
    text += '\n';
  }
  return text;
}

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

/// Neighbouring groups differ in hue; every eighth is a shade darker.
std::string color_of(int64_t group) {
  int64_t hue = group % 8 * 45, shade = group / 8 % 4;
  return fmt::format("hsl({},70%,{}%)", hue, 88 - 9 * shade);
}

} // namespace

std::string picture_svg(const LayoutPicture& picture, std::string_view title) {
  size_t longest = 2;
  for (const PictureCell& cell : picture.cells) longest = std::max(longest, cell.text.size());
  int64_t width = 12 + 7 * static_cast<int64_t>(longest), height = 28, margin = 34;
  std::string svg = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" "
                                "height=\"{}\" font-family=\"monospace\" "
                                "font-size=\"12\" text-anchor=\"middle\">\n<title>{}</title>\n"
                                "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
                                margin + picture.columns * width + 1,
                                margin + picture.rows * height + 1, escaped(title));
  auto label = [&](int64_t x, int64_t y, std::string_view text) {
    svg += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", x, y, escaped(text));
  };
  if (!picture.row_axis.empty())
    label(margin / 2, margin - 10, picture.row_axis + "\\" + picture.column_axis);
  for (int64_t column = 0; column < picture.columns; ++column)
    label(margin + column * width + width / 2, margin - 10, std::to_string(column));
  for (int64_t row = 0; row < picture.rows; ++row)
    label(margin / 2, margin + row * height + height / 2 + 4, std::to_string(row));
  for (int64_t row = 0; row < picture.rows; ++row)
    for (int64_t column = 0; column < picture.columns; ++column) {
      const PictureCell& cell = picture.cells[static_cast<size_t>(row * picture.columns + column)];
      int64_t x = margin + column * width, y = margin + row * height;
      svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" "
                         "stroke=\"black\"/>\n",
                         x, y, width, height, cell.text.empty() ? "white" : color_of(cell.group));
      if (!cell.text.empty()) label(x + width / 2, y + height / 2 + 4, cell.text);
    }
  return svg + "</svg>\n";
}

} // namespace tang::driver

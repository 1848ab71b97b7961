// What a kernel's comment says about its floor: the report's figures beside the code.
#include "report/json.h"
#include <set>

namespace tang::report {

namespace {

constexpr size_t longest_line = 110;

/// Pieces in lines, broken inside a piece only where it alone is too long; what continues a line
/// stands further right.
void add_lines(std::vector<std::string>& lines, const std::vector<std::string>& pieces) {
  constexpr std::string_view indent = "   ";
  std::string line;
  auto add = [&](std::string_view part) {
    if (line.size() + 1 + part.size() > longest_line && line.size() > indent.size()) {
      lines.push_back(line);
      line = indent;
    }
    line += (line.empty() || line == indent ? "" : " ");
    line += part;
  };
  for (const std::string& piece : pieces) {
    if (indent.size() + piece.size() <= longest_line) {
      add(piece);
      continue;
    }
    for (size_t at = 0; at < piece.size();) {
      size_t end = std::min(piece.find(' ', at), piece.size());
      add(std::string_view(piece).substr(at, end - at));
      at = end + 1;
    }
  }
  lines.push_back(line);
}

std::string at_text(const graph::Graph& graph, std::span<const int64_t> dims) {
  std::string text;
  for (size_t d = 0; d < dims.size(); ++d)
    text += fmt::format("{}{} = {}", d ? ", " : "", graph.dims[d].name, dims[d]);
  return text;
}

std::vector<std::string> floor_lines(const bound::Analysis& bounds,
                                     const bound::KernelBound& kernel,
                                     const targets::Device& device) {
  const bound::Formulas& f = *bounds.formulas;
  Numbers dims = dims_at(f.graph(), main_sample);
  bound::Floor floor = floor_of(bounds, kernel, dims, device);
  std::vector<std::string> lines;
  add_lines(lines, {"read: " + f.text(kernel.traffic.read_bytes) + " bytes at least;",
                    "written: " + f.text(kernel.traffic.written_bytes) + " bytes at least"});
  std::string where = "on " + device.name;
  std::vector<std::string> formulas;
  if (!dims.empty()) formulas = floor_formulas(bounds, kernel, device);
  if (!formulas.empty()) {
    std::vector<std::string> pieces{"floor " + where + " in us:"};
    for (size_t i = 0; i < formulas.size(); ++i)
      pieces.push_back((i == 0 ? "max(" : "") + formulas[i] +
                       (i + 1 < formulas.size() ? "," : ")"));
    add_lines(lines, pieces);
  }
  if (!dims.empty()) where = "at " + at_text(f.graph(), dims);
  add_lines(lines, {fmt::format("floor {}: {} us, bound by {}", where, microseconds(floor.ps),
                                floor.bound_by)});
  return lines;
}

} // namespace

void comment_floors(kernel::Program& program, const bound::Analysis& bounds,
                    const targets::Device& device) {
  std::set<kernel::KernelId> done;
  for (const auto& [plan, dispatch] : launches_by_plan(program)) {
    std::vector<std::string> lines;
    for (const kernel::Variant& variant : dispatch->variants) {
      // Equal kernels have equal floors.
      if (!done.insert(variant.kernel).second) continue;
      if (lines.empty()) lines = floor_lines(bounds, bounds.kernels[plan], device);
      auto& comment = program.kernels[variant.kernel.value].comment;
      comment.insert(comment.end(), lines.begin(), lines.end());
    }
  }
}

} // namespace tang::report

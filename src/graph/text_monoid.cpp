#include "graph/text_monoid.h"
#include <fmt/ranges.h>

namespace tang::graph {

std::string monoid_text(const Graph& graph, const Names& names, const Monoid& m,
                        const std::string& name) {
  TermPrinter printer(graph, names);
  printer.monoid = &m;
  std::set<std::string> used{"a", "b"};
  std::vector<std::string> fields, combine;
  for (size_t f = 0; f < m.fields.size(); ++f) {
    const MonoidField& field = m.fields[f];
    std::vector<std::string> binders;
    for (const Axis& axis : field.axes) {
      std::string index = names.unused(axis.name.empty() ? "i" : axis.name, used);
      used.insert(index);
      printer.indices[axis.index] = index;
      binders.push_back(fmt::format("{}: {}", index, TermPrinter(graph, names).print(axis.extent)));
    }
    std::string places = binders.empty() ? "" : fmt::format("[{}]", fmt::join(binders, ", "));
    fields.push_back(fmt::format("{}{} = {}", field.name, places, printer.print(field.identity)));
    // Fields may call their indices alike.
    combine.push_back(printer.print(m.combine[f]));
  }
  return fmt::format("monoid {}({}) (a, b) -> ({})", name, fmt::join(fields, ", "),
                     fmt::join(combine, ", "));
}

} // namespace tang::graph

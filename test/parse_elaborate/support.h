#pragma once
#include "diagnostics/sink.h"
#include "graph/graph.h"
#include "parse/elaborate/elaborate.h"
#include <map>
#include <string>
#include <vector>

namespace tang::parse::test {

struct Outcome {
  SourceManager sources;
  Sink sink;
  std::optional<graph::Graph> graph;
  std::vector<std::string> included;

  /// "E0301 3:8 unknown name `z`", one line each; notes and helps follow, indented.
  std::string text(bool with_notes = false) const;
};

struct Given {
  std::vector<DimBinding> dims;
  std::map<std::string, std::string> files; ///< what `include` finds
  bool with_library = true;
};

std::string read_file(const std::string& path);
/// Elaborates the text as file `t.tg` and verifies the graph, if any.
Outcome elaborate_text(const std::string& text, const Given& given = {});
/// The canonical text of the graph; the diagnostics where there is none.
std::string graph_text(const std::string& text, const Given& given = {});

} // namespace tang::parse::test

#pragma once
// AST to graph: names, ranges, types, macros, monoids, loops. The language is language.md; grammar
// questions are the parser's.
#include "diagnostics/sink.h"
#include "graph/graph.h"
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tang::parse {

/// `-D NAME=512` (lo == hi) or `--dim NAME=1..4096/16`: a range with both ends and a step.
struct DimBinding {
  std::string name;
  int64_t lo = 0;
  int64_t hi = 0;
  int64_t step = 1;
};

struct ElaborateOptions {
  std::vector<DimBinding> dims;
  std::string_view library_text; ///< `<nn>`; empty: no standard library
  /// The text of a file that an `include` names (its path is relative to the including file's
  /// folder already), or empty when it cannot be read. Without a callback every include fails.
  std::function<std::optional<std::string>(const std::string& path)> read_file;
};

/// Parses and elaborates the file `root` of `sources`. Every fault is reported to `sink`; with any
/// error the result is empty. Faults of `options.dims` are of the kinds `unknown_dim` and
/// `dim_binding`. The paths of included files are appended to `included`, in order of first
/// inclusion, without repeats. The graph passes `graph::verify`.
std::optional<graph::Graph> elaborate(SourceManager& sources, FileId root,
                                      const ElaborateOptions& options, Sink& sink,
                                      std::vector<std::string>* included = nullptr);

} // namespace tang::parse

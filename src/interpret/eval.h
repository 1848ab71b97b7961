#pragma once
// The meaning of a graph, computed: reals in f64, integers exactly (language.md 5). Reductions fold
// their elements in index order, row-major, starting from the identity.
#include "diagnostics/sink.h"
#include "graph/graph.h"
#include "graph/pieces.h"
#include "interpret/value.h"
#include <map>
#include <span>

namespace tang::interpret {

using Values = std::map<graph::TensorId, Array>;

struct EvalOptions {
  /// Also apply `store` and `accumulate` lines and the operand rule, and keep every other
  /// intermediate and accumulator in f32 (f64 when an input is f64).
  bool emulate = false;
  /// With `emulate`: also the operand rule. Targets without matrix units do not round operands.
  bool operand_rule = true;
  /// With `emulate`: every operation on reals also rounds to that format, as machine code does.
  bool round_operations = false;
  /// With `emulate`: sums of products that are taken of pieces (the law split_precision), by their
  /// first result. Each product then rounds as those of the pieces do.
  std::map<graph::TensorId, const graph::Pieces*> split_products;
  /// Returned outputs are not rounded to their type. Readers of an output still see it rounded.
  bool unrounded_outputs = false;
  /// Return intermediates as well.
  bool keep_intermediates = false;
  /// An array of more elements than this is reported instead of allocated.
  int64_t max_elements = int64_t{1} << 31;
};

/// Evaluates `graph` for the given dims (one value per dim of the graph) and one array per input
/// and param, in logical shape. Inputs are rounded to their declared type. Returns every output.
///
/// Reports E09xx and returns empty when: an input is missing or has the wrong shape, an element is
/// outside the input's declared range or breaks `sorted`, a dim is outside its range, an extent is
/// negative or overflows, an array is too large, an integer overflows.
std::optional<Values> evaluate(const graph::Graph& graph, const Values& inputs,
                               std::span<const int64_t> dims, const EvalOptions& options,
                               Sink& sink);

/// Reports dims that are outside their ranges (`dim S in lo..hi step s`); false when any is.
bool check_dims(const graph::Graph& graph, std::span<const int64_t> dims, Sink& sink);

} // namespace tang::interpret

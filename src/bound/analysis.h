#pragma once
// Bounds of a scheduled graph: formulas first, then numbers for one choice of dims and a device.
#include "bound/time.h"
#include "plan/plan.h"
#include <memory>

namespace tang::bound {

/// One kernel of the plan, as formulas over dims.
struct KernelBound {
  const plan::KernelPlan* plan = nullptr;
  std::vector<const graph::Node*> nodes;
  ExprId launches;                      ///< 1, or the product of the recurrences' steps around it
  std::vector<graph::TensorId> reading; ///< from outside, ascending
  std::vector<graph::TensorId> leaving; ///< read by others, or outputs
  Traffic traffic;
  Operations operations;
  std::vector<Contraction> contractions;
  ExprId moved_bytes; ///< fused bytes: every tensor that crosses its edge whole, once
};

/// A tensor that one kernel writes and another reads.
struct Edge {
  size_t from, to; ///< positions in `kernels`
  graph::TensorId tensor;
  ExprId bytes;
};

struct Analysis {
  std::unique_ptr<Formulas> formulas; ///< owns every formula, and the graph that nodes point into
  std::vector<KernelBound> kernels;   ///< in the order of the plan, recurrences flattened
  std::vector<Edge> edges;            ///< ascending
  Traffic whole;                      ///< the graph as if it were one kernel
  Operations operations;
  std::vector<Contraction> contractions; ///< of the whole graph
  ExprId fused_bytes;                    ///< all kernels' moved bytes
};

/// `graph` is the one that `plan` is about. Under `allow_tf32` products of f32 may lose bits.
Analysis analyze(const graph::Graph& graph, const plan::Plan& plan, bool allow_tf32);

/// Numbers at one choice of dims.
Floor floor_of(const Analysis& analysis, const KernelBound& kernel, std::span<const int64_t> dims,
               const targets::Device& device);
/// The cold floor of a kernel as formulas (time.h).
std::vector<std::string> floor_formulas(const Analysis& analysis, const KernelBound& kernel,
                                        const targets::Device& device);
Floor floor_of_whole(const Analysis& analysis, std::span<const int64_t> dims,
                     const targets::Device& device);

/// The longest chain of kernels that need each other's results, each at its warm floor; a kernel in
/// a recurrence counts once per step.
int64_t critical_path_ps(const Analysis& analysis, const std::vector<Floor>& floors,
                         std::span<const int64_t> dims);

} // namespace tang::bound

#pragma once
// Recognises what an emitter needs from the shape of comprehensions, and fills its fields.
#include "graph/contraction.h"
#include "schedule/schedule.h"

namespace tang::schedule {

/// Neighbouring nodes over common rows: every node's points are the rows, or the rows and one inner
/// axis of a common extent; reductions and scans run along that axis; what one node reads of
/// another it reads at its own row (and place). At least one reduction or scan, or it is no row
/// group.
struct RowGroup {
  std::vector<uint32_t> nodes;
  size_t rows = 0;      ///< number of row axes
  bool scans = false;   ///< a member needs its elements in order
  graph::ExprId extent; ///< of the inner axis
};
std::optional<RowGroup> row_group(const graph::Graph& graph, const std::vector<graph::Node>& nodes,
                                  uint32_t first, const Machine& machine);

/// Fields of all reductions of a row group.
int64_t fields_along(const graph::Graph& graph, const std::vector<graph::Node>& nodes,
                     std::span<const uint32_t> group);
/// Shared memory in which the threads of a row exchange so many fields where they cannot shuffle
/// (lower/threads.h): two turns, counted as the widest format.
int64_t meeting_bytes(int64_t fields, int threads);

/// A number that divides every value of an integer term: from its coefficients and the dims' steps.
int64_t known_divisor(const graph::Graph& graph, graph::ExprId term);

/// Whether a kernel can use that an integer term is a multiple of a number: one dim says so, alone
/// in a*N + b, or as +N or -N beside others. Of N*M or min(N, M) no dim does.
bool has_solvable_multiples(const graph::Graph& graph, graph::ExprId term);

/// Lengths of an axis that a variant is made for.
struct Lengths {
  graph::ExprId extent;
  int64_t divisor = 1;         ///< multiples of this
  std::optional<int64_t> most; ///< no longer than this
};
/// Adds a variant for these lengths; what the declared ranges decide is no fact that a launcher
/// must test, and a variant that no length can have is left out. Returns whether other lengths
/// remain.
bool add_variant(const graph::Graph& graph, plan::KernelPlan& kernel, const plan::Fields& fields,
                 const Lengths& lengths);

/// The product of the extents of point axes when they are fixed.
std::optional<int64_t> fixed_size(const graph::Graph& graph, const graph::Comprehension& node,
                                  const std::vector<size_t>& axes);

/// Whether a contraction has enough rows and columns to reuse anything.
bool worth_tiling(const graph::Graph& graph, const graph::Comprehension& node,
                  const graph::Sides& sides);

/// Why chunks of a tile without matrix units cannot be under way at once with these fields, whose
/// threads fit the tile; empty where they can.
std::optional<std::string> why_no_ring(const graph::Graph& graph, const graph::Comprehension& node,
                                       const plan::Fields& fields, const Machine& machine);

/// Whether a node computes with f64.
bool is_wide(const graph::Graph& graph, const graph::Comprehension& node);

/// Shared memory of a block's staged tiles (of every chunk under way), each line with its padding.
int64_t staged_bytes(const graph::Graph& graph, const graph::Comprehension& node,
                     const graph::Operands& operands, const plan::Fields& fields);

/// A sum of products that matrix units can do, or a few with common points and terms.
struct MatrixProduct {
  plan::Precision precision = plan::Precision::full; ///< of both factors
  const atomics::Row* row = nullptr;                 ///< of one product
  /// Elements that one asynchronous copy moves: 16 bytes.
  int copied() const { return 128 / bits(); }
  int bits() const { return graph::info(plan::format_of(precision)).bits; }
  /// Sums over one space, and different factors of either side, each with a tile of its own.
  int sums = 1, a_tiles = 1, b_tiles = 1;
  std::vector<graph::ExprId> vectors; ///< extents that are multiples of what a copy moves
};
std::optional<MatrixProduct> matrix_product(const graph::Graph& graph,
                                            const graph::Comprehension& node,
                                            const graph::Sides& sides, const Machine& machine);
/// In how many parts a product of known sizes is summed soonest, by waves of blocks and traffic of
/// the last cache: 1 where one sum is as good. Empty where sizes or rates are not known.
std::optional<int64_t> matrix_parts(const graph::Graph& graph, const graph::Comprehension& node,
                                    const graph::Sides& sides, const MatrixProduct& product,
                                    const Machine& machine);
/// Why matrix units cannot run it with these fields; empty where they can.
std::optional<std::string> why_no_matrix(const graph::Graph& graph,
                                         const graph::Comprehension& node,
                                         const plan::Fields& fields, const Machine& machine);
/// Adds the variants that run it on matrix units.
void add_matrix_variants(const graph::Graph& graph, const graph::Comprehension& node,
                         const graph::Sides& sides, const MatrixProduct& product,
                         const Machine& machine, plan::KernelPlan& kernel);

/// Why a streamed reduction cannot run with these fields; empty where it can.
std::optional<std::string> why_no_stream(const graph::Graph& graph,
                                         const graph::Comprehension& node,
                                         const plan::Fields& fields, const Machine& machine);
/// No variants where the node is no streamed reduction or the target lacks its instructions.
plan::KernelPlan plan_stream(const graph::Graph& graph, const graph::Comprehension& node,
                             const Machine& machine);

/// Joins neighbouring kernels that run in blocks of one kind and do not wait for each other.
void run_beside(const graph::Graph& graph, const std::vector<graph::Node>& nodes,
                const Machine& machine, std::vector<plan::Step>& steps);

plan::KernelPlan plan_point(const graph::Graph& graph, const graph::Comprehension& node, int level,
                            const Machine& machine);
plan::KernelPlan plan_row(const graph::Graph& graph, const std::vector<graph::Node>& nodes,
                          const RowGroup& group, const Machine& machine);
/// No variants where the operands' tiles do not fit a block's shared memory.
plan::KernelPlan plan_tile(const graph::Graph& graph, const graph::Comprehension& node,
                           const graph::Sides& sides, const Machine& machine);

} // namespace tang::schedule

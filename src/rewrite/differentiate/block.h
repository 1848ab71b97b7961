#pragma once
// Reverse mode over a list of nodes: from adjoints of what it computes to adjoints of what it
// reads.
#include "rewrite/blocks.h"
#include "rewrite/differentiate/adjoints.h"
#include "rewrite/differentiate/body_copy.h"
#include "rewrite/differentiate/scan.h"

namespace tang::rewrite {

class Block {
public:
  /// `made`: where the nodes of the gradient go; they read what the forward nodes define. `active`:
  /// the tensors whose adjoints are asked for, or on the way to one that is.
  Block(graph::Graph& graph, Maker& maker, std::vector<graph::Node>& made, TensorSet active)
      : graph_(graph), s_(graph.exprs), maker_(maker), made_(made), active_(std::move(active)),
        adjoints_(graph, maker, made) {}

  Adjoints& adjoints() { return adjoints_; }
  bool is_active(graph::TensorId tensor) const { return active_.contains(tensor); }

  /// Hands the adjoints of what the node defines on to what it reads. Nodes come last first. The
  /// node may get further results that the gradient reads.
  void visit(graph::Node& node);

private:
  /// A value and its adjoint, over the indices of a space.
  struct Root {
    graph::ExprId term;
    graph::ExprId where; ///< outside it the adjoint is 0; empty: none known
    graph::ExprId adjoint;
  };
  /// The adjoint of one state field, over the node's points and `axes`.
  struct FieldAdjoint {
    uint32_t field = 0;
    std::vector<graph::Axis> axes; ///< of the field
    graph::ExprId where, value;
  };

  // block.cpp
  void visit(graph::Comprehension& c);
  bool may_leak(const graph::Comprehension& c) const;
  std::optional<Root> root_of(const graph::Comprehension& c, const graph::Result& result);
  void propagate(const Space& space, const std::vector<Root>& roots, graph::TensorId reader,
                 graph::IndexId fresh, const TensorSet& constants = {});
  std::vector<Leaf> leaves_of(const std::vector<Root>& roots, Paths& paths, graph::IndexId fresh,
                              const TensorSet& constants);
  void propagate_map(const std::vector<graph::Axis>& points, const std::vector<Root>& roots,
                     graph::TensorId reader, graph::IndexId fresh);
  std::optional<Leaf> stored_adjoint(const std::vector<graph::Axis>& points, graph::ExprId adjoint,
                                     Paths& paths, PathId path, graph::TensorId reader);
  void visit_map(const graph::Comprehension& c);
  bool is_plain(const graph::Result& result) const;
  void split_epilogues(graph::Comprehension& c);
  graph::TensorId state_tensor(graph::Comprehension& c, uint32_t field);

  // reduction.cpp
  void visit_reduction(graph::Comprehension& c);
  std::vector<FieldAdjoint> field_adjoints(const graph::Comprehension& c);
  Space space_of(const graph::Comprehension& c, const std::vector<graph::Axis>& axes) const;
  void additive(const graph::Comprehension& c, const FieldAdjoint& field);
  void extremum(const graph::Comprehension& c, const FieldAdjoint& field, bool maximum);
  void bound_position(graph::TensorId position, const graph::Comprehension& c);
  void best_of(graph::Comprehension& c, const FieldAdjoint& field);

  void relative_sum(graph::Comprehension& c, const FieldAdjoint& field, uint32_t maximum,
                    std::vector<FieldAdjoint>& others);

  // monoid_rules.cpp
  graph::ExprId body_at(const graph::Reduction& reduction, uint32_t field,
                        std::span<const graph::ExprId> places, graph::IndexId& fresh);
  void general(graph::Comprehension c, const FieldAdjoint& field);
  void nested(const graph::Comprehension& c, const FieldAdjoint& field);
  std::vector<graph::TensorId> parts_beside(const graph::Comprehension& c, graph::MonoidId monoid,
                                            const std::vector<uint32_t>& fields, bool before);

  // scan.cpp
  void visit_scan(graph::Comprehension& c, const std::vector<FieldAdjoint>& fields);
  std::vector<graph::Axis> with_axes(const graph::Comprehension& c,
                                     const std::vector<graph::Axis>& axes) const;
  graph::ExprId later(const graph::Comprehension& c, const std::vector<graph::Axis>& points,
                      graph::ExprId a, graph::ExprId b, bool exclusive);
  void additive_scan(const graph::Comprehension& c, const FieldAdjoint& field);
  graph::ExprId state_before(graph::Comprehension& c, uint32_t field,
                             std::span<const graph::ExprId> places);
  ScanStep scan_step(const graph::Comprehension& c, const std::vector<FieldAdjoint>& fields);
  graph::ExprId with_states(graph::Comprehension& c, graph::ExprId term);
  std::optional<Slopes> slopes(graph::Comprehension& c, ScanStep& step);
  graph::ExprId onto(graph::ExprId value, const std::vector<graph::Axis>& from,
                     const std::vector<graph::Axis>& to);
  std::vector<graph::ExprId> affine_adjoints(const graph::Comprehension& c,
                                             const std::vector<FieldAdjoint>& fields,
                                             const Slopes& slopes,
                                             const std::vector<uint32_t>& order);
  std::vector<graph::ExprId> recurrent_adjoints(graph::Comprehension& c,
                                                const std::vector<FieldAdjoint>& fields,
                                                ScanStep& step);
  void general_scan(graph::Comprehension& c, const std::vector<FieldAdjoint>& fields);

  // recurrence.cpp
  graph::TensorId history(graph::Recur& r, graph::TensorId value);
  graph::TensorId state_at(std::vector<graph::Node>& nodes, graph::Recur& r,
                           const graph::Carry& carry, graph::ExprId now);
  graph::TensorId as_tensor(const Adjoint& adjoint, graph::TensorId model);
  graph::Recur reversed_steps(const graph::Axis& time, graph::ExprId& now);
  graph::TensorId zeros(const std::string& wish, graph::TensorId model);
  void visit(graph::Recur& r);
  Part slice_part(const Slice& slice, graph::TensorId steps, graph::ExprId extent);

  graph::Graph& graph_;
  graph::ExprStore& s_;
  Maker& maker_;
  std::vector<graph::Node>& made_;
  TensorSet active_;
  Adjoints adjoints_;
};

} // namespace tang::rewrite

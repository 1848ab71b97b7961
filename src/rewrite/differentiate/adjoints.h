#pragma once
// The adjoint of each tensor: the sum of what its reads add.
#include "rewrite/differentiate/maker.h"
#include "rewrite/differentiate/part.h"

namespace tang::rewrite {

/// d(result) / d(tensor), over indices 0, 1, ... that stand for the tensor's places.
struct Adjoint {
  graph::ExprId value; ///< a literal or one read: as cheap as a view
  graph::ExprId where; ///< condition of the indices outside which the value is 0; empty: none known
};

class Adjoints {
public:
  Adjoints(graph::Graph& graph, Maker& maker, std::vector<graph::Node>& nodes)
      : graph_(graph), s_(graph.exprs), maker_(maker), nodes_(nodes) {}

  /// A part of the adjoint of `tensor` that comes from `reader`.
  void add(graph::TensorId tensor, Part part, const std::string& reader);
  /// The adjoint as such, before anything else is added.
  void set(graph::TensorId tensor, Adjoint adjoint);

  /// All that was added, as one adjoint; empty when nothing was. `result`: a tensor that must hold
  /// it, or none.
  std::optional<Adjoint> finish(graph::TensorId tensor, graph::TensorId result = {});
  /// The same in `result`, zeros where nothing was added.
  void finish_in(graph::TensorId tensor, graph::TensorId result);
  /// Outside it choices and filters leave nothing of the tensor; over its places. Empty: not known.
  graph::ExprId reached(graph::TensorId tensor);
  /// The tensors to which something was added, ascending.
  std::vector<graph::TensorId> received() const;

private:
  struct Entry {
    std::vector<Part> parts;
    std::vector<std::string> readers;
    std::optional<Adjoint> whole; ///< finished, or set
  };
  graph::ExprId term_of(graph::TensorId tensor, const Part& part);
  graph::TensorId stored(graph::TensorId tensor, const Part& part, graph::TensorId result,
                         const std::string& why,
                         const std::unordered_map<graph::IndexId, graph::ExprId>& known = {});
  graph::TensorId stored(graph::TensorId tensor, const Entry& entry, graph::ExprId value,
                         graph::TensorId result);
  graph::ExprId common_condition(graph::TensorId tensor, const Entry& entry) const;
  bool is_view(graph::ExprId term) const;

  graph::Graph& graph_;
  graph::ExprStore& s_;
  Maker& maker_;
  std::vector<graph::Node>& nodes_;
  std::unordered_map<graph::TensorId, Entry> entries_;
};

} // namespace tang::rewrite

#pragma once
// Builds the statements of one kernel: where the next statement goes, and which graph tensors, dims
// and recurrence steps became its parameters.
#include "graph/graph.h"
#include "kernel/kernel.h"

namespace tang::lower {

using graph::ExprId;
using kernel::register_type;
using kernel::Type;
using kernel::ValueId;
using kernel::VarId;

/// A kernel parameter besides tensors, in the graph's words.
struct ScalarSource {
  graph::DimId dim;     ///< a dim of the graph, or
  graph::TensorId step; ///< the step of a recurrence
  friend bool operator==(const ScalarSource&, const ScalarSource&) = default;
};

/// What a tensor parameter stands for: a tensor, or its part at constant leading places (a layer of
/// stacked weights), which becomes an offset of the binding so that equal layers share a kernel.
struct TensorSource {
  graph::TensorId tensor;
  std::vector<int64_t> places;
  friend bool operator==(const TensorSource&, const TensorSource&) = default;
};

/// A kernel together with what its parameters stand for.
struct Built {
  kernel::Kernel kernel;
  std::vector<TensorSource> tensors; ///< per Kernel::params
  std::vector<ScalarSource> scalars; ///< per Kernel::scalars
};

class Builder {
public:
  Builder(const graph::Graph& graph, std::string name);

  const graph::Graph& graph() const { return graph_; }
  kernel::ValueStore& values() { return built_.kernel.values; }
  kernel::Kernel& kernel() { return built_.kernel; }

  // Parameters, added on first use.
  kernel::TensorId param(graph::TensorId tensor, bool written = false);
  kernel::TensorId param(const TensorSource& source);
  ValueId dim(graph::DimId dim);
  ValueId step(graph::TensorId step);
  bool is_step(graph::TensorId tensor) const { return steps_.contains(tensor); }
  void declare_step(graph::TensorId step, int64_t last) { steps_[step] = last; }
  /// Coordinates that every store of a result has before its points.
  std::vector<ValueId> store_prefix;
  /// An integer term over dims (an extent) as an index value.
  ValueId extent(ExprId id);

  // Statements at the current place.
  void emit(kernel::Stmt stmt) { body_->push_back(std::move(stmt)); }
  /// Names a value; literals and variables name themselves.
  ValueId let(std::string name, ValueId value);
  /// Coordinates of extents `extents` from one flat number, the last one fastest.
  std::vector<ValueId> delinearize(std::span<const std::string> names, ValueId number,
                                   std::span<const ValueId> extents);
  /// A number that is a coordinate itself: below `extent`, whatever it is made of.
  ValueId coordinate(const std::string& name, ValueId number, ValueId extent) {
    return delinearize({&name, 1}, number, {&extent, 1})[0];
  }
  ValueId load(std::string name, Type type, kernel::Ref src, ValueId predicate = {},
               ValueId otherwise = {});
  void store(kernel::Ref dst, ValueId value, ValueId predicate = {}) {
    emit({kernel::Store{std::move(dst), value, predicate}});
  }
  kernel::TensorId registers(std::string name, Type type, std::vector<int64_t> shape);
  /// Registers that only instructions read and write, in a storage format.
  kernel::TensorId fragments(std::string name, graph::ElemType type, std::vector<int64_t> shape);
  kernel::TensorId shared(std::string name, graph::ElemType type, std::vector<int64_t> shape,
                          std::vector<int64_t> stride = {});
  ValueId element(kernel::TensorId tensor, std::vector<ValueId> coordinates = {});
  /// A value in the register type of a tensor; wide integers saturate at the tensor's range.
  ValueId narrowed(graph::ElemType type, ValueId value);

  template <class F>
  void loop(std::string name, ValueId begin, ValueId end, ValueId step, kernel::LoopKind kind,
            F&& inside) {
    kernel::For f = open_loop(std::move(name), begin, end, step, kind);
    ValueId index = values().variable(f.var);
    nest(f.body, [&] { inside(index); });
    if (!f.body.empty()) emit({std::move(f)});
  }
  template <class F>
  void loop(std::string name, int64_t count, kernel::LoopKind kind, F&& inside) {
    auto& v = values();
    // One round needs no loop.
    if (count == 1)
      inside(v.integer(0));
    else
      loop(std::move(name), v.integer(0), v.integer(count), v.integer(1), kind, inside);
  }
  template <class F>
  void when(ValueId condition, F&& inside) {
    if (!condition || values().as_boolean(condition) == true) return inside();
    kernel::If branch{condition, {}, {}};
    nest(branch.then, inside);
    if (!branch.then.empty()) emit({std::move(branch)});
  }
  /// One of two bodies.
  template <class F, class G>
  void either(ValueId condition, F&& then, G&& otherwise) {
    kernel::If branch{condition, {}, {}};
    nest(branch.then, then);
    nest(branch.otherwise, otherwise);
    emit({std::move(branch)});
  }
  template <class F>
  void spec(std::string kind, std::string comment, std::vector<kernel::TensorId> outputs,
            std::vector<kernel::TensorId> inputs, F&& inside) {
    kernel::Spec s{std::move(kind), std::move(comment), std::move(outputs), std::move(inputs), {}};
    nest(s.body, inside);
    if (!s.body.empty()) emit({std::move(s)});
  }
  template <class F>
  void nest(kernel::Body& body, F&& inside) {
    kernel::Body* outer = body_;
    body_ = &body;
    inside();
    body_ = outer;
  }

  Built finish() { return std::move(built_); }

private:
  kernel::For open_loop(std::string name, ValueId begin, ValueId end, ValueId step,
                        kernel::LoopKind kind);
  const graph::Graph& graph_;
  Built built_;
  kernel::Body* body_;
  std::unordered_map<graph::TensorId, int64_t> steps_;
};

graph::ElemType element_type(Type type);

} // namespace tang::lower

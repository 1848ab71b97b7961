#pragma once
// The tensor level: views and comprehensions.
//
// A graph is a list of definitions in an order in which each reads only earlier ones. The one
// compute node is the comprehension
//
//     result[points] = value(acc),   acc = ⊕[reduce where filter] body
//
// A map has no reduction and its `value` is the body. `value` of a reduction is `acc` itself until
// `attach_epilogues` puts a map on it. Views are the `places` of `read` terms (expr.h).
#include "diagnostics/source.h"
#include "graph/expr.h"
#include <string>
#include <variant>

namespace tang::graph {

/// A symbolic extent that is not bound at compile time: `dim S in lo..hi step s`. Fixed dims are
/// literals, derived dims are expressions; neither appears here.
struct Dim {
  std::string name;
  int64_t lo = 0;
  int64_t hi = 2147483647;
  int64_t step = 1; ///< the value is a multiple of this
  Span span;
};

/// An axis of a node: index `index` runs over 0 .. extent-1.
struct Axis {
  IndexId index;
  ExprId extent;    ///< integer term over dims
  std::string name; ///< as written, for text and generated code
  /// Set by `tighten_bounds`: only lo <= index < hi takes part (integer terms over dims and the
  /// indices of axes before this one); the filter that they came from is gone from `filter`.
  ExprId lo, hi;
};

/// An associative combine over named state fields (language.md 3). The built-in reductions are
/// monoids in the same form; only `topk` (a merge of sorted lists) has a combine that the
/// expression language cannot say.
struct MonoidField {
  std::string name;
  Scalar scalar = Scalar::real;
  std::vector<Axis> axes; ///< of an indexed field; extents are constants
  ExprId identity;        ///< over `axes`
};
struct Monoid {
  enum class Form : uint8_t { expressions, topk };
  std::string name; ///< `sum`, `max`, `argmax`, `lse`, ...: for text only, never asked by a pass
  Form form = Form::expressions;
  std::vector<MonoidField> fields;
  /// One term per field over lhs(f)/rhs(f) (lhs is the earlier part) and the field's axes.
  std::vector<ExprId> combine;
  bool commutative = false; ///< proved (for all states, or for those of its uses) or built in
  bool builtin = false;
  /// What a reader sees: `argmax` has state (value, index) and gives the index only.
  std::vector<uint32_t> visible; ///< fields bound by a tuple on the left, in order
  int64_t k = 0;                 ///< topk: list length
};

enum class TensorKind : uint8_t { input, param, constant, intermediate, output };

struct Tensor {
  std::string name;
  std::string external; ///< quoted name, for exporters; empty when none
  TensorKind kind = TensorKind::intermediate;
  ElemType type = ElemType::f32; ///< storage; an output is rounded to it once
  std::vector<ExprId> shape;
  std::vector<ExprId> strides;   ///< elements; empty = row-major contiguous
  int align = 16;                ///< bytes
  std::optional<IntRange> range; ///< declared or derived value range of integers, inclusive
  /// The ends of a declared range as terms over dims, where they depend on dims; `range` holds what
  /// all sizes allow.
  ExprId range_lo, range_hi;
  bool sorted = false;       ///< declared non-decreasing
  bool is_step = false;      ///< the step of a recurrence: `range` is that of its time axis
  std::vector<double> reals; ///< constant tables
  std::vector<int64_t> integers;
  TensorId over;            ///< output stored in place of this input
  bool store_given = false; ///< a `store` line chose `type` (interpreter: only with --emulate)
  std::optional<ElemType> accumulate;
  std::optional<double> budget_rel, budget_abs;
  Span span;
};

struct Reduction {
  MonoidId monoid;
  std::vector<Axis>
      axes;      ///< reduce indices, outermost first: the order of a non-commutative monoid
  ExprId filter; ///< boolean term; empty = every point takes part
  std::vector<ExprId> body; ///< one term per state field (topk: value, index), over points, axes
                            ///< and the field's own axes
  std::vector<std::vector<Axis>>
      field_axes; ///< per field: the indices `body` uses for an indexed field
};

/// `result = scan`: the state at point t combines the bodies of all t' up to t along one point
/// axis.
struct Scan {
  uint32_t axis = 0; ///< position in `points`
  bool exclusive = false;
  bool descending = false;
};

struct Result {
  TensorId tensor;
  ExprId value;            ///< over points, `extra` and (for reductions) acc terms
  std::vector<Axis> extra; ///< further point axes behind `points`: fields' indices, topk's position
};

struct Comprehension {
  std::vector<Axis> points;
  std::optional<Reduction> reduction; ///< for a scan: axes are empty, the body is over points
  std::optional<Scan> scan;
  std::vector<Result> results; ///< at least one; all over `points` + own `extra`
};

/// The axis along which a node scans, or the first of those that it reduces.
inline const Axis& axis_along(const Comprehension& node) {
  return node.scan ? node.points[node.scan->axis] : node.reduction->axes[0];
}

struct Node;

/// A sequential recurrence over a run-time extent (language.md 3, `recur`).
struct Carry {
  TensorId init;    ///< start value, defined outside
  TensorId current; ///< what the body reads (an intermediate without a defining node)
  TensorId next;    ///< what the body computed for the following step
  TensorId last;    ///< the value after the last step, visible outside
};
struct Collect {
  TensorId value;   ///< defined in the body (or a `next`)
  TensorId stacked; ///< [T, ...value's shape], visible outside
};
struct Recur {
  Axis time;     ///< its index is not used in terms: bodies read `step`
  TensorId step; ///< rank-0 i64 intermediate: the current t, without a defining node
  std::vector<Carry> carries;
  std::vector<Node> body;
  std::vector<Collect> collects;
};

/// `grad of with cotangent wrt x -> dx, ...`: reverse-mode gradients, before `differentiate`
/// replaces them by ordinary nodes. Only at the top level of a graph.
struct GradientPair {
  TensorId wrt;    ///< taken as a variable of its own, also where it is computed
  TensorId result; ///< of the shape of `wrt`
};
struct Gradient {
  TensorId of;
  TensorId cotangent; ///< of the shape of `of`; empty stands for 1, then `of` has rank 0
  std::vector<GradientPair> pairs;
};

struct Node {
  std::variant<Comprehension, Recur, Gradient> definition;
  Span span;
  std::vector<std::string>
      derivation; ///< one sentence per law that made or changed it; the report prints it
};

/// Why a law that comes close does not hold: `-Wperf` shows it.
struct Remark {
  Span span;
  std::string text;
};

struct Graph {
  std::string name;
  ExprStore exprs;
  std::vector<Dim> dims;
  std::vector<Monoid> monoids;
  std::vector<Tensor> tensors;
  std::vector<TensorId> inputs;  ///< inputs and params in declared order
  std::vector<TensorId> outputs; ///< in declared order
  std::vector<Node> nodes;
  std::vector<Remark> remarks; ///< from the laws; no part of the meaning

  const Dim& operator[](DimId id) const { return dims[id.value]; }
  const Monoid& operator[](MonoidId id) const { return monoids[id.value]; }
  const Tensor& operator[](TensorId id) const { return tensors[id.value]; }
  Tensor& operator[](TensorId id) { return tensors[id.value]; }

  TensorId add(Tensor tensor);
  /// Equal monoids get one id.
  MonoidId add(Monoid monoid);
  /// A built-in: sum prod max min any all argmax argmin topk (with k), over `scalar` values.
  /// Empty for a name that is no built-in or a class it does not take.
  std::optional<MonoidId> builtin(std::string_view name, Scalar scalar, int64_t k = 0);
};

/// Renumbers the indices of a node 0, 1, 2, ... (points, reduce axes, field axes, each result's
/// extra axes, folds by first appearance), so that equal mathematics has equal terms. Names stay.
Comprehension canonicalize(ExprStore& store, Comprehension node);

/// An index id that no term of `node` uses.
IndexId fresh_index(const ExprStore& store, const Comprehension& node);

/// Every term of the node that is evaluated per point: bodies, filter, values, bounds, extents.
std::vector<ExprId> roots(const Comprehension& node);

/// Tensors a node reads (for a recurrence: from outside and inside), ascending, without repeats.
std::vector<TensorId> reads_of(const Graph& graph, const Node& node);
/// Tensors a node defines and others may read.
std::vector<TensorId> defines_of(const Node& node);

/// What everything behind `differentiate` does where it could meet a gradient.
[[noreturn]] void reject(const Gradient& gradient);

} // namespace tang::graph

#include "graph/verify.h"
#include "base/check.h"
#include "graph/polynomial.h"
#include "graph/prover.h"
#include "graph/reads.h"
#include "graph/text.h"
#include <set>
#include <unordered_set>

namespace tang::graph {
namespace {

class Verifier {
public:
  Verifier(const Graph& graph, std::string_view stage)
      : graph_(graph), s_(graph.exprs), stage_(stage), defined_(graph.tensors.size(), false),
        replaced_(graph.tensors.size(), false) {}

  void run() {
    for (uint32_t i = 0; i < graph_.tensors.size(); ++i) check_tensor(TensorId(i));
    for (const Monoid& monoid : graph_.monoids) check_monoid(monoid);
    for (const Node& node : graph_.nodes) check_node(node);
    where_ = "outputs";
    for (TensorId id : graph_.outputs) {
      require(valid(id) && defined_[id.value], "output {} is not defined", id);
      require(graph_[id].kind == TensorKind::output, "output {} has another kind", id);
    }
  }

private:
  using Scope = std::set<IndexId>;

  /// Ids among `args` become text only when the check fails.
  template <class... Args>
  void require(bool condition, std::string_view format, const Args&... args) const {
    if (condition) return;
    throw InternalError(fmt::format("graph after {}: {}: {}", stage_, where_,
                                    fmt::format(fmt::runtime(format), text_of(args)...)));
  }
  template <class T>
  const T& text_of(const T& value) const {
    return value;
  }
  std::string text_of(ExprId id) const { return to_text(graph_, id); }
  std::string text_of(TensorId id) const { return name(id); }

  bool valid(TensorId id) const { return id && id.value < graph_.tensors.size(); }
  std::string name(TensorId id) const {
    return valid(id) ? fmt::format("`{}`", graph_[id].name) : "of no tensor";
  }

  void check_tensor(TensorId id) {
    const Tensor& tensor = graph_[id];
    where_ = fmt::format("tensor `{}`", tensor.name);
    for (ExprId extent : tensor.shape) check_extent(extent);
    for (ExprId stride : tensor.strides) check_extent(stride);
    for (ExprId end : {tensor.range_lo, tensor.range_hi})
      if (end) check_extent(end);
    require(tensor.strides.empty() || tensor.strides.size() == tensor.shape.size(),
            "{} strides for rank {}", tensor.strides.size(), tensor.shape.size());
    switch (tensor.kind) {
    case TensorKind::input:
    case TensorKind::param:
    case TensorKind::constant: defined_[id.value] = true; break;
    case TensorKind::intermediate:
    case TensorKind::output: break;
    }
  }

  void check_extent(ExprId id) {
    require(static_cast<bool>(id) && s_[id].scalar == Scalar::integer && !s_[id].has_read &&
                s_[id].free.empty(),
            "an extent or stride is not an integer over dims");
    check_terms(id, {}, nullptr);
  }

  void check_monoid(const Monoid& monoid) {
    where_ = fmt::format("monoid `{}`", monoid.name);
    bool listed = monoid.form == Monoid::Form::topk;
    require(monoid.combine.size() == (listed ? 0 : monoid.fields.size()),
            "{} combines for {} fields", monoid.combine.size(), monoid.fields.size());
    for (uint32_t field : monoid.visible)
      require(field < monoid.fields.size(), "no field {}", field);
    for (size_t f = 0; f < monoid.fields.size(); ++f) {
      const MonoidField& field = monoid.fields[f];
      Scope scope;
      bind(scope, field.axes);
      check_root(field.identity, field.scalar, scope, nullptr);
      require(!s_[field.identity].has_read, "an identity reads data");
      if (!listed) check_root(monoid.combine[f], field.scalar, scope, &monoid, true);
    }
  }

  void bind(Scope& scope, const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
      check_extent(axis.extent);
      for (ExprId bound : {axis.lo, axis.hi})
        if (bound) check_root(bound, Scalar::integer, scope, nullptr);
      require(scope.insert(axis.index).second, "index `{}` is bound twice", axis.name);
    }
  }

  void check_root(ExprId id, Scalar scalar, const Scope& scope, const Monoid* states,
                  bool combine = false) {
    require(static_cast<bool>(id), "a term is missing");
    require(s_[id].scalar == scalar, "a term has the wrong class: {}", id);
    for (IndexId index : s_[id].free)
      require(scope.contains(index), "index {} is free in {}", index.value, id);
    check_terms(id, scope, states, combine);
  }

  void check_terms(ExprId root, const Scope& scope, const Monoid* states, bool combine = false) {
    for (ExprId id : reachable(s_, {&root, 1})) {
      const Expr& e = s_[id];
      for (IndexId bound : e.bound)
        require(!scope.contains(bound), "a fold binds index {} again", bound.value);
      // What follows depends on the term alone, or on the states that this root may mention.
      if (e.op == Op::lhs || e.op == Op::rhs || e.op == Op::acc)
        check_state(e, states, combine);
      else if (e.op == Op::read)
        check_read(id);
      else if (checked_.insert(id).second)
        check_op(id);
    }
  }

  void check_state(const Expr& e, const Monoid* states, bool combine) {
    require(states && (e.op == Op::acc) != combine, "a state `{}` stands outside its place",
            info(e.op).name);
    require(e.ref < states->fields.size(), "no field {}", e.ref);
    require(e.scalar == states->fields[e.ref].scalar, "a state has the wrong class");
    require(e.operands.size() == states->fields[e.ref].axes.size(), "a state has {} places",
            e.operands.size());
  }

  void check_read(ExprId id) {
    const Expr& e = s_[id];
    require(valid(TensorId(e.ref)), "a read of no tensor");
    const Tensor& tensor = graph_[TensorId(e.ref)];
    require(defined_[e.ref], "`{}` is read before it is defined", tensor.name);
    require(!replaced_[e.ref], "`{}` is read after an output was stored over it", tensor.name);
    require(places_of(e).size() == tensor.shape.size(),
            "`{}` has rank {} and is read with {} places", tensor.name, tensor.shape.size(),
            places_of(e).size());
    require(e.scalar == scalar_of(tensor.type), "`{}` is read with the wrong class", tensor.name);
    for (ExprId place : places_of(e))
      require(s_[place].scalar == Scalar::integer, "a place of `{}` is not an integer: {}",
              tensor.name, place);
    require(!e.guarded || s_[e.operands.back()].scalar == e.scalar,
            "the else value of `{}` has the wrong class", tensor.name);
  }

  bool takes(OperandClass wanted, Scalar scalar) const {
    switch (wanted) {
    case OperandClass::any:
    case OperandClass::same: return true;
    case OperandClass::num: return scalar != Scalar::boolean;
    case OperandClass::real: return scalar == Scalar::real;
    case OperandClass::integer: return scalar == Scalar::integer;
    case OperandClass::boolean: return scalar == Scalar::boolean;
    }
    return false;
  }

  void check_op(ExprId id) {
    const Expr& e = s_[id];
    const OpInfo& row = info(e.op);
    auto scalar = [&](size_t k) { return s_[e.operands[k]].scalar; };
    require(row.arity < 0 || e.operands.size() == static_cast<size_t>(row.arity),
            "`{}` with {} operands", row.name, e.operands.size());
    for (size_t k = 0; k < e.operands.size() && e.op != Op::fold; ++k)
      require(takes(row.operands, scalar(k)), "operand {} of `{}` has the wrong class: {}", k,
              row.name, id);
    if (row.arity == 2) require(scalar(0) == scalar(1), "`{}` mixes classes: {}", row.name, id);
    if (e.op == Op::select)
      require(scalar(0) == Scalar::boolean && scalar(1) == scalar(2) && scalar(1) == e.scalar,
              "a choice mixes classes: {}", id);
    if (e.op == Op::dim) require(e.ref < graph_.dims.size(), "no dim {}", e.ref);
    if (e.op != Op::fold) return;
    require(e.ref < graph_.monoids.size(), "no monoid {}", e.ref);
    const Monoid& monoid = graph_.monoids[e.ref];
    require(monoid.fields.size() == 1 && monoid.fields[0].scalar == scalar(0) &&
                e.scalar == scalar(0),
            "a fold's body does not match `{}`", monoid.name);
    require(scalar(1) == Scalar::boolean && e.operands.size() == 2 + e.bound.size(),
            "a fold is malformed");
    for (size_t k = 2; k < e.operands.size(); ++k) check_extent(e.operands[k]);
  }

  void check_node(const Node& node) {
    auto defines = defines_of(node);
    require(!defines.empty(), "a node defines nothing");
    where_ = fmt::format("node of {}", name(defines.front()));
    // Nesting of recurrences is bounded by the parser's nesting limit.
    std::visit(Overload{[&](const Comprehension& c) { check(c); },
                        [&](const Recur& r) { check(r); }, [&](const Gradient& g) { check(g); }},
               node.definition);
  }

  void define(TensorId id) {
    require(valid(id), "a definition of no tensor");
    require(!defined_[id.value], "{} is defined twice", id);
    defined_[id.value] = true;
  }

  void check(const Comprehension& c) {
    Scope points;
    bind(points, c.points);
    for (const Axis& axis : c.points)
      require(!axis.lo && !axis.hi, "point index `{}` has bounds", axis.name);
    const Monoid* monoid = nullptr;
    if (c.reduction) monoid = check_reduction(c, points);
    if (c.scan) {
      require(c.reduction && c.reduction->axes.empty(), "a scan has reduce indices");
      require(c.scan->axis < c.points.size(), "a scan has no axis");
    }
    require(!c.results.empty(), "a node has no result");
    for (const Result& result : c.results) {
      require(valid(result.tensor), "a result has no tensor");
      Scope scope = points;
      bind(scope, result.extra);
      const Tensor& tensor = graph_[result.tensor];
      require(static_cast<bool>(result.value), "a result has no value");
      check_root(result.value, scalar_of(tensor.type), scope, monoid);
      require(tensor.kind == TensorKind::intermediate || tensor.kind == TensorKind::output,
              "{} is no result", result.tensor);
      check_shape(c, result);
    }
    for (const UnprovedRead& open : unproved_reads(graph_, c, around_))
      require(idle_ > 0, "place {} of {} may leave the tensor", open.place,
              to_text(graph_, c, open.read));
    for (const Result& result : c.results) check_in_place(c, result);
    for (const Result& result : c.results) define(result.tensor);
  }

  /// What is stored over an input may read it at the point that is written, and nobody may later.
  void check_in_place(const Comprehension& c, const Result& result) {
    TensorId over = graph_[result.tensor].over;
    if (!over) return;
    std::vector<ExprId> roots;
    for (const Result& each : c.results) roots.push_back(each.value);
    if (c.reduction) roots.insert(roots.end(), c.reduction->body.begin(), c.reduction->body.end());
    if (c.reduction && c.reduction->filter) roots.push_back(c.reduction->filter);
    for (ExprId id : reachable(s_, roots)) {
      const Expr& e = s_[id];
      if (e.op != Op::read || TensorId(e.ref) != over) continue;
      for (size_t k = 0; k < places_of(e).size(); ++k)
        require(k < c.points.size() && s_[e.operands[k]].op == Op::index &&
                    IndexId(s_[e.operands[k]].ref) == c.points[k].index,
                "{} is stored over {} and reads it at other points", result.tensor, over);
    }
    replaced_[over.value] = true;
  }

  const Monoid* check_reduction(const Comprehension& c, const Scope& points) {
    const Reduction& r = *c.reduction;
    require(r.monoid && r.monoid.value < graph_.monoids.size(), "no monoid");
    const Monoid& monoid = graph_[r.monoid];
    Scope scope = points;
    bind(scope, r.axes);
    if (r.filter) check_root(r.filter, Scalar::boolean, scope, nullptr);
    require(r.body.size() == monoid.fields.size(), "{} bodies for {} fields", r.body.size(),
            monoid.fields.size());
    bool listed = monoid.form == Monoid::Form::topk;
    for (size_t f = 0; f < r.body.size(); ++f) {
      Scope inner = scope;
      size_t indices = f < r.field_axes.size() ? r.field_axes[f].size() : 0;
      require(listed || indices == monoid.fields[f].axes.size(), "field {} has {} indices", f,
              indices);
      if (indices > 0) bind(inner, r.field_axes[f]);
      check_root(r.body[f], monoid.fields[f].scalar, inner, nullptr);
    }
    return &monoid;
  }

  void check_shape(const Comprehension& c, const Result& result) {
    std::vector<Axis> axes = c.points;
    axes.insert(axes.end(), result.extra.begin(), result.extra.end());
    const Tensor& tensor = graph_[result.tensor];
    require(axes.size() == tensor.shape.size(), "{} has rank {} and {} indices", result.tensor,
            tensor.shape.size(), axes.size());
    for (size_t k = 0; k < axes.size(); ++k)
      require(axes[k].extent == tensor.shape[k] ||
                  polynomial_of(s_, axes[k].extent) == polynomial_of(s_, tensor.shape[k]),
              "extent {} of {} is {} in its shape and {} in its node", k, result.tensor,
              tensor.shape[k], axes[k].extent);
  }

  void check(const Recur& r) {
    check_extent(r.time.extent);
    define(r.step);
    require(graph_[r.step].shape.empty(), "the step of a recurrence has a rank");
    require(graph_[r.step].is_step, "the step of a recurrence is not known as one");
    for (const Carry& carry : r.carries) {
      require(valid(carry.init) && defined_[carry.init.value], "a carried tensor starts undefined");
      require(!replaced_[carry.init.value], "a carried tensor starts replaced");
      define(carry.current);
    }
    std::string outer = where_;
    // Without a step nothing in the body is read, so it need not be proved.
    bool idle = Prover(graph_).range(r.time.extent).hi <= 0;
    idle_ += idle;
    around_.push_back(r.time);
    for (const Node& node : r.body) check_node(node);
    around_.pop_back();
    idle_ -= idle;
    where_ = outer;
    for (const Carry& carry : r.carries) {
      require(valid(carry.next) && defined_[carry.next.value],
              "a carried tensor has no next value");
      for (TensorId id : {carry.current, carry.next, carry.last})
        require(valid(id) && graph_[id].shape.size() == graph_[carry.init].shape.size(),
                "a carried tensor changes its rank");
    }
    for (const Collect& collect : r.collects) {
      require(valid(collect.value) && defined_[collect.value.value],
              "a collected tensor is undefined");
      require(valid(collect.stacked) &&
                  graph_[collect.stacked].shape.size() == graph_[collect.value].shape.size() + 1,
              "a collected tensor has the wrong rank");
      define(collect.stacked);
    }
    for (const Carry& carry : r.carries) define(carry.last);
  }

  /// A tensor that a gradient names, before its line.
  void check_differentiable(TensorId id) {
    require(valid(id) && defined_[id.value], "a gradient names what is not defined");
    require(scalar_of(graph_[id].type) == Scalar::real, "a gradient names {}, which is not real",
            id);
  }

  void check_same_shape(TensorId a, TensorId b) {
    const auto &x = graph_[a].shape, &y = graph_[b].shape;
    bool same = std::equal(x.begin(), x.end(), y.begin(), y.end(), [&](ExprId p, ExprId q) {
      return p == q || polynomial_of(s_, p) == polynomial_of(s_, q);
    });
    require(same, "{} and {} differ in shape", a, b);
  }

  void check(const Gradient& g) {
    require(around_.empty(), "a gradient stands in a recurrence");
    check_differentiable(g.of);
    require(g.cotangent || graph_[g.of].shape.empty(), "{} needs a cotangent", g.of);
    if (g.cotangent) check_differentiable(g.cotangent), check_same_shape(g.of, g.cotangent);
    for (const GradientPair& pair : g.pairs) {
      check_differentiable(pair.wrt);
      define(pair.result);
      check_differentiable(pair.result), check_same_shape(pair.wrt, pair.result);
    }
  }

  const Graph& graph_;
  const ExprStore& s_;
  std::string_view stage_;
  std::string where_ = "graph";
  std::vector<char> defined_;
  int idle_ = 0;               ///< recurrences around that take no step
  std::vector<Axis> around_;   ///< time axes of the recurrences around the node
  std::vector<char> replaced_; ///< inputs that an output was stored over
  std::unordered_set<ExprId> checked_;
};

} // namespace

void verify(const Graph& graph, std::string_view stage) {
  Verifier(graph, stage).run();
}

} // namespace tang::graph

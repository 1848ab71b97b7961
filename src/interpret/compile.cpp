// The frame of a node: loops over points, the reduction inside them, and the results.
#include "interpret/compile.h"
#include "base/check.h"
#include "graph/interval.h"
#include "interpret/builder.h"
#include "interpret/extents.h"
#include <algorithm>

namespace tang::interpret {

Program compile(const Graph& graph, const Comprehension& node, Span span,
                const CompileOptions& options) {
  return Builder(graph, options).node(node, span);
}

Builder::Builder(const Graph& graph, const CompileOptions& options)
    : graph_(graph), exprs_(graph.exprs), options_(options) {
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const graph::Tensor& tensor = graph.tensors[t];
    Readable readable;
    readable.shape = (*options.shapes)[t];
    // Only stored integers are known to fit their format; intermediates are exact.
    bool given = tensor.kind != graph::TensorKind::intermediate;
    if (graph::scalar_of(tensor.type) != Scalar::real &&
        (given || tensor.type == ElemType::boolean))
      readable.range = graph::range_of(tensor.type);
    bool input = tensor.kind == graph::TensorKind::input || tensor.kind == graph::TensorKind::param;
    if (input && tensor.range)
      readable.range = graph::interval::meet(readable.range, *tensor.range);
    tensors_.push_back(std::move(readable));
  }
}

namespace {

/// Every axis of a node, with the indices of its folds.
template <class F>
void for_each_axis(const Comprehension& node, F&& visit) {
  auto all = [&](const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) visit(axis.index, axis.extent);
  };
  all(node.points);
  if (node.reduction) {
    all(node.reduction->axes);
    for (const auto& axes : node.reduction->field_axes) all(axes);
  }
  for (const graph::Result& result : node.results) all(result.extra);
}

} // namespace

std::unique_ptr<Facts> Builder::node_facts() {
  auto all = graph::roots(*node_);
  Facts::Context context{graph_, options_.dims, {}, {}};
  auto add = [&](IndexId index, ExprId extent) {
    int64_t value = extent_value(exprs_, extent, options_.dims).value_or(INT64_C(1) << 40);
    auto& range = context.indices.try_emplace(index, graph::IntRange{0, 0}).first->second;
    range.hi = std::max(range.hi, value - 1);
  };
  for_each_axis(*node_, add);
  for (ExprId id : graph::reachable(exprs_, all))
    for (size_t n = 0; n < exprs_[id].bound.size(); ++n)
      add(exprs_[id].bound[n], exprs_[id].operands[n + 2]);
  context.readable = [&](const Expr& e) -> const Readable& {
    return e.op == Op::read ? tensors_[e.ref] : reducer_.acc.at(e.ref).readable;
  };
  return std::make_unique<Facts>(context, all);
}

std::optional<ElemType> Builder::accumulator_of(Scalar scalar) const {
  if (!options_.emulate) return std::nullopt;
  std::optional<ElemType> given;
  for (const graph::Result& result : node_->results)
    if (!given) given = graph_[result.tensor].accumulate;
  if (given && graph::scalar_of(*given) == scalar) return given;
  return scalar == Scalar::real ? std::optional(options_.compute) : std::nullopt;
}

/// A loop over an axis inside `region`; returns the region of its body.
uint32_t Builder::axis_loop(const Axis& axis, uint32_t unit, uint32_t region, Loop& loop) {
  auto extent = extent_value(exprs_, axis.extent, options_.dims);
  TANG_CHECK(extent, "the extent of `{}` is not known", axis.name);
  loop.region = new_region(region, true);
  loop.reg = new_register();
  loop.lo = constant(word(int64_t{0})), loop.hi = constant(word(*extent));
  units_[unit].indices[axis.index] = {loop.reg, loop.region};
  return loop.region;
}

std::vector<Loop> Builder::axis_loops(const std::vector<Axis>& axes, uint32_t unit,
                                      uint32_t region) {
  std::vector<Loop> loops(axes.size());
  for (size_t n = 0; n < axes.size(); ++n) region = axis_loop(axes[n], unit, region, loops[n]);
  return loops;
}

namespace {

uint32_t innermost(const std::vector<Loop>& loops, uint32_t outside) {
  return loops.empty() ? outside : loops.back().region;
}

} // namespace

/// Regions and uses of the reduction, inside the points. `outside` is where a scan starts.
void Builder::declare_reduction(const graph::Reduction& reduction, uint32_t outside) {
  place_init(reducer_, node_->scan ? outside : point_region_);
  for (const Axis& axis : node_->points)
    for (ExprId bound : {axis.lo, axis.hi})
      if (bound) use(bound, 0, point_region_);
  uint32_t inner = reduce_region_ = new_region(point_region_, false);
  for (const Axis& axis : reduction.axes) {
    for (ExprId bound : {axis.lo, axis.hi})
      if (bound) use(bound, 0, inner);
    reduce_.emplace_back();
    inner = axis_loop(axis, 0, inner, reduce_.back());
  }
  if (reduction.filter) use(reduction.filter, 0, inner);
  body_region_ = new_region(inner, false);
  for (size_t f = 0; f < reduction.body.size(); ++f) {
    element_units_.push_back(new_unit(0, 0));
    const auto& axes =
        f < reduction.field_axes.size() ? reduction.field_axes[f] : std::vector<Axis>{};
    element_loops_.push_back(axis_loops(axes, element_units_[f], body_region_));
    use(reduction.body[f], element_units_[f], innermost(element_loops_[f], body_region_));
    if (axes.empty() && !reducer_.element[f].indexed)
      reducer_.element[f].reg = register_of(reduction.body[f], element_units_[f]);
  }
  if (reducer_.monoid->form == Monoid::Form::expressions) place_combine(reducer_, body_region_);
}

void Builder::declare_results() {
  post_region_ = new_region(point_region_, true);
  post_unit_ = new_unit(0, post_region_);
  if (node_->reduction) units_[post_unit_].acc = &reducer_.acc;
  for (const graph::Result& result : node_->results) {
    uint32_t unit = new_unit(post_unit_, post_region_);
    result_units_.push_back(unit);
    result_loops_.push_back(axis_loops(result.extra, unit, post_region_));
    use(result.value, unit, innermost(result_loops_.back(), post_region_));
    Affine form;
    std::vector<IndexId> at;
    for (const Axis& axis : node_->points) at.push_back(axis.index);
    for (const Axis& axis : result.extra) at.push_back(axis.index);
    const std::vector<int64_t>& shape = (*options_.shapes)[result.tensor.value];
    TANG_CHECK(at.size() == shape.size(), "`{}` has rank {}, its node {}",
               graph_[result.tensor].name, shape.size(), at.size());
    int64_t stride = 1;
    for (size_t n = at.size(); n-- > 0; stride *= shape[n]) {
      Affine one{0, {{at[n], 1}}, {}};
      // The form only grows too long for tensors of a rank beyond any real one.
      auto sum = combine(form, one, stride);
      TANG_CHECK(sum, "`{}` has too many dimensions", graph_[result.tensor].name);
      form = std::move(*sum);
    }
    Access access;
    access.buffer = tensor_buffer(result.tensor);
    affine_access(std::move(form), unit, access);
    result_access_.push_back(access);
  }
}

/// A factor of a product under a sum is rounded to the narrow format in which the other is stored.
void Builder::operand_rule(const graph::Reduction& reduction) {
  const Monoid& monoid = *reducer_.monoid;
  if (!options_.emulate || !options_.operand_rule || monoid.combine.size() != 1) return;
  const Expr &sum = exprs_[monoid.combine[0]], &product = exprs_[reduction.body[0]];
  bool adds = sum.op == Op::add && sum.scalar == Scalar::real &&
              exprs_[sum.operands[0]].op == Op::lhs && exprs_[sum.operands[1]].op == Op::rhs;
  if (!adds || product.op != Op::mul) return;
  auto narrow = [&](ExprId id) -> std::optional<ElemType> {
    const Expr& e = exprs_[id];
    if (e.op != Op::read) return std::nullopt;
    const graph::Tensor& tensor = graph_.tensors[e.ref];
    bool stored = tensor.kind != graph::TensorKind::intermediate || tensor.store_given;
    bool is_narrow =
        graph::scalar_of(tensor.type) == Scalar::real && graph::info(tensor.type).bits <= 16;
    return stored && is_narrow ? std::optional(tensor.type) : std::nullopt;
  };
  // With more than two factors the product's own two operands are the groups.
  auto format_in = [&](ExprId root) {
    std::optional<ElemType> found;
    std::vector<ExprId> stack{root};
    while (!stack.empty() && !found) {
      ExprId id = stack.back();
      stack.pop_back();
      found = narrow(id);
      if (exprs_[id].op == Op::mul)
        for (ExprId operand : exprs_[id].operands) stack.push_back(operand);
    }
    return found;
  };
  ExprId a = product.operands[0], b = product.operands[1];
  operand_formats_[reduction.body[0]] = {narrow(a) ? std::nullopt : format_in(b),
                                         narrow(b) ? std::nullopt : format_in(a)};
}

/// The pieces of a product's factors, where a node of `split_products` sums it.
const graph::Pieces* Builder::pieces_of(ExprId body) const {
  if (!options_.emulate || !options_.split_products || !node_->reduction ||
      node_->reduction->body[0] != body)
    return nullptr;
  auto found = options_.split_products->find(node_->results[0].tensor);
  return found == options_.split_products->end() ? nullptr : found->second;
}

Program Builder::node(const Comprehension& node, Span span) {
  node_ = &node;
  program_.span = span;
  new_region(none, true);
  new_unit(none, 0);
  if (node.reduction) {
    reducer_ = new_reducer(graph_[node.reduction->monoid]);
    operand_rule(*node.reduction);
  }
  facts_ = node_facts();
  units_[0].facts = facts_.get();
  // The axis of a scan is the innermost loop: the other points each have their own state.
  std::vector<Axis> points = node.points;
  if (node.scan) {
    auto axis = points.begin() + node.scan->axis;
    std::rotate(axis, axis + 1, points.end());
  }
  points_ = axis_loops(points, 0, 0);
  point_region_ = innermost(points_, 0);
  if (node.scan) points_.back().down = node.scan->descending;
  if (node.reduction)
    declare_reduction(*node.reduction, points_.size() > 1 ? points_[points_.size() - 2].region : 0);
  declare_results();
  place_all();
  then([this] { emit(Instruction{}); });
  then([this] { emit_points(); });
  drain();
  emit_thunks();
  drain();
  for (auto [at, key] : calls_) program_.code[at].target = instances_.at(key).entry;
  return std::move(program_);
}

void Builder::emit_points() {
  bool exclusive = node_->scan && node_->scan->exclusive;
  auto inside = [=, this] {
    std::vector<Step> steps;
    if (node_->reduction && !node_->scan) steps.push_back([this] { emit_init(reducer_); });
    if (exclusive) steps.push_back([this] { emit_results(); });
    if (node_->reduction) steps.push_back([this] { emit_reduction(); });
    if (!exclusive) steps.push_back([this] { emit_results(); });
    sequence(std::move(steps));
  };
  if (!node_->scan) {
    sequence({[this] { items(0, 0); }, [=, this] { nest(points_, 0, inside); }});
    return;
  }
  std::vector<Loop> outer(points_.begin(), points_.end() - 1);
  auto scan = [=, this] {
    sequence({[this] { emit_init(reducer_); }, [=, this] { nest({points_.back()}, 0, inside); }});
  };
  sequence({[this] { items(0, 0); }, [=, this] { nest(outer, 0, scan); }});
}

/// A jump, to be patched by `land`, where comparison `op` of two registers is false.
void Builder::skip_unless(Op op, uint32_t a, uint32_t b) {
  Instruction test;
  test.code = Code::integer_compare, test.op = op;
  test.d = new_register(), test.a = a, test.b = b;
  emit(test);
  skip_if_false(test.d);
}

void Builder::skip_if_false(uint32_t condition) {
  Instruction jump;
  jump.code = Code::jump_if_false, jump.a = condition;
  skips_.push_back(emit(jump));
}

/// The tighter of a loop's own bound and a given one.
uint32_t Builder::clamped(Op op, uint32_t own, ExprId bound) {
  if (!bound) return own;
  Instruction i;
  i.code = Code::integer_binary, i.op = op;
  i.d = new_register(), i.a = own, i.b = operand(bound, 0);
  emit(i);
  return i.d;
}

void Builder::emit_reduction() {
  skips_.clear();
  for (const Axis& axis : node_->points) {
    uint32_t at = binding(axis.index, 0).reg;
    if (axis.lo) skip_unless(Op::le, operand(axis.lo, 0), at);
    if (axis.hi) skip_unless(Op::lt, at, operand(axis.hi, 0));
  }
  sequence({[this] { items(reduce_region_, 0); }, [this] { emit_reduce_loop(0); },
            [this] {
              for (uint32_t skip : skips_) patch(skip);
            }});
}

void Builder::emit_reduce_loop(size_t level) {
  const graph::Reduction& reduction = *node_->reduction;
  if (level < reduce_.size()) {
    const Axis& axis = reduction.axes[level];
    Loop loop = reduce_[level];
    loop.lo = clamped(Op::max, loop.lo, axis.lo);
    loop.hi = clamped(Op::min, loop.hi, axis.hi);
    nest({loop}, 0, [=, this] { emit_reduce_loop(level + 1); });
    return;
  }
  uint32_t skip = none;
  if (reduction.filter) {
    Instruction jump;
    jump.code = Code::jump_if_false, jump.a = operand(reduction.filter, 0);
    skip = emit(jump);
  }
  sequence({[this] { items(body_region_, 0); }, [this] { emit_elements(); },
            [this] {
              if (reducer_.monoid->form == Monoid::Form::expressions) emit_combine(reducer_);
            },
            [=, this] {
              if (skip != none) patch(skip);
            }});
}

void Builder::emit_elements() {
  const graph::Reduction& reduction = *node_->reduction;
  if (reducer_.monoid->form == Monoid::Form::topk) {
    Instruction push;
    push.code = Code::push_top;
    push.flag = reducer_.monoid->fields[0].scalar == Scalar::real;
    push.a = operand(reduction.body[0], element_units_[0]);
    push.b = operand(reduction.body[1], element_units_[1]);
    push.c = reducer_.acc[0].buffer, push.imm = reducer_.monoid->k;
    emit(push);
    return;
  }
  std::vector<Step> steps;
  for (size_t f = 0; f < reduction.body.size(); ++f)
    steps.push_back([=, this] {
      nest(element_loops_[f], 0, [=, this] {
        uint32_t value = operand(node_->reduction->body[f], element_units_[f]);
        if (reducer_.element[f].indexed) set_state(reducer_.element[f], element_loops_[f], value);
      });
    });
  sequence(std::move(steps));
}

void Builder::emit_results() {
  std::vector<Step> steps{[this] { items(post_region_, 0); }};
  for (size_t n = 0; n < node_->results.size(); ++n)
    steps.push_back([=, this] { nest(result_loops_[n], 0, [=, this] { emit_store(n); }); });
  sequence(std::move(steps));
}

void Builder::emit_store(size_t n) {
  const graph::Result& result = node_->results[n];
  const graph::Tensor& tensor = graph_[result.tensor];
  const Access& access = result_access_[n];
  Instruction store;
  store.code = Code::store, store.a = access.base;
  store.b = operand(result.value, result_units_[n]), store.c = access.buffer;
  if (access.last != none) {
    Instruction at;
    at.code = Code::multiply_add, at.d = new_register();
    at.a = access.base, at.b = access.last, at.imm = access.factor;
    emit(at);
    store.a = at.d;
  }
  bool output = tensor.kind == graph::TensorKind::output;
  if (output && options_.keep_unrounded) {
    Instruction whole = store;
    whole.c = tensor_buffer(
        graph::TensorId(result.tensor.value + static_cast<uint32_t>(graph_.tensors.size())));
    emit(whole);
  }
  store.b = stored(store.b, tensor);
  emit(store);
}

/// A value as its tensor keeps it: an output in its format; with `emulate` also intermediates.
uint32_t Builder::stored(uint32_t value, const graph::Tensor& tensor) {
  bool output = tensor.kind == graph::TensorKind::output;
  bool chosen = output || (options_.emulate && tensor.store_given);
  if (graph::scalar_of(tensor.type) == Scalar::real) {
    if (chosen) return rounded(value, tensor.type);
    return options_.emulate ? rounded(value, options_.compute) : value;
  }
  if (!chosen || tensor.type == ElemType::boolean) return value;
  Instruction i;
  i.code = Code::integer_to_integer, i.type = tensor.type;
  i.d = new_register(), i.a = value;
  emit(i);
  return i.d;
}

} // namespace tang::interpret

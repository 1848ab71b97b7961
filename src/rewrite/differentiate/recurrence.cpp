// Recurrences: the gradient goes through the steps in reverse.
//
//   h_{t+1} = f(h_t, x_t, w)   =>   dh_t = (df / dh)^T dh_{t+1},  dx_t and dw likewise
//
// Each step computes its values again from the state before it, which the forward recurrence
// collects, then hands on adjoints as any list of nodes does. What a tensor receives through reads
// at the step's own place is collected; everything else is summed in a carried tensor.
#include "base/check.h"
#include "graph/reads.h"
#include "graph/recur.h"
#include "rewrite/differentiate/block.h"
#include "rewrite/differentiate/body_copy.h"
#include <algorithm>
#include <fmt/format.h>

namespace tang::rewrite {
using namespace graph;

/// The stacked values of what a body computes; a further collect where there is none.
TensorId Block::history(Recur& r, TensorId value) {
  for (const Collect& collect : r.collects)
    if (collect.value == value) return collect.stacked;
  TensorId stacked = maker_.like(graph_[value].name + "_steps", value);
  graph_[stacked].shape.insert(graph_[stacked].shape.begin(), r.time.extent);
  r.collects.push_back({value, stacked});
  return stacked;
}

/// A carried tensor before the step `now`: what the step before made, or the start.
TensorId Block::state_at(std::vector<Node>& nodes, Recur& r, const Carry& carry, ExprId now) {
  TensorId steps = history(r, carry.next);
  Comprehension c;
  c.points = axes_of(graph_, carry.current);
  std::vector<ExprId> places = indices_of(s_, c.points);
  ExprId start = read_at(graph_, carry.init, places);
  places.insert(places.begin(), canonical(s_, s_.binary(Op::sub, now, s_.integer(1))));
  c.results.push_back(
      {maker_.like(graph_[carry.current].name, carry.current),
       s_.select(s_.binary(Op::eq, now, s_.integer(0)), start, read_at(graph_, steps, places)),
       {}});
  return maker_.add(nodes, std::move(c), "", "differentiate: the state before the step");
}

/// A tensor that holds an adjoint.
TensorId Block::as_tensor(const Adjoint& adjoint, TensorId model) {
  std::vector<Axis> axes = axes_of(graph_, model);
  const Expr& e = s_[adjoint.value];
  if (e.op == Op::read && !e.guarded && std::ranges::equal(e.operands, indices_of(s_, axes)))
    return TensorId(e.ref);
  Comprehension c;
  c.points = std::move(axes);
  c.results.push_back({{}, adjoint.value, {}});
  return maker_.add(made_, std::move(c), "d" + graph_[model].name,
                    fmt::format("differentiate: the gradient by `{}`", graph_[model].name));
}

/// A recurrence over the same steps, backwards, and the step at which it is.
Recur Block::reversed_steps(const Axis& time, ExprId& now) {
  Recur back;
  back.time = Axis{IndexId(0), time.extent, time.name, {}, {}};
  Tensor step = step_tensor(graph_, maker_.unique(time.name), time.extent);
  step.span = maker_.span;
  back.step = graph_.add(std::move(step));
  ExprId last = s_.binary(Op::sub, time.extent, s_.integer(1));
  now = canonical(s_, s_.binary(Op::sub, last, read_at(graph_, back.step, {})));
  return back;
}

/// A tensor of zeros.
TensorId Block::zeros(const std::string& wish, TensorId model) {
  Comprehension c;
  c.points = axes_of(graph_, model);
  c.results.push_back({maker_.like(wish, model), s_.real(0), {}});
  return maker_.add(made_, std::move(c), "", "differentiate: nothing yet");
}

void Block::visit(Recur& r) {
  // What is known of the values after the last step, and of those of each step.
  std::vector<std::optional<Adjoint>> last, stacked;
  bool any = false;
  auto finish = [&](TensorId id) {
    auto adjoint = is_active(id) ? adjoints_.finish(id) : std::nullopt;
    any |= adjoint.has_value();
    return adjoint;
  };
  for (const Carry& carry : r.carries) last.push_back(finish(carry.last));
  for (const Collect& collect : r.collects) stacked.push_back(finish(collect.stacked));
  if (!any) return;

  ExprId now;
  Recur back = reversed_steps(r.time, now);
  TensorSet outside = active_;
  BodyCopy copy(graph_, maker_, r, now, outside);
  std::vector<Node> forward, made;
  TensorSet read;
  for (const Node& node : r.body)
    for (TensorId id : reads_of(graph_, node)) read.insert(id);
  for (const Carry& carry : r.carries)
    if (read.contains(carry.current))
      copy.rename(carry.current, state_at(back.body, r, carry, now));
  for (const Node& node : r.body) forward.push_back(copy.copy(node));
  TensorSet active, inside;
  for (const Slice& slice : copy.slices()) active.insert(slice.tensor), inside.insert(slice.tensor);
  for (TensorId id : active_) {
    active.insert(copy.name(id));
    if (copy.name(id) != id) inside.insert(copy.name(id));
  }

  Block step(graph_, maker_, made, std::move(active));
  for (size_t k = 0; k < r.collects.size() && k < stacked.size(); ++k) {
    if (!stacked[k]) continue;
    std::unordered_map<IndexId, ExprId> at{{IndexId(0), now}};
    for (uint32_t n = 1; n < graph_[r.collects[k].stacked].shape.size(); ++n)
      at[IndexId(n)] = s_.index(IndexId(n - 1));
    step.adjoints().set(copy.name(r.collects[k].value), {substitute(s_, stacked[k]->value, at),
                                                         substitute(s_, stacked[k]->where, at)});
  }
  std::vector<size_t> carried;
  for (size_t k = 0; k < r.carries.size(); ++k) {
    const Carry& carry = r.carries[k];
    if (!is_active(carry.current)) continue;
    carried.push_back(k);
    std::string name = "d" + graph_[carry.current].name;
    Carry adjoint;
    adjoint.init = last[k] ? as_tensor(*last[k], carry.current) : zeros(name, carry.current);
    adjoint.current = maker_.like(name, carry.current);
    adjoint.next = maker_.like(name, carry.current);
    adjoint.last = maker_.like(name, carry.current);
    ExprId value = read_at(graph_, adjoint.current, indices_of(s_, axes_of(graph_, carry.current)));
    step.adjoints().set(copy.name(carry.next), {value, {}});
    back.carries.push_back(adjoint);
  }
  for (size_t n = forward.size(); n-- > 0;) step.visit(forward[n]);
  for (size_t n = 0; n < carried.size(); ++n)
    step.adjoints().finish_in(copy.name(r.carries[carried[n]].current), back.carries[n].next);

  // Outside tensors: slices are collected, the others summed.
  std::vector<std::pair<Slice, TensorId>> cut;
  auto received = step.adjoints().received();
  for (const Slice& slice : copy.slices()) {
    if (!std::binary_search(received.begin(), received.end(), slice.tensor)) continue;
    TensorId value = maker_.like("d" + graph_[slice.tensor].name, slice.tensor);
    step.adjoints().finish(slice.tensor, value);
    TensorId steps = maker_.like(graph_[value].name + "_steps", value);
    graph_[steps].shape.insert(graph_[steps].shape.begin(), r.time.extent);
    back.collects.push_back({value, steps});
    cut.emplace_back(slice, steps);
  }
  std::vector<std::pair<TensorId, TensorId>> summed;
  for (TensorId id : received) {
    if (inside.contains(id)) continue;
    Adjoint adjoint = *step.adjoints().finish(id);
    std::string name = "d" + graph_[id].name;
    Carry sum{zeros(name, id), maker_.like(name, id), maker_.like(name, id), maker_.like(name, id)};
    Comprehension c;
    c.points = axes_of(graph_, id);
    c.results.push_back(
        {sum.next,
         plus(s_, read_at(graph_, sum.current, indices_of(s_, c.points)), adjoint.value),
         {}});
    maker_.add(made, std::move(c), "", "differentiate: the sum over the steps so far");
    back.carries.push_back(sum);
    summed.emplace_back(id, sum.last);
  }

  auto append = [&](std::vector<Node>& nodes) {
    for (Node& node : nodes) back.body.push_back(std::move(node));
  };
  append(copy.cuts()), append(forward), append(made);
  std::string name = graph_[defines_of({r, {}, {}}).front()].name;
  auto carries = back.carries;
  made_.push_back({std::move(back),
                   maker_.span,
                   {fmt::format("differentiate: the recurrence of `{}` in reverse", name)}});

  auto give = [&](TensorId tensor, TensorId adjoint) {
    if (!is_active(tensor)) return;
    Part part;
    part.value = read_at(graph_, adjoint, indices_of(s_, axes_of(graph_, tensor)));
    adjoints_.add(tensor, std::move(part), name);
  };
  for (size_t n = 0; n < carried.size(); ++n) give(r.carries[carried[n]].init, carries[n].last);
  for (auto [tensor, sum] : summed) give(tensor, sum);
  for (const auto& [slice, steps] : cut)
    adjoints_.add(slice.of, slice_part(slice, steps, r.time.extent), name);
}

/// What a tensor receives through its slices: at place q along the axis the step that read there.
Part Block::slice_part(const Slice& slice, TensorId steps, ExprId extent) {
  std::vector<Axis> axes = axes_of(graph_, slice.of);
  std::vector<ExprId> places = indices_of(s_, axes);
  ExprId t = s_.binary(Op::sub, places[slice.axis], slice.offset);
  if (slice.sign < 0) t = s_.unary(Op::neg, t);
  t = canonical(s_, t);
  places.erase(places.begin() + slice.axis);
  ExprId from_end = s_.binary(Op::sub, s_.binary(Op::sub, extent, s_.integer(1)), t);
  places.insert(places.begin(), canonical(s_, from_end));
  Part part;
  part.value = read_at(graph_, steps, places);
  Prover prover(graph_);
  prover.add_axes(axes);
  for (ExprId condition : {s_.binary(Op::le, s_.integer(0), t), s_.binary(Op::lt, t, extent)})
    if (!prover.holds(condition)) part.where = both(s_, part.where, condition);
  return part;
}

} // namespace tang::rewrite

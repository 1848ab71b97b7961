#include "rewrite/chunks.h"
#include "graph/polynomial.h"
#include "rewrite/blocks.h"
#include "rewrite/columns.h"
#include <fmt/format.h>

namespace tang::rewrite {
using namespace graph;

Chunks::Chunks(Graph& graph, TensorId like, std::string law, Span span)
    : graph_(graph), s_(graph.exprs), like_(like), law_(std::move(law)), name_(graph[like].name),
      span_(span) {}

void Chunks::set_time(const Axis& time, bool descending, uint32_t& next) {
  time_ = time, descending_ = descending;
  ExprId chunks = s_.binary(Op::add, time.extent, s_.integer(length - 1));
  chunks = s_.binary(Op::floordiv, canonical(s_, chunks), s_.integer(length));
  auto axis = [&](ExprId extent, const char* suffix) {
    return Axis{IndexId(next++), extent, time.name + suffix, {}, {}};
  };
  chunk = axis(chunks, "_chunk");
  step = axis(s_.integer(length), "_in");
  from = axis(s_.integer(length), "_from");
}

ExprId Chunks::times(ExprId x, ExprId y) {
  if (x == s_.real(1)) return y;
  return y == s_.real(1) ? x : s_.binary(Op::mul, x, y);
}

ExprId Chunks::place(const Axis& in) {
  ExprId before = s_.binary(Op::mul, s_.integer(length), at(chunk));
  return canonical(s_, s_.binary(Op::add, before, at(in)));
}

ExprId Chunks::from_end(ExprId t) {
  ExprId last = s_.binary(Op::sub, time_.extent, s_.integer(1));
  return canonical(s_, s_.binary(Op::sub, last, t));
}

ExprId Chunks::in_step(ExprId term, const Axis& in, ExprId neutral,
                       const std::vector<ExprId>& conditions) {
  ExprId before = place(in);
  std::unordered_map<IndexId, ExprId> places{{time_.index, passed(before)}};
  ExprId value = substitute(s_, term, places);
  for (auto c = conditions.rbegin(); c != conditions.rend(); ++c)
    value = s_.select(substitute(s_, *c, places), value, neutral);
  return s_.select(s_.binary(Op::lt, before, time_.extent), value, neutral);
}

std::unordered_map<IndexId, ExprId> Chunks::places_at(ExprId t) {
  ExprId before = passed(t);
  return {{chunk.index, s_.binary(Op::floordiv, before, s_.integer(length))},
          {step.index, s_.binary(Op::mod, before, s_.integer(length))}};
}

ExprId Chunks::read(TensorId tensor, const std::vector<Axis>& axes,
                    const std::vector<ExprId>& last) {
  std::vector<ExprId> places;
  for (const Axis& axis : axes) places.push_back(at(axis));
  places.insert(places.end(), last.begin(), last.end());
  return s_.read(tensor, Scalar::real, places);
}

TensorId Chunks::tensor(const std::vector<Axis>& points, const std::string& suffix) {
  TensorId id = tensor_over(graph_, like_, points, {});
  graph_[id].name = name_ + suffix;
  return id;
}

void Chunks::make(Comprehension c, std::string sentence) {
  std::vector<std::string> derivation{law_ + ": " + std::move(sentence)};
  made.push_back({settle(graph_, std::move(c)), span_, std::move(derivation)});
}

TensorId Chunks::make_map(const std::vector<Axis>& points, ExprId value, const std::string& suffix,
                          std::string sentence) {
  Comprehension c;
  c.points = points;
  TensorId result = tensor(points, suffix);
  c.results = {{result, value, {}}};
  make(std::move(c), std::move(sentence));
  return result;
}

TensorId Chunks::make_sum(const std::vector<Axis>& points, const std::vector<Axis>& axes,
                          ExprId filter, ExprId body, const std::string& suffix,
                          std::string sentence) {
  Comprehension c;
  c.points = points;
  c.reduction = Reduction{*graph_.builtin("sum", Scalar::real), axes, filter, {body}, {{}}};
  TensorId result = tensor(points, suffix);
  c.results = {{result, s_.state(Op::acc, 0, Scalar::real), {}}};
  make(std::move(c), std::move(sentence));
  return result;
}

TensorId Chunks::make_scan(const std::vector<Axis>& points, uint32_t axis, bool exclusive,
                           const AffineStep& step_of, const std::string& suffix,
                           std::string sentence) {
  Comprehension c;
  c.points = points;
  c.reduction = Reduction{};
  c.reduction->monoid = step_of.monoid, c.reduction->body = step_of.body;
  c.reduction->field_axes.resize(step_of.body.size());
  c.scan = Scan{axis, exclusive, false};
  TensorId result = tensor(points, suffix);
  auto field = static_cast<uint32_t>(step_of.body.size() - 1);
  c.results = {{result, s_.state(Op::acc, field, Scalar::real), {}}};
  make(std::move(c), std::move(sentence));
  return result;
}

void Chunks::make_decays(ExprId factor, std::vector<Axis> axes) {
  decayed_ = std::move(axes);
  if (!factor) return;
  MonoidId product = *graph_.builtin("prod", Scalar::real);
  ExprId unit = s_.real(1), here = in_step(factor, step, unit);
  std::vector<Axis> points = joined(decayed_, {chunk, step});
  auto last = static_cast<uint32_t>(points.size() - 1);
  since_start_ = make_scan(points, last, false, {product, {here}, false}, "_since_start",
                           fmt::format("the factors of `{}` from the start of a chunk", name_));
  ExprId later = s_.binary(Op::lt, at(from), at(step));
  since_step_ = make_scan(joined(decayed_, {chunk, from, step}), last + 1, false,
                          {product, {s_.select(later, here, unit)}, false}, "_since_step",
                          fmt::format("the factors of `{}` between steps of a chunk", name_));
}

ExprId Chunks::since_start(ExprId in) {
  return since_start_ ? read(since_start_, decayed_, {at(chunk), in}) : s_.real(1);
}

ExprId Chunks::since_step(ExprId first, ExprId in) {
  return since_step_ ? read(since_step_, decayed_, {at(chunk), first, in}) : s_.real(1);
}

std::vector<Axis> joined(std::vector<Axis> axes, const std::vector<Axis>& more) {
  axes.insert(axes.end(), more.begin(), more.end());
  return axes;
}

} // namespace tang::rewrite

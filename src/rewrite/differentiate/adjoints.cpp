#include "rewrite/differentiate/adjoints.h"
#include "graph/reads.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace tang::rewrite {
using namespace graph;

namespace {

/// A term that is larger is not made larger still, so that no kernel grows without bound.
constexpr uint32_t most = 256;
/// A condition that is handed on.
constexpr uint32_t small = 64;

/// The axes of `tensor`, called as in the first part that has names.
std::vector<Axis> named_axes(const Graph& graph, TensorId tensor, const std::vector<Part>& parts) {
  std::vector<Axis> axes = axes_of(graph, tensor);
  for (const Part& part : parts)
    for (size_t k = 0; k < part.names.size(); ++k)
      if (!part.names[k].empty() && axes[k].name == fmt::format("i{}", k))
        axes[k].name = part.names[k];
  return axes;
}

/// A part that reaches only elements with known places: stored without those places, it costs what
/// it reaches. So the gradient of weights stacked by layer costs no more than the layers.
struct AdjointSlice {
  std::unordered_map<IndexId, ExprId> known;
  ExprId inside; ///< the places are the known ones; empty: no place is
  ExprId rest;   ///< what else the part requires of the indices
};

AdjointSlice slice_of(ExprStore& s, ExprId condition, size_t rank) {
  AdjointSlice slice;
  if (!condition) return slice;
  for (auto [id, truth] : conjuncts(s, condition, true)) {
    ExprId term = as_term(s, id, truth);
    const Expr e = s[term];
    ExprId place, value;
    for (size_t k = 0; k < 2 && e.op == Op::eq; ++k) {
      const Expr &a = s[e.operands[k]], &b = s[e.operands[1 - k]];
      if (a.op == Op::index && a.ref < rank && b.free.empty() && !b.has_read &&
          !slice.known.contains(IndexId(a.ref)))
        place = e.operands[k], value = e.operands[1 - k];
    }
    (place ? slice.inside : slice.rest) = both(s, place ? slice.inside : slice.rest, term);
    if (place) slice.known[IndexId(s[place].ref)] = value;
  }
  return slice;
}

/// Everything that must hold, data last.
ExprId condition_of(ExprStore& s, ExprId where, ExprId data) {
  if (!where || !data) return where ? where : data;
  return s.logical_and(where, s.select(where, data, s.boolean(false)));
}

} // namespace

void Adjoints::add(TensorId tensor, Part part, const std::string& reader) {
  Entry& entry = entries_[tensor];
  // What counts under the same conditions is one term; the last few are looked at.
  constexpr size_t near = 8;
  size_t first = entry.parts.size() - std::min(entry.parts.size(), near);
  auto same = std::find_if(
      entry.parts.begin() + static_cast<ptrdiff_t>(first), entry.parts.end(), [&](const Part& p) {
        return p.sum.empty() && part.sum.empty() && p.where == part.where && p.gate == part.gate &&
               p.branch == part.branch && s_[p.value].tree_size + s_[part.value].tree_size < most;
      });
  if (same != entry.parts.end())
    same->value = plus(s_, same->value, part.value);
  else
    entry.parts.push_back(std::move(part));
  if (std::find(entry.readers.begin(), entry.readers.end(), reader) == entry.readers.end())
    entry.readers.push_back(reader);
}

void Adjoints::set(TensorId tensor, Adjoint adjoint) {
  Part part;
  part.value = adjoint.value, part.where = adjoint.where;
  add(tensor, std::move(part), graph_[tensor].name);
}

/// A literal, or a read whose places are the tensor's own: it costs nothing to look through.
bool Adjoints::is_view(ExprId term) const {
  const Expr& e = s_[term];
  if (e.op == Op::literal_real) return true;
  if (e.op != Op::read || e.guarded) return false;
  auto places = places_of(e);
  return std::none_of(places.begin(), places.end(),
                      [&](ExprId place) { return s_[place].has_read; });
}

/// The node that computes one part, at the places that are not known.
TensorId Adjoints::stored(TensorId tensor, const Part& part, TensorId result,
                          const std::string& why,
                          const std::unordered_map<IndexId, ExprId>& known) {
  Comprehension c;
  c.points = named_axes(graph_, tensor, {part});
  std::erase_if(c.points, [&](const Axis& axis) { return known.contains(axis.index); });
  std::string name = "d" + graph_[tensor].name;
  if (part.sum.empty()) {
    c.results.push_back({result, term_of(tensor, part), {}});
  } else {
    Reduction sum;
    sum.monoid = *graph_.builtin("sum", Scalar::real);
    sum.axes = part.sum;
    sum.filter = condition_of(s_, part.where, part.gate);
    sum.body = {where(s_, part.branch, part.value, s_.real(0))};
    sum.field_axes.resize(1);
    c.reduction = std::move(sum);
    c.results.push_back({result, s_.state(Op::acc, 0, Scalar::real), {}});
  }
  return maker_.add(nodes_, std::move(c), name, why);
}

/// The value of one part at each element; a sum gets a node of its own.
ExprId Adjoints::term_of(TensorId tensor, const Part& part) {
  if (part.sum.empty()) {
    ExprId data = both(s_, part.gate, part.branch);
    return where(s_, part.where, where(s_, data, part.value, s_.real(0)), s_.real(0));
  }
  std::string why =
      fmt::format("differentiate: a part of the gradient by `{}`", graph_[tensor].name);
  std::vector<Axis> axes = axes_of(graph_, tensor);
  AdjointSlice slice = slice_of(s_, part.where, axes.size());
  auto within = [&](ExprId term) { return substitute(s_, term, slice.known); };
  Part inside = part;
  inside.where = within(slice.rest), inside.gate = within(part.gate);
  inside.branch = within(part.branch), inside.value = within(part.value);
  TensorId id = stored(tensor, inside, {}, why, slice.known);
  std::erase_if(axes, [&](const Axis& axis) { return slice.known.contains(axis.index); });
  return where(s_, slice.inside, read_at(graph_, id, indices_of(s_, axes)), s_.real(0));
}

ExprId Adjoints::reached(TensorId tensor) {
  auto at = entries_.find(tensor);
  if (at == entries_.end()) return {};
  ExprId anywhere;
  for (const Part& part : at->second.parts) {
    ExprId condition = condition_of(s_, part.where, part.branch);
    if (!condition || !part.sum.empty()) return {};
    anywhere = anywhere ? s_.binary(Op::logical_or, anywhere, condition) : condition;
  }
  // Conditions of conditions would grow with the length of a chain.
  if (!anywhere || s_[anywhere].tree_size <= small) return anywhere;
  Comprehension c;
  c.points = axes_of(graph_, tensor);
  c.results.push_back({{}, anywhere, {}});
  const std::string& name = graph_[tensor].name;
  TensorId id = maker_.add(nodes_, std::move(c), name + "_reached",
                           fmt::format("differentiate: where anything reads `{}`", name));
  return read_at(graph_, id, indices_of(s_, axes_of(graph_, tensor)));
}

/// What every part requires of the indices.
ExprId Adjoints::common_condition(TensorId tensor, const Entry& entry) const {
  ExprId common = entry.parts[0].where;
  for (const Part& part : entry.parts)
    if (part.where != common) return {};
  if (!common || s_[common].tree_size > small) return {};
  // A condition on what is summed over says nothing about an element.
  const auto& free = s_[common].free;
  bool only_places = free.empty() || free.back().value < graph_[tensor].shape.size();
  return only_places ? common : ExprId();
}

TensorId Adjoints::stored(TensorId tensor, const Entry& entry, ExprId value, TensorId result) {
  constexpr size_t listed = 4;
  std::vector<std::string> from;
  for (size_t k = 0; k < std::min(listed, entry.readers.size()); ++k)
    from.push_back(fmt::format("`{}`", entry.readers[k]));
  std::string more = entry.readers.size() > listed
                         ? fmt::format(" and {} more", entry.readers.size() - listed)
                         : "";
  std::string why = fmt::format("differentiate: the gradient by `{}`, through {}{}",
                                graph_[tensor].name, fmt::join(from, ", "), more);
  if (!value) return stored(tensor, entry.parts[0], result, why);
  Comprehension c;
  c.points = named_axes(graph_, tensor, entry.parts);
  c.results.push_back({result, value, {}});
  return maker_.add(nodes_, std::move(c), "d" + graph_[tensor].name, why);
}

std::vector<TensorId> Adjoints::received() const {
  std::vector<TensorId> tensors;
  for (const auto& [tensor, entry] : entries_) tensors.push_back(tensor);
  std::sort(tensors.begin(), tensors.end());
  return tensors;
}

void Adjoints::finish_in(TensorId tensor, TensorId result) {
  if (finish(tensor, result)) return;
  Comprehension c;
  c.points = axes_of(graph_, result);
  c.results.push_back({result, s_.real(0), {}});
  maker_.add(nodes_, std::move(c), "",
             fmt::format("differentiate: nothing flows to `{}`", graph_[tensor].name));
}

std::optional<Adjoint> Adjoints::finish(TensorId tensor, TensorId result) {
  auto at = entries_.find(tensor);
  if (at == entries_.end()) return std::nullopt;
  Entry& entry = at->second;
  if (entry.whole) {
    if (result) stored(tensor, entry, entry.whole->value, result);
    return entry.whole;
  }
  Adjoint adjoint;
  adjoint.where = common_condition(tensor, entry);
  bool single = entry.parts.size() == 1;
  const Part& first = entry.parts[0];
  bool plain = single && first.sum.empty() && !first.where && !first.gate && !first.branch;
  if (plain && is_view(first.value) && !result) {
    adjoint.value = first.value;
  } else {
    ExprId value;
    for (size_t k = 0; k < entry.parts.size() && !(single && !first.sum.empty()); ++k) {
      if (value && s_[value].tree_size > most) {
        TensorId partial = stored(tensor, entry, value, {});
        value = read_at(graph_, partial, indices_of(s_, axes_of(graph_, tensor)));
      }
      ExprId term = term_of(tensor, entry.parts[k]);
      value = value ? plus(s_, value, term) : term;
    }
    TensorId id = stored(tensor, entry, value, result);
    adjoint.value = read_at(graph_, id, indices_of(s_, axes_of(graph_, tensor)));
  }
  entry.whole = adjoint;
  return adjoint;
}

} // namespace tang::rewrite

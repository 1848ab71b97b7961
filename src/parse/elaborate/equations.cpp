// `name[i, j] = expr` and tuples.
#include "parse/elaborate/equations.h"
#include "base/check.h"
#include "graph/text.h"
#include "parse/elaborate/body.h"
#include "parse/elaborate/constants.h"
#include "parse/elaborate/nodes.h"
#include <algorithm>

namespace tang::parse {

void declare_tensor(Context& c, const Name& name, graph::TensorId tensor) {
  if (c.carried.contains(name.text)) {
    c.symbols[name.text].what = TensorSymbol{tensor};
    c.rebound.insert(name.text);
    return;
  }
  if (c.declare(name, TensorSymbol{tensor}) && c.scope_names) c.scope_names->push_back(name.text);
}

namespace {

class EquationBuilder {
public:
  EquationBuilder(Context& c, const Module& m, const Equation& e, Span span)
      : c_(c), m_(m), e_(e), span_(span), body_(c, m, e.lefts[0].tensor.text, span) {}

  void run() {
    root_ = std::get_if<Apply>(&m_[e_.value].form);
    if (root_ && !body_.is_comprehension(*root_)) root_ = nullptr;
    if (check_tuple() && choose_extras() && check_points()) {
      bind_points();
      size_t errors = c_.sink->error_count();
      bool ok = root_ ? build_comprehension() : build_map();
      if (c_.sink->error_count() == errors) report_without_range();
      if (ok) return;
    }
    for (size_t f = 0; f < e_.lefts.size(); ++f) {
      bool repeated = std::any_of(
          e_.lefts.begin(), e_.lefts.begin() + static_cast<ptrdiff_t>(f),
          [&](const LeftSide& earlier) { return earlier.tensor == e_.lefts[f].tensor; });
      if (!repeated) declare_tensor(c_, e_.lefts[f].tensor, {});
    }
  }

private:
  bool check_tuple() {
    const Callable* callable = root_ ? body_.callable_of(*root_) : nullptr;
    monoid_ = callable ? std::get<MonoidSymbol>(callable->what).monoid : nullptr;
    bool is_topk = root_ && root_->callee.text == "topk";
    size_t values = monoid_ ? monoid_->fields.size() : is_topk ? 2 : 1, names = e_.lefts.size();
    for (size_t a = 0; a < names; ++a)
      for (size_t b = 0; b < a; ++b)
        if (e_.lefts[a].tensor == e_.lefts[b].tensor) {
          c_.report(Kind::duplicate_definition, e_.lefts[a].tensor.span, "`{}` is defined twice",
                    e_.lefts[a].tensor.text)
              .note(e_.lefts[b].tensor.span, "the first definition is here");
          return false;
        }
    if (values == names) return true;
    if (!root_)
      c_.report(Kind::tuple_mismatch, join(e_.lefts.front().span, e_.lefts.back().span),
                "a tuple on the left takes the results of one monoid or `topk`, and the right side "
                "is neither");
    else
      c_.report(Kind::tuple_mismatch, join(e_.lefts.front().span, e_.lefts.back().span),
                "`{}` gives {} value{}, and {} {} named here", root_->callee.text, values,
                values == 1 ? "" : "s", names, names == 1 ? "is" : "are")
          .help(fmt::format("write {} on the left",
                            values == 1 ? "one tensor"
                                        : fmt::format("a tuple of {} tensors", values)));
    return false;
  }

  /// Which indices of each left side are those of its state field (for `topk`: the position).
  bool choose_extras() {
    extras_.resize(e_.lefts.size());
    if (root_ && root_->callee.text == "topk") return choose_position();
    if (!monoid_) return true;
    for (size_t f = 0; f < e_.lefts.size(); ++f) {
      const LeftSide& left = e_.lefts[f];
      const auto& own = monoid_->fields[f].indices;
      if (left.indices.size() < own.size()) {
        c_.report(Kind::tuple_mismatch, left.span, "field `{}` has {} indices, and `{}` has {}",
                  monoid_->fields[f].name.text, own.size(), left.tensor.text, left.indices.size())
            .note(monoid_->fields[f].name.span, "the field is declared here");
        return false;
      }
      // By the names of the declaration where all occur, otherwise the last ones.
      for (const Binder& index : own)
        for (size_t k = 0; k < left.indices.size(); ++k)
          if (left.indices[k].name == index.name) extras_[f].push_back(k);
      if (extras_[f].size() == own.size()) continue;
      extras_[f].clear();
      for (size_t k = 0; k < own.size(); ++k)
        extras_[f].push_back(left.indices.size() - own.size() + k);
    }
    return true;
  }

  /// Of each left side, the last index that the right side does not use.
  bool choose_position() {
    for (size_t f = 0; f < e_.lefts.size(); ++f) {
      std::vector<std::string_view> names;
      for (const Binder& b : e_.lefts[f].indices) names.push_back(b.name.text);
      UseFinder finder(c_, c_.callables.size(), {}, names);
      for (ExprId operand : root_->operands) finder.walk(m_, operand);
      finder.walk(m_, root_->filter);
      for (size_t k = names.size(); k > 0 && extras_[f].empty(); --k)
        if (!finder.uses(k - 1).mention) extras_[f].push_back(k - 1);
      if (!extras_[f].empty()) continue;
      c_.report(Kind::tuple_mismatch, e_.lefts[f].span,
                "`topk` needs a new index for the position in the list")
          .help("add one on the left: `(v[t, n], id[t, n]) = topk[e; K] ...`");
      return false;
    }
    return true;
  }

  bool is_extra(size_t left, size_t k) const {
    return std::find(extras_[left].begin(), extras_[left].end(), k) != extras_[left].end();
  }

  bool check_points() {
    bool ok = true;
    std::vector<const Name*> all;
    std::vector<ExprId> extents;
    for (size_t f = 0; f < e_.lefts.size(); ++f) {
      const auto& indices = e_.lefts[f].indices;
      for (size_t a = 0; a < indices.size(); ++a) {
        for (size_t b = 0; b < a; ++b) {
          if (!(indices[a].name == indices[b].name)) continue;
          c_.report(Kind::repeated_index, indices[a].name.span,
                    "index `{}` stands twice on the left", indices[a].name.text)
              .note(indices[b].name.span, "first here");
          ok = false;
        }
        if (indices[a].exclusive || indices[a].desc) {
          c_.report(Kind::misused_clause, indices[a].name.span, "`{}` belongs to a `scan`",
                    indices[a].desc ? "desc" : "exclusive");
          ok = false;
        }
        if (f == 0 && !is_extra(f, a)) points_.push_back(&indices[a]);
        all.push_back(&indices[a].name);
        if (indices[a].extent) extents.push_back(indices[a].extent);
      }
      if (f > 0) ok &= same_points(f);
    }
    return check_index_names(c_, m_, all, extents, e_.value) && ok;
  }

  bool same_points(size_t f) {
    const auto& indices = e_.lefts[f].indices;
    bool same = indices.size() - extras_[f].size() == points_.size();
    for (size_t k = 0; k < indices.size(); ++k)
      same &= is_extra(f, k) || std::any_of(points_.begin(), points_.end(), [&](const Binder* p) {
                return p->name == indices[k].name;
              });
    if (!same)
      c_.report(Kind::tuple_mismatch, e_.lefts[f].span, "`{}` and `{}` have different indices",
                e_.lefts[f].tensor.text, e_.lefts[0].tensor.text)
          .note(e_.lefts[0].span, "the first of the tuple");
    return same;
  }

  /// The extent that some left side states for an index, or none.
  ExprId stated_extent(const Name& name) const {
    for (const LeftSide& left : e_.lefts)
      for (const Binder& b : left.indices)
        if (b.name == name && b.extent) return b.extent;
    return {};
  }

  void bind_points() {
    std::vector<std::string_view> names;
    for (const Binder* p : points_) names.push_back(p->name.text);
    UseFinder finder(c_, c_.callables.size(), {}, names);
    finder.walk(m_, e_.value);
    for (size_t k = 0; k < points_.size(); ++k) {
      const Name& name = points_[k]->name;
      if (const Symbol* hidden = c_.find(name.text))
        c_.report(Kind::shadowed_name, name.span, "index `{}` hides a name of the file", name.text)
            .note(hidden->span, "declared here");
      ExprId stated = stated_extent(name);
      // Where the right side binds the index again, wrongly, that is what to say of it.
      bool later = finder.uses(k).plain.empty() && binds(m_, e_.value, name.text);
      Term extent;
      if (stated)
        extent = extent_term(c_, m_, stated);
      else if (later)
        without_range_.emplace_back(k, finder.uses(k));
      else
        extent = agreed_extent(c_, name, finder.uses(k));
      ids_.push_back(body_.new_index(name.text, extent));
      body_.push_index(name, ids_.back(), true);
    }
  }

  /// The right side bound none of them again: scans and macros keep them.
  void report_without_range() {
    for (const auto& [k, uses] : without_range_) agreed_extent(c_, points_[k]->name, uses);
  }

  std::optional<graph::Comprehension> new_node() {
    graph::Comprehension node;
    for (graph::IndexId id : ids_) {
      if (!body_.axis(id).extent) return std::nullopt;
      node.points.push_back(body_.axis(id));
    }
    return node;
  }

  bool build_map() {
    Term value = body_.eval(e_.value);
    auto node = new_node();
    if (!value || !node) return false;
    node->results.push_back({{}, value, {}});
    define(*node, 0);
    c_.add_node(std::move(*node), span_);
    declare_tensor(c_, e_.lefts[0].tensor, last_);
    return true;
  }

  /// A tensor for result `f`, named as on the left.
  void define(graph::Comprehension& node, size_t f) {
    const LeftSide& left = e_.lefts[f];
    std::string name = left.tensor.text + c_.suffix;
    if (!c_.tensor_names.insert(name).second) name = c_.unique_tensor_name(name);
    last_ = add_intermediate(c_, node, node.results.back(), std::move(name), left.tensor.span);
    node.results.back().tensor = last_;
  }

  bool build_comprehension() {
    std::vector<std::vector<FieldIndex>> fields(monoid_ ? e_.lefts.size() : 0);
    for (size_t f = 0; f < fields.size(); ++f)
      for (size_t k = 0; k < extras_[f].size(); ++k) {
        const Binder& declared = monoid_->fields[f].indices[k];
        const Name& name = e_.lefts[f].indices[extras_[f][k]].name;
        Term extent = declared.extent ? extent_term(c_, *monoid_module(), declared.extent) : Term();
        if (!extent) return false;
        fields[f].push_back({&name, body_.new_index(name.text, extent)});
      }
    auto parts = body_.comprise(*root_, m_[e_.value].span, fields);
    auto node = new_node();
    if (!parts || !node) return false;
    if (parts->is_scan) {
      auto at = std::find(ids_.begin(), ids_.end(), parts->scan_index);
      if (at == ids_.end()) return false;
      node->scan = graph::Scan{static_cast<uint32_t>(at - ids_.begin()), parts->exclusive,
                               parts->descending};
    }
    std::vector<uint32_t> visible = c_.graph[parts->reduction.monoid].visible;
    node->reduction = parts->reduction;
    std::vector<std::pair<size_t, graph::TensorId>> permuted;
    std::vector<graph::TensorId> defined;
    for (size_t f = 0; f < e_.lefts.size(); ++f) {
      if (!add_result(*node, *parts, f, visible[f])) return false;
      if (in_order(f)) {
        define(*node, f);
      } else {
        last_ =
            add_intermediate(c_, *node, node->results.back(),
                             c_.unique_tensor_name(e_.lefts[f].tensor.text + "_state" + c_.suffix),
                             e_.lefts[f].tensor.span);
        node->results.back().tensor = last_;
      }
      defined.push_back(last_);
    }
    graph::Comprehension copy = *node;
    c_.add_node(std::move(*node), span_);
    for (size_t f = 0; f < e_.lefts.size(); ++f)
      declare_tensor(c_, e_.lefts[f].tensor, in_order(f) ? defined[f] : permute(copy, f));
    return true;
  }

  const Module* monoid_module() const {
    return std::get<MonoidSymbol>(body_.callable_of(*root_)->what).module;
  }

  bool add_result(graph::Comprehension& node, const Comprised& parts, size_t f, uint32_t field) {
    graph::Result result;
    std::vector<Term> places;
    const std::vector<graph::Axis> axes = c_.graph[parts.reduction.monoid].fields[field].axes;
    for (size_t k = 0; k < axes.size(); ++k) {
      const Binder& binder = e_.lefts[f].indices[extras_[f][k]];
      if (ExprId stated = stated_extent(binder.name)) {
        Term extent = extent_term(c_, m_, stated);
        if (extent && extent != axes[k].extent)
          c_.report(Kind::extents_disagree, m_[stated].span, "index `{}` has extent {}",
                    binder.name.text, graph::to_text(c_.graph, axes[k].extent));
        if (extent != axes[k].extent) return false;
      }
      graph::IndexId id = body_.new_index(binder.name.text, axes[k].extent);
      result.extra.push_back(body_.axis(id));
      places.push_back(c_.terms().index(id));
    }
    result.value = body_.result_value(parts, field, places);
    node.results.push_back(std::move(result));
    return true;
  }

  /// Whether the left side has the points in the node's order, and the field's indices last.
  bool in_order(size_t f) const {
    const auto& indices = e_.lefts[f].indices;
    for (size_t k = 0; k < points_.size(); ++k)
      if (is_extra(f, k) || !(indices[k].name == points_[k]->name)) return false;
    return std::is_sorted(extras_[f].begin(), extras_[f].end());
  }

  /// A map that reads result `f` in the order of its left side.
  graph::TensorId permute(const graph::Comprehension& from, size_t f) {
    const auto& indices = e_.lefts[f].indices;
    const graph::Result& result = from.results[f];
    graph::Comprehension node;
    std::vector<Term> places(from.points.size() + result.extra.size());
    for (size_t k = 0; k < indices.size(); ++k) {
      auto extra = std::find(extras_[f].begin(), extras_[f].end(), k);
      size_t place = from.points.size() + static_cast<size_t>(extra - extras_[f].begin());
      if (extra == extras_[f].end())
        place = static_cast<size_t>(
            std::find_if(points_.begin(), points_.end(),
                         [&](const Binder* p) { return p->name == indices[k].name; }) -
            points_.begin());
      const graph::Axis& old = place < from.points.size()
                                   ? from.points[place]
                                   : result.extra[place - from.points.size()];
      graph::Axis axis{graph::IndexId(static_cast<uint32_t>(k)), old.extent, old.name, {}, {}};
      places[place] = c_.terms().index(axis.index);
      node.points.push_back(std::move(axis));
    }
    Scalar element = graph::scalar_of(c_.graph[result.tensor].type);
    node.results.push_back({{}, c_.terms().read(result.tensor, element, places), {}});
    define(node, f);
    c_.add_node(std::move(node), span_);
    return last_;
  }

  Context& c_;
  const Module& m_;
  const Equation& e_;
  Span span_;
  Body body_;
  const Apply* root_ = nullptr;
  const Monoid* monoid_ = nullptr;
  std::vector<std::vector<size_t>> extras_; ///< per left side: positions of its field's indices
  std::vector<const Binder*> points_;
  std::vector<graph::IndexId> ids_;
  std::vector<std::pair<size_t, IndexUses>> without_range_; ///< points, reported after the body
  graph::TensorId last_;
};

} // namespace

void elaborate_equation(Context& context, const Module& module, const Equation& equation,
                        Span span) {
  EquationBuilder(context, module, equation, span).run();
}

} // namespace tang::parse

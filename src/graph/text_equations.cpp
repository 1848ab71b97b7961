#include "graph/text_equations.h"
#include "graph/prover.h"
#include "graph/reads.h"
#include "graph/text_monoid.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <numeric>
#include <unordered_set>

namespace tang::graph {
namespace {

class EquationPrinter {
public:
  EquationPrinter(const Graph& graph, Names& names, TextWriter& out)
      : graph_(graph), s_(graph.exprs), names_(names), out_(out) {}

  void print(const Comprehension& c) {
    Scope scope{TermPrinter(graph_, names_), {}, {}, c.points, {}};
    bind(scope, c.points);
    if (c.reduction) {
      bind(scope, c.reduction->axes);
      for (const auto& axes : c.reduction->field_axes) bind(scope, axes);
    }
    for (const Result& result : c.results) bind(scope, result.extra);
    for (ExprId id : reachable(s_, roots(c)))
      for (size_t k = 0; k < s_[id].bound.size(); ++k)
        bind(scope, {Axis{s_[id].bound[k], s_[id].operands[2 + k], "r", {}, {}}});
    if (c.reduction && is_direct(c))
      print_reduction(scope, c, direct_names(scope, c));
    else if (c.reduction)
      print_reduction(scope, c, named_states(scope, c));
    if (c.reduction && is_direct(c)) return;
    for (const Result& result : c.results) {
      name_subterms(scope, result.value, name(result.tensor));
      out_.line("{} = {}", left(scope, name(result.tensor), c.points, result.extra),
                scope.printer.print(result.value));
    }
  }

private:
  const std::string& name(TensorId id) const { return names_.tensors[id.value]; }
  std::string extent(ExprId id) { return TermPrinter(graph_, names_).print(id); }

  /// What the equations of one comprehension share.
  struct Scope {
    TermPrinter printer;
    std::set<std::string> used; ///< names of its indices
    std::unordered_map<IndexId, ExprId> extents;
    std::vector<Axis> points;
    std::unordered_set<ExprId> stateful; ///< named terms that mention a state
  };

  void bind(Scope& scope, const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
      if (scope.printer.indices.contains(axis.index)) continue;
      std::string text = names_.unused(axis.name.empty() ? "i" : axis.name, scope.used);
      scope.used.insert(text);
      scope.printer.indices[axis.index] = text;
      scope.extents[axis.index] = axis.extent;
    }
  }

  std::string binder(Scope& scope, const Axis& axis) {
    return fmt::format("{}: {}", scope.printer.indices.at(axis.index), extent(axis.extent));
  }

  std::string left(Scope& scope, const std::string& tensor, const std::vector<Axis>& points,
                   const std::vector<Axis>& extra) {
    std::vector<std::string> binders;
    for (const auto* axes : {&points, &extra})
      for (const Axis& axis : *axes) binders.push_back(binder(scope, axis));
    return binders.empty() ? tensor : fmt::format("{}[{}]", tensor, fmt::join(binders, ", "));
  }

  /// True when the results are the visible fields and nothing else: `(m[i], s[i]) = lse[k](...)`.
  bool is_direct(const Comprehension& c) const {
    const Monoid& m = graph_[c.reduction->monoid];
    if (c.results.size() != m.visible.size()) return false;
    for (size_t k = 0; k < c.results.size(); ++k) {
      const Result& r = c.results[k];
      const Expr& e = s_[r.value];
      if (e.op != Op::acc || e.ref != m.visible[k] || e.operands.size() != r.extra.size())
        return false;
      for (size_t j = 0; j < r.extra.size(); ++j)
        if (s_[e.operands[j]].op != Op::index || IndexId(s_[e.operands[j]].ref) != r.extra[j].index)
          return false;
    }
    return true;
  }

  /// Left sides of a reduction whose results print as they are.
  struct Lefts {
    std::string head; ///< the name of the monoid
    std::vector<std::string> texts;
  };

  Lefts direct_names(Scope& scope, const Comprehension& c) {
    const Monoid& m = graph_[c.reduction->monoid];
    Lefts lefts{names_.monoids[c.reduction->monoid.value], {}};
    for (size_t k = 0; k < c.results.size(); ++k) {
      const Result& r = c.results[k];
      // The body of an indexed field is over the indices on its left side.
      size_t field = m.visible[k];
      if (field < c.reduction->field_axes.size())
        for (size_t j = 0; j < r.extra.size() && j < c.reduction->field_axes[field].size(); ++j)
          scope.printer.indices[c.reduction->field_axes[field][j].index] =
              scope.printer.indices.at(r.extra[j].index);
      lefts.texts.push_back(left(scope, name(r.tensor), c.points, r.extra));
    }
    return lefts;
  }

  /// Names the states of a reduction that has epilogues, and prints nothing yet.
  Lefts named_states(Scope& scope, const Comprehension& c) {
    const Monoid& m = graph_[c.reduction->monoid];
    Lefts lefts{names_.monoids[c.reduction->monoid.value], {}};
    std::vector<uint32_t> shown = m.visible;
    auto hidden = [&](const Result& r) {
      auto terms = reachable(s_, {&r.value, 1});
      return std::any_of(terms.begin(), terms.end(), [&](ExprId id) {
        return s_[id].op == Op::acc &&
               std::find(shown.begin(), shown.end(), s_[id].ref) == shown.end();
      });
    };
    if (std::any_of(c.results.begin(), c.results.end(), hidden)) {
      // A field that the built-in hides: the same combine under a name of its own shows it.
      lefts.head = names_.unique(m.name + "_state");
      out_.raw(monoid_text(graph_, names_, m, lefts.head));
      shown.resize(m.fields.size());
      std::iota(shown.begin(), shown.end(), 0u);
    }
    std::string points;
    for (const Axis& axis : c.points)
      points += (points.empty() ? "" : ", ") + scope.printer.indices.at(axis.index);
    scope.printer.state_points = points;
    scope.printer.states.assign(m.fields.size(), "");
    for (uint32_t f : shown) {
      std::string field = m.fields[f].name.empty() ? "acc" : m.fields[f].name;
      std::string state = names_.unique(fmt::format("{}_{}", name(c.results[0].tensor), field));
      scope.printer.states[f] = state;
      std::vector<Axis> extra =
          f < c.reduction->field_axes.size() ? c.reduction->field_axes[f] : std::vector<Axis>();
      if (m.form == Monoid::Form::topk) {
        extra = m.fields[f].axes;
        for (Axis& axis : extra) axis.index = IndexId(fresh_index(s_, c).value);
        bind(scope, extra);
      }
      lefts.texts.push_back(left(scope, state, c.points, extra));
    }
    return lefts;
  }

  void print_reduction(Scope& scope, const Comprehension& c, const Lefts& lefts) {
    const Reduction& r = *c.reduction;
    const Monoid& m = graph_[r.monoid];
    std::vector<std::string> binders;
    for (const Axis& axis : r.axes) binders.push_back(binder(scope, axis));
    if (c.scan) {
      std::string text = scope.printer.indices.at(c.points[c.scan->axis].index);
      if (c.scan->exclusive) text += " exclusive";
      if (c.scan->descending) text += " desc";
      binders.push_back(text);
    }
    for (const Axis& axis : r.axes)
      for (ExprId bound : {axis.lo, axis.hi})
        if (bound) name_subterms(scope, bound, name(c.results[0].tensor));
    if (r.filter) name_subterms(scope, r.filter, name(c.results[0].tensor));
    for (ExprId id : r.body) name_subterms(scope, id, name(c.results[0].tensor));
    std::string head = reduction_head(lefts.head, binders, c.scan ? "" : filter(scope, r));
    if (m.form == Monoid::Form::topk) head.insert(head.size() - 1, fmt::format("; {}", m.k));
    // A hidden field (the index of an argmax) is no operand, unless the monoid was spelled out.
    bool prefix = m.builtin && lefts.head == m.name;
    std::string operands = operand(scope, c, 0, prefix && !c.scan ? Level::product : Level::any);
    for (size_t f = 1; f < r.body.size() && !prefix; ++f)
      operands += ", " + operand(scope, c, f, Level::any);
    operands = prefix && !c.scan ? " " + operands : fmt::format("({})", operands);
    std::string all = fmt::format("{}", fmt::join(lefts.texts, ", "));
    if (lefts.texts.size() != 1) all = fmt::format("({})", all);
    out_.line("{} = {}{}{}", all, c.scan ? "scan " : "", head, operands);
  }

  /// What a field joins at each point. A filtered scan has its state at every point, where the
  /// language's `where` would give 0: points that take no part join the identity.
  std::string operand(Scope& scope, const Comprehension& c, size_t f, Level level) {
    const Reduction& r = *c.reduction;
    if (!c.scan || !r.filter) return scope.printer.print(r.body[f], level);
    const MonoidField& field = graph_[r.monoid].fields[f];
    TermPrinter printer(graph_, names_);
    for (size_t k = 0; k < field.axes.size(); ++k)
      printer.indices[field.axes[k].index] = scope.printer.indices.at(r.field_axes[f][k].index);
    return fmt::format("where({}, {}, {})", scope.printer.print(r.filter),
                       scope.printer.print(r.body[f]), printer.print(field.identity));
  }

  /// The filter with the bounds that `tighten_bounds` took out of it.
  std::string filter(Scope& scope, const Reduction& r) {
    std::vector<std::string> parts;
    for (const Axis& axis : r.axes) {
      const std::string& index = scope.printer.indices.at(axis.index);
      if (axis.lo)
        parts.push_back(fmt::format("{} <= {}", scope.printer.print(axis.lo, Level::sum), index));
      if (axis.hi)
        parts.push_back(fmt::format("{} < {}", index, scope.printer.print(axis.hi, Level::sum)));
    }
    if (r.filter && s_.as_boolean(r.filter) != true)
      parts.push_back(scope.printer.print(r.filter, parts.empty() ? Level::any : Level::negation));
    return fmt::format("{}", fmt::join(parts, " and "));
  }

  // ---- large terms

  static constexpr uint32_t max_tree = 2000;
  static constexpr int max_levels = 60; ///< well under the parser's nesting limit

  /// Gives names to shared or deep terms under `root` where it would print as a huge tree: each
  /// becomes a map over the indices it mentions.
  void name_subterms(Scope& scope, ExprId root, const std::string& prefix) {
    auto terms = reachable(s_, {&root, 1});
    std::unordered_map<ExprId, int> depth, uses;
    bool deep = false;
    for (ExprId id : terms) {
      int d = 0;
      for (ExprId o : s_[id].operands) d = std::max(d, depth[o]), ++uses[o];
      depth[id] = d + 1;
      deep |= d + 1 > max_levels;
    }
    if (!deep && s_[root].tree_size <= max_tree) return;
    std::unordered_map<ExprId, uint64_t> size;
    for (ExprId id : terms) {
      const Expr& e = s_[id];
      uint64_t total = 1;
      int levels = 0;
      for (ExprId o : e.operands) {
        bool named = scope.printer.replaced.contains(o);
        total += named ? 1 : size[o];
        levels = std::max(levels, named ? 1 : depth[o]);
      }
      size[id] = total, depth[id] = levels + 1;
      if (id == root || e.operands.empty() || e.op == Op::read ||
          scope.printer.replaced.contains(id))
        continue;
      bool leaf_like = total < 8 && levels < max_levels;
      if (leaf_like || (uses[id] < 2 && levels < max_levels && total < max_tree)) continue;
      print_subterm(scope, id, prefix);
    }
  }

  /// The terms that print in full under `root`: the walk stops at those that have a name.
  std::vector<ExprId> unnamed_terms(const Scope& scope, ExprId root) {
    std::vector<ExprId> found{root};
    std::unordered_set<ExprId> seen{root};
    for (size_t k = 0; k < found.size(); ++k)
      for (ExprId operand : s_[found[k]].operands)
        if (!scope.printer.replaced.contains(operand) && seen.insert(operand).second)
          found.push_back(operand);
    return found;
  }

  void print_subterm(Scope& scope, ExprId id, const std::string& prefix) {
    auto terms = unnamed_terms(scope, id);
    std::vector<Axis> axes;
    Prover prover(graph_);
    auto add = [&](IndexId index) {
      axes.push_back({index, scope.extents.at(index), scope.printer.indices.at(index), {}, {}});
      prover.add_axis(axes.back());
    };
    // A state stands for every point.
    bool has_state = std::any_of(terms.begin(), terms.end(), [&](ExprId term) {
      const Expr& e = s_[term];
      return e.op == Op::acc || std::any_of(e.operands.begin(), e.operands.end(),
                                            [&](ExprId o) { return scope.stateful.contains(o); });
    });
    if (has_state) scope.stateful.insert(id);
    std::set<IndexId> indices(s_[id].free.begin(), s_[id].free.end());
    if (has_state)
      for (const Axis& axis : scope.points) indices.insert(axis.index);
    for (IndexId index : indices) add(index);
    // Here the term stands outside the filter or branch that keeps its reads in range.
    for (ExprId read : terms) {
      const Expr& e = s_[read];
      if (e.op != Op::read || e.guarded) continue;
      for (size_t k = 0; k < e.operands.size(); ++k)
        if (!is_gathered(s_, e.operands[k]) &&
            !prover.in_range(e.operands[k], graph_[TensorId(e.ref)].shape[k]))
          scope.printer.guarded.insert(read);
    }
    std::string term = names_.unique(prefix + "_t");
    out_.line("{} = {}", left(scope, term, axes, {}), scope.printer.print(id));
    std::vector<std::string> places;
    places.reserve(axes.size());
    for (const Axis& axis : axes) places.push_back(axis.name);
    scope.printer.replaced[id] =
        places.empty() ? term : fmt::format("{}[{}]", term, fmt::join(places, ", "));
  }

  const Graph& graph_;
  const ExprStore& s_;
  Names& names_;
  TextWriter& out_;
};

} // namespace

void print_equations(const Graph& graph, const Comprehension& node, Names& names, TextWriter& out) {
  EquationPrinter(graph, names, out).print(node);
}

} // namespace tang::graph

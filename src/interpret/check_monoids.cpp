#include "interpret/check_monoids.h"
#include "base/check.h"
#include "interpret/extents.h"
#include "interpret/random.h"
#include "interpret/term_value.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace tang::interpret {

using graph::Axis;
using graph::Comprehension;
using graph::Expr;
using graph::ExprId;
using graph::Graph;
using graph::Monoid;
using graph::Op;
using graph::Scalar;

namespace {

/// One list of words per field, row-major over the field's axes.
using MonoidState = std::vector<std::vector<Word>>;

/// Calls `visit` at every point of a box, indices set in `context`; stops when it returns false.
bool for_each_point(TermContext& context, const std::vector<Axis>& axes,
                    const std::function<bool()>& visit) {
  std::vector<int64_t> extents;
  for (const Axis& axis : axes) {
    auto extent = extent_value(context.graph.exprs, axis.extent, context.dims);
    if (!extent) return false;
    if (*extent <= 0) return true;
    extents.push_back(*extent);
    context.indices[axis.index] = 0;
  }
  for (;;) {
    if (!visit()) return false;
    size_t n = extents.size();
    while (n > 0 && ++context.indices[axes[n - 1].index] == extents[n - 1])
      context.indices[axes[--n].index] = 0;
    if (n == 0) return true;
  }
}

/// Dims get small values that their declarations allow.
std::vector<int64_t> sample_dims(const Graph& graph) {
  std::vector<int64_t> dims;
  for (const graph::Dim& dim : graph.dims) {
    int64_t wanted = std::clamp<int64_t>(5, dim.lo, std::max(dim.lo, dim.hi));
    int64_t up = wanted % dim.step == 0 ? wanted : wanted - wanted % dim.step + dim.step;
    dims.push_back(up <= dim.hi ? up : wanted);
  }
  return dims;
}

class LawTest {
public:
  LawTest(const Graph& graph, const Monoid& monoid, std::span<const int64_t> dims)
      : graph_(graph), monoid_(monoid), dims_(dims) {}

  std::optional<MonoidState> identity() const;
  std::optional<MonoidState> combine(const MonoidState& a, const MonoidState& b) const;
  std::optional<MonoidState> element(const Comprehension& node, uint64_t sample) const;
  bool close(const MonoidState& a, const MonoidState& b) const;
  std::string text(const MonoidState& state) const;

private:
  size_t place_of(size_t field, std::span<const int64_t> places) const;
  Word random_read(const Expr& e, std::span<const int64_t> places, uint64_t sample) const;

  const Graph& graph_;
  const Monoid& monoid_;
  std::span<const int64_t> dims_;
};

size_t LawTest::place_of(size_t field, std::span<const int64_t> places) const {
  int64_t at = 0;
  for (size_t n = 0; n < places.size(); ++n) {
    auto extent = extent_value(graph_.exprs, monoid_.fields[field].axes[n].extent, dims_);
    TANG_CHECK(extent && places[n] >= 0 && places[n] < *extent, "place {} of a field of `{}`",
               places[n], monoid_.name);
    at = at * *extent + places[n];
  }
  return static_cast<size_t>(at);
}

std::optional<MonoidState> LawTest::identity() const {
  MonoidState state;
  for (const graph::MonoidField& field : monoid_.fields) {
    TermContext context{graph_, dims_, {}, {}};
    state.emplace_back();
    if (!for_each_point(context, field.axes, [&] {
          auto value = term_value(context, field.identity);
          if (value) state.back().push_back(*value);
          return value.has_value();
        }))
      return std::nullopt;
  }
  return state;
}

std::optional<MonoidState> LawTest::combine(const MonoidState& a, const MonoidState& b) const {
  MonoidState state;
  for (size_t f = 0; f < monoid_.fields.size(); ++f) {
    TermContext context{graph_, dims_, {}, {}};
    context.read = [&](const Expr& e, std::span<const int64_t> places) -> std::optional<Word> {
      return (e.op == Op::lhs ? a : b).at(e.ref).at(place_of(e.ref, places));
    };
    state.emplace_back();
    if (!for_each_point(context, monoid_.fields[f].axes, [&] {
          auto value = term_value(context, monoid_.combine[f]);
          if (value) state.back().push_back(*value);
          return value.has_value();
        }))
      return std::nullopt;
  }
  return state;
}

/// The data a body sees: any element of any tensor is a random number of its own.
Word LawTest::random_read(const Expr& e, std::span<const int64_t> places, uint64_t sample) const {
  uint64_t element = random_word(sample, places.size(), 0, 0);
  for (int64_t place : places) element = random_word(element, static_cast<uint64_t>(place), 0, 0);
  const graph::Tensor& tensor = graph_.tensors[e.ref];
  if (e.scalar == Scalar::real) return word(random_normal(sample, e.ref, element));
  if (e.scalar == Scalar::boolean) return random_word(sample, e.ref, element, 0) >> 63;
  graph::IntRange range = tensor.range.value_or(graph::IntRange{-8, 7});
  graph::IntRange held = graph::range_of(tensor.type);
  range = {std::max(range.lo, held.lo), std::min(range.hi, held.hi)};
  return word(random_integer(sample, e.ref, element, range));
}

/// One element at a random point of the node; empty where the filter leaves the point out.
std::optional<MonoidState> LawTest::element(const Comprehension& node, uint64_t sample) const {
  TermContext context{graph_, dims_, {}, {}};
  context.read = [&](const Expr& e, std::span<const int64_t> places) -> std::optional<Word> {
    return random_read(e, places, sample);
  };
  const graph::Reduction& reduction = *node.reduction;
  for (const auto* axes : {&node.points, &reduction.axes})
    for (const Axis& axis : *axes) {
      auto extent = extent_value(graph_.exprs, axis.extent, dims_);
      if (!extent || *extent <= 0) return std::nullopt;
      int64_t at = random_integer(sample, axis.index.value, 1, {0, *extent - 1});
      context.indices[axis.index] = at;
      auto lo = axis.lo ? term_value(context, axis.lo) : word(int64_t{0});
      auto hi = axis.hi ? term_value(context, axis.hi) : word(*extent);
      if (!lo || !hi || at < integer_of(*lo) || at >= integer_of(*hi)) return std::nullopt;
    }
  if (reduction.filter && term_value(context, reduction.filter).value_or(0) == 0)
    return std::nullopt;
  MonoidState state;
  for (size_t f = 0; f < reduction.body.size(); ++f) {
    state.emplace_back();
    auto axes = f < reduction.field_axes.size() ? reduction.field_axes[f] : std::vector<Axis>{};
    if (!for_each_point(context, axes, [&] {
          auto value = term_value(context, reduction.body[f]);
          if (value) state.back().push_back(*value);
          return value.has_value();
        }))
      return std::nullopt;
  }
  return state;
}

bool LawTest::close(const MonoidState& a, const MonoidState& b) const {
  for (size_t f = 0; f < a.size(); ++f)
    for (size_t n = 0; n < a[f].size(); ++n) {
      if (a[f][n] == b[f][n]) continue;
      if (monoid_.fields[f].scalar != Scalar::real) return false;
      double x = real_of(a[f][n]), y = real_of(b[f][n]);
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      if (!(std::abs(x - y) <= 1e-6 * std::max({1.0, std::abs(x), std::abs(y)}))) return false;
    }
  return true;
}

std::string LawTest::text(const MonoidState& state) const {
  std::string out;
  for (size_t f = 0; f < state.size(); ++f) {
    const graph::MonoidField& field = monoid_.fields[f];
    std::string values;
    constexpr size_t shown = 8;
    for (size_t n = 0; n < std::min(shown, state[f].size()); ++n) {
      if (n) values += ", ";
      Word w = state[f][n];
      if (field.scalar == Scalar::real)
        values += fmt::format("{}", real_of(w));
      else if (field.scalar == Scalar::boolean)
        values += w ? "true" : "false";
      else
        values += fmt::format("{}", integer_of(w));
    }
    if (state[f].size() > shown) values += ", ...";
    out += fmt::format("{}{} = {}", f ? ", " : "", field.name,
                       field.axes.empty() ? values : "[" + values + "]");
  }
  return "(" + out + ")";
}

struct Use {
  const Comprehension* node;
  Span span;
};

/// Uses of each monoid that the file defines, in order; recurrences nest as deep as the parser
/// allows.
void find_uses(const Graph& graph, const std::vector<graph::Node>& nodes,
               std::vector<std::vector<Use>>& uses) {
  for (const graph::Node& node : nodes)
    std::visit(Overload{[&](const Comprehension& c) {
                          if (!c.reduction) return;
                          uint32_t m = c.reduction->monoid.value;
                          if (!graph.monoids[m].builtin) uses[m].push_back({&c, node.span});
                        },
                        [&](const graph::Recur& r) { find_uses(graph, r.body, uses); },
                        [](const graph::Gradient&) {}},
               node.definition);
}

/// States that the uses reach: single elements, and combinations of two and of three.
std::vector<MonoidState> reached_states(const LawTest& test, const std::vector<Use>& uses) {
  std::vector<MonoidState> states;
  for (const Use& use : uses) {
    std::vector<MonoidState> elements;
    for (uint64_t sample = 1; sample <= 64 && elements.size() < 4; ++sample)
      if (auto e = test.element(*use.node, sample)) elements.push_back(std::move(*e));
    for (size_t n = 0; n < elements.size(); ++n) {
      states.push_back(elements[n]);
      auto two = test.combine(elements[n], elements[(n + 1) % elements.size()]);
      auto three = two ? test.combine(*two, elements[(n + 2) % elements.size()]) : std::nullopt;
      if (two) states.push_back(std::move(*two));
      if (three) states.push_back(std::move(*three));
    }
    if (states.size() >= 48) break;
  }
  return states;
}

bool check_identity(const LawTest& test, const Monoid& monoid,
                    const std::vector<MonoidState>& states, Span span, Sink& sink) {
  auto identity = test.identity();
  if (!identity) return true;
  for (const MonoidState& s : states) {
    auto left = test.combine(*identity, s), right = test.combine(s, *identity);
    bool left_ok = !left || test.close(*left, s), right_ok = !right || test.close(*right, s);
    if (left_ok && right_ok) continue;
    sink.report(Kind::monoid_identity, span, "the identity of `{}` changes a state", monoid.name)
        .note(span, fmt::format("with the identity {} on the {}, {} becomes {}",
                                test.text(*identity), left_ok ? "right" : "left", test.text(s),
                                test.text(left_ok ? *right : *left)));
    return false;
  }
  return true;
}

bool check_associativity(const LawTest& test, const Monoid& monoid,
                         const std::vector<MonoidState>& states, Span span, Sink& sink) {
  auto count = static_cast<int64_t>(states.size());
  // Enough triples to meet every kind of state on every side, few enough to run on each compile.
  constexpr uint64_t triples = 50;
  for (uint64_t n = 0; n < triples && count > 0; ++n) {
    auto pick = [&](uint64_t side) -> const MonoidState& {
      return states[static_cast<size_t>(random_integer(n, side, 0, {0, count - 1}))];
    };
    const MonoidState &a = pick(0), &b = pick(1), &c = pick(2);
    auto ab = test.combine(a, b), bc = test.combine(b, c);
    auto left = ab ? test.combine(*ab, c) : std::nullopt;
    auto right = bc ? test.combine(a, *bc) : std::nullopt;
    if (!left || !right || test.close(*left, *right)) continue;
    sink.report(Kind::monoid_not_associative, span, "the combine of `{}` is not associative",
                monoid.name)
        .note(span,
              fmt::format("for a = {}, b = {}, c = {}", test.text(a), test.text(b), test.text(c)))
        .note(span, fmt::format("(a b) c gives {}, and a (b c) gives {}", test.text(*left),
                                test.text(*right)));
    return false;
  }
  return true;
}

} // namespace

bool check_monoids(const Graph& graph, Sink& sink) {
  std::vector<std::vector<Use>> uses(graph.monoids.size());
  find_uses(graph, graph.nodes, uses);
  std::vector<int64_t> dims = sample_dims(graph);
  bool ok = true;
  for (size_t m = 0; m < uses.size(); ++m) {
    const Monoid& monoid = graph.monoids[m];
    if (uses[m].empty() || monoid.form != Monoid::Form::expressions) continue;
    LawTest test(graph, monoid, dims);
    auto states = reached_states(test, uses[m]);
    Span span = uses[m].front().span;
    ok &= check_identity(test, monoid, states, span, sink) &&
          check_associativity(test, monoid, states, span, sink);
  }
  return ok;
}

} // namespace tang::interpret

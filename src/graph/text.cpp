// A graph as a `.tg` file: what it declares, its nodes in order, its recurrences.
#include "graph/text.h"
#include "base/check.h"
#include "graph/text_equations.h"
#include "graph/text_monoid.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace tang::graph {
namespace {

class GraphPrinter {
public:
  explicit GraphPrinter(const Graph& graph) : graph_(graph), names_(graph) {}

  std::string run() {
    out_.raw("tg 1");
    if (!graph_.name.empty()) out_.line("graph {}", Names(Graph()).unused(graph_.name, {}));
    for (size_t i = 0; i < graph_.dims.size(); ++i) {
      const Dim& d = graph_.dims[i];
      out_.line("dim {} in {}..{}{}", names_.dims[i], d.lo, d.hi,
                d.step == 1 ? "" : fmt::format(" step {}", d.step));
    }
    for (TensorId id : graph_.inputs) print_input(id);
    for (uint32_t i = 0; i < graph_.tensors.size(); ++i)
      if (graph_.tensors[i].kind == TensorKind::constant) print_constant(TensorId(i));
    for (uint32_t i = 0; i < graph_.monoids.size(); ++i)
      if (!graph_.monoids[i].builtin)
        out_.raw(monoid_text(graph_, names_, graph_.monoids[i], names_.monoids[i]));
    for (const Node& node : graph_.nodes) print_node(node);
    for (TensorId id : graph_.outputs) print_output(id);
    for (uint32_t i = 0; i < graph_.tensors.size(); ++i) print_precision(TensorId(i));
    return out_.take();
  }

private:
  const std::string& name(TensorId id) const { return names_.tensors[id.value]; }
  std::string extent(ExprId id) { return TermPrinter(graph_, names_).print(id); }
  std::string end(ExprId term, int64_t value) {
    return term ? extent(term) : fmt::format("{}", value);
  }
  static std::string quoted(const std::string& text) {
    return text.empty() ? "" : fmt::format(" \"{}\"", text);
  }

  std::string type_of(const Tensor& t) {
    auto join = [&](const std::vector<ExprId>& ids) {
      std::vector<std::string> texts;
      texts.reserve(ids.size());
      for (ExprId id : ids) texts.push_back(extent(id));
      return fmt::format("[{}]", fmt::join(texts, ", "));
    };
    std::string text(info(t.type).name);
    if (!t.shape.empty()) text += join(t.shape);
    if (!t.strides.empty()) text += ":" + join(t.strides);
    if (t.align != 16) text += fmt::format(" align {}", t.align);
    return text;
  }

  void print_input(TensorId id) {
    const Tensor& t = graph_[id];
    std::string text = fmt::format("{} {}{} : {}", t.kind == TensorKind::param ? "param" : "input",
                                   name(id), quoted(t.external), type_of(t));
    if (t.range && *t.range != range_of(t.type))
      text += fmt::format(" in {}..{}", end(t.range_lo, t.range->lo), end(t.range_hi, t.range->hi));
    if (t.sorted) text += " sorted";
    out_.raw(text);
  }

  void print_constant(TensorId id) {
    const Tensor& t = graph_[id];
    std::vector<std::string> values;
    TermPrinter printer(graph_, names_);
    bool integers = scalar_of(t.type) != Scalar::real;
    for (double x : t.reals)
      if (!integers) values.push_back(printer.real(x, Level::any));
    for (int64_t x : t.integers)
      if (integers)
        values.push_back(scalar_of(t.type) == Scalar::boolean ? (x ? "true" : "false")
                                                              : fmt::format("{}", x));
    std::string list = fmt::format("{}", fmt::join(values, ", "));
    if (!t.shape.empty()) list = fmt::format("[{}]", list);
    out_.line("const {} : {} = {}", name(id), type_of(t), list);
  }

  void print_output(TensorId id) {
    const Tensor& t = graph_[id];
    out_.raw(fmt::format("output {}{} : {}{}", name(id), quoted(t.external), type_of(t),
                         t.over ? " over " + name(t.over) : ""));
  }

  void print_precision(TensorId id) {
    const Tensor& t = graph_[id];
    if (t.kind != TensorKind::intermediate && t.kind != TensorKind::output) return;
    if (t.store_given && t.kind == TensorKind::intermediate)
      out_.line("store {} : {}", name(id), info(t.type).name);
    if (t.accumulate) out_.line("accumulate {} : {}", name(id), info(*t.accumulate).name);
    if (t.budget_rel) out_.line("budget {} : rel {}", name(id), *t.budget_rel);
    if (t.budget_abs) out_.line("budget {} : abs {}", name(id), *t.budget_abs);
  }

  void print_node(const Node& node) {
    for (const std::string& law : node.derivation) out_.line("# {}", law);
    std::visit(Overload{[&](const Comprehension& c) { print_equations(graph_, c, names_, out_); },
                        [&](const Recur& r) { print_recur(r); },
                        [&](const Gradient& g) { print_gradient(g); }},
               node.definition);
  }

  void print_gradient(const Gradient& g) {
    std::vector<std::string> pairs;
    for (const GradientPair& pair : g.pairs)
      pairs.push_back(fmt::format("{} -> {}", name(pair.wrt), name(pair.result)));
    out_.line("grad {}{} wrt {}", name(g.of), g.cotangent ? " with " + name(g.cotangent) : "",
              fmt::join(pairs, ", "));
  }

  void print_recur(const Recur& r) {
    std::string index = names_.unique(r.time.name.empty() ? "t" : r.time.name);
    names_.tensors[r.step.value] = index;
    std::vector<std::string> carries, collects;
    for (const Carry& carry : r.carries) {
      names_.tensors[carry.current.value] = name(carry.last);
      carries.push_back(fmt::format("{} = {}", name(carry.last), name(carry.init)));
    }
    out_.line("recur {}: {} carry {} {{", index, extent(r.time.extent), fmt::join(carries, ", "));
    out_.indent();
    for (const Node& node : r.body) print_node(node);
    // New values get their own names first, so that every equation above saw the old ones.
    for (const Carry& carry : r.carries)
      if (carry.next != carry.current) print_rebinding(carry);
    out_.dedent();
    for (const Collect& collect : r.collects) {
      auto carry = std::find_if(r.carries.begin(), r.carries.end(),
                                [&](const Carry& c) { return c.next == collect.value; });
      TensorId source = carry == r.carries.end() ? collect.value : carry->last;
      collects.push_back(fmt::format("{} = {}", name(collect.stacked), name(source)));
    }
    out_.raw(collects.empty() ? "}" : fmt::format("}} collect {}", fmt::join(collects, ", ")));
  }

  void print_rebinding(const Carry& carry) {
    std::vector<std::string> binders, places;
    std::set<std::string> used;
    for (ExprId e : graph_[carry.last].shape) {
      std::string index = names_.unused("i", used);
      used.insert(index);
      binders.push_back(fmt::format("{}: {}", index, extent(e)));
      places.push_back(index);
    }
    if (places.empty())
      out_.line("{} = {}", name(carry.last), name(carry.next));
    else
      out_.line("{}[{}] = {}[{}]", name(carry.last), fmt::join(binders, ", "), name(carry.next),
                fmt::join(places, ", "));
  }

  const Graph& graph_;
  Names names_;
  TextWriter out_;
};

} // namespace

std::string to_text(const Graph& graph) {
  return GraphPrinter(graph).run();
}

std::function<std::string(const Comprehension&)> equations_of(const Graph& graph) {
  return [&graph, names = Names(graph)](const Comprehension& node) mutable {
    TextWriter out;
    size_t mark = names.mark();
    print_equations(graph, node, names, out);
    names.rewind(mark);
    return out.take();
  };
}

std::string to_text(const Graph& graph, const Comprehension& node, ExprId id) {
  return to_text(graph, node, id, Names(graph));
}

std::string to_text(const Graph& graph, const Comprehension& node, ExprId id, const Names& names) {
  TermPrinter printer(graph, names);
  std::set<std::string> used;
  auto bind = [&](const std::vector<Axis>& axes) {
    for (const Axis& axis : axes)
      if (!axis.name.empty()) {
        printer.indices[axis.index] = names.unused(axis.name, used);
        used.insert(printer.indices[axis.index]);
      }
  };
  bind(node.points);
  if (node.reduction) {
    bind(node.reduction->axes);
    for (const auto& axes : node.reduction->field_axes) bind(axes);
  }
  for (const Result& result : node.results) bind(result.extra);
  return printer.print(id);
}

std::string to_text(const Graph& graph, ExprId id) {
  Names names(graph);
  return TermPrinter(graph, names).print(id);
}

} // namespace tang::graph

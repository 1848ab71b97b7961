// `grad of with cotangent wrt x -> dx`: a node that the law `differentiate` replaces.
#include "graph/activity.h"
#include "graph/text.h"
#include "parse/elaborate/equations.h"
#include "parse/elaborate/outputs.h"
#include <unordered_set>

namespace tang::parse {
namespace {

using graph::ElemType;

class GradientBuilder {
public:
  GradientBuilder(Context& c, const Grad& g, Span span) : c_(c), g_(g), span_(span) {}

  void run() {
    bool ok = name_tensors();
    graph::Node node{node_, span_, {}};
    if (ok) warn_independent();
    for (size_t k = 0; k < g_.pairs.size(); ++k) {
      graph::TensorId result = ok ? add_result(k) : graph::TensorId();
      declare_tensor(c_, g_.pairs[k].gradient, result);
      node_.pairs[k].result = result;
    }
    node.definition = node_;
    if (ok) c_.nodes->push_back(std::move(node));
  }

private:
  /// A tensor of reals; nothing, and a report, for anything else.
  graph::TensorId real_tensor(const Name& name, std::string_view role) {
    auto id = tensor_named(c_, name);
    if (!id) return {};
    const graph::Tensor& tensor = c_.graph[*id];
    if (graph::scalar_of(tensor.type) == Scalar::real) return *id;
    c_.report(Kind::not_differentiable, name.span, "{} `{}` holds {}", role, name.text,
              tensor.type == ElemType::boolean ? "truth values" : "integers")
        .note(tensor.span, "it is defined here");
    return {};
  }

  bool name_tensors() {
    node_.of = real_tensor(g_.of, "what is differentiated,");
    bool ok = static_cast<bool>(node_.of);
    if (g_.cotangent) {
      node_.cotangent = real_tensor(*g_.cotangent, "the cotangent");
      ok &= static_cast<bool>(node_.cotangent);
    }
    for (const GradPair& pair : g_.pairs) {
      node_.pairs.push_back({real_tensor(pair.wrt, "the variable"), {}});
      ok &= static_cast<bool>(node_.pairs.back().wrt);
    }
    return ok && (g_.cotangent ? check_cotangent() : check_scalar());
  }

  bool check_scalar() {
    const graph::Tensor& of = c_.graph[node_.of];
    if (of.shape.empty()) return true;
    c_.report(Kind::missing_cotangent, g_.of.span,
              "`{}` has {} {}, so its gradient needs a cotangent", g_.of.text, of.shape.size(),
              of.shape.size() == 1 ? "axis" : "axes")
        .note(of.span, "it is defined here")
        .help(fmt::format("`grad {} with d{} wrt ...`, where `d{}` has the shape of `{}`",
                          g_.of.text, g_.of.text, g_.of.text, g_.of.text));
    return false;
  }

  bool check_cotangent() {
    const graph::Tensor &of = c_.graph[node_.of], &dy = c_.graph[node_.cotangent];
    const Name& name = *g_.cotangent;
    if (of.shape.size() != dy.shape.size()) {
      c_.report(Kind::wrong_rank, name.span, "`{}` has {} ax{}, and its cotangent `{}` has {}",
                g_.of.text, of.shape.size(), of.shape.size() == 1 ? "is" : "es", name.text,
                dy.shape.size())
          .note(of.span, fmt::format("`{}` is defined here", g_.of.text));
      return false;
    }
    for (size_t k = 0; k < of.shape.size(); ++k) {
      if (of.shape[k] == dy.shape[k]) continue;
      c_.report(Kind::extents_disagree, name.span,
                "axis {} of `{}` has extent {}, and of its cotangent `{}` extent {}", k, g_.of.text,
                graph::to_text(c_.graph, of.shape[k]), name.text,
                graph::to_text(c_.graph, dy.shape[k]))
          .note(of.span, fmt::format("`{}` is defined here", g_.of.text));
      return false;
    }
    return true;
  }

  void warn_independent() {
    for (size_t k = 0; k < g_.pairs.size(); ++k) {
      std::unordered_set<graph::TensorId> active{node_.pairs[k].wrt};
      for (const graph::Node& node : c_.graph.nodes) graph::add_active(c_.graph, node, active);
      if (active.contains(node_.of)) continue;
      const Name& wrt = g_.pairs[k].wrt;
      c_.report(Kind::zero_gradient, wrt.span, "`{}` does not depend on `{}`: the gradient is 0",
                g_.of.text, wrt.text)
          .note(c_.graph[node_.of].span, fmt::format("`{}` is defined here", g_.of.text));
    }
  }

  graph::TensorId add_result(size_t k) {
    const Name& name = g_.pairs[k].gradient;
    graph::TensorId wrt = node_.pairs[k].wrt;
    bool wide = false;
    for (graph::TensorId id : {wrt, node_.of, node_.cotangent})
      wide |= id && c_.graph[id].type == ElemType::f64;
    graph::Tensor tensor;
    tensor.name = name.text, tensor.span = name.span;
    if (!c_.tensor_names.insert(tensor.name).second) tensor.name = c_.unique_tensor_name(name.text);
    tensor.shape = c_.graph[wrt].shape;
    tensor.type = wide ? ElemType::f64 : ElemType::f32;
    return c_.graph.add(std::move(tensor));
  }

  Context& c_;
  const Grad& g_;
  Span span_;
  graph::Gradient node_;
};

} // namespace

void elaborate_grad(Context& context, const Grad& grad, Span span) {
  GradientBuilder(context, grad, span).run();
}

} // namespace tang::parse

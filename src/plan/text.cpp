#include "graph/text.h"
#include "base/check.h"
#include "base/text_writer.h"
#include "plan/plan.h"
#include <algorithm>

namespace tang::plan {

std::string_view name(Emitter emitter) {
  switch (emitter) {
  case Emitter::point: return "point";
  case Emitter::row: return "row";
  case Emitter::tile: return "tile";
  case Emitter::stream: return "stream";
  }
  return "";
}

std::string_view name(Precision precision) {
  switch (precision) {
  case Precision::full: return "full";
  case Precision::f16: return "f16";
  case Precision::bf16: return "bf16";
  case Precision::tf32: return "tf32";
  case Precision::i8: return "i8";
  case Precision::u8: return "u8";
  case Precision::tf32x3: return "tf32x3";
  case Precision::bf16x3: return "bf16x3";
  }
  return "";
}

graph::ElemType format_of(Precision precision) {
  TANG_CHECK(precision != Precision::full, "full precision has no format of its own");
  bool f32 = precision == Precision::tf32 || is_split(precision);
  return *graph::type_of_name(f32 ? "f32" : name(precision));
}

const graph::Pieces* pieces_of(Precision precision) {
  switch (precision) {
  case Precision::tf32x3: return &graph::tf32x3;
  case Precision::bf16x3: return &graph::bf16x3;
  case Precision::full:
  case Precision::f16:
  case Precision::bf16:
  case Precision::tf32:
  case Precision::i8:
  case Precision::u8: break;
  }
  return nullptr;
}

int bits_of_product(Precision precision) {
  const graph::Pieces* pieces = pieces_of(precision);
  if (!pieces) return graph::info(format_of(precision)).bits;
  return static_cast<int>(pieces->products.size()) * graph::info(pieces->held).bits;
}

int copied_at_once(const Fields& fields) {
  int bits = graph::info(format_of(fields.precision)).bits;
  return std::max(fields.vector, 32 / bits);
}

int terms_at_once(const Fields& fields) {
  return std::min(fields.block_k, 8);
}

Precision precision_of(graph::ElemType format, bool tf32) {
  for (Precision precision : all_precisions)
    if (precision != Precision::full && !is_split(precision) &&
        (precision != Precision::tf32 || tf32) && format_of(precision) == format)
      return precision;
  return Precision::full;
}

namespace {

/// A field's value as text.
std::string shown(Precision value) {
  return std::string(name(value));
}
template <class T>
std::string shown(T value) {
  return fmt::format("{}", value);
}

/// A YAML scalar in double quotes.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

std::string text_of(const graph::Graph& graph, const Fact& fact) {
  std::string extent = graph::to_text(graph, fact.extent);
  switch (fact.kind) {
  case Fact::Kind::divisible: return fmt::format("({}) % {} == 0", extent, fact.value);
  case Fact::Kind::at_most: return fmt::format("{} <= {}", extent, fact.value);
  }
  return "";
}

class PlanWriter {
public:
  explicit PlanWriter(const graph::Graph& graph) : graph_(graph) {}

  void steps(const std::vector<Step>& steps) {
    for (const Step& step : steps)
      std::visit(Overload{[this](const KernelPlan& k) { kernel(k); },
                          [this](const RecurPlan& r) {
                            out_.line("- recur: {}", r.node);
                            out_.raw("  steps:");
                            out_.indent();
                            this->steps(r.steps);
                            out_.dedent();
                          }},
                 step.node);
  }
  void head() {
    out_.line("graph: {}", quoted(graph_.name));
    out_.raw("steps:");
  }
  std::string take() { return out_.take(); }

private:
  void kernel(const KernelPlan& k) {
    out_.line("- kernel: {}", quoted(k.name));
    out_.line("  emitter: {}", name(k.emitter));
    std::string nodes;
    for (uint32_t node : k.nodes) nodes += fmt::format("{}{}", nodes.empty() ? "" : ", ", node);
    out_.line("  nodes: [{}]", nodes);
    if (k.beside) out_.line("  beside: true");
    if (!k.reason.empty()) out_.line("  reason: {}", quoted(k.reason));
    out_.raw("  variants:");
    for (const Variant& variant : k.variants) {
      out_.line("  - fields: {}", to_text(variant.fields));
      std::string facts;
      for (const Fact& fact : variant.when)
        facts += (facts.empty() ? "" : ", ") + quoted(text_of(graph_, fact));
      if (!facts.empty()) out_.line("    when: [{}]", facts);
    }
  }

  const graph::Graph& graph_;
  TextWriter out_;
};

} // namespace

std::string to_text(const Fields& fields) {
  std::string text;
  const Fields initial;
  auto field = [&](std::string_view name, const auto& value, const auto& usual) {
    if (value != usual)
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, shown(value));
  };
#define TANG_FIELD(type, name, initial_value, least, greatest, readers, text)                      \
  field(#name, fields.name, initial.name);
#include "plan/fields.def"
#undef TANG_FIELD
  return "{" + text + "}";
}

std::string to_text(const graph::Graph& graph, const Plan& plan) {
  PlanWriter writer(graph);
  writer.head();
  writer.steps(plan.steps);
  return writer.take();
}

} // namespace tang::plan

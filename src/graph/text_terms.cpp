#include "graph/text_terms.h"
#include "base/ascii.h"
#include "base/check.h"
#include "graph/reads.h"
#include <cmath>
#include <fmt/ranges.h>

namespace tang::graph {
namespace {

/// Words that a name must not be: keywords of expressions, functions, reductions, types.
const std::set<std::string, std::less<>>& reserved() {
  static const std::set<std::string, std::less<>> words = [] {
    std::set<std::string, std::less<>> all{
        "where", "else", "and", "or",  "not", "true",   "false",  "inf",  "nan", "sum",
        "prod",  "max",  "min", "any", "all", "argmax", "argmin", "topk", "scan"};
#define TANG_OP(name, arity, operands, result, text) all.insert(text);
#include "graph/ops.def"
#undef TANG_OP
#define TANG_TYPE(type, bits, scalar, bytes) all.insert(std::string(info(ElemType::type).name));
#include "graph/types.def"
#undef TANG_TYPE
    return all;
  }();
  return words;
}

std::string legal(std::string_view wish) {
  std::string name;
  for (char c : wish) name += is_name_part(c) ? c : '_';
  if (name.empty() || is_digit(name[0])) name.insert(0, "t");
  return name;
}

} // namespace

Names::Names(const Graph& graph) {
  for (const Dim& dim : graph.dims) dims.push_back(unique(dim.name));
  tensors.resize(graph.tensors.size());
  // What a caller sees keeps its name first.
  for (TensorId id : graph.inputs) tensors[id.value] = unique(graph[id].name);
  for (TensorId id : graph.outputs)
    if (tensors[id.value].empty()) tensors[id.value] = unique(graph[id].name);
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].empty()) tensors[i] = unique(graph.tensors[i].name);
  for (const Monoid& monoid : graph.monoids)
    monoids.push_back(monoid.builtin ? monoid.name : unique(monoid.name));
}

std::string Names::unused(const std::string& base, int& n,
                          const std::set<std::string>& also) const {
  auto name = [&] { return n ? fmt::format("{}_{}", base, n) : base; };
  while (taken.contains(name()) || also.contains(name()) || reserved().contains(name())) ++n;
  return name();
}

std::string Names::unused(std::string_view wish, const std::set<std::string>& also) const {
  std::string base = legal(wish);
  auto known = next_.find(base);
  int n = known == next_.end() ? 0 : known->second;
  return unused(base, n, also);
}

std::string Names::unique(std::string_view wish) {
  std::string base = legal(wish);
  int& next = next_[base];
  order_.push_back({{}, base, next});
  // Many tensors may have one name: each looks on where the last one stopped.
  std::string name = order_.back().name = unused(base, next, {});
  taken.insert(name);
  return name;
}

void Names::rewind(size_t mark) {
  for (; order_.size() > mark; order_.pop_back()) {
    taken.erase(order_.back().name);
    next_[order_.back().base] = order_.back().next;
  }
}

bool is_prefix_reduction(const Monoid& monoid) {
  return monoid.builtin;
}

std::string reduction_head(std::string_view name, const std::vector<std::string>& binders,
                           const std::string& filter) {
  return fmt::format("{}[{}{}{}]", name, fmt::join(binders, ", "), filter.empty() ? "" : " where ",
                     filter);
}

std::string TermPrinter::real(double value, Level level) const {
  if (std::isnan(value)) return "nan";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".ein") == std::string::npos) text += ".0";
  return text[0] == '-' && level > Level::unary ? fmt::format("({})", text) : text;
}

const std::string& TermPrinter::index(IndexId id) {
  auto [at, inserted] = indices.try_emplace(id);
  if (inserted) {
    std::set<std::string> used;
    for (const auto& [other, name] : indices) used.insert(name);
    at->second = names_.unused(fmt::format("r{}", id.value), used);
  }
  return at->second;
}

std::string TermPrinter::list(std::span<const ExprId> ids, int depth) {
  std::string text;
  for (ExprId id : ids) text += (text.empty() ? "" : ", ") + print(id, Level::any, depth);
  return text;
}

/// An integer beside a real becomes a real by itself; elsewhere `1.0 * x` says so.
std::string TermPrinter::operand(ExprId id, ExprId sibling, Level level, int depth) {
  const Expr& e = graph_.exprs[id];
  bool promoted = e.op == Op::to_real && graph_.exprs[sibling].op != Op::to_real;
  return print(promoted ? e.operands[0] : id, level, depth);
}

std::string TermPrinter::infix(const Expr& e, Level own, Level level, int depth) {
  auto tighter = static_cast<Level>(static_cast<int>(own) + 1);
  // Comparisons do not chain; a reduction on the left would take what follows it.
  Level left = own == Level::comparison ? tighter : own;
  std::string text =
      fmt::format("{} {} {}", operand(e.operands[0], e.operands[1], left, depth), info(e.op).text,
                  operand(e.operands[1], e.operands[0], tighter, depth));
  return level > own ? fmt::format("({})", text) : text;
}

std::string TermPrinter::read(ExprId id, Level level, int depth) {
  const Expr& e = graph_.exprs[id];
  std::string text = names_.tensors[e.ref];
  if (!places_of(e).empty()) text += fmt::format("[{}]", list(places_of(e), depth));
  std::string otherwise;
  if (e.guarded)
    otherwise = print(e.operands.back(), Level::primary, depth);
  else if (guarded.contains(id))
    otherwise = e.scalar == Scalar::real ? "0.0" : e.scalar == Scalar::integer ? "0" : "false";
  if (otherwise.empty()) return text;
  text += " else " + otherwise;
  // Inside a product the parentheses are for the reader.
  return level >= Level::product ? fmt::format("({})", text) : text;
}

std::string TermPrinter::state(const Expr& e, int depth) {
  std::string text, places = list(e.operands, depth);
  if (e.op == Op::acc) {
    text = e.ref < states.size() ? states[e.ref] : fmt::format("acc{}", e.ref);
    if (!state_points.empty()) places = state_points + (places.empty() ? "" : ", ") + places;
  } else {
    text = e.op == Op::lhs ? "a." : "b.";
    text += monoid ? legal(monoid->fields[e.ref].name) : fmt::format("{}", e.ref);
  }
  return places.empty() ? text : fmt::format("{}[{}]", text, places);
}

std::string TermPrinter::fold(const Expr& e, Level level, int depth) {
  const Monoid& m = graph_.monoids[e.ref];
  std::vector<std::string> binders;
  for (size_t k = 0; k < e.bound.size(); ++k)
    binders.push_back(
        fmt::format("{}: {}", index(e.bound[k]), print(e.operands[2 + k], Level::any, depth)));
  std::string filter;
  if (graph_.exprs.as_boolean(e.operands[1]) != true)
    filter = print(e.operands[1], Level::any, depth);
  std::string head = reduction_head(names_.monoids[e.ref], binders, filter);
  if (!is_prefix_reduction(m))
    return fmt::format("{}({})", head, print(e.operands[0], Level::any, depth));
  std::string text = fmt::format("{} {}", head, print(e.operands[0], Level::product, depth));
  return level > Level::fold ? fmt::format("({})", text) : text;
}

std::string TermPrinter::print(ExprId id, Level level, int depth) {
  const ExprStore& s = graph_.exprs;
  if (auto at = replaced.find(id); at != replaced.end()) return at->second;
  if (++depth > max_depth) return "...";
  const Expr& e = s[id];
  auto sub = [&](size_t k, Level l) { return print(e.operands[k], l, depth); };
  auto call = [&](std::string_view name) {
    return fmt::format("{}({})", name, list(e.operands, depth));
  };
  auto wrap = [&](Level own, std::string text) {
    return level > own ? fmt::format("({})", text) : text;
  };
  switch (e.op) {
  case Op::literal_int:
    // The least integer has no literal: its magnitude is one too large.
    if (e.integer == std::numeric_limits<int64_t>::min())
      return wrap(Level::sum, fmt::format("{} - 1", e.integer + 1));
    return e.integer < 0 ? wrap(Level::unary, fmt::format("{}", e.integer))
                         : fmt::format("{}", e.integer);
  case Op::literal_real: return real(e.real, level);
  case Op::literal_bool: return e.integer ? "true" : "false";
  case Op::index: return index(IndexId(e.ref));
  case Op::dim: return names_.dims[e.ref];
  case Op::read: return read(id, level, depth);
  case Op::acc:
  case Op::lhs:
  case Op::rhs: return state(e, depth);
  case Op::fold: return fold(e, level, depth);
  case Op::add:
  case Op::sub: return infix(e, Level::sum, level, depth);
  case Op::mul:
  case Op::div: return infix(e, Level::product, level, depth);
  case Op::neg: return wrap(Level::unary, "-" + sub(0, Level::primary));
  case Op::eq:
  case Op::ne:
  case Op::lt:
  case Op::le: return infix(e, Level::comparison, level, depth);
  case Op::logical_or: return infix(e, Level::any, level, depth);
  case Op::logical_and: return infix(e, Level::conjunction, level, depth);
  case Op::logical_not: return wrap(Level::negation, "not " + sub(0, Level::negation));
  case Op::to_real: return wrap(Level::product, "1.0 * " + sub(0, Level::unary));
  case Op::cast: return call(info(e.to).name);
  case Op::select:
  case Op::min:
  case Op::max:
  case Op::abs:
  case Op::sign:
  case Op::floordiv:
  case Op::mod:
  case Op::pow:
  case Op::atan2:
  case Op::floor:
  case Op::ceil:
  case Op::round:
  case Op::exp:
  case Op::exp2:
  case Op::log:
  case Op::log2:
  case Op::sqrt:
  case Op::rsqrt:
  case Op::sin:
  case Op::cos:
  case Op::tan:
  case Op::tanh:
  case Op::erf:
  case Op::bit_and:
  case Op::bit_or:
  case Op::bit_xor:
  case Op::shl:
  case Op::shr: return call(info(e.op).text);
  }
  TANG_CHECK(false, "no spelling for op {}", static_cast<int>(e.op));
}

} // namespace tang::graph

#include "parse/elaborate/context.h"
#include <algorithm>

namespace tang::parse {

Diagnostic& Context::report(Kind kind, Span span, std::string message) {
  Diagnostic& d = sink->report(kind, span, std::move(message));
  if (place)
    d.note({}, place->column > 0
                   ? fmt::format("from {}:{}:{}", place->file, place->line, place->column)
                   : fmt::format("from {}:{}", place->file, place->line));
  return d;
}

Diagnostic& Context::report_limit(Kind kind, Span span, std::string message) {
  Sink* current = std::exchange(sink, limit_sink);
  Diagnostic& diagnostic = report(kind, span, std::move(message));
  sink = current;
  return diagnostic;
}

bool Context::charge(Span span, uint64_t amount) {
  constexpr uint64_t limit = 10'000'000;
  if (expanding == 0) return true;
  if (charged > limit) return false;
  charged += amount;
  if (charged <= limit) return true;
  report_limit(Kind::expansion_too_large, span, "this expands to more than 10 million terms")
      .help("give inner values names with equations of their own");
  return false;
}

Symbol* Context::find(const std::string& name) {
  auto at = symbols.find(name);
  return at == symbols.end() ? nullptr : &at->second;
}

const Callable* Context::find_callable(const std::string& name, size_t visible) const {
  auto at = callables_by_name.find(name);
  if (at == callables_by_name.end()) return nullptr;
  for (auto i = at->second.rbegin(); i != at->second.rend(); ++i)
    if (*i < visible) return &callables[*i];
  return nullptr;
}

Symbol* Context::declare(const Name& name, std::variant<TensorSymbol, DimSymbol, LetSymbol> what) {
  auto [at, inserted] = symbols.try_emplace(name.text, Symbol{name.span, what, false});
  if (inserted) return &at->second;
  report(Kind::duplicate_definition, name.span, "`{}` is defined twice", name.text)
      .note(at->second.span, "the first definition is here");
  return nullptr;
}

void Context::declare_callable(const Name& name, Callable callable) {
  if (graph::type_of_name(name.text))
    report(Kind::duplicate_definition, name.span,
           "`{}` is an element type, and its conversion is called so", name.text);
  auto& same = callables_by_name[name.text];
  // A file may define what <nn> defines as well; its own definition takes precedence.
  if (!same.empty() && callables[same.back()].is_library == callable.is_library)
    report(Kind::duplicate_definition, name.span, "`{}` is defined twice", name.text)
        .note(callables[same.back()].span, "the first definition is here");
  same.push_back(callables.size());
  callables.push_back(std::move(callable));
}

bool Context::report_not_yet(const Name& name) {
  auto later = declared.find(name.text);
  if (later == declared.end() || symbols.contains(name.text)) return false;
  Diagnostic& d = report(Kind::use_before_definition, name.span,
                         "`{}` is used before its definition", name.text);
  d.note(later->second, "it is defined here");
  if (later->second.file == name.span.file && later->second.begin < name.span.begin)
    d.help("what builds on earlier elements of itself is a `recur`, or a `scan` of a monoid");
  return true;
}

void Context::report_unknown(const Name& name, std::vector<std::string> more) {
  if (report_not_yet(name)) return;
  constexpr size_t most_suggestions = 100;
  if (++suggestions > most_suggestions)
    more.clear();
  else
    for (const auto& [known, symbol] : symbols) more.push_back(known);
  std::sort(more.begin(), more.end());
  std::string near = nearest_name(name.text, more);
  Diagnostic& d = report(Kind::unknown_name, name.span, "unknown name `{}`", name.text);
  // No letter is nearer than another: say which names there are.
  if (near.empty() && (name.text.size() > 1 || more.empty())) return;
  d.help(name_help(name.text, "name", more));
  d.fix = near;
}

void Context::report_unknown_tensor(const Name& name) {
  if (report_not_yet(name)) return;
  std::vector<std::string> known;
  for (const auto& [other, symbol] : symbols)
    if (std::holds_alternative<TensorSymbol>(symbol.what)) known.push_back(other);
  std::sort(known.begin(), known.end());
  Diagnostic& d = report(Kind::unknown_name, name.span, "unknown name `{}`", name.text);
  d.help(name_help(name.text, "tensor", known));
  if (std::string near = nearest_name(name.text, known); !near.empty()) d.fix = near;
}

void Context::report_unknown_function(const Name& name, size_t visible) {
  if (auto at = callables_by_name.find(name.text); at != callables_by_name.end()) {
    report(Kind::use_before_definition, name.span, "`{}` is used before its definition", name.text)
        .note(callables[at->second.front()].span, "it is defined here");
    return;
  }
  if (auto later = declared.find("()" + name.text); later != declared.end()) {
    report(Kind::use_before_definition, name.span, "`{}` is used before its definition", name.text)
        .note(later->second, "it is defined here");
    return;
  }
  std::vector<std::string> known;
  for (size_t i = 0; i < std::min(visible, callables.size()); ++i)
    known.push_back(callables[i].name);
  for (std::string_view op :
       {"sum",   "prod",     "max",   "min",    "any",   "all",    "argmax", "argmin", "topk",
        "where", "abs",      "floor", "ceil",   "round", "sign",   "exp",    "exp2",   "log",
        "log2",  "sqrt",     "rsqrt", "sin",    "cos",   "tan",    "atan2",  "tanh",   "erf",
        "pow",   "floordiv", "mod",   "bitand", "bitor", "bitxor", "shl",    "shr"})
    known.emplace_back(op);
  std::string near = nearest_name(name.text, known);
  Diagnostic& d = report(Kind::unknown_function, name.span, "unknown function `{}`", name.text);
  if (const Symbol* symbol = find(name.text)) {
    if (std::holds_alternative<TensorSymbol>(symbol->what))
      d.note(symbol->span, "a tensor is called so")
          .help(fmt::format("it is read with brackets, `{}[i]`, and a product is written with `*`",
                            name.text));
  } else if (name.text == "if") {
    d.help("a choice is written `where(c, a, b)`");
  } else if (!near.empty()) {
    d.help(fmt::format("did you mean `{}`?", near));
    d.fix = near;
  }
}

std::string Context::unique_tensor_name(const std::string& base) {
  std::string name = base;
  int& next = next_suffix.try_emplace(base, 2).first->second;
  while (tensor_names.contains(name) || declared.contains(name))
    name = fmt::format("{}_{}", base, next++);
  tensor_names.insert(name);
  return name;
}

namespace {

/// The element type that another language calls so; empty for none.
std::string usual_name(std::string_view text) {
  constexpr std::pair<std::string_view, const char*> names[] = {
      {"double", "f64"},  {"float64", "f64"},   {"float", "f32"}, {"float32", "f32"},
      {"single", "f32"},  {"real", "f32"},      {"half", "f16"},  {"float16", "f16"},
      {"bfloat", "bf16"}, {"bfloat16", "bf16"}, {"long", "i64"},  {"int64", "i64"},
      {"int", "i32"},     {"int32", "i32"},     {"short", "i16"}, {"int16", "i16"},
      {"char", "i8"},     {"int8", "i8"},       {"int4", "i4"},   {"unsigned", "u32"},
      {"uint", "u32"},    {"uint32", "u32"},    {"byte", "u8"},   {"uint8", "u8"},
      {"uint4", "u4"},    {"boolean", "bool"}};
  for (auto [name, type] : names)
    if (name == text) return type;
  return "";
}

} // namespace

std::optional<graph::ElemType> Context::element_type(const Name& name) {
  auto type = graph::type_of_name(name.text);
  if (type) return type;
  std::vector<std::string> known;
  for (std::string_view n : {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64", "i32", "i16",
                             "i8", "i4", "u32", "u8", "u4", "bool"})
    known.emplace_back(n);
  std::string near = usual_name(name.text);
  if (near.empty()) near = nearest_name(name.text, known);
  Diagnostic& d = report(Kind::unknown_type, name.span, "unknown element type `{}`", name.text);
  if (near.empty())
    d.help("the types are f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i16 i8 i4 u32 u8 u4 bool");
  else
    d.help(fmt::format("did you mean `{}`?", near)).fix = near;
  return std::nullopt;
}

void Context::add_node(graph::Comprehension node, Span span) {
  graph::Node n;
  n.definition = graph::canonicalize(terms(), std::move(node));
  n.span = span;
  nodes->push_back(std::move(n));
}

std::string backquoted(std::string_view text) {
  return fmt::format("`{}`", text);
}

} // namespace tang::parse

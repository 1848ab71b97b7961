#include "parse/elaborate/elaborate.h"
#include "base/check.h"
#include "parse/elaborate/callables.h"
#include "parse/elaborate/context.h"
#include "parse/elaborate/declarations.h"
#include "parse/elaborate/equations.h"
#include "parse/elaborate/outputs.h"
#include "parse/elaborate/statements.h"
#include "parse/parser.h"
#include <algorithm>
#include <unordered_set>

namespace tang::parse {
namespace {

/// The names of values that a statement binds, other than those that a `repeat` binds again.
template <class F>
void for_each_value(const Stmt& stmt, const F& value) {
  std::visit(Overload{[](const Version&) {}, [](const GraphName&) {}, [](const Include&) {},
                      [](const Output&) {}, [](const Store&) {}, [](const Accumulate&) {},
                      [](const Budget&) {}, [](const Repeat&) {}, [](const Def&) {},
                      [](const Monoid&) {},
                      [&](const Dim& x) {
                        for (const DimEntry& entry : x.entries) value(entry.declared.name);
                      },
                      [&](const Input& x) { value(x.declared.name); },
                      [&](const Const& x) { value(x.declared.name); },
                      [&](const Let& x) { value(x.name); },
                      [&](const Equation& x) {
                        for (const LeftSide& left : x.lefts) value(left.tensor);
                      },
                      [&](const Grad& x) {
                        for (const GradPair& pair : x.pairs) value(pair.gradient);
                      },
                      [&](const Recur& x) {
                        for (const CarryPair& pair : x.carry) value(pair.carried);
                        for (const CollectPair& pair : x.collect) value(pair.collected);
                      }},
             stmt.form);
}

/// Names that the top level of a file declares, first place each: what is used above is "not yet"
/// and not "unknown".
void collect_declared(Context& c, const Module& m) {
  for (StmtId id : m.top) {
    for_each_value(m[id], [&](const Name& name) { c.declared.try_emplace(name.text, name.span); });
    if (const Def* def = std::get_if<Def>(&m[id].form))
      c.declared.try_emplace("()" + def->name.text, def->name.span);
    if (const Monoid* monoid = std::get_if<Monoid>(&m[id].form))
      c.declared.try_emplace("()" + monoid->name.text, monoid->name.span);
  }
}

/// What a statement leaves erroneous was reported: otherwise a part of the program would vanish.
void check_made(Context& c, const Stmt& stmt, size_t outputs_before) {
  auto check = [&](const Name& name) {
    const Symbol* symbol = c.find(name.text);
    TANG_CHECK(symbol, "`{}` was not defined, and nothing was reported", name.text);
    bool made = std::visit(Overload{[](const TensorSymbol& x) { return static_cast<bool>(x.id); },
                                    [](const DimSymbol& x) { return static_cast<bool>(x.value); },
                                    [](const LetSymbol& x) { return static_cast<bool>(x.value); }},
                           symbol->what);
    TANG_CHECK(made, "`{}` was dropped, and nothing was reported", name.text);
  };
  for_each_value(stmt, check);
  if (const Repeat* x = std::get_if<Repeat>(&stmt.form))
    for (const Name& name : x->carry) check(name);
  if (const Output* x = std::get_if<Output>(&stmt.form))
    TANG_CHECK(c.graph.outputs.size() == outputs_before + 1,
               "output `{}` was dropped, and nothing was reported", x->tensor.text);
}

void warn_unused_inputs(Context& c) {
  std::unordered_set<graph::TensorId> used;
  for (const auto& [name, symbol] : c.symbols)
    if (symbol.used)
      if (const TensorSymbol* tensor = std::get_if<TensorSymbol>(&symbol.what))
        used.insert(tensor->id);
  for (const graph::Node& node : c.graph.nodes)
    for (graph::TensorId id : graph::reads_of(c.graph, node)) used.insert(id);
  for (graph::TensorId id : c.graph.inputs)
    if (!used.contains(id))
      c.sink->report(Kind::unused_input, c.graph[id].span, "{} `{}` is not used",
                     c.graph[id].kind == graph::TensorKind::param ? "param" : "input",
                     c.graph[id].name);
}

void load_library(Context& c) {
  if (c.options.library_text.empty()) return;
  FileId file = c.sources.add("<nn>", std::string(c.options.library_text));
  auto module = parse_module(c.sources, file, *c.sink);
  if (!module) return;
  c.modules.push_back(std::move(*module));
  const Module& m = c.modules.back();
  for (StmtId id : m.top) {
    if (const Def* def = std::get_if<Def>(&m[id].form)) declare_def(c, m, *def, true);
    if (const Monoid* monoid = std::get_if<Monoid>(&m[id].form))
      declare_monoid(c, m, *monoid, true);
  }
}

std::string folder_of(const std::string& path) {
  size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

/// `a/./b/../c` as `a/c`: a file is included once whatever way it is named.
std::string normalized(const std::string& path) {
  std::vector<std::string> parts;
  size_t at = 0;
  while (at <= path.size()) {
    size_t slash = std::min(path.find('/', at), path.size());
    std::string part = path.substr(at, slash - at);
    if (part == ".." && !parts.empty() && parts.back() != ".." && !parts.back().empty())
      parts.pop_back();
    else if (part != "." && (!part.empty() || at == 0))
      parts.push_back(std::move(part));
    at = slash + 1;
  }
  std::string result;
  for (size_t i = 0; i < parts.size(); ++i) result += (i ? "/" : "") + parts[i];
  return result;
}

void elaborate_file(Context& c, const Module& m, bool is_root) {
  for (StmtId id : m.top) elaborate_statement(c, m, m[id], is_root);
}

/// An equation that reads an input means the input as given: outputs stored over one come last.
void replace_inputs_last(graph::Graph& graph) {
  std::stable_partition(graph.nodes.begin(), graph.nodes.end(), [&](const graph::Node& node) {
    auto defined = graph::defines_of(node);
    return std::none_of(defined.begin(), defined.end(),
                        [&](graph::TensorId id) { return static_cast<bool>(graph[id].over); });
  });
}

} // namespace

void elaborate_include(Context& c, const Module& m, const Include& include) {
  if (include.is_library) {
    if (include.path != "nn")
      c.report(Kind::cannot_read, include.span, "there is no library `<{}>`", include.path)
          .help("the standard library is `<nn>`");
    return;
  }
  const std::string& from = c.sources.file(m.file).path;
  std::string path = include.path.starts_with('/') ? include.path : folder_of(from) + include.path;
  path = normalized(path);
  auto open = std::find_if(c.including.begin(), c.including.end(),
                           [&](const auto& entry) { return entry.first == path; });
  if (open != c.including.end()) {
    Diagnostic& d = c.report(Kind::include_cycle, include.span, "`{}` includes itself", path);
    for (auto at = open + 1; at != c.including.end(); ++at)
      d.note(at->second, fmt::format("through `{}`, included here", at->first));
    return;
  }
  if (!c.included.insert(path).second) return;
  auto text = c.options.read_file ? c.options.read_file(path) : std::nullopt;
  if (!text) {
    c.report(Kind::cannot_read, include.span, "`{}` cannot be read", path);
    return;
  }
  c.included_order.push_back(path);
  FileId file = c.sources.add(path, std::move(*text));
  auto module = parse_module(c.sources, file, *c.sink);
  if (!module) return;
  c.modules.push_back(std::move(*module));
  const Module& inner = c.modules.back();
  collect_declared(c, inner);
  c.including.emplace_back(path, include.span);
  elaborate_file(c, inner, false);
  c.including.pop_back();
}

void elaborate_statement(Context& c, const Module& m, const Stmt& stmt, bool is_root) {
  std::optional<ForeignPlace> outer = std::exchange(c.place, stmt.loc);
  size_t outputs = c.graph.outputs.size();
  auto only_root = [&](auto&& f) {
    if (is_root)
      f();
    else
      c.report(Kind::misplaced_in_include, stmt.span,
               "an included file holds `def`, `monoid`, `let`, `dim` and `include` only");
  };
  std::visit(
      Overload{
          [](const Version&) {},
          [&](const GraphName& x) {
            if (is_root) c.graph.name = x.declared.name.text;
          },
          [&](const Dim& x) { declare_dims(c, m, x); }, [&](const Let& x) { declare_let(c, m, x); },
          [&](const Def& x) { declare_def(c, m, x, false); },
          [&](const Monoid& x) { declare_monoid(c, m, x, false); },
          [&](const Include& x) { elaborate_include(c, m, x); },
          [&](const Input& x) { only_root([&] { declare_input(c, m, x); }); },
          [&](const Const& x) { only_root([&] { declare_const(c, m, x); }); },
          [&](const Equation& x) { only_root([&] { elaborate_equation(c, m, x, stmt.span); }); },
          [&](const Output& x) { only_root([&] { declare_output(c, m, x, stmt.span); }); },
          [&](const Grad& x) { only_root([&] { elaborate_grad(c, x, stmt.span); }); },
          [&](const Store& x) { only_root([&] { apply_store(c, x); }); },
          [&](const Accumulate& x) { only_root([&] { apply_accumulate(c, x); }); },
          [&](const Budget& x) { only_root([&] { apply_budget(c, m, x); }); },
          [&](const Repeat& x) { only_root([&] { elaborate_repeat(c, m, x, stmt.span); }); },
          [&](const Recur& x) { only_root([&] { elaborate_recur(c, m, x, stmt.span); }); }},
      stmt.form);
  if (c.sink->error_count() == c.errors_before) check_made(c, stmt, outputs);
  c.place = std::move(outer);
}

std::optional<graph::Graph> elaborate(SourceManager& sources, FileId root,
                                      const ElaborateOptions& options, Sink& sink,
                                      std::vector<std::string>* included) {
  size_t errors = sink.error_count();
  auto module = parse_module(sources, root, sink);
  if (!module) return std::nullopt;
  Context c(sources, options, sink);
  load_library(c);
  c.modules.push_back(std::move(*module));
  const Module& m = c.modules.back();
  collect_declared(c, m);
  std::string path = normalized(sources.file(root).path);
  c.included.insert(path);
  c.including.emplace_back(path, Span());
  elaborate_file(c, m, true);
  if (included) included->insert(included->end(), c.included_order.begin(), c.included_order.end());
  check_bindings(c);
  if (sink.error_count() == errors) {
    warn_unused_inputs(c);
    if (c.output_count == 0)
      sink.report(Kind::no_output, {}, "`{}` states no output", sources.file(root).path);
  }
  if (sink.error_count() > errors) return std::nullopt;
  replace_inputs_last(c.graph);
  return std::move(c.graph);
}

} // namespace tang::parse

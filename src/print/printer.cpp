#include "print/printer.h"
#include "base/check.h"
#include "print/kernel_printer.h"
#include "print/launcher.h"
#include "print/prelude.h"
#include "print/tables.h"
#include <algorithm>

namespace tang::print {

using namespace kernel;

namespace {

constexpr std::string_view host_prelude[] = {"host.h"};

void for_each_variant(const std::vector<Step>& steps,
                      const std::function<void(const Variant&)>& visit) {
  for (const Step& step : steps)
    std::visit(Overload{[&](const Dispatch& d) {
                          for (const Variant& v : d.variants) visit(v);
                        },
                        [&](const Loop& loop) { for_each_variant(loop.body, visit); }},
               step.node);
}

/// What the launches say about a kernel.
struct KernelUse {
  bool launched = false;
  std::vector<bool> aliased; ///< by parameter
};

bool same_bytes(const Program& program, const Binding& a, const Binding& b) {
  if (a.buffer == b.buffer) return true;
  const Buffer &x = program.buffers[a.buffer.value], &y = program.buffers[b.buffer.value];
  return x.kind == Buffer::Kind::workspace && y.kind == x.kind && x.slot == y.slot;
}

std::vector<KernelUse> uses_of(const Program& program) {
  std::vector<KernelUse> uses(program.kernels.size());
  for_each_variant(program.steps, [&](const Variant& variant) {
    const Kernel& kernel = program.kernels[variant.kernel.value];
    KernelUse& use = uses[variant.kernel.value];
    use.launched = true;
    use.aliased.resize(kernel.params.size());
    for (size_t i = 0; i < variant.bindings.size(); ++i)
      for (size_t j = 0; j < variant.bindings.size(); ++j)
        if (i != j && (kernel[kernel.params[i]].written || kernel[kernel.params[j]].written) &&
            same_bytes(program, variant.bindings[i], variant.bindings[j]))
          use.aliased[i] = true;
  });
  return uses;
}

std::vector<std::string> print_tables(const Program& program, const graph::Graph& graph,
                                      const Dialect& dialect, const std::string& symbol,
                                      NameScope& names, std::string& out) {
  std::vector<std::string> symbols(program.buffers.size());
  std::vector<bool> bound(program.buffers.size());
  for_each_variant(program.steps, [&](const Variant& variant) {
    for (const Binding& binding : variant.bindings) bound[binding.buffer.value] = true;
  });
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (buffer.kind != Buffer::Kind::table || !bound[i]) continue;
    symbols[i] = names.add(symbol + "_" + buffer.name);
    out += fmt::format("{}{} {}[] = {};\n", dialect.words.table_head.text(),
                       table_word(dialect, buffer.type), symbols[i],
                       table_elements(graph[buffer.tensor]));
  }
  return symbols;
}

/// The includes of the dialect, and those of the formats that kernels keep or round to.
std::string include_lines(const Program& program, const Dialect& dialect) {
  std::vector<std::string_view> lines(dialect.includes.begin(), dialect.includes.end());
  auto use = [&](graph::ElemType type) {
    std::string_view line = dialect.storages[type].include.text();
    if (!line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(line);
  };
  for (const Kernel& kernel : program.kernels) {
    for (const Tensor& tensor : kernel.tensors)
      if (tensor.memory != Memory::registers) use(tensor.type);
    for (uint32_t i = 0; i < kernel.values.size(); ++i)
      if (kernel.values[ValueId(i)].form == Form::round) use(kernel.values[ValueId(i)].to);
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

std::string section(const std::string& text) {
  return text.empty() ? "" : "\n" + text;
}

} // namespace

std::optional<SourceText> print_source(const Program& program, const graph::Graph& graph,
                                       const Dialect& dialect, const PrintOptions& options,
                                       Sink& sink) {
  std::string prefix = identifier(options.prefix);
  std::string symbol = prefix + "_" + symbol_part(options.target);
  NameScope names(dialect.reserved);
  names.take(symbol + "_run");
  names.take(symbol + "_workspace_bytes");
  std::vector<KernelUse> uses = uses_of(program);
  std::string tables;
  LauncherTask launcher{&program, &graph, &dialect, &options, prefix, symbol, {}, {}};
  launcher.table_symbols = print_tables(program, graph, dialect, symbol, names, tables);

  SourceText source;
  std::set<std::string> helpers, host_helpers;
  std::string kernels;
  std::string folder = fmt::format("{}.{}.kernels", options.stem, options.target);
  bool complete = true;
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    launcher.kernel_symbols.push_back(names.add(symbol + "_" + program.kernels[i].name));
    if (!uses[i].launched) continue;
    KernelTask task{&program.kernels[i], launcher.kernel_symbols.back(), uses[i].aliased,
                    options.fast_math};
    auto text = print_kernel(task, dialect, helpers, sink);
    complete = complete && text;
    if (!text) continue;
    if (options.split) {
      std::string file = fmt::format("{}/{}{}", folder, task.symbol, options.extension);
      kernels += fmt::format("#include \"{}\"\n", string_text(file));
      source.kernels.push_back({file, *text});
    } else {
      kernels += (kernels.empty() ? "" : "\n") + *text;
    }
  }
  if (!complete) return std::nullopt;

  std::string run = print_launcher(launcher, host_helpers);
  std::string what = fmt::format("{} for {}", comment_text(program.name), options.target);
  source.text = head_comment(options, what) + include_lines(program, dialect) + "\n" +
                declarations(program, graph, std::span(&options.target, 1), prefix) +
                section(prelude(dialect.preludes, helpers, dialect.words.helper_head.text()) +
                        prelude(host_prelude, host_helpers, "static inline")) +
                section(tables) + section(kernels) + section(run);
  source.symbols = std::move(launcher.kernel_symbols);
  return source;
}

} // namespace tang::print

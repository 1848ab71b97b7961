#include "print/printer.h"
#include "base/check.h"
#include "graph/dims.h"
#include "print/c_array.h"
#include "print/kernel_facts.h"
#include "print/kernel_printer.h"
#include "print/launcher.h"
#include "print/prelude.h"
#include "print/tables.h"
#include <algorithm>

namespace tang::print {

using namespace kernel;

namespace {

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

std::string text_of(std::span<const std::string_view> lines) {
  std::string text;
  for (std::string_view line : lines) text.append(line) += '\n';
  return text;
}

/// The includes of the dialect, and those of the formats that kernels keep or round to.
std::string include_lines(std::span<const Part> parts, const Dialect& dialect) {
  std::vector<std::string_view> lines(dialect.includes.begin(), dialect.includes.end());
  auto use = [&](graph::ElemType type) {
    std::string_view line = dialect.storages[type].include.text();
    if (!line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(line);
  };
  for (const Part& part : parts)
    for (const Kernel& kernel : part.program->kernels) {
      for (const Tensor& tensor : kernel.tensors)
        if (tensor.memory != Memory::registers) use(tensor.type);
      for (uint32_t i = 0; i < kernel.values.size(); ++i)
        if (kernel.values[ValueId(i)].form == Form::round) use(kernel.values[ValueId(i)].to);
      if (computes_in(kernel, Type::f64)) use(graph::ElemType::f64);
    }
  return text_of(lines);
}

std::string section(const std::string& text) {
  return text.empty() ? "" : "\n" + text;
}

class SourcePrinter {
public:
  SourcePrinter(std::span<const Part> parts, const Dialect& dialect, const PrintOptions& options,
                Sink& sink)
      : parts_(parts), dialect_(dialect), options_(options), sink_(sink),
        prefix_(symbol_prefix(options.prefix)),
        symbol_(prefix_ + "_" + symbol_part(options.target)), names_(dialect.reserved) {}

  std::optional<SourceText> run() {
    std::vector<LauncherTask> launchers;
    take(symbol_);
    names_.take(symbol_ + "_source"); // as data (c_array.h)
    names_.take(symbol_ + "_source_bytes");
    for (size_t i = 0; i < parts_.size(); ++i)
      if (parts_.size() > 1) take(function_of(i));
    // The general part comes first in the file: kernels that others share have its comments.
    for (size_t i = parts_.size(); i-- > 0;) {
      const Part& part = parts_[i];
      LauncherTask& task = *launchers.emplace(launchers.begin());
      task = {part.program, part.graph, &dialect_, &options_, prefix_, symbol_, "", {}, {}, {}};
      if (parts_.size() > 1) task.symbol = function_of(i), task.linkage = "static ";
      task.table_symbols = tables(part);
      task.kernel_symbols = kernels(part);
      source_.symbols.insert(source_.symbols.begin(), task.kernel_symbols);
      if (dialect_.host) number(task);
    }
    if (!complete_) return std::nullopt;
    std::set<std::string> host_helpers;
    std::string run;
    for (size_t i = 0; i < launchers.size(); ++i)
      run +=
          heading(i) + print_launcher(launchers[i], host_helpers) + (parts_.size() > 1 ? "\n" : "");
    if (parts_.size() > 1) run += print_chooser(launchers, symbol_);
    if (dialect_.host)
      two_files(std::move(run), std::move(host_helpers));
    else
      one_file(run, host_helpers);
    return std::move(source_);
  }

private:
  std::string head(std::string_view what) const {
    return head_comment(options_,
                        fmt::format("{}{} for {}", what, comment_text(parts_.back().program->name),
                                    options_.target));
  }
  std::string interface() const {
    const Part& general = parts_.back();
    return declarations(*general.program, *general.graph, std::span(&options_.target, 1), prefix_,
                        source_.session);
  }
  std::string kernel_helpers() const {
    return prelude(dialect_.preludes, calls_.helpers, dialect_.words.helper_head.text());
  }

  void one_file(const std::string& run, const std::set<std::string>& host_helpers) {
    source_.text =
        head("") + include_lines(parts_, dialect_) + "\n" + interface() +
        section(kernel_helpers() + prelude(dialect_.host_preludes, host_helpers, "static inline")) +
        section(instructions()) + section(tables_) + section(kernels_) + section(run);
  }

  /// The launcher holds all of the source, also where that is split into files.
  void two_files(std::string run, std::set<std::string> host_helpers) {
    const HostFile& host = *dialect_.host;
    std::string before = head("") + section(include_lines(parts_, dialect_)) +
                         section(kernel_helpers()) + section(instructions());
    source_.text = before + section(kernels_);
    TextWriter declared, defined;
    host.declare_session(declared, session_);
    source_.session = declared.take();
    host.define_session(defined, session_, host_helpers);
    source_.launcher =
        head("launcher of ") + text_of(host.includes) + "\n" + interface() +
        section(prelude(dialect_.host_preludes, host_helpers, "static inline")) + section(tables_) +
        "\n// The source of the kernels.\nstatic const unsigned char tg_source[] = {\n" +
        byte_elements(before + section(whole_kernels_)) + "};\n" + section(run) +
        section(defined.take());
  }

  std::string instructions() const {
    std::string text;
    for (const auto& [symbol, definition] : calls_.instructions) text += definition;
    return text;
  }
  std::string function_of(size_t part) const {
    return fmt::format("{}_variant_{}", symbol_, part + 1);
  }
  /// Where kernels and tables are not reached by their symbols, they have numbers in a session.
  void number(LauncherTask& task) {
    session_.symbol = symbol_;
    task.session = symbol_ + "_session";
    auto numbers = [](std::vector<std::string>& symbols, const std::vector<std::string>& all,
                      const char* list) {
      for (std::string& symbol : symbols)
        if (auto at = std::find(all.begin(), all.end(), symbol); at != all.end())
          symbol = fmt::format("session->{}[{}]", list, at - all.begin());
    };
    numbers(task.kernel_symbols, session_.kernels, "kernels");
    numbers(task.table_symbols, session_.tables, "tables");
  }
  void take(const std::string& symbol) {
    names_.take(symbol + "_run");
    names_.take(symbol + "_workspace_bytes");
  }
  std::string heading(size_t part) const {
    if (parts_.size() == 1) return "";
    std::string sizes = graph::condition_text(*parts_[part].graph, *parts_.back().graph);
    return fmt::format("// Variant {}: {}.\n", part + 1,
                       sizes.empty() ? "all sizes" : comment_text(sizes));
  }

  /// The symbols of a part's constant tables, by buffer. Equal tables are printed once.
  std::vector<std::string> tables(const Part& part) {
    const Program& program = *part.program;
    const Dialect& host = dialect_.host ? *dialect_.host->language : dialect_;
    std::vector<std::string> symbols(program.buffers.size());
    std::vector<bool> bound(program.buffers.size());
    for_each_variant(program.steps, [&](const Variant& variant) {
      for (const Binding& binding : variant.bindings) bound[binding.buffer.value] = true;
    });
    for (size_t i = 0; i < program.buffers.size(); ++i) {
      const Buffer& buffer = program.buffers[i];
      if (buffer.kind != Buffer::Kind::table || !bound[i]) continue;
      std::string type(table_word(host, buffer.type));
      std::string elements = table_elements(buffer);
      auto [at, fresh] = printed_tables_.try_emplace(buffer.name + " " + type + elements);
      if (fresh) {
        at->second = names_.add(symbol_ + "_" + buffer.name);
        tables_ += fmt::format("{}{} {}[] = {};\n", host.words.table_head.text(), type, at->second,
                               elements);
        session_.tables.push_back(at->second);
      }
      symbols[i] = at->second;
    }
    return symbols;
  }

  /// The symbols of a part's kernels. Equal kernels are printed once.
  std::vector<std::string> kernels(const Part& part) {
    std::vector<std::string> symbols;
    std::vector<KernelUse> uses = uses_of(*part.program);
    std::vector<std::vector<Span>> places = places_of(part);
    for (size_t i = 0; i < part.program->kernels.size(); ++i) {
      const Kernel& kernel = part.program->kernels[i];
      if (!uses[i].launched) {
        symbols.push_back(names_.add(symbol_ + "_" + kernel.name));
        continue;
      }
      KernelTask task{&kernel, "", uses[i].aliased, options_.fast_math, {}};
      task.places = places[i];
      // Inside one program equal kernels are one already.
      auto [at, fresh] = printed_kernels_.try_emplace(
          parts_.size() == 1 ? fmt::format("{}", i) : text_without_names(task));
      if (fresh) {
        task.symbol = at->second = names_.add(symbol_ + "_" + kernel.name);
        print(task);
      }
      symbols.push_back(at->second);
    }
    return symbols;
  }

  /// By kernel: where the tensors of its first launch are declared.
  static std::vector<std::vector<Span>> places_of(const Part& part) {
    std::vector<std::vector<Span>> places(part.program->kernels.size());
    for_each_variant(part.program->steps, [&](const Variant& variant) {
      std::vector<Span>& own = places[variant.kernel.value];
      if (!own.empty()) return;
      for (const Binding& binding : variant.bindings) {
        graph::TensorId tensor = part.program->buffers[binding.buffer.value].tensor;
        own.push_back(tensor ? (*part.graph)[tensor].span : Span());
      }
    });
    return places;
  }

  /// Equal for kernels that print the same statements.
  std::string text_without_names(KernelTask task) const {
    Kernel kernel = *task.kernel;
    kernel.comment.clear();
    task.kernel = &kernel, task.symbol = "kernel";
    Calls calls;
    Sink sink;
    return print_kernel(task, dialect_, calls, sink).value_or("");
  }

  void print(const KernelTask& task) {
    auto text = print_kernel(task, dialect_, calls_, sink_);
    complete_ = complete_ && text;
    if (!text) return;
    session_.kernels.push_back(task.symbol);
    session_.most_threads = std::max(session_.most_threads, task.kernel->thread_count());
    session_.most_shared_bytes = std::max(session_.most_shared_bytes, declared_bytes(*task.kernel));
    session_.f64 = session_.f64 || computes_in(*task.kernel, Type::f64);
    whole_kernels_ += (whole_kernels_.empty() ? "" : "\n") + *text;
    if (!options_.split) {
      kernels_ += (kernels_.empty() ? "" : "\n") + *text;
      return;
    }
    std::string file = fmt::format("{}.{}.kernels/{}{}", options_.stem, options_.target,
                                   task.symbol, options_.extension);
    kernels_ += fmt::format("#include \"{}\"\n", string_text(file));
    source_.kernels.push_back({file, *text});
  }

  std::span<const Part> parts_;
  const Dialect& dialect_;
  const PrintOptions& options_;
  Sink& sink_;
  std::string prefix_, symbol_;
  NameScope names_;
  std::unordered_map<std::string, std::string> printed_tables_, printed_kernels_; ///< symbols
  Calls calls_;
  std::string tables_, kernels_;
  std::string whole_kernels_; ///< none in a file of its own
  Session session_;
  SourceText source_;
  bool complete_ = true;
};

} // namespace

std::optional<SourceText> print_source(std::span<const Part> parts, const Dialect& dialect,
                                       const PrintOptions& options, Sink& sink) {
  return SourcePrinter(parts, dialect, options, sink).run();
}

} // namespace tang::print

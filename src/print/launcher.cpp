#include "print/launcher.h"
#include "base/check.h"
#include "graph/dims.h"
#include "print/expressions.h"
#include "print/tables.h"
#include <algorithm>

namespace tang::print {

using namespace kernel;

namespace {

std::string workspace_head(std::string_view linkage, const std::string& symbol,
                           const std::string& prefix) {
  return fmt::format("{}size_t {}_workspace_bytes(const {}_dims *dims)", linkage, symbol, prefix);
}

std::string run_head(std::string_view linkage, const std::string& symbol,
                     const std::string& prefix) {
  return fmt::format("{0}tg_status {1}_run(const {2}_args *args, const {2}_dims *dims, void "
                     "*workspace, size_t bytes,\n{3}void *stream)",
                     linkage, symbol, prefix,
                     std::string(linkage.size() + symbol.size() + 15, ' '));
}

class Launcher {
public:
  Launcher(const LauncherTask& task, std::set<std::string>& helpers)
      : task_(task), program_(*task.program), graph_(*task.graph), dialect_(*task.dialect),
        host_(dialect_.host ? *dialect_.host->language : dialect_), checks_(task.options->checks),
        helpers_(helpers), values_(program_.values), names_(public_names(program_, graph_)) {
    compute_sizes();
    collect(program_.steps);
  }
  std::string workspace_function();
  std::string run_function();

private:
  /// One generated function: its names and expressions.
  struct Function {
    Function(Launcher& launcher, std::span<const ValueId> roots);
    NameScope names;
    TextWriter out;
    Expressions values;
  };

  ValueId bytes_of(const Buffer& buffer);
  ValueId constant_like(int64_t value, ValueId like) {
    return values_.integer(value, values_[like].type);
  }
  void compute_sizes();
  void collect(const std::vector<Step>& steps);
  void collect(const Variant& variant);
  ValueId blocks_of(const Variant& variant);
  void read_dims(Function& f, bool check, const char* failure);
  std::string assemble(const std::string& head, Function& f, const std::string& body);
  void check_overflow(Function& f, size_t mark, const char* failure);
  void check_arguments(Function& f);
  std::string list(Function& f, const std::vector<ValueId>& values);
  void check_rooms(Function& f);
  void check_data(Function& f);
  void steps(Function& f, const std::vector<Step>& steps);
  void dispatch(Function& f, const Dispatch& dispatch);
  void variant(Function& f, const Variant& variant);
  std::string type_of(const Tensor& parameter) const;
  std::string offset_of(Function& f, const Binding& binding);
  std::string argument(Function& f, const Binding& binding, const Tensor& parameter);

  const LauncherTask& task_;
  const Program& program_;
  const graph::Graph& graph_;
  const Dialect& dialect_; ///< of the kernels
  const Dialect& host_;    ///< of the launcher
  Checks checks_;
  std::set<std::string>& helpers_;
  ValueStore values_;
  PublicNames names_;
  std::vector<ValueId> argument_bytes_; ///< by field
  std::vector<ValueId> slot_begin_;     ///< and where the last one ends
  ValueId workspace_bytes_;
  std::vector<ValueId> roots_; ///< of the run function
};

Launcher::Function::Function(Launcher& launcher, std::span<const ValueId> roots)
    : names(launcher.dialect_.host ? launcher.dialect_.host->reserved : launcher.dialect_.reserved),
      values(launcher.values_, launcher.host_, {false, true}, names, out, launcher.helpers_,
             [](const Value&) -> std::string {
               TANG_CHECK(false, "a host value reads a register");
               return {};
             }) {
  for (const char* name : {"args", "dims", "workspace", "bytes", "stream", "overflow", "needed"})
    names.take(name);
  values.count(roots);
}

ValueId Launcher::bytes_of(const Buffer& buffer) {
  int bits = graph::info(buffer.type).bits;
  if (bits < 8) return values_.ceildiv(buffer.elements, 8 / bits);
  return values_.mul(buffer.elements, constant_like(bits / 8, buffer.elements));
}

void Launcher::compute_sizes() {
  for (BufferId id : names_.fields) argument_bytes_.push_back(bytes_of(program_.buffers[id.value]));
  slot_begin_ = slot_ends(values_, program_.slots);
  slot_begin_.insert(slot_begin_.begin(), values_.integer(0, Type::i64));
  workspace_bytes_ = slot_begin_.back();
  if (checks_ != Checks::none) {
    roots_ = argument_bytes_;
    roots_.push_back(workspace_bytes_);
    for (const Room& room : program_.rooms) {
      roots_.insert(roots_.end(), room.shape.begin(), room.shape.end());
      roots_.insert(roots_.end(), room.strides.begin(), room.strides.end());
    }
  }
  if (checks_ != Checks::full) return;
  for (const Promise& promise : program_.promises) {
    roots_.insert(roots_.end(), promise.shape.begin(), promise.shape.end());
    roots_.insert(roots_.end(), promise.strides.begin(), promise.strides.end());
    roots_.push_back(promise.lo), roots_.push_back(promise.hi);
  }
}

void Launcher::collect(const std::vector<Step>& steps) {
  for (const Step& step : steps)
    std::visit(Overload{[&](const Dispatch& d) {
                          for (const Variant& v : d.variants) collect(v);
                        },
                        [&](const Loop& loop) {
                          roots_.push_back(loop.extent);
                          collect(loop.body);
                        }},
               step.node);
}

void Launcher::collect(const Variant& variant) {
  if (variant.condition) roots_.push_back(variant.condition);
  for (ValueId id : variant.scalars) roots_.push_back(id);
  if (ValueId blocks = blocks_of(variant)) roots_.push_back(blocks);
  for (const Binding& binding : variant.bindings) {
    if (binding.offset) roots_.push_back(binding.offset);
    const Buffer& buffer = program_.buffers[binding.buffer.value];
    if (buffer.kind == Buffer::Kind::workspace) roots_.push_back(slot_begin_[buffer.slot]);
  }
}

/// Number of blocks of a launch; empty where the language starts none.
ValueId Launcher::blocks_of(const Variant& variant) {
  if (dialect_.words.flat_block.text().empty()) return {};
  ValueId product = values_.integer(1, Type::i64);
  if (!variant.blocks.empty()) product = variant.blocks[0];
  for (size_t i = 1; i < variant.blocks.size(); ++i)
    product = values_.mul(product, variant.blocks[i]);
  return product;
}

void Launcher::read_dims(Function& f, bool check, const char* failure) {
  if (graph_.dims.empty()) {
    f.out.raw("(void)dims;");
    return;
  }
  for (size_t i = 0; i < graph_.dims.size(); ++i) {
    VarId var = program_.dims[i];
    const graph::Dim& dim = graph_.dims[i];
    std::string name = f.names.add(dim.name);
    f.values.define(var, name);
    if (!check && !f.values.used(var)) continue;
    f.out.line("const int64_t {} = dims->{};", name, names_.dims[i]);
    if (!check) continue;
    std::string step = dim.step > 1 ? fmt::format(" || {} % {} != 0", name, dim.step) : "";
    auto number = [](int64_t v) { return fmt::format("{}{}", v, v > 2147483647 ? "ll" : ""); };
    if (dim.lo == dim.hi)
      f.out.line("if ({} != {}) return {};", name, number(dim.lo), failure);
    else
      f.out.line("if ({0} < {1} || {0} > {2}{3}) return {4};", name, number(dim.lo), number(dim.hi),
                 step, failure);
  }
}

/// Says so when something written since `mark` may have left 64 bits.
void Launcher::check_overflow(Function& f, size_t mark, const char* failure) {
  if (f.out.text().find("&overflow", mark) != std::string::npos)
    f.out.line("if (overflow) return {};", failure);
}

std::string Launcher::assemble(const std::string& head, Function& f, const std::string& body) {
  std::string flag =
      body.find("&overflow") == std::string::npos ? "" : "  bool overflow = false;\n";
  (void)f;
  return head + " {\n" + flag + body + "}\n";
}

std::string Launcher::workspace_function() {
  Function f(*this, std::span(&workspace_bytes_, 1));
  f.out.indent();
  if (!graph_.dims.empty()) f.out.raw("if (!dims) return SIZE_MAX;");
  read_dims(f, true, "SIZE_MAX");
  size_t mark = f.out.text().size();
  std::string bytes = f.values.text(workspace_bytes_, Precedence::prefix);
  std::string result = fmt::format("return (size_t){};", bytes);
  if (bytes.find("&overflow") != bytes.npos) {
    f.out.line("const int64_t needed = {};", bytes);
    result = "return (size_t)needed;";
  }
  check_overflow(f, mark, "SIZE_MAX");
  f.out.raw(result);
  return assemble(workspace_head(task_.linkage, task_.symbol, task_.prefix), f, f.out.text());
}

void Launcher::check_arguments(Function& f) {
  size_t mark = f.out.text().size();
  std::vector<std::string> pointers, sizes, aligns, written;
  for (size_t i = 0; i < names_.fields.size(); ++i) {
    const Buffer& buffer = program_.buffers[names_.fields[i].value];
    pointers.push_back("args->" + names_.buffers[names_.fields[i].value]);
    sizes.push_back("(uint64_t)" + f.values.text(argument_bytes_[i], Precedence::prefix));
    aligns.push_back(fmt::format("{}", buffer.align));
    written.push_back(buffer.written ? "true" : "false");
  }
  bool workspace = !program_.slots.empty();
  if (workspace) {
    pointers.push_back("workspace");
    sizes.push_back("(uint64_t)" + f.values.text(workspace_bytes_, Precedence::prefix));
    aligns.push_back(fmt::format("{}", workspace_alignment(program_)));
    written.push_back("true");
  }
  if (pointers.empty()) return;
  size_t n = pointers.size();
  f.out.line("const void *const pointers[] = {{{}}};", fmt::join(pointers, ", "));
  f.out.line("const uint64_t sizes[] = {{{}}};", fmt::join(sizes, ", "));
  std::string check(dialect_.words.argument_check.text());
  if (check.find("alignments[") != check.npos)
    f.out.line("static const uint16_t alignments[] = {{{}}};", fmt::join(aligns, ", "));
  f.out.line("static const bool written[] = {{{}}};", fmt::join(written, ", "));
  check_overflow(f, mark, "TG_E_DIM");
  if (workspace) f.out.line("if (bytes < sizes[{}]) return TG_E_WORKSPACE;", n - 1);
  helpers_.insert("tg_host_overlap");
  f.values.use_helpers(check);
  f.out.line("for (int i = 0; i < {}; ++i) {{", n);
  f.out.raw("  if (sizes[i] != 0 && !pointers[i]) return TG_E_NULL;");
  f.out.line("  {}", check);
  f.out.raw("}");
  f.out.line("for (int i = 0; i < {}; ++i) {{", n);
  f.out.line("  for (int j = 0; j < {}; ++j) {{", n);
  f.out.raw("    if (i != j && written[i] && tg_host_overlap(pointers[i], sizes[i], pointers[j], "
            "sizes[j])) return TG_E_ALIAS;");
  f.out.raw("  }");
  f.out.raw("}");
}

std::string Launcher::list(Function& f, const std::vector<ValueId>& values) {
  std::vector<std::string> texts;
  for (ValueId id : values) texts.push_back(f.values.text(id));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Elements of outputs that share addresses.
void Launcher::check_rooms(Function& f) {
  for (const Room& room : program_.rooms) {
    size_t mark = f.out.text().size();
    std::string shape = list(f, room.shape), strides = list(f, room.strides);
    f.out.raw("{");
    f.out.line("  const int64_t shape[] = {{{}}}, strides[] = {{{}}};", shape, strides);
    check_overflow(f, mark, "TG_E_DIM");
    helpers_.insert("tg_host_has_room");
    f.out.line("  if (!tg_host_has_room({}, shape, strides)) return TG_E_DIM;", room.shape.size());
    f.out.raw("}");
  }
}

/// The promises of callers, kept or not.
void Launcher::check_data(Function& f) {
  for (const Promise& promise : program_.promises) {
    const Buffer& buffer = program_.buffers[promise.buffer.value];
    size_t mark = f.out.text().size();
    std::string shape = list(f, promise.shape), strides = list(f, promise.strides);
    std::string ends = list(f, {promise.lo, promise.hi});
    f.out.raw("{");
    f.out.line("  const int64_t shape[] = {{{}}}, strides[] = {{{}}}, ends[] = {{{}}};", shape,
               strides, ends);
    f.out.line("  int64_t at[{}] = {{0}};", promise.shape.size());
    check_overflow(f, mark, "TG_E_DIM");
    helpers_.insert("tg_host_keeps");
    f.out.line("  if (!tg_host_keeps(args->{}, {}, {}, {}, shape, strides, at, ends[0], ends[1], "
               "{})) return TG_E_DIM;",
               names_.buffers[promise.buffer.value], graph::info(buffer.type).bits,
               graph::is_signed(buffer.type), promise.shape.size(), promise.sorted);
    f.out.raw("}");
  }
}

std::string Launcher::run_function() {
  Function f(*this, roots_);
  for (const char* name :
       {"pointers", "sizes", "alignments", "written", "i", "j", "shape", "strides", "ends", "at"})
    f.names.take(name);
  bool check = checks_ != Checks::none;
  f.out.indent();
  if (!task_.session.empty())
    f.out.line("const {0} *const session = (const {0} *)stream;", task_.session);
  else if (!dialect_.words.stream_use.text().empty())
    f.out.raw(std::string(dialect_.words.stream_use.text()));
  if (program_.slots.empty()) {
    f.out.raw("(void)workspace;");
    f.out.raw("(void)bytes;");
  } else if (!check) {
    f.out.raw("(void)bytes;");
  }
  if (names_.fields.empty()) f.out.raw("(void)args;");
  if (check) {
    std::vector<std::string> null;
    if (!names_.fields.empty()) null.emplace_back("!args");
    if (!graph_.dims.empty()) null.emplace_back("!dims");
    if (!task_.session.empty()) null.emplace_back("!session");
    if (!null.empty()) f.out.line("if ({}) return TG_E_NULL;", fmt::join(null, " || "));
  }
  read_dims(f, check, "TG_E_DIM");
  if (check) check_arguments(f), check_rooms(f);
  if (checks_ == Checks::full) check_data(f);
  steps(f, program_.steps);
  f.out.raw("return TG_OK;");
  return assemble(run_head(task_.linkage, task_.symbol, task_.prefix), f, f.out.text());
}

void Launcher::steps(Function& f, const std::vector<Step>& steps) {
  for (const Step& step : steps)
    std::visit(Overload{[&](const Dispatch& d) { dispatch(f, d); },
                        [&](const Loop& loop) {
                          std::string extent = f.values.text(loop.extent, Precedence::additive);
                          f.values.push();
                          std::string var = f.values.define(loop.var);
                          f.out.line("for (int64_t {0} = 0; {0} < {1}; ++{0}) {{", var, extent);
                          f.out.indent();
                          this->steps(f, loop.body);
                          f.out.dedent();
                          f.out.raw("}");
                          f.values.pop();
                        }},
               step.node);
}

void Launcher::dispatch(Function& f, const Dispatch& dispatch) {
  f.out.raw("// " + comment_text(dispatch.name));
  // What conditions share is named before the chain opens.
  std::vector<std::string> conditions;
  for (const Variant& v : dispatch.variants) {
    size_t mark = f.out.text().size();
    std::string text = v.condition ? f.values.text(v.condition) : "";
    if (text.find("&overflow") != text.npos) {
      std::string name = f.names.add("fits");
      f.out.line("const bool {} = {};", name, text);
      text = name;
    }
    check_overflow(f, mark, "TG_E_DIM");
    conditions.push_back(text);
  }
  std::string open = "{";
  for (size_t i = 0; i < dispatch.variants.size(); ++i) {
    const Variant& v = dispatch.variants[i];
    if (v.condition) {
      f.out.line("{}if ({}) {{", open == "{" ? "" : "} else ", conditions[i]);
    } else {
      f.out.raw(open == "{" ? "{" : "} else {");
    }
    open = "}";
    f.out.indent();
    f.values.push();
    variant(f, v);
    f.values.pop();
    f.out.dedent();
  }
  if (dispatch.variants.back().condition) {
    f.out.raw("} else {");
    f.out.raw("  return TG_E_UNSUPPORTED;");
  }
  f.out.raw("}");
}

std::string Launcher::type_of(const Tensor& parameter) const {
  if (dialect_.host) return std::string(dialect_.host->buffer_type.text());
  return fmt::format("{}{} *", parameter.written ? "" : "const ",
                     dialect_.storages[parameter.type].type.text());
}

std::string Launcher::offset_of(Function& f, const Binding& binding) {
  auto literal = binding.offset ? values_.as_integer(binding.offset) : 0;
  if (literal == 0) return "";
  bool packed = graph::is_packed(program_.buffers[binding.buffer.value].type);
  if (packed && literal) return fmt::format(" + {}", *literal / 2);
  return fmt::format(" + {}{}", f.values.text(binding.offset, Precedence::multiplicative),
                     packed ? " / 2" : "");
}

/// What a launch is given for a parameter: a pointer, or a whole buffer where hosts hold no
/// pointers.
std::string Launcher::argument(Function& f, const Binding& binding, const Tensor& parameter) {
  const Buffer& buffer = program_.buffers[binding.buffer.value];
  std::string type = type_of(parameter), offset = offset_of(f, binding);
  ValueId begin;
  if (buffer.kind == Buffer::Kind::workspace && !program_.whole_buffers)
    begin = slot_begin_[buffer.slot];
  bool inside = begin && values_.as_integer(begin) != 0;
  TANG_CHECK(!dialect_.host || (offset.empty() && !inside),
             "a launch of `{}` binds `{}` from its middle", program_.name, buffer.name);
  switch (buffer.kind) {
  case Buffer::Kind::argument:
    return fmt::format("({})args->{}{}", type, names_.buffers[binding.buffer.value], offset);
  case Buffer::Kind::workspace:
    if (!inside) return fmt::format("({})workspace{}", type, offset);
    return fmt::format("({})((char *)workspace + {}){}", type,
                       f.values.text(begin, Precedence::multiplicative), offset);
  case Buffer::Kind::table: {
    std::string name = f.names.add(buffer.name);
    dialect_.sentences.table_address(f.out,
                                     TableUse{std::string(table_word(dialect_, buffer.type)),
                                              task_.table_symbols[binding.buffer.value], name});
    return dialect_.host ? name : fmt::format("({}){}{}", type, name, offset);
  }
  }
  return {};
}

void Launcher::variant(Function& f, const Variant& variant) {
  const Kernel& kernel = program_.kernels[variant.kernel.value];
  TANG_CHECK(variant.bindings.size() == kernel.params.size() &&
                 variant.scalars.size() == kernel.scalars.size(),
             "a launch of `{}` does not match its parameters", kernel.name);
  size_t mark = f.out.text().size();
  Launch launch;
  launch.symbol = task_.kernel_symbols[variant.kernel.value];
  launch.threads = kernel.thread_count();
  launch.shared_bytes = kernel.shared_bytes;
  launch.names = &f.names;
  for (size_t i = 0; i < variant.bindings.size(); ++i) {
    const Tensor& parameter = kernel[kernel.params[i]];
    launch.types.push_back(type_of(parameter));
    launch.arguments.push_back(argument(f, variant.bindings[i], parameter));
  }
  for (size_t i = 0; i < variant.scalars.size(); ++i) {
    Type type = kernel.values[kernel.scalars[i].var].type;
    launch.types.push_back(std::string(word(host_.words, type)));
    Piece value = f.values.piece(variant.scalars[i]);
    launch.arguments.push_back(
        f.values.converted(value, values_[variant.scalars[i]].type, type).text);
  }
  bool wraps = std::any_of(launch.arguments.begin(), launch.arguments.end(),
                           [](const auto& text) { return text.find("&overflow") != text.npos; });
  for (size_t i = 0; wraps && i < launch.arguments.size(); ++i) {
    std::string name = f.names.add("argument");
    f.out.line("{} {} = {};", launch.types[i], name, launch.arguments[i]);
    launch.arguments[i] = name;
  }
  if (ValueId blocks = blocks_of(variant)) {
    launch.grid = f.names.add("blocks");
    std::string count = f.values.text(blocks);
    f.out.line("const int64_t {} = {};", launch.grid, count);
    if (program_.max_blocks > 0 && values_.range(blocks).hi > program_.max_blocks)
      f.out.line("if ({} > {}) return TG_E_UNSUPPORTED;", launch.grid, program_.max_blocks);
  }
  check_overflow(f, mark, "TG_E_DIM");
  dialect_.sentences.launch(f.out, launch);
}

} // namespace

std::string print_launcher(const LauncherTask& task, std::set<std::string>& helpers) {
  Launcher launcher(task, helpers);
  return launcher.workspace_function() + "\n" + launcher.run_function();
}

std::string print_chooser(std::span<const LauncherTask> tasks, const std::string& symbol) {
  const LauncherTask& general = tasks.back();
  PublicNames names = public_names(*general.program, *general.graph);
  TextWriter out;
  auto function = [&](const std::string& head, const char* failure, const char* rest) {
    out.line("{} {{", head);
    out.indent();
    if (general.options->checks != Checks::none || failure == std::string_view("SIZE_MAX"))
      out.line("if (!dims) return {};", failure);
    for (const LauncherTask& task : tasks) {
      std::string condition;
      for (size_t d = 0; d < names.dims.size(); ++d) {
        std::string part = graph::condition_text(task.graph->dims[d], general.graph->dims[d],
                                                 "dims->" + names.dims[d]);
        if (!part.empty()) condition += (condition.empty() ? "" : " && ") + part;
      }
      out.line("{}return {}{};", condition.empty() ? "" : fmt::format("if ({}) ", condition),
               task.symbol, rest);
    }
    out.dedent();
    out.raw("}");
  };
  function(workspace_head("", symbol, general.prefix), "SIZE_MAX", "_workspace_bytes(dims)");
  out.blank();
  function(run_head("", symbol, general.prefix), "TG_E_NULL",
           "_run(args, dims, workspace, bytes, stream)");
  return out.take();
}

} // namespace tang::print

#include "print/declarations.h"
#include "base/text_writer.h"
#include "print/dialects/keywords.h"
#include "print/printer.h"
#include <algorithm>

namespace tang::print {

std::string symbol_part(std::string_view text) {
  std::string out;
  for (char c : text) {
    bool keep = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += keep ? c : '_';
  }
  return out;
}

int workspace_alignment(const kernel::Program& program) {
  int align = 16;
  for (const kernel::Buffer& buffer : program.buffers)
    if (buffer.kind == kernel::Buffer::Kind::workspace) align = std::max(align, buffer.align);
  return align;
}

PublicNames public_names(const kernel::Program& program, const graph::Graph& graph) {
  PublicNames names;
  NameScope dims(header_reserved), args(header_reserved);
  for (const graph::Dim& dim : graph.dims) names.dims.push_back(dims.add(dim.name));
  names.buffers.resize(program.buffers.size());
  for (kernel::BufferId id : program.arguments) {
    if (!names.buffers[id.value].empty()) continue;
    names.buffers[id.value] = args.add(program.buffers[id.value].name);
    names.fields.push_back(id);
  }
  names.changed = dims.changed();
  names.changed.insert(names.changed.end(), args.changed().begin(), args.changed().end());
  return names;
}

std::string head_comment(const PrintOptions& options, std::string_view what) {
  std::string out =
      fmt::format("// {}, printed by tangc {}.\n", what, comment_text(options.version));
  out += fmt::format("// Options: {}\n", comment_text(options.options));
  out += fmt::format("// Input: {}, SHA-256 {}\n", comment_text(options.input_name),
                     comment_text(options.input_sha256));
  return out;
}

namespace {

void status(TextWriter& out) {
  out.raw("#ifndef TG_STATUS_DEFINED");
  out.raw("#define TG_STATUS_DEFINED");
  out.raw("typedef enum {");
  out.raw("  TG_OK,");
  out.raw("  TG_E_NULL,        // a pointer that is needed is null");
  out.raw(
      "  TG_E_DIM,         // a dim out of range, sizes beyond 64 bits, or data not as declared "
      "(--checks=full)");
  out.raw("  TG_E_ALIGN,       // a pointer is not aligned as its tensor must be");
  out.raw("  TG_E_WORKSPACE,   // the workspace is too small");
  out.raw("  TG_E_ALIAS,       // an output shares bytes with something else");
  out.raw("  TG_E_UNSUPPORTED, // these sizes cannot be run by this code");
  out.raw("  TG_E_LAUNCH       // a kernel did not start");
  out.raw("} tg_status;");
  out.raw("#endif");
}

void status_string(TextWriter& out) {
  out.raw("#ifndef TG_STATUS_STRING_DEFINED");
  out.raw("#define TG_STATUS_STRING_DEFINED");
  out.raw("static inline const char *tg_status_string(tg_status status) {");
  out.raw("  switch (status) {");
  constexpr std::pair<const char*, const char*> texts[] = {
      {"TG_OK", "ok"},
      {"TG_E_NULL", "a pointer is null"},
      {"TG_E_DIM", "a dim or data is outside its declared range"},
      {"TG_E_ALIGN", "a pointer is not aligned"},
      {"TG_E_WORKSPACE", "the workspace is too small"},
      {"TG_E_ALIAS", "an output overlaps another buffer"},
      {"TG_E_UNSUPPORTED", "these sizes are not supported"},
      {"TG_E_LAUNCH", "a kernel could not be launched"},
  };
  for (auto [name, text] : texts) out.line("  case {}: return \"{}\";", name, text);
  out.raw("  }");
  out.raw("  return \"unknown status\";");
  out.raw("}");
  out.raw("#endif");
}

/// `[M, N]`, with strides where the tensor has its own; empty for a single element.
std::string shape_text(const kernel::Program& program, const kernel::Buffer& buffer) {
  auto list = [&](const std::vector<kernel::ValueId>& extents) {
    std::string text;
    for (kernel::ValueId extent : extents)
      text += (text.empty() ? "" : ", ") + kernel::to_text(program, extent);
    return text.empty() ? text : "[" + text + "]";
  };
  std::string strides = list(buffer.strides);
  return list(buffer.shape) + (strides.empty() ? "" : " with strides " + strides);
}

void types(TextWriter& out, const kernel::Program& program, const graph::Graph& graph,
           const std::string& prefix) {
  PublicNames names = public_names(program, graph);
  out.line("#ifndef TG_{}_TYPES_DEFINED", prefix);
  out.line("#define TG_{}_TYPES_DEFINED", prefix);
  for (const auto& [written, printed] : names.changed)
    out.line("// `{}` is called `{}` here.", comment_text(written), printed);
  out.raw("typedef struct {");
  for (size_t i = 0; i < graph.dims.size(); ++i) {
    const graph::Dim& dim = graph.dims[i];
    std::string step = dim.step > 1 ? fmt::format(", a multiple of {}", dim.step) : "";
    out.line("  int64_t {}; // {}..{}{}", names.dims[i], dim.lo, dim.hi, step);
  }
  if (graph.dims.empty()) out.raw("  int64_t unused; // there are no dims, a null pointer will do");
  out.line("}} {}_dims;", prefix);
  out.raw("typedef struct {");
  for (kernel::BufferId id : names.fields) {
    const kernel::Buffer& buffer = program.buffers[id.value];
    out.line("  {}void *{}; // {}{}, aligned to {}", buffer.written ? "" : "const ",
             names.buffers[id.value], graph::info(buffer.type).name, shape_text(program, buffer),
             buffer.align);
  }
  if (names.fields.empty()) out.raw("  const void *unused;");
  out.line("}} {}_args;", prefix);
  out.raw("#endif");
}

} // namespace

std::string declarations(const kernel::Program& program, const graph::Graph& graph,
                         std::span<const std::string> targets, const std::string& prefix,
                         std::string_view sessions) {
  TextWriter out;
  status(out);
  out.blank();
  types(out, program, graph, prefix);
  out.blank();
  out.raw("#ifdef __cplusplus");
  out.raw("extern \"C\" {");
  out.raw("#endif");
  for (const std::string& target : targets) {
    std::string symbol = prefix + "_" + symbol_part(target);
    out.line(
        "// Bytes of workspace that a call needs, aligned to {}; SIZE_MAX for dims outside their "
        "ranges.",
        workspace_alignment(program));
    out.line("size_t {}_workspace_bytes(const {}_dims *dims);", symbol, prefix);
    out.line("tg_status {0}_run(const {1}_args *args, const {1}_dims *dims, void *workspace, "
             "size_t bytes,",
             symbol, prefix);
    out.line("{}void *stream);", std::string(symbol.size() + 15, ' '));
  }
  if (!sessions.empty()) out.raw(std::string(sessions.substr(0, sessions.size() - 1)));
  out.raw("#ifdef __cplusplus");
  out.raw("}");
  out.raw("#endif");
  return out.take();
}

std::string print_header(const kernel::Program& program, const graph::Graph& graph,
                         std::span<const std::string> targets, const PrintOptions& options,
                         std::string_view sessions) {
  std::string prefix = symbol_prefix(options.prefix);
  TextWriter out;
  out.line("#ifndef TG_{}_H", prefix);
  out.line("#define TG_{}_H", prefix);
  out.raw("#include <stddef.h>");
  out.raw("#include <stdint.h>");
  out.blank();
  TextWriter end;
  end.blank();
  status_string(end);
  if (targets.size() == 1) {
    end.blank();
    end.line("#define {0}_run(args, dims, workspace, bytes, stream) \\", prefix);
    end.line("  {}_{}_run(args, dims, workspace, bytes, stream)", prefix, symbol_part(targets[0]));
  }
  end.raw("#endif");
  std::string what = fmt::format("{} for {}", comment_text(program.name), fmt::join(targets, ", "));
  return head_comment(options, what) + out.take() +
         declarations(program, graph, targets, prefix, sessions) + end.take();
}

} // namespace tang::print

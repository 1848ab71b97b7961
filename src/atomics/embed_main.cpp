// tangc_embed_atoms: prints the rows of atomics/*.yaml as one C++ source file, so that the compiler
// proper never reads YAML.
//
//   tangc_embed_atoms OUTPUT TABLE.yaml...
#include "atomics/load.h"
#include "base/text_writer.h"
#include "diagnostics/render.h"
#include "layout/text.h"
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

namespace tang::atomics {
namespace {

std::string literal(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + literal(text);
  return "{" + out + "}";
}

std::string enumerator(Memory memory) {
  return memory == Memory::registers ? "registers" : std::string(name(memory));
}

std::string enumerator(Kind kind) {
  if (kind == Kind::unary) return "unary";
  std::string text(name(kind));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void print(TextWriter& out, size_t number, const Row& row) {
  out.line("constexpr std::string_view native_{}[] = {};", number, list(row.native_on));
  out.line("const Row& row_{}() {{", number);
  out.raw("  static const Row row = [] {\n    Row r;");
  out.line("    r.name = {};", literal(row.name));
  out.line("    r.kind = Kind::{};", enumerator(row.kind));
  out.line("    r.threads = {};", row.threads);
  for (const Operand& o : row.operands) {
    std::string type = "{}";
    if (o.type) type = fmt::format("graph::ElemType::{}", graph::info(*o.type).name);
    out.line("    r.operands.push_back({{{}, {}, {}, {}, Memory::{}, {}, layout_of({}), {}, {}}});",
             literal(o.name), type, o.bits, o.tf32, enumerator(o.memory), o.described,
             literal(layout::to_text(o.layout)), o.threads, o.values);
  }
  out.line("    r.needs = {};", literal(row.needs));
  out.line("    r.native_on = {};", list(row.native_on));
  out.line("    r.token = {};", literal(row.token));
  out.line("    r.op = {};", literal(row.op));
  for (const Immediate& i : row.immediates)
    out.line("    r.immediates.push_back({{{}, {}, {}, {}}});", literal(i.name), i.least,
             i.greatest, i.step);
  out.line("    r.zero_fills = {};", row.zero_fills);
  out.line("    r.accumulates = {};", row.accumulates);
  out.line("    r.rounds = Rounds::{};", name(row.rounds));
  out.line("    r.flushes = {};", row.flushes);
  out.line("    r.fma = {};", row.fma);
  for (const auto& [dialect, text] : row.print)
    out.line("    r.print[{}] = {};", literal(dialect), literal(text));
  out.line("    r.source = {};", literal(row.source));
  out.raw("    return r;\n  }();\n  return row;\n}\n");
}

std::string source(const std::vector<Row>& rows) {
  TextWriter out;
  out.raw("// Printed by tangc_embed_atoms from atomics/*.yaml.\n#include \"atomics/table.h\"\n"
          "#include \"layout/text.h\"\n\nnamespace tang::atomics {\nnamespace {\n\n"
          "layout::Layout layout_of(std::string_view text) {\n"
          "  return std::get<layout::Swizzled>(layout::read_layout(text)).layout;\n}\n");
  for (size_t i = 0; i < rows.size(); ++i) print(out, i, rows[i]);
  out.raw("constexpr Entry entries[] = {");
  for (size_t i = 0; i < rows.size(); ++i)
    out.line("    {{{}, Kind::{}, native_{}, row_{}}},", literal(rows[i].name),
             enumerator(rows[i].kind), i, i);
  out.raw(
      "};\n\n} // namespace\n\nstd::span<const Entry> embedded_rows() {\n  return entries;\n}\n\n"
      "} // namespace tang::atomics");
  return out.take();
}

int run(const std::string& output, std::vector<std::string> paths) {
  SourceManager sources;
  Sink sink;
  std::vector<Row> rows;
  std::set<std::string> taken;
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) {
      fmt::print(stderr, "{}: error: cannot read the file\n", path);
      return 1;
    }
    if (auto loaded = load_rows(sources, sources.add(path, std::move(text).str()), taken, sink))
      rows.insert(rows.end(), loaded->begin(), loaded->end());
  }
  RenderOptions options;
  options.tool = "tangc_embed_atoms";
  fmt::print(stderr, "{}", render_all(sink.diagnostics(), sources, options));
  if (!sink.ok()) return 1;
  std::ofstream file(output, std::ios::binary);
  file << source(rows);
  file.close();
  if (file) return 0;
  fmt::print(stderr, "{}: error: cannot write the file\n", output);
  return 1;
}

} // namespace
} // namespace tang::atomics

int main(int count, char** values) {
  if (count >= 3) return tang::atomics::run(values[1], {values + 2, values + count});
  fmt::print(stderr, "usage: tangc_embed_atoms OUTPUT TABLE.yaml...\n");
  return 2;
}

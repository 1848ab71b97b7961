#include "targets/embed_print.h"
#include "base/text_writer.h"

namespace tang::targets {
namespace {

/// A C++ string literal, one line of text a line, in octal where a byte is not plain ASCII.
std::string literal(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '\n')
      out += i + 1 < text.size() ? "\\n\"\n    \"" : "\\n";
    else if (c == '"' || c == '\\')
      (out += '\\') += text[i];
    else if (c < 0x20 || c >= 0x7f)
      out += fmt::format("\\{:03o}", c);
    else
      out += text[i];
  }
  return out + "\"";
}

std::string text_member(const std::string& text) {
  return fmt::format("std::string({})", literal(text));
}

std::string figures(const Figure* begin, const Figure* end) {
  std::string out = "{{";
  for (const Figure* f = begin; f != end; ++f)
    out += fmt::format("\n    Figure{{{}, {}}},", f->value, text_member(f->source));
  return out + "}}";
}

std::string roof(const std::optional<Roof>& entry) {
  if (!entry) return "std::nullopt";
  std::string achievable = entry->achievable
                               ? fmt::format("std::optional<double>({})", *entry->achievable)
                               : "std::nullopt";
  return fmt::format("Roof{{{}, {}, {}}}", entry->hard, achievable, text_member(entry->source));
}

void print(TextWriter& out, size_t number, const Target& t) {
  out.line("const Target& target_{}() {{", number);
  out.line("  static const Target value{{");
  for (const std::string* text : {&t.name, &t.title, &t.dialect, &t.extension, &t.default_device,
                                  &t.tested, &t.compile_flags})
    out.line("    {},", text_member(*text));
  std::string features;
  for (Feature feature : all_features)
    if (t.has(feature))
      features += fmt::format("{}Feature::{}", features.empty() ? "" : ", ", name_of(feature));
  out.line("    {}, FeatureSet{{{}}},", t.printable, features);
  std::string levels;
  for (const LevelInfo& level : t.hierarchy)
    levels += fmt::format("\n    LevelInfo{{Presence::{}, {}}},", name_of(level.presence),
                          text_member(level.text));
  out.line("    {{{{{}}}}},", levels);
  out.line("    {}}};", figures(t.limits.data(), t.limits.data() + t.limits.size()));
  out.raw("  return value;\n}\n");
}

void print(TextWriter& out, size_t number, const Device& d) {
  out.line("const Device& device_{}() {{", number);
  out.line("  static const Device value{{");
  for (const std::string* text : {&d.name, &d.title, &d.tested})
    out.line("    {},", text_member(*text));
  std::string runs, roofs;
  for (const std::string& name : d.runs) runs += fmt::format("{}, ", text_member(name));
  out.line("    {{{}}},", runs);
  out.line("    {},", figures(d.capacities.data(), d.capacities.data() + d.capacities.size()));
  for (const auto& entry : d.roofs)
    roofs += fmt::format("\n    std::optional<Roof>({}),", roof(entry));
  out.line("    {{{{{}}}}}}};", roofs);
  out.raw("  return value;\n}\n");
}

} // namespace

std::string embedded_source(const std::vector<Target>& targets, const std::vector<Device>& devices,
                            const std::vector<EmbeddedFile>& specs) {
  TextWriter out;
  out.raw("// Printed by tangc_embed from targets/ and specs/.");
  out.raw("#include \"targets/embedded.h\"\n");
  out.raw("namespace tang::targets {\nnamespace {\n");
  for (size_t i = 0; i < targets.size(); ++i) print(out, i, targets[i]);
  for (size_t i = 0; i < devices.size(); ++i) print(out, i, devices[i]);
  out.raw("} // namespace\n");
  // Functions, not tables at namespace scope: an empty array is not C++, and a project may have no
  // specs yet.
  auto list = [&](std::string_view type, std::string_view name,
                  const std::vector<std::string>& rows) {
    out.line("std::span<const {}> {}() {{", type, name);
    if (rows.empty())
      out.raw("  return {};");
    else {
      out.line("  static constexpr {} rows[] = {{", type);
      for (const std::string& row : rows) out.line("    {},", row);
      out.raw("  };\n  return rows;");
    }
    out.raw("}\n");
  };
  std::vector<std::string> rows;
  for (size_t i = 0; i < targets.size(); ++i)
    rows.push_back(fmt::format("{{{}, target_{}}}", literal(targets[i].name), i));
  list("EmbeddedTarget", "embedded_targets", rows);
  rows.clear();
  for (size_t i = 0; i < devices.size(); ++i)
    rows.push_back(fmt::format("{{{}, device_{}}}", literal(devices[i].name), i));
  list("EmbeddedDevice", "embedded_devices", rows);
  rows.clear();
  for (const EmbeddedFile& spec : specs)
    rows.push_back(fmt::format("{{{}, std::string_view({}, {})}}", literal(spec.name),
                               literal(spec.text), spec.text.size()));
  list("EmbeddedSpec", "embedded_specs", rows);
  out.raw("} // namespace tang::targets");
  return out.take();
}

} // namespace tang::targets

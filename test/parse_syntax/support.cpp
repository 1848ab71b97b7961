#include "support.h"
#include "base/check.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tang::parse {

Parsed parsed(std::string text) {
  Parsed p;
  p.file = p.sources.add("test.tg", std::move(text));
  p.module = parse_module(p.sources, p.file, p.sink);
  return p;
}

std::string diagnostics_of(const Parsed& p) {
  std::string all;
  auto place = [&](Span s) {
    if (!s) return std::string();
    LineColumn at = p.sources.position(s.file, s.begin);
    return fmt::format(" {}:{}", at.line, at.column);
  };
  for (const Diagnostic& d : p.sink.diagnostics()) {
    all += fmt::format("{}{} {}", info(d.kind).code, place(d.span), d.message);
    for (const Note& n : d.notes)
      if (n.severity == Severity::note)
        all += fmt::format(" / note{} {}", place(n.span), n.message);
    all += '\n';
  }
  return all;
}

namespace {

std::string trees(const Module& m, const std::vector<ExprId>& ids) {
  std::string all;
  for (ExprId id : ids) all += " " + tree(m, id);
  return all;
}

std::string binder(const Module& m, const Binder& b) {
  return b.name.text + (b.extent ? ":" + tree(m, b.extent) : "") +
         (b.exclusive ? "!exclusive" : "") + (b.desc ? "!desc" : "");
}

} // namespace

std::string tree(const Module& m, ExprId id) {
  const Expr& e = m[id];
  return std::visit(
      Overload{
          [](const Integer& x) { return fmt::format("{}", x.value); },
          [](const Real& x) { return format_real(x.value); },
          [](const Boolean& x) { return std::string(x.value ? "true" : "false"); },
          [](const NameRef& x) { return x.name.text; },
          [&](const Read& x) { return "(read " + x.tensor.text + trees(m, x.places) + ")"; },
          [&](const Call& x) { return "(call " + x.callee.text + trees(m, x.arguments) + ")"; },
          [&](const Unary& x) {
            return (x.op == UnaryOp::negate ? "(- " : "(not ") + tree(m, x.operand) + ")";
          },
          [&](const Binary& x) {
            return fmt::format("({} {} {})", spelling(x.op), tree(m, x.left), tree(m, x.right));
          },
          [&](const Guarded& x) {
            return "(else " + tree(m, x.read) + " " + tree(m, x.otherwise) + ")";
          },
          [&](const Field& x) {
            return "(field " + x.base.text + "." + x.field.text + trees(m, x.places) + ")";
          },
          [&](const Apply& x) {
            std::string t = x.is_scan ? "(scan " : "(apply ";
            t += x.callee.text + "[";
            for (const Binder& b : x.binders) t += (&b == &x.binders[0] ? "" : " ") + binder(m, b);
            if (x.filter) t += " where " + tree(m, x.filter);
            if (x.count) t += "; " + tree(m, x.count);
            return t + "]" + trees(m, x.operands) + ")";
          },
      },
      e.form);
}

std::string tree(const std::string& text) {
  Parsed p = parsed("tg 1\ny = " + text + "\n");
  if (!p.module) return diagnostics_of(p);
  return tree(*p.module, std::get<Equation>((*p.module)[p.module->top[1]].form).value);
}

std::string formatted(const std::string& text) {
  Parsed p = parsed(text);
  return p.module ? format_module(p.sources, *p.module) : diagnostics_of(p);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> sample_files() {
  std::vector<std::string> files;
  for (const char* folder : {"/samples", "/specs"})
    for (const auto& entry :
         std::filesystem::directory_iterator(TANGC_SOURCE_DIR + std::string(folder)))
      if (entry.path().extension() == ".tg") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace tang::parse

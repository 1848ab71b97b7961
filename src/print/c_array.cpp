#include "print/c_array.h"
#include "base/text_writer.h"
#include "print/declarations.h"
#include "print/names.h"

namespace tang::print {

namespace {

constexpr size_t bytes_per_line = 20;

} // namespace

/// Numbers, because a string literal above 4095 characters is beyond what C promises.
std::string byte_elements(std::string_view text) {
  std::string out;
  out.reserve(text.size() * 4);
  for (size_t i = 0; i < text.size(); ++i) {
    if (i % bytes_per_line == 0) out += i ? "\n  " : "  ";
    fmt::format_to(std::back_inserter(out), "{},", static_cast<unsigned char>(text[i]));
  }
  return out + "\n  0\n";
}

CArray c_array(std::string_view text, std::string_view header, const PrintOptions& options) {
  std::string symbol =
      symbol_prefix(options.prefix) + "_" + symbol_part(options.target) + "_source";
  std::string head =
      head_comment(options, fmt::format("The source of {} for {} as data",
                                        comment_text(options.input_name), options.target));
  TextWriter declaration;
  declaration.line("#ifndef TG_{}_H", symbol);
  declaration.line("#define TG_{}_H", symbol);
  declaration.raw("#include <stddef.h>");
  declaration.blank();
  declaration.raw("#ifdef __cplusplus");
  declaration.raw("extern \"C\" {");
  declaration.raw("#endif");
  declaration.raw("// The text, and a 0 behind it: `(const char *)` makes a C string of it.");
  declaration.line("extern const unsigned char {}[];", symbol);
  declaration.raw("// Without that 0.");
  declaration.line("extern const size_t {}_bytes;", symbol);
  declaration.raw("#ifdef __cplusplus");
  declaration.raw("}");
  declaration.raw("#endif");
  declaration.raw("#endif");

  std::string definition = head + fmt::format("#include \"{}\"\n\n", header);
  definition += fmt::format("const unsigned char {}[] = {{\n", symbol);
  definition += byte_elements(text) + "};\n";
  definition += fmt::format("const size_t {}_bytes = {};\n", symbol, text.size());
  return {std::move(definition), head + declaration.take()};
}

} // namespace tang::print

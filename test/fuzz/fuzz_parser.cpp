// Any bytes through the lexer, the parser, the formatter and the elaborator: faults of the text are
// reported, and nothing else happens. What parses is formatted to a text that formats to itself;
// what elaborates prints as `.tg` that elaborates.
#include "base/check.h"
#include "fuzz.h"
#include "graph/text.h"
#include "parse/elaborate/elaborate.h"
#include "parse/format.h"
#include "parse/parser.h"
#include "parse/token.h"
#include "targets/embedded.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tang::fuzz {

namespace {

struct Counts {
  uint64_t inputs = 0, parsed = 0, elaborated = 0;
} counts;

std::string messages_of(const Sink& sink) {
  std::string text;
  for (const Diagnostic& d : sink.diagnostics()) text += d.message + "\n";
  return text;
}

std::string formatted_twice(const SourceManager& sources, const parse::Module& module) {
  std::string once = parse::format_module(sources, module);
  SourceManager again;
  Sink sink;
  FileId file = again.add("formatted.tg", once);
  auto reread = parse::parse_module(again, file, sink);
  if (!reread) return "formatted text does not parse: " + messages_of(sink) + once;
  std::string twice = parse::format_module(again, *reread);
  return twice == once ? "" : "formatting twice differs:\n" + once + "---\n" + twice;
}

std::optional<graph::Graph> elaborated(const std::string& text, Sink& sink) {
  SourceManager sources;
  parse::ElaborateOptions options;
  options.library_text = targets::embedded_spec("nn.tg");
  return parse::elaborate(sources, sources.add("input.tg", text), options, sink);
}

std::string read_back(const graph::Graph& graph) {
  std::string text = graph::to_text(graph);
  Sink sink;
  // Not compared as text: an output that a loop defines gains a copy each time.
  return elaborated(text, sink) ? "" : "the graph's text is refused: " + messages_of(sink) + text;
}

} // namespace

std::string fault_of(std::span<const uint8_t> input) {
  std::string text(input.begin(), input.end());
  ++counts.inputs;
  try {
    SourceManager sources;
    Sink sink, elaboration;
    FileId file = sources.add("input.tg", text);
    auto module = parse::parse_module(sources, file, sink);
    if (!module && sink.ok()) return "the parser gives nothing and reports nothing";
    if (module && !sink.ok()) return "the parser gives a module and reports an error";
    if (module) {
      ++counts.parsed;
      std::string fault = formatted_twice(sources, *module);
      if (!fault.empty()) return fault + "\nof the input\n" + text;
    }
    auto graph = elaborated(text, elaboration);
    if (!graph && elaboration.ok()) return "elaboration gives nothing and reports nothing\n" + text;
    if (!graph) return "";
    ++counts.elaborated;
    std::string fault = read_back(*graph);
    return fault.empty() ? "" : fault + "\nof the input\n" + text;
  } catch (const std::exception& error) {
    return std::string("internal error: ") + error.what() + "\non the input\n" + text;
  }
}

std::vector<Bytes> initial_corpus() {
  std::vector<std::filesystem::path> paths;
  for (const char* folder : {"/samples", "/test/samples", "/specs", "/test/fuzz/corpus"})
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(TANGC_SOURCE_DIR) + folder))
      if (entry.path().extension() == ".tg") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    // Large files say the same as small ones, slowly.
    if (text.size() < 8000) corpus.emplace_back(text.begin(), text.end());
  }
  return corpus;
}

std::vector<std::string> dictionary() {
  return {"tg 1\n",
          "graph g\n",
          "dim N in 0..9\n",
          "dim ",
          "input ",
          "param ",
          "const ",
          "let ",
          "def ",
          "monoid ",
          "include ",
          "output ",
          "grad ",
          "store ",
          "accumulate ",
          "budget ",
          "repeat ",
          "recur ",
          "carry ",
          "collect ",
          "where ",
          "else ",
          " in ",
          "step ",
          "over ",
          "as ",
          "sorted",
          "align 16",
          "outside ",
          "scan ",
          "exclusive",
          "desc",
          "topk",
          "argmax",
          "sum",
          "max",
          "min",
          "prod",
          "any",
          "all",
          "floordiv",
          "mod",
          "bitand",
          "shl",
          "and",
          "or",
          "not",
          "true",
          "false",
          "inf",
          "nan",
          "f16",
          "bf16",
          "f8e4m3",
          "i4",
          "u8",
          "bool",
          "i64",
          "softmax",
          "layernorm",
          "lse",
          "welford",
          "affine",
          "relu",
          "(",
          ")",
          "[",
          "]",
          "{",
          "}",
          ",",
          ";",
          ":",
          "=",
          "==",
          "!=",
          "<=",
          "->",
          "..",
          "..<",
          "+",
          "-",
          "*",
          "/",
          "#",
          "\"",
          "\\",
          "0",
          "1",
          "-1",
          "9223372036854775807",
          "9223372036854775808",
          "1e308",
          "1e-400",
          "0x1p-3",
          "1..2",
          "\xef\xbb\xbf",
          "\r\n",
          "\xc3\xa9",
          "\xff",
          "loc(\"f.py\":1:2)"};
}

bool shrinks_by_bytes() {
  return true;
}

std::string statistics() {
  return fmt::format("{} parsed, {} elaborated", counts.parsed, counts.elaborated);
}

} // namespace tang::fuzz

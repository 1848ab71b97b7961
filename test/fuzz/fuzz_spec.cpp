// Kernel-level text: any bytes give errors, or a program that verification accepts and that is
// written and read back the same.
#include "fuzz.h"
#include "kernel/verify.h"
#include "parse/spec/read.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tang::fuzz {

namespace {

struct {
  int inputs = 0, read = 0;
} counts;

std::string messages_of(const Sink& sink) {
  std::string text;
  for (const Diagnostic& d : sink.diagnostics()) text += d.message + "\n";
  return text;
}

std::string fault_in(const std::string& text) {
  SourceManager sources;
  Sink sink, other;
  FileId file = sources.add("k.spec", text);
  auto read = parse::spec::read_program(sources, file, {}, sink);
  if (!read && sink.ok()) return "nothing is read and nothing reported";
  if (read && !sink.ok()) return "a program is read and an error reported";
  auto formatted = parse::spec::format(sources, file, other);
  if (read && !formatted) return "what is read is not formatted";
  if (!read) return "";
  ++counts.read;
  if (auto misfit = kernel::find_misfit(read->program)) return "not verified: " + misfit->text;
  std::string written = kernel::to_text(read->program);
  for (const std::string& again : {written, *formatted}) {
    Sink third;
    auto twice = parse::spec::read_program(sources, sources.add("again.spec", again), {}, third);
    if (!twice) return "not read back: " + messages_of(third) + again;
    if (kernel::to_text(twice->program) != written)
      return "read back as another program:\n" + again;
  }
  return "";
}

} // namespace

std::string fault_of(std::span<const uint8_t> input) {
  std::string text(input.begin(), input.end());
  ++counts.inputs;
  try {
    std::string fault = fault_in(text);
    return fault.empty() ? "" : fault + "\nof the input\n" + text;
  } catch (const std::exception& error) {
    return std::string("internal error: ") + error.what() + "\non the input\n" + text;
  }
}

std::vector<Bytes> initial_corpus() {
  std::vector<std::filesystem::path> paths;
  for (const char* folder : {"/specs", "/test/fuzz/corpus/spec"})
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(TANGC_SOURCE_DIR) + folder))
      if (entry.path().extension() == ".spec") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

std::vector<std::string> dictionary() {
  return {"program p {\n",
          "kernel k {\n",
          "}\n",
          "} else {\n",
          "launch l {\n",
          "loop t in 0 .. T {\n",
          "target sm_80\n",
          "dim N in 1..100\n",
          "slot 0: N*4 bytes\n",
          "buffer ",
          "argument ",
          "workspace ",
          "table ",
          "written",
          "in part",
          "align 4",
          "in slot 0",
          "shape (N)",
          "arguments ",
          "promise ",
          "room ",
          "sorted",
          "max_blocks 5\n",
          "index 32",
          "param ",
          "scalar ",
          "blocks (b: 4)\n",
          "descending",
          "threads (t: 32)\n",
          "flat block n\n",
          "flat thread m\n",
          "shared bytes 128\n",
          "addresses i32\n",
          "allocate ",
          "register ",
          "shared ",
          "global ",
          "for i: index in 0 .. 4 ",
          "unrolled",
          "vector",
          "known in 0..3",
          "step 2",
          "if ",
          " else ",
          "barrier\n",
          " <- ",
          "Pointwise(",
          "Move(",
          "Move<4>(",
          "Shfl<1>(",
          "Delinearize(",
          "Commit<cp.async.commit_group>()",
          "Wait<cp.async.wait_group>(0)",
          "MatMul<mma.m16n8k16.f32.bf16>(",
          "Move<ldmatrix.x4>(",
          "$1",
          "$1: index <- Pointwise(",
          "as<index>(",
          "convert<f32>(",
          "round<bf16>(",
          "where(",
          "floordiv(",
          "mod(",
          "exp(",
          "and",
          "or",
          "not",
          "true",
          "nan",
          "inf64",
          "0.5f64",
          "1i32",
          "1i64",
          "1index",
          "-1",
          "9223372036854775808",
          "0x1p-3",
          "f32",
          "bf16",
          "i4",
          "bool",
          "index",
          "i32",
          "i64",
          "(",
          ")",
          "[",
          "]",
          "{",
          ",",
          ";",
          ":",
          "..",
          "+",
          "-",
          "*",
          "/",
          "<",
          "<=",
          "==",
          ".2",
          "#",
          "\r\n",
          "\xff"};
}

bool shrinks_by_bytes() {
  return true;
}

std::string statistics() {
  return fmt::format("{} of {} read", counts.read, counts.inputs);
}

} // namespace tang::fuzz

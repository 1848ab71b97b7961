#include "run.h"
#include "print/declarations.h"
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tang::print_test {

namespace fs = std::filesystem;

Folder::Folder() {
  std::string pattern = (fs::temp_directory_path() / "tangc-print-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()));
  path_ = pattern;
}
Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}
void Folder::write(const std::string& name, const std::string& text) const {
  fs::create_directories((fs::path(path_) / name).parent_path());
  std::ofstream(fs::path(path_) / name, std::ios::binary) << text;
}
std::string Folder::read(const std::string& name) const {
  std::ifstream in(fs::path(path_) / name, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}
int Folder::run(const std::string& command) {
  int status = std::system(("cd " + path_ + " && (" + command + ") > log.txt 2>&1").c_str());
  log = read("log.txt");
  return status;
}

bool have(const std::string& tool) {
  return std::system(("command -v " + tool + " > /dev/null 2>&1").c_str()) == 0;
}

std::vector<Bytes> run_on_files(Folder& folder, const std::string& build,
                                const std::vector<Bytes>& fields) {
  auto file = [](size_t field) { return fmt::format("{}.bin", field); };
  for (size_t i = 0; i < fields.size(); ++i)
    folder.write(file(i), std::string(fields[i].begin(), fields[i].end()));
  int built = folder.run(build);
  INFO(folder.log);
  REQUIRE(built == 0);
  int status = folder.run("./main");
  INFO(folder.log);
  if (WEXITSTATUS(status) == 77) return {};
  REQUIRE(status == 0);
  std::vector<Bytes> results;
  for (size_t i = 0; i < fields.size(); ++i) {
    std::string text = folder.read(file(i));
    results.emplace_back(text.begin(), text.end());
  }
  return results;
}

print::SourceText printed(const Built& built, const std::string& dialect,
                          const print::PrintOptions& options) {
  Sink sink;
  const print::Dialect* d = print::dialect_named(dialect);
  REQUIRE(d);
  auto source = print::print_source(built.parts(), *d, options, sink);
  for (const Diagnostic& diagnostic : sink.diagnostics()) UNSCOPED_INFO(diagnostic.message);
  REQUIRE(source);
  return *source;
}

std::string source_of(const Built& built, const std::string& dialect,
                      const print::PrintOptions& options) {
  return printed(built, dialect, options).text;
}

namespace {

constexpr const char* c_flags = " -std=c11 -O2 -Wall -Wextra -Werror -pedantic ";

/// A program that reads the fields from files, calls the launcher, and writes them back.
std::string file_main(const Built& built, const std::vector<int64_t>& dims,
                      const std::vector<Bytes>& fields) {
  print::PublicNames names = print::public_names(built.program, built.graph);
  std::string text = "#include \"t.h\"\n#include <stdio.h>\n#include <stdlib.h>\n"
                     "static void *slurp(const char *name, size_t size) {\n"
                     "  void *data = aligned_alloc(256, (size + 511) / 256 * 256);\n"
                     "  FILE *file = fopen(name, \"rb\");\n"
                     "  if (!file || fread(data, 1, size, file) != size) exit(9);\n"
                     "  fclose(file);\n  return data;\n}\nint main(void) {\n  t_dims dims = {";
  for (int64_t dim : dims) text += fmt::format("{}, ", dim);
  text += dims.empty() ? "0};\n  t_args args;\n" : "};\n  t_args args;\n";
  for (size_t i = 0; i < fields.size(); ++i)
    text += fmt::format("  void *f{0} = slurp(\"{0}.bin\", {1});\n  args.{2} = f{0};\n", i,
                        fields[i].size(), names.buffers[names.fields[i].value]);
  text += "  size_t bytes = t_c_workspace_bytes(&dims);\n"
          "  void *workspace = aligned_alloc(256, bytes + 256);\n"
          "  for (size_t i = 0; i < bytes; ++i) ((unsigned char *)workspace)[i] = 0xff;\n"
          "  int status = t_run(&args, &dims, workspace, bytes, NULL);\n"
          "  if (status) printf(\"%s\", tg_status_string((tg_status)status));\n"
          "  FILE *file;\n";
  for (size_t i = 0; i < fields.size(); ++i)
    text += fmt::format("  file = fopen(\"{0}.bin\", \"wb\");\n"
                        "  fwrite(f{0}, 1, {1}, file);\n  fclose(file);\n",
                        i, fields[i].size());
  return text + "  return status;\n}\n";
}

} // namespace

std::vector<Bytes> execute_c(const Built& built, const std::vector<int64_t>& dims,
                             const std::vector<Bytes>& fields) {
  Folder folder;
  std::string source = source_of(built, "c", options());
  std::vector<std::string> targets{"c"};
  folder.write("t.c", source);
  folder.write("t.h", print::print_header(built.program, built.graph, targets, options()));
  folder.write("main.c", file_main(built, dims, fields));
  std::vector<Bytes> results;
  for (const char* compiler : {"gcc", "clang"}) {
    if (!have(compiler)) continue;
    INFO(compiler);
    INFO(source);
    std::vector<Bytes> now =
        run_on_files(folder, std::string(compiler) + c_flags + "t.c main.c -o main -lm", fields);
    if (!results.empty()) CHECK(results == now);
    results = now;
  }
  if (results.empty()) WARN("no C compiler found: printed C was not compiled");
  return results;
}

void compile_cuda(const Built& built, const std::string& flags) {
  print::PrintOptions o = options("sm_80");
  o.extension = ".cu";
  std::string source = source_of(built, "cuda", o);
  if (!have("nvcc")) {
    WARN("nvcc not found: printed CUDA was not compiled");
    return;
  }
  Folder folder;
  folder.write("t.cu", source);
  INFO(source);
  int status = folder.run("nvcc -arch=sm_80 -Werror all-warnings -Xcompiler -Wall,-Werror -c " +
                          flags + " -o t.o t.cu");
  INFO(folder.log);
  CHECK(status == 0);
}

namespace {

/// Copies the fields to the device, captures the launcher into a graph, runs it, copies them back.
/// Exits with 77 without a device.
std::string device_main(const Built& built, const std::vector<int64_t>& dims,
                        const std::vector<Bytes>& fields) {
  print::PublicNames names = print::public_names(built.program, built.graph);
  std::string text = "#include \"t.h\"\n#include <cuda_runtime.h>\n#include <stdio.h>\n"
                     "#include <vector>\n"
                     "#define OK(call) if ((call) != cudaSuccess) return printf(#call), 9\n"
                     "static std::vector<char> slurp(const char *name, size_t size) {\n"
                     "  std::vector<char> data(size + 1);\n"
                     "  FILE *file = fopen(name, \"rb\");\n"
                     "  if (!file || fread(data.data(), 1, size, file) != size) throw 1;\n"
                     "  fclose(file);\n  return data;\n}\nint main() {\n"
                     "  int count = 0;\n"
                     "  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return 77;\n"
                     "  t_dims dims = {";
  for (int64_t dim : dims) text += fmt::format("{}, ", dim);
  text += "};\n  t_args args;\n";
  for (size_t i = 0; i < fields.size(); ++i)
    text += fmt::format("  std::vector<char> f{0} = slurp(\"{0}.bin\", {1});\n  void *d{0};\n"
                        "  OK(cudaMalloc(&d{0}, {1} + 1));\n"
                        "  OK(cudaMemcpy(d{0}, f{0}.data(), {1}, cudaMemcpyHostToDevice));\n"
                        "  args.{2} = d{0};\n",
                        i, fields[i].size(), names.buffers[names.fields[i].value]);
  text += "  size_t bytes = t_sm_90_workspace_bytes(&dims);\n  void *workspace;\n"
          "  OK(cudaMalloc(&workspace, bytes + 256));\n"
          "  OK(cudaMemset(workspace, 0xff, bytes));\n"
          "  cudaStream_t stream;\n  OK(cudaStreamCreate(&stream));\n"
          "  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));\n"
          "  int status = t_run(&args, &dims, workspace, bytes, stream);\n"
          "  if (status) printf(\"%s\", tg_status_string((tg_status)status));\n"
          "  cudaGraph_t graph;\n  OK(cudaStreamEndCapture(stream, &graph));\n"
          "  cudaGraphExec_t exec;\n  OK(cudaGraphInstantiate(&exec, graph, 0));\n"
          "  OK(cudaGraphLaunch(exec, stream));\n  OK(cudaStreamSynchronize(stream));\n"
          "  FILE *file;\n";
  for (size_t i = 0; i < fields.size(); ++i)
    text += fmt::format("  OK(cudaMemcpy(f{0}.data(), d{0}, {1}, cudaMemcpyDeviceToHost));\n"
                        "  file = fopen(\"{0}.bin\", \"wb\");\n"
                        "  fwrite(f{0}.data(), 1, {1}, file);\n  fclose(file);\n",
                        i, fields[i].size());
  return text + "  return status;\n}\n";
}

} // namespace

std::vector<Bytes> execute_cuda(const Built& built, const std::vector<int64_t>& dims,
                                const std::vector<Bytes>& fields) {
  if (!have("nvcc")) {
    WARN("nvcc not found: printed CUDA was not run");
    return {};
  }
  Folder folder;
  print::PrintOptions o = options("sm_90");
  o.extension = ".cu";
  std::string source = source_of(built, "cuda", o);
  std::vector<std::string> targets{"sm_90"};
  folder.write("t.cu", source);
  folder.write("t.h", print::print_header(built.program, built.graph, targets, o));
  folder.write("main.cu", device_main(built, dims, fields));
  INFO(source);
  std::vector<Bytes> results =
      run_on_files(folder, "nvcc -arch=sm_90 -Werror all-warnings t.cu main.cu -o main", fields);
  if (results.empty()) WARN("no device: printed CUDA was not run");
  return results;
}

void check_golden(const std::string& name, const std::string& text) {
  std::string path = std::string(TANGC_SOURCE_DIR) + "/test/print/expected/" + name;
  if (std::getenv("TANGC_UPDATE")) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ifstream in(path, std::ios::binary);
  std::stringstream expected;
  expected << in.rdbuf();
  INFO("the expectation is " << path << "; TANGC_UPDATE=1 rewrites it");
  CHECK(text == expected.str());
}

void check_c(const Built& built, const std::string& main_text, const std::string& expected) {
  Folder folder;
  std::string source = source_of(built, "c", options());
  std::vector<std::string> targets{"c"};
  folder.write("t.c", source);
  folder.write("t.h", print::print_header(built.program, built.graph, targets, options()));
  folder.write("main.c", "#include \"t.h\"\n#include <stdio.h>\n#include <string.h>\n" + main_text);
  int compilers = 0;
  for (const char* compiler : {"gcc", "clang"}) {
    if (!have(compiler)) continue;
    ++compilers;
    INFO(compiler);
    INFO(source);
    int compiled = folder.run(std::string(compiler) + c_flags + "t.c main.c -o main -lm");
    INFO(folder.log);
    REQUIRE(compiled == 0);
    int status = folder.run("./main");
    INFO(folder.log);
    CHECK(status == 0);
    CHECK(folder.log == expected);
  }
  if (compilers == 0) WARN("no C compiler found: printed C was not compiled");
}

} // namespace tang::print_test

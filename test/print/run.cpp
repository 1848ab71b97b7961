#include "run.h"
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

std::string source_of(const Built& built, const std::string& dialect, print::PrintOptions options) {
  Sink sink;
  const print::Dialect* d = print::dialect_named(dialect);
  REQUIRE(d);
  auto source = print::print_source(built.program, built.graph, *d, options, sink);
  for (const Diagnostic& diagnostic : sink.diagnostics()) UNSCOPED_INFO(diagnostic.message);
  REQUIRE(source);
  return source->text;
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
    int compiled =
        folder.run(std::string(compiler) +
                   " -std=c11 -O2 -Wall -Wextra -Werror -pedantic t.c main.c -o main -lm");
    INFO(folder.log);
    REQUIRE(compiled == 0);
    if (getenv("TANGC_SHOW")) WARN(source);
    int status = folder.run("./main");
    INFO(folder.log);
    CHECK(status == 0);
    CHECK(folder.log == expected);
  }
  if (compilers == 0) WARN("no C compiler found: printed C was not compiled");
}

} // namespace tang::print_test

// Exact texts of the formats for people and editors.
#include "diagnostics/render.h"
#include "some_warning.h"
#include <catch2/catch.hpp>

using namespace tang;

namespace {

struct Fixture {
  SourceManager sources;
  FileId file = sources.add("dir/a.tg", "tg 1\nx[i] = y[i]\nz[i] = x[i]\n");
  Sink sink;
  RenderOptions options;

  std::string all() { return render_all(sink.diagnostics(), sources, options); }
  void fault() {
    sink.report(Kind::cannot_read, {file, 12, 13}, "unknown name `y`")
        .note({file, 17, 18}, "a near one is here")
        .help("did you mean `z`?");
  }
};

/// A diagnostic as -W options may have left it, whatever the registry holds.
Diagnostic made(Kind kind, Severity severity, Span span, std::string message) {
  return {kind, severity, span, std::move(message), {}, {}};
}

} // namespace

TEST_CASE_METHOD(Fixture, "gcc", "[render]") {
  fault();
  CHECK(all() == "dir/a.tg:2:8: error: unknown name `y` [E0001]\n"
                 "    2 | x[i] = y[i]\n"
                 "      |        ^\n"
                 "dir/a.tg:3:1: note: a near one is here\n"
                 "    3 | z[i] = x[i]\n"
                 "      | ^\n"
                 "dir/a.tg:2:8: help: did you mean `z`?\n"
                 "1 error generated\n");
}

TEST_CASE_METHOD(Fixture, "gcc shows the text that mends the fault", "[render]") {
  sink.report(Kind::cannot_read, {file, 12, 16}, "m").fix = "z[i]";
  CHECK(all() == "dir/a.tg:2:8: error: m [E0001]\n"
                 "    2 | x[i] = y[i]\n"
                 "      |        ^~~~\n"
                 "      |        z[i]\n"
                 "1 error generated\n");
}

TEST_CASE_METHOD(Fixture, "a diagnostic about no file names the tool", "[render]") {
  sink.report(Kind::cannot_read, {}, "cannot read `b.tg`").help("check the path");
  CHECK(all() == "tangc: error: cannot read `b.tg` [E0001]\n"
                 "tangc: help: check the path\n"
                 "1 error generated\n");
  options.format = DiagnosticsFormat::msvc;
  CHECK(all() == "tangc : error E0001: cannot read `b.tg`\n"
                 "tangc : note: check the path\n");
}

TEST_CASE_METHOD(Fixture, "msvc", "[render]") {
  fault();
  options.format = DiagnosticsFormat::msvc;
  CHECK(all() == "dir/a.tg(2,8): error E0001: unknown name `y`\n"
                 "dir/a.tg(3,1): note: a near one is here\n"
                 "dir/a.tg(2,8): note: did you mean `z`?\n");
}

TEST_CASE_METHOD(Fixture, "colours are in the gcc format only, and only when asked for",
                 "[render]") {
  fault();
  CHECK(all().find('\x1b') == std::string::npos);
  options.color = true;
  CHECK(all().find("\x1b[1mdir/a.tg:2:8:\x1b[0m \x1b[1;31merror:\x1b[0m \x1b[1munknown name "
                   "`y`\x1b[0m [E0001]\n") == 0);
  CHECK(all().find("      |        \x1b[1;32m^\x1b[0m\n") != std::string::npos);
  for (DiagnosticsFormat format :
       {DiagnosticsFormat::msvc, DiagnosticsFormat::json, DiagnosticsFormat::sarif}) {
    options.format = format;
    CHECK(all().find('\x1b') == std::string::npos);
  }
}

TEST_CASE_METHOD(Fixture, "the summary counts", "[render]") {
  CHECK(all().empty());
  auto warning = some_warning();
  REQUIRE(warning);
  std::vector<Diagnostic> list{made(*warning, Severity::warning, {}, "w")};
  CHECK(render_all(list, sources, options) ==
        fmt::format("tangc: warning: w [{}] [-W{}]\n1 warning generated\n", info(*warning).code,
                    info(*warning).flag));
  list.push_back(made(Kind::cannot_read, Severity::error, {}, "e"));
  list.push_back(made(*warning, Severity::error, {}, "promoted"));
  std::string text = render_all(list, sources, options);
  CHECK(text.find(fmt::format("tangc: error: promoted [{}] [-Werror={}]\n", info(*warning).code,
                              info(*warning).flag)) != std::string::npos);
  CHECK(text.find("\n2 errors and 1 warning generated\n") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "no more errors than asked for", "[render]") {
  auto warning = some_warning();
  REQUIRE(warning);
  std::vector<Diagnostic> list;
  for (const char* text : {"a", "b", "c"})
    list.push_back(made(Kind::cannot_read, Severity::error, {}, text));
  list.push_back(made(*warning, Severity::warning, {}, "late"));
  options.max_errors = 2;
  CHECK(render_all(list, sources, options) == "tangc: error: a [E0001]\n"
                                              "tangc: error: b [E0001]\n"
                                              "1 more error and 1 more warning not shown\n"
                                              "3 errors and 1 warning generated\n");
  options.max_errors = 1;
  CHECK(render_all(list, sources, options).find("\n2 more errors and 1 more warning not shown\n") !=
        std::string::npos);
  for (size_t enough : {size_t{0}, size_t{3}, size_t{20}}) {
    options.max_errors = enough;
    CHECK(render_all(list, sources, options).find("not shown") == std::string::npos);
    CHECK(render_all(list, sources, options).find("late") != std::string::npos);
  }
  options.max_errors = 2;
  options.format = DiagnosticsFormat::msvc;
  CHECK(render_all(list, sources, options) == "tangc : error E0001: a\n"
                                              "tangc : error E0001: b\n"
                                              "1 more error and 1 more warning not shown\n");
}

TEST_CASE_METHOD(Fixture, "names from the input cannot move the terminal", "[render]") {
  FileId odd = sources.add("a\x1b]0;x\x07\nb.tg", "\x1b[31mred\n");
  sink.report(Kind::cannot_read, {odd, 5, 8}, std::string("saw `\x1b[2J\r`\n")).note({}, "\x9b");
  std::string text = all();
  CHECK(text ==
        "a<U+001B>]0;x<U+0007><U+000A>b.tg:1:6: error: saw `<U+001B>[2J<U+000D>`<U+000A> [E0001]\n"
        "    1 | <U+001B>[31mred\n"
        "      |             ^~~\n"
        "a<U+001B>]0;x<U+0007><U+000A>b.tg:1:6: note: <9B>\n"
        "1 error generated\n");
}

TEST_CASE("format names", "[render]") {
  CHECK(diagnostics_format_of_name("gcc") == DiagnosticsFormat::gcc);
  CHECK(diagnostics_format_of_name("msvc") == DiagnosticsFormat::msvc);
  CHECK(diagnostics_format_of_name("json") == DiagnosticsFormat::json);
  CHECK(diagnostics_format_of_name("sarif") == DiagnosticsFormat::sarif);
  CHECK_FALSE(diagnostics_format_of_name("GCC"));
  CHECK_FALSE(diagnostics_format_of_name(""));
}

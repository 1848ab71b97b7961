// What a person may write, and leave out.
#include "kernel/verify.h"
#include "parse/spec/read.h"
#include <catch2/catch.hpp>

using namespace tang;
using parse::spec::read_program;

namespace {

std::string read(const std::string& text) {
  SourceManager sources;
  Sink sink;
  auto read = read_program(sources, sources.add("k.spec", text), {}, sink);
  for (const Diagnostic& d : sink.diagnostics())
    UNSCOPED_INFO(sources.position(d.span.file, d.span.begin).line << ": " << d.message);
  REQUIRE(read);
  return kernel::to_text(read->program);
}

std::string formatted(const std::string& text) {
  SourceManager sources;
  Sink sink;
  return parse::spec::format(sources, sources.add("k.spec", text), sink).value_or("refused");
}

constexpr const char* by_hand = R"(
# Doubles what it is given.
program twice {           # a remark
  target sm_80
  dim N in 1..1000

  buffer x: argument f16 shape (N)
  buffer y: argument f32 shape (N) written
  buffer scale: table f32 (3) = {
    0.5, 1e-3,
    -inf
  }
  arguments (x, y)
  launch twice it {
    twice(x, y, scale; N) blocks (floordiv(N + 7, 8))
  }
}

# y = 2*x
kernel twice {
  param x: global f16 (N)
  param y: global f32 (N):(1) written
  param scale: global f32 (3)
  scalar N: index in 1..1000
  blocks (block: floordiv(N + 7, 8)) descending
  threads (thread: 4)
  allocate acc: register f32 (2, 4)
  for v in 0 .. 2 unrolled {
    a: f32 <- Move(x[block*8 + thread*2 + v]) if block*8 + thread*2 + v < N else 0.0
    acc[v, 0] <- Move(a)
  }
  # the second half
  for v in 0 .. 2 {
    b: f32 <- Pointwise(acc[v, 0]*2.0 +
                        where(0 < v, 0x1p-3, 0.0))
    y[block*8 + thread*2 + v] <- Move(b) if block*8 + thread*2 + v < N
  }
}
)";

} // namespace

TEST_CASE("what follows may be left out", "[spec]") {
  std::string text = read(by_hand);
  CHECK(text == R"(program twice {
  target sm_80
  dim N in 1..1000
  buffer x: argument f16 (N) shape (N)
  buffer y: argument f32 (N) shape (N) written
  buffer scale: table f32 (3) = {0.5, 0.001, -inf}
  arguments (x, y)
  launch twice it {
    twice(x, y, scale; N) blocks (floordiv(N + 7, 8))
  }
}

# y = 2*x
kernel twice {
  param x: global f16 (N):(1)
  param y: global f32 (N):(1) written
  param scale: global f32 (3):(1)
  scalar N: index in 1..1000
  blocks (block: floordiv(N + 7, 8)) descending
  threads (thread: 4)
  allocate acc: register f32 (2, 4):(4, 1)
  for v: index in 0 .. 2 unrolled {
    a: f32 <- Move(x[block*8 + thread*2 + v]) if block*8 + thread*2 + v < N else 0.0
    acc[v, 0] <- Move(a)
  }
  for v: index in 0 .. 2 {
    b: f32 <- Pointwise(acc[v, 0]*2.0 + where(0 < v, 0.125, 0.0))
    y[block*8 + thread*2 + v] <- Move(b) if block*8 + thread*2 + v < N
  }
}
)");
  CHECK(read(text) == text);
}

TEST_CASE("a file is formatted without losing a word", "[spec]") {
  std::string once = formatted(by_hand);
  CHECK(formatted(once) == once);
  CHECK(once.find("program twice {  # a remark\n") != std::string::npos);
  CHECK(once.find("  # the second half\n") != std::string::npos);
  CHECK(once.find("\n\n\n") == std::string::npos);
  CHECK(read(once) == read(by_hand));
  CHECK(formatted("kernel  k{\nx[ i ]<-Move( -1.0+y )  if  i<N\n}\n") ==
        "kernel k {\n  x[i] <- Move(-1.0 + y) if i < N\n}\n");
  std::string free_ends = "kernel k {\n  i: i32 in 0.. <- Pointwise(n)\n"
                          "  j: i32 in ..-5 step 2 <- Pointwise(n)\n"
                          "  k: i32 in 0.. step 4 <- Pointwise(n)\n}\n";
  CHECK(formatted(free_ends) == free_ends);
}

TEST_CASE("numbers come back exactly", "[spec]") {
  auto value = [](const std::string& type, const std::string& text) {
    std::string out = read("program p {\n  dim N in 1..9\n  buffer y: argument " + type +
                           " (1) written\n  arguments (y)\n  launch k {\n    k(y)\n  }\n}\n\n"
                           "kernel k {\n  param y: global " +
                           type + " (1):(1) written\n  y[0] <- Move(" + text + ")\n}\n");
    size_t at = out.find("Move(") + 5;
    return out.substr(at, out.find(")\n", at) - at);
  };
  for (const char* text :
       {"0.1", "-0.0", "1e-45", "3.4028235e+38", "inf", "-inf", "nan", "16777216.0"})
    CHECK(value("f32", text) == text);
  for (const char* text : {"0.1f64", "5e-324f64", "1.7976931348623157e+308f64", "-inf64", "nan64"})
    CHECK(value("f64", text) == text);
  for (const char* text : {"-9223372036854775808", "9223372036854775807", "0"})
    CHECK(value("i64", text) == text);
  CHECK(value("i32", "-2147483648") == "-2147483648");
  CHECK(value("i64", "7index") == "7index");
  CHECK(value("f32", "convert<f32>(5i64)") == "convert<f32>(5i64)");
  CHECK(value("f32", "-(-(1.5))") == "1.5");
}

TEST_CASE("names are free again behind their body", "[spec]") {
  kernel::Kernel kernel;
  kernel.name = "k";
  kernel::ValueStore& s = kernel.values;
  kernel::Tensor y{
      "y", graph::ElemType::f32, kernel::Memory::global, {s.integer(4)}, {s.integer(1)}, true};
  kernel.params = {kernel.add(y)};
  for (int n = 0; n < 2; ++n) {
    kernel::VarId i = s.add_var({"i", kernel::Type::index, 0, 1});
    kernel::For loop{i, s.integer(0), s.integer(2), s.integer(1), kernel::LoopKind::serial, {}};
    kernel::VarId j = s.add_var({"i", kernel::Type::index, 0, 3});
    loop.body.push_back({kernel::Let{j, s.add(s.variable(i), s.integer(n))}});
    loop.body.push_back(
        {kernel::Store{{kernel.params[0], {s.variable(j)}}, s.real(1, kernel::Type::f32), {}}});
    kernel.body.push_back({std::move(loop)});
  }
  std::string text = to_text(kernel);
  CHECK(text.find("i.2: index in 0..3 <- Pointwise(i)") != std::string::npos);
  CHECK(text.find("i.3") == std::string::npos);
  std::string program = "program p {\n  buffer y: argument f32 (4) written\n  arguments (y)\n"
                        "  launch k {\n    k(y)\n  }\n}\n\n" +
                        text;
  CHECK(read(program) == program);
}

// Faults in `.spec` files: each kind with its place.
#include "parse/spec/read.h"
#include <catch2/catch.hpp>

using namespace tang;

namespace {

struct Found {
  std::vector<std::string> messages; ///< `line:column code message`
  std::string help;                  ///< of the first
};

Found faults(const std::string& text) {
  SourceManager sources;
  Sink sink;
  auto read = parse::spec::read_program(sources, sources.add("k.spec", text), {}, sink);
  CHECK(read.has_value() == sink.ok());
  Found found;
  for (const Diagnostic& d : sink.diagnostics()) {
    LineColumn at = d.span ? sources.position(d.span.file, d.span.begin) : LineColumn();
    found.messages.push_back(
        fmt::format("{}:{} {} {}", at.line, at.column, info(d.kind).code, d.message));
    for (const Note& note : d.notes)
      if (found.help.empty()) found.help = note.message;
  }
  return found;
}

/// Lines 14 and on are the body: one warp, a row of 32 floats.
std::string with_body(const std::string& body) {
  return R"(program p {
  dim N in 1..1000
  buffer x: argument f32 (N)
  buffer y: argument f32 (N) written
  arguments (x, y)
  launch k {
    k(x, y; N)
  }
}
kernel k {
  param x: global f32 (N):(1)
  param y: global f32 (N):(1) written
  scalar N: index in 1..1000
)" + body +
         "}\n";
}

void check_fault(const std::string& body, const std::string& wanted, const std::string& help = "") {
  Found found = faults(with_body(body));
  INFO(body);
  REQUIRE(!found.messages.empty());
  CHECK(found.messages[0] == wanted);
  CHECK(found.messages.size() == 1);
  if (!help.empty()) CHECK(found.help.find(help) != std::string::npos);
}

} // namespace

TEST_CASE("what cannot be read is reported where it stands", "[errors]") {
  check_fault("y[0] <- Move(1.0) iff N\n", "14:19 E0201 expected the end of the line, found `iff`");
  check_fault("y[0] <- Move(1.0\n", "15:1 E0201 expected `)`, found `}`");
  check_fault("y[0] <- Move()\n", "14:14 E0201 expected a value, found `)`");
  check_fault("y[0 <- Move(1.0)\n", "14:5 E0201 expected `]`, found `<-`");
  check_fault("y[0] <- Move(1.0q)\n", "14:14 E0105 `1.0q` is not a number");
  check_fault("y[99999999999999999999] <- Move(1.0)\n",
              "14:3 E0106 `99999999999999999999` does not fit 64 bits, or is too small to be told "
              "from 0");
  check_fault("y[9223372036854775808] <- Move(1.0)\n",
              "14:3 E0106 a number beyond 9223372036854775807");
  check_fault("y[0] <- Move(1.0) @\n", "14:19 E0103 unexpected character `@`");
  check_fault("if 0 < N {\n", "10:8 E0203 the body of kernel `k` is not closed");
  check_fault("y[0] <- Move(1.0) if N > 3\n", "14:24 E0104 `>` is not part of the language",
              "write `b < a`");
}

TEST_CASE("names that nothing has", "[errors]") {
  check_fault("y[0] <- Move(xx)\n", "14:14 E0301 nothing here is called `xx`");
  check_fault("z[0] <- Move(1.0)\n", "14:1 E0301 nothing here is called `z`");
  check_fault("block: index <- Pointwise(N + 1)\ny[0] <- Move(1.0) if blck < 3\n",
              "15:22 E0301 nothing here is called `blck`", "block");
  check_fault("y[0] <- Move(expp(1.0))\n", "14:14 E0310 there is no function `expp`", "exp");
  check_fault("y[0] <- Move(convert<f33>(N))\n", "14:22 E0309 `f33` is no type of a value");
  check_fault("allocate a: register f12 (2)\n", "14:22 E0309 `f12` is no element type");
  check_fault("allocate a: local f32 (2)\n",
              "14:13 E0201 expected `global`, `shared` or `register`, found `local`");
  check_fault("N: index <- Pointwise(3)\n", "14:1 E0303 `N` is defined already");
  check_fault("for i in 0 .. 4 {\n}\ny[i] <- Move(1.0)\n", "16:3 E0301 nothing here is called `i`");
  // What depends on a fault is no further one.
  check_fault("a: f32 <- Pointwise(zz)\nb: f32 <- Pointwise(a + a)\ny[0] <- Move(b)\n",
              "14:21 E0301 nothing here is called `zz`");
}

TEST_CASE("values of another type", "[errors]") {
  check_fault("y[0] <- Move(N + 1.0)\n", "14:14 E0307 operands of two types, index and f32");
  check_fault("y[0] <- Move(2.0*3)\n", "14:18 E0307 an integer stands where f32 is expected",
              "1.0");
  check_fault("y[1.0] <- Move(1.0)\n", "14:3 E0307 a coordinate is an integer, and this is f32");
  check_fault("y[0] <- Move(1.0) if N\n", "14:22 E0307 a condition is bool, and this is index");
  check_fault("y[0] <- Move(N / N)\n", "14:14 E0307 `/` takes reals, and this is index",
              "floordiv");
  check_fault("y[0] <- Move(exp(1.0, 2.0))\n", "14:14 E0311 `exp` takes 1 values and is given 2");
  check_fault("y[0, 0] <- Move(1.0)\n", "14:1 E0304 `y` has 1 modes and is given 2 coordinates");
  check_fault("y[0] <- Move(true)\n", "14:14 E0307 bool is not stored to `y`, f32");
  check_fault("y[0] <- Move(x[0])\n", "14:14 E0307 a value reads `x`, f32 in global memory",
              "x: f32 <- Move(x[...])");
  check_fault("a: i32 <- Pointwise(3000000000)\n", "14:21 E0106 3000000000 does not fit i32");
  check_fault("a: i32 <- Move(x[0])\n", "14:1 E0307 an element of `x`, f32, is not moved to i32");
  check_fault("a: f32 <- Move(x[0]) if 0 < N\n",
              "14:1 E0320 a guarded Move says what stands for the element elsewhere, and no other "
              "does: `Move(x[i]) if i < N else 0.0`");
}

TEST_CASE("instructions", "[errors]") {
  std::string registers = "allocate d: register f32 (4)\nallocate a: register bf16 (8)\n"
                          "allocate b: register bf16 (4)\n";
  check_fault(registers + "d[0] <- MatMul<mma.m16n8k16.f32.bf17>(a[0], b[0])\n",
              "17:16 E1101 no table has an instruction `mma.m16n8k16.f32.bf17`",
              "did you mean `mma.m16n8k16.f32.bf16`");
  check_fault(registers + "d[0] <- Move<mma.m16n8k16.f32.bf16>(a[0], b[0])\n",
              "17:9 E1101 `mma.m16n8k16.f32.bf16` is a MatMul, not a Move");
  Found found = faults(with_body(registers + "d[0] <- MatMul<mma.m16n8k16.f32.bf16>(a[0])\n"));
  REQUIRE(found.messages.size() == 1);
  CHECK(found.messages[0].starts_with(
      "17:1 E1102 `mma.m16n8k16.f32.bf16` has 3 operands and is given 2"));
}

TEST_CASE("rules of kernels", "[errors]") {
  check_fault("x[0] <- Move(1.0)\n", "14:1 E1102 `x` is stored to and not marked written");
  check_fault("if 0 < N {\n  allocate a: register f32 (2)\n  a[2] <- Move(1.0) if N < 3\n"
              "}\nallocate b: register f32 (2)\nb[3] <- Move(1.0)\ny[0] <- Move(1.0)\n",
              "19:1 E1102 coordinate 0 of `b` is always out of range");
  check_fault("allocate a: register f32 (N)\n",
              "14:10 E0316 extents and strides of what is allocated are numbers");
  check_fault("allocate a: register f32 (1000000000000, 1000000000000)\n",
              "14:10 E0705 more elements than any device has room for");
  check_fault("allocate a: global f32 (4)\n",
              "14:10 E1102 global memory is given, not allocated: `param`");
  check_fault("y <- Moov(x) {\n}\n", "14:6 E0310 `Moov` is no kind of spec", "Move");
  check_fault("a: f32 <- Shfl<99>(1.0)\n", "14:1 E1102 a shuffle with mask 32");
  check_fault("(a, b) <- Delinearize(N; 3)\n", "14:1 E0304 2 coordinates of 1 extents");
  CHECK(
      faults("program p {\n  buffer y: argument f32 (4) written\n  arguments (y)\n}\n").messages ==
      std::vector<std::string>{"1:9 E1102 nothing writes output `y`"});
}

TEST_CASE("programs", "[errors]") {
  auto first = [](const std::string& text) {
    Found found = faults(text);
    return found.messages.empty() ? "" : found.messages[0];
  };
  CHECK(first("") == "1:1 E0201 expected a program: `program name {`, found the end of the file");
  CHECK(first("kernel k {\n}\n") ==
        "1:1 E0201 expected a program: `program name {`, found `kernel`");
  CHECK(first("program p {\n  buffr x\n}\n").starts_with("2:3 E0201 expected `target`"));
  CHECK(first("program p {\n  launch k {\n    k()\n  }\n}\n") ==
        "3:5 E0301 there is no kernel `k`");
  CHECK(first("program p {\n  launch k {\n    k(a)\n  }\n}\nkernel k {\n}\n") ==
        "3:7 E0301 nothing here is called `a`");
  CHECK(first("program p {\n  launch k {\n    k(; 3)\n  }\n}\nkernel k {\n}\n") ==
        "3:5 E0311 `k` takes 0 scalars and is given 1");
  CHECK(first("program p {\n  dim N in 5..3\n}\n") == "2:12 E0605 the range 5..3 is empty");
  CHECK(first("program p {\n  buffer w: table i8 (2) = {1, 300}\n}\n") ==
        "2:32 E0318 300 does not fit i8");
  CHECK(first("program p {\n  buffer w: workspace f32 (2) in slot 0\n}\n") ==
        "2:10 E0301 there is no slot 0");
  CHECK(first("program p {\n}\nprogram q {\n}\n") ==
        "3:1 E0201 expected a kernel: a file holds one program, found `program`");
  CHECK(first(std::string("program p {\0", 12)) == "1:12 E0102 a NUL byte in the text");
  CHECK(first("program p {\xff").starts_with("1:12 E0101"));
}

TEST_CASE("several faults in one run", "[errors]") {
  Found found =
      faults(with_body("for i in 0 .. zz {\n  y[i] <- Move(1)\n}\nif N {\n  q[0] <- Move(1.0)\n}\n"
                       "y[0] <- Move(1.0\ny[1] <- Move(2.0, 3.0)\ny[2] <- Mov(1.0)\n"));
  CHECK(found.messages == std::vector<std::string>{
                              "14:15 E0301 nothing here is called `zz`",
                              "17:4 E0307 a condition is bool, and this is index",
                              "18:3 E0301 nothing here is called `q`",
                              "21:1 E0201 expected `)`, found `y`",
                              "21:17 E0201 expected `)`, found `,`",
                              "22:9 E0201 `Mov` does not store one element",
                          });
}

TEST_CASE("hostile texts give errors", "[errors]") {
  std::string deep(100000, '('), nots, chain = "N";
  for (int i = 0; i < 50000; ++i) nots += "not ", chain += " + N";
  Found found = faults(with_body("y[" + deep + "N] <- Move(1.0)\n"));
  REQUIRE(found.messages.size() == 1);
  CHECK(found.messages[0].find("E0205") != std::string::npos);
  CHECK(!faults(with_body("y[0] <- Move(1.0) if " + nots + "true\n")).messages.empty());
  // Long is not deep.
  check_fault("y[0] <- Move(1.0) if " + chain + " < 3\nq[0] <- Move(1.0)\n",
              "15:1 E0301 nothing here is called `q`");
  std::string loops, ends;
  for (int i = 0; i < 20000; ++i) loops += "if 0 < N {\n", ends += "}\n";
  found = faults(with_body(loops + ends));
  REQUIRE(!found.messages.empty());
  CHECK(found.messages[0].find("E0205") != std::string::npos);
  CHECK(!faults(with_body(loops)).messages.empty());
  CHECK(!faults("program p {\n" + loops).messages.empty());
  std::string steps;
  for (int i = 0; i < 20000; ++i) steps += "loop t" + std::to_string(i) + " in 0 .. 2 {\n";
  CHECK(!faults("program p {\n" + steps).messages.empty());
}

// Names, tables, workspace, variants, recurrences, sizes.
#include "run.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace tang;
using namespace tang::kernel;
using namespace tang::print_test;
using graph::ElemType;

namespace {

ValueId same(ValueStore&, ValueId x) {
  return x;
}

/// to[i] = from[i] + add for i < n.
Kernel add_kernel(const std::string& name, float add) {
  Maker m(name);
  TensorId x = m.global("from", ElemType::f32), y = m.global("to", ElemType::f32, true);
  ValueId n = m.scalar("n");
  VarId i = m.var("i", Type::i64, 0, 1 << 20), e = m.var("e", Type::f32);
  ValueId at = m.v().variable(i);
  m.kernel.body = {
      loop(i, m.number(0), n, m.number(1),
           {load(e, x, at), store(y, at, m.v().binary(Op::add, m.v().variable(e), m.real(add)))})};
  return std::move(m.kernel);
}

} // namespace

TEST_CASE("names that mean something to C, CUDA or OpenCL", "[print][launcher]") {
  const char* names[] = {
      "new",       "float",        "main",       "I",         "EOF",      "in",
      "threadIdx", "kernel",       "vec4",       "args",      "dims",     "t",
      "expf",      "NULL",         "tg_max_f32", "tg_status", "_X",       "__x",
      "a.b",       "a_b",          "i",          "end",       "restrict", "bool",
      "bytes",     "blocks",       "int32_t",    "config",    "pointers", "overflow",
      "half",      "get_group_id", "barrier",    "vload4",    "float4",   "session",
      "cl_mem",    "global",       "uchar"};
  Built all;
  std::vector<Bytes> fields;
  ValueId extent = all.dim("int", 0, 1 << 20);
  for (const char* name : names) {
    Built one = pointwise(
        ElemType::f16, Type::f32, ElemType::f32,
        [](ValueStore& v, ValueId x) {
          return v.binary(Op::max, v.unary(Op::exp, x), v.real(0, Type::f32));
        },
        name, name, name);
    BufferId x = all.argument(name, ElemType::f16, extent, false);
    BufferId y = all.argument(name, ElemType::f32, extent, true);
    all.launch(std::move(one.program.kernels[0]), {x, y}, {extent});
    fields.push_back(Bytes{0, 0});
    fields.push_back(Bytes(4));
  }
  compile_cuda(all);
  compile_opencl(all);
  auto result = execute_c(all, {1}, fields);
  for (size_t i = 1; i < result.size(); i += 2) CHECK(numbers_of<float>(result[i])[0] == 1);
  Built clash = pointwise(ElemType::f32, Type::f32, ElemType::f32, same, "a.b", "a_b", "new");
  std::vector<std::string> targets{"c", "c+avx2"};
  std::string header = print::print_header(clash.program, clash.graph, targets, options());
  CHECK(header.find("`new` is called `new_` here") != header.npos);
  CHECK(header.find("`a.b` is called `a_b` here") != header.npos);
  CHECK(header.find("`a_b` is called `a_b_1` here") != header.npos);
  CHECK(header.find("t_c_avx2_run") != header.npos);
  CHECK(header.find("#define t_run") == header.npos);
}

TEST_CASE("the header is C and C++", "[print][launcher]") {
  Built b = pointwise(ElemType::f32, Type::f32, ElemType::f32, same, "class", "y", "long");
  std::vector<std::string> targets{"c"};
  Folder folder;
  folder.write("t.h", print::print_header(b.program, b.graph, targets, options()));
  folder.write("a.c", "#include \"t.h\"\n#include \"t.h\"\nint main(void) { return t_run(0, 0, 0, "
                      "0, 0) == TG_OK; }\n");
  folder.write("a.cpp", folder.read("a.c"));
  for (const char* command : {"gcc -std=c11 -Wall -Wextra -Werror -pedantic -c a.c",
                              "clang -std=c11 -Weverything -Wno-padded -Werror -c a.c",
                              "g++ -std=c++17 -Wall -Wextra -Werror -pedantic -c a.cpp"}) {
    std::string tool(command, std::string_view(command).find(' '));
    if (!have(tool)) continue;
    int status = folder.run(command);
    INFO(folder.log);
    CHECK(status == 0);
  }
}

TEST_CASE("text of the input stays inside comments", "[print][launcher]") {
  Built b = pointwise(ElemType::f32, Type::f32, ElemType::f32, same);
  b.program.kernels[0].comment = {"*/ int x; /*", "ends in a backslash \\",
                                  "what?"
                                  "?/",
                                  "two\nlines", "\xff"};
  std::get<Dispatch>(b.program.steps[0].node).name = "y\\\n#error";
  std::vector<float> x{3};
  auto result = execute_c(b, {1}, {bytes_of(x), Bytes(4)});
  if (!result.empty()) CHECK(numbers_of<float>(result[1])[0] == 3);
}

TEST_CASE("constant tables are embedded", "[print][launcher]") {
  Built b;
  ValueId n = b.dim("n", 0, 4);
  std::vector<Bytes> fields;
  for (ElemType type : {ElemType::f32, ElemType::f64, ElemType::f16, ElemType::bf16,
                        ElemType::f8e4m3, ElemType::f8e5m2, ElemType::i4, ElemType::i64}) {
    bool real = graph::scalar_of(type) == graph::Scalar::real;
    BufferId table = real ? b.table("table", type, {1, -2.5, 0.125, INFINITY}, {})
                          : b.table("table", type, {}, {1, -8, 7, -1});
    BufferId y = b.argument("y", ElemType::f32, n, true);
    Maker m("y");
    TensorId t = m.global("table", type), to = m.global("y", ElemType::f32, true);
    ValueId count = m.scalar("n", Type::i64, 4);
    VarId i = m.var("i", Type::i64, 0, 3), e = m.var("e", Type::f32);
    ValueId at = m.v().variable(i);
    m.kernel.body = {loop(i, m.number(0), count, m.number(1),
                          {load(e, t, at), store(to, at, m.v().variable(e))})};
    b.launch(std::move(m.kernel), {table, y}, {n});
    fields.push_back(Bytes(12));
  }
  compile_cuda(b);
  for (auto execute : {execute_c, execute_opencl}) {
    auto result = (*execute)(b, {3}, fields);
    for (size_t k = 0; k < result.size(); ++k)
      CHECK(numbers_of<float>(result[k]) ==
            (k < 6 ? std::vector<float>{1, -2.5, 0.125} : std::vector<float>{1, -8, 7}));
  }
}

TEST_CASE("workspace, order of launches and repeated steps", "[print][launcher]") {
  Built b;
  ValueId n = b.dim("n", 0, 1000);
  BufferId x = b.argument("x", ElemType::f32, n, false),
           y = b.argument("y", ElemType::f32, n, true);
  auto& host = b.host();
  ValueId bytes = host.mul(n, host.integer(4, Type::i64));
  BufferId pad = b.workspace("pad", ElemType::f32, n, bytes),
           h = b.workspace("h", ElemType::f32, n, bytes);
  b.launch(add_kernel("first", 1), {x, pad}, {n});
  b.launch(add_kernel("second", 10), {pad, h}, {n});
  b.launch(add_kernel("third", 100), {h, y}, {n});
  auto result = execute_c(b, {3}, {bytes_of(std::vector<float>{1, 2, 3}), Bytes(12, 0xff)});
  if (!result.empty()) CHECK(numbers_of<float>(result[1]) == std::vector<float>{112, 113, 114});
  compile_cuda(b);
  check_c(b, R"(
int main(void) {
  static float space[256];
  float x[2] = {1, 2}, y[2];
  t_dims dims = {65};
  t_args args = {x, y};
  printf("%zu", t_c_workspace_bytes(&dims));
  dims.n = 64;
  printf(" %zu", t_c_workspace_bytes(&dims));
  dims.n = 2;
  printf(" %zu", t_c_workspace_bytes(&dims));
  printf(" %d", t_run(&args, &dims, space, 511, NULL) == TG_E_WORKSPACE);
  printf(" %d", t_run(&args, &dims, NULL, 512, NULL) == TG_E_NULL);
  printf(" %d", t_run(&args, &dims, (char *)space + 4, 1000, NULL) == TG_E_ALIGN);
  args.y = space + 100;
  printf(" %d", t_run(&args, &dims, space, 512, NULL) == TG_E_ALIAS);
  dims.n = 1001;
  printf(" %d %d", t_run(&args, &dims, space, 512, NULL) == TG_E_DIM, t_c_workspace_bytes(&dims) == SIZE_MAX);
  printf(" %d", t_c_workspace_bytes(NULL) == SIZE_MAX);
  return 0;
}
)",
          "1024 512 512 1 1 1 1 1 1 1");
}

TEST_CASE("a recurrence loops in the launcher, in place", "[print][launcher]") {
  Built b;
  ValueId n = b.dim("n", 0, 1000), steps = b.dim("T", 0, 1000);
  BufferId x = b.argument("x", ElemType::f32, n, true);
  b.launch(add_kernel("step", 1), {x, x}, {n});
  Step body = b.program.steps[0];
  VarId t = b.host().add_var({"t", Type::i64, 0, 999});
  b.program.steps = {{Loop{t, steps, {body}}}};
  std::string text = source_of(b, "c", options());
  CHECK(text.find("restrict from") == text.npos);
  compile_cuda(b);
  auto result = execute_c(b, {2, 7}, {bytes_of(std::vector<float>{1, 2})});
  if (!result.empty()) CHECK(numbers_of<float>(result[0]) == std::vector<float>{8, 9});
}

TEST_CASE("the first variant whose condition holds is run", "[print][launcher]") {
  Built b;
  auto& host = b.host();
  ValueId n = b.dim("n", 0, 1000);
  BufferId x = b.argument("x", ElemType::f32, n, false),
           y = b.argument("y", ElemType::f32, n, true);
  b.launch(add_kernel("even", 2), {x, y}, {n});
  b.launch(add_kernel("short", 3), {x, y}, {n});
  b.launch(add_kernel("any", 4), {x, y}, {n});
  std::vector<Variant> variants;
  for (const Step& step : b.program.steps)
    variants.push_back(std::get<Dispatch>(step.node).variants[0]);
  auto number = [&](int64_t v) { return host.integer(v, Type::i64); };
  variants[0].condition = host.binary(Op::eq, host.binary(Op::mod, n, number(2)), number(0));
  variants[1].condition = host.less(n, number(5));
  Dispatch one{"y", {}, variants};
  b.program.steps = {{one}};
  compile_cuda(b);
  for (auto [size, add] : {std::pair(4, 2), {3, 3}, {7, 4}}) {
    std::vector<float> in(static_cast<size_t>(size), 0);
    auto result = execute_c(b, {size}, {bytes_of(in), bytes_of(in)});
    if (!result.empty()) CHECK(numbers_of<float>(result[1])[0] == static_cast<float>(add));
  }
}

TEST_CASE("sizes that no variant fits are refused", "[print][launcher]") {
  Built b;
  ValueId n = b.dim("n", 0, 1000);
  BufferId x = b.argument("x", ElemType::f32, n, false),
           y = b.argument("y", ElemType::f32, n, true);
  b.launch(add_kernel("short", 3), {x, y}, {n});
  auto& variant = std::get<Dispatch>(b.program.steps[0].node).variants[0];
  variant.condition = b.host().less(n, b.host().integer(5, Type::i64));
  check_c(b, R"(
int main(void) {
  float x[8] = {0}, y[8];
  t_dims dims = {4};
  t_args args = {x, y};
  printf("%d", t_run(&args, &dims, NULL, 0, NULL) == TG_OK);
  dims.n = 5;
  printf(" %d", t_run(&args, &dims, NULL, 0, NULL) == TG_E_UNSUPPORTED);
  return 0;
}
)",
          "1 1");
  b.program.max_blocks = 7;
  variant.blocks = {n};
  print::PrintOptions o = options("sm_80");
  CHECK(source_of(b, "cuda", o).find("if (blocks > 7) return TG_E_UNSUPPORTED;") !=
        std::string::npos);
}

TEST_CASE("sizes beyond 64 bits are a dim error", "[print][launcher]") {
  Built b;
  auto& host = b.host();
  constexpr int64_t big = int64_t{1} << 40;
  ValueId m = b.dim("M", 0, big), n = b.dim("N", 0, big);
  BufferId x = b.argument("x", ElemType::f32, host.mul(m, n), false);
  BufferId y = b.argument("y", ElemType::f32, host.integer(1, Type::i64), true);
  b.workspace("w", ElemType::f32, host.mul(m, n),
              host.mul(host.mul(m, n), host.integer(4, Type::i64)));
  b.launch(add_kernel("one", 1), {x, y}, {host.integer(1, Type::i64)});
  compile_cuda(b);
  check_c(b, R"(
int main(void) {
  float x = 1, y = 0;
  t_dims dims = {(int64_t)1 << 40, (int64_t)1 << 40};
  t_args args = {&x, &y};
  printf("%d %d", t_run(&args, &dims, NULL, 0, NULL) == TG_E_DIM, t_c_workspace_bytes(&dims) == SIZE_MAX);
  dims.M = dims.N = 0;
  printf(" %d %zu", t_run(&args, &dims, NULL, 0, NULL) == TG_OK, t_c_workspace_bytes(&dims));
  return 0;
}
)",
          "1 1 1 0");
}

TEST_CASE("without dims a null pointer will do; without checks nothing is checked",
          "[print][launcher]") {
  Built b;
  ValueId one = b.host().integer(1, Type::i64);
  BufferId x = b.argument("x", ElemType::f32, one, false),
           y = b.argument("y", ElemType::f32, one, true);
  b.launch(add_kernel("y", 1), {x, y}, {one});
  check_c(b, R"(
int main(void) {
  float x = 1, y = 0;
  t_args args = {&x, &y};
  printf("%d", t_run(&args, NULL, NULL, 0, NULL));
  printf(" %g %d", y, t_run(NULL, NULL, NULL, 0, NULL) == TG_E_NULL);
  return 0;
}
)",
          "0 2 1");
  print::PrintOptions none = options();
  none.checks = print::Checks::none;
  CHECK(source_of(b, "c", none).find("TG_E_NULL;") == std::string::npos);
}

TEST_CASE("a call goes to the first variant that its dims fit", "[print][launcher]") {
  // Each adds another number and needs another workspace; the last two share a kernel.
  auto variant = [](int64_t lo, int64_t hi, int64_t step, float add, int64_t bytes) {
    Built b;
    auto& host = b.host();
    ValueId n = b.dim("n", lo, hi, step);
    BufferId x = b.argument("x", ElemType::f32, n, false);
    BufferId y = b.argument("y", ElemType::f32, n, true);
    b.workspace("w", ElemType::u8, host.integer(bytes, Type::i64), host.integer(bytes, Type::i64));
    Kernel kernel = add_kernel("y", add);
    kernel.comment = {fmt::format("for {}..{} step {}", lo, hi, step)};
    b.launch(std::move(kernel), {x, y}, {n});
    return b;
  };
  Built one = variant(1, 1, 1, 1, 1), even = variant(2, 48, 4, 2, 1000),
        rest = variant(0, 50, 1, 2, 0);
  rest.variants = {&one, &even};
  std::string source = source_of(rest, "c", options());
  CHECK(source.find("// for 0..50 step 1") != source.npos);
  CHECK(source.find("// for 2..48 step 4") == source.npos);
  check_c(rest, R"(
int main(void) {
  float x[51], y[51];
  for (int i = 0; i < 51; ++i) x[i] = (float)i;
  t_args args = {x, y};
  static char workspace[2048];
  for (int64_t n = -1; n < 52; ++n) {
    t_dims dims = {n};
    int added = n == 1 ? 1 : 2, bad = n < 0 || n > 50;
    size_t bytes = n == 1 ? 256 : n > 0 && n % 4 == 0 ? 1024 : 0;
    char *space = (char *)(((uintptr_t)workspace + 255) / 256 * 256);
    if (t_c_workspace_bytes(&dims) != (bad ? SIZE_MAX : bytes)) printf("bytes at %d\n", (int)n);
    if (bytes && t_run(&args, &dims, space, bytes - 1, NULL) != TG_E_WORKSPACE) printf("space at %d\n", (int)n);
    if (t_run(&args, &dims, space, bytes, NULL) != (bad ? TG_E_DIM : TG_OK)) printf("status at %d\n", (int)n);
    for (int64_t i = 0; !bad && i < n; ++i)
      if (y[i] != (float)(i + added)) printf("wrong at %d\n", (int)n);
  }
  printf("%d %d", t_c_workspace_bytes(NULL) == SIZE_MAX, t_run(&args, NULL, NULL, 0, NULL) == TG_E_NULL);
  return 0;
}
)",
          "1 1");
  compile_cuda(rest);
}

TEST_CASE("one file per kernel, and the same bytes twice", "[print][launcher]") {
  Built b = pointwise(ElemType::f16, Type::f32, ElemType::f32, same);
  print::PrintOptions o = options();
  o.split = true;
  Sink sink;
  auto source = print::print_source(b.parts(), *print::dialect_named("c"), o, sink);
  REQUIRE(source);
  REQUIRE(source->kernels.size() == 1);
  CHECK(source->kernels[0].name == "t.c.kernels/t_c_y.c");
  CHECK(source->text.find("#include \"t.c.kernels/t_c_y.c\"") != std::string::npos);
  Folder folder;
  folder.write("t.c", source->text);
  folder.write(source->kernels[0].name, source->kernels[0].text);
  if (have("gcc")) CHECK(folder.run("gcc -std=c11 -Wall -Wextra -Werror -pedantic -c t.c") == 0);
  CHECK(source_of(b, "c", options()) == source_of(b, "c", options()));
}

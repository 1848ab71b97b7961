#include "base/check.h"
#include "legalize/passes.h"
#include "run.h"
#include "sample.h"
#include <catch2/catch.hpp>

using namespace tang::kernel;
using namespace tang::legalize;
using tang::kernel::test::Memory_;
using tang::kernel::test::Run;
using tang::kernel::test::Sample;

namespace {

const Dispatch& dispatch(const Program& p, size_t i) {
  return std::get<Dispatch>(p.steps[i].node);
}

/// What launch `i` writes for N = n, with a buffer that is exactly as large as it must be.
Memory_ result(const Program& p, size_t i, int64_t n) {
  const Variant& v = dispatch(p, i).variants[0];
  const Kernel& k = p.kernels[v.kernel.value];
  auto offset = [&](size_t b) {
    // Offsets in these tests are literals times N.
    ValueStore host = p.values;
    ValueId id = rewrite(host, v.bindings[b].offset, [&](ValueId x) {
      return host[x].form == Form::variable ? host.integer(n, Type::i64) : x;
    });
    return static_cast<size_t>(host.as_integer(id).value());
  };
  Memory_ x(static_cast<size_t>(3 * n * Sample::columns)),
      y(static_cast<size_t>(n * Sample::columns), -1);
  for (size_t e = 0; e < x.size(); ++e) x[e] = static_cast<double>(e);
  Memory_ from(x.begin() + static_cast<long>(offset(0)), x.end());
  Run(k, {&from, &y}, {n}).all();
  return y;
}

Memory_ expected(int64_t layer, int64_t n) {
  Memory_ y;
  for (int64_t e = 0; e < n * Sample::columns; ++e)
    y.push_back(static_cast<double>(layer * n * Sample::columns + e + 1));
  return y;
}

std::string kernel_text(const Program& p, size_t i) {
  return to_text(p.kernels[dispatch(p, i).variants[0].kernel.value]);
}

} // namespace

TEST_CASE("every pass keeps what kernels compute", "[legalize]") {
  for (bool hardware : {true, false})
    for (IndexBits bits : {IndexBits::automatic, IndexBits::narrow, IndexBits::wide}) {
      Sample sample;
      int threads = hardware ? 4 : 1;
      Program p = sample.program({sample.kernel(0, threads), sample.kernel(2, threads)});
      Capabilities c;
      c.hardware_grid = hardware;
      REQUIRE(result(p, 1, 5) == expected(2, 5));
      legalize(p, c, {bits}, [&](const Pass& pass) {
        INFO(pass.name << "\n" << to_text(p));
        for (int64_t n : {0, 1, 5}) {
          CHECK(result(p, 0, n) == expected(0, n));
          CHECK(result(p, 1, n) == expected(2, n));
        }
      });
      REQUIRE(p.kernels.size() == 1); // layers differ in a constant offset only
      CHECK(p.max_blocks == (hardware ? 2147483647 : 0));
      for (const Var& var : p.kernels[0].values.vars()) CHECK(var.type != Type::index);
    }
}

TEST_CASE("blocks become loops, the first mode innermost", "[legalize]") {
  Sample sample;
  Program p = sample.program({sample.kernel(1, 1)});
  Capabilities c;
  c.hardware_grid = false;
  serialize_grid(p, c, {});
  drop_decided(p, c, {});
  CHECK(kernel_text(p, 0) == R"(kernel layer1 {
  param x: global f32 (3, N, 6):(N*6, 6, 1)
  param y: global f32 (N, 6):(6, 1) written
  scalar N: index in 0..1000
  for i: index in 0 .. N {
    for bj: index in 0 .. 6 {
      allocate r: register f32 (1, 2):(2, 1)
      a: f32 <- Move(x[1, i, bj])
      r[0, 1] <- Move(a + 1.0)
      y[i, bj] <- Move(r[0, 1])
    }
  }
}
)");
  CHECK(dispatch(p, 0).variants[0].blocks.empty());
  Program threaded = sample.program({sample.kernel(1, 4)});
  CHECK_THROWS_AS(serialize_grid(threaded, c, {}), tang::InternalError);
}

TEST_CASE("coordinates are digits of flat numbers", "[legalize]") {
  Sample sample;
  Program p = sample.program({sample.kernel(1)});
  bind_grid(p, {}, {});
  std::string text = kernel_text(p, 0);
  // The mode b1 of one block is 0, the only mode of threads is their number.
  CHECK(text.find("(i, bj) <- Delinearize(block_number; N, 2)\n") != std::string::npos);
  CHECK(text.find("Move(x[1, i, bj*4 + thread_number])") != std::string::npos);
  delinearize(p, {}, {});
  text = kernel_text(p, 0);
  CHECK(text.find("bj: index <- Pointwise(mod(block_number, 2))\n") != std::string::npos);
  CHECK(text.find("i: index <- Pointwise(floordiv(block_number, 2))\n") != std::string::npos);
  CHECK(text.find("Delinearize") == std::string::npos);
}

TEST_CASE("refs become one simplified offset", "[legalize]") {
  Sample sample;
  Program p = sample.program({sample.kernel(1)});
  linearize(p, {}, {});
  std::string text = kernel_text(p, 0);
  CHECK(text.find("param x: global f32 (N*18):(1)") != std::string::npos);
  CHECK(text.find("r[1] <- Move(a + 1.0)") != std::string::npos);
  CHECK(text.find("Move(r[1])") != std::string::npos);
  CHECK(text.find("y[i*6 + b1*6") == std::string::npos); // equal factors are taken out
  CHECK(text.find("y[(") != std::string::npos);
}

TEST_CASE("constant offsets move to bindings where all refs have them", "[legalize]") {
  Sample sample;
  Program p = sample.program({sample.kernel(2)});
  linearize(p, {}, {});
  offset_bindings(p, {}, {});
  const Variant& v = dispatch(p, 0).variants[0];
  CHECK(p.values[v.bindings[0].offset].op == Op::mul); // N*12
  CHECK(p.values.as_integer(v.bindings[1].offset) == 0);
  CHECK(kernel_text(p, 0).find("N*12") == std::string::npos);
}

TEST_CASE("an offset that one ref lacks stays", "[legalize]") {
  Sample sample;
  Kernel k = sample.kernel(2);
  ValueStore& s = k.values;
  VarId extra = s.add_var({"e", Type::f32, {}, {}});
  k.body.push_back(
      {Load{extra, {k.params[0], {s.integer(0), s.integer(0), s.integer(0)}}, {}, {}}});
  Program p = sample.program({std::move(k)});
  linearize(p, {}, {});
  offset_bindings(p, {}, {});
  CHECK(p.values.as_integer(dispatch(p, 0).variants[0].bindings[0].offset) == 0);
}

TEST_CASE("decided conditions go", "[legalize]") {
  Sample sample;
  Program p = sample.program({sample.kernel(0)});
  Kernel& k = p.kernels[0];
  ValueStore& s = k.values;
  VarId never = s.add_var({"never", Type::f32, {}, {}});
  ValueId no = s.boolean(false), zero = s.integer(0);
  Body& body = k.body;
  body.clear();
  body.push_back({Load{never, {k.params[0], {zero, zero, zero}}, no, s.real(2, Type::f32)}});
  If branch{no, {}, {}};
  branch.then.push_back({Barrier{}});
  branch.otherwise.push_back(
      {Store{{k.params[1], {zero, zero}}, s.variable(never), s.boolean(true)}});
  body.push_back({std::move(branch)});
  body.push_back({Store{{k.params[1], {zero, zero}}, s.variable(never), no}});
  drop_decided(p, {}, {});
  REQUIRE(body.size() == 2);
  CHECK(std::get<Let>(body[0].node).value == s.real(2, Type::f32));
  CHECK(!std::get<Store>(body[1].node).predicate);
}

TEST_CASE("kernels that nobody launches go", "[legalize]") {
  Sample sample;
  Program p = sample.program({sample.kernel(0), sample.kernel(1)});
  p.steps.erase(p.steps.begin());
  dedupe_kernels(p, {}, {});
  REQUIRE(p.kernels.size() == 1);
  CHECK(p.kernels[0].name == "layer1");
  CHECK(dispatch(p, 0).variants[0].kernel == KernelId(0));
}

TEST_CASE("launches that run beside each other are one", "[join_launches]") {
  for (int64_t n : {0, 1, 5}) {
    Sample sample;
    Program p = sample.program({sample.kernel(0), sample.kernel(2)});
    std::get<Dispatch>(p.steps[1].node).beside = true;
    legalize(p, {}, {});
    REQUIRE(p.steps.size() == 1);
    REQUIRE(p.kernels.size() == 1);
    const Variant& v = dispatch(p, 0).variants[0];
    // `x` is bound at two offsets, and each has its own output.
    CHECK(v.bindings.size() == 4);
    CHECK(v.scalars.size() == 1);
    CHECK(v.blocks.size() == 1);
    Memory_ first(static_cast<size_t>(3 * n * Sample::columns)), second,
        y0(static_cast<size_t>(n * Sample::columns), -1), y1 = y0;
    for (size_t e = 0; e < first.size(); ++e) first[e] = static_cast<double>(e);
    second.assign(first.begin() + static_cast<long>(2 * n * Sample::columns), first.end());
    Run(p.kernels[0], {&first, &y0, &second, &y1}, {n}).all();
    CHECK(y0 == expected(0, n));
    CHECK(y1 == expected(2, n));
  }
}

TEST_CASE("launches of different blocks, and those that wait, stay apart", "[join_launches]") {
  Sample sample, other;
  Program p = sample.program({sample.kernel(0), other.kernel(2, 2)});
  std::get<Dispatch>(p.steps[1].node).beside = true;
  legalize(p, {}, {});
  CHECK(p.steps.size() == 2);
  Sample third;
  Program waits = third.program({third.kernel(0), third.kernel(2)});
  legalize(waits, {}, {});
  CHECK(waits.steps.size() == 2);
}

// Functions of special units, which take subnormal numbers for 0 and give none.
#include "one_kernel.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

using namespace tang;
using namespace tang::simulate_test;

namespace {

/// A thread for each number.
std::vector<float> values(const char* row, const std::vector<float>& of) {
  auto count = static_cast<int64_t>(of.size());
  OneKernel k(static_cast<int>(count));
  TensorId x = k.global("x", count, false), y = k.global("y", count, true);
  std::memcpy(k.arguments.at(BufferId(0)).bytes.data(), of.data(), of.size() * sizeof(float));
  TensorId r = k.local("r", Memory::registers, 1);
  k.store(r, k.number(0), k.load(x, k.t));
  k.atom(row, {{r, {k.number(0)}}, {r, {k.number(0)}}});
  const ValueId place[] = {k.number(0)};
  k.store(y, k.t, k.v().element(r, Type::f32, place));
  interpret::RunReport report = k.run();
  CHECK(report.findings.empty());
  CHECK(report.kernels.at("k").instructions.at(row) == 1);
  return k.result(y);
}

} // namespace

TEST_CASE("reciprocals of a special unit", "[functions]") {
  std::vector<float> y = values("rcp.approx.ftz.f32",
                                {3.0f, -0.5f, 0.0f, -0.0f, 1e-40f, -1e-40f, 3e38f, -INFINITY, NAN});
  CHECK(y[0] == 1.0f / 3.0f);
  CHECK(y[1] == -2.0f);
  for (size_t n : {size_t{2}, size_t{4}}) CHECK(y[n] == INFINITY);
  for (size_t n : {size_t{3}, size_t{5}}) CHECK(y[n] == -INFINITY);
  CHECK((y[6] == 0.0f && !std::signbit(y[6])));
  CHECK((y[7] == 0.0f && std::signbit(y[7])));
  CHECK(std::isnan(y[8]));
}

TEST_CASE("powers of two of a special unit", "[functions]") {
  std::vector<float> y =
      values("ex2.approx.ftz.f32", {-3.0f, 1e-40f, -126.0f, -127.0f, 128.0f, -INFINITY, NAN});
  CHECK(y[0] == 0.125f);
  CHECK(y[1] == 1.0f);
  CHECK(y[2] == 0x1p-126f);
  CHECK(y[3] == 0.0f);
  CHECK(y[4] == INFINITY);
  CHECK(y[5] == 0.0f);
  CHECK(std::isnan(y[6]));
}

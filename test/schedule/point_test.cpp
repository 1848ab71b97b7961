// How wide maps move, and the naive schedule.
#include "scheduled.h"

using namespace tang::schedule::test;

namespace {

/// Vector width of the first variant for a map from `in` to `out` types.
int width(const std::string& in, const std::string& out, const std::string& extent = "1024",
          const std::string& body = "x[i] + 1") {
  auto s = scheduled("input x : " + in + "[" + extent + "]\ny[i] = " + body +
                     "\noutput y : " + out + "[" + extent + "]\n");
  REQUIRE(s.kernel().emitter == tang::plan::Emitter::point);
  return s.kernel().variants[0].fields.vector;
}

} // namespace

TEST_CASE("the narrowest tensor moves in 16-byte vectors", "[point]") {
  CHECK(width("f64", "f64") == 2);
  CHECK(width("f32", "f32") == 4);
  CHECK(width("bf16", "bf16") == 8);
  CHECK(width("f16", "f32") == 8);
  CHECK(width("f32", "bf16") == 8);
  CHECK(width("f64", "f32") == 4);
  CHECK(width("i8", "i8") == 8);
  CHECK(width("f8e4m3", "f32") == 8);
  CHECK(width("u4", "f32") == 8);
  CHECK(width("bool", "f32", "1024", "where(x[i], 1, 2)") == 8);
  SECTION("two elements of a byte are not two threads' to write") {
    CHECK(width("f32", "u4", "1024", "u4(x[i])") == 1);
  }
}

TEST_CASE("vectors need whole rows of them", "[point]") {
  CHECK(width("f32", "f32", "1023") == 1);
  CHECK(width("f32", "f32", "4") == 4);
  auto symbolic = scheduled("dim N\ninput x : f32[N]\ny[i] = x[i] + 1\noutput y : f32[N]\n");
  const auto& variants = symbolic.kernel().variants;
  REQUIRE(variants.size() == 2);
  REQUIRE(variants[0].when.size() == 1);
  CHECK(variants[0].when[0].kind == tang::plan::Fact::Kind::divisible);
  CHECK(variants[0].when[0].value == 4);
  CHECK(variants[1].when.empty());
  CHECK(variants[1].fields.vector == 1);
}

TEST_CASE("reductions, scans and rank 0 take one point a thread", "[point]") {
  for (const char* body : {"y[j] = sum[i: 8] x[i, j]\noutput y : f32[64]\n",
                           "y[i, j] = scan sum[i] x[i, j]\noutput y : f32[8, 64]\n",
                           "y = x[3, 5]\noutput y : f32\n"}) {
    auto s = as_written(std::string("input x : f32[8, 64]\n") + body);
    INFO(body << s.text());
    CHECK(s.kernel().emitter == tang::plan::Emitter::point);
    CHECK(s.kernel().variants.size() == 1);
    CHECK(s.kernel().variants[0].fields.vector == 1);
  }
}

TEST_CASE("without threads one block walks the innermost axis", "[point]") {
  auto s = scheduled("dim N\ninput x : f32[N]\ny[i] = x[i] + 1\noutput y : f32[N]\n", 2, core());
  REQUIRE(s.kernel().variants.size() == 1);
  CHECK(s.kernel().variants[0].fields.serial_inner);
  CHECK(s.kernel().variants[0].fields.threads == 1);
}

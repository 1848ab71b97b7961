// Programs that once went wrong, and that what looks for faults finds them.
#include "agreement.h"
#include "fuzz.h"
#include "graph/text.h"
#include "minimize.h"
#include "parse/elaborate/elaborate.h"
#include "rewrite/passes.h"
#include "run_c.h"
#include <catch2/catch.hpp>
#include <cstring>

using namespace tang::fuzz;

void tang::fuzz::still_alive() {}

namespace {

void check_agreement(const std::vector<std::string>& statements,
                     const std::map<std::string, int64_t>& dims = {}) {
  for (uint64_t data : {1, 2, 3}) {
    Case program{statements, dims, data};
    Verdict verdict = verdict_of(program);
    INFO(program.text() << verdict.why << verdict.fault);
    CHECK_FALSE(verdict.rejected);
    CHECK(verdict.fault.empty());
  }
}

/// The graph after the laws as text, with what they did; empty for a program that is not valid.
std::string laws_on(const Case& program) {
  tang::SourceManager sources;
  tang::Sink sink;
  tang::parse::ElaborateOptions options;
  auto graph = tang::parse::elaborate(sources, sources.add("a.tg", program.text()), options, sink);
  return graph ? to_text(tang::rewrite::run_passes(std::move(*graph), 2)) : "";
}

} // namespace

TEST_CASE("every reader of an input that is replaced sees it as given", "[agreement]") {
  check_agreement({"dim N in 1..9", "input x : f64[N]", "t[i: N, j: 6] = x[i]", "y[i: N] = 0",
                   "output y : f64[N] over x", "output t : f16[N, 6]"},
                  {{"N", 7}});
  check_agreement({"dim N in 1..9", "input x : f32[N]", "y[i] = x[i] + 1",
                   "output y : f32[N] over x", "z[i] = sum[j: N] y[j] * x[i]", "output z : f32[N]"},
                  {{"N", 5}});
}

TEST_CASE("what replaces an input may read it anywhere", "[agreement]") {
  check_agreement({"dim N in 1..9", "input x : f32[N]", "y[i: N] = x[N - 1 - i] + x[i]",
                   "output y : f32[N] over x"},
                  {{"N", 6}});
  check_agreement({"dim N in 1..9", "input x : f32[N]", "input z : f32[N]", "a[i] = z[i] + x[i]",
                   "b[i] = x[i] - z[i]", "output a : f32[N] over x", "output b : f32[N] over z"},
                  {{"N", 6}});
}

TEST_CASE("a branch whose condition reads what it protects", "[agreement]") {
  check_agreement({"dim N in 1..9", "input x : f32[N]",
                   "y[i: N] = where(i > 2 and x[i] > 0, x[i], 9.0)",
                   "z[i: N] = where(i > 2 or x[i] > 0, x[i], 9.0) + "
                   "where(where(x[i] > 1, i > 1, i > 3), x[i], 1.0)",
                   "output y : f32[N]", "output z : f32[N]"},
                  {{"N", 9}});
}

TEST_CASE("a lifted reduction whose filter reads what the filter around proves", "[agreement]") {
  check_agreement({"dim A = 4", "input x : f16[1]", "input z : f32[4]",
                   "y = sum[e: 4 where e == 1] (max[k: A where 0 != x[floordiv(e, 2)]] z[k])",
                   "output y : f32"});
}

TEST_CASE("unsigned data beside negative numbers", "[agreement]") {
  check_agreement({"dim N in 1..5", "input x : u32[N]",
                   "y[i: N] = where(0 <= (x[i + 2] else -2), 1, 0)", "z[i: N] = (x[i] - x[0]) * -2",
                   "output y : i32[N]", "output z : i64[N]"},
                  {{"N", 4}});
}

TEST_CASE("an offset into packed data that is a constant", "[agreement]") {
  check_agreement({"input x : u4[2, 8]", "y[i: 8] = x[1, i]", "output y : i32[8]"});
}

TEST_CASE("sizes of zero prove and run nothing", "[agreement]") {
  check_agreement({"dim S in 0..4", "input x : f16[4, 2]",
                   "y[i: 2, e: S] = (x[2*e, 2*e - 2] else 0)", "output y : f32[2, S]"},
                  {{"S", 0}});
  check_agreement(
      {"dim N in 0..1 step 2", "t[i: N, j: 4] = 7", "y[i: N] = t[i, i - 2]", "output y : i32[N]"},
      {{"N", 0}});
  check_agreement({"dim N in 0..3", "input x : f32[2, N]", "a = 1.0",
                   "recur t: N carry h = a {\n  h = h - x[1, t]\n} collect hs = h",
                   "last = (hs[0] else 2)", "output hs : f32[N]", "output h : f32",
                   "output last : f32"},
                  {{"N", 0}});
}

TEST_CASE("what is not valid is rejected, not at fault", "[agreement]") {
  Verdict verdict = verdict_of({{"input x : f32[4]", "y = x[9]", "output y : f32"}, {}, 0});
  CHECK(verdict.rejected);
  CHECK(verdict.fault.empty());
  CHECK_FALSE(verdict.why.empty());
}

TEST_CASE("accesses outside a buffer are found", "[agreement]") {
  GuardedBuffer buffer(20);
  CHECK(buffer.intact());
  std::memset(buffer.data(), 1, 20);
  CHECK(buffer.intact());
  SECTION("behind, where alignment leaves room") {
    buffer.data()[20] = 1;
    CHECK_FALSE(buffer.intact());
  }
  SECTION("before") {
    buffer.data()[-1] = 1;
    CHECK_FALSE(buffer.intact());
  }
  SECTION("far behind") {
    auto touch = [](void* data) { static_cast<volatile uint8_t*>(data)[64] = 1; };
    CHECK_FALSE(call_guarded(touch, buffer.data()));
    CHECK(call_guarded([](void*) {}, nullptr));
  }
}

TEST_CASE("C is compiled and called; what is no C is reported", "[agreement]") {
  std::string error;
  auto unit = CompiledC::compile("int twice(int x) { return 2 * x; }", error);
  REQUIRE(unit);
  int (*twice)(int) = nullptr;
  void* address = unit->symbol("twice");
  std::memcpy(&twice, &address, sizeof twice);
  CHECK(twice(21) == 42);
  CHECK(unit->symbol("thrice") == nullptr);
  CHECK(CompiledC::compile("int f( {", error) == nullptr);
  CHECK_FALSE(error.empty());
}

TEST_CASE("a program shrinks to what shows the fault", "[minimize]") {
  Case program{{"dim A = 3", "input x : f32[A]", "y[i: A] = (abs((x[i] * 2.0)) + (x[i] - 1.0))",
                "z[i: A] = (x[i] + 7.0)", "output y : f32[A]", "output z : f32[A]"},
               {},
               0};
  auto has_product = [](const Case& c) { return c.text().find(" * ") != std::string::npos; };
  Case small = minimize(program, has_product, 1000);
  CHECK(small.statements == std::vector<std::string>{"y[i: A] = (x[i] * 2.0)"});
}

TEST_CASE("states that are only contracted run in chunks", "[agreement]") {
  check_agreement({"dim T in 0..100000, P in 1..4096, N in 1..4096", "input x : f32[T, P]",
                   "input b : f32[T, N]", "input s0 : f32[P, N]", "input a : i32[T] in -1..1",
                   "recur t: T carry s = s0 {\n  s[p, n] = a[t] * s[p, n] + x[t, p] * b[t, n]\n"
                   "  y[p] = sum[n] s[p, n] * b[t, n]\n} collect ys = y",
                   "output ys : f32[T, P]", "output s : f32[P, N]"},
                  {{"T", 65}, {"P", 3}, {"N", 2}});
  check_agreement({"dim T in 0..100000, P in 1..4096, N in 1..4096", "input x : f32[T, P]",
                   "input b : i32[T, N] in -1..1", "input s0 : f32[P, N]",
                   "recur t: T carry s = s0 {\n  r[p] = sum[n] s[p, n] * b[t, n]\n"
                   "  s[p, n] = s[p, n] + (x[t, p] - r[p]) * b[t, n]\n"
                   "  y[p] = sum[n] s[p, n] * b[t, n]\n} collect ys = y",
                   "output ys : f32[T, P]", "output s : f32[P, N]"},
                  {{"T", 6}, {"P", 3}, {"N", 2}});
}

TEST_CASE("lists of a row's parts merge", "[agreement]") {
  check_agreement({"dim N in 0..100000", "input x : i32[2, N]",
                   "(v[i, n], k[i, n]) = topk[j where x[i, j] != 1; 3] x[i, j]",
                   "output v : i32[2, 3]", "output k : i32[2, 3]"},
                  {{"N", 1000}});
}

TEST_CASE("many programs reach the laws of recurrences", "[generate]") {
  size_t chunks = 0, corrected = 0;
  uint64_t state = 1;
  for (int n = 0; n < 300; ++n) {
    std::vector<uint8_t> bytes(400);
    for (uint8_t& byte : bytes) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<uint8_t>(state >> 56);
    }
    Choices choices(bytes);
    std::string text = laws_on(generate(choices));
    chunks += text.find("chunk_scans: ") != text.npos;
    corrected += text.find("solve_feedback: ") != text.npos;
  }
  CHECK(chunks >= 20);
  CHECK(corrected >= 10);
}

TEST_CASE("the same bytes make the same program", "[generate]") {
  std::vector<uint8_t> bytes(300);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37);
  Choices first(bytes), second(bytes), none({});
  CHECK(generate(first).text() == generate(second).text());
  CHECK(generate(none).statements.size() > 3);
}

// Which nodes share one pass over their rows.
#include "scheduled.h"

using namespace tang::schedule::test;

namespace {

const std::string dims = "dim M in 0..100000, N in 0..100000, K in 0..100000\n"
                         "input x : f32[M, N]\n";

std::string plan_of(const std::string& body) {
  return as_written(dims + body).text();
}

} // namespace

TEST_CASE("maps and reductions over common rows share a pass", "[row]") {
  CHECK(plan_of("m[i] = max[j] x[i, j]\n"
                "e[i, j] = exp(x[i, j] - m[i])\n"
                "s[i] = sum[j] e[i, j]\n"
                "y[i, j] = e[i, j] / s[i]\n"
                "output y : f32[M, N]\n") == "row[m e s y]");
  SECTION("a value of the row between them") {
    CHECK(plan_of("s[i] = sum[j] x[i, j]\n"
                  "r[i] = 1 / s[i]\n"
                  "y[i, j] = x[i, j] * r[i]\n"
                  "output y : f32[M, N]\noutput r : f32[M]\n") == "row[s r y]");
  }
  SECTION("a map in front") {
    CHECK(plan_of("e[i, j] = exp(x[i, j])\n"
                  "s[i] = sum[j] e[i, j]\n"
                  "output s : f32[M]\noutput e : f32[M, N]\n") == "row[e s]");
  }
  SECTION("rows of several axes, and of none") {
    CHECK(plan_of("input z : f32[M, K, N]\n"
                  "s[i, k] = sum[j] z[i, k, j]\n"
                  "y[i, k, j] = z[i, k, j] / s[i, k]\n"
                  "output y : f32[M, K, N]\n") == "row[s y]");
    CHECK(plan_of("input z : f32[N]\n"
                  "s = sum[j] z[j]\n"
                  "y[j] = z[j] / s\n"
                  "output y : f32[N]\n") == "row[s y]");
  }
  SECTION("user monoids of several fields, arguments of extrema") {
    CHECK(plan_of("(m[i], s[i]) = lse[j](x[i, j], 1)\n"
                  "output m : f32[M]\noutput s : f32[M]\n") == "row[m]");
    CHECK(plan_of("a[i] = argmax[j] x[i, j]\noutput a : i32[M]\n") == "row[a]");
  }
  SECTION("a monoid that does not commute") {
    CHECK(plan_of("(a[i], b[i]) = affine[j](x[i, j], 1)\n"
                  "output a : f32[M]\noutput b : f32[M]\n") == "row[a]");
  }
  SECTION("guarded and gathered reads of what is not theirs") {
    CHECK(plan_of("input id : i32[M]\ninput w : f32[K, N]\n"
                  "s[i] = sum[j] (x[i, j] * w[id[i], j] + (x[i, j + 1] else 0))\n"
                  "output s : f32[M]\n") == "row[s]");
  }
}

TEST_CASE("the library's rows are one kernel", "[row]") {
  const char* bodies[] = {
      "y[i, j] = softmax[j] x[i, j]\n", "y[i, j] = log_softmax[j] x[i, j]\n",
      "input w : f32[N]\ninput b : f32[N]\ny[i, j] = layernorm[j](x[i, j], w[j], b[j], 1e-5)\n",
      "input w : f32[N]\ny[i, j] = rmsnorm[j](x[i, j], w[j], 1e-5)\n"};
  for (const char* body : bodies) {
    auto s = scheduled(dims + body + "output y : f32[M, N]\n");
    INFO(body << s.text());
    CHECK(s.plan.steps.size() == 1);
    CHECK(s.kernel().emitter == tang::plan::Emitter::row);
  }
}

TEST_CASE("other rows are another kernel", "[row]") {
  CHECK(plan_of("input z : f32[K, N]\n"
                "a[i] = sum[j] x[i, j]\nb[i] = sum[j] z[i, j]\n"
                "output a : f32[M]\noutput b : f32[K]\n") == "row[a] row[b]");
  CHECK(plan_of("input z : f32[M, K]\n"
                "a[i] = sum[j] x[i, j]\nb[i] = sum[j] z[i, j]\n"
                "output a : f32[M]\noutput b : f32[M]\n") == "row[a] row[b]");
}

TEST_CASE("the inner axis moves along memory", "[row]") {
  CHECK(plan_of("s[j] = sum[i] x[i, j]\noutput s : f32[N]\n") == "point[s]");
  CHECK(plan_of("input z : f32[N, M]\n"
                "s[i] = sum[j] x[i, j]\ny[i, j] = z[j, i] / s[i]\n"
                "output y : f32[M, N]\n") == "row[s] point[y]");
  // A last place with a stride is no neighbour in memory.
  CHECK(plan_of("input z : f32[M, N]:[1, M]\n"
                "s[i] = sum[j] z[i, j]\noutput s : f32[M]\n") == "point[s]");
  CHECK(plan_of("input z : f32[M, N]:[N + 3, 1]\n"
                "s[i] = sum[j] z[i, j]\noutput s : f32[M]\n") == "row[s]");
}

TEST_CASE("what another row or place holds is not at hand", "[row]") {
  std::string head = "s[i] = sum[j] x[i, j]\n";
  SECTION("the row before") {
    CHECK(plan_of(head + "y[i, j] = x[i, j] + (s[i - 1] else 0)\noutput y : f32[M, N]\n") ==
          "row[s] point[y]");
  }
  SECTION("a gathered row") {
    CHECK(plan_of("input id : i32[M]\n" + head +
                  "y[i, j] = x[i, j] + s[id[i]]\noutput y : f32[M, N]\n") == "row[s] point[y]");
  }
  SECTION("a neighbour in the row") {
    CHECK(plan_of("e[i, j] = exp(x[i, j])\n"
                  "s[i] = sum[j] e[i, j]\n"
                  "y[i, j] = e[i, j] / s[i] + (e[i, j - 1] else 0)\noutput y : f32[M, N]\n") ==
          "row[e s] point[y]");
  }
  SECTION("a gathered place of the row") {
    CHECK(plan_of("input id : i32[N]\n"
                  "e[i, j] = exp(x[i, j])\n"
                  "s[i] = sum[j] e[i, id[j]]\noutput s : f32[M]\n") == "point[e] row[s]");
  }
  SECTION("transposed") {
    CHECK(plan_of("input q : f32[N, N]\n"
                  "e[i, j] = exp(q[i, j])\n"
                  "s[i] = sum[j] e[j, i]\noutput s : f32[N]\n") == "point[e] point[s]");
  }
}

TEST_CASE("filters by data stay, filters by index are bounds", "[row]") {
  CHECK(scheduled(dims + "s[i] = sum[j where x[i, j] > 0] x[i, j]\noutput s : f32[M]\n").text() ==
        "row[s]");
  CHECK(scheduled(dims + "s[i] = sum[j where j <= i] x[i, j]\noutput s : f32[M]\n").text() ==
        "row[s]");
  CHECK(scheduled(dims + "y[i, j] = softmax[j where j <= i and j > i - K] x[i, j]\n"
                         "output y : f32[M, N]\n")
            .plan.steps.size() == 1);
}

TEST_CASE("reductions that a row of threads cannot share", "[row]") {
  SECTION("lists") {
    CHECK(plan_of("(v[i, n], id[i, n]) = topk[j; 3] x[i, j]\n"
                  "output v : f32[M, 3]\noutput id : i32[M, 3]\n") == "point[v]");
  }
  SECTION("more than one axis") {
    CHECK(plan_of("input z : f32[M, K, N]\n"
                  "s[i] = sum[k, j] z[i, k, j]\noutput s : f32[M]\n") == "point[s]");
  }
  SECTION("scans across rows") {
    CHECK(plan_of("s[i, j] = scan sum[i] x[i, j]\noutput s : f32[M, N]\n") == "point[s]");
  }
  SECTION("indexed fields") {
    CHECK(plan_of("monoid two(v[n: 2] = 0) (a, b) -> (a.v[n] + b.v[n])\n"
                  "s[i, n] = two[j](x[i, j] * (n + 1))\noutput s : f32[M, 2]\n") == "point[s]");
  }
}

TEST_CASE("scans along rows belong to them, from one end", "[row]") {
  auto outputs = [](const std::string& second) {
    return plan_of("s[i, j] = scan sum[j] x[i, j]\nm[i] = max[j] s[i, j]\nd[i, j] = scan " +
                   second +
                   " x[i, j]\noutput s : f32[M, N]\noutput m : f32[M]\noutput d : f32[M, N]\n");
  };
  CHECK(outputs("max[j exclusive]") == "row[s m d]");
  CHECK(outputs("max[j desc]") == "row[s m] row[d]");
}

TEST_CASE("an output in place of its input ends the group", "[row]") {
  CHECK(scheduled(dims + "s[i] = sum[j] x[i, j]\n"
                         "y[i, j] = where(s[i] > 0, x[i, j] / s[i], x[i, j])\n"
                         "output y : f32[M, N] over x\n")
            .text() == "row[s] point[y]");
}

TEST_CASE("short rows stay with one thread each", "[row]") {
  auto with = [](int n) {
    return as_written("dim M\ninput x : f32[M, " + std::to_string(n) +
                      "]\ns[i] = sum[j] x[i, j]\noutput s : f32[M]\n")
        .text();
  };
  CHECK(with(1) == "point[s]");
  CHECK(with(16) == "point[s]");
  CHECK(with(17) == "row[s]");
}

TEST_CASE("maps alone are no row group", "[row]") {
  CHECK(plan_of("a[i, j] = exp(x[i, j])\nb[i, j] = a[i, j] + 1\n"
                "output a : f32[M, N]\noutput b : f32[M, N]\n") == "point[a] point[b]");
}

TEST_CASE("a group holds at most sixteen nodes", "[row]") {
  std::string body = "a0[i] = sum[j] x[i, j]\n";
  for (int n = 1; n < 20; ++n)
    body += fmt::format("a{}[i] = a{}[i] + sum[j] x[i, j] * {}\noutput a{} : f32[M]\n", n, n - 1,
                        n + 1, n);
  auto s = as_written(dims + body);
  REQUIRE(s.plan.steps.size() >= 2);
  CHECK(s.kernel().emitter == tang::plan::Emitter::row);
  CHECK(s.kernel().nodes.size() == 16);
  for (size_t k = 1; k < s.plan.steps.size(); ++k) CHECK(s.kernel(k).nodes.size() <= 16);
}

TEST_CASE("a recurrence's body has rows of its own", "[row][recur]") {
  auto s = as_written("dim T, M, N\ninput h0 : f32[M, N]\n"
                      "recur t: T carry h = h0 {\n"
                      "  s[i] = sum[j] h[i, j]\n"
                      "  h[i, j] = h[i, j] / s[i]\n"
                      "}\noutput h as y : f32[M, N]\n");
  INFO(s.text());
  CHECK(s.text().find("recur{row[s ") == 0);
}

TEST_CASE("row variants: what a launcher can tell, the general one last", "[row]") {
  auto symbolic =
      as_written("dim M, N\ninput x : bf16[M, N]\ns[i] = sum[j] x[i, j]\noutput s : f32[M]\n");
  const auto& variants = symbolic.kernel().variants;
  REQUIRE(variants.size() > 1);
  CHECK(variants.back().when.empty());
  CHECK(variants.back().fields.chunks == 0);
  for (const auto& v : variants) {
    INFO(v.fields.threads << " threads, vector " << v.fields.vector << ", chunks "
                          << v.fields.chunks);
    CHECK(v.fields.threads * v.fields.rows <= 1024);
    bool divisible = false, fits = v.fields.chunks == 0;
    for (const auto& fact : v.when) {
      if (fact.kind == tang::plan::Fact::Kind::divisible)
        divisible |= fact.value == v.fields.vector;
      else
        fits |= fact.value == int64_t{v.fields.threads} * v.fields.vector * v.fields.chunks;
    }
    CHECK((divisible || v.fields.vector == 1));
    CHECK(fits);
  }
  SECTION("a fixed length needs one, and it holds the row") {
    for (int n : {17, 64, 1000, 1024, 4096, 8192, 16385, 100000}) {
      auto s = as_written(fmt::format(
          "dim M\ninput x : bf16[M, {}]\ns[i] = sum[j] x[i, j]\noutput s : f32[M]\n", n));
      INFO(n);
      REQUIRE(s.kernel().variants.size() == 1);
      const auto& v = s.kernel().variants[0];
      CHECK(v.when.empty());
      CHECK(v.fields.index_bits == 0);
      CHECK(n % v.fields.vector == 0);
      if (v.fields.chunks) CHECK(v.fields.threads * v.fields.vector * v.fields.chunks >= n);
    }
  }
  SECTION("declared lengths need no test, and lengths nobody declared no variant") {
    auto s = as_written("dim M, N in 300..1000 step 8\ninput x : bf16[M, N]\n"
                        "s[i] = sum[j] x[i, j]\noutput s : f32[M]\n");
    REQUIRE(s.kernel().variants.size() == 2);
    const auto &some = s.kernel().variants[0], &all = s.kernel().variants[1];
    REQUIRE(some.when.size() == 1);
    CHECK(some.when[0].kind == tang::plan::Fact::Kind::at_most);
    CHECK(some.when[0].value == 512);
    CHECK(all.when.empty());
    CHECK(all.fields.threads * all.fields.vector * all.fields.chunks == 1024);
  }
  SECTION("no variant holds more than twice what the one before holds") {
    int64_t before = 0;
    for (const auto& v : variants) {
      if (v.fields.vector == 1 || v.fields.chunks == 0) continue;
      int64_t holds = int64_t{v.fields.threads} * v.fields.vector * v.fields.chunks;
      if (before) CHECK(holds == 2 * before);
      before = holds;
    }
    CHECK(before == 32768);
  }
  SECTION("beyond 32-bit addresses a class holds four times what the one before holds") {
    int64_t before = 0;
    for (const auto& v : variants) {
      if (v.fields.vector == 1 || v.fields.chunks == 0 || v.fields.index_bits == 32) continue;
      int64_t holds = int64_t{v.fields.threads} * v.fields.vector * v.fields.chunks;
      if (before) CHECK(holds == 4 * before);
      before = holds;
    }
    CHECK(before == 16384);
    CHECK(variants.back().fields.index_bits == 0);
  }
  SECTION("one row needs no classes") {
    auto s = as_written("dim N\ninput x : f32[N]\ns = sum[j] x[j]\noutput s : f32\n");
    CHECK(s.kernel().variants.size() == 3);
    auto fixed = as_written("input x : f32[1000]\ns = sum[j] x[j]\noutput s : f32\n");
    REQUIRE(fixed.kernel().variants.size() == 1);
    CHECK(fixed.kernel().variants[0].fields.index_bits == 0);
  }
  SECTION("vectors of 16 bytes") {
    auto width = [](const std::string& type) {
      return as_written("dim M\ninput x : " + type +
                        "[M, 1024]\ns[i] = sum[j] x[i, j]\noutput s : f32[M]\n")
          .kernel()
          .variants[0]
          .fields.vector;
    };
    CHECK(width("f32") == 4);
    CHECK(width("bf16") == 8);
  }
}

TEST_CASE("without shuffles a block has one row, and not more threads than meet in its memory",
          "[row]") {
  auto few = as_written(dims + "s[i] = sum[j] x[i, j]\noutput s : f32[M]\n", without_shuffles());
  REQUIRE(few.text() == "row[s]");
  for (const auto& v : few.kernel().variants) {
    CHECK(v.fields.rows == 1);
    CHECK(v.fields.threads <= 256);
  }
  CHECK(few.kernel().variants.back().when.empty());
  CHECK(few.kernel().variants.back().fields.threads == 256);

  // 2 turns of 8 bytes: 9 sums of 256 threads would need 36864 bytes.
  std::string sums, outputs;
  for (int i = 0; i < 9; ++i) {
    sums += fmt::format("s{0}[i] = sum[j] x[i, j] * {0}\n", i);
    outputs += fmt::format("output s{0} : f32[M]\n", i);
  }
  auto many = as_written(dims + sums + outputs, without_shuffles());
  REQUIRE(many.kernel().nodes.size() == 9);
  for (const auto& v : many.kernel().variants) CHECK(v.fields.threads <= 128);
  CHECK(many.kernel().variants.back().fields.threads == 128);
}

// What each emitter's kernels are made of.
#include "lowered.h"

using namespace tang::lower::test;
using Widths = std::map<int, int>;

namespace {

std::string rows(const std::string& type, const std::string& n, const std::string& body) {
  return "dim M in 0..100000\ninput x : " + type + "[M, " + n + "]\n" + body +
         "output y : " + type + "[M, " + n + "]\n";
}

/// The accumulators of a tile that each thread has.
int64_t points_of_thread(const tang::kernel::Kernel& k) {
  int64_t points = 1;
  for (const auto& tensor : k.tensors)
    if (tensor.name == "acc")
      for (auto extent : tensor.shape) points *= k.values.as_integer(extent).value();
  return points;
}

} // namespace

TEST_CASE("softmax of a row that a warp holds", "[row]") {
  auto p = lowered(rows("bf16", "1024", "y[i, j] = softmax[j] x[i, j]\n"));
  REQUIRE(p.program.steps.size() == 1);
  REQUIRE(p.program.kernels.size() == 1);
  CHECK(p.program.slots.empty());
  Counts n = counts_of(kernel_at(p.program));
  // Read once and written once, in vectors; a butterfly for the maximum and one for the sum.
  CHECK(n.copies == Widths{{8, 2}});
  CHECK(n.loads == 0);
  CHECK(n.stores == 0);
  CHECK(n.shuffles == 10);
  CHECK(n.barriers == 0);
  CHECK(n.shared == 0);
  CHECK(n.serial == 0);
}

TEST_CASE("softmax of a row that a block holds", "[row]") {
  auto p = lowered(rows("bf16", "8192", "y[i, j] = softmax[j] x[i, j]\n"));
  Counts n = counts_of(kernel_at(p.program));
  CHECK(n.copies == Widths{{8, 2}});
  CHECK(n.shuffles == 10);
  // Warps meet once for each reduction.
  CHECK(n.barriers == 2);
  CHECK(n.shared == 2);
}

TEST_CASE("softmax of rows of any length", "[row]") {
  auto p = lowered("dim M, N in 0..10000000\ninput x : f32[M, N]\ny[i, j] = softmax[j] x[i, j]\n"
                   "output y : f32[M, N]\n");
  const auto& d = std::get<tang::kernel::Dispatch>(p.program.steps.at(0).node);
  REQUIRE(d.variants.size() > 2);
  CHECK(!d.variants.back().condition);
  for (size_t v = 0; v + 1 < d.variants.size(); ++v) CHECK(d.variants[v].condition);
  // The last reads the row again for each of its three passes, element by element.
  Counts last = counts_of(kernel_at(p.program, 0, d.variants.size() - 1));
  CHECK(last.copies.empty());
  CHECK(last.loads == 3);
  CHECK(last.serial + last.vector == 3);
}

TEST_CASE("layer norm reads its row once, its weights late", "[row]") {
  auto p = lowered("dim M in 0..100000\ninput x : bf16[M, 1024]\nparam w : bf16[1024]\n"
                   "param b : bf16[1024]\ny[i, j] = layernorm[j](x[i, j], w[j], b[j], 1e-5)\n"
                   "output y : bf16[M, 1024]\n");
  REQUIRE(p.program.kernels.size() == 1);
  Counts n = counts_of(kernel_at(p.program));
  CHECK(n.copies == Widths{{8, 4}});
  CHECK(n.shuffles == 10);
  CHECK(n.barriers == 0);
}

TEST_CASE("states of several fields are exchanged whole", "[row]") {
  SECTION("the largest and its place") {
    auto p = lowered("dim M\ninput x : f32[M, 256]\na[i] = argmax[j] x[i, j]\noutput a : i32[M]\n");
    Counts n = counts_of(kernel_at(p.program));
    CHECK(n.shuffles == 10);
    CHECK(n.stores == 1);
    CHECK(n.predicated_stores == 1);
  }
  SECTION("a user monoid of three") {
    auto p = lowered("monoid three(s = 0, p = 1, m = -inf) (a, b) -> "
                     "(a.s + b.s, a.p * b.p, max(a.m, b.m))\n"
                     "dim M\ninput x : f32[M, 256]\n"
                     "(n[i], m[i], v[i]) = three[j](1, x[i, j], x[i, j])\n"
                     "output n : f32[M]\noutput m : f32[M]\noutput v : f32[M]\n");
    Counts n = counts_of(kernel_at(p.program));
    CHECK(n.shuffles == 15);
    CHECK(n.stores == 3);
  }
}

TEST_CASE("the end of a row parts no threads", "[row]") {
  auto p = lowered("dim M, N in 1..30000\ninput x : bf16[M, N]\nparam w : bf16[N]\n"
                   "y[i, j] = layernorm[j](x[i, j], w[j], 1, 1e-5)\noutput y : bf16[M, N]\n");
  const auto& d = std::get<tang::kernel::Dispatch>(p.program.steps.at(0).node);
  int held = 0;
  for (size_t v = 0; v < d.variants.size(); ++v) {
    const auto& k = kernel_at(p.program, 0, v);
    int branches = 0, predicated = 0, stores = 0;
    for_each_stmt(k.body, [&](const tang::kernel::Stmt& stmt) {
      if (const auto* branch = std::get_if<tang::kernel::If>(&stmt.node)) {
        // The last block of rows, and the first lane of a warp.
        const auto& condition = k.values[branch->condition];
        bool lane = condition.op == tang::graph::Op::eq;
        branches += !lane && k.threads.size() == 1;
      }
      if (const auto* c = std::get_if<tang::kernel::Copy>(&stmt.node))
        if (k[c->dst.tensor].memory == tang::kernel::Memory::global)
          ++stores, predicated += static_cast<bool>(c->predicate);
    });
    Counts n = counts_of(k);
    if (n.serial + n.vector > 0) continue;
    ++held;
    INFO(to_text(k));
    CHECK(branches == 0);
    CHECK(predicated == stores);
    CHECK(n.predicated_stores == n.stores);
  }
  CHECK(held == 11);
}

TEST_CASE("rows of any length: every access is proved", "[row]") {
  const char* dims[] = {"dim N in 0..10000000\n", "dim N in 1..4096\n",
                        "dim N in 64..100000 step 8\n", "dim N in 64..4096 step 64\n",
                        "dim K in 1..1000, N = 1000\n"};
  const char* bodies[] = {
      "y[i, j] = softmax[j] x[i, j]\noutput y : bf16[M, N]\n",
      "y[i, j] = layernorm[j](x[i, j], w[j], w[j], 1e-5)\noutput y : bf16[M, N]\n",
      "a[i] = argmax[j] x[i, j]\noutput a : i32[M]\n",
      "a[i] = argmax[j where j >= i] x[i, j]\noutput a : i32[M]\n",
      "(a[i], b[i]) = affine[j where j >= i](x[i, j], w[j])\noutput b : f32[M]\n",
      "y[i, j] = x[i, j] + w[j]\noutput y : bf16[M, N]\n",
      "y[i, j] = softmax[j where j <= i] x[i, j]\noutput y : bf16[M, N]\n",
      "y[i, j] = softmax[j where j <= i and j > i - 40] x[i, j]\noutput y : bf16[M, N]\n",
      "s[i] = sum[j where j <= i] z[i, i - j] * z[i, j]\noutput s : f32[N]\n",
      "(n[i], m[i], s[i]) = welford[j where j <= i](1, x[i, j], 0)\n"
      "y[i, j] = (x[i, j] - m[i]) * s[i]\noutput y : bf16[M, N]\n"};
  for (std::string dim : dims)
    for (std::string body : bodies) {
      auto p = lowered("dim M in 0..100000\n" + dim +
                       "input x : bf16[M, N]\ninput w : bf16[N]\ninput z : f32[N, N]\n" + body);
      INFO(dim << body);
      auto ranges = tang::kernel::check_ranges(p.program),
           covered = tang::kernel::check_coverage(p.program);
      CHECK(ranges.unproved == std::vector<std::string>{});
      CHECK(covered.unproved == std::vector<std::string>{});
    }
}

TEST_CASE("what is whole vectors though no dim of it is: every access is proved", "[row][point]") {
  const char* dims[] = {"dim N in 0..6, M in 0..6\n", "dim N in 0..10000000, M in 1..300\n",
                        "dim N in 0..2147483647, M in 0..2147483647\n"};
  const char* extents[] = {"N * M", "floordiv(N + 1, 2)", "min(N, M)", "floordiv(N * M, 3) + 1",
                           "2 * N * M"};
  const char* bodies[] = {
      "y[i, j] = 2 * x[i, j]\noutput y : f32[Q, Q]\n",
      "y[i, j] = softmax[j] x[i, j]\noutput y : f32[Q, Q]\n",
      "y[i, j] = softmax[j where j <= i] x[i, j]\noutput y : f32[Q, Q]\n",
      "y = sum[i, j] x[i, j]\noutput y : f32\n",
      "y[i: Q] = sum[j: Q where j < floordiv(N - i + 1, 2) and i < 2] (w[i + 2 * j] else 0)\n"
      "output y : f32[Q]\n"};
  for (std::string dim : dims)
    for (std::string extent : extents)
      for (std::string body : bodies) {
        // 64 bits hold the elements.
        if (dim.find("2147483647") != dim.npos && extent[0] != 'N') continue;
        std::string text =
            dim + "dim Q = " + extent + "\ninput x : f32[Q, Q]\ninput w : f32[Q]\n" + body;
        INFO(text);
        auto p = lowered(text);
        CHECK(tang::kernel::check_ranges(p.program).unproved == std::vector<std::string>{});
        CHECK(tang::kernel::check_coverage(p.program).unproved == std::vector<std::string>{});
      }
}

TEST_CASE("loops that end at the least of several bounds: every access is proved", "[point]") {
  // What each bound says of the dims is needed: a place that the loop does not move.
  const char* programs[] = {
      "dim N in 1..6 step 2, S in 0..7 step 2\nparam k : u32[N]\n"
      "t[i: 5, j: N, e: S] = scan sum[e desc] 1\n"
      "y[i: 4] = min[j: 2, e: S where e == k[N - 1 - j]] (t[0, e - 1, 0] else -3)\n"
      "output y : f32[4]\n",
      "dim F in 0..100, S in 1..6\nparam x : f16[S, S, 5]\n"
      "y[p: 32] = sum[e: F where e < 1 - p * F] (x[p * F + 1, 0, 2 * p * F] else 0)\n"
      "output y : f32[32]\n"};
  for (std::string program : programs)
    for (const auto& target : {gpu(), core()}) {
      auto p = lowered(program, target);
      INFO(to_text(p.program));
      CHECK(tang::kernel::check_ranges(p.program).unproved == std::vector<std::string>{});
      CHECK(tang::kernel::check_coverage(p.program).unproved == std::vector<std::string>{});
    }
}

TEST_CASE("what conditions exclude, and what one of several allows, is proved", "[point][row]") {
  const std::string head = "dim N in 0..1, S in 2..8 step 2, F\ninput x : f32[5]\n"
                           "input k : i32\ninput z : f32[4, S]\ninput w : f32[F]\n"
                           "input d : u4 in 0..3\ninput v : f32[4, 4]\n";
  const char* bodies[] = {
      // What data are declared to be removes no test.
      "y = max[j: 4 where not (j >= d)] (z[0, j - 2] else -3)\n",
      // A quotient of a quotient is one quotient.
      "y = max[j: F] (v[floordiv(j, 3), floordiv(floordiv(j, 3), 2)] else 3)\n",
      // No point is left, which two conditions say together.
      "y = min[j: N where j == 1] x[4 + j]\n",
      "y = min[j: S where x[4 - j] else 1 != 0 and S == j] x[0]\n",
      // The same place is read under one condition or another.
      "y[i: S] = where(0 != 2.0, (x[1 - i] else 2), (x[1 - i] else 3))\n",
      "t[e: 2] = w[F - 1 - e] else 3\n"
      "y[e: 2] = where(F > 0 and x[0] > 0, w[0], 0) + where(t[e] > 0, t[1 - e], 0)\n",
      // Data say where a loop begins.
      "y[i: 4] = sum[e: S where e > k] z[3 - i, e]\n"};
  for (std::string body : bodies)
    for (const auto& target : {gpu(), core()})
      for (int level : {0, 2}) {
        bool scalar = body.compare(0, 3, "y =") == 0;
        std::string extent = body.find("[e: 2] =") != std::string::npos ? "[2]"
                             : body.find("[i: 4]") != std::string::npos ? "[4]"
                                                                        : "[S]";
        auto p =
            lowered(head + body + "output y : f32" + (scalar ? "" : extent) + "\n", target, level);
        INFO(body << to_text(p.program));
        CHECK(tang::kernel::check_ranges(p.program).unproved == std::vector<std::string>{});
        CHECK(tang::kernel::check_coverage(p.program).unproved == std::vector<std::string>{});
      }
}

TEST_CASE("without threads a row is loops", "[row]") {
  auto p = lowered("dim M, N\ninput x : f32[M, N]\ny[i, j] = softmax[j] x[i, j]\n"
                   "output y : f32[M, N]\n",
                   core());
  Counts n = counts_of(kernel_at(p.program));
  CHECK(n.serial == 2);
  CHECK(n.vector == 1);
  CHECK(n.shuffles + n.barriers + n.shared == 0);
  CHECK(kernel_at(p.program).threads.empty());
  CHECK(kernel_at(p.program).blocks.size() == 1);
}

TEST_CASE("a matrix product in tiles", "[tile]") {
  std::string body = "dim M, N, K\ninput a : f32[M, K]\ninput b : f32[K, N]\ninput z : f32[N]\n"
                     "c[i, j] = relu(z[j] + sum[k] a[i, k] * b[k, j])\noutput c : f32[M, N]\n";
  SECTION("of a block") {
    auto p = lowered(body);
    REQUIRE(p.program.kernels.size() == 1);
    Counts n = counts_of(kernel_at(p.program));
    CHECK(n.shared == 2);
    CHECK(n.barriers == 2);
    CHECK(n.shuffles == 0);
    // Every thread stores its 4 x 4 points, each under its own bounds, in two loops.
    CHECK(n.stores == 1);
    CHECK(points_of_thread(kernel_at(p.program)) == 16);
    // The depth, and what is left of it.
    CHECK(n.serial == 2);
    CHECK(kernel_at(p.program).thread_count() == 256);
  }
  SECTION("of a core") {
    auto p = lowered(body, core());
    Counts n = counts_of(kernel_at(p.program));
    CHECK(n.shared + n.barriers + n.shuffles == 0);
    // A whole tile and one cut off, each: operand, product, result.
    CHECK(n.vector == 6);
    CHECK(n.stores == 2);
  }
  SECTION("a depth that tiles divide has no rest") {
    auto p = lowered("dim M, N\ninput a : f32[M, 64]\ninput b : f32[64, N]\n"
                     "c[i, j] = sum[k] a[i, k] * b[k, j]\noutput c : f32[M, N]\n");
    CHECK(counts_of(kernel_at(p.program)).serial == 1);
  }
  SECTION("few points: smaller tiles") {
    auto p = lowered("dim N\ninput a : f32[16, 64]\ninput b : f32[64, N]\n"
                     "c[i, j] = sum[k] a[i, k] * b[k, j]\noutput c : f32[16, N]\n");
    CHECK(points_of_thread(kernel_at(p.program)) == 4);
  }
}

TEST_CASE("maps move vectors where rows are whole vectors", "[point]") {
  SECTION("two widths of one map") {
    auto p = lowered("dim N\ninput x : bf16[N]\ninput z : f32[N]\ny[i] = x[i] + z[i]\n"
                     "output y : bf16[N]\n");
    Counts wide = counts_of(kernel_at(p.program, 0, 0)),
           narrow = counts_of(kernel_at(p.program, 0, 1));
    CHECK(wide.copies == Widths{{4, 2}, {8, 2}});
    CHECK(wide.loads + wide.stores == 0);
    CHECK(narrow.copies.empty());
    CHECK(narrow.loads == 2);
    CHECK(narrow.stores == 1);
  }
  SECTION("what is read elsewhere is read by elements") {
    auto p =
        lowered("input x : f32[1024]\ny[i] = x[i] + (x[i - 1] else 0)\noutput y : f32[1024]\n");
    Counts n = counts_of(kernel_at(p.program));
    CHECK(n.copies == Widths{{4, 2}});
    CHECK(n.loads == 1);
  }
  SECTION("what a branch guards is not read ahead of it") {
    auto p = lowered("input x : f32[1024]\ninput z : f32[1024]\n"
                     "y[i] = where(z[i] > 0, x[i], 0)\noutput y : f32[1024]\n");
    Counts n = counts_of(kernel_at(p.program));
    CHECK(n.copies == Widths{{4, 2}});
    CHECK(n.loads == 1);
  }
  SECTION("less alignment than a vector") {
    auto p = lowered("input x : f32[1024] align 4\ny[i] = x[i] + 1\noutput y : f32[1024]\n");
    Counts n = counts_of(kernel_at(p.program));
    CHECK(n.copies == Widths{{4, 1}});
    CHECK(n.loads == 1);
  }
  SECTION("a core walks the innermost axis") {
    auto p = lowered("dim M, N\ninput x : f32[M, N]\ny[i, j] = x[i, j] + 1\noutput y : f32[M, N]\n",
                     core());
    Counts n = counts_of(kernel_at(p.program));
    CHECK(n.vector == 1);
    CHECK(n.copies.empty());
    CHECK(kernel_at(p.program).blocks.size() == 1);
  }
}

TEST_CASE("a scan along a row loads each element once, in vectors", "[row]") {
  auto scan = lowered("dim M\ninput x : f32[M, 512]\ny[i, j] = scan sum[j] x[i, j]\n"
                      "output y : f32[M, 512]\n",
                      gpu());
  Counts n = counts_of(kernel_at(scan.program));
  CHECK(n.copies == std::map<int, int>{{4, 2}});
  CHECK(n.serial == 0);
  CHECK(n.shuffles == 5);
}

TEST_CASE("scans across rows and lists stay inside a thread", "[point]") {
  for (const auto& target : {gpu(), core()}) {
    auto scan = lowered("dim M, N\ninput x : f32[M, N]\ny[i, j] = scan sum[i] x[i, j]\n"
                        "output y : f32[M, N]\n",
                        target);
    Counts n = counts_of(kernel_at(scan.program));
    CHECK(n.serial == 1);
    CHECK(n.loads == 1);
    CHECK(n.stores == 1);
    CHECK(n.shuffles + n.barriers == 0);
    auto list = lowered("dim M, N\ninput x : f32[M, N]\n(v[i, n], a[i, n]) = topk[j; 3] x[i, j]\n"
                        "output v : f32[M, 3]\noutput a : i32[M, 3]\n",
                        target);
    n = counts_of(kernel_at(list.program));
    CHECK(n.loads == 1);
    CHECK(n.stores == 2);
    CHECK(n.barriers + n.shared == 0);
  }
}

TEST_CASE("an exponential that two members need is taken once", "[row]") {
  auto p = lowered(rows("f32", "1024", "y[i, j] = softmax[j] x[i, j]\n"));
  const auto& k = kernel_at(p.program);
  int exponentials = 0;
  for (uint32_t id = 0; id < k.values.size(); ++id)
    exponentials += k.values[tang::kernel::ValueId(id)].op == tang::graph::Op::exp &&
                    k.values[tang::kernel::ValueId(id)].form == tang::kernel::Form::operation;
  CHECK(exponentials == 1);
}

TEST_CASE("only changed points of an output in place are written", "[in_place]") {
  std::string head = "dim M, N\ninput x : f32[M, N]\ninput at : i32[M]\ninput v : f32[M]\n";
  auto stores = [&](const std::string& body, const Target& target) {
    auto p = lowered(head + body + "output y : f32[M, N] over x\n", target);
    REQUIRE(p.program.steps.size() == 1);
    return counts_of(kernel_at(p.program));
  };
  for (const auto& target : {gpu(), core()}) {
    Counts n = stores("y[i, j] = where(j == at[i], v[i], x[i, j])\n", target);
    CHECK(n.stores == n.predicated_stores);
    CHECK(n.stores > 0);
    n = stores("y[i, j] = where(j != at[i], x[i, j], v[i])\n", target);
    CHECK(n.stores == n.predicated_stores);
    // Every point changes.
    n = stores("y[i, j] = x[i, j] * v[i] + at[i]\n", target);
    CHECK(n.predicated_stores == 0);
  }
}

TEST_CASE("what declarations say about data is a promise of the program", "[lower]") {
  auto p = lowered(
      "dim T, V in 1..100\ninput id : i32[T] in 0..<V\ninput s : i8[2, T]:[T + 1, 1] sorted\n"
      "input m : bool\ninput f : f32[T]\ninput i : i32[T]\n"
      "y[t] = f[t] + id[t] + s[1, t] + i[t] + where(m, 1, 0)\noutput y : f32[T]\n");
  std::string text = tang::kernel::to_text(p.program), promises;
  for (size_t at = text.find("promise "); at != text.npos; at = text.find("promise ", at + 1))
    promises += text.substr(at, text.find('\n', at) + 1 - at);
  CHECK(promises == "promise id (T):(1) in 0..V - 1\n"
                    "promise s (2, T):(T + 1, 1) in -128..127 sorted\n"
                    "promise m (1):(1) in 0..1\n");
}

TEST_CASE("outputs in strides: the launcher looks where their elements may share addresses",
          "[lower]") {
  auto rooms = [](const std::string& strides) {
    auto p = lowered("dim N in 1..100, LD in 1..100\ninput x : f32[N, 4]\ny[i, j] = x[i, j] + 1\n"
                     "output y : f32[N, 4]" +
                     strides + "\n");
    std::string text = tang::kernel::to_text(p.program);
    size_t at = text.find("room ");
    return at == text.npos ? "" : text.substr(at, text.find('\n', at) - at);
  };
  CHECK(rooms("") == "");
  CHECK(rooms(":[8, 2]") == "");
  CHECK(rooms(":[1, 100]") == "");
  CHECK(rooms(":[1, 99]") == "room y (N, 4):(1, 99)");
  CHECK(rooms(":[LD, 1]") == "room y (N, 4):(LD, 1)");
}

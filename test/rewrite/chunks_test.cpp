// chunk_scans: linear scans whose states are only contracted, and those that stay.
#include "run.h"

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

const std::string head = R"(dim T in 0..100000, H in 1..4
dim P = 64, N = 64
input x : f64[T, H, P]
input a : f64[T, H] 
input bm : f64[T, N]
input cm : f64[T, N]
input am : f64[T, N]
input dm : f64[T, P]
input s0 : f64[H, P, N]
input on : i32[T] in 0..1
)";

const std::string out_y = "output y : f64[T, H, P]\n";

/// The states of h = a h + x b in different words.
std::string scan(const std::string& decay, const std::string& term, const std::string& how = "t") {
  return "decay[t, h] = " + decay + "\nu[t, h, p, n] = " + term +
         "\n(d[t, h, p, n], s[t, h, p, n]) = scan affine[" + how +
         "](decay[t, h], u[t, h, p, n])\n";
}

const std::string outer = "x[t, h, p] * bm[t, n]";
const std::string contracted = "y[t, h, p] = sum[n] cm[t, n] * s[t, h, p, n]\n";

struct Chunked {
  Graph graph;
  std::string remarks;

  /// Whether a tensor has an extent for all steps and both axes of the state.
  bool stores_states() const {
    for (const Tensor& tensor : graph.tensors) {
      int64_t fixed = 1;
      for (ExprId extent : tensor.shape)
        if (auto value = graph.exprs.as_integer(extent)) fixed *= *value;
      bool steps = std::any_of(tensor.shape.begin(), tensor.shape.end(), [&](ExprId extent) {
        return graph.exprs[extent].op == Op::dim && graph.exprs[extent].ref == 0;
      });
      if (steps && fixed == 64 * 64) return true;
    }
    return false;
  }
};

Chunked chunked(const std::string& body) {
  Graph g = drop_dead_nodes(graph_of_body(head + body));
  Graph flat = substitute_maps(g), once = chunk_scans(flat), all = rewritten(g);
  INFO(to_text(flat) << "gives\n" << to_text(once) << "and\n" << to_text(all));
  REQUIRE_NOTHROW(verify(once, "chunk_scans"));
  CHECK(to_text(chunk_scans(once)) == to_text(once));
  for (int64_t steps : {0, 1, 64, 67}) {
    INFO("T = " << steps);
    CHECK(difference(g, once, {steps, steps == 1 ? 2 : 1}) == "");
  }
  CHECK(difference(g, all, {130, 1}) == "");
  Chunked result{std::move(once), ""};
  for (const Remark& remark : result.graph.remarks) result.remarks += remark.text + "\n";
  return result;
}

} // namespace

TEST_CASE("states that are only contracted are not stored", "[chunk_scans]") {
  for (const std::string& body :
       {scan("a[t, h]", outer) + contracted + out_y,
        // A factor of 0 resets, whatever came before.
        scan("where(on[t] == 1, 0, a[t, h])", outer, "t desc") + contracted + out_y,
        scan("a[t, h]", "a[t, h] * x[t, h, p] / 3 * (-bm[t, n])") + contracted + out_y,
        scan("a[t, h]", "where(on[t] == 1, " + outer + ", 0)") + contracted + out_y,
        // The other axis; and both, each by its reader.
        scan("a[t, h]", outer) +
            "y[t, h, n] = sum[p] dm[t, p] * s[t, h, p, n]\noutput y : f64[T, H, N]\n",
        scan("a[t, h]", outer) + contracted +
            "z[t, h, n] = sum[p] dm[t, p] * s[t, h, p, n]\noutput z : f64[T, H, N]\n" + out_y,
        // Several contractions of one state, in a layout of the reader's own.
        scan("a[t, h]", outer) + "q[k: 3, t, n] = cm[t, n] + k\n"
                                 "y[h, p, k, t] = sum[n] q[k, t, n] * s[t, h, p, n] / 2\n"
                                 "output y : f64[H, P, 3, T]\n",
        // No factor: linear attention.
        "u[t, h, p, n] = " + outer + "\ns[t, h, p, n] = scan sum[t] u[t, h, p, n]\n" + contracted +
            out_y,
        // The state at the end as well.
        scan("a[t, h]", outer) + contracted +
            "e[h, p, n] = where(0 < T, s[T - 1, h, p, n], 7)\n"
            "output e : f64[H, P, N]\n" +
            out_y}) {
    INFO(body);
    Chunked c = chunked(body);
    CHECK_FALSE(c.stores_states());
    CHECK(c.remarks == "");
  }
}

TEST_CASE("a recurrence in chunks starts from its state", "[chunk_scans]") {
  for (const char* decay : {"a[t, h] * ", "", "where(on[t] == 1, 0, a[t, h]) * "}) {
    Graph g = graph_of_body(head + "recur t: T carry s = s0 {\n  s[h, p, n] = " + decay +
                            "s[h, p, n] + " + outer +
                            "\n  y[h, p] = sum[n] s[h, p, n] * cm[t, n]\n} collect ys = y\n"
                            "output ys : f64[T, H, P]\noutput s : f64[H, P, N]\n");
    Graph once = chunk_scans(substitute_maps(scan_recurrences(g))), all = rewritten(g);
    INFO(to_text(all));
    verify(once, "chunk_scans");
    for (int64_t steps : {0, 1, 64, 67}) {
      CHECK(difference(g, once, {steps, 1}) == "");
      CHECK(difference(g, all, {steps, 1}) == "");
    }
    CHECK_FALSE(Chunked{std::move(once), ""}.stores_states());
    CHECK_FALSE(Chunked{std::move(all), ""}.stores_states());
  }
}

TEST_CASE("a later value that is no number does not reach earlier steps", "[chunk_scans]") {
  const std::string late =
      "late[t, h, p] = where(t == 40, sqrt(-1 - x[t, h, p] * x[t, h, p]), x[t, h, p])\n";
  Graph g =
      graph_of_body(head + late + scan("a[t, h]", "late[t, h, p] * bm[t, n]") + contracted + out_y);
  Graph all = rewritten(g);
  CHECK_FALSE(Chunked{all, ""}.stores_states());
  auto y = run(all, {70, 1}).at("y");
  CHECK(std::isfinite(y.as_real(39 * 64)));
  CHECK(std::isnan(y.as_real(40 * 64)));
  CHECK(std::isnan(y.as_real(69 * 64)));
}

TEST_CASE("scans that stay, and why", "[chunk_scans]") {
  struct Case {
    std::string body, why;
  };
  const std::string both = "y[t, h, p] = sum[n] cm[t, n] * s[t, h, p, n]\n";
  for (const auto& [body, why] : std::vector<Case>{
           {"(d[t, p, n], s[t, p, n]) = scan affine[t](am[t, n], x[t, 0, p] * bm[t, n])\n"
            "y[t, p] = sum[n] cm[t, n] * s[t, p, n]\noutput y : f64[T, P]\n",
            "the factor of a step depends on what `y` sums over"},
           {"(d[t, p, n], s[t, p, n]) = scan affine[t](dm[t, p], x[t, 0, p] * bm[t, n])\n"
            "y[t, p] = sum[n] cm[t, n] * s[t, p, n]\noutput y : f64[T, P]\n",
            "no axis of `y` is free of what it sums over"},
           {scan("a[t, h]", "x[t, h, p] + bm[t, n]") + contracted + out_y,
            "no axis of `y` is free of what it sums over"},
           {scan("a[t, h]", "where(bm[t, n] < 0, x[t, h, p], 0)") + contracted + out_y,
            "a condition depends on what `y` sums over"},
           {scan("a[t, h]", outer, "t exclusive") + contracted + out_y, "the scan is exclusive"},
           {scan("a[t, h]", outer) + contracted + out_y +
                "z[t, h, p] = max[n] s[t, h, p, n]\noutput z : f64[T, H, P]\n",
            "`z` needs it stored"}}) {
    INFO(body);
    Chunked c = chunked(body);
    CHECK(c.stores_states());
    CHECK_THAT(c.remarks, Catch::Contains("for every step: " + why));
  }
  // Other places than a step's own, products of states, another monoid: not what is meant.
  for (const std::string& body :
       {scan("a[t, h]", outer) + "y[t, h, p] = sum[n] cm[t, n] * (s[t - 1, h, p, n] else 0)\n" +
            out_y,
        scan("a[t, h]", outer) + "y[t, h, p] = sum[n] s[t, h, p, n] * s[t, h, n, p]\n" + out_y,
        "u[t, h, p, n] = " + outer + "\ns[t, h, p, n] = scan max[t] u[t, h, p, n]\n" + contracted +
            out_y}) {
    INFO(body);
    Chunked c = chunked(body);
    CHECK(c.stores_states());
    CHECK(c.remarks == "");
  }
}

TEST_CASE("narrow states and short scans stay as they are", "[chunk_scans]") {
  auto chunks = [](const std::string& dims, const std::string& decay) {
    Graph g = graph_of_body("dim T in " + dims + "\ninput x : f32[T, P]\ninput a : f32[T]\n" +
                            "input bm : f32[T, N]\ninput cm : f32[T, N]\n" +
                            "u[t, p, n] = x[t, p] * bm[t, n]\n(d[t, p, n], s[t, p, n]) = scan "
                            "affine[t](" +
                            decay +
                            ", u[t, p, n])\n"
                            "y[t, p] = sum[n] cm[t, n] * s[t, p, n]\noutput y : f32[T, P]\n");
    Graph once = chunk_scans(substitute_maps(drop_dead_nodes(g)));
    return once.nodes.size() > 3;
  };
  CHECK(chunks("0..100000\ndim P = 64, N = 64", "a[t]"));
  CHECK(chunks("1000..1000\ndim P = 64, N = 64", "a[t]"));
  CHECK(chunks("0..100000, P in 1..4096, N in 1..4096", "a[t]"));
  CHECK_FALSE(chunks("0..100000\ndim P = 8, N = 8", "a[t]"));
  CHECK_FALSE(chunks("0..100000\ndim P = 64, N = 2", "a[t]"));
  CHECK_FALSE(chunks("0..100\ndim P = 64, N = 64", "a[t]"));
}

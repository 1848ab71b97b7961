// The report as JSON: fields, formulas, determinism.
#include "compile.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace tang;
using namespace tang::report;
using Json = nlohmann::ordered_json;

namespace {

const char* mlp = "tg 1\ngraph mlp\ndim M in 1..65536, K in 1..65536, N in 1..65536\n"
                  "input x : f16[M, K]\nparam w : f16[K, N]\nparam b : f32[N]\n"
                  "y[i, j] = relu(sum[k] x[i, k] * w[k, j] + b[j])\noutput y : f16[M, N]\n"
                  "budget y : rel 0.002\n";

Json report_of(const std::string& text, const std::string& target, std::vector<BoundDim> dims = {},
               int level = 2) {
  std::string messages;
  auto compiled = report::test::compile("test.tg", text, target, messages, std::move(dims), level);
  INFO(messages);
  REQUIRE(compiled);
  std::string json = report_json(compiled->input());
  CHECK(json == report_json(compiled->input()));
  return Json::parse(json);
}

} // namespace

TEST_CASE("one fused kernel, in numbers", "[report]") {
  Json r = report_of(mlp, "sm_90a:h200", {{"M", 4096}, {"K", 2048}, {"N", 1024}});
  CHECK(r["schema"] == "tangc.sol/1");
  CHECK(r["dims"] == Json({{"M", 4096}, {"K", 2048}, {"N", 1024}}));
  CHECK(r["free_dims"].empty());
  CHECK(r["samples"].empty());
  REQUIRE(r["kernels"].size() == 1);
  const Json& k = r["kernels"][0];
  int64_t flops = 2LL * 4096 * 2048 * 1024 + 2 * 4096 * 1024; // bias and relu
  CHECK(k["flops_math"]["value"] == flops);
  int64_t compulsory = 2LL * 4096 * 2048 + 2LL * 2048 * 1024 + 4 * 1024 + 2LL * 4096 * 1024;
  CHECK(r["totals"]["compulsory_bytes"] == compulsory);
  CHECK(r["totals"]["fused_bytes"] == compulsory);
  CHECK(r["totals"]["unfused_bytes"] > compulsory);
  CHECK(r["totals"]["workspace_bytes"] == 0);
  CHECK(k["floor"]["bound_by"] == "f16_mma");
  // 2 * 4096 * 2048 * 1024 / 1.07053056e15 s, rounded down to picoseconds.
  CHECK(k["floor"]["us"] == 16.047995);
  CHECK(k["error"]["budget_rel"] == 0.002);
  CHECK(k["precision"]["store"] == "f16");
  CHECK(k["loc"]["line"] == 7);
  CHECK(r["target"]["roofs"]["dram_bytes_per_s"]["hard"] == 4.814304e12);
  CHECK(r["target"]["capacities"]["l2_bytes"] == 62914560);
}

TEST_CASE("two results of one sum keep its arithmetic in the floor", "[report]") {
  const char* text =
      "tg 1\ngraph two\ndim N in 1..65536\ninput x : f32[N, N]\nparam w : f32[N, N]\n"
      "y[i, j] = sum[k] x[i, k] * w[k, j]\nz[i, j] = y[i, j] + 1\n"
      "output y : f32[N, N]\noutput z : f32[N, N]\n";
  Json r = report_of(text, "c", {{"N", 1024}});
  REQUIRE(r["kernels"].size() == 1);
  const Json& k = r["kernels"][0];
  CHECK(k["floor"]["bound_by"] == "f32");
  CHECK(r["totals"]["fused_graph_bound_by"] == "f32");
  // The sum of 1 is no product: it is named, not counted.
  CHECK(
      k["not_modelled"][0] ==
      "the floor counts 2147483648 of 2148532224 operations: the products of two tensors that are "
      "summed, which no order of evaluation avoids");
}

TEST_CASE("free dims: formulas, and numbers at stated samples", "[report]") {
  Json r = report_of(mlp, "sm_80");
  CHECK(r["dims"]["M"] == 1024);
  CHECK(r["free_dims"]["K"]["hi"] == 65536);
  REQUIRE(r["samples"].size() == 3);
  CHECK(r["samples"][1]["totals"]["floor_us"] == r["totals"]["floor_us"]);
  CHECK(r["samples"][2]["totals"]["compulsory_bytes"] >
        r["samples"][1]["totals"]["compulsory_bytes"]);
  CHECK(r["totals"]["formulas"]["compulsory_bytes"].get<std::string>().find("2*M*K") !=
        std::string::npos);
}

TEST_CASE("without fusion there are edges and workspace", "[report]") {
  Json r = report_of(mlp, "sm_80", {{"M", 64}, {"K", 32}, {"N", 16}}, 0);
  REQUIRE(r["kernels"].size() >= 2);
  REQUIRE_FALSE(r["edges"].empty());
  CHECK(r["edges"][0]["bytes"] == 4 * 64 * 16);
  CHECK(r["totals"]["workspace_bytes"] >= 4 * 64 * 16);
  CHECK(r["manifest"]["workspace"].size() >= 1);
  CHECK(r["manifest"]["launches"].size() == r["kernels"].size());
}

TEST_CASE("recurrences count their launches", "[report]") {
  Json r = report_of("tg 1\ndim T in 1..100, N in 1..64\ninput x : f32[T, N]\ninput h0 : f32[N]\n"
                     "recur t: T carry h = h0 {\n  h[j] = tanh(h[j]) + x[t, j]\n}\n"
                     "output h as last : f32[N]\n",
                     "sm_80", {{"T", 10}, {"N", 8}});
  bool found = false;
  for (const Json& k : r["kernels"])
    if (k["launches"]["value"] == 10) found = true;
  CHECK(found);
  CHECK(r["totals"]["compulsory_bytes"] == 4 * (10 * 8 + 8 + 8));
}

TEST_CASE("empty tensors need nothing", "[report]") {
  Json r = report_of("tg 1\ndim N in 0..10\ninput x : f32[N]\ny[i] = x[i] + 1\noutput y : f32[N]\n",
                     "c", {{"N", 0}});
  CHECK(r["totals"]["compulsory_bytes"] == 0);
  CHECK(r["totals"]["floor_us"] == 0);
}

TEST_CASE("numbers that leave 64 bits are null, not wrong", "[report]") {
  Json r = report_of("tg 1\ndim N in 1..2147483647\ninput x : f32[N]\n"
                     "y = sum[a: N, b: N, c: N] x[a] * x[b] * x[c]\noutput y : f32\n",
                     "sm_80", {{"N", 2147483647}});
  CHECK(r["kernels"][0]["flops_math"]["value"].is_null());
  CHECK(r["totals"]["floor_us"] > 0);
}

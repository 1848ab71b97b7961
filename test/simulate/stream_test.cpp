// Streamed reductions on matrix units: attention in many forms, its gradients, odd sizes and
// widths.
#include "support.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>

using namespace tang;
using namespace tang::simulate_test;

namespace {

using Sizes = std::vector<std::pair<std::string, int64_t>>;

/// Attention with these scores, mask and type; `more` declares what they read.
struct Attention {
  std::string type = "f16", scores = "s0[b, i, j] * scale", mask, more;
  int width = 32, depth = 0; ///< depth 0: that of `width`
  std::string text() const {
    return fmt::format(
        "tg 1\ngraph attention\ndim B in 1..64, S in 1..8192, T in 1..8192\n"
        "input q : {0}[B, S, {1}]\ninput k : {0}[B, T, {1}]\ninput v : {0}[B, T, {2}]\n"
        "let scale = 0.25\n{3}"
        "s0[b, i, j] = sum[r] q[b, i, r] * k[b, j, r]\ns[b, i, j] = {4}\n"
        "p[b, i, j] = softmax[j{5}] s[b, i, j]\n"
        "o[b, i, d] = sum[j] p[b, i, j] * v[b, j, d]\noutput o : {0}[B, S, {2}]\n",
        type, depth ? depth : width, width, more, scores, mask.empty() ? "" : " where " + mask);
  }
};

int64_t multiplications(const Outcome& outcome) {
  int64_t issues = 0;
  for (const auto& [name, counts] : outcome.report.kernels)
    for (const auto& [row, count] : counts.instructions)
      if (row.rfind("mma.", 0) == 0) issues += count;
  return issues;
}

Outcome check(const std::string& text, const Sizes& sizes, const std::string& target = "sm_80",
              const std::string& schedule = "", bool bound = false) {
  INFO(text << schedule);
  Compiled compiled = compile({text, "stream.tg", target, 2, sizes, bound, schedule, true});
  Outcome outcome = simulate(compiled, data_of(compiled, 7));
  CHECK(outcome.faults == std::vector<std::string>());
  CHECK(multiplications(outcome) > 0);
  return outcome;
}

} // namespace

TEST_CASE("attention at odd lengths", "[stream]") {
  for (int64_t s : {1, 2, 3, 17, 127, 129})
    for (int64_t t : {1, 17, 65}) {
      Attention causal;
      causal.mask = "j - T <= i - S";
      check(Attention{}.text(), {{"B", 2}, {"S", s}, {"T", t}});
      check(causal.text(), {{"B", 1}, {"S", s}, {"T", t}}, "sm_90a");
    }
}

TEST_CASE("attention at widths that are no multiple of an instruction", "[stream]") {
  for (int width : {8, 16, 24, 40, 72, 96, 256}) {
    Attention a;
    a.width = width, a.type = width % 16 ? "f16" : "bf16";
    check(a.text(), {{"B", 1}, {"S", 19}, {"T", 35}});
  }
  Attention uneven; // scores of one depth, values of another
  uneven.width = 48, uneven.depth = 16;
  check(uneven.text(), {{"B", 1}, {"S", 19}, {"T", 35}});
  Attention wide; // blocks share the columns
  wide.width = 512;
  Outcome outcome = check(wide.text(), {{"B", 1}, {"S", 19}, {"T", 35}});
  CHECK(outcome.report.kernels.at("o").blocks == 2);
}

TEST_CASE("masks: bounds, windows, lengths and segments from data", "[stream]") {
  Attention window, length, segments, both;
  window.mask = "j <= i and i - j < 20";
  length.more = "input n : i32[B] in 0..T\n", length.mask = "j < n[b]";
  segments.more = "input of : i32[T] in 0..3\ninput at : i32[S] in 0..3\n";
  segments.mask = "of[j] == at[i]";
  both.more = segments.more, both.mask = "of[j] == at[i] and j <= i";
  for (const Attention& a : {window, length, segments, both})
    for (int64_t s : {5, 130}) check(a.text(), {{"B", 2}, {"S", s}, {"T", 70}});
}

TEST_CASE("terms along one side: biases, scales, positions", "[stream]") {
  Attention a;
  a.more = "input row : f32[S]\ninput column : f32[T]\n";
  for (const char* scores :
       {"s0[b, i, j] * scale + column[j]", "s0[b, i, j] * row[i] + column[j] * row[i]",
        "tanh(s0[b, i, j] / (2 + abs(row[i]))) * 3", "s0[b, i, j] * scale - 0.125 * (i - j)",
        "s0[b, i, j] / (3 + abs(column[j])) / (2 + abs(row[i]))"}) {
    a.scores = scores;
    check(a.text(), {{"B", 2}, {"S", 37}, {"T", 45}});
  }
}

TEST_CASE("a divisor of the smallest size, and one that is 0", "[stream]") {
  // Quotients become products with reciprocals: neither the reciprocal of the smallest number nor
  // that of 0 may show.
  Attention a;
  a.more = "let tiny = 1e-38\ninput row : f32[S]\n";
  a.scores = "s0[b, i, j] * 1e-38 / (tiny * (1 + abs(row[i])))";
  check(a.text(), {{"B", 1}, {"S", 20}, {"T", 33}});
}

TEST_CASE("heads that share keys are rows", "[stream]") {
  std::string text =
      "tg 1\ngraph shared\ndim B in 1..8, S in 1..64, T in 1..64\ndim H = 2, G = 3, D = 16\n"
      "input q : f16[B, S, H, G, D]\ninput k : f16[B, T, H, D]\ninput v : f16[B, T, H, D]\n"
      "s[b, h, g, i, j] = 0.3 * sum[d] q[b, i, h, g, d] * k[b, j, h, d]\n"
      "p[b, h, g, i, j] = softmax[j where j - T <= i - S] s[b, h, g, i, j]\n"
      "o[b, i, h, g, d] = sum[j] p[b, h, g, i, j] * v[b, j, h, d]\n"
      "output o : f16[B, S, H, G, D]\n";
  for (int64_t s : {1, 9, 50}) {
    Outcome outcome = check(text, {{"B", 2}, {"S", s}, {"T", 50}});
    CHECK(outcome.report.kernels.at("o").blocks == 2 * 2 * ((3 * s + 127) / 128));
  }
}

TEST_CASE("statistics of rows, and several amounts of one weight", "[stream]") {
  Attention a;
  std::string text = a.text();
  text = text.substr(0, text.find("p[b, i, j]")) +
         "l[b, i] = logsumexp[j where j <= i] s[b, i, j]\noutput l : f32[B, S]\n";
  check(text, {{"B", 2}, {"S", 70}, {"T", 90}});
  text = a.text() + "input w : f16[B, T, 16]\nu[b, i, d] = sum[j] p[b, i, j] * w[b, j, d]\n"
                    "output u : f16[B, S, 16]\n";
  check(text, {{"B", 2}, {"S", 35}, {"T", 90}});
}

namespace {

std::string gradient(int width, const std::string& mask, const std::string& type = "f16") {
  return fmt::format(
      "tg 1\ngraph gradient\ndim S in 1..8192\ninput q : {2}[S, {0}]\ninput k : {2}[S, {0}]\n"
      "input v : {2}[S, {0}]\ninput go : {2}[S, {0}]\ns[i, j] = 0.2 * sum[d] q[i, d] * k[j, d]\n"
      "p[i, j] = softmax[j{1}] s[i, j]\no[i, d] = sum[j] p[i, j] * v[j, d]\n"
      "loss = sum[i, d] o[i, d] * go[i, d]\ngrad loss wrt q -> dq, k -> dk, v -> dv\n"
      "output dq : {2}[S, {0}]\noutput dk : {2}[S, {0}]\noutput dv : {2}[S, {0}]\n",
      width, mask, type);
}

} // namespace

TEST_CASE("gradients of attention", "[stream]") {
  for (const char* mask : {"", " where j <= i"})
    for (int64_t s : {1, 17, 70}) check(gradient(24, mask), {{"S", s}});
}

TEST_CASE("gradients by keys and values are one kernel where their sums fit", "[stream]") {
  // Statistics, dq, and one or two for dk and dv.
  for (int width : {32, 64, 96, 128, 256}) {
    INFO(width);
    Outcome outcome = check(gradient(width, " where j <= i"), {{"S", 40}}, "sm_90a");
    CHECK(outcome.report.kernels.size() == (width <= 128 ? 3 : 4));
    CHECK(outcome.report.kernels.contains("dv") == (width > 128));
  }
}

namespace {

/// `a` and `b` share the scores, and `c` makes them worth no memory.
constexpr const char* two_sums = "tg 1\ngraph two\ndim S in 1..8192, T in 1..8192\n"
                                 "input q : f16[S, 32]\ninput k : f16[T, 32]\n"
                                 "input x : f16[S, 40]\ninput y : f16[S, 24]\n"
                                 "s[i, j] = 0.25 * sum[r] q[i, r] * k[j, r]\n"
                                 "a[j, d] = sum[i where j <= i] tanh(s[i, j]) * x[i, d]\n"
                                 "b[j, e] = sum[i where j <= i] s[i, j] * y[i, e]\n"
                                 "c[i] = sum[j where j <= i] abs(s[i, j])\n"
                                 "output a : f16[T, 40]\noutput b : f16[T, 24]\n"
                                 "output c : f32[S]\n";

} // namespace

TEST_CASE("two sums of one score in parts", "[stream]") {
  Outcome outcome = check(two_sums, {{"S", 2048}, {"T", 520}}, "sm_80", "", true);
  CHECK(outcome.report.kernels.size() == 3);
  CHECK(outcome.report.kernels.contains("a_part_a"));
}

TEST_CASE("two sums of one score, with NaN where one of them takes no part", "[stream]") {
  Compiled compiled =
      compile({two_sums, "two.tg", "sm_80", 2, {{"S", 75}, {"T", 70}}, false, "", true});
  driver::TestVectors data = data_of(compiled, 5);
  data.inputs[2].reals[33 * 40 + 17] = NAN;
  data.inputs[3].reals[50 * 24 + 5] = NAN;
  for (int64_t j = 0; j <= 33; ++j) data.outputs[0].reals[j * 40 + 17] = NAN;
  for (int64_t j = 0; j <= 50; ++j) data.outputs[1].reals[j * 24 + 5] = NAN;
  Outcome outcome = simulate(compiled, data);
  CHECK(outcome.faults == std::vector<std::string>());
  CHECK(multiplications(outcome) > 0);
  CHECK(outcome.report.kernels.size() == 2); // `c` has other rows
}

namespace {

std::string weighted(const char* type, const char* mask) {
  return fmt::format("tg 1\ngraph weighted\ndim S in 1..8192, T in 1..8192\ninput q : {0}[S, 32]\n"
                     "input k : {0}[T, 32]\ninput v : {0}[T, 40]\ninput of : i32[T] in 0..1\n"
                     "s[i, j] = 0.25 * sum[r] q[i, r] * k[j, r]\n"
                     "l[i] = sum[j where {1}] exp(s[i, j] - 3)\n"
                     "o[i, d] = sum[j where {1}] exp(s[i, j] - 3) * v[j, d]\n"
                     "output o : {0}[S, 40]\noutput l : f32[S]\n",
                     type, mask);
}

/// Gives one term, that only some rows have, a value that makes their sums NaN.
void spoil(driver::TestVectors& data, double value) {
  constexpr int64_t columns = 40;
  int64_t bad = 33;
  while (data.inputs[3].integers[bad] != 0) ++bad;
  for (int64_t d : {3, 17}) data.inputs[2].reals[bad * columns + d] = value;
  for (int64_t i = bad; i < 75; ++i)
    for (int64_t d : {3, 17}) data.outputs[0].reals[i * columns + d] = NAN;
}

} // namespace

TEST_CASE("what takes no part contributes nothing, whatever its data", "[stream]") {
  // Excluded elements have weight 0 in the product of matrices, and 0 times NaN is NaN.
  for (const char* mask : {"j <= i", "of[j] == 1 or j <= i"}) {
    Compiled compiled = compile({weighted("f16", mask),
                                 "weighted.tg",
                                 "sm_80",
                                 2,
                                 {{"S", 75}, {"T", 70}},
                                 false,
                                 "",
                                 true});
    driver::TestVectors data = data_of(compiled, 5);
    spoil(data, NAN);
    Outcome outcome = simulate(compiled, data);
    CHECK(outcome.faults == std::vector<std::string>());
    CHECK(multiplications(outcome) > 0);
  }
}

TEST_CASE("scores that are infinite or no number", "[stream]") {
  // Softmax of a row of -inf is NaN, of a row with some -inf ignores them, of one with inf is NaN.
  Attention a;
  a.more = "input column : f32[T]\ninput row : f32[S]\n";
  a.scores = "s0[b, i, j] * scale + column[j] + row[i]";
  Compiled compiled = compile(
      {a.text(), "stream.tg", "sm_80", 2, {{"B", 1}, {"S", 70}, {"T", 90}}, false, "", true});
  driver::TestVectors data = data_of(compiled, 9);
  auto& column = data.inputs[3].reals;
  auto& row = data.inputs[4].reals;
  column[0] = column[64] = -INFINITY;
  evaluate_again(compiled, data);
  CHECK(simulate(compiled, data).faults == std::vector<std::string>());
  row[3] = -INFINITY, row[40] = INFINITY, row[41] = NAN;
  evaluate_again(compiled, data);
  CHECK(simulate(compiled, data).faults == std::vector<std::string>());
  column[70] = INFINITY;
  evaluate_again(compiled, data);
  CHECK(simulate(compiled, data).faults == std::vector<std::string>());
}

TEST_CASE("few rows run in parts", "[stream]") {
  Outcome outcome = check(Attention{}.text(), {{"B", 1}, {"S", 4}, {"T", 4000}}, "sm_80", "", true);
  CHECK(outcome.report.kernels.size() == 2);
  int64_t most = 0;
  for (const auto& [name, counts] : outcome.report.kernels) most = std::max(most, counts.blocks);
  CHECK(most > 1);
}

TEST_CASE("stated tiles: one warp and several, rings of two to four stretches", "[stream]") {
  struct Tile {
    int block_m, warp_m, block_n, pipeline;
  };
  for (const Tile& t : {Tile{16, 16, 16, 2}, Tile{64, 32, 32, 3}, Tile{96, 16, 48, 4},
                        Tile{64, 64, 16, 2}, Tile{32, 32, 128, 2}}) {
    std::string schedule =
        fmt::format("steps:\n- kernel: o\n  emitter: stream\n  variants:\n  - fields: {{threads: "
                    "{}, vector: 8, "
                    "block_m: {}, block_n: {}, precision: f16, warp_m: {}, pipeline: {}}}\n",
                    32 * t.block_m / t.warp_m, t.block_m, t.block_n, t.warp_m, t.pipeline);
    Attention a;
    a.mask = "j <= i", a.width = 64;
    Outcome outcome = check(a.text(), {{"B", 1}, {"S", 100}, {"T", 150}}, "sm_80", schedule);
    CHECK(outcome.report.kernels.at("o").shared_conflicts == 0);
  }
}

namespace {

/// Of f32, with `--allow-tf32`.
Compiled compile_tf32(const std::string& text, const Sizes& sizes,
                      const std::string& target = "sm_80", const std::string& schedule = "",
                      bool bound = false) {
  return compile({text, "stream.tg", target, 2, sizes, bound, schedule, true, true});
}

Outcome check_tf32(const std::string& text, const Sizes& sizes, const std::string& target = "sm_80",
                   const std::string& schedule = "", bool bound = false) {
  INFO(text << schedule);
  Compiled compiled = compile_tf32(text, sizes, target, schedule, bound);
  Outcome outcome = simulate(compiled, data_of(compiled, 7));
  CHECK(outcome.faults == std::vector<std::string>());
  CHECK(multiplications(outcome) > 0);
  return outcome;
}

Attention of_f32(int width, const std::string& mask = "") {
  Attention a;
  a.type = "f32", a.width = width, a.mask = mask;
  return a;
}

} // namespace

TEST_CASE("attention of f32 in tf32: odd lengths and widths", "[stream][tf32]") {
  for (int64_t s : {1, 17, 129})
    for (int64_t t : {1, 17, 129}) {
      check_tf32(of_f32(64).text(), {{"B", 2}, {"S", s}, {"T", t}});
      check_tf32(of_f32(64, "j - T <= i - S").text(), {{"B", 1}, {"S", s}, {"T", t}}, "sm_90a");
    }
  for (int width : {4, 12, 40, 72, 128, 256})
    check_tf32(of_f32(width).text(), {{"B", 1}, {"S", 19}, {"T", 35}});
  Attention uneven = of_f32(48);
  uneven.depth = 20;
  check_tf32(uneven.text(), {{"B", 1}, {"S", 19}, {"T", 35}});
  Outcome wide = check_tf32(of_f32(512).text(), {{"B", 1}, {"S", 19}, {"T", 35}});
  CHECK(wide.report.kernels.at("o").blocks > 1);
  Outcome parts =
      check_tf32(of_f32(32).text(), {{"B", 1}, {"S", 4}, {"T", 4000}}, "sm_80", "", true);
  CHECK(parts.report.kernels.size() == 2);
}

TEST_CASE("attention of f32 in tf32: masks, rows without a term", "[stream][tf32]") {
  Attention window = of_f32(40, "j <= i and i - j < 20"), length = of_f32(64, "j < n[b]"),
            late = of_f32(64, "j + 3 <= i");
  length.more = "input n : i32[B] in 0..T\n";
  for (const Attention& a : {window, length, late})
    for (int64_t s : {5, 130}) check_tf32(a.text(), {{"B", 2}, {"S", s}, {"T", 70}});
}

TEST_CASE("f32 stays f32 where tf32 is not allowed", "[stream][tf32]") {
  Compiled compiled = compile({of_f32(64).text(),
                               "stream.tg",
                               "sm_80",
                               2,
                               {{"B", 1}, {"S", 17}, {"T", 35}},
                               false,
                               "",
                               true});
  Outcome outcome = simulate(compiled, data_of(compiled, 7));
  CHECK(outcome.faults == std::vector<std::string>());
  CHECK(multiplications(outcome) == 0);
}

TEST_CASE("gradients of attention of f32 in tf32", "[stream][tf32]") {
  for (const char* mask : {"", " where j <= i"})
    for (int64_t s : {1, 17, 70}) check_tf32(gradient(24, mask, "f32"), {{"S", s}});
  for (int width : {64, 128})
    check_tf32(gradient(width, " where j <= i", "f32"), {{"S", 40}}, "sm_90a");
}

TEST_CASE("what takes no part in a sum of f32 contributes nothing", "[stream][tf32]") {
  // The largest f32 is infinite in tf32.
  for (double value : {double(NAN), double(INFINITY), 0x1.fffffep127, -0x1.ffep127}) {
    INFO(value);
    Compiled compiled =
        compile_tf32(weighted("f32", "of[j] == 1 or j <= i"), {{"S", 75}, {"T", 70}});
    driver::TestVectors data = data_of(compiled, 5);
    spoil(data, value);
    Outcome outcome = simulate(compiled, data);
    CHECK(outcome.faults == std::vector<std::string>());
    CHECK(multiplications(outcome) > 0);
  }
}

TEST_CASE("stated tiles in tf32", "[stream][tf32]") {
  struct Tile {
    int block_m, warp_m, block_n, pipeline;
    bool hold_rows;
  };
  for (const Tile& t : {Tile{16, 16, 16, 2, true}, Tile{64, 32, 32, 3, false},
                        Tile{96, 16, 48, 4, true}, Tile{64, 64, 16, 2, false}}) {
    std::string schedule = fmt::format(
        "steps:\n- kernel: o\n  emitter: stream\n  variants:\n  - fields: {{threads: {}, vector: "
        "4, "
        "block_m: {}, block_n: {}, precision: tf32, warp_m: {}, pipeline: {}, hold_rows: {}}}\n",
        32 * t.block_m / t.warp_m, t.block_m, t.block_n, t.warp_m, t.pipeline, t.hold_rows);
    Outcome outcome = check_tf32(of_f32(64, "j <= i").text(), {{"B", 1}, {"S", 100}, {"T", 150}},
                                 "sm_80", schedule);
    CHECK(outcome.report.kernels.at("o").shared_conflicts == 0);
  }
}

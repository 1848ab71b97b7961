// The kernels of specs/*.spec: read, proved, run on the CPU as written and as printed, and compared
// with a plain computation of the same thing.
#include "driver/spec_file.h"
#include "interpret/formats.h"
#include "interpret/run_kernel.h"
#include "kernel/verify.h"
#include "targets/find.h"
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>

using namespace tang;
using graph::ElemType;

namespace {

using Numbers = std::vector<double>;
using Data = std::map<std::string, Numbers>;

struct Spec {
  kernel::Program written, legal; ///< as in the file; as printed for sm_80
};

Spec read(const std::string& name) {
  driver::CommonOptions common;
  Sink sink;
  SourceManager sources;
  driver::Stages stages(common, {}, "");
  auto spec = driver::read_spec(std::string(TANGC_SOURCE_DIR) + "/specs/" + name + ".spec", {},
                                sources, sink, stages);
  for (const Diagnostic& d : sink.diagnostics())
    UNSCOPED_INFO(sources.position(d.span.file, d.span.begin).line << ": " << d.message);
  REQUIRE(spec);
  driver::warn_unproved(spec->read, sink);
  for (const Diagnostic& d : sink.diagnostics()) UNSCOPED_INFO(d.message);
  CHECK(sink.diagnostics().empty());
  std::string error;
  auto target = targets::find_target("sm_80", error);
  REQUIRE(target);
  driver::CompileOptions options;
  options.targets = {*target};
  auto result = driver::compile_spec_target(*spec, *target, options, sink, stages);
  REQUIRE(result);
  CHECK(!result->source.text.empty());
  // Comments of several lines stay that.
  CHECK(result->source.text.find("<0a>") == std::string::npos);
  return {std::move(spec->read.program), result->general().program};
}

std::vector<uint8_t> stored(ElemType type, const Numbers& numbers) {
  size_t bytes = static_cast<size_t>(graph::info(type).bits) / 8;
  std::vector<uint8_t> out(numbers.size() * bytes);
  for (size_t n = 0; n < numbers.size(); ++n) {
    uint64_t bits = interpret::encode_real(type, numbers[n]);
    for (size_t b = 0; b < bytes; ++b) out[n * bytes + b] = static_cast<uint8_t>(bits >> (8 * b));
  }
  return out;
}

Numbers loaded(ElemType type, const std::vector<uint8_t>& bytes) {
  size_t size = static_cast<size_t>(graph::info(type).bits) / 8;
  Numbers out(bytes.size() / size);
  for (size_t n = 0; n < out.size(); ++n) {
    uint64_t bits = 0;
    for (size_t b = 0; b < size; ++b) bits |= uint64_t{bytes[n * size + b]} << (8 * b);
    out[n] = interpret::decode_real(type, bits);
  }
  return out;
}

/// What the arguments that are no outputs hold, as their formats keep it.
Data inputs_of(const kernel::Program& program, const std::map<std::string, int64_t>& sizes) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  Data data;
  for (kernel::BufferId id : program.arguments) {
    const kernel::Buffer& buffer = program.buffers[id.value];
    int64_t count = sizes.at(buffer.name);
    Numbers numbers(static_cast<size_t>(count));
    for (double& x : numbers)
      x = interpret::decode_real(buffer.type, interpret::encode_real(buffer.type, normal(random)));
    if (!buffer.written) data[buffer.name] = std::move(numbers);
  }
  return data;
}

/// Runs a program; its outputs are what `expected` says, within `allowed` of their largest value.
interpret::RunReport check(const kernel::Program& program, const std::vector<int64_t>& dims,
                           const Data& inputs, const Data& expected, double allowed,
                           const interpret::RunOptions& options = {}) {
  std::map<kernel::BufferId, interpret::Argument> arguments;
  for (kernel::BufferId id : program.arguments) {
    const kernel::Buffer& buffer = program.buffers[id.value];
    interpret::Argument& argument = arguments[id];
    if (!buffer.written)
      argument.given = true, argument.bytes = stored(buffer.type, inputs.at(buffer.name));
    else
      for (size_t n = 0; n < expected.at(buffer.name).size(); ++n)
        argument.wanted.push_back(static_cast<int64_t>(n));
  }
  interpret::RunReport report = interpret::run_program(program, dims, arguments, options);
  for (const interpret::Finding& finding : report.findings) FAIL_CHECK(interpret::to_text(finding));
  for (const auto& [id, argument] : arguments) {
    const kernel::Buffer& buffer = program.buffers[id.value];
    if (!buffer.written) continue;
    const Numbers &wanted = expected.at(buffer.name), got = loaded(buffer.type, argument.bytes);
    REQUIRE(got.size() == wanted.size());
    double largest = 0, worst = 0;
    for (size_t n = 0; n < got.size(); ++n) {
      largest = std::max(largest, std::fabs(wanted[n]));
      worst = std::isnan(got[n]) ? INFINITY : std::max(worst, std::fabs(got[n] - wanted[n]));
    }
    INFO(buffer.name);
    CHECK(worst <= allowed * largest);
  }
  return report;
}

void check_both(const Spec& spec, const std::vector<int64_t>& dims, const Data& inputs,
                const Data& expected, double allowed) {
  check(spec.written, dims, inputs, expected, allowed);
  check(spec.legal, dims, inputs, expected, allowed);
}

/// Both ways to run a program whose launch has two variants, which fit all sizes; in neither do
/// lanes wait for each other's banks.
void check_variants(const Spec& spec, const std::vector<int64_t>& dims, const Data& inputs,
                    const Data& expected, double allowed) {
  for (const kernel::Program* program : {&spec.written, &spec.legal})
    for (size_t variant : {size_t{0}, size_t{1}}) {
      INFO("variant " << variant);
      interpret::RunOptions options;
      options.only_variant = variant;
      auto report = check(*program, dims, inputs, expected, allowed, options);
      REQUIRE(report.kernels.size() == 1);
      const auto& [name, counts] = *report.kernels.begin();
      CHECK(name == program->kernels[variant].name);
      CHECK(counts.shared_passes > 0);
      CHECK(counts.shared_conflicts == 0);
    }
}

Numbers product(const Numbers& a, const Numbers& b, size_t m, size_t n, size_t k) {
  Numbers c(m * n);
  for (size_t i = 0; i < m; ++i)
    for (size_t l = 0; l < k; ++l)
      for (size_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + l] * b[l * n + j];
  return c;
}

/// bf16 keeps 8 bits.
constexpr double bf16_rounding = 1.0 / 256, f16_rounding = 1.0 / 2048;

} // namespace

TEST_CASE("gemm.spec multiplies", "[specs]") {
  Spec spec = read("gemm");
  // Whole tiles and parts of them; fewer stages than the ring has, and more.
  const std::array<int64_t, 3> cases[] = {{64, 128, 64}, {1, 8, 8}, {70, 136, 328}};
  for (const auto& [m, n, k] : cases) {
    INFO(m << " x " << n << " x " << k);
    Data in = inputs_of(spec.written, {{"a", m * k}, {"b", k * n}, {"c", 0}});
    Numbers c = product(in["a"], in["b"], size_t(m), size_t(n), size_t(k));
    check_both(spec, {m, n, k}, in, {{"c", c}}, bf16_rounding);
  }
}

TEST_CASE("gemm_bias_relu.spec adds a row and takes the positive part", "[specs]") {
  Spec spec = read("gemm_bias_relu");
  int64_t m = 65, n = 144, k = 72;
  Data in = inputs_of(spec.written, {{"a", m * k}, {"b", k * n}, {"bias", n}, {"c", 0}});
  Numbers c = product(in["a"], in["b"], size_t(m), size_t(n), size_t(k));
  for (size_t at = 0; at < c.size(); ++at)
    c[at] = std::max(c[at] + in["bias"][at % size_t(n)], 0.0);
  check_both(spec, {m, n, k}, in, {{"c", c}}, bf16_rounding);
}

TEST_CASE("layer_norm.spec normalises rows", "[specs]") {
  Spec spec = read("layer_norm");
  const std::array<int64_t, 2> cases[] = {{5, 8}, {3, 264}, {4, 1024}};
  for (const auto& [m, n] : cases) {
    INFO(m << " x " << n);
    Data in = inputs_of(spec.written, {{"x", m * n}, {"w", n}, {"b", n}, {"y", 0}});
    Numbers y(in["x"].size());
    for (size_t i = 0; i < size_t(m); ++i) {
      const double* x = &in["x"][i * size_t(n)];
      double mean = 0, variance = 0;
      for (size_t j = 0; j < size_t(n); ++j) mean += x[j] / double(n);
      for (size_t j = 0; j < size_t(n); ++j) variance += (x[j] - mean) * (x[j] - mean) / double(n);
      for (size_t j = 0; j < size_t(n); ++j)
        y[i * size_t(n) + j] = (x[j] - mean) / std::sqrt(variance + 1e-5) * in["w"][j] + in["b"][j];
    }
    check_both(spec, {m, n}, in, {{"y", y}}, bf16_rounding);
  }
}

TEST_CASE("attention.spec weighs values by softmax", "[specs]") {
  Spec spec = read("attention");
  const std::array<int64_t, 4> cases[] = {{1, 2, 128, 64}, {2, 1, 5, 3}, {1, 1, 131, 200}};
  for (const auto& sizes : cases) {
    const int64_t batch = sizes[0], heads = sizes[1], rows = sizes[2], keys = sizes[3];
    INFO(batch << " x " << heads << " heads, " << rows << " rows, " << keys << " keys");
    int64_t d = 64;
    Data in = inputs_of(spec.written, {{"q", batch * rows * heads * d},
                                       {"k", batch * keys * heads * d},
                                       {"v", batch * keys * heads * d},
                                       {"o", 0}});
    const Numbers &q = in["q"], &k = in["k"], &v = in["v"];
    Numbers o(q.size()), weight(static_cast<size_t>(keys));
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < rows; ++i) {
          auto at = [&](int64_t row, int64_t count) {
            return static_cast<size_t>(((b * count + row) * heads + h) * d);
          };
          double largest = -INFINITY, total = 0;
          for (int64_t j = 0; j < keys; ++j) {
            double score = 0;
            for (size_t e = 0; e < size_t(d); ++e) score += q[at(i, rows) + e] * k[at(j, keys) + e];
            weight[size_t(j)] = score / 8;
            largest = std::max(largest, score / 8);
          }
          for (double& w : weight) total += w = std::exp(w - largest);
          for (int64_t j = 0; j < keys; ++j)
            for (size_t e = 0; e < size_t(d); ++e)
              o[at(i, rows) + e] += weight[size_t(j)] / total * v[at(j, keys) + e];
        }
    check_both(spec, {batch, heads, rows, keys}, in, {{"o", o}}, 2 * f16_rounding);
  }
}

TEST_CASE("mlp.spec takes rows through layers", "[specs]") {
  Spec spec = read("mlp");
  // A row alone, parts of a block's rows, more than a block; fewer layers than the ring has stages,
  // and more.
  const std::array<int64_t, 2> cases[] = {{1, 1}, {17, 3}, {129, 2}, {64, 5}};
  for (const auto& [m, layers] : cases) {
    INFO(m << " rows, " << layers << " layers");
    Data in = inputs_of(spec.written,
                        {{"x", m * 128}, {"w", layers * 128 * 128}, {"b", layers * 128}, {"y", 0}});
    // So that rows keep their size: 128 terms of which half are 0.
    for (double& weight : in["w"]) weight /= 8;
    Numbers y = in["x"];
    for (size_t layer = 0; layer < size_t(layers); ++layer) {
      Numbers transposed(128 * 128);
      for (size_t k = 0; k < 128; ++k)
        for (size_t j = 0; j < 128; ++j)
          transposed[k * 128 + j] = in["w"][(layer * 128 + j) * 128 + k];
      y = product(y, transposed, size_t(m), 128, 128);
      for (size_t at = 0; at < y.size(); ++at)
        y[at] = std::max(y[at] + in["b"][layer * 128 + at % 128], 0.0);
    }
    check_variants(spec, {m, layers}, in, {{"y", y}}, double(layers) * f16_rounding);
  }
}

TEST_CASE("lstm.spec makes a step", "[specs]") {
  Spec spec = read("lstm");
  // Whole tiles and parts of them; fewer stages than the ring has, and more, of either part.
  const std::array<int64_t, 3> cases[] = {{1, 8, 8}, {17, 520, 24}, {129, 40, 40}, {64, 128, 32}};
  for (const auto& [batch, inputs, hidden] : cases) {
    INFO(batch << " rows, " << inputs << " inputs, " << hidden << " hidden");
    const auto rows = size_t(batch), from_x = size_t(inputs), from_h = size_t(hidden);
    Data in = inputs_of(spec.written, {{"x", batch * inputs},
                                       {"h", batch * hidden},
                                       {"c", batch * hidden},
                                       {"wx", 4 * hidden * inputs},
                                       {"wh", 4 * hidden * hidden},
                                       {"b", 4 * hidden},
                                       {"h1", 0},
                                       {"c1", 0}});
    // So that gates are neither open nor shut.
    for (const char* name : {"wx", "wh"})
      for (double& weight : in[name]) weight /= 8;
    Numbers h1(rows * from_h), c1(rows * from_h);
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < from_h; ++j) {
        std::array<double, 4> z{};
        for (size_t g = 0; g < 4; ++g) {
          size_t row = g * from_h + j;
          z[g] = in["b"][row];
          for (size_t k = 0; k < from_x; ++k)
            z[g] += in["x"][i * from_x + k] * in["wx"][row * from_x + k];
          for (size_t k = 0; k < from_h; ++k)
            z[g] += in["h"][i * from_h + k] * in["wh"][row * from_h + k];
        }
        auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
        size_t at = i * from_h + j;
        c1[at] = sigmoid(z[1]) * in["c"][at] + sigmoid(z[0]) * std::tanh(z[2]);
        h1[at] = sigmoid(z[3]) * std::tanh(c1[at]);
      }
    check_variants(spec, {batch, inputs, hidden}, in, {{"h1", h1}, {"c1", c1}}, 2 * f16_rounding);
  }
}

TEST_CASE("a file is read back as it was written", "[specs]") {
  for (const char* name : {"gemm", "gemm_bias_relu", "layer_norm", "attention", "mlp", "lstm"}) {
    INFO(name);
    driver::CommonOptions common;
    Sink sink;
    SourceManager sources;
    driver::Stages stages(common, {}, "");
    std::string path = std::string(TANGC_SOURCE_DIR) + "/specs/" + name + ".spec";
    auto spec = driver::read_spec(path, {}, sources, sink, stages);
    REQUIRE(spec);
    std::string text = kernel::to_text(spec->read.program);
    auto again = parse::spec::read_program(sources, sources.add("again.spec", text), {}, sink);
    REQUIRE(again);
    CHECK(kernel::to_text(again->program) == text);
    // The files are in the form that `tangc fmt` gives them.
    CHECK(parse::spec::format(sources, FileId(0), sink) == sources.file(FileId(0)).text);
  }
}

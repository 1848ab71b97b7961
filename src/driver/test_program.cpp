#include "driver/test_program.h"
#include "base/check.h"
#include "driver/storage.h"
#include "interpret/extents.h"
#include "interpret/random.h"
#include "print/declarations.h"
#include "print/prelude.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace tang::driver {

namespace {

using graph::ElemType;
using graph::TensorId;
using interpret::Array;

constexpr int64_t most_elements = 1 << 20;

std::string real_text(double value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value < 0 ? "-INFINITY" : "INFINITY";
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

std::string integer_text(int64_t value) {
  if (value == std::numeric_limits<int64_t>::min()) return "INT64_MIN";
  return value == static_cast<int32_t>(value) ? fmt::format("{}", value)
                                              : fmt::format("INT64_C({})", value);
}

/// `static const TYPE name[] = {...};` with at most 16 entries a line; an empty array has one
/// entry.
template <class F>
std::string table(std::string_view type, const std::string& name, int64_t count, const F& entry) {
  std::string text = fmt::format("static const {} {}[] = {{", type, name);
  for (int64_t i = 0; i < count; ++i)
    text += fmt::format("{}{}{}", i ? "," : "", i % 16 ? " " : "\n  ", entry(i));
  return text + (count ? "\n};\n" : "0};\n");
}

} // namespace

double format_tolerance(const graph::Tensor& tensor) {
  double least = 1e-5;
  switch (tensor.type) {
  case ElemType::f64: least = 1e-12; break;
  case ElemType::f16: least = 1.0 / 1024; break;
  case ElemType::bf16: least = 1.0 / 128; break;
  case ElemType::f8e4m3:
  case ElemType::f8e5m2: least = 0.25; break;
  default: break;
  }
  return std::max(least, tensor.budget_rel.value_or(0));
}

namespace {

/// By how much of the largest value two results differ; a power of two, so that the last bits of a
/// machine's functions do not show.
double deviation(const Array& exact, const Array& rounded) {
  if (exact.scalar != graph::Scalar::real) return 0;
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < exact.size(); ++i) {
    double a = exact.as_real(i), b = rounded.as_real(i);
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    largest = std::max(largest, std::abs(a)), difference = std::max(difference, std::abs(a - b));
  }
  return difference > 0 ? std::exp2(std::ceil(std::log2(difference / largest))) : 0;
}

/// One argument of the call: data given, data expected, or both (`over`).
struct Field {
  std::string name;
  TensorId given, wanted;
  size_t input = 0, output = 0; ///< their positions
};

std::vector<Field> fields_of(const TargetResult& result) {
  const graph::Graph& graph = result.general().graph;
  const kernel::Program& program = result.general().program;
  print::PublicNames names = print::public_names(program, graph);
  std::vector<Field> fields;
  for (kernel::BufferId id : names.fields) {
    TensorId tensor = program.buffers[id.value].tensor;
    Field field{names.buffers[id.value], {}, {}};
    for (size_t i = 0; i < graph.inputs.size(); ++i)
      if (graph.inputs[i] == tensor) field.given = tensor, field.input = i;
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      TensorId out = graph.outputs[i];
      if (out == tensor || (graph[out].over && graph[out].over == tensor))
        field.wanted = out, field.output = i;
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

/// One call of the code and the comparison of what it wrote.
class Call {
public:
  Call(const TargetResult& result, const print::PrintOptions& options, const TestVectors& vectors,
       size_t number, std::set<std::string>& helpers)
      : result_(result), graph_(result.general().graph), options_(options), vectors_(vectors),
        number_(number), helpers_(helpers), fields_(fields_of(result)) {}

  std::string function() const { return fmt::format("test_{}", number_); }

  std::string text() {
    std::string tables, body;
    for (size_t i = 0; i < fields_.size(); ++i) {
      tables += data_of(fields_[i], i);
      body += open_field(fields_[i], i);
    }
    body += call();
    body += "  if (!wrong) {\n";
    for (size_t i = 0; i < fields_.size(); ++i)
      if (fields_[i].wanted) body += check_field(fields_[i], i);
    body += "  }\n";
    std::string sizes = sizes_text();
    if (!sizes.empty())
      body += fmt::format("  if (wrong) printf(\"with {}\\n\");\n", print::string_text(sizes));
    for (size_t i = 0; i < fields_.size(); ++i)
      body += fmt::format("  tg_test_free(buffer_{});\n", i);
    body += "  tg_test_free(workspace);\n";
    return fmt::format("{}\nstatic int {}(int tells) {{\n  (void)tells;\n{}  return wrong;\n}}\n",
                       tables, function(), body);
  }

private:
  std::string sizes_text() const {
    std::string text;
    for (size_t d = 0; d < vectors_.dims.size(); ++d)
      text += fmt::format("{}{} = {}", d ? ", " : "", graph_.dims[d].name, vectors_.dims[d]);
    return text;
  }

  std::string given(size_t i) const { return fmt::format("given_{}_{}", number_, i); }
  std::string wanted(size_t i) const { return fmt::format("wanted_{}_{}", number_, i); }

  /// Where the elements of a strided output lie.
  std::string places(size_t i) const { return fmt::format("places_{}_{}", number_, i); }
  bool is_strided(const Field& field) const { return !graph_[field.wanted].strides.empty(); }

  std::string data_of(const Field& field, size_t i) {
    std::string text;
    if (field.given) {
      std::vector<uint8_t> bytes =
          stored_bytes(graph_, field.given, vectors_.inputs[field.input], vectors_.dims);
      text += table("unsigned char", given(i), static_cast<int64_t>(bytes.size()),
                    [&](int64_t n) { return fmt::format("{}", bytes[static_cast<size_t>(n)]); });
    }
    if (!field.wanted) return text;
    if (is_strided(field)) {
      std::vector<int64_t> offsets = element_offsets(graph_, field.wanted, vectors_.dims);
      text += table("int64_t", places(i), static_cast<int64_t>(offsets.size()),
                    [&](int64_t n) { return integer_text(offsets[static_cast<size_t>(n)]); });
    }
    const Array& array = vectors_.outputs[field.output];
    if (array.scalar == graph::Scalar::real)
      return text + table("double", wanted(i), array.size(), [&](int64_t n) {
               return real_text(array.reals[static_cast<size_t>(n)]);
             });
    return text + table("int64_t", wanted(i), array.size(), [&](int64_t n) {
             return integer_text(array.integers[static_cast<size_t>(n)]);
           });
  }

  /// The storage of an argument in bytes.
  int64_t bytes_of(const Field& field) const {
    TensorId id = field.given ? field.given : field.wanted;
    return storage_bytes(graph_, id, vectors_.dims);
  }

  std::string open_field(const Field& field, size_t i) {
    helpers_.insert({"tg_test_alloc", "tg_test_upload"});
    std::string text = fmt::format("  void *buffer_{} = tg_test_alloc({});\n", i, bytes_of(field));
    if (field.given)
      text += fmt::format("  tg_test_upload(buffer_{}, {}, {});\n", i, given(i), bytes_of(field));
    return text;
  }

  std::string call() {
    helpers_.insert({"tg_test_open", "tg_test_finish", "tg_test_alloc", "tg_test_free"});
    std::string prefix = print::symbol_prefix(options_.prefix);
    std::string symbol = prefix + "_" + print::symbol_part(result_.target->name);
    std::string dims, arguments;
    for (int64_t value : vectors_.dims) dims += (dims.empty() ? "" : ", ") + integer_text(value);
    for (size_t i = 0; i < fields_.size(); ++i)
      arguments += fmt::format("  args.{} = buffer_{};\n", fields_[i].name, i);
    return fmt::format("  const {}_dims dims = {{{}}};\n  {}_args args;\n", prefix,
                       dims.empty() ? "0" : dims, prefix) +
           arguments +
           fmt::format("  const size_t bytes = {0}_workspace_bytes(&dims);\n"
                       "  void *workspace = tg_test_alloc(bytes);\n"
                       "  const tg_status status = {0}_run(&args, &dims, workspace, bytes, {1});\n"
                       "  if (status != TG_OK) printf(\"the launcher returned: %s\\n\", "
                       "tg_status_string(status));\n"
                       "  int wrong = status != TG_OK || !tg_test_finish();\n",
                       symbol, host_file_of(*result_.target) ? "&tg_session" : "NULL");
  }

  std::string check_field(const Field& field, size_t i) {
    const graph::Tensor& tensor = graph_[field.wanted];
    const Array& array = vectors_.outputs[field.output];
    bool real = array.scalar == graph::Scalar::real;
    std::string reader = fmt::format("tg_test_{}", graph::info(tensor.type).name);
    std::string check = real ? "tg_test_reals" : "tg_test_integers";
    helpers_.insert({"tg_test_download", "tg_test_drop", reader, check});
    std::string name = print::string_text(tensor.name);
    std::string text = fmt::format("    const unsigned char *got_{0} = (const unsigned char "
                                   "*)tg_test_download(buffer_{0}, {1});\n",
                                   i, bytes_of(field));
    text += fmt::format("    wrong += {}(\"{}\", {}, got_{}, {}, {}, {}{});\n", check, name, reader,
                        i, is_strided(field) ? places(i) : "NULL", wanted(i), array.size(),
                        real ? fmt::format(", {}, tells", vectors_.tolerances[field.output]) : "");
    return text + fmt::format("    tg_test_drop(got_{});\n", i);
  }

  const TargetResult& result_;
  const graph::Graph& graph_;
  const print::PrintOptions& options_;
  const TestVectors& vectors_;
  size_t number_;
  std::set<std::string>& helpers_;
  std::vector<Field> fields_;
};

} // namespace

Rounding rounding_of(const Input& input, const CompileOptions& options) {
  bool units = std::any_of(options.targets.begin(), options.targets.end(), [](const auto& spec) {
    return spec.target->has(targets::Feature::hardware_grid);
  });
  return {options.native_operands && units, may_use_tf32(input, options)};
}

std::optional<TestVectors> make_test_vectors(const graph::Graph& graph, std::vector<int64_t> dims,
                                             uint64_t seed, const Rounding& rounding, Sink& sink) {
  TestVectors vectors;
  vectors.dims = std::move(dims);
  int64_t total = 0;
  auto shape_of = [&](TensorId id) -> std::optional<std::vector<int64_t>> {
    auto shape = interpret::shape_of(graph, id, vectors.dims);
    auto count = shape ? interpret::element_count(*shape) : std::nullopt;
    auto stored = count ? storage_elements(graph, id, vectors.dims) : std::nullopt;
    int64_t most = stored ? std::max(*count, *stored) : most_elements + 1;
    if (most <= most_elements && (total += most) <= most_elements) return shape;
    sink.report(Kind::array_too_large, graph[id].span,
                "`{}` is too large for a test program, which holds {} elements in all",
                graph[id].name, most_elements);
    return std::nullopt;
  };
  for (TensorId id : graph.outputs)
    if (!shape_of(id)) return std::nullopt;
  interpret::Values inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    TensorId id = graph.inputs[i];
    auto shape = shape_of(id);
    if (!shape) return std::nullopt;
    inputs[id] =
        interpret::random_array(interpret::tensor_at(graph, id, vectors.dims), *shape, seed, i);
    share_values(graph, id, vectors.dims, inputs[id]);
    vectors.inputs.push_back(inputs[id]);
  }
  // Generated code keeps intermediates as `store` and `accumulate` lines say.
  interpret::EvalOptions as_stored;
  as_stored.operand_rule = false;
  as_stored.emulate = std::any_of(graph.tensors.begin(), graph.tensors.end(), [](const auto& t) {
    return t.store_given || t.accumulate.has_value();
  });
  as_stored.unrounded_outputs = true;
  auto exact = interpret::evaluate(graph, inputs, vectors.dims, as_stored, sink);
  as_stored.emulate = as_stored.round_operations = true;
  as_stored.operand_rule = rounding.operands;
  auto rounded = interpret::evaluate(graph, inputs, vectors.dims, as_stored, sink);
  if (!exact || !rounded) return std::nullopt;
  for (TensorId id : graph.outputs) {
    double open = 4 * deviation(exact->at(id), rounded->at(id));
    if (rounding.tf32) open = std::max(open, 1.0 / 512);
    vectors.tolerances.push_back(std::max(format_tolerance(graph[id]), open));
    auto stored = interpret::stored_as(graph[id].type, std::move(exact->at(id)));
    TANG_CHECK(stored, "`{}` does not fit its format", graph[id].name);
    vectors.outputs.push_back(std::move(*stored));
  }
  return vectors;
}

namespace {

/// What a program says around its calls where the launcher has a session.
struct Opening {
  std::string variable, open, close;
};

Opening opening(const print::PrintOptions& options, const targets::Target& target,
                std::set<std::string>& helpers) {
  helpers.insert({"tg_test_start", "tg_test_explain"});
  std::string symbol = print::symbol_prefix(options.prefix) + "_" + print::symbol_part(target.name);
  return {fmt::format("static {}_session tg_session;\n\n", symbol),
          fmt::format("  const tg_status opened = tg_test_start({}_open, &tg_session);\n"
                      "  if (opened != TG_OK) {{\n"
                      "    const int able = opened != TG_E_UNSUPPORTED;\n"
                      "    printf(\"%s: %s\\n\", able ? \"the session did not open\" : "
                      "\"skipped: the device cannot run these kernels\",\n"
                      "           tg_status_string(opened));\n"
                      "    tg_test_explain(&tg_session);\n"
                      "    return able ? 1 : 77;\n  }}\n",
                      symbol),
          fmt::format("  {}_close(&tg_session);\n", symbol)};
}

} // namespace

std::string test_program_text(const Input& input, const TargetResult& result,
                              const CompileOptions& options, std::span<const TestVectors> calls) {
  print::PrintOptions print = print_options(input, options, *result.target);
  std::set<std::string> helpers{"tg_test_open"};
  std::string functions, body;
  for (size_t i = 0; i < calls.size(); ++i) {
    Call call(result, print, calls[i], i + 1, helpers);
    functions += call.text() + "\n";
    body += fmt::format("  wrong += {}(argc > 1);\n", call.function());
  }
  std::string device = "test_" + result.target->dialect + ".h";
  std::string_view files[] = {"test_common.h", device};
  const print::HostFile* host = host_file_of(*result.target);
  Opening session;
  if (host) session = opening(print, *result.target, helpers);
  std::string includes;
  for (std::string_view line : host ? host->includes : std::span<const std::string_view>())
    includes.append(line) += '\n';
  return print::head_comment(print, fmt::format("test of {} for {}",
                                                print::comment_text(result.general().program.name),
                                                result.target->name)) +
         includes +
         fmt::format("#include \"{}.h\"\n\n#include <math.h>\n#include <stdint.h>\n#include "
                     "<stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n",
                     input.stem) +
         print::prelude(files, helpers, "static") + "\n" + session.variable + functions +
         "int main(int argc, char **argv) {\n  (void)argc;\n  (void)argv;\n  if (!tg_test_open()) "
         "{\n"
         "    printf(\"skipped: no device\\n\");\n    return 77;\n  }\n" +
         session.open + "  int wrong = 0;\n" + body + session.close + "  return wrong != 0;\n}\n";
}

} // namespace tang::driver

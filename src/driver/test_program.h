#pragma once
// A self-checking program for generated code: data in, expectations from the interpreter.
#include "driver/pipeline.h"
#include "interpret/eval.h"

namespace tang::driver {

/// Data for one call and what must come out, in the order of the graph's inputs and outputs, which
/// no law changes.
struct TestVectors {
  std::vector<int64_t> dims;
  std::vector<interpret::Array> inputs, outputs;
  /// By how much of its largest value an output may differ (reals): what its format leaves open,
  /// and four times what computing in f32 instead of f64 changes for these inputs.
  std::vector<double> tolerances;
};

/// What the format and the budget of an output leave open, whatever the inputs.
double format_tolerance(const graph::Tensor& tensor);

/// Small values of the dims at which the launcher takes the variant of a number; empty where none
/// was found.
std::optional<std::vector<int64_t>> sizes_for_variant(std::span<const graph::Graph> variants,
                                                      size_t number);

/// What the code of some target may do to factors of products: round computed ones to the format of
/// the other (language.md 5, operand rule), take f32 as tf32.
struct Rounding {
  bool operands = false, tf32 = false;
};
Rounding rounding_of(const Input& input, const CompileOptions& options);

/// Random inputs at these values of the dims, and the interpreter's outputs. Reports what stands in
/// the way, such as tensors too large for a source file. Tolerances allow what `rounding` changes.
std::optional<TestVectors> make_test_vectors(const graph::Graph& graph, std::vector<int64_t> dims,
                                             uint64_t seed, const Rounding& rounding, Sink& sink);

/// `<stem>.<target>.test.<ext>`: for each of `calls`, buffers full of NaN bytes, one call, a line
/// for each output that is not what it must be. It exits with 0, with 1 on a difference, and with
/// 77 and the reason without a device that can run it. With any argument it also says how near
/// reals came.
std::string test_program_text(const Input& input, const TargetResult& result,
                              const CompileOptions& options, std::span<const TestVectors> calls);

} // namespace tang::driver

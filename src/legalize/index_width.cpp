// 32-bit address arithmetic where the launcher can see that it suffices, 64-bit beyond: decided per
// variant from bounds over the dims (index_bound.h). Where the declared ranges of the dims decide,
// there is one width; else a variant becomes two, the 32-bit one under a condition. Both launch the
// same kernel until `type_indices`, so that everything between is done once for both.
#include "legalize/index_bound.h"
#include "legalize/passes.h"
#include <map>

namespace tang::legalize {

using namespace kernel;

namespace {

constexpr int64_t greatest = 2147483647;

/// A boolean host value: all bounds fit. Folds to a literal where the ranges of the dims decide.
ValueId fits(ValueStore& host, const std::vector<graph::Polynomial>& bounds) {
  ValueId condition = host.boolean(true);
  for (const graph::Polynomial& bound : bounds)
    condition = host.both(
        condition, host.binary(Op::le, saturated(host, bound), host.integer(greatest, Type::i64)));
  return condition;
}

class Widths {
public:
  Widths(Program& program, const Capabilities& capabilities, const Options& options)
      : program_(program), capabilities_(capabilities), options_(options) {}

  std::vector<Variant> choose(const Variant& variant) {
    bool narrow = options_.index_bits == IndexBits::narrow || !capabilities_.int64;
    bool wide = options_.index_bits == IndexBits::wide ||
                (options_.index_bits == IndexBits::automatic && !capabilities_.narrow_index);
    if (wide && capabilities_.int64) return {with(variant, 64, {})};
    ValueId condition = narrow_condition(variant, narrow);
    if (!condition) return {with(variant, 64, {})};
    if (program_.values.as_boolean(condition) == true) return {with(variant, 32, {})};
    if (narrow) return {with(variant, 32, condition)};
    if (program_.values.as_boolean(condition) == false) return {with(variant, 64, {})};
    return {with(variant, 32, condition), with(variant, 64, {})};
  }

private:
  /// Empty when nothing the launcher knows would do. Equal layers ask the same question.
  ValueId narrow_condition(const Variant& variant, bool forced) {
    auto [at, fresh] = known_.try_emplace(question(variant));
    if (fresh) at->second = find_condition(variant, forced);
    return at->second;
  }

  /// All that the bounds of a launch depend on.
  std::vector<uint32_t> question(const Variant& variant) const {
    std::vector<uint32_t> key{variant.kernel.value};
    for (ValueId scalar : variant.scalars) key.push_back(scalar.value);
    for (ValueId extent : variant.blocks) key.push_back(extent.value);
    for (const Binding& binding : variant.bindings)
      key.push_back(program_.buffers[binding.buffer.value].elements.value);
    return key;
  }

  ValueId find_condition(const Variant& variant, bool forced) {
    IndexBounds bounds(program_, program_.kernels[variant.kernel.value], variant);
    if (auto all = bounds.all()) return fits(program_.values, *all);
    if (!forced) return {};
    // Data decides some address, so the sizes of the buffers must do.
    ValueStore& host = program_.values;
    ValueId condition = host.boolean(true);
    for (const Binding& binding : variant.bindings)
      condition =
          host.both(condition, host.binary(Op::le, program_.buffers[binding.buffer.value].elements,
                                           host.integer(greatest, Type::i64)));
    return condition;
  }

  Variant with(const Variant& variant, int bits, ValueId condition) {
    Variant result = variant;
    result.index_bits = bits;
    result.condition =
        condition ? program_.values.both(variant.condition, condition) : variant.condition;
    return result;
  }

  Program& program_;
  const Capabilities& capabilities_;
  const Options& options_;
  std::map<std::vector<uint32_t>, ValueId> known_; ///< conditions by question
};

} // namespace

void index_width(Program& program, const Capabilities& capabilities, const Options& options) {
  Widths widths(program, capabilities, options);
  for_each_dispatch(program.steps, [&](Dispatch& dispatch) {
    std::vector<Variant> chosen;
    for (const Variant& variant : dispatch.variants) {
      // Behind one that always fits, none is reached.
      if (!chosen.empty() && !chosen.back().condition) break;
      for (Variant& v : widths.choose(variant)) chosen.push_back(std::move(v));
    }
    dispatch.variants = std::move(chosen);
  });
}

} // namespace tang::legalize

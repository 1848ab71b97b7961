// 32-bit address arithmetic where the launcher can see that it suffices, 64-bit beyond: decided per
// variant from bounds over the dims (index_bound.h). Where the declared ranges of the dims decide,
// there is one kernel; else a variant becomes two, the 32-bit one under a condition.
#include "base/check.h"
#include "legalize/index_bound.h"
#include "legalize/passes.h"
#include <map>
#include <set>

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
      : program_(program), capabilities_(capabilities), options_(options),
        old_(std::move(program.kernels)) {
    for (const Kernel& kernel : old_) names_.insert(kernel.name);
    program.kernels.clear();
  }

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
  /// Empty when nothing the launcher knows would do.
  ValueId narrow_condition(const Variant& variant, bool forced) {
    IndexBounds bounds(program_, old_[variant.kernel.value], variant);
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
    auto [at, fresh] = made_.try_emplace({variant.kernel, bits});
    if (fresh) {
      Kernel kernel = old_[variant.kernel.value];
      kernel.index_bits = bits;
      if (made_.contains({variant.kernel, bits == 64 ? 32 : 64}))
        kernel.name = unique(kernel.name + "_wide");
      at->second = KernelId(static_cast<uint32_t>(program_.kernels.size()));
      program_.kernels.push_back(std::move(kernel));
    }
    result.kernel = at->second;
    result.condition =
        condition ? program_.values.both(variant.condition, condition) : variant.condition;
    return result;
  }

  std::string unique(const std::string& wish) {
    std::string name = wish;
    for (int n = 2; !names_.insert(name).second; ++n) name = fmt::format("{}_{}", wish, n);
    return name;
  }

  Program& program_;
  const Capabilities& capabilities_;
  const Options& options_;
  std::vector<Kernel> old_;
  std::map<std::pair<KernelId, int>, KernelId> made_;
  std::set<std::string> names_;
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

// 32-bit address arithmetic where the launcher can see that it suffices, 64-bit beyond: decided per
// variant from bounds over the dims (index_bound.h). Where the declared ranges of the dims decide,
// with what the variant's own condition says of them, there is one width; else a variant becomes
// two, the 32-bit one under a condition. Both launch the same kernel until `type_indices`, so that
// everything between is done once for both. A variant that the schedule made for 32 bits only stays
// one: larger tensors take one of those behind it.
#include "base/checked.h"
#include "kernel/linear.h"
#include "legalize/index_bound.h"
#include "legalize/passes.h"
#include <algorithm>
#include <map>

namespace tang::legalize {

using namespace kernel;

namespace {

constexpr int64_t greatest = 2147483647;

/// What a condition says that host values do not exceed.
std::unordered_map<ValueId, int64_t> limits(const ValueStore& host, ValueId condition) {
  std::unordered_map<ValueId, int64_t> found;
  std::vector<ValueId> open;
  if (condition) open.push_back(condition);
  while (!open.empty()) {
    const Value& v = host[open.back()];
    open.pop_back();
    if (v.form != Form::operation) continue;
    if (v.op == Op::logical_and) {
      open.insert(open.end(), v.operands.begin(), v.operands.end());
    } else if (auto most = v.op == Op::le ? host.as_integer(v.operands[1]) : std::nullopt) {
      auto [at, fresh] = found.try_emplace(v.operands[0], *most);
      if (!fresh) at->second = std::min(at->second, *most);
    }
  }
  return found;
}

/// Whether a bound, whose coefficients and atoms are not negative, fits whatever the dims are.
bool always_fits(const ValueStore& host, const graph::Polynomial& bound,
                 const std::unordered_map<ValueId, int64_t>& limits) {
  std::optional<int64_t> total = 0;
  for (const auto& [atoms, coefficient] : bound.terms()) {
    std::optional<int64_t> product = coefficient;
    for (graph::ExprId atom : atoms) {
      int64_t most = host.range(value_of(atom)).hi;
      if (auto at = limits.find(value_of(atom)); at != limits.end())
        most = std::min(most, at->second);
      product = product ? checked_mul(*product, most) : product;
    }
    total = total && product ? checked_add(*total, *product) : std::nullopt;
  }
  return total && *total <= greatest;
}

/// A boolean host value: all bounds fit. Folds to a literal where the ranges of the dims decide.
ValueId fits(ValueStore& host, const std::vector<graph::Polynomial>& bounds, ValueId given) {
  ValueId condition = host.boolean(true);
  auto known = limits(host, given);
  for (const graph::Polynomial& bound : bounds)
    if (!always_fits(host, bound, known))
      condition = host.both(condition, host.binary(Op::le, saturated(host, bound),
                                                   host.integer(greatest, Type::i64)));
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
    bool both = variant.index_bits != 32;
    ValueId condition = narrow_condition(variant, narrow);
    auto decided = condition ? program_.values.as_boolean(condition) : std::optional(false);
    if (decided == true) return {with(variant, 32, {})};
    std::vector<Variant> chosen;
    if (decided != false || narrow) chosen.push_back(with(variant, 32, condition));
    if (both && !narrow) chosen.push_back(with(variant, 64, {}));
    return chosen;
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
    key.push_back(variant.condition.value);
    return key;
  }

  ValueId find_condition(const Variant& variant, bool forced) {
    IndexBounds bounds(program_, program_.kernels[variant.kernel.value], variant);
    if (auto all = bounds.all()) return fits(program_.values, *all, variant.condition);
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

#include "base/check.h"
#include "driver/layout/call.h"

namespace tang::driver {

using namespace layout;

namespace {

class Evaluator {
public:
  explicit Evaluator(Sink& sink) : sink_(sink) {}

  bool run(const ExpressionStep& step) {
    return std::visit(
        Overload{[&](const PushValue& s) { return push(s.value, step.span); },
                 [&](const CallFunction& s) { return call(s, step.span); },
                 [&](const ComposeTwo&) { return apply(compose_values, 2, step.span); },
                 [&](const AddTwo&) { return apply(add, 2, step.span); },
                 [&](const MakeTiler& s) { return make_tiler(s, step.span); }},
        step.action);
  }
  LayoutValue result() { return std::move(values_.at(0)); }

private:
  bool push(LayoutValue value, Span span) {
    values_.push_back(std::move(value));
    spans_.push_back(span);
    return true;
  }

  bool call(const CallFunction& step, Span span) {
    const LayoutFunction* function = layout_function_named(step.name);
    if (!function) {
      std::vector<std::string> names;
      for (const LayoutFunction& f : layout_functions()) names.emplace_back(f.name);
      auto& diagnostic =
          sink_.report(Kind::layout_call, step.name_span, "no function is called `{}`", step.name);
      std::string near = nearest_name(step.name, names);
      diagnostic.help(near.empty() ? fmt::format("there are `{}`", fmt::join(names, "`, `"))
                                   : fmt::format("did you mean `{}`?", near));
      return false;
    }
    if (step.arguments < function->least || step.arguments > function->most) {
      sink_.report(Kind::layout_call, span, "`{}({})` is given {} arguments", function->name,
                   function->arguments, step.arguments);
      return false;
    }
    return apply(function->run, step.arguments, span);
  }

  /// Replaces the last `count` values by what `run` makes of them.
  bool apply(Result<LayoutValue> (*run)(LayoutCall&), size_t count, Span span) {
    size_t first = values_.size() - count;
    LayoutCall call(std::span<const LayoutValue>(values_).subspan(first));
    auto value = run(call);
    if (!value) {
      if (call.blamed())
        sink_.report(Kind::layout_call, spans_[first + *call.blamed()], value.refusal().reason);
      else
        sink_.report(Kind::layout_refused, span, value.refusal().reason);
      return false;
    }
    values_.resize(first);
    spans_.resize(first);
    return push(std::move(*value), span);
  }

  static Result<LayoutValue> add(LayoutCall& call) {
    const Sum *left = call.as<Sum>(0), *right = call.as<Sum>(1);
    if (left && right) {
      Sum sum = *left;
      if (!sum.add(*right)) return refuse("the sum leaves 64 bits");
      return LayoutValue(std::move(sum));
    }
    if (left && call.as<Swizzled>(1)) {
      Swizzled out = *call.as<Swizzled>(1);
      if (!out.swizzle.is_identity())
        return refuse("an offset goes inside of a swizzle: `Sw<B,M,S> o offset + layout`");
      if (!out.offset.add(*left)) return refuse("the offset leaves 64 bits");
      return LayoutValue(std::move(out));
    }
    return refuse("`+` adds numbers, or an offset on the left to a layout on the right");
  }

  bool make_tiler(const MakeTiler& step, Span span) {
    auto count = static_cast<size_t>(std::count(step.given.begin(), step.given.end(), true));
    size_t next = values_.size() - count;
    LayoutCall call(std::span<const LayoutValue>(values_).subspan(next));
    Tiler tiler;
    size_t argument = 0;
    for (bool given : step.given) {
      tiler.emplace_back();
      if (!given) continue;
      auto tile = call.strided(argument);
      if (!tile) {
        sink_.report(call.blamed() ? Kind::layout_call : Kind::layout_refused,
                     spans_[next + argument], tile.refusal().reason);
        return false;
      }
      tiler.back() = std::move(*tile);
      ++argument;
    }
    values_.resize(next);
    spans_.resize(next);
    return push(std::move(tiler), span);
  }

  Sink& sink_;
  std::vector<LayoutValue> values_;
  std::vector<Span> spans_; ///< of the values
};

} // namespace

std::optional<LayoutValue> evaluate_layout_expression(const LayoutExpression& expression,
                                                      Sink& sink) {
  Evaluator evaluator(sink);
  for (const ExpressionStep& step : expression)
    if (!evaluator.run(step)) return std::nullopt;
  return evaluator.result();
}

} // namespace tang::driver

#include "base/check.h"
#include "base/checked.h"
#include "graph/prover.h"
#include "parse/elaborate/constants.h"
#include "parse/elaborate/declarations.h"

namespace tang::parse {
namespace {

const DimBinding* binding_of(Context& c, const std::string& name) {
  // The last one counts, as with other options.
  const DimBinding* found = nullptr;
  for (const DimBinding& b : c.options.dims)
    if (b.name == name) found = &b;
  if (found) c.bound_dims.insert(name);
  return found;
}

/// As the command line has it.
std::string option(const DimBinding& b) {
  if (b.lo == b.hi) return fmt::format("-D {}={}", b.name, b.lo);
  return fmt::format("--dim {}={}..{}{}", b.name, b.lo, b.hi,
                     b.step == 1 ? "" : fmt::format("/{}", b.step));
}

Term fixed_dim(Context& c, const Module& m, const DimEntry& entry) {
  const Name& name = entry.declared.name;
  Term value = constant_term(c, m, entry.value, Kind::dim_not_integer, backquoted(name.text));
  if (!value) return {};
  graph::IntRange range = graph::Prover(c.graph).range(value);
  if (range.lo < 0) {
    if (c.terms().as_integer(value))
      c.report(Kind::dim_range, m[entry.value].span, "dim `{}` is {}, and a dim is at least 0",
               name.text, range.lo);
    else
      c.report(Kind::dim_range, m[entry.value].span, "dim `{}` may be negative: it is {} at least",
               name.text, range.lo);
    return {};
  }
  const DimBinding* binding = binding_of(c, name.text);
  if (!binding || c.terms().as_integer(value) == std::optional(binding->lo)) return value;
  c.report(Kind::dim_binding, m[entry.value].span, "`{}`: the file fixes the dim here",
           option(*binding))
      .help(fmt::format("declare it symbolic to bind it at compile time: `dim {} in 1..4096`",
                        name.text));
  return {};
}

/// The declared range; false when erroneous.
bool declared_range(Context& c, const Module& m, const DimEntry& entry, graph::Dim& dim) {
  std::optional<int64_t> lo = dim.lo, hi = dim.hi, step = dim.step;
  if (entry.range) {
    lo = constant_integer(c, m, entry.range->lo, Kind::dim_not_integer, "the least value");
    hi = constant_integer(c, m, entry.range->hi, Kind::dim_not_integer, "the greatest value");
    if (hi && !entry.range->inclusive) hi = checked_sub(*hi, 1);
  }
  if (entry.step) step = constant_integer(c, m, entry.step, Kind::dim_not_integer, "the step");
  if (!lo || !hi || !step) return false;
  Span span = entry.range ? join(m[entry.range->lo].span, m[entry.range->hi].span)
                          : m[entry.step ? entry.step : ExprId(0)].span;
  auto fail = [&](std::string message) {
    c.report(Kind::dim_range, span, std::move(message));
    return false;
  };
  if (*lo < 0) return fail(fmt::format("a dim is at least 0, and the range starts at {}", *lo));
  if (*hi < *lo) return fail(fmt::format("the range {}..{} is empty", *lo, *hi));
  if (*step < 1) return fail(fmt::format("the step is {}, and 1 is the least", *step));
  if (floordiv(*hi, *step) * *step < *lo)
    return fail(fmt::format("no multiple of {} lies in {}..{}", *step, *lo, *hi));
  dim.lo = *lo, dim.hi = *hi, dim.step = *step;
  return true;
}

Term symbolic_dim(Context& c, const Module& m, const DimEntry& entry) {
  const Name& name = entry.declared.name;
  graph::Dim dim;
  dim.name = name.text, dim.span = name.span;
  if ((entry.range || entry.step) && !declared_range(c, m, entry, dim)) return {};
  if (const DimBinding* b = binding_of(c, name.text)) {
    auto fail = [&](std::string why) {
      c.report(Kind::dim_binding, name.span, "`{}`: {}", option(*b), why);
      return Term();
    };
    if (b->lo > b->hi || b->step < 1) return fail("the range is empty");
    if (b->lo < dim.lo || b->hi > dim.hi)
      return fail(fmt::format("the dim is declared in {}..{}", dim.lo, dim.hi));
    if (b->lo == b->hi) {
      if (b->lo % dim.step != 0)
        return fail(fmt::format("the dim is declared to be a multiple of {}", dim.step));
      return c.terms().integer(b->lo);
    }
    auto both = checked_mul(dim.step / common_divisor(dim.step, b->step), b->step);
    if (!both || floordiv(b->hi, *both) * *both < b->lo)
      return fail("no value is a multiple of both steps");
    dim.lo = b->lo, dim.hi = b->hi, dim.step = *both;
  }
  if (dim.lo == dim.hi) return c.terms().integer(dim.lo);
  c.graph.dims.push_back(std::move(dim));
  return c.terms().dim(graph::DimId(static_cast<uint32_t>(c.graph.dims.size() - 1)));
}

} // namespace

void declare_dims(Context& c, const Module& m, const Dim& statement) {
  for (const DimEntry& entry : statement.entries)
    c.declare(entry.declared.name,
              DimSymbol{entry.value ? fixed_dim(c, m, entry) : symbolic_dim(c, m, entry)});
}

void check_bindings(Context& c) {
  for (const DimBinding& b : c.options.dims) {
    if (!c.bound_dims.insert(b.name).second) continue;
    std::vector<std::string> known;
    for (const auto& [name, symbol] : c.symbols)
      if (std::holds_alternative<DimSymbol>(symbol.what)) known.push_back(name);
    std::sort(known.begin(), known.end());
    Diagnostic& d =
        c.sink->report(Kind::unknown_dim, {}, "`{}`: the file has no dim `{}`", option(b), b.name);
    d.help(name_help(b.name, "dim", known));
  }
}

} // namespace tang::parse

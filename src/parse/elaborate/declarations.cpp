#include "parse/elaborate/declarations.h"
#include "base/check.h"
#include "base/checked.h"
#include "graph/prover.h"
#include "parse/elaborate/body.h"
#include "parse/elaborate/constants.h"
#include <cmath>

namespace tang::parse {

using graph::ElemType;

namespace {

/// The elements must be countable in 64 bits where the extents are known.
bool check_size(Context& c, const graph::Tensor& tensor, Span span) {
  int64_t count = 1;
  for (Term extent : tensor.shape) {
    auto n = checked_mul(count, std::max<int64_t>(1, graph::Prover(c.graph).range(extent).lo));
    if (!n || *n > (int64_t{1} << 60)) {
      c.report(Kind::dim_overflow, span, "the elements of `{}` do not fit into 64 bits",
               tensor.name);
      return false;
    }
    count = *n;
  }
  return true;
}

bool layout(Context& c, const Module& m, const TensorType& type, graph::Tensor& tensor) {
  bool ok = true;
  for (ExprId id : type.strides) {
    Term stride = constant_term(c, m, id, Kind::bad_layout, "the stride");
    if (stride && graph::Prover(c.graph).range(stride).lo < 0) {
      c.report(Kind::bad_layout, m[id].span, "the stride may be negative");
      stride = {};
    }
    ok &= static_cast<bool>(stride);
    tensor.strides.push_back(stride);
  }
  if (!type.strides.empty() && type.strides.size() != type.shape.size()) {
    c.report(Kind::bad_layout, type.span, "there are {} strides for {} axes", type.strides.size(),
             type.shape.size());
    ok = false;
  }
  if (type.align) {
    auto align = constant_integer(c, m, type.align, Kind::bad_layout, "the alignment");
    if (align && (*align < 1 || *align > 4096 || (*align & (*align - 1)) != 0)) {
      c.report(Kind::bad_layout, m[type.align].span,
               "the alignment is {}, not a power of two from 1 to 4096", *align);
      ok = false;
    }
    ok &= align.has_value();
    if (ok) tensor.align = static_cast<int>(*align);
  }
  return ok;
}

/// An end of a range of values, and what it may be for all values of the dims.
struct End {
  Term term;
  graph::IntRange allowed;
};
std::optional<End> end_of(Context& c, const Module& m, ExprId id, bool inclusive) {
  Term term = constant_term(c, m, id, Kind::bad_layout, "the bound");
  if (!term) return std::nullopt;
  if (!inclusive)
    term =
        graph::canonical(c.terms(), c.terms().binary(graph::Op::sub, term, c.terms().integer(1)));
  return End{term, graph::Prover(c.graph).range(term)};
}

bool value_range(Context& c, const Module& m, const TensorType& type, graph::Tensor& tensor) {
  bool integers = graph::scalar_of(tensor.type) == Scalar::integer;
  if (type.sorted) {
    tensor.sorted = true;
    if (!integers || type.shape.empty()) {
      c.report(Kind::bad_layout, type.span, "`sorted` belongs to integers of rank 1 or more");
      return false;
    }
  }
  if (!type.range) return true;
  Span span = join(m[type.range->lo].span, m[type.range->hi].span);
  if (!integers) {
    c.report(Kind::bad_layout, span, "a range of values belongs to integers, and `{}` is not one",
             type.element.text);
    return false;
  }
  auto first = end_of(c, m, type.range->lo, true);
  auto last = end_of(c, m, type.range->hi, type.range->inclusive);
  if (!first || !last) return false;
  int64_t lo = first->allowed.lo, hi = last->allowed.hi;
  graph::IntRange held = graph::range_of(tensor.type);
  if (lo > hi) {
    c.report(Kind::bad_layout, span, "the range {}..{} is empty", lo, hi);
    return false;
  }
  if (!held.contains({lo, hi})) {
    c.report(Kind::bad_layout, span, "`{}` holds {}..{}, and the range is {}..{}",
             type.element.text, held.lo, held.hi, lo, hi);
    return false;
  }
  tensor.range = graph::IntRange{lo, hi};
  if (!c.terms().is_literal(first->term)) tensor.range_lo = first->term;
  if (!c.terms().is_literal(last->term)) tensor.range_hi = last->term;
  return true;
}

/// One entry of a table; false when its type cannot hold it.
bool table_entry(Context& c, const Module& m, ExprId id, graph::Tensor& tensor) {
  Scalar element = graph::scalar_of(tensor.type);
  const Boolean* truth = std::get_if<Boolean>(&m[id].form);
  if (element == Scalar::boolean) {
    if (truth) {
      tensor.integers.push_back(truth->value);
      return true;
    }
    c.report(Kind::bad_table, m[id].span, "an entry of a `bool` table is `true` or `false`");
    return false;
  }
  if (element == Scalar::real) {
    auto v = constant_real(c, m, id, "the entry");
    if (v) tensor.reals.push_back(*v);
    return v.has_value();
  }
  auto v = constant_integer(c, m, id, Kind::bad_table, "the entry");
  if (!v) return false;
  tensor.integers.push_back(*v);
  graph::IntRange held = graph::range_of(tensor.type);
  if (held.contains({*v, *v})) return true;
  c.report(Kind::bad_table, m[id].span, "the entry is {}, and `{}` holds {}..{}", *v,
           graph::info(tensor.type).name, held.lo, held.hi);
  return false;
}

} // namespace

std::optional<graph::Tensor> tensor_of(Context& c, const Module& m, const TensorType& type,
                                       const Name& name) {
  graph::Tensor tensor;
  tensor.name = name.text, tensor.span = name.span;
  auto element = c.element_type(type.element);
  bool ok = element.has_value();
  for (ExprId id : type.shape) {
    tensor.shape.push_back(extent_term(c, m, id));
    ok &= static_cast<bool>(tensor.shape.back());
  }
  if (element) tensor.type = *element;
  ok = ok && layout(c, m, type, tensor) && check_size(c, tensor, type.span);
  if (ok) ok = value_range(c, m, type, tensor);
  if (!ok) return std::nullopt;
  return tensor;
}

void declare_input(Context& c, const Module& m, const Input& input) {
  auto tensor = tensor_of(c, m, input.type, input.declared.name);
  graph::TensorId id;
  if (tensor) {
    tensor->kind = input.is_param ? graph::TensorKind::param : graph::TensorKind::input;
    tensor->external = input.declared.external.value_or("");
    id = c.graph.add(std::move(*tensor));
    c.graph.inputs.push_back(id);
  }
  c.tensor_names.insert(input.declared.name.text);
  c.declare(input.declared.name, TensorSymbol{id});
}

void declare_const(Context& c, const Module& m, const Const& constant) {
  const Name& name = constant.declared.name;
  auto tensor = tensor_of(c, m, constant.type, name);
  bool ok = tensor.has_value();
  if (tensor) {
    tensor->kind = graph::TensorKind::constant;
    tensor->external = constant.declared.external.value_or("");
    int64_t count = 1;
    for (Term extent : tensor->shape) {
      auto n = c.terms().as_integer(extent);
      if (!n) {
        c.report(Kind::bad_table, constant.type.span,
                 "the shape of a table depends on a dim that is not fixed");
        ok = false;
      }
      count *= n.value_or(1);
    }
    bool nested = constant.extents.size() > 1;
    bool shaped = constant.extents.size() == tensor->shape.size();
    for (size_t k = 0; shaped && k < constant.extents.size(); ++k)
      shaped =
          c.terms().as_integer(tensor->shape[k]) == std::optional<int64_t>(constant.extents[k]);
    if (ok && static_cast<int64_t>(constant.values.size()) != count) {
      c.report(Kind::bad_table, name.span, "the table has {} entries, and its shape has {}",
               constant.values.size(), count);
      ok = false;
    } else if (ok && nested && !shaped) {
      c.report(Kind::bad_table, name.span, "the nested lists of the table do not have its shape");
      ok = false;
    } else if (ok && graph::bytes_of(tensor->type, count) > 4096) {
      c.report(Kind::bad_table, name.span, "the table takes {} bytes, and 4096 are possible",
               graph::bytes_of(tensor->type, count))
          .help("declare a `param`");
      ok = false;
    }
    for (ExprId id : constant.values) ok &= table_entry(c, m, id, *tensor);
  }
  c.tensor_names.insert(name.text);
  c.declare(name, TensorSymbol{ok ? c.graph.add(std::move(*tensor)) : graph::TensorId()});
}

void declare_let(Context& c, const Module& m, const Let& let) {
  auto number = evaluate_constant(c, m, let.value);
  Term value;
  if (number) {
    if (auto real = number->as_real()) {
      value = c.terms().real(*real);
    } else {
      Body body(c, m, let.name.text, let.name.span);
      body.real_division = true;
      value = body.eval(let.value);
      if (value) value = body.convert(value, Scalar::real, m[let.value].span);
    }
  }
  if (c.declare(let.name, LetSymbol{value}) && c.scope_names)
    c.scope_names->push_back(let.name.text);
}

} // namespace tang::parse

#include "lower/stream/row_terms.h"
#include <algorithm>

namespace tang::lower {

using graph::Op;
using Row = StreamLanes::Row;

RowTerms::RowTerms(Terms& terms, TileAxes& axes, const StreamLanes& lanes, graph::IndexId stream,
                   const std::vector<size_t>& rows, ValueId count)
    : terms_(terms), b_(terms.builder()), axes_(axes), lanes_(lanes), stream_(stream), rows_(rows),
      count_(count) {
  terms_.multiply_by_reciprocals(stream);
}

bool RowTerms::is_of_row(ExprId id) const {
  const auto& free = b_.graph().exprs[id].free;
  return !std::binary_search(free.begin(), free.end(), stream_);
}

void RowTerms::find(ExprId root) {
  const auto& store = b_.graph().exprs;
  std::vector<ExprId> stack{root};
  while (!stack.empty()) {
    ExprId id = stack.back();
    stack.pop_back();
    const graph::Expr& e = store[id];
    if (store.is_literal(id) || std::count(seen_.begin(), seen_.end(), id)) continue;
    seen_.push_back(id);
    if (is_of_row(id)) {
      if (e.scalar == graph::Scalar::real || e.has_read) add(id, false);
      continue;
    }
    if (e.op == Op::fold || e.op == Op::read) continue;
    bool divides = e.op == Op::div && is_of_row(e.operands[1]) && !store.is_literal(e.operands[1]);
    if (divides) add(e.operands[1], true);
    for (size_t i = divides ? 1 : e.operands.size(); i-- > 0;) stack.push_back(e.operands[i]);
  }
}

void RowTerms::add(ExprId id, bool divides) {
  for (const Term& t : found_)
    if (t.term == id && bool(t.reciprocal) == divides) return;
  Term term{id, {}, {}, {}};
  if (divides)
    term.scale = lanes_.per_row("scale"), term.reciprocal = lanes_.per_row("reciprocal");
  else
    term.value = lanes_.per_row("row_term", terms_.type_of(id));
  found_.push_back(term);
}

kernel::TensorId RowTerms::product(std::vector<ExprId>& factors, std::vector<ExprId>& divisors) {
  Product product;
  auto take = [&](std::vector<ExprId>& from, std::vector<ExprId>& into) {
    std::copy_if(from.begin(), from.end(), std::back_inserter(into),
                 [&](ExprId id) { return is_of_row(id); });
    std::erase_if(from, [&](ExprId id) { return is_of_row(id); });
  };
  take(factors, product.factors), take(divisors, product.divisors);
  if (product.factors.empty() && product.divisors.empty()) return {};
  product.value = lanes_.per_row("row_part");
  products_.push_back(product);
  return product.value;
}

void RowTerms::load() {
  if (found_.empty() && products_.empty()) return;
  auto& v = b_.values();
  auto zero = [&](kernel::TensorId tensor, const Row& row) {
    if (!tensor) return;
    Type t = register_type(b_.kernel()[tensor].type);
    lanes_.set(tensor, row,
               t == Type::boolean   ? v.boolean(false)
               : kernel::is_real(t) ? v.real(0, t)
                                    : v.integer(0, t));
  };
  lanes_.over_rows([&](const Row& row) {
    for (const Term& t : found_)
      for (auto tensor : {t.value, t.scale, t.reciprocal}) zero(tensor, row);
    for (const Product& p : products_) zero(p.value, row);
    ValueId place = b_.let("row", lanes_.number(row));
    b_.when(v.less(place, count_), [&] {
      terms_.scope([&] {
        axes_.bind_points(rows_, place);
        for (const Term& t : found_) compute(t, row);
        for (const Product& p : products_) lanes_.set(p.value, row, compute(p));
      });
    });
  });
}

void RowTerms::compute(const Term& term, const Row& row) {
  ValueId value = terms_.lower(term.term);
  if (term.value) {
    Type type = register_type(b_.kernel()[term.value].type);
    return lanes_.set(term.value, row, terms_.convert(value, type));
  }
  Terms::Reciprocal r = terms_.reciprocal_of(value);
  lanes_.set(term.scale, row, r.factor);
  lanes_.set(term.reciprocal, row, r.reciprocal);
}

ValueId RowTerms::compute(const Product& product) {
  auto& v = b_.values();
  ValueId value = v.real(1, Type::f32);
  for (size_t i = 0; i < product.factors.size(); ++i) {
    ValueId factor = terms_.lower(product.factors[i]);
    value = i == 0 ? factor : v.binary(Op::mul, value, factor);
  }
  for (ExprId id : product.divisors) value = v.binary(Op::div, value, terms_.lower(id));
  return value;
}

std::optional<ValueId> RowTerms::value(ExprId id, const Row& row) const {
  // Of a divisor nothing but its reciprocal is used.
  for (const Term& t : found_)
    if (t.term == id) return lanes_.at(t.value ? t.value : t.reciprocal, row);
  return std::nullopt;
}

void RowTerms::use_reciprocals(const Row& row) const {
  for (const Term& t : found_)
    if (t.reciprocal)
      terms_.set_reciprocal(t.term, {lanes_.at(t.scale, row), lanes_.at(t.reciprocal, row)});
}

} // namespace tang::lower

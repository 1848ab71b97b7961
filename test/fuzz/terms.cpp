#include "terms.h"
#include <algorithm>
#include <fmt/format.h>

namespace tang::fuzz {

namespace {

Size joined(Size a, Size b) {
  return {std::max(a.bound, b.bound), a.wild || b.wild};
}

} // namespace

Term Terms::clamped(const Term& term, int64_t limit) {
  return {fmt::format("min(max({}, -{}), {})", term.text, limit, limit), {limit, false}};
}

Term Terms::at_most(const Term& term, int64_t limit) {
  return term.size.wild || term.size.bound > limit ? clamped(term, limit) : term;
}

Extent Terms::extent() {
  if (choices_.one_in(4)) {
    int n = choices_.pick(1, 5);
    return {std::to_string(n), n, n};
  }
  return extents_[static_cast<size_t>(choices_.pick(0, static_cast<int>(extents_.size()) - 1))];
}

Index Terms::fresh_index() {
  return {fmt::format("k{}", names_++), extent()};
}

std::string Terms::filter(const Indices& scope) {
  return choices_.one_in(3) ? " where " + condition(scope, 1) : "";
}

Terms::Place Terms::moved(const Index& index, const Extent& extent) {
  int by = choices_.pick(-2, 2);
  const std::string& i = index.name;
  switch (choices_.pick(0, 5)) {
  case 0: {
    std::string text = fmt::format("{} + {}", i, by);
    if (by < 0) text = fmt::format("{} - {}", i, -by);
    return {text, false, fmt::format("({0} >= 0 and {0} < {1})", text, extent.text)};
  }
  case 1: return {fmt::format("2*{} - {}", i, choices_.pick(0, 2)), false, ""};
  case 2: {
    int by_factor = choices_.pick(2, 3);
    return {fmt::format("floordiv({}, {})", i, by_factor), index.extent.text == extent.text, ""};
  }
  case 3: {
    int n = choices_.pick(1, 4);
    return {fmt::format("mod({}, {})", i, n), extent.lo >= n, ""};
  }
  case 4: return {fmt::format("{} - 1 - {}", extent.text, i), index.extent.text == extent.text, ""};
  default: return {i, index.extent.hi <= extent.lo || index.extent.text == extent.text, ""};
  }
}

Terms::Place Terms::place(const Extent& extent, const Indices& scope) {
  Indices same;
  for (const Index& index : scope)
    if (index.extent.text == extent.text) same.push_back(index);
  if (!same.empty() && !choices_.one_in(4)) {
    size_t at = static_cast<size_t>(choices_.pick(0, static_cast<int>(same.size()) - 1));
    return {same[at].name, true, ""};
  }
  if (choices_.one_in(6)) {
    // Data as a place: what is outside reads as 0 or as the guard's value.
    for (const Tensor& tensor : tensors_) {
      bool small = tensor.shape.size() <= 1 && tensor.sort == Sort::integer && !tensor.size.wild;
      if (!small || choices_.one_in(3)) continue;
      Term data = read(tensor, scope);
      return {data.text, true, ""};
    }
  }
  if (!scope.empty() && !choices_.one_in(4)) {
    size_t at = static_cast<size_t>(choices_.pick(0, static_cast<int>(scope.size()) - 1));
    return moved(scope[at], extent);
  }
  int n = choices_.pick(0, 2);
  return {std::to_string(n), n < extent.lo, ""};
}

Term Terms::read(const Tensor& tensor, const Indices& scope) {
  if (tensor.shape.empty()) return {tensor.name, tensor.size};
  std::string places, proofs;
  bool safe = true, provable = true;
  for (const Extent& extent : tensor.shape) {
    Place p = place(extent, scope);
    places += (places.empty() ? "" : ", ") + p.text;
    if (p.safe) continue;
    safe = false;
    provable = provable && !p.proof.empty();
    proofs += (proofs.empty() ? "" : " and ") + p.proof;
  }
  std::string text = fmt::format("{}[{}]", tensor.name, places);
  Size size = tensor.size;
  if (safe && !choices_.one_in(8)) return {text, size};
  size.bound = std::max<int64_t>(size.bound, 3);
  bool boolean = tensor.sort == Sort::boolean;
  std::string other =
      boolean ? (choices_.one_in(2) ? "true" : "false") : std::to_string(choices_.pick(-3, 3));
  // A branch proves a read as well as a guard does.
  if (provable && !proofs.empty() && choices_.one_in(2))
    return {fmt::format("where({}, {}, {})", proofs, text, other), size};
  return {fmt::format("({} else {})", text, other), size};
}

const Tensor* Terms::tensor_of(Sort sort, const Indices& scope) {
  // Tries a few; later tensors are likelier, so that programs get deep.
  for (int k = 0; k < 4; ++k) {
    int last = static_cast<int>(tensors_.size()) - 1;
    int at =
        choices_.one_in(2) ? last - choices_.pick(0, std::min(last, 2)) : choices_.pick(0, last);
    const Tensor& tensor = tensors_[static_cast<size_t>(at)];
    if (tensor.sort == sort && tensor.shape.size() <= scope.size() + 1) return &tensor;
  }
  for (const Tensor& tensor : tensors_)
    if (tensor.sort == sort) return &tensor;
  return nullptr;
}

std::optional<Term> Terms::leaf_read(Sort sort, const Indices& scope) {
  const Tensor* tensor = tensor_of(sort, scope);
  if (!tensor) return std::nullopt;
  return read(*tensor, scope);
}

Term Terms::real_leaf(const Indices& scope) {
  switch (choices_.pick(0, 7)) {
  case 0: {
    int n = choices_.pick(-3, 3);
    return {fmt::format("{}.0", n), {3, false}};
  }
  case 1: {
    Term whole = integer_leaf(scope);
    if (whole.size.wild || whole.size.bound > largest) whole = clamped(whole, 9);
    return {fmt::format("f32({})", whole.text), whole.size};
  }
  default:
    if (auto term = leaf_read(Sort::real, scope)) return *term;
    return {"1.0", {1, false}};
  }
}

Term Terms::integer_leaf(const Indices& scope) {
  int choice = choices_.pick(0, 5);
  if (choice == 0) return {std::to_string(choices_.pick(-3, 3)), {3, false}};
  if (choice == 1 && !scope.empty()) {
    const Index& index =
        scope[static_cast<size_t>(choices_.pick(0, static_cast<int>(scope.size()) - 1))];
    return {index.name, {index.extent.hi, false}};
  }
  if (choice == 2) {
    Extent e = extent();
    return {e.text, {e.hi, false}};
  }
  if (auto term = leaf_read(Sort::integer, scope)) return *term;
  return {"1", {1, false}};
}

Term Terms::fold(Sort sort, const Indices& scope, int depth) {
  Indices bound{fresh_index()}, inner = scope;
  if (choices_.one_in(4)) bound.push_back(fresh_index());
  std::string binders;
  int64_t points = 1;
  bool maybe_empty = false;
  for (const Index& index : bound) {
    binders += (binders.empty() ? "" : ", ") + binder(index);
    points *= index.extent.hi;
    maybe_empty = maybe_empty || index.extent.lo == 0;
    inner.push_back(index);
  }
  std::string where = filter(inner);
  maybe_empty = maybe_empty || !where.empty();
  Term body = any(sort, inner, depth);
  auto text = [&](std::string_view what, const Term& of) {
    return fmt::format("({}[{}{}] {})", what, binders, where, of.text);
  };
  switch (choices_.pick(0, 5)) {
  case 0: return {text("max", body), {body.size.bound, body.size.wild || maybe_empty}};
  case 1: return {text("min", body), {body.size.bound, body.size.wild || maybe_empty}};
  case 2: return {text("prod", clamped(body, 1)), {1, false}};
  default:
    body = at_most(body, std::max<int64_t>(largest / 4 / std::max<int64_t>(points, 1), 1));
    return {text("sum", body), {body.size.bound * points, false}};
  }
}

Term Terms::arithmetic(Sort sort, const Indices& scope, int depth) {
  Term a = any(sort, scope, depth - 1);
  switch (choices_.pick(0, 8)) {
  case 0: {
    Term b = any(sort, scope, depth - 1);
    const char* op = choices_.one_in(2) ? "min" : "max";
    return {fmt::format("{}({}, {})", op, a.text, b.text), joined(a.size, b.size)};
  }
  case 1: a = at_most(a, largest); return {fmt::format("abs({})", a.text), a.size};
  case 2: a = at_most(a, largest); return {fmt::format("(-{})", a.text), a.size};
  case 3: {
    a = at_most(a, 900);
    Term b = at_most(any(sort, scope, depth - 1), 900);
    return {fmt::format("({} * {})", a.text, b.text), {a.size.bound * b.size.bound, false}};
  }
  case 4: {
    Term b = any(sort, scope, depth - 1);
    return {fmt::format("where({}, {}, {})", condition(scope, depth - 1), a.text, b.text),
            joined(a.size, b.size)};
  }
  default: {
    a = at_most(a, largest / 2);
    Term b = at_most(any(sort, scope, depth - 1), largest / 2);
    return {fmt::format("({} {} {})", a.text, choices_.one_in(2) ? "-" : "+", b.text),
            {a.size.bound + b.size.bound, false}};
  }
  }
}

Term Terms::real(const Indices& scope, int depth) {
  if (depth <= 0) return real_leaf(scope);
  switch (choices_.pick(0, 9)) {
  case 0:
  case 1: return fold(Sort::real, scope, depth - 1);
  case 2: {
    Term half = at_most(real(scope, depth - 1), largest);
    const char* ops[] = {"floor", "ceil", "round"};
    return {fmt::format("{}({} * 0.5)", ops[choices_.pick(0, 2)], half.text), half.size};
  }
  case 3: {
    Term small = at_most(real(scope, depth - 1), choices_.one_in(2) ? 200 : 2000);
    return {fmt::format("{}({})", small.size.bound <= 200 ? "bf16" : "f16", small.text),
            small.size};
  }
  case 4: {
    Term term = real(scope, depth - 1);
    if (choices_.one_in(2)) return {fmt::format("sign({})", term.text), {1, false}};
    return {fmt::format("relu({})", term.text), term.size};
  }
  case 5: return real_leaf(scope);
  default: return arithmetic(Sort::real, scope, depth);
  }
}

Term Terms::integer(const Indices& scope, int depth) {
  if (depth <= 0) return integer_leaf(scope);
  switch (choices_.pick(0, 9)) {
  case 0: return fold(Sort::integer, scope, depth - 1);
  case 1: {
    Term a = at_most(integer(scope, depth - 1), largest),
         b = at_most(integer(scope, depth - 1), largest);
    if (choices_.one_in(2)) return {fmt::format("floordiv({}, {})", a.text, b.text), a.size};
    return {fmt::format("mod({}, {})", a.text, b.text), b.size};
  }
  case 2: {
    Term a = at_most(integer(scope, depth - 1), 1000), b = at_most(integer(scope, depth - 1), 1000);
    const char* ops[] = {"bitand", "bitor", "bitxor"};
    return {fmt::format("{}({}, {})", ops[choices_.pick(0, 2)], a.text, b.text), {1024, false}};
  }
  case 3: {
    Index index = fresh_index();
    Indices inner = scope;
    inner.push_back(index);
    std::string where = filter(inner);
    Term body = real(inner, depth - 1);
    return {fmt::format("({}[{}{}] {})", choices_.one_in(2) ? "argmin" : "argmax", binder(index),
                        where, body.text),
            {std::max<int64_t>(index.extent.hi, 1), false}};
  }
  case 4: {
    Term value = at_most(real(scope, depth - 1), largest);
    return {fmt::format("i32({})", value.text), value.size};
  }
  case 5: return integer_leaf(scope);
  default: return arithmetic(Sort::integer, scope, depth);
  }
}

std::string Terms::condition(const Indices& scope, int depth) {
  switch (choices_.pick(0, depth > 0 ? 7 : 3)) {
  case 0:
    if (auto term = leaf_read(Sort::boolean, scope)) return term->text;
    return "true";
  case 1:
  case 2:
  case 3: {
    const char* ops[] = {"<", "<=", "==", "!=", ">", ">="};
    Sort sort = choices_.one_in(2) ? Sort::real : Sort::integer;
    Term a = any(sort, scope, depth - 1), b = any(sort, scope, depth - 1);
    return fmt::format("({} {} {})", a.text, ops[choices_.pick(0, 5)], b.text);
  }
  case 4: return fmt::format("(not {})", condition(scope, depth - 1));
  case 5: {
    Index index = fresh_index();
    Indices inner = scope;
    inner.push_back(index);
    std::string where = filter(inner);
    return fmt::format("({}[{}{}] {})", choices_.one_in(2) ? "any" : "all", binder(index), where,
                       condition(inner, depth - 1));
  }
  default: {
    std::string a = condition(scope, depth - 1), b = condition(scope, depth - 1);
    return fmt::format("({} {} {})", a, choices_.one_in(2) ? "and" : "or", b);
  }
  }
}

} // namespace tang::fuzz

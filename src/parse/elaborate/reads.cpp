// Reads of tensors: places, gathers, guards, and proofs that a read stays inside.
#include "base/check.h"
#include "graph/polynomial.h"
#include "graph/prover.h"
#include "graph/text.h"
#include "parse/elaborate/body.h"
#include <algorithm>

namespace tang::parse {

using graph::Op;

namespace {

/// Whether the term reads data: tensors other than the step of a recurrence.
bool has_data(const Context& c, Term root) {
  if (!c.graph.exprs[root].has_read) return false;
  for (Term id : graph::reachable(c.graph.exprs, {&root, 1})) {
    const graph::Expr& e = c.graph.exprs[id];
    if (e.op == Op::read && !c.steps.contains(graph::TensorId(e.ref))) return true;
  }
  return false;
}

/// What is wrong with an atom of a place, or empty.
std::string_view atom_fault(const Context& c, Term atom) {
  const graph::ExprStore& s = c.graph.exprs;
  const graph::Expr& e = s[atom];
  switch (e.op) {
  case Op::index:
  case Op::dim:
  case Op::read: return {};
  case Op::floordiv:
  case Op::mod:
    if (has_data(c, atom)) return {};
    return s[e.operands[1]].free.empty() ? "" : "divides by an index";
  default: break;
  }
  if (has_data(c, atom) || e.free.empty()) return {};
  return "is not affine in the indices";
}

} // namespace

bool Body::check_place(Term place, Span span, bool& gathered) {
  auto fail = [&](std::string_view why) {
    report(Kind::non_affine_place, span, "this place {}", why)
        .help("a place is a sum of indices with constant coefficients, `floordiv` or `mod` of one, "
              "or integer data");
    return false;
  };
  auto polynomial = graph::polynomial_of(terms(), place);
  if (!polynomial) return fail("has coefficients beyond 64 bits");
  gathered |= has_data(c_, place);
  for (const auto& [monomial, coefficient] : polynomial->terms()) {
    int varying = 0;
    for (Term atom : monomial) {
      if (auto why = atom_fault(c_, atom); !why.empty()) return fail(why);
      varying += terms()[atom].has_read || !terms()[atom].free.empty();
    }
    if (varying > 1) return fail("multiplies two indices");
  }
  // What floordiv and mod divide is affine as well.
  for (Term id : graph::reachable(terms(), {&place, 1})) {
    const graph::Expr& e = terms()[id];
    if ((e.op != Op::floordiv && e.op != Op::mod) || has_data(c_, id)) continue;
    auto inner = graph::polynomial_of(terms(), e.operands[0]);
    if (!inner) return fail("has coefficients beyond 64 bits");
    for (const auto& [monomial, coefficient] : inner->terms())
      if (std::count_if(monomial.begin(), monomial.end(),
                        [&](Term a) { return !terms()[a].free.empty(); }) > 1)
        return fail("multiplies two indices");
  }
  return true;
}

void Body::push_condition(Term root) {
  std::vector<std::pair<Term, bool>> stack{{root, true}};
  graph::ExprStore& s = terms();
  while (!stack.empty()) {
    auto [id, truth] = stack.back();
    stack.pop_back();
    const graph::Expr& e = s[id];
    if (e.op == Op::logical_not) {
      stack.emplace_back(e.operands[0], !truth);
    } else if (e.op == (truth ? Op::logical_and : Op::logical_or)) {
      stack.emplace_back(e.operands[1], truth);
      stack.emplace_back(e.operands[0], truth);
    } else {
      Term term = id;
      if (!truth) {
        Term a = e.operands.empty() ? Term() : e.operands[0];
        bool integers = a && s[a].scalar == Scalar::integer;
        if (integers && (e.op == Op::lt || e.op == Op::le))
          term = s.binary(e.op == Op::lt ? Op::le : Op::lt, e.operands[1], a);
        else
          term = s.unary(Op::logical_not, id);
      }
      conditions_.push_back({term, level()});
    }
  }
}

void Body::use(const Condition& condition) {
  for (size_t l = condition.level + 1; l < levels_.size(); ++l) {
    auto& needed = levels_[l].needed;
    if (std::find(needed.begin(), needed.end(), condition.term) == needed.end())
      needed.push_back(condition.term);
  }
  log_.push_back(condition);
}

bool Body::prove(Term place, Term extent, std::span<const Condition> given) {
  graph::Prover prover(c_.graph);
  const auto& own = terms()[place].free;
  std::vector<graph::IndexId> indices(own.begin(), own.end());
  for (const Condition& condition : given) {
    const auto& free = terms()[condition.term].free;
    indices.insert(indices.end(), free.begin(), free.end());
  }
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  for (graph::IndexId index : indices)
    if (axis(index).extent) prover.add_axis(axis(index));
  for (Term axiom : c_.axioms) prover.assume(axiom);
  for (const Condition& condition : given) prover.assume(condition.term);
  return prover.less_equal(terms().integer(0), place) && prover.less(place, extent);
}

bool Body::in_range(Term place, Term extent) {
  const graph::Expr& e = terms()[place];
  if (dead_ > 0) return true;
  if (e.op == Op::index && axis(graph::IndexId(e.ref)).extent == extent) return true;
  for (graph::IndexId index : e.free)
    if (!axis(index).extent) return true; // the index is erroneous
  if (prove(place, extent, {})) return true;

  // First single conditions about the same indices, then all of those, then all there are: what a
  // proof uses becomes a part of the filter of a lifted node, so it should be little.
  std::vector<Condition> related, all;
  const auto& own = terms()[place].free;
  for (const Condition& condition : conditions_) {
    if (has_data(c_, condition.term)) continue;
    const auto& free = terms()[condition.term].free;
    bool meets = free.empty() || std::any_of(free.begin(), free.end(), [&](graph::IndexId i) {
                   return std::find(own.begin(), own.end(), i) != own.end();
                 });
    all.push_back(condition);
    if (meets) related.push_back(condition);
  }
  auto attempt = [&](std::span<const Condition> given) {
    if (given.empty() || !prove(place, extent, given)) return false;
    std::vector<Condition> used(given.begin(), given.end());
    for (const Condition& condition : used) use(condition);
    return true;
  };
  if (related.size() <= 8)
    for (const Condition& condition : related)
      if (attempt({&condition, 1})) return true;
  if (related.size() > 1 && attempt(related)) return true;
  return all.size() > related.size() && attempt(all);
}

void Body::report_leaving(const Read& x, size_t k, Term place, Span span) {
  const graph::Tensor& tensor = c_.graph[std::get<TensorSymbol>(c_.find(x.tensor.text)->what).id];
  graph::Prover prover(c_.graph);
  for (graph::IndexId index : terms()[place].free) prover.add_axis(axis(index));
  for (Term axiom : c_.axioms) prover.assume(axiom);
  for (const Condition& condition : conditions_) prover.assume(condition.term);
  graph::IntRange range = prover.range(place);
  auto end = [](int64_t v) {
    if (v == std::numeric_limits<int64_t>::min()) return std::string("-inf");
    return v == std::numeric_limits<int64_t>::max() ? std::string("inf") : fmt::format("{}", v);
  };
  std::string indices;
  for (graph::IndexId index : terms()[place].free)
    indices += fmt::format("{}`{}` in 0..<{}", indices.empty() ? "" : ", ", axis(index).name,
                           graph::to_text(c_.graph, axis(index).extent));
  std::string text(c_.sources.text(ast(x.places[k]).span));
  Diagnostic& d = report(Kind::read_may_leave, ast(x.places[k]).span,
                         "`{}` may leave `{}`: it is in {}..{}, and the extent of axis {} is {}",
                         text, x.tensor.text, end(range.lo), end(range.hi), k,
                         graph::to_text(c_.graph, tensor.shape[k]));
  if (!indices.empty()) d.note({}, "where " + indices);
  d.note(tensor.span, fmt::format("`{}` is defined here", x.tensor.text));
  if (std::holds_alternative<Read>(ast(x.places[k]).form)) return;
  std::string whole(c_.sources.text(span));
  d.help(fmt::format("say what holds outside: `{} else 0`", whole));
}

/// A place that the data of inputs gives, of which nothing is known: reads outside give 0 silently.
void Body::warn_of_open_gather(const Read& x, size_t k, Term place, Span span) {
  if (dead_ > 0) return;
  Term extent = c_.graph[std::get<TensorSymbol>(c_.find(x.tensor.text)->what).id].shape[k];
  const graph::Expr& e = terms()[place];
  if (e.op == Op::mod && e.operands[1] == extent) return;
  std::vector<Condition> given = conditions_;
  for (Term id : graph::reachable(terms(), {&place, 1})) {
    if (terms()[id].op != Op::read) continue;
    const graph::Tensor& data = c_.graph[graph::TensorId(terms()[id].ref)];
    if (data.kind == graph::TensorKind::intermediate) return; // computed, so not for a declaration
    if (data.range_lo) given.push_back({terms().binary(Op::le, data.range_lo, id), 0});
    if (data.range_hi) given.push_back({terms().binary(Op::le, id, data.range_hi), 0});
  }
  if (prove(place, extent, given)) return;
  // Once, however often a macro or a `repeat` comes by.
  Span at = ast(x.places[k]).span;
  if (!c_.open_gathers.insert({at.file.value, at.begin}).second) return;
  Diagnostic& d = report(Kind::open_gather, at,
                         "`{}` may leave axis {} of `{}`, whose extent is {}; there 0 is read",
                         c_.sources.text(at), k, x.tensor.text, graph::to_text(c_.graph, extent));
  std::string whole(c_.sources.text(span));
  d.help(fmt::format("state `in 0..<{}` where the data is declared, or `{} else 0`",
                     graph::to_text(c_.graph, extent), whole));
}

std::optional<std::vector<Term>> Body::places(const Read& x, graph::TensorId tensor,
                                              bool& gathered) {
  std::vector<Term> at;
  bool failed = false;
  size_t rank = c_.graph[tensor].shape.size();
  Span declared = c_.graph[tensor].span;
  for (ExprId id : x.places) {
    Term place = eval(id);
    Span span = ast(id).span;
    if (place && scalar(place) != Scalar::integer) {
      Diagnostic& d =
          report(Kind::place_not_integer, span, "a place of a read is an integer, and this is {}",
                 scalar(place) == Scalar::real ? "a real" : "a truth value");
      if (scalar(place) == Scalar::real)
        d.help("use a `dim` for a constant, and `i32(x)` for data");
      place = {};
    }
    if (place) place = graph::canonical(terms(), place);
    if (place && !check_place(place, span, gathered)) place = {};
    failed |= !place;
    at.push_back(place);
  }
  if (rank != x.places.size()) {
    report(Kind::wrong_rank, x.tensor.span, "`{}` has {} ax{} and is read with {} place{}",
           x.tensor.text, rank, rank == 1 ? "is" : "es", x.places.size(),
           x.places.size() == 1 ? "" : "s")
        .note(declared, "it is declared here");
    return std::nullopt;
  }
  if (failed) return std::nullopt;
  return at;
}

Term Body::read(const Read& x, Span span, ExprId otherwise) {
  const std::string& name = x.tensor.text;
  Term outside = otherwise ? eval(otherwise) : Term();
  if (Local* local = find_local(name)) {
    Diagnostic& d =
        local->kind == LocalKind::value
            ? report(Kind::not_a_tensor, x.tensor.span, "`{}` is a value here, not a tensor", name)
            : report(Kind::index_and_name, x.tensor.span,
                     "`{}` is an index here, and a tensor is read", name);
    d.note(local->span, local->kind == LocalKind::value ? "it is an argument or `let` of the macro"
                                                        : "the index is bound here");
    return {};
  }
  Symbol* symbol = c_.find(name);
  TensorSymbol* tensor_symbol = symbol ? std::get_if<TensorSymbol>(&symbol->what) : nullptr;
  if (symbol) symbol->used = true;
  if (!tensor_symbol || !tensor_symbol->id) {
    if (!symbol)
      c_.report_unknown(x.tensor);
    else if (!tensor_symbol)
      report(Kind::not_a_tensor, x.tensor.span, "`{}` is no tensor", name)
          .note(symbol->span, "it is declared here");
    for (ExprId id : x.places) eval(id);
    return {};
  }
  graph::TensorId id = tensor_symbol->id;
  bool gathered = false;
  auto at = places(x, id, gathered);
  if (!at || (otherwise && !outside)) return {};
  Scalar element = graph::scalar_of(c_.graph[id].type);
  if (otherwise) outside = convert(outside, element, ast(otherwise).span);
  if (otherwise && !outside) return {};
  for (size_t k = 0; k < at->size(); ++k) {
    if (has_data(c_, (*at)[k])) {
      if (!otherwise) warn_of_open_gather(x, k, (*at)[k], span);
      continue;
    }
    if (in_range((*at)[k], c_.graph[id].shape[k])) continue;
    if (!otherwise) {
      report_leaving(x, k, (*at)[k], span);
      return {};
    }
    gathered = true;
  }
  if (!gathered) return terms().read(id, element, *at);
  if (!outside)
    outside = element == Scalar::real      ? terms().real(0)
              : element == Scalar::integer ? terms().integer(0)
                                           : terms().boolean(false);
  return terms().read(id, element, *at, outside);
}

} // namespace tang::parse

#include "graph/streaming.h"
#include "graph/reads.h"
#include <algorithm>

namespace tang::graph {

namespace {

/// What a copy moves at once.
constexpr int copied_bits = 128;

class Finder {
public:
  Finder(const Graph& graph, const Comprehension& c, bool tf32)
      : g_(graph), c_(c), r_(*c.reduction), tf32_(tf32) {}

  std::optional<Streaming> find() {
    auto monoid = scaled_monoid(g_, g_[r_.monoid]);
    if (!monoid || !g_[r_.monoid].commutative) return std::nullopt;
    out_.monoid = *monoid;
    stream_ = r_.axes[0].index;
    if (!amounts() || !scores() || out_.scores.empty() || !sides() || !reads() || !results())
      return std::nullopt;
    return out_;
  }

private:
  bool moves(ExprId id, IndexId index) const {
    const auto& free = g_.exprs[id].free;
    return std::binary_search(free.begin(), free.end(), index);
  }
  bool moves_with_rows(ExprId id) const {
    return std::any_of(out_.rows.begin(), out_.rows.end(),
                       [&](size_t i) { return moves(id, c_.points[i].index); });
  }
  std::optional<int64_t> constant(const Axis& axis) const {
    return g_.exprs.as_integer(axis.extent);
  }
  bool is_gathered(const Expr& read) const {
    return std::any_of(read.operands.begin(), read.operands.end(),
                       [&](ExprId place) { return g_.exprs[place].has_read; });
  }
  /// A read of a factor that runs of neighbours along `axis` can be copied of.
  bool is_factor(ExprId id, const Axis& axis) const {
    const Expr& e = g_.exprs[id];
    if (e.op != Op::read) return false;
    ElemType type = g_[TensorId(e.ref)].type;
    bool taken =
        type == ElemType::f16 || type == ElemType::bf16 || (tf32_ && type == ElemType::f32);
    return taken && moves_as_vector(g_, e, axis, copied_bits / info(type).bits) && !is_gathered(e);
  }
  bool same_format(ExprId read) {
    ElemType type = g_[TensorId(g_.exprs[read].ref)].type;
    if (!format_) format_ = out_.format = type;
    return *format_ == type;
  }

  bool amounts() {
    for (const ScaledMonoid::Amount& scaled : out_.monoid.amounts) {
      Streaming::Amount amount{scaled, {}, {}, {}, {}};
      const auto& axes = r_.field_axes.empty() ? std::vector<Axis>() : r_.field_axes[scaled.field];
      if (axes.size() > 1) return false;
      bool indexed = !axes.empty();
      if (indexed) amount.axis = axes[0];
      if (!product(r_.body[scaled.field], amount, indexed) || indexed != bool(amount.read))
        return false;
      for (auto* list : {&amount.factors, &amount.divisors}) std::sort(list->begin(), list->end());
      out_.amounts.push_back(std::move(amount));
    }
    return true;
  }

  /// Takes a body apart at its products and quotients; one factor alone moves along the field's
  /// axis.
  bool product(ExprId body, Streaming::Amount& amount, bool indexed) {
    std::vector<std::pair<ExprId, bool>> stack{{body, false}};
    while (!stack.empty()) {
      auto [id, divides] = stack.back();
      stack.pop_back();
      const Expr& e = g_.exprs[id];
      bool along = indexed && moves(id, amount.axis.index);
      if (e.op == Op::mul || e.op == Op::div) {
        stack.push_back({e.operands[1], divides != (e.op == Op::div)});
        stack.push_back({e.operands[0], divides});
      } else if (along) {
        if (divides || amount.read || !is_factor(id, amount.axis) || !constant(amount.axis) ||
            !same_format(id))
          return false;
        amount.read = id;
      } else if (e.op != Op::literal_real || e.real != 1) {
        (divides ? amount.divisors : amount.factors).push_back(id);
      }
    }
    return true;
  }

  std::vector<ExprId> terms() const {
    std::vector<ExprId> roots;
    for (uint32_t f : out_.monoid.references) roots.push_back(r_.body[f]);
    for (const Streaming::Amount& a : out_.amounts)
      for (const auto* list : {&a.factors, &a.divisors})
        roots.insert(roots.end(), list->begin(), list->end());
    if (r_.filter) roots.push_back(r_.filter);
    return roots;
  }

  /// Visits the terms under the roots from the top, not what is inside folds and reads.
  template <class F>
  bool outside_folds(F&& visit) const {
    std::vector<ExprId> stack = terms();
    std::sort(stack.begin(), stack.end());
    std::vector<ExprId> seen = stack;
    while (!stack.empty()) {
      ExprId id = stack.back();
      stack.pop_back();
      const Expr& e = g_.exprs[id];
      if (!visit(id, e)) return false;
      if (e.op == Op::fold || e.op == Op::read) continue;
      for (ExprId operand : e.operands) {
        auto at = std::lower_bound(seen.begin(), seen.end(), operand);
        if (at != seen.end() && *at == operand) continue;
        seen.insert(at, operand);
        stack.push_back(operand);
      }
    }
    return true;
  }

  bool scores() {
    return outside_folds([&](ExprId id, const Expr& e) {
      return e.op != Op::fold || !moves(id, stream_) || score(id, e);
    });
  }

  bool score(ExprId id, const Expr& e) {
    auto monoid = scaled_monoid(g_, g_[MonoidId(e.ref)]);
    bool sums = monoid && monoid->references.empty() && monoid->amounts.size() == 1 &&
                !monoid->amounts[0].left && !monoid->amounts[0].right;
    const Expr& body = g_.exprs[e.operands[0]];
    if (!sums || e.bound.size() != 1 || body.op != Op::mul ||
        g_.exprs.as_boolean(e.operands[1]) != true)
      return false;
    Axis depth{e.bound[0], e.operands[2], "r", {}, {}};
    ExprId row = body.operands[0], column = body.operands[1];
    if (moves(row, stream_)) std::swap(row, column);
    if (moves(row, stream_) || !moves(column, stream_) || !constant(depth) ||
        !is_factor(row, depth) || !is_factor(column, depth) || !same_format(row) ||
        !same_format(column))
      return false;
    out_.scores.push_back({id, row, column, depth});
    return true;
  }

  /// Rows are the points that no factor along the streamed axis moves with.
  bool sides() {
    for (size_t i = 0; i < c_.points.size(); ++i) {
      IndexId index = c_.points[i].index;
      bool shared = std::none_of(out_.scores.begin(), out_.scores.end(),
                                 [&](const auto& s) { return moves(s.row, index); });
      for (const Streaming::Score& s : out_.scores) shared |= moves(s.column, index);
      for (const Streaming::Amount& a : out_.amounts) shared |= a.read && moves(a.read, index);
      (shared ? out_.batch : out_.rows).push_back(i);
    }
    return !out_.rows.empty();
  }

  /// Results read the state of an indexed field at their own extra index only.
  bool results() const {
    for (const Result& result : c_.results)
      for (ExprId id : reachable(g_.exprs, {&result.value, 1})) {
        const Expr& e = g_.exprs[id];
        if (e.op != Op::acc || e.operands.empty()) continue;
        const Expr& place = g_.exprs[e.operands[0]];
        if (e.operands.size() != 1 || result.extra.empty() || place.op != Op::index ||
            place.ref != result.extra[0].index.value ||
            result.extra[0].extent != r_.field_axes[e.ref][0].extent)
          return false;
      }
    return true;
  }

  /// Everything else that terms read moves along one side only.
  bool reads() {
    return outside_folds([&](ExprId id, const Expr& e) {
      if (e.op != Op::read) return true;
      if (!moves(id, stream_)) return true;
      const Tensor& t = g_[TensorId(e.ref)];
      // An asynchronous copy moves whole words.
      if (moves_with_rows(id) || is_gathered(e) || e.guarded || info(t.type).bits != 32)
        return false;
      out_.columns.push_back(id);
      return true;
    });
  }

  const Graph& g_;
  const Comprehension& c_;
  const Reduction& r_;
  bool tf32_;
  Streaming out_;
  IndexId stream_;
  std::optional<ElemType> format_;
};

} // namespace

std::optional<Streaming> streaming(const Graph& graph, const Comprehension& c, bool tf32) {
  if (!c.reduction || c.scan || c.reduction->axes.size() != 1) return std::nullopt;
  for (const Result& result : c.results)
    if (result.extra.size() > 1 || graph[result.tensor].over) return std::nullopt;
  return Finder(graph, c, tf32).find();
}

} // namespace tang::graph

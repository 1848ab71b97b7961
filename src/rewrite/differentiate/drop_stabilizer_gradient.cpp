// drop_stabilizer_gradient: a maximum that only keeps numbers small gets no gradient.
//
//   m[i] = max[j] s[i, j],  l[i] = sum[j] exp(s[i, j] - m[i]),  p[i, j] = exp(s[i, j] - m[i]) /
//   l[i]
//
// Shift m[i] by t: l is multiplied by exp(-t), and so is the numerator; p does not change. A value
// that changes for no t has derivative 0 by m, however it is computed. Each tensor behind m has a
// degree: T + k*t is additive of degree k, T * exp(k*t) multiplicative; exact identities only
// (shift.h). When all of them come to 0 before the result, nothing flows into m, and no arg max is
// needed. Of an online softmax the maximum and the sums relative to it shift together.
#include "rewrite/differentiate/drop_stabilizer_gradient.h"
#include "rewrite/differentiate/monoid.h"
#include "rewrite/differentiate/online.h"
#include "rewrite/differentiate/shift.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace tang::rewrite {
using namespace graph;

namespace {

using Kind = Shift::Kind;

class Proofs {
public:
  Proofs(Graph& graph, std::vector<Node>& nodes, const std::vector<size_t>& order, TensorId of,
         const TensorSet& active)
      : graph_(graph), nodes_(nodes), order_(order), of_(of), active_(active) {}

  TensorSet run() {
    for (size_t n : order_)
      for (TensorId id : reads_of(graph_, nodes_[n])) readers_[id].insert(n);
    TensorSet constant;
    for (size_t n : order_) {
      auto* c = std::get_if<Comprehension>(&nodes_[n].definition);
      if (!c || !c->reduction || c->scan) continue;
      for (const Result& result : std::vector(c->results))
        if (active_.contains(result.tensor) && is_extremum(*c, result) && proved(n, result.tensor))
          constant.insert(result.tensor);
    }
    return constant;
  }

private:
  bool is_extremum(const Comprehension& c, const Result& result) const {
    const Expr& e = graph_.exprs[result.value];
    if (e.op != Op::acc || !e.operands.empty()) return false;
    FieldKind kind = kind_of(graph_, c.reduction->monoid, e.ref);
    return kind == FieldKind::maximum || kind == FieldKind::minimum;
  }

  /// The maximum itself shifts by 1; sums of the same node that are relative to it by exp(-t).
  bool start(size_t n, TensorId max, Shifts& shifts) {
    const Comprehension c = std::get<Comprehension>(nodes_[n].definition);
    uint32_t field = 0;
    for (const Result& result : c.results)
      if (result.tensor == max) field = graph_.exprs[result.value].ref;
    for (const Result& result : c.results) {
      std::vector<ExprId> row;
      for (uint32_t k = 0; k < c.points.size(); ++k) row.push_back(graph_.exprs.index(IndexId(k)));
      const Expr e = graph_.exprs[result.value];
      bool plain = e.op == Op::acc;
      if (plain && e.ref == field) {
        shifts[result.tensor] = {Kind::additive, 1, row, {}};
      } else if (plain && scaled_by_maximum(graph_, c.reduction->monoid, e.ref) == field) {
        shifts[result.tensor] = {Kind::multiplicative, -1, row, {}};
      } else {
        // Another field by itself stays; a value computed from several is not looked into.
        auto behind = plain ? fields_behind(graph_, c.reduction->monoid, e.ref)
                            : std::vector<uint32_t>{field};
        if (std::find(behind.begin(), behind.end(), field) != behind.end()) return false;
      }
    }
    return true;
  }

  bool proved(size_t n, TensorId max) {
    Shifts shifts;
    if (max == of_ || !start(n, max, shifts)) return false;
    std::set<size_t> waiting;
    std::map<size_t, std::string> seen; ///< what to print, in the order of the nodes
    auto shifted = [&](size_t at, TensorId id, const Shift& s) {
      const char* kind = s.kind == Kind::additive         ? " additive"
                         : s.kind == Kind::multiplicative ? " multiplicative"
                                                          : "";
      seen[at] += fmt::format(", `{}` {}{}", graph_[id].name, s.degree, kind);
      if (s.kind == Kind::none || s.kind == Kind::zero) return;
      for (size_t reader : readers_[id]) waiting.insert(reader);
    };
    for (const Result& result : std::get<Comprehension>(nodes_[n].definition).results)
      if (auto at = shifts.find(result.tensor); at != shifts.end())
        shifted(n, result.tensor, at->second);
    // A stabiliser is cancelled nearby.
    constexpr int most = 64;
    for (int steps = 0; !waiting.empty(); ++steps) {
      if (steps == most) return false;
      size_t at = *waiting.begin();
      waiting.erase(waiting.begin());
      auto found = shifts_of(graph_, nodes_[at], shifts, max);
      auto defined = defines_of(nodes_[at]);
      for (size_t k = 0; k < defined.size(); ++k) {
        if (found[k].kind == Kind::unknown) return false;
        bool still = found[k].kind == Kind::none || found[k].kind == Kind::zero;
        if (!still && defined[k] == of_) return false;
        if (!still) shifts[defined[k]] = found[k];
        shifted(at, defined[k], found[k]);
      }
    }
    std::string degrees;
    for (const auto& [at, text] : seen) degrees += text;
    nodes_[n].derivation.push_back(
        fmt::format("drop_stabilizer_gradient: `{}` does not depend on `{}`; degrees of shift: {}",
                    graph_[of_].name, graph_[max].name, degrees.substr(2)));
    return true;
  }

  Graph& graph_;
  std::vector<Node>& nodes_;
  const std::vector<size_t>& order_;
  TensorId of_;
  const TensorSet& active_;
  std::unordered_map<TensorId, std::set<size_t>> readers_;
};

} // namespace

TensorSet constant_maxima(Graph& graph, std::vector<Node>& nodes, const std::vector<size_t>& order,
                          TensorId of, const TensorSet& active) {
  return Proofs(graph, nodes, order, of, active).run();
}

} // namespace tang::rewrite

// `repeat` is unrolled; `recur` is a node with a body.
#include "base/check.h"
#include "base/checked.h"
#include "graph/prover.h"
#include "graph/recur.h"
#include "graph/text.h"
#include "parse/elaborate/constants.h"
#include "parse/elaborate/equations.h"
#include "parse/elaborate/nodes.h"
#include "parse/elaborate/statements.h"
#include "parse/elaborate/uses.h"

namespace tang::parse {
namespace {

/// Names declared inside a loop end with it; the sets of carried names are restored.
class LoopScope {
public:
  explicit LoopScope(Context& c)
      : c_(c), names_(c.scope_names), carried_(c.carried), rebound_(c.rebound) {
    c.scope_names = &own_;
    c.carried.clear(), c.rebound.clear();
  }
  ~LoopScope() {
    forget();
    c_.scope_names = names_;
    // What an inner loop carries is bound anew for the loops around as well.
    std::set<std::string> inner = std::move(c_.rebound);
    c_.carried = std::move(carried_), c_.rebound = std::move(rebound_);
    for (const std::string& name : inner)
      if (c_.carried.contains(name)) c_.rebound.insert(name);
  }
  void forget() {
    for (const std::string& name : own_) c_.symbols.erase(name);
    own_.clear();
  }
  LoopScope(const LoopScope&) = delete;
  LoopScope& operator=(const LoopScope&) = delete;

private:
  Context& c_;
  std::vector<std::string>* names_;
  std::set<std::string> carried_, rebound_;
  std::vector<std::string> own_;
};

/// Hides the global meaning of a loop's index while the loop lasts.
class IndexSymbol {
public:
  IndexSymbol(Context& c, const Name& name) : c_(c), name_(name.text) {
    auto at = c.symbols.find(name_);
    if (at == c.symbols.end()) return;
    hidden_ = at->second;
    c.report(Kind::shadowed_name, name.span, "index `{}` hides a name of the file", name.text)
        .note(at->second.span, "declared here");
  }
  ~IndexSymbol() {
    c_.symbols.erase(name_);
    if (hidden_) c_.symbols[name_] = *hidden_;
  }
  void set(Span span, std::variant<TensorSymbol, DimSymbol, LetSymbol> what) {
    c_.symbols[name_] = Symbol{span, what, true};
  }
  IndexSymbol(const IndexSymbol&) = delete;
  IndexSymbol& operator=(const IndexSymbol&) = delete;

private:
  Context& c_;
  std::string name_;
  std::optional<Symbol> hidden_;
};

/// The tensor under a name; an id that names nothing when erroneous.
graph::TensorId tensor_under(Context& c, const std::string& name) {
  Symbol* symbol = c.find(name);
  const TensorSymbol* tensor = symbol ? std::get_if<TensorSymbol>(&symbol->what) : nullptr;
  return tensor ? tensor->id : graph::TensorId();
}

bool check_carried(Context& c, const Name& name) {
  Symbol* symbol = c.find(name.text);
  if (!symbol) {
    c.report_unknown(name);
    return false;
  }
  symbol->used = true;
  if (std::holds_alternative<TensorSymbol>(symbol->what)) return true;
  c.report(Kind::not_carried, name.span, "`{}` is no tensor, so it cannot be carried", name.text)
      .note(symbol->span, "it is declared here");
  return false;
}

void check_rebound(Context& c, const Name& name) {
  if (c.rebound.contains(name.text)) return;
  c.report(Kind::not_carried, name.span, "`{}` is carried, and no equation inside binds it again",
           name.text);
}

} // namespace

void elaborate_repeat(Context& c, const Module& m, const Repeat& repeat, Span) {
  auto lo = constant_integer(c, m, repeat.range.lo, Kind::bad_repeat, "the first round");
  auto hi = constant_integer(c, m, repeat.range.hi, Kind::bad_repeat, "the last round");
  if (hi && repeat.range.inclusive) hi = checked_add(*hi, 1);
  bool ok = lo && hi;
  for (const Name& name : repeat.carry) ok &= check_carried(c, name);
  if (!ok) {
    for (const Name& name : repeat.carry)
      if (Symbol* symbol = c.find(name.text)) symbol->what = TensorSymbol{};
    return;
  }
  IndexSymbol index(c, repeat.index);
  LoopScope scope(c);
  for (const Name& name : repeat.carry) c.carried.insert(name.text);
  std::string suffix = c.suffix;
  ++c.expanding;
  size_t errors = c.sink->error_count();
  for (int64_t l = *lo; l < *hi; ++l) {
    // An equation is worth many terms: it makes a node, a tensor and names.
    if (!c.charge(repeat.index.span, 100 * (1 + repeat.body.size()))) break;
    index.set(repeat.index.span, DimSymbol{c.terms().integer(l)});
    c.suffix = fmt::format("{}_{}", suffix, l);
    for (StmtId id : repeat.body) elaborate_statement(c, m, m[id], true);
    scope.forget();
    if (l == *lo)
      for (const Name& name : repeat.carry) check_rebound(c, name);
    // One round shows what is wrong; the others would repeat it.
    if (c.sink->error_count() > errors) break;
  }
  --c.expanding;
  c.suffix = suffix;
}

namespace {

class RecurBuilder {
public:
  RecurBuilder(Context& c, const Module& m, const Recur& r, Span span)
      : c_(c), m_(m), r_(r), span_(span) {}

  void run() {
    bool ok = starts();
    Term extent = r_.index.extent ? extent_term(c_, m_, r_.index.extent) : inferred_extent();
    if (!ok || !extent) return refuse();
    node_.time = graph::Axis{graph::IndexId(0), extent, r_.index.name.text, {}, {}};
    std::vector<Term> axioms = c_.axioms;
    make_step();
    bool built = body();
    c_.axioms = std::move(axioms);
    c_.steps.erase(node_.step);
    if (!built) return refuse();
    finish();
  }

private:
  /// The names that the recurrence would have made are erroneous.
  void refuse() {
    for (const CarryPair& pair : r_.carry) make_visible(pair.carried, {});
    for (const CollectPair& pair : r_.collect) make_visible(pair.collected, {});
  }

  void make_visible(const Name& name, graph::TensorId tensor) {
    // `carry h = h` binds the start's own name again.
    auto same = [&](const CarryPair& pair) {
      return pair.carried.text == name.text && pair.start.text == name.text;
    };
    bool again = std::any_of(r_.carry.begin(), r_.carry.end(), same);
    if (Symbol* symbol = again ? c_.find(name.text) : nullptr) {
      symbol->what = TensorSymbol{tensor};
      c_.rebound.insert(name.text);
    } else {
      declare_tensor(c_, name, tensor);
    }
  }

  bool starts() {
    bool ok = true;
    for (const CarryPair& pair : r_.carry) {
      ok &= check_carried(c_, pair.start);
      starts_.push_back(tensor_under(c_, pair.start.text));
      ok &= static_cast<bool>(starts_.back());
    }
    return ok;
  }

  Term inferred_extent() {
    UseFinder finder(c_, c_.callables.size(), {}, {r_.index.name.text});
    std::vector<StmtId> bodies(r_.body.rbegin(), r_.body.rend());
    while (!bodies.empty()) {
      const Stmt& stmt = m_[bodies.back()];
      bodies.pop_back();
      if (const Equation* e = std::get_if<Equation>(&stmt.form)) finder.walk(m_, e->value);
      auto enter = [&](const std::vector<StmtId>& inner) {
        bodies.insert(bodies.end(), inner.rbegin(), inner.rend());
      };
      if (const Repeat* repeat = std::get_if<Repeat>(&stmt.form)) enter(repeat->body);
      if (const Recur* recur = std::get_if<Recur>(&stmt.form)) enter(recur->body);
    }
    return agreed_extent(c_, r_.index.name, finder.uses(0));
  }

  void make_step() {
    std::string name = r_.index.name.text + c_.suffix;
    if (!c_.tensor_names.insert(name).second) name = c_.unique_tensor_name(name);
    graph::Tensor step = graph::step_tensor(c_.graph, std::move(name), node_.time.extent);
    step.span = r_.index.name.span;
    node_.step = c_.graph.add(std::move(step));
    c_.steps.insert(node_.step);
    graph::ExprStore& s = c_.terms();
    Term read = s.read(node_.step, Scalar::integer, {});
    c_.axioms.push_back(s.binary(graph::Op::le, s.integer(0), read));
    c_.axioms.push_back(s.binary(graph::Op::lt, read, node_.time.extent));
  }

  graph::TensorId add_like(graph::TensorId model, const std::string& name, Span span) {
    graph::Tensor tensor;
    tensor.shape = c_.graph[model].shape, tensor.span = span;
    tensor.name = name;
    if (!c_.tensor_names.insert(tensor.name).second) tensor.name = c_.unique_tensor_name(name);
    switch (graph::scalar_of(c_.graph[model].type)) {
    case Scalar::boolean: tensor.type = graph::ElemType::boolean; break;
    case Scalar::integer: tensor.type = graph::ElemType::i64; break;
    case Scalar::real:
      tensor.type = c_.graph[model].type == graph::ElemType::f64 ? graph::ElemType::f64
                                                                 : graph::ElemType::f32;
      break;
    }
    return c_.graph.add(std::move(tensor));
  }

  bool body() {
    std::vector<graph::Node>* outer = c_.nodes;
    size_t errors = c_.sink->error_count();
    std::map<std::string, std::optional<Symbol>> hidden;
    for (const CarryPair& pair : r_.carry) {
      Symbol* symbol = c_.find(pair.carried.text);
      hidden[pair.carried.text] = symbol ? std::optional(*symbol) : std::nullopt;
    }
    {
      IndexSymbol index(c_, r_.index.name);
      index.set(r_.index.name.span, TensorSymbol{node_.step});
      LoopScope scope(c_);
      for (size_t k = 0; k < r_.carry.size(); ++k) {
        const Name& name = r_.carry[k].carried;
        graph::TensorId current = add_like(starts_[k], name.text + c_.suffix, name.span);
        node_.carries.push_back({starts_[k], current, {}, {}});
        c_.symbols[name.text] = Symbol{name.span, TensorSymbol{current}, true};
        c_.carried.insert(name.text);
      }
      c_.nodes = &node_.body;
      for (StmtId id : r_.body) elaborate_statement(c_, m_, m_[id], true);
      c_.nodes = outer;
      for (const CarryPair& pair : r_.carry) check_rebound(c_, pair.carried);
      find_values();
    }
    for (auto& [name, symbol] : hidden) {
      if (symbol)
        c_.symbols[name] = *symbol;
      else
        c_.symbols.erase(name);
    }
    return c_.sink->error_count() == errors && check_values();
  }

  void find_values() {
    for (size_t k = 0; k < r_.carry.size(); ++k)
      node_.carries[k].next = tensor_under(c_, r_.carry[k].carried.text);
    for (const CollectPair& pair : r_.collect) {
      if (!c_.find(pair.carried.text)) c_.report_unknown(pair.carried);
      node_.collects.push_back({tensor_under(c_, pair.carried.text), {}});
    }
  }

  bool check_values() {
    bool ok = true;
    for (size_t k = 0; k < r_.carry.size(); ++k) {
      const graph::Carry& carry = node_.carries[k];
      if (!carry.next) return false;
      const graph::Tensor &from = c_.graph[carry.current], &to = c_.graph[carry.next];
      const Name& name = r_.carry[k].carried;
      bool same_class = graph::scalar_of(from.type) == graph::scalar_of(to.type);
      if (from.shape == to.shape && same_class) continue;
      c_.report(Kind::not_carried, to.span, "`{}` is bound again with another {}", name.text,
                same_class ? "shape" : "class of values")
          .note(c_.graph[carry.init].span, "it starts with this tensor");
      ok = false;
    }
    for (const graph::Collect& collect : node_.collects) ok &= static_cast<bool>(collect.value);
    return ok;
  }

  void finish() {
    for (size_t k = 0; k < r_.carry.size(); ++k) {
      graph::Carry& carry = node_.carries[k];
      graph::ElemType type = c_.graph[carry.current].type, next = c_.graph[carry.next].type;
      if (graph::scalar_of(type) == Scalar::real && next != type) type = next;
      c_.graph[carry.current].type = c_.graph[carry.next].type = type;
      if (graph::scalar_of(type) == Scalar::integer) c_.graph[carry.next].range.reset();
      carry.last = add_like(carry.next, r_.carry[k].carried.text + "_last" + c_.suffix,
                            r_.carry[k].carried.span);
      c_.graph[carry.last].type = type;
    }
    for (size_t k = 0; k < r_.collect.size(); ++k) {
      graph::Collect& collect = node_.collects[k];
      collect.stacked = add_like(collect.value, r_.collect[k].collected.text + c_.suffix,
                                 r_.collect[k].collected.span);
      graph::Tensor& stacked = c_.graph[collect.stacked];
      stacked.type = c_.graph[collect.value].type, stacked.range = c_.graph[collect.value].range;
      stacked.shape.insert(stacked.shape.begin(), node_.time.extent);
    }
    std::vector<graph::TensorId> last, stacked;
    for (const graph::Carry& carry : node_.carries) last.push_back(carry.last);
    for (const graph::Collect& collect : node_.collects) stacked.push_back(collect.stacked);
    graph::Node node;
    node.definition = std::move(node_), node.span = span_;
    c_.nodes->push_back(std::move(node));
    for (size_t k = 0; k < last.size(); ++k) make_visible(r_.carry[k].carried, last[k]);
    for (size_t k = 0; k < stacked.size(); ++k) make_visible(r_.collect[k].collected, stacked[k]);
  }

  Context& c_;
  const Module& m_;
  const Recur& r_;
  Span span_;
  std::vector<graph::TensorId> starts_;
  graph::Recur node_;
};

} // namespace

void elaborate_recur(Context& context, const Module& module, const Recur& recur, Span span) {
  RecurBuilder(context, module, recur, span).run();
}

} // namespace tang::parse

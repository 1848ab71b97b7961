#pragma once
// Lowers graph terms to kernel values, emitting the loads they need.
//
// A point that a filter, a guard or an untaken branch excludes must not touch memory outside its
// tensor. So each read is loaded under the disjunction of the paths that need it; everything else
// is computed unconditionally and selected.
#include "graph/prover.h"
#include "lower/builder.h"
#include <functional>
#include <memory>
#include <unordered_set>
#include <utility>

namespace tang::lower {

struct Needs;

/// term = factor * rest, where a factor or a divisor is a constant in the middle of the range; else
/// the term and 1.
std::pair<ExprId, double> constant_factor(const graph::ExprStore& store, ExprId term);

class Terms {
public:
  /// `real` is the format that real numbers compute in.
  Terms(Builder& builder, Type real);

  Builder& builder() { return builder_; }
  kernel::ValueStore& values() { return builder_.values(); }
  graph::Prover& prover() { return *here_.prover; }
  /// The same facts, but for what data are declared to be: no test may go because of that.
  graph::Prover whatever_data_hold() const {
    graph::Prover known = *here_.prover;
    known.distrust_data();
    return known;
  }
  Type real() const { return real_; }

  /// The value of a bound index.
  ValueId index(graph::IndexId id) const { return here_.indices.at(id); }
  /// Gives an index its value (of type index) from here to the end of the scope.
  void bind(graph::IndexId index, ValueId value);
  void bind(const graph::Axis& axis, ValueId value);

  /// What acc, lhs and rhs terms mean here; the places are already lowered.
  using State =
      std::function<ValueId(graph::Op op, uint32_t field, const std::vector<ValueId>& places)>;
  State exchange_state(State state) { return std::exchange(state_, std::move(state)); }
  /// A value for some reads instead of memory (registers of a row, vectors loaded before).
  using Override = std::function<std::optional<ValueId>(ExprId read)>;
  Override exchange_override(Override override) {
    return std::exchange(override_, std::move(override));
  }

  /// Values for whole subterms (operands of a contraction that were staged); nothing below them is
  /// emitted.
  Override exchange_operands(Override operands) {
    return std::exchange(operands_, std::move(operands));
  }

  /// Quotients that move with `index` by a divisor that does not become products with its
  /// reciprocal (a law over the reals), which `hoist` computes once.
  void multiply_by_reciprocals(graph::IndexId index) { reciprocal_index_ = index; }

  /// x / d = (x * factor) * reciprocal, where factor is 1 but for the smallest divisors.
  struct Reciprocal {
    ValueId factor, reciprocal;
  };
  Reciprocal reciprocal_of(ValueId divisor);
  /// What quotients by this divisor become products with from here on.
  void set_reciprocal(ExprId divisor, Reciprocal r) { reciprocals_[divisor] = r; }

  /// exp(x) = exp2(x log2 e) from here on, by this instruction where there is one (its subnormal
  /// results may be 0). Units compute powers of 2, and the product loses |x| units in the last
  /// place of a value e^x: next to nothing of a sum whose largest terms are near 1.
  void use_powers_of_two(const atomics::Row* instruction);
  /// 2^x in those terms.
  ValueId power_of_two(ValueId exponent);
  /// factor * term, where constant factors of the term and of its summands go into the factor.
  ValueId scaled(ExprId term, double factor);

  /// Values of the terms, loads emitted at the builder's place. `path` is a boolean term under
  /// which alone the terms are needed (empty = always).
  std::vector<ValueId> lower(std::span<const ExprId> roots, ExprId path = {});
  ValueId lower(ExprId root, ExprId path = {}) { return lower({&root, 1}, path)[0]; }

  /// Emits now what `roots` need whatever the value of indices not bound yet: loads and subterms
  /// that are free of them, needed on every path, and in range by what is known here. With
  /// `states`, the states of a reduction count as known: they do not change until the roots are
  /// lowered.
  void hoist(std::span<const ExprId> roots, ExprId path = {}, bool states = false);

  /// Names bound and terms emitted inside are forgotten when `inside` returns.
  template <class F>
  void scope(F&& inside) {
    size_t terms = here_.trail.size(), indices = here_.index_trail.size(),
           facts = here_.prover->mark();
    inside();
    leave(terms, indices, facts);
  }

  /// The parameter that a read's memory is, and how many of its leading places that leaves out.
  std::pair<kernel::TensorId, size_t> memory_of(const graph::Expr& read);
  /// Runs `inside` with no index bound, no term emitted and no fact known: a monoid numbers its own
  /// indices, which mean nothing to the node around it.
  template <class F>
  void isolate(F&& inside) {
    Context own(builder_.graph());
    Context* before = std::exchange(outside_, &own);
    std::swap(here_, own);
    inside();
    std::swap(here_, own);
    outside_ = before;
  }
  /// Inside `isolate`: runs `inside` with what is known around it.
  template <class F>
  void outside(F&& inside) {
    Context* node = std::exchange(outside_, nullptr);
    std::swap(here_, *node);
    scope(inside);
    std::swap(here_, *node);
    outside_ = node;
  }

  /// The machine type of a term's value.
  Type type_of(ExprId id) const;
  ValueId convert(ValueId value, Type to) { return values().convert(to, value); }

private:
  std::optional<ExprId> invariant_divisor(const graph::Expr& e) const;
  void leave(size_t terms, size_t indices, size_t facts);
  void emit_terms(std::span<const ExprId> roots, Needs& needs);
  ValueId emit_term(ExprId id, ValueId predicate);
  ValueId emit_read(const graph::Expr& e, ExprId id, ValueId predicate);
  ValueId emit_fold(const graph::Expr& e);
  ValueId operation(const graph::Expr& e, Type type);
  std::optional<ValueId> quotient(const graph::Expr& e, Type type);
  ValueId scaled_product(ExprId term, double factor);
  ValueId at(ExprId id, Type type);
  void remember(ExprId id, ValueId value);

  Builder& builder_;
  Type real_;
  State state_;
  Override override_;
  Override operands_;
  graph::IndexId reciprocal_index_;
  bool powers_of_two_ = false;
  const atomics::Row* power_ = nullptr;
  kernel::TensorId exponent_;                          ///< the register that `power_` works in
  std::unordered_map<ExprId, Reciprocal> reciprocals_; ///< by divisor
  /// What is bound, emitted and known at the place where terms are lowered.
  struct Context {
    explicit Context(const graph::Graph& graph) : prover(std::make_unique<graph::Prover>(graph)) {}
    std::unordered_map<graph::IndexId, ValueId> indices;
    std::vector<std::pair<graph::IndexId, std::optional<ValueId>>> index_trail;
    std::unordered_map<ExprId, ValueId> done;
    std::vector<ExprId> trail;
    std::unique_ptr<graph::Prover> prover; ///< behind a pointer only so that contexts swap
  };
  Context here_;
  Context* outside_ = nullptr;          ///< of the innermost `isolate`
  std::unordered_set<ExprId> loosened_; ///< reads that check their range themselves
};

} // namespace tang::lower

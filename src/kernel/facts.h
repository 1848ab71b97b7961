#pragma once
// What is known at a place of a kernel, in the words of the graph's prover: coordinates and loops
// are indices with extents, scalar parameters and data are dims, lets are what they stand for, and
// the conditions around a statement are facts.
#include "graph/prover.h"
#include "kernel/program.h"

namespace tang::kernel {

/// A variable that runs: a mode of the grid or of the block, or a loop (which counts its rounds).
struct Digit {
  graph::IndexId index;
  graph::ExprId extent;
};

/// Where a statement stands: it runs once for every value of the digits for which all conditions
/// hold.
struct Place {
  std::vector<Digit> digits;
  std::vector<graph::ExprId> conditions;
  int branches = 0; ///< loops and ifs around it
};

class Facts {
public:
  explicit Facts(const Kernel& kernel);
  /// The kernel as a variant launches it: dims instead of scalar parameters, and the variant's
  /// condition.
  Facts(const Kernel& kernel, const ValueStore& host, const Variant& variant);
  Facts(const Facts&) = delete;
  Facts& operator=(const Facts&) = delete;

  const Kernel& kernel() const { return kernel_; }
  graph::ExprStore& exprs() { return graph_.exprs; }
  graph::Prover& prover() { return prover_; }
  /// What holds whatever the conditions around a place say: loop bounds and dims.
  const graph::Prover& unconditional() const { return unconditional_; }
  /// Takes a condition as true until `rewind`.
  void assume(graph::ExprId condition);
  /// What is known now, to come back to.
  struct Mark {
    size_t facts, unconditional, bounds, splits, terms;
  };
  Mark mark() const;
  void rewind(const Mark& mark);
  /// An integer or boolean value. What the graph cannot say becomes an unknown.
  graph::ExprId term(ValueId id);
  std::optional<graph::Polynomial> polynomial(graph::ExprId id) const {
    return graph::polynomial_of(graph_.exprs, id);
  }

  /// What is known of the dims alone: not even that a coordinate has a value.
  graph::Prover about_dims() const;

  /// Visits every statement in order, with the facts of its place in force.
  void walk(const std::function<void(const Stmt&, const Place&)>& visit);

  /// x = divisor*quotient + remainder with 0 <= remainder < divisor, made for a division by a term
  /// that is no constant where that term is at least 1.
  struct Split {
    graph::ExprId x, divisor, quotient, remainder;
  };
  const std::vector<Split>& splits() const { return splits_; }

private:
  using Terms = std::unordered_map<ValueId, graph::ExprId>;
  graph::ExprId translate(const ValueStore& store, ValueId root, Terms& done,
                          std::unordered_map<VarId, graph::ExprId>& vars);
  graph::ExprId translate_one(const ValueStore& store, const Value& v, const Terms& done);
  graph::ExprId unknown(Type type, graph::IntRange range);
  graph::ExprId divide(Op op, graph::ExprId x, graph::ExprId divisor);
  graph::ExprId quotient(graph::ExprId x, const graph::Polynomial& divisor);
  void factors_are_positive(graph::ExprId product);
  Digit digit(graph::ExprId extent, const std::string& name);
  void grid();
  void body(const Body& statements, Place& place,
            const std::function<void(const Stmt&, const Place&)>& visit);
  void loop(const For& loop, Place& place,
            const std::function<void(const Stmt&, const Place&)>& visit);
  void branch(const Body& statements, graph::ExprId condition, Place& place,
              const std::function<void(const Stmt&, const Place&)>& visit);

  const Kernel& kernel_;
  graph::Graph graph_;
  graph::Prover prover_{graph_}, unconditional_{graph_};
  std::unordered_map<VarId, graph::ExprId> vars_;
  Terms done_;
  std::vector<Digit> grid_;
  size_t about_dims_ = 0; ///< facts that hold without any coordinate
  std::vector<Split> splits_;
  std::vector<ValueId> trail_;        ///< of done_
  std::vector<graph::ExprId> bounds_; ///< what some value was seen to be less than
  uint32_t indices_ = 0;
};

} // namespace tang::kernel

#pragma once
// What is known at a place of a kernel, in the words of the graph's prover: coordinates and loops
// are indices with extents, scalar parameters and data are dims, lets are what they stand for, and
// the conditions around a statement are facts.
#include "graph/prover.h"
#include "kernel/program.h"

namespace tang::kernel {

/// A variable that runs through 0 .. extent: a mode of the grid or of the block, a loop (which
/// counts its rounds), or a coordinate taken from a flat number.
struct Digit {
  graph::ExprId index; ///< as a term
  graph::ExprId extent;
  friend bool operator==(const Digit&, const Digit&) = default;
};

/// A flat number below the product of the extents of its digits, the last of which is fastest.
struct Split {
  graph::ExprId number;
  std::vector<Digit> digits;
};

/// Where a statement stands: it runs once for every value of the digits for which all conditions
/// hold.
struct Place {
  std::vector<Digit> digits;
  std::vector<graph::ExprId> conditions;
};

class Facts {
public:
  explicit Facts(const Kernel& kernel);
  /// The kernel as a variant launches it inside `loops`: dims instead of scalar parameters, and the
  /// variant's condition.
  Facts(const Kernel& kernel, const ValueStore& host, const Variant& variant,
        std::span<const Loop* const> loops);
  Facts(const Facts&) = delete;
  Facts& operator=(const Facts&) = delete;

  const Kernel& kernel() const { return kernel_; }
  graph::ExprStore& exprs() { return graph_.exprs; }
  const graph::Prover& prover() const { return prover_; }
  /// What holds whatever the conditions around a place say: loop bounds and dims.
  graph::Prover unconditional() const;
  /// What is known of the dims alone: not even that a coordinate has a value.
  const graph::Prover& about_dims() const { return about_dims_; }
  /// Steps of the recurrences around the launch.
  const std::vector<Digit>& steps() const { return steps_; }
  /// Flat numbers whose coordinates have names here.
  const std::vector<Split>& splits() const { return splits_; }
  /// How the launch disagrees with the kernel; empty when it does not.
  const std::string& disagreement() const { return disagreement_; }

  /// Takes a condition as true until `rewind`.
  void assume(graph::ExprId condition);
  /// What is known now, to come back to.
  struct Mark {
    size_t facts, terms, splits, axes;
  };
  Mark mark() const;
  void rewind(const Mark& mark);
  /// An integer or boolean value. What the graph cannot say becomes an unknown.
  graph::ExprId term(ValueId id);
  std::optional<graph::Polynomial> polynomial(graph::ExprId id) const {
    return graph::polynomial_of(graph_.exprs, id);
  }
  /// What a scalar parameter or coordinate of the grid is.
  graph::ExprId term(VarId id) const { return vars_.at(id); }
  bool reads_registers(ValueId id) const { return changing_[id.value]; }
  /// Whether a term is a digit whose extent is this one.
  bool is_digit_below(graph::ExprId term, graph::ExprId extent) const;

  /// Visits every statement in order, with the facts of its place in force.
  void walk(const std::function<void(const Stmt&, const Place&)>& visit);

private:
  using Vars = std::unordered_map<VarId, graph::ExprId>;
  graph::ExprId unknown(Type type, graph::IntRange range);
  /// `unknown` for those who make terms.
  std::function<graph::ExprId(Type, graph::IntRange)> unknowns() {
    return [this](Type type, graph::IntRange range) { return unknown(type, range); };
  }
  Digit digit(graph::ExprId extent, const std::string& name, bool conditional = false);
  void grid(std::span<const graph::ExprId> launched);
  void body(const Body& statements, Place& place,
            const std::function<void(const Stmt&, const Place&)>& visit);
  void loop(const For& loop, Place& place,
            const std::function<void(const Stmt&, const Place&)>& visit);
  void branch(const Body& statements, graph::ExprId condition, Place& place,
              const std::function<void(const Stmt&, const Place&)>& visit);
  void delinearize(const Delinearize& s, Place& place);
  void load(const Load& s);
  graph::ExprId product(std::span<const graph::ExprId> extents);

  const Kernel& kernel_;
  graph::Graph graph_;
  graph::Prover prover_{graph_}, about_dims_{graph_};
  Vars vars_;
  std::vector<graph::ExprId> terms_; ///< by value
  std::vector<ValueId> trail_;       ///< of terms_
  std::vector<bool> changing_;       ///< by value: it reads registers, so it is new each time
  std::vector<Digit> grid_, steps_;
  std::vector<Split> splits_;
  struct Axis {
    graph::ExprId extent;
    bool conditional;
  };
  std::vector<Axis> axes_; ///< by index
  std::string disagreement_;
};

} // namespace tang::kernel

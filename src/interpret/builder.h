#pragma once
// Internal to compile.cpp, place.cpp and emit.cpp.
//
// The code of a node is a tree of *regions*: straight-line code that runs once per visit of its
// parent (a loop body, a branch, the part behind a filter). A *unit* gives meaning to indices and
// states: the node, each fold body, each monoid's combine. An *instance* is a term in a unit; it
// becomes code exactly once, in one region.
//
// Placement goes from users to operands (descending ids): the region of an instance is the lowest
// common ancestor of the regions that use it, or further out, at the loop that binds its innermost
// index, when it cannot fail. An instance that can fail and is used only inside branches becomes a
// *thunk*: a subroutine that runs on first demand.
#include "interpret/compile.h"
#include "interpret/facts.h"
#include <functional>
#include <map>
#include <memory>
#include <queue>

namespace tang::interpret {

using graph::Axis;
using graph::Comprehension;
using graph::ElemType;
using graph::Expr;
using graph::Graph;
using graph::Monoid;
using graph::MonoidId;
using graph::Op;
using graph::Scalar;

constexpr uint32_t none = 0xffffffffu;

/// A state field: one register, or a buffer when the field has axes.
struct State {
  bool indexed = false;
  uint32_t reg = none;
  uint32_t buffer = none;
  Readable readable;
};

struct Key {
  ExprId id;
  uint32_t unit = 0;
  friend auto operator<=>(const Key&, const Key&) = default;
};

struct Region {
  uint32_t parent = none;
  uint32_t jump = none; ///< an ancestor further up, for `common_ancestor`
  uint32_t depth = 0;
  uint32_t loop = 0;                 ///< the innermost region around it that hoisting aims at
  std::vector<Key> items;            ///< users before operands
  std::vector<Instruction> prologue; ///< partial offsets
  std::vector<uint32_t> flags;       ///< of thunks, cleared on entry
};

struct Binding {
  uint32_t reg;
  uint32_t region;
};

struct Unit {
  uint32_t parent = none; ///< none: knows no outer names
  uint32_t base = 0;      ///< region for terms without an index
  const Facts* facts = nullptr;
  std::map<IndexId, Binding> indices;
  const std::vector<State>*acc = nullptr, *lhs = nullptr, *rhs = nullptr;
};

/// Where a read looks: buffer[base + last * factor + sum of factor * term].
struct Access {
  uint32_t buffer = none;
  std::vector<std::pair<size_t, int64_t>> checks; ///< place, extent: not proved in range
  uint32_t base = none;
  uint32_t last = none; ///< register of the innermost index, or none
  int64_t factor = 0;
  std::vector<std::pair<ExprId, int64_t>> terms;
};

struct Loop {
  uint32_t region = none;
  uint32_t reg = none;
  uint32_t lo = none, hi = none; ///< registers
  bool down = false;
};

/// A monoid at work: the state, one element, and the code that joins them.
struct Reducer {
  const Monoid* monoid = nullptr;
  std::vector<State> acc, element, next;
  std::vector<std::optional<ElemType>> kept_in; ///< format of each accumulator, where emulated
  uint32_t init_region = none, combine_region = none;
  uint32_t init_unit = none, combine_unit = none;
  std::vector<std::vector<Loop>> init_loops, combine_loops; ///< per indexed field
  std::vector<uint32_t> init_units, combine_units;          ///< per field
};

struct Fold {
  Reducer reducer;
  std::vector<Loop> loops;
  uint32_t unit = none;
  uint32_t body = none; ///< region
  bool filtered = false;
};

struct Instance {
  uint32_t place = none;
  bool direct = true; ///< used in `place` itself
  uint32_t reg = none;
  std::vector<uint32_t> branches;
  Access access;
  std::unique_ptr<Fold> fold;
  uint32_t thunk = none, flag = none, back = none, entry = none; ///< thunk: its region
};

class Builder {
public:
  Builder(const Graph& graph, const CompileOptions& options);
  Program node(const Comprehension& node, Span span);

private:
  using Step = std::function<void()>;

  // compile.cpp: the frame of loops around the terms
  uint32_t axis_loop(const Axis& axis, uint32_t unit, uint32_t region, Loop& loop);
  std::vector<Loop> axis_loops(const std::vector<Axis>& axes, uint32_t unit, uint32_t region);
  void declare_reduction(const graph::Reduction& reduction, uint32_t outside);
  void declare_results();
  void emit_points();
  void emit_reduction();
  void emit_reduce_loop(size_t level);
  void skip_unless(Op op, uint32_t a, uint32_t b);
  void skip_if_false(uint32_t condition);
  uint32_t clamped(Op op, uint32_t own, ExprId bound);
  uint32_t stored(uint32_t value, const graph::Tensor& tensor);
  void emit_elements();
  void emit_results();
  void emit_store(size_t result);
  void operand_rule(const graph::Reduction& reduction);
  const graph::Pieces* pieces_of(ExprId body) const;
  std::optional<ElemType> accumulator_of(Scalar scalar) const;
  std::unique_ptr<Facts> node_facts();

  // place.cpp
  uint32_t new_register(Word start = 0);
  uint32_t constant(Word value);
  uint32_t new_region(uint32_t parent, bool hoist_target);
  uint32_t common_ancestor(uint32_t a, uint32_t b) const;
  uint32_t new_unit(uint32_t parent, uint32_t base);
  uint32_t tensor_buffer(graph::TensorId tensor);
  uint32_t scratch_buffer(int64_t words);
  const Facts& monoid_facts(const Monoid& monoid);
  const State& state_of(const Expr& e, uint32_t unit) const;
  const Binding& binding(IndexId index, uint32_t unit) const;
  bool is_free_of_code(ExprId id, uint32_t unit) const;
  uint32_t owner(ExprId id, uint32_t unit) const;
  uint32_t anchor(ExprId id, uint32_t unit) const;
  void use(ExprId id, uint32_t unit, uint32_t region);
  void place_all();
  void place(Key key, Instance& instance);
  void place_operands(Key key, Instance& instance, uint32_t region);
  void place_read(Key key, Instance& instance, uint32_t region);
  void place_fold(Key key, Instance& instance, uint32_t region);
  void affine_access(Affine form, uint32_t unit, Access& access);
  Reducer new_reducer(const Monoid& monoid);
  void place_init(Reducer& reducer, uint32_t outside);
  void place_combine(Reducer& reducer, uint32_t region);

  // emit.cpp
  uint32_t emit(Instruction instruction);
  void patch(uint32_t at) {
    program_.code[at].target = static_cast<uint32_t>(program_.code.size());
  }
  uint32_t register_of(ExprId id, uint32_t unit);
  uint32_t operand(ExprId id, uint32_t unit);
  bool is_empty(uint32_t region) const;
  bool is_thunk(ExprId id, uint32_t unit) const;
  void then(Step step) { todo_.push_back(std::move(step)); }
  void sequence(std::vector<Step> steps);
  void drain();
  void items(uint32_t region, size_t done);
  bool emit_item(Key key); ///< false: steps were scheduled and the region goes on behind them
  void emit_op(Key key);
  void emit_integer(const Expr& e, Key key, uint32_t d);
  void emit_real(const Expr& e, Key key, uint32_t d);
  void round_operation(uint32_t d);
  void emit_comparison(const Expr& e, uint32_t unit, uint32_t d);
  void emit_cast(const Expr& e, uint32_t unit, uint32_t d);
  bool emit_select(Key key);
  bool emit_logic(Key key);
  bool emit_read(Key key);
  void emit_load(const Access& access, uint32_t unit, uint32_t d);
  void emit_fold(Key key);
  void nest(std::vector<Loop> loops, size_t level, Step inside);
  void set_state(const State& state, const std::vector<Loop>& loops, uint32_t value);
  void emit_init(const Reducer& reducer);
  void emit_combine(const Reducer& reducer);
  bool accumulates_in_place(const Reducer& reducer);
  uint32_t kept(uint32_t value, Scalar scalar, std::optional<ElemType> type);
  void emit_thunks();
  uint32_t rounded(uint32_t reg, std::optional<ElemType> type);

  const Graph& graph_;
  const graph::ExprStore& exprs_;
  const CompileOptions& options_;
  Program program_;
  const Comprehension* node_ = nullptr;
  std::vector<Readable> tensors_;
  std::vector<Region> regions_;
  std::vector<Unit> units_;
  std::map<Key, Instance> instances_;
  std::priority_queue<Key> unplaced_;
  std::map<Word, uint32_t> constants_;
  std::map<uint32_t, uint32_t> buffers_; ///< tensor -> buffer
  std::map<std::tuple<uint32_t, uint32_t, int64_t>, uint32_t> partial_offsets_;
  std::map<const Monoid*, std::unique_ptr<Facts>> monoid_facts_;
  std::unique_ptr<Facts> facts_;
  std::vector<Step> todo_;
  std::vector<Key> thunks_;
  std::vector<std::pair<uint32_t, Key>> calls_; ///< to patch with the entry of a thunk
  std::map<ExprId, std::pair<std::optional<ElemType>, std::optional<ElemType>>> operand_formats_;

  // of the node
  std::vector<Loop> points_, reduce_;
  Reducer reducer_;
  std::vector<std::vector<Loop>> element_loops_;
  std::vector<uint32_t> element_units_;
  std::vector<uint32_t> skips_; ///< jumps over the reduction
  uint32_t point_region_ = 0, reduce_region_ = none, body_region_ = none, post_region_ = none;
  uint32_t post_unit_ = 0;
  std::vector<std::vector<Loop>> result_loops_;
  std::vector<uint32_t> result_units_;
  std::vector<Access> result_access_;
};

} // namespace tang::interpret

#pragma once
// Elaborates the expressions of one equation (or let, or monoid): AST to terms. Reductions below
// the root become nodes of their own.
//
// Locals are what an expression sees besides the global names: indices, arguments of macros, lets
// of macro bodies. A macro is expanded on terms, not on text: its arguments are terms that mention
// the caller's index J, and a reduction over the macro's binder renames J to a fresh index in them.
//
// Conditions are what is known where an expression stands: filters and branches taken. A node that
// is lifted out loses the conditions around it; those that a proof inside it used become a part of
// its filter (what it then gives elsewhere is not used).
#include "parse/elaborate/context.h"
#include "parse/elaborate/uses.h"

namespace tang::parse {

struct Condition {
  Term term;
  size_t level = 0; ///< of the node around which it stands
};

enum class LocalKind : uint8_t { index, binder, value };
struct Local {
  LocalKind kind = LocalKind::value;
  std::string_view name;
  Span span;
  std::vector<graph::IndexId> indices; ///< one for an index; a macro's binder may hold several
  Term value;                          ///< of a value; none when erroneous
  Term filter;                  ///< of a binder: where its points take part; none: everywhere
  std::vector<Condition> needs; ///< of a value: conditions under which its reads are in range
  size_t renames_seen = 0;      ///< renames of the frame that `value` and `filter` have had
};

/// The equation itself, or one expansion of a macro.
struct Frame {
  const Module* module = nullptr;
  size_t visible = 0;     ///< number of callables that it sees
  size_t first_local = 0; ///< it sees no locals of its caller
  const Callable* callable = nullptr;
  Span call;
  std::vector<std::pair<graph::IndexId, graph::IndexId>> renames;
};

/// The state fields that the combine of a monoid sees.
struct MonoidScope {
  const Monoid* monoid = nullptr;
  const std::vector<graph::MonoidField>* fields = nullptr;
};

/// The indices that one binder of a reduction or macro call binds.
struct Group {
  const Binder* binder = nullptr;
  std::vector<graph::IndexId> indices;
  Term filter;         ///< inherited from the macro around; none: every point
  bool is_new = false; ///< bound here, not an index from outside
};

/// The indices of an indexed state field, as the left side names them.
struct FieldIndex {
  const Name* name = nullptr;
  graph::IndexId index;
};

/// A reduction or scan whose points are not chosen yet.
struct Comprised {
  graph::Reduction reduction;
  bool is_scan = false;
  graph::IndexId scan_index;
  bool exclusive = false, descending = false;
  std::string callee;
};

class Body {
public:
  /// `name` is that of the equation: lifted nodes are named after it.
  Body(Context& context, const Module& module, std::string name, Span span);

  // ---- indices
  graph::IndexId new_index(std::string_view name, Term extent);
  const graph::Axis& axis(graph::IndexId id) const { return axes_[id.value]; }
  void set_extent(graph::IndexId id, Term extent) { axes_[id.value].extent = extent; }
  /// Makes the index a local of the innermost frame.
  void push_index(const Name& name, graph::IndexId id, bool is_point);
  void pop_locals(size_t count) { locals_.resize(locals_.size() - count); }
  /// Names that hide global ones here.
  HiddenNames hidden() const;

  // ---- expressions; none (and a report) when erroneous
  Term eval(ExprId id);
  Term eval_boolean(ExprId id);
  /// Converts to a class; reports a mismatch.
  Term convert(Term value, Scalar scalar, Span span);
  bool unify(Term& a, Term& b, Span span);

  // ---- reductions
  /// A reduction, monoid or scan, and no macro: what may be the root of an equation.
  bool is_comprehension(const Apply& apply) const;
  const Callable* callable_of(const Apply& apply) const;
  /// The parts of a reduction or scan. `fields`: the indices of indexed fields; only the root of an
  /// equation has them.
  std::optional<Comprised> comprise(const Apply& apply, Span span,
                                    const std::vector<std::vector<FieldIndex>>& fields = {});
  /// The point of a reduction's result where its filter holds: scans give 0 elsewhere.
  Term result_value(const Comprised& parts, uint32_t field, const std::vector<Term>& places);

  /// Set while the combine of a monoid is elaborated: reductions become folds.
  MonoidScope monoid_scope;
  /// Set for lets: `/` of integers is division of reals.
  bool real_division = false;

  Context& context() { return c_; }
  const std::vector<Condition>& conditions() const { return conditions_; }
  void push_condition(Term term);
  void pop_conditions(size_t mark) { conditions_.resize(mark); }
  size_t level() const { return levels_.size() - 1; }

private:
  graph::ExprStore& terms() { return c_.graph.exprs; }
  const Module& module() const { return *frames_.back().module; }
  const Expr& ast(ExprId id) const { return module()[id]; }

  Diagnostic& report(Kind kind, Span span, std::string message);
  template <class... Args>
  Diagnostic& report(Kind kind, Span span, fmt::format_string<Args...> format, Args&&... args) {
    return report(kind, span, fmt::format(format, std::forward<Args>(args)...));
  }

  // expressions.cpp
  Term leaf(ExprId id);
  Term chain(ExprId id);
  Term name(const Name& n);
  Term unary(const Unary& x, Span span);
  Term binary(BinaryOp op, Term a, Term b, Span span);
  Term arithmetic(BinaryOp op, Term a, Term b, Span span);
  Term comparison(BinaryOp op, Term a, Term b, Span span);
  Term call(const Call& x, Span span);
  Term function(graph::Op op, const Call& x, Span span);
  Term where(const Call& x, Span span);
  Term conversion(graph::ElemType type, const Call& x, Span span);
  Term field(const Field& x, Span span);
  bool want_arguments(const Call& x, size_t count, Span span);
  Scalar scalar(Term t) { return terms()[t].scalar; }

  // reads.cpp
  Term read(const Read& x, Span span, ExprId otherwise);
  std::optional<std::vector<Term>> places(const Read& x, graph::TensorId tensor, bool& gathered);
  bool check_place(Term place, Span span, bool& gathered);
  bool in_range(Term place, Term extent);
  bool prove(Term place, Term extent, std::span<const Condition> given);
  void report_leaving(const Read& x, size_t axis, Term place, Span span);
  void warn_of_open_gather(const Read& x, size_t k, Term place, Span span);
  void use(const Condition& condition);

  // locals.cpp
  Local* find_local(std::string_view name);
  Term rename(Term term, size_t seen);
  Term substitute_index(Term term, graph::IndexId from, graph::IndexId to);
  Term local_value(const Local& local);
  /// Conditions that proofs used since the log had `mark` entries, each once.
  std::vector<Condition> needs_since(size_t mark) const;

  // binders.cpp
  /// Restores locals, renames, conditions and frames when it ends.
  class Scope;
  /// Binds every binder, `keeps[b]` to an index from outside. False when one is erroneous (its name
  /// is a local all the same).
  bool bind(const Apply& x, const std::vector<bool>& keeps, std::vector<Group>& groups);
  bool bind_new(const Binder& binder, const Apply& x, Group& group);
  bool bind_copy(const Binder& binder, const Local& outer, Group& group);
  bool bind_existing(const Binder& binder, const Apply& x, Group& group);
  Term inferred_extent(const Binder& binder, const Apply& x);
  /// The filter that holds at each point, inherited and own; none: every point. Empty when
  /// erroneous.
  std::optional<Term> filter_of(const Apply& x, const std::vector<Group>& groups);

  // reductions.cpp
  Term apply(const Apply& x, Span span);
  Term lift(const Apply& x, Span span);
  Term fold(const Apply& x, Span span);
  bool check_clauses(const Apply& x);
  bool check_arguments(const Apply& x, Span span);
  std::optional<std::vector<Term>> operands(const Apply& x,
                                            const std::vector<std::vector<FieldIndex>>& fields);
  std::optional<graph::MonoidId> monoid_of(const Apply& x, std::vector<Term>& operands, Span span);
  void append_index_body(std::vector<Term>& bodies, graph::MonoidId monoid,
                         const std::vector<Group>& groups);
  void warn_unused(const std::vector<Term>& operands, Term filter, const Apply& x,
                   const std::vector<Group>& groups);

  // lifting.cpp
  void open_level() { levels_.push_back({{}, log_.size()}); }
  /// Conditions of outer levels that proofs inside needed.
  std::vector<Term> close_level();
  /// Defines a node over the indices that occur free in it, and gives the read of its value.
  Term define_lifted(graph::Comprehension node, const std::vector<Term>& needed,
                     const std::string& name, Span span);
  std::optional<std::vector<graph::Axis>> free_points(const graph::Comprehension& node,
                                                      const std::vector<Term>& more);

  // macros.cpp
  Term expand(const Callable& callable, const Apply* apply, const Name& callee,
              const std::vector<ExprId>& arguments, Span span);
  bool check_expansion(const Callable& callable, const Apply* apply, size_t arguments, Span span);
  std::vector<bool> kept_indices(const DefSymbol& def, const Apply& x);
  bool depends(ExprId id, std::string_view index);
  Local argument(const Name& parameter, ExprId id, uint32_t uses, const std::vector<Group>& groups);
  Term expand_body(const Callable& callable, std::vector<Local> arguments,
                   const std::vector<Group>& groups, Span span);
  std::vector<graph::IndexId> binder_indices(const std::vector<Group>& groups, size_t binder,
                                             size_t binders);

  Context& c_;
  std::string name_;
  Span span_;
  std::vector<graph::Axis> axes_; ///< by index id
  std::vector<graph::IndexId> points_;
  std::vector<Frame> frames_;
  std::vector<Local> locals_;
  std::vector<Condition> conditions_;
  struct Level {
    std::vector<Term> needed;
    size_t log_mark = 0;
  };
  std::vector<Level> levels_;
  std::vector<Condition> log_; ///< conditions that proofs used, for the arguments of macros
  int depth_ = 0;
  int dead_ = 0; ///< inside a branch that is never taken: nothing is defined or reported
  std::unordered_map<uint64_t, std::unordered_map<Term, Term>> substituted_;
};

} // namespace tang::parse

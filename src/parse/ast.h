#pragma once
// What one `.tg` file says, before any name is resolved: the result of `parse_module`, the source
// of `format_module`, and the input of the elaborator.
//
// Expressions live in one vector in which operands have smaller ids than their users, so a walk by
// ascending id sees operands first and needs no recursion. Every expression has exactly one user.
// Names, element types, extents and arities are not checked here; those are the elaborator's
// questions. What the syntax alone decides is guaranteed: reserved words are never declared names,
// binders are names, `tg 1` was seen first.
#include "diagnostics/source.h"
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tang::parse {

struct Expr;
using ExprId = Id<Expr>;
struct Stmt;
using StmtId = Id<Stmt>;

/// An identifier where it is written. Equality ignores the place.
struct Name {
  std::string text;
  Span span;
  friend bool operator==(const Name& a, const Name& b) { return a.text == b.text; }
};

// ---- expressions

/// `12`, `0x1f`; the text is kept for printing.
struct Integer {
  int64_t value = 0;
  std::string text;
};
/// `0.5`, `1e-5`, `0x1.8p3`, `inf`, `nan`.
struct Real {
  double value = 0;
  std::string text;
};
struct Boolean {
  bool value = false;
};
/// `x` alone: an index, a dim, a let, a parameter, or a tensor of rank 0.
struct NameRef {
  Name name;
};
/// `t[places]`; at least one place.
struct Read {
  Name tensor;
  std::vector<ExprId> places;
};
/// `f(arguments)`: a built-in function, `where(c, a, b)`, a conversion `f16(x)`, a def without
/// binders.
struct Call {
  Name callee;
  std::vector<ExprId> arguments;
};
enum class UnaryOp : uint8_t { negate, logical_not };
struct Unary {
  UnaryOp op;
  ExprId operand;
};
enum class BinaryOp : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
};
struct Binary {
  BinaryOp op;
  ExprId left;
  ExprId right;
};
/// `read else otherwise`: the value where the read leaves its tensor.
struct Guarded {
  ExprId read;
  ExprId otherwise;
};
/// `a.f` (no places) or `a.f[i, j]`: a state field of a monoid's parameter.
struct Field {
  Name base;
  Name field;
  std::vector<ExprId> places;
};
/// An index where it is bound: `i`, `i: 4`, `t exclusive`, `t: T desc`.
struct Binder {
  Name name;
  ExprId extent; ///< none: taken from the index's plain uses
  bool exclusive = false;
  bool desc = false;
};
/// `callee[binders where filter; count] operand`, with `scan` before it or not: a reduction, a
/// monoid, a scan, or a def with index binders. Which of them it is, the callee decides.
struct Apply {
  Name callee;
  bool is_scan = false;
  std::vector<Binder> binders; ///< at least one
  ExprId filter;               ///< none: every point takes part
  ExprId count;                ///< the K of `topk[e; K]`, or none
  std::vector<ExprId> operands;
  /// True: one operand without a list of its own, `sum[k] a*b` (a product) or `softmax[j] s[i, j]`
  /// (a primary). False: the parenthesised list `lse[k](x[i, k], 1)`. Both mean the same when there
  /// is one operand; layout only.
  bool prefix = false;
};

using ExprForm =
    std::variant<Integer, Real, Boolean, NameRef, Read, Call, Unary, Binary, Guarded, Field, Apply>;
struct Expr {
  Span span; ///< without the parentheses around it
  ExprForm form;
  /// The redundant or needed parentheses the author wrote around it, `(` included to `)` included;
  /// empty when there are none. Layout only.
  Span parens;
};

/// Calls `f(ExprId)` for every operand of `e`, in the order of the text.
template <class F>
void for_each_operand(const Expr& e, F&& f);

// ---- statements

/// `lo..hi` (inclusive) or `lo..<hi`.
struct Range {
  ExprId lo;
  ExprId hi;
  bool inclusive = true;
};
/// A declared name with the optional quoted external name after it.
struct Declared {
  Name name;
  std::optional<std::string> external;
};
/// `f16[M, K]:[LD, 1] align 4 in 0..<E sorted`. An empty shape is rank 0.
struct TensorType {
  Name element; ///< as written; not checked to be an element type
  std::vector<ExprId> shape;
  std::vector<ExprId> strides; ///< empty: row-major contiguous
  ExprId align;                ///< bytes; none: the default of 16
  std::optional<Range> range;
  bool sorted = false;
  Span span;
};
/// `loc("file.py":12:3)` at the end of a statement: a place outside this file that diagnostics
/// name.
struct ForeignPlace {
  std::string file;
  int64_t line = 0;
  int64_t column = 0; ///< 0: not given
  Span span;
};

/// `tg 1`
struct Version {
  int64_t number = 1;
};
/// `graph name`
struct GraphName {
  Declared declared;
};
/// One entry of `dim N = 128, S in 64..4096 step 64, T`.
struct DimEntry {
  Declared declared;
  ExprId value;               ///< of a fixed dim, else none
  std::optional<Range> range; ///< of a symbolic dim; none: the default range
  ExprId step;                ///< a symbolic dim is a multiple of it; none: 1
};
struct Dim {
  std::vector<DimEntry> entries;
};
/// `input x : T[...]` or `param w : T[...]`
struct Input {
  bool is_param = false;
  Declared declared;
  TensorType type;
};
/// `const c : f32[2, 2] = [[1, 2], [3, 4]]`; values in the order of the text.
struct Const {
  Declared declared;
  TensorType type;
  std::vector<ExprId> values;
  /// The lengths of the nested lists, outermost first (`{2, 2}` above); empty for a value without
  /// brackets. The lists are rectangular, so `values.size()` is their product. A flat list may give
  /// a table of any rank in row-major order.
  std::vector<uint32_t> extents;
  Span brackets; ///< of the outermost list; empty without one. Layout only.
};
/// `let a = value`, also inside a def body
struct Let {
  Name name;
  ExprId value;
};
/// `def f[j](x) outside -inf { let m = max[j] x; x - m }` or `def f(x) = x * x`
struct Def {
  Name name;
  std::vector<Name> binders;
  std::vector<Name> parameters;
  ExprId outside; ///< the value where a filter is false; none: 0
  std::vector<Let> lets;
  ExprId result;
  Span braces; ///< `{` to `}`; empty for the form with `=`. Layout only.
};
/// One state field: `A[i: N, k: N] = where(i == k, 1, 0)`
struct MonoidField {
  Name name;
  std::vector<Binder> indices;
  ExprId identity;
};
/// `monoid m(fields) (first, second) -> (combine, ...)`; one combine per field is not checked here.
struct Monoid {
  Name name;
  std::vector<MonoidField> fields;
  Name first;  ///< the earlier part
  Name second; ///< the later part
  std::vector<ExprId> combine;
  Span parens; ///< around `combine`. Layout only.
};
/// `include "file.tg"` or `include <nn>`
struct Include {
  std::string path; ///< without quotes or angle brackets
  bool is_library = false;
  Span span; ///< of the path
};
/// `y[i: 4, j]`
struct LeftSide {
  Name tensor;
  std::vector<Binder> indices; ///< empty: rank 0
  Span span;
};
/// `y[i] = value` or `(m[i], s[i]) = value`
struct Equation {
  std::vector<LeftSide> lefts;
  ExprId value;
};
/// `output kc2 as name : bf16[...] over kc`
struct Output {
  Name tensor;
  std::optional<Name> as; ///< the name in the ABI, when it differs
  std::optional<std::string> external;
  TensorType type;
  std::optional<Name> over; ///< the input in whose place it is stored
};
struct GradPair {
  Name wrt;
  Name gradient;
};
/// `grad y with dy wrt x -> dx, w -> dw`
struct Grad {
  Name of;
  std::optional<Name> cotangent;
  std::vector<GradPair> pairs;
};
/// `store h : bf16`
struct Store {
  Name tensor;
  Name element;
};
/// `accumulate y : f16`
struct Accumulate {
  Name tensor;
  Name element;
};
enum class BudgetKind : uint8_t { relative, absolute };
/// `budget y : rel 2e-3` or `budget y : abs 1e-5`
struct Budget {
  Name tensor;
  BudgetKind kind = BudgetKind::relative;
  ExprId limit;
};
/// `repeat l in 0..<36 carry h, c { ... }`
struct Repeat {
  Name index;
  Range range;
  std::vector<Name> carry;
  std::vector<StmtId> body;
  Span braces; ///< `{` to `}`
};
struct CarryPair {
  Name carried;
  Name start; ///< the tensor it starts from
};
struct CollectPair {
  Name collected; ///< gains the recurrence's index as its first dimension
  Name carried;
};
/// `recur t: T carry h = h0, c = c0 { ... } collect hs = h, cs = c`
struct Recur {
  Binder index; ///< its extent may be none
  std::vector<CarryPair> carry;
  std::vector<StmtId> body;
  Span braces; ///< `{` to `}`
  std::vector<CollectPair> collect;
};

using StmtForm = std::variant<Version, GraphName, Dim, Input, Const, Let, Def, Monoid, Include,
                              Equation, Output, Grad, Store, Accumulate, Budget, Repeat, Recur>;
struct Stmt {
  Span span; ///< first to last token, `loc(...)` included
  StmtForm form;
  std::optional<ForeignPlace> loc;
};

/// A `#` comment, from `#` to before the line end.
struct Comment {
  Span span;
  bool own_line = false; ///< nothing but blanks stands before it on its line
};

/// One file. Statements inside a `repeat` or `recur` stand before it in `stmts`; `top` lists the
/// others in the order of the file.
struct Module {
  FileId file;
  std::vector<Expr> exprs;
  std::vector<Stmt> stmts;
  std::vector<StmtId> top;
  std::vector<Comment> comments; ///< in the order of the file

  const Expr& operator[](ExprId id) const { return exprs[id.value]; }
  const Stmt& operator[](StmtId id) const { return stmts[id.value]; }
  ExprId add(Expr e) {
    exprs.push_back(std::move(e));
    return ExprId(static_cast<uint32_t>(exprs.size() - 1));
  }
  StmtId add(Stmt s) {
    stmts.push_back(std::move(s));
    return StmtId(static_cast<uint32_t>(stmts.size() - 1));
  }
};

/// True when both say the same: equal trees, whatever the places, comments, parentheses and
/// spellings of numbers.
bool equal(const Module& a, const Module& b);

// ---- words

/// The infix spelling: `+`, `<=`, `and`.
std::string_view spelling(BinaryOp op);
/// `sum prod max min any all argmax argmin topk`: prefix operators at the level of a product.
bool is_builtin_reduction(std::string_view name);
/// The built-in functions by name (`where`, conversions such as `f16(x)` and reductions excluded).
bool is_builtin_function(std::string_view name);
/// Words that no declaration may take: the keywords of expressions, built-in functions, reductions.
bool is_reserved(std::string_view name);

// ---- implementation

template <class F>
void for_each_operand(const Expr& e, F&& f) {
  auto all = [&](const std::vector<ExprId>& ids) {
    for (ExprId id : ids) f(id);
  };
  struct Visit {
    decltype(all)& list;
    F& f;
    void operator()(const Integer&) const {}
    void operator()(const Real&) const {}
    void operator()(const Boolean&) const {}
    void operator()(const NameRef&) const {}
    void operator()(const Read& x) const { list(x.places); }
    void operator()(const Call& x) const { list(x.arguments); }
    void operator()(const Unary& x) const { f(x.operand); }
    void operator()(const Binary& x) const { f(x.left), f(x.right); }
    void operator()(const Guarded& x) const { f(x.read), f(x.otherwise); }
    void operator()(const Field& x) const { list(x.places); }
    void operator()(const Apply& x) const {
      for (const Binder& b : x.binders)
        if (b.extent) f(b.extent);
      if (x.filter) f(x.filter);
      if (x.count) f(x.count);
      list(x.operands);
    }
  };
  std::visit(Visit{all, f}, e.form);
}

} // namespace tang::parse

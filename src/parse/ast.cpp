#include "parse/ast.h"
#include <algorithm>
#include <array>

namespace tang::parse {

std::string_view spelling(BinaryOp op) {
  switch (op) {
  case BinaryOp::add: return "+";
  case BinaryOp::subtract: return "-";
  case BinaryOp::multiply: return "*";
  case BinaryOp::divide: return "/";
  case BinaryOp::equal: return "==";
  case BinaryOp::not_equal: return "!=";
  case BinaryOp::less: return "<";
  case BinaryOp::less_equal: return "<=";
  case BinaryOp::greater: return ">";
  case BinaryOp::greater_equal: return ">=";
  case BinaryOp::logical_and: return "and";
  case BinaryOp::logical_or: return "or";
  }
  return {};
}

namespace {

// Sorted, for binary search.
constexpr std::array<std::string_view, 9> reductions = {"all", "any",  "argmax", "argmin", "max",
                                                        "min", "prod", "sum",    "topk"};
constexpr std::array<std::string_view, 27> functions = {
    "abs",   "atan2", "bitand",   "bitor", "bitxor", "ceil", "cos",  "erf", "exp",
    "exp2",  "floor", "floordiv", "log",   "log2",   "max",  "min",  "mod", "pow",
    "round", "rsqrt", "shl",      "shr",   "sign",   "sin",  "sqrt", "tan", "tanh"};
constexpr std::array<std::string_view, 9> keywords = {"and", "else", "false", "inf",  "nan",
                                                      "not", "or",   "true",  "where"};

template <size_t N>
bool holds(const std::array<std::string_view, N>& words, std::string_view name) {
  return std::binary_search(words.begin(), words.end(), name);
}

} // namespace

bool is_builtin_reduction(std::string_view name) {
  return holds(reductions, name);
}
bool is_builtin_function(std::string_view name) {
  return holds(functions, name);
}
bool is_reserved(std::string_view name) {
  return holds(keywords, name) || is_builtin_function(name) || is_builtin_reduction(name);
}

namespace {

/// Compares two modules side by side. Expressions may be deep on the left, so their pairs wait on a
/// stack; statements nest at most `max_nesting` bodies deep and recur.
class Comparison {
public:
  Comparison(const Module& a, const Module& b) : a_(a), b_(b) {}

  bool run() { return bodies(a_.top, b_.top) && expressions(); }

private:
  // Every `same` compares its own fields and defers expressions.
  bool same(ExprId x, ExprId y) {
    if (x && y) waiting_.push_back({x, y});
    return static_cast<bool>(x) == static_cast<bool>(y);
  }
  template <class T>
  bool same(const std::vector<T>& x, const std::vector<T>& y) {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!same(x[i], y[i])) return false;
    return true;
  }
  template <class T>
  bool same(const std::optional<T>& x, const std::optional<T>& y) {
    return x.has_value() == y.has_value() && (!x || same(*x, *y));
  }
  bool same(const Name& x, const Name& y) { return x == y; }
  bool same(const std::string& x, const std::string& y) { return x == y; }
  bool same(uint32_t x, uint32_t y) { return x == y; }

  bool expressions() {
    while (!waiting_.empty()) {
      auto [x, y] = waiting_.back();
      waiting_.pop_back();
      if (!same_form(a_[x].form, b_[y].form)) return false;
    }
    return true;
  }
  /// Compares two variants alternative by alternative.
  template <class Form>
  bool same_form(const Form& x, const Form& y) {
    if (x.index() != y.index()) return false;
    return std::visit(
        [&](const auto& f) { return same(f, std::get<std::decay_t<decltype(f)>>(y)); }, x);
  }

  // ---- expressions
  bool same(const Integer& x, const Integer& y) { return x.value == y.value; }
  bool same(const Real& x, const Real& y) {
    return x.value == y.value || (x.value != x.value && y.value != y.value);
  }
  bool same(const Boolean& x, const Boolean& y) { return x.value == y.value; }
  bool same(const NameRef& x, const NameRef& y) { return x.name == y.name; }
  bool same(const Read& x, const Read& y) {
    return x.tensor == y.tensor && same(x.places, y.places);
  }
  bool same(const Call& x, const Call& y) {
    return x.callee == y.callee && same(x.arguments, y.arguments);
  }
  bool same(const Unary& x, const Unary& y) { return x.op == y.op && same(x.operand, y.operand); }
  bool same(const Binary& x, const Binary& y) {
    return x.op == y.op && same(x.left, y.left) && same(x.right, y.right);
  }
  bool same(const Guarded& x, const Guarded& y) {
    return same(x.read, y.read) && same(x.otherwise, y.otherwise);
  }
  bool same(const Field& x, const Field& y) {
    return x.base == y.base && x.field == y.field && same(x.places, y.places);
  }
  bool same(const Binder& x, const Binder& y) {
    return x.name == y.name && same(x.extent, y.extent) && x.exclusive == y.exclusive &&
           x.desc == y.desc;
  }
  bool same(const Apply& x, const Apply& y) {
    return x.callee == y.callee && x.is_scan == y.is_scan && same(x.binders, y.binders) &&
           same(x.filter, y.filter) && same(x.count, y.count) && same(x.operands, y.operands);
  }

  // ---- statements
  bool same(const Range& x, const Range& y) {
    return same(x.lo, y.lo) && same(x.hi, y.hi) && x.inclusive == y.inclusive;
  }
  bool same(const Declared& x, const Declared& y) {
    return x.name == y.name && x.external == y.external;
  }
  bool same(const TensorType& x, const TensorType& y) {
    return x.element == y.element && same(x.shape, y.shape) && same(x.strides, y.strides) &&
           same(x.align, y.align) && same(x.range, y.range) && x.sorted == y.sorted;
  }
  bool same(const ForeignPlace& x, const ForeignPlace& y) {
    return x.file == y.file && x.line == y.line && x.column == y.column;
  }
  bool same(const Version& x, const Version& y) { return x.number == y.number; }
  bool same(const GraphName& x, const GraphName& y) { return same(x.declared, y.declared); }
  bool same(const DimEntry& x, const DimEntry& y) {
    return same(x.declared, y.declared) && same(x.value, y.value) && same(x.range, y.range) &&
           same(x.step, y.step);
  }
  bool same(const Dim& x, const Dim& y) { return same(x.entries, y.entries); }
  bool same(const Input& x, const Input& y) {
    return x.is_param == y.is_param && same(x.declared, y.declared) && same(x.type, y.type);
  }
  bool same(const Const& x, const Const& y) {
    return same(x.declared, y.declared) && same(x.type, y.type) && same(x.values, y.values) &&
           x.extents == y.extents;
  }
  bool same(const Let& x, const Let& y) { return x.name == y.name && same(x.value, y.value); }
  bool same(const Def& x, const Def& y) {
    return x.name == y.name && same(x.binders, y.binders) && same(x.parameters, y.parameters) &&
           same(x.outside, y.outside) && same(x.lets, y.lets) && same(x.result, y.result);
  }
  bool same(const MonoidField& x, const MonoidField& y) {
    return x.name == y.name && same(x.indices, y.indices) && same(x.identity, y.identity);
  }
  bool same(const Monoid& x, const Monoid& y) {
    return x.name == y.name && same(x.fields, y.fields) && x.first == y.first &&
           x.second == y.second && same(x.combine, y.combine);
  }
  bool same(const Include& x, const Include& y) {
    return x.path == y.path && x.is_library == y.is_library;
  }
  bool same(const LeftSide& x, const LeftSide& y) {
    return x.tensor == y.tensor && same(x.indices, y.indices);
  }
  bool same(const Equation& x, const Equation& y) {
    return same(x.lefts, y.lefts) && same(x.value, y.value);
  }
  bool same(const Output& x, const Output& y) {
    return x.tensor == y.tensor && same(x.as, y.as) && x.external == y.external &&
           same(x.type, y.type) && same(x.over, y.over);
  }
  bool same(const GradPair& x, const GradPair& y) {
    return x.wrt == y.wrt && x.gradient == y.gradient;
  }
  bool same(const Grad& x, const Grad& y) {
    return x.of == y.of && same(x.cotangent, y.cotangent) && same(x.pairs, y.pairs);
  }
  bool same(const Store& x, const Store& y) {
    return x.tensor == y.tensor && x.element == y.element;
  }
  bool same(const Accumulate& x, const Accumulate& y) {
    return x.tensor == y.tensor && x.element == y.element;
  }
  bool same(const Budget& x, const Budget& y) {
    return x.tensor == y.tensor && x.kind == y.kind && same(x.limit, y.limit);
  }
  bool same(const Repeat& x, const Repeat& y) {
    return x.index == y.index && same(x.range, y.range) && same(x.carry, y.carry) &&
           bodies(x.body, y.body);
  }
  bool same(const CarryPair& x, const CarryPair& y) {
    return x.carried == y.carried && x.start == y.start;
  }
  bool same(const CollectPair& x, const CollectPair& y) {
    return x.collected == y.collected && x.carried == y.carried;
  }
  bool same(const Recur& x, const Recur& y) {
    return same(x.index, y.index) && same(x.carry, y.carry) && bodies(x.body, y.body) &&
           same(x.collect, y.collect);
  }
  bool bodies(const std::vector<StmtId>& x, const std::vector<StmtId>& y) {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      const Stmt &s = a_[x[i]], &t = b_[y[i]];
      if (!same_form(s.form, t.form) || !same(s.loc, t.loc)) return false;
    }
    return true;
  }

  const Module& a_;
  const Module& b_;
  std::vector<std::pair<ExprId, ExprId>> waiting_;
};

} // namespace

bool equal(const Module& a, const Module& b) {
  return Comparison(a, b).run();
}

} // namespace tang::parse

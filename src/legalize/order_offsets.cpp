// The offsets of what instructions read in global memory come in the order in which they change:
//
//   wo + ((k*64 + s*8 + row)*512 + chunk*8)   =>   ((wo + row*512 + chunk*8) + k*32768) + s*4096
//
// First what stands still while the innermost loop runs, then what moves with it, and last what the
// compiler knows once the loop over `s` is unrolled: so a pointer is kept and advanced, and the
// rest is part of the instruction. Names of index sums are put in, and a quotient beside its rest
// is what was divided. Summands are never negative, so that no partial sum is larger than the
// whole.
#include "base/check.h"
#include "base/checked.h"
#include "kernel/linear.h"
#include "legalize/passes.h"
#include "legalize/rewriting.h"
#include <algorithm>
#include <unordered_set>

namespace tang::legalize {

using namespace kernel;
using graph::Op;
using graph::Polynomial;

namespace {

/// Longer sums say more than an address.
constexpr size_t most_terms = 10;

class Orderer {
public:
  explicit Orderer(Kernel& kernel) : kernel_(kernel), values_(kernel.values) {}

  void run() { body(kernel_.body); }

private:
  void body(Body& statements) {
    for (Stmt& stmt : statements)
      std::visit(Overload{[&](For& s) { loop(s); }, [&](If& s) { body(s.then), body(s.otherwise); },
                          [&](Spec& s) { body(s.body); }, [&](Let& s) { define(s); },
                          [&](Load& s) { levels_[s.var] = depth_; },
                          [&](Shfl& s) { levels_[s.var] = depth_; },
                          [&](Delinearize& s) {
                            for (VarId var : s.vars) levels_[var] = depth_;
                          },
                          [](Allocate&) {}, [](Store&) {}, [](Copy&) {}, [](Barrier&) {},
                          [&](Atom& s) {
                            for (Ref& ref : s.operands) order(ref);
                          }},
                 stmt.node);
  }

  void loop(For& s) {
    bool unrolled = s.kind == LoopKind::unrolled;
    if (unrolled) unrolled_.insert(s.var);
    depth_ += !unrolled;
    levels_[s.var] = unrolled ? level_of(s.begin) : depth_;
    body(s.body);
    depth_ -= !unrolled;
  }

  /// The deepest loop that a value changes with.
  int level_of(ValueId root) const {
    int level = 0;
    for (ValueId id : reachable(values_, {&root, 1}))
      if (values_[id].form == Form::element)
        level = std::max(level, depth_);
      else if (auto at = levels_.find(VarId(values_[id].ref));
               values_[id].form == Form::variable && at != levels_.end())
        level = std::max(level, at->second);
    return level;
  }

  void define(const Let& s) {
    levels_[s.var] = level_of(s.value);
    const Value& v = values_[s.value];
    bool digit = v.form == Form::operation && (v.op == Op::mod || v.op == Op::floordiv);
    if (digit && values_.as_integer(v.operands[1])) digits_.emplace(s.var, s.value);
    auto form = opened(s.value);
    auto is_variable = [&](graph::ExprId atom) {
      return values_[value_of(atom)].form == Form::variable;
    };
    if (!form) return;
    for (const auto& [monomial, coefficient] : form->terms())
      if (!std::all_of(monomial.begin(), monomial.end(), is_variable)) return;
    sums_.emplace(s.var, std::move(*form));
  }

  /// A value as a sum of products, with the sums that names stand for.
  std::optional<Polynomial> opened(ValueId id) const {
    auto form = expanded_form(values_, id);
    if (!form) return std::nullopt;
    std::optional<Polynomial> sum = Polynomial();
    for (const auto& [monomial, coefficient] : form->terms()) {
      std::optional<Polynomial> product = Polynomial::constant(coefficient);
      for (graph::ExprId atom : monomial) {
        const Value& v = values_[value_of(atom)];
        auto named = v.form == Form::variable ? sums_.find(VarId(v.ref)) : sums_.end();
        product =
            product ? product->times(named == sums_.end() ? Polynomial::atom(atom) : named->second)
                    : std::nullopt;
      }
      sum = sum && product ? sum->plus(*product) : std::nullopt;
    }
    return sum;
  }

  /// floordiv(x, n) * n*c + mod(x, n) * c, under their names, is x * c.
  std::optional<Polynomial> without_digits(Polynomial form) const {
    auto digit = [&](const Polynomial::Monomial& monomial) -> const Value* {
      const Value* atom = monomial.size() == 1 ? &values_[value_of(monomial[0])] : nullptr;
      auto named =
          atom && atom->form == Form::variable ? digits_.find(VarId(atom->ref)) : digits_.end();
      return named == digits_.end() ? nullptr : &values_[named->second];
    };
    const Polynomial::Terms terms = form.terms();
    for (const auto& [low, factor] : terms)
      for (const auto& [high, times] : terms) {
        const Value *rest = digit(low), *quotient = digit(high);
        if (!rest || !quotient || rest->op != Op::mod || quotient->op != Op::floordiv ||
            rest->operands != quotient->operands ||
            checked_mul(factor, *values_.as_integer(rest->operands[1])) != times)
          continue;
        auto whole = opened(rest->operands[0]);
        auto scaled = whole ? whole->times(Polynomial::constant(factor)) : std::nullopt;
        for (const auto& [monomial, coefficient] : {std::pair(low, factor), std::pair(high, times)})
          scaled =
              scaled ? scaled->minus(
                           *Polynomial::atom(monomial[0]).times(Polynomial::constant(coefficient)))
                     : std::nullopt;
        return scaled ? form.plus(*scaled) : std::nullopt;
      }
    return form;
  }

  void order(Ref& ref) {
    if (kernel_[ref.tensor].memory != Memory::global || ref.coordinates.size() != 1) return;
    auto form = opened(ref.coordinates[0]);
    if (form) form = without_digits(std::move(*form));
    if (!form || form->terms().size() > most_terms) return;
    Type type = values_[ref.coordinates[0]].type;
    ValueId still, moving, known;
    for (const auto& [monomial, coefficient] : form->terms()) {
      if (coefficient < 0) return;
      ValueId term;
      bool unrolled = monomial.empty();
      int level = 0;
      for (graph::ExprId atom : monomial) {
        ValueId factor = value_of(atom);
        if (values_.range(factor).lo < 0) return;
        unrolled |= values_[factor].form == Form::variable &&
                    unrolled_.contains(VarId(values_[factor].ref));
        level = std::max(level, level_of(factor));
        term = term ? values_.binary(Op::mul, term, factor) : factor;
      }
      if (!term || coefficient != 1) {
        ValueId factor = values_.integer(coefficient, type);
        term = term ? values_.binary(Op::mul, term, factor) : factor;
      }
      ValueId& part = unrolled ? known : depth_ > 0 && level >= depth_ ? moving : still;
      part = part ? values_.binary(Op::add, part, term) : term;
    }
    // A sum that begins with 0 is printed as it stands.
    ValueId sum = values_.integer(0, type);
    for (ValueId part : {still, moving, known})
      if (part) {
        Value add;
        add.form = Form::operation, add.op = Op::add, add.type = type;
        add.operands = {sum, part};
        sum = values_.exactly(std::move(add));
      }
    ref.coordinates = {sum};
  }

  Kernel& kernel_;
  ValueStore& values_;
  int depth_ = 0; ///< serial loops around
  std::unordered_map<VarId, int> levels_;
  std::unordered_set<VarId> unrolled_;
  std::unordered_map<VarId, ValueId> digits_;  ///< names of quotients and rests by constants
  std::unordered_map<VarId, Polynomial> sums_; ///< what names of sums of products of names are
};

} // namespace

void order_offsets(Program& program, const Capabilities&, const Options&) {
  for (Kernel& kernel : program.kernels) Orderer(kernel).run();
}

} // namespace tang::legalize

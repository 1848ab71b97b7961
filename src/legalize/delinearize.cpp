// Coordinates come from their flat number by division:
//
//   (i, j) <- Delinearize(n; S, T)   becomes   j <- mod(n, T),  i <- floordiv(n, T)
#include "base/check.h"
#include "kernel/interval.h"
#include "legalize/passes.h"
#include "legalize/rewriting.h"

namespace tang::legalize {

using namespace kernel;

namespace {

class Divider {
public:
  explicit Divider(Kernel& kernel) : kernel_(kernel), values_(kernel.values) {}

  void run() {
    body(kernel_.body);
    substitute(kernel_, names_);
  }

private:
  void body(Body& statements) {
    Body out;
    out.reserve(statements.size());
    for (Stmt& stmt : statements)
      if (const auto* s = std::get_if<Delinearize>(&stmt.node)) {
        divide(*s, out);
      } else {
        std::visit(Overload{[&](For& s) { body(s.body); },
                            [&](If& s) {
                              body(s.then);
                              body(s.otherwise);
                            },
                            [&](Spec& s) { body(s.body); }, [](Let&) {}, [](Delinearize&) {},
                            [](Allocate&) {}, [](Load&) {}, [](Store&) {}, [](Copy&) {},
                            [](Shfl&) {}, [](Barrier&) {}, [](Atom&) {}},
                   stmt.node);
        out.push_back(std::move(stmt));
      }
    statements = std::move(out);
  }

  void divide(const Delinearize& s, Body& out) {
    ValueId rest = s.value;
    if (s.vars.size() > 1 && !is_name(rest)) {
      Var number = values_[s.vars[0]];
      number.name = "flat", number.lo = 0, number.hi.reset();
      VarId flat = values_.add_var(std::move(number));
      out.push_back({Let{flat, rest}});
      rest = values_.variable(flat);
    }
    for (size_t i = s.vars.size(); i-- > 0;) {
      if (i == 0) return define(s.vars[i], rest, out);
      ValueId extent = positive(s.extents[i], values_[s.vars[i]].name, out);
      define(s.vars[i], values_.binary(Op::mod, rest, extent), out);
      rest = values_.binary(Op::floordiv, rest, extent);
    }
  }

  /// Where there is a number, no extent is 0: no division needs to ask.
  ValueId positive(ValueId extent, const std::string& name, Body& out) {
    IntRange range = values_.range(extent);
    if (range.lo >= 1) return extent;
    Var var{name + "_extent", values_[extent].type, 1, {}};
    if (range.hi != unbounded_above) var.hi = std::max<int64_t>(range.hi, 1);
    VarId id = values_.add_var(std::move(var));
    out.push_back({Let{id, extent}});
    return values_.variable(id);
  }

  bool is_name(ValueId id) const {
    return values_[id].form == Form::literal || values_[id].form == Form::variable;
  }

  /// Names and literals need no further name.
  void define(VarId var, ValueId value, Body& out) {
    if (!is_name(value)) return out.push_back({Let{var, value}});
    auto known = values_[value].form == Form::variable ? names_.find(VarId(values_[value].ref))
                                                       : names_.end();
    names_[var] = known == names_.end() ? value : known->second;
  }

  Kernel& kernel_;
  ValueStore& values_;
  std::unordered_map<VarId, ValueId> names_;
};

} // namespace

void delinearize(Program& program, const Capabilities&, const Options&) {
  for (Kernel& kernel : program.kernels) Divider(kernel).run();
}

} // namespace tang::legalize

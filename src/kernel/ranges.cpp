// Every access lies in its tensor: one proof per coordinate, from loop bounds and conditions.
#include "base/check.h"
#include "kernel/facts.h"
#include "kernel/verify.h"

namespace tang::kernel {
namespace {

class Ranges {
public:
  explicit Ranges(Facts& facts) : facts_(facts), kernel_(facts.kernel()) {}

  Report run() {
    facts_.walk([&](const Stmt& stmt, const Place&) { statement(stmt); });
    return std::move(report_);
  }

private:
  void statement(const Stmt& stmt) {
    std::visit(Overload{[&](const For& s) {
                          values({s.begin, s.end, s.step});
                        },
                        [&](const If& s) { values({s.condition}); },
                        [&](const Let& s) { values({s.value}); },
                        [&](const Load& s) {
                          under(s.predicate, [&] { access(s.src, 1); });
                          values({s.predicate, s.otherwise});
                        },
                        [&](const Store& s) {
                          under(s.predicate, [&] {
                            access(s.dst, 1);
                            values({s.value});
                          });
                          values({s.predicate});
                        },
                        [&](const Copy& s) {
                          under(s.predicate, [&] {
                            access(s.dst, s.width);
                            access(s.src, s.width);
                          });
                        },
                        [&](const Shfl& s) { values({s.value}); }, [](const Allocate&) {},
                        [](const Barrier&) {}, [](const Spec&) {}},
               stmt.node);
  }

  template <class F>
  void under(ValueId predicate, F&& inside) {
    Facts::Mark mark = facts_.mark();
    if (predicate) facts_.assume(facts_.term(predicate));
    inside();
    facts_.rewind(mark);
  }

  /// Register elements that values read.
  void values(std::initializer_list<ValueId> roots) {
    for (ValueId id : reachable(kernel_.values, std::span(roots.begin(), roots.size()))) {
      const Value& v = kernel_.values[id];
      if (v.form == Form::element) access({TensorId(v.ref), v.operands}, 1);
    }
  }

  /// The mode along which neighbours lie next to each other; none for scalars.
  std::optional<size_t> contiguous_mode(const Tensor& tensor) const {
    for (size_t i = tensor.stride.size(); i-- > 0;)
      if (kernel_.values.as_integer(tensor.stride[i]) == 1) return i;
    return std::nullopt;
  }

  void access(const Ref& ref, int width) {
    const Tensor& tensor = kernel_[ref.tensor];
    auto& e = facts_.exprs();
    auto inner = contiguous_mode(tensor);
    for (size_t i = 0; i < ref.coordinates.size(); ++i) {
      graph::ExprId first = facts_.term(ref.coordinates[i]), last = first;
      graph::ExprId extent = facts_.term(tensor.shape[i]);
      if (width > 1 && inner == i) last = e.binary(Op::add, first, e.integer(width - 1));
      bool inside =
          facts_.prover().less_equal(e.integer(0), first) && facts_.prover().less(last, extent);
      if (inside)
        ++report_.proved;
      else
        report_.unproved.push_back(
            fmt::format("coordinate {} of `{}` in kernel `{}` is not proved in range", i,
                        tensor.name, kernel_.name));
    }
  }

  Facts& facts_;
  const Kernel& kernel_;
  Report report_;
};

void each_variant(const Program& program, const std::vector<Step>& steps,
                  const std::function<void(const Kernel&, const Variant&)>& visit) {
  for (const Step& step : steps)
    std::visit(Overload{[&](const Dispatch& d) {
                          for (const Variant& v : d.variants)
                            visit(program.kernels[v.kernel.value], v);
                        },
                        [&](const Loop& l) { each_variant(program, l.body, visit); }},
               step.node);
}

} // namespace

Report check_ranges(const Kernel& kernel) {
  Facts facts(kernel);
  return Ranges(facts).run();
}

Report check_ranges(const Program& program) {
  Report report;
  each_variant(program, program.steps, [&](const Kernel& kernel, const Variant& variant) {
    Facts facts(kernel, program.values, variant);
    report += Ranges(facts).run();
  });
  return report;
}

} // namespace tang::kernel

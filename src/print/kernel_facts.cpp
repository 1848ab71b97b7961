#include "print/kernel_facts.h"
#include "base/check.h"
#include <algorithm>

namespace tang::print {

using namespace kernel;

void for_each_value(const Stmt& stmt, const std::function<void(ValueId)>& visit) {
  auto one = [&](ValueId id) {
    if (id) visit(id);
  };
  auto ref = [&](const Ref& r) {
    for (ValueId id : r.coordinates) one(id);
  };
  std::visit(Overload{[&](const For& s) { one(s.begin), one(s.end), one(s.step); },
                      [&](const If& s) { one(s.condition); }, [&](const Let& s) { one(s.value); },
                      [&](const Delinearize& s) {
                        one(s.value);
                        for (ValueId extent : s.extents) one(extent);
                      },
                      [](const Allocate&) {},
                      [&](const Load& s) { ref(s.src), one(s.predicate), one(s.otherwise); },
                      [&](const Store& s) { ref(s.dst), one(s.value), one(s.predicate); },
                      [&](const Copy& s) { ref(s.dst), ref(s.src), one(s.predicate); },
                      [&](const Shfl& s) { one(s.value); }, [](const Barrier&) {},
                      [&](const Atom& s) {
                        for (const Ref& operand : s.operands) ref(operand);
                        one(s.predicate);
                      },
                      [](const Spec&) {}},
             stmt.node);
}

std::vector<ValueId> live_roots(const Kernel& kernel) {
  std::vector<ValueId> roots;
  std::vector<std::vector<ValueId>> definitions(kernel.values.vars().size());
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    auto var = std::visit(
        [](const auto& s) {
          using S = std::decay_t<decltype(s)>;
          if constexpr (std::is_same_v<S, Let> || std::is_same_v<S, Load> ||
                        std::is_same_v<S, Shfl>)
            return s.var;
          return VarId{};
        },
        stmt.node);
    for_each_value(stmt, [&](ValueId id) { (var ? definitions[var.value] : roots).push_back(id); });
  });
  std::vector<bool> seen(kernel.values.size());
  std::vector<ValueId> stack = roots;
  while (!stack.empty()) {
    ValueId id = stack.back();
    stack.pop_back();
    if (seen[id.value]) continue;
    seen[id.value] = true;
    const Value& value = kernel.values[id];
    for (ValueId operand : value.operands) stack.push_back(operand);
    if (value.form != Form::variable) continue;
    for (ValueId root : definitions[value.ref]) {
      roots.push_back(root);
      stack.push_back(root);
    }
  }
  return roots;
}

bool computes_in(const Kernel& kernel, Type type) {
  std::vector<ValueId> roots = live_roots(kernel);
  std::vector<ValueId> values = reachable(kernel.values, roots);
  return std::any_of(values.begin(), values.end(),
                     [&](ValueId id) { return kernel.values[id].type == type; });
}

} // namespace tang::print

#include "kernel/launches.h"
#include "base/check.h"
#include <set>

namespace tang::kernel {
namespace {

class Visitor {
public:
  Visitor(const Program& program, const std::function<void(const Launch&)>& visit)
      : program_(program), visit_(visit) {}

  void steps(const std::vector<Step>& list) {
    for (const Step& step : list)
      std::visit(Overload{[&](const Dispatch& d) {
                            for (const Variant& v : d.variants) variant(v);
                          },
                          [&](const Loop& l) {
                            loops_.push_back(&l);
                            steps(l.body);
                            loops_.pop_back();
                          }},
                 step.node);
  }

private:
  void variant(const Variant& v) {
    if (v.condition && program_.values.as_boolean(v.condition) == false) return;
    std::vector<uint32_t> key{v.kernel.value, v.condition ? v.condition.value + 1 : 0};
    for (const Loop* loop : loops_) key.push_back(loop->var.value);
    for (const auto& list : {v.scalars, v.blocks})
      for (ValueId id : list) key.push_back(id.value);
    if (seen_.insert(std::move(key)).second) visit_({program_.kernels[v.kernel.value], v, loops_});
  }

  const Program& program_;
  const std::function<void(const Launch&)>& visit_;
  std::vector<const Loop*> loops_;
  std::set<std::vector<uint32_t>> seen_;
};

} // namespace

void for_each_launch(const Program& program, const std::function<void(const Launch&)>& visit) {
  Visitor(program, visit).steps(program.steps);
}

} // namespace tang::kernel

#include "rewrite/differentiate/path.h"
#include "rewrite/differentiate/terms.h"

namespace tang::rewrite {
using namespace graph;

PathId Paths::add(PathStep step) {
  step.depth = depth(step.before) + 1;
  steps_.push_back(std::move(step));
  return PathId(static_cast<uint32_t>(steps_.size() - 1));
}

PathId Paths::enter(PathId from, ExprId condition, bool taken) {
  for (; s_[condition].op == Op::logical_not; taken = !taken) condition = s_[condition].operands[0];
  if (s_.as_boolean(condition) == taken) return from;
  // Chains of choices on one condition are short; a longer way back is not worth it.
  constexpr int far = 16;
  PathId at = from;
  for (int n = 0; n < far && at; ++n, at = steps_[at.value].before)
    if (steps_[at.value].condition == condition && !steps_[at.value].fold &&
        steps_[at.value].taken == taken)
      return from;
  auto [found, inserted] = choices_.try_emplace({from, condition, taken});
  if (inserted) {
    PathStep step;
    step.before = from, step.condition = condition, step.taken = taken;
    found->second = add(std::move(step));
  }
  return found->second;
}

PathId Paths::enter_fold(PathId from, MonoidId sum, std::vector<IndexId> bound,
                         std::vector<ExprId> extents, ExprId filter) {
  PathStep step;
  step.before = from, step.condition = filter, step.fold = sum;
  step.bound = std::move(bound), step.extents = std::move(extents);
  return add(std::move(step));
}

PathId Paths::sibling(PathId id) const {
  const PathStep& step = steps_[id.value];
  if (step.fold) return {};
  auto at = choices_.find({step.before, step.condition, !step.taken});
  return at == choices_.end() ? PathId() : at->second;
}

std::pair<PathId, ExprId> joined(ExprStore& s, Paths& paths,
                                 const std::vector<std::pair<PathId, ExprId>>& parts) {
  // Deepest first; equally deep ones in the order in which they were entered.
  auto deeper = [&](PathId a, PathId b) {
    return std::pair(paths.depth(b), b) < std::pair(paths.depth(a), a);
  };
  std::map<PathId, ExprId, decltype(deeper)> at(deeper);
  auto add = [&](PathId path, ExprId value) {
    ExprId& sum = at[path];
    sum = sum ? plus(s, sum, value) : value;
  };
  for (auto [path, value] : parts) add(path, value);
  while (at.size() > 1) {
    auto [path, value] = *at.begin();
    at.erase(at.begin());
    const PathStep step = paths[path];
    if (step.fold) {
      add(step.before,
          s.fold(step.fold, Scalar::real, step.bound, step.extents, step.condition, value));
      continue;
    }
    ExprId other = s.real(0);
    if (PathId sibling = paths.sibling(path); sibling && at.contains(sibling)) {
      other = at[sibling];
      at.erase(sibling);
    }
    add(step.before, step.taken ? s.select(step.condition, value, other)
                                : s.select(step.condition, other, value));
  }
  return *at.begin();
}

} // namespace tang::rewrite

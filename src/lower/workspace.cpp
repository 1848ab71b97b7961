#include "lower/workspace.h"
#include "base/check.h"
#include <algorithm>

namespace tang::lower {

namespace {

struct Life {
  int first = -1, last = -1;
  void touch(int from, int to) {
    first = first < 0 ? from : std::min(first, from);
    last = std::max(last, to);
  }
};

void touch_dispatch(const kernel::Dispatch& dispatch, std::vector<Life>& lives, int from, int to) {
  for (const kernel::Variant& variant : dispatch.variants)
    for (const kernel::Binding& binding : variant.bindings)
      lives[binding.buffer.value].touch(from, to);
}

/// Loops count as one moment: their buffers carry values round to round.
void touch_steps(const std::vector<kernel::Step>& steps, std::vector<Life>& lives, int moment) {
  for (const kernel::Step& step : steps)
    std::visit(
        Overload{[&](const kernel::Dispatch& d) { touch_dispatch(d, lives, moment, moment); },
                 [&](const kernel::Loop& l) { touch_steps(l.body, lives, moment); }},
        step.node);
}

} // namespace

void plan_workspace(kernel::Program& program, Host& host) {
  std::vector<Life> lives(program.buffers.size());
  int moment = 0;
  for (const kernel::Step& step : program.steps) {
    const auto* dispatch = std::get_if<kernel::Dispatch>(&step.node);
    if (!dispatch || !dispatch->beside) ++moment;
    touch_steps({step}, lives, moment);
  }

  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < program.buffers.size(); ++i)
    if (program.buffers[i].kind == kernel::Buffer::Kind::workspace && lives[i].first >= 0)
      order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return lives[a].first < lives[b].first; });

  auto& v = program.values;
  std::vector<int> busy_until;
  for (uint32_t i : order) {
    kernel::Buffer& buffer = program.buffers[i];
    ValueId bytes = host.bytes(buffer.type, buffer.elements);
    // Even a buffer of nothing has an address of its own: kernels take it as a restricted pointer.
    if (v.as_integer(bytes) == 0) bytes = v.integer(1, Type::i64);
    // The best free slot has the same size; then one of a constant size; then any.
    int best = -1, best_rank = 0;
    for (uint32_t s = 0; s < program.slots.size(); ++s) {
      if (busy_until[s] >= lives[i].first) continue;
      bool constants = v.as_integer(program.slots[s].bytes) && v.as_integer(bytes);
      int rank = program.slots[s].bytes == bytes ? 3 : constants ? 2 : 1;
      if (rank > best_rank) best = static_cast<int>(s), best_rank = rank;
    }
    if (best < 0) {
      best = static_cast<int>(program.slots.size());
      program.slots.push_back({bytes});
      busy_until.push_back(0);
    } else {
      program.slots[best].bytes = v.binary(graph::Op::max, program.slots[best].bytes, bytes);
    }
    busy_until[best] = lives[i].last;
    buffer.slot = static_cast<uint32_t>(best);
  }
}

} // namespace tang::lower

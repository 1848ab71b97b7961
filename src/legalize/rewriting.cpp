#include "legalize/rewriting.h"
#include "base/check.h"

namespace tang::legalize {

using namespace kernel;

ValueId ValueRewriter::operator()(ValueId root) {
  // Values that are made on the way are roots of their own at most.
  if (done_.size() < store_.size()) done_.resize(store_.size());
  if (done_[root.value]) return done_[root.value];
  InlineVector<ValueId, 16> stack{root}, operands;
  while (!stack.empty()) {
    ValueId id = stack.back();
    if (done_[id.value]) {
      stack.pop_back();
      continue;
    }
    size_t waiting = stack.size();
    for (ValueId operand : store_[id].operands)
      if (!done_[operand.value]) stack.push_back(operand);
    if (stack.size() != waiting) continue;
    stack.pop_back();
    operands.clear();
    for (ValueId operand : store_[id].operands) operands.push_back(done_[operand.value]);
    done_[id.value] = visit_(store_.with_operands(id, operands));
  }
  return done_[root.value];
}

void map_all_values(Kernel& kernel, const std::function<ValueId(ValueId)>& map) {
  map_values(kernel.body, map);
  for (BlockMode& mode : kernel.blocks) mode.extent = map(mode.extent);
  for (Tensor& tensor : kernel.tensors) {
    for (ValueId& extent : tensor.shape) extent = map(extent);
    for (ValueId& stride : tensor.stride) stride = map(stride);
  }
}

void substitute(Kernel& kernel, const std::unordered_map<VarId, ValueId>& replacements) {
  if (replacements.empty()) return;
  const ValueStore& s = kernel.values;
  ValueRewriter rewriter(kernel.values, [&](ValueId id) {
    if (s[id].form != Form::variable) return id;
    auto at = replacements.find(VarId(s[id].ref));
    return at == replacements.end() ? id : at->second;
  });
  map_all_values(kernel, [&](ValueId id) { return rewriter(id); });
}

void for_each_dispatch(std::vector<Step>& steps, const std::function<void(Dispatch&)>& visit) {
  for (Step& step : steps)
    std::visit(Overload{[&](Dispatch& d) { visit(d); },
                        [&](Loop& loop) { for_each_dispatch(loop.body, visit); }},
               step.node);
}

ValueId host_value(const Kernel& kernel, ValueId root, ValueStore& host,
                   std::span<const ValueId> scalars) {
  std::unordered_map<ValueId, ValueId> done;
  const ValueStore& from = kernel.values;
  auto scalar = [&](uint32_t var) -> ValueId {
    for (size_t i = 0; i < kernel.scalars.size(); ++i)
      if (kernel.scalars[i].var.value == var) return scalars[i];
    return {};
  };
  for (ValueId id : reachable(from, {&root, 1})) {
    const Value& v = from[id];
    ValueId value;
    switch (v.form) {
    case Form::literal:
      if (!is_real(v.type))
        value =
            v.type == Type::boolean ? host.boolean(v.integer) : host.integer(v.integer, Type::i64);
      break;
    case Form::variable: value = scalar(v.ref); break;
    case Form::operation: {
      std::vector<ValueId> in;
      for (ValueId operand : v.operands) in.push_back(done.at(operand));
      value = in.size() == 1   ? host.unary(v.op, in[0])
              : in.size() == 2 ? host.binary(v.op, in[0], in[1])
                               : host.select(in[0], in[1], in[2]);
      break;
    }
    case Form::convert:
      if (is_integer(v.type) && is_integer(from[v.operands[0]].type))
        value = done.at(v.operands[0]);
      break;
    case Form::element:
    case Form::round: break;
    }
    if (!value) return {};
    done[id] = value;
  }
  return done.at(root);
}

} // namespace tang::legalize

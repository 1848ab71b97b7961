#include "run.h"
#include "base/check.h"
#include "base/checked.h"
#include <algorithm>

namespace tang::kernel::test {

Run::Run(const Kernel& kernel, std::vector<Memory_*> params, std::vector<int64_t> scalars)
    : kernel_(kernel) {
  for (size_t i = 0; i < params.size(); ++i) memory_[kernel.params[i].value] = params[i];
  for (size_t i = 0; i < scalars.size(); ++i)
    vars_[kernel.scalars[i].var.value] = static_cast<double>(scalars[i]);
}

double Run::value(ValueId id) {
  const Value& v = kernel_.values[id];
  auto in = [&](size_t i) { return value(v.operands[i]); };
  auto integer = [&](size_t i) { return static_cast<int64_t>(in(i)); };
  switch (v.form) {
  case Form::literal: return is_real(v.type) ? v.real : static_cast<double>(v.integer);
  case Form::variable: return vars_.at(v.ref);
  case Form::element: return element(TensorId(v.ref), v.operands);
  case Form::convert:
  case Form::round: return in(0);
  case Form::operation: break;
  }
  switch (v.op) {
  case Op::add: return in(0) + in(1);
  case Op::sub: return in(0) - in(1);
  case Op::mul: return in(0) * in(1);
  case Op::neg: return -in(0);
  case Op::min: return std::min(in(0), in(1));
  case Op::max: return std::max(in(0), in(1));
  case Op::floordiv: return static_cast<double>(floordiv(integer(0), integer(1)));
  case Op::mod: return static_cast<double>(floormod(integer(0), integer(1)));
  case Op::lt: return in(0) < in(1);
  case Op::le: return in(0) <= in(1);
  case Op::eq: return in(0) == in(1);
  case Op::logical_and: return in(0) != 0 && in(1) != 0;
  case Op::select: return in(0) != 0 ? in(1) : in(2);
  default: throw std::logic_error("an op that samples do not use");
  }
}

double& Run::element(TensorId tensor, std::span<const ValueId> coordinates) {
  const Tensor& t = kernel_[tensor];
  int64_t offset = 0;
  for (size_t i = 0; i < coordinates.size(); ++i)
    offset +=
        static_cast<int64_t>(value(coordinates[i])) * static_cast<int64_t>(value(t.stride[i]));
  auto at = memory_.find(tensor.value);
  Memory_& array = at != memory_.end() ? *at->second : registers_[tensor.value];
  if (at == memory_.end() && array.empty()) array.resize(64);
  if (offset < 0 || offset >= static_cast<int64_t>(array.size()))
    throw std::out_of_range(t.name + "[" + std::to_string(offset) + "]");
  return array[static_cast<size_t>(offset)];
}

double& Run::at(const Ref& ref) {
  return element(ref.tensor, ref.coordinates);
}

void Run::body(const Body& statements) {
  for (const Stmt& stmt : statements)
    std::visit(Overload{[&](const For& s) {
                          for (double i = value(s.begin); i < value(s.end); i += value(s.step)) {
                            vars_[s.var.value] = i;
                            body(s.body);
                          }
                        },
                        [&](const If& s) { body(holds(s.condition) ? s.then : s.otherwise); },
                        [&](const Let& s) { vars_[s.var.value] = value(s.value); },
                        [&](const Delinearize& s) {
                          double rest = value(s.value);
                          for (size_t i = s.vars.size(); i-- > 0;) {
                            auto n = static_cast<int64_t>(rest);
                            auto extent = static_cast<int64_t>(value(s.extents[i]));
                            vars_[s.vars[i].value] = static_cast<double>(n % extent);
                            rest = static_cast<double>(n / extent);
                          }
                        },
                        [&](const Allocate& s) { registers_[s.tensor.value].clear(); },
                        [&](const Load& s) {
                          vars_[s.var.value] = holds(s.predicate) ? at(s.src) : value(s.otherwise);
                        },
                        [&](const Store& s) {
                          if (holds(s.predicate)) at(s.dst) = value(s.value);
                        },
                        [&](const Spec& s) { body(s.body); },
                        [](const Copy&) { throw std::logic_error("copy"); },
                        [](const Shfl&) { throw std::logic_error("shuffle"); },
                        [](const Barrier&) { throw std::logic_error("barrier"); },
                        [](const Atom&) { throw std::logic_error("instruction"); }},
               stmt.node);
}

void Run::thread(int64_t block, int64_t thread, const std::vector<int64_t>& extents) {
  if (kernel_.flat_block) vars_[kernel_.flat_block.value] = static_cast<double>(block);
  if (kernel_.flat_thread) vars_[kernel_.flat_thread.value] = static_cast<double>(thread);
  for (size_t i = 0; i < extents.size(); ++i) {
    vars_[kernel_.blocks[i].coordinate.value] = static_cast<double>(block % extents[i]);
    block /= extents[i];
  }
  for (const ThreadMode& mode : kernel_.threads) {
    vars_[mode.coordinate.value] = static_cast<double>(thread % mode.extent);
    thread /= mode.extent;
  }
  body(kernel_.body);
}

void Run::all() {
  std::vector<int64_t> extents;
  int64_t blocks = 1;
  for (const BlockMode& mode : kernel_.blocks) {
    extents.push_back(static_cast<int64_t>(value(mode.extent)));
    blocks *= extents.back();
  }
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t t = 0; t < kernel_.thread_count(); ++t) thread(block, t, extents);
}

} // namespace tang::kernel::test

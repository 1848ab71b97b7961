#include "kernel/kernel.h"
#include "base/check.h"

namespace tang::kernel {

bool is_fragment(const Tensor& tensor) {
  return tensor.memory == Memory::registers && graph::info(tensor.type).bits < 32 &&
         tensor.type != ElemType::boolean;
}

TensorId Kernel::add(Tensor tensor) {
  tensors.push_back(std::move(tensor));
  return TensorId(static_cast<uint32_t>(tensors.size() - 1));
}

int Kernel::thread_count() const {
  int64_t count = 1;
  for (const ThreadMode& mode : threads) count *= mode.extent;
  TANG_CHECK(count >= 1 && count <= 1 << 16, "{} threads in a block of `{}`", count, name);
  return static_cast<int>(count);
}

void for_each_stmt(const Body& body, const std::function<void(const Stmt&)>& visit) {
  for (const Stmt& stmt : body) {
    visit(stmt);
    std::visit(Overload{[&](const For& s) { for_each_stmt(s.body, visit); },
                        [&](const If& s) {
                          for_each_stmt(s.then, visit);
                          for_each_stmt(s.otherwise, visit);
                        },
                        [&](const Spec& s) { for_each_stmt(s.body, visit); }, [](const Let&) {},
                        [](const Delinearize&) {}, [](const Allocate&) {}, [](const Load&) {},
                        [](const Store&) {}, [](const Copy&) {}, [](const Shfl&) {},
                        [](const Barrier&) {}, [](const Atom&) {}},
               stmt.node);
  }
}

int64_t element_span(const Kernel& kernel, const Tensor& tensor) {
  int64_t last = 0, packed = 1;
  for (size_t mode = tensor.shape.size(); mode-- > 0;) {
    auto extent = kernel.values.as_integer(tensor.shape[mode]);
    auto stride = tensor.stride.empty() ? std::optional(packed)
                                        : kernel.values.as_integer(tensor.stride[mode]);
    TANG_CHECK(extent && stride, "`{}` of kernel `{}` has no constant size", tensor.name,
               kernel.name);
    if (*extent == 0) return 0;
    last += (*extent - 1) * *stride;
    packed *= *extent;
  }
  return last + 1;
}

int64_t declared_bytes(const Kernel& kernel) {
  int64_t bytes = 0;
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    const auto* allocate = std::get_if<Allocate>(&stmt.node);
    if (!allocate || kernel[allocate->tensor].memory != Memory::shared) return;
    const Tensor& tensor = kernel[allocate->tensor];
    bytes += graph::bytes_of(tensor.type, element_span(kernel, tensor));
  });
  return bytes;
}

void for_each_ref(Body& body, const std::function<void(Ref&)>& visit) {
  for (Stmt& stmt : body)
    std::visit(Overload{[&](For& s) { for_each_ref(s.body, visit); },
                        [&](If& s) {
                          for_each_ref(s.then, visit);
                          for_each_ref(s.otherwise, visit);
                        },
                        [&](Spec& s) { for_each_ref(s.body, visit); },
                        [&](Load& s) { visit(s.src); }, [&](Store& s) { visit(s.dst); },
                        [&](Copy& s) { visit(s.dst), visit(s.src); }, [](Let&) {},
                        [](Delinearize&) {}, [](Allocate&) {}, [](Shfl&) {}, [](Barrier&) {},
                        [&](Atom& s) {
                          for (Ref& operand : s.operands) visit(operand);
                        }},
               stmt.node);
}

void map_values(Body& body, const std::function<ValueId(ValueId)>& map) {
  auto value = [&](ValueId& id) {
    if (id) id = map(id);
  };
  auto ref = [&](Ref& r) {
    for (ValueId& coordinate : r.coordinates) value(coordinate);
  };
  for (Stmt& stmt : body)
    std::visit(Overload{[&](For& s) {
                          value(s.begin), value(s.end), value(s.step);
                          map_values(s.body, map);
                        },
                        [&](If& s) {
                          value(s.condition);
                          map_values(s.then, map);
                          map_values(s.otherwise, map);
                        },
                        [&](Let& s) { value(s.value); },
                        [&](Delinearize& s) {
                          value(s.value);
                          for (ValueId& extent : s.extents) value(extent);
                        },
                        [](Allocate&) {},
                        [&](Load& s) { ref(s.src), value(s.predicate), value(s.otherwise); },
                        [&](Store& s) { ref(s.dst), value(s.value), value(s.predicate); },
                        [&](Copy& s) { ref(s.dst), ref(s.src), value(s.predicate); },
                        [&](Shfl& s) { value(s.value); }, [](Barrier&) {},
                        [&](Atom& s) {
                          for (Ref& operand : s.operands) ref(operand);
                          value(s.predicate);
                        },
                        [&](Spec& s) { map_values(s.body, map); }},
               stmt.node);
}

} // namespace tang::kernel

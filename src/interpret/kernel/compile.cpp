// Statements of a kernel as flat code.
#include "interpret/kernel/compile.h"
#include "base/check.h"
#include "interpret/kernel/compiler.h"
#include <algorithm>

namespace tang::interpret::simulator {

using namespace kernel;

CompiledKernel compile(const Kernel& kernel) {
  return Compiler(kernel).run();
}

std::string describe(const Kernel& kernel, const Stmt& stmt) {
  auto name = [&](const Ref& ref) { return "`" + kernel[ref.tensor].name + "`"; };
  auto var = [&](VarId id) { return "`" + kernel.values[id].name + "`"; };
  return std::visit(
      Overload{[&](const For& s) { return "loop over " + var(s.var); },
               [](const If&) { return std::string("condition"); },
               [&](const Let& s) { return var(s.var); },
               [&](const Delinearize& s) { return "coordinates " + var(s.vars[0]); },
               [&](const Allocate& s) { return "allocation of `" + kernel[s.tensor].name + "`"; },
               [&](const Load& s) { return var(s.var) + " from " + name(s.src); },
               [&](const Store& s) { return "store to " + name(s.dst); },
               [&](const Copy& s) {
                 return fmt::format("move of {} from {} to {}", s.width, name(s.src), name(s.dst));
               },
               [&](const Shfl& s) { return "shuffle to " + var(s.var); },
               [](const Barrier&) { return std::string("barrier"); },
               [](const Atom& s) { return s.row->name; }, [](const Spec& s) { return s.kind; }},
      stmt.node);
}

Compiler::Compiler(const Kernel& kernel) : kernel_(kernel), values_(kernel.values) {
  out_.kernel = &kernel;
  out_.threads = kernel.thread_count();
}

CompiledKernel Compiler::run() {
  out_.launch = open_scope(), out_.block = open_scope();
  declare_grid();
  declare_tensors();
  out_.body = open_scope();
  body(kernel_.body);
  out_.tokens = static_cast<uint32_t>(tokens_.size());
  return std::move(out_);
}

Slot Compiler::declare(VarId var, size_t scope, bool varies) {
  Slot slot = new_slot(varies, true);
  vars_[var] = {slot, scope};
  return slot;
}

void Compiler::declare_grid() {
  for (const ScalarParam& scalar : kernel_.scalars)
    out_.scalars.push_back(declare(scalar.var, 0, false));
  if (kernel_.flat_block) out_.flat_block = declare(kernel_.flat_block, 1, false);
  if (kernel_.flat_thread) out_.flat_thread = declare(kernel_.flat_thread, 0, true);
  if (!kernel_.flat_block)
    for (const BlockMode& mode : kernel_.blocks)
      out_.block_coordinates.push_back(declare(mode.coordinate, 1, false));
  if (!kernel_.flat_thread)
    for (const ThreadMode& mode : kernel_.threads)
      out_.thread_coordinates.push_back(declare(mode.coordinate, 0, true));
}

void Compiler::declare_tensors() {
  constexpr int64_t alignment = 128;
  out_.places.resize(kernel_.tensors.size());
  out_.granule = 8;
  out_.shared_bytes = kernel_.shared_bytes;
  for_each_stmt(kernel_.body, [&](const Stmt& stmt) {
    const auto* allocate = std::get_if<Allocate>(&stmt.node);
    if (!allocate) return;
    const Tensor& tensor = kernel_[allocate->tensor];
    Place& place = out_.places[allocate->tensor.value];
    int64_t last = 0;
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      auto extent = values_.as_integer(tensor.shape[i]),
           stride = values_.as_integer(tensor.stride[i]);
      TANG_CHECK(extent && stride, "`{}` has no constant layout", tensor.name);
      last += (std::max<int64_t>(*extent, 1) - 1) * *stride;
    }
    place.elements = last + 1;
    if (tensor.memory == Memory::registers) {
      place.begin = out_.register_elements;
      out_.register_elements += place.elements;
      return;
    }
    out_.granule = std::min(out_.granule, std::max(1, graph::info(tensor.type).bits / 8));
    place.begin = kernel_.shared_bytes > 0 ? tensor.offset : out_.shared_bytes;
    int64_t bytes = graph::bytes_of(tensor.type, place.elements);
    if (kernel_.shared_bytes == 0)
      out_.shared_bytes += (bytes + alignment - 1) / alignment * alignment;
    TANG_CHECK(place.begin + bytes <= out_.shared_bytes, "`{}` ends beyond the shared memory",
               tensor.name);
  });
}

ValueId Compiler::offset_of(const Tensor& tensor, std::span<const ValueId> coordinates) {
  if (coordinates.size() == 1 && values_.as_integer(tensor.stride[0]) == 1) return coordinates[0];
  ValueId offset = values_.integer(0);
  for (size_t i = 0; i < coordinates.size(); ++i)
    offset = values_.add(offset, values_.mul(values_.convert(Type::index, coordinates[i]),
                                             values_.convert(Type::index, tensor.stride[i])));
  return offset;
}

uint32_t Compiler::add_access(TensorId id, std::span<const ValueId> coordinates) {
  const Tensor& tensor = kernel_[id];
  Access access;
  access.tensor = id;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    access.coordinates.push_back(value(coordinates[i]));
    access.extents.push_back(value(tensor.shape[i]));
    if (values_.as_integer(tensor.stride[i]) == 1) access.contiguous = static_cast<int>(i);
  }
  access.offset = value(offset_of(tensor, coordinates));
  out_.accesses.push_back(std::move(access));
  return static_cast<uint32_t>(out_.accesses.size() - 1);
}

uint32_t Compiler::access(const Ref& ref) {
  return add_access(ref.tensor, ref.coordinates);
}

void Compiler::body(const Body& statements) {
  for (const Stmt& stmt : statements) {
    begin_statement(stmt);
    std::visit([&](const auto& s) { statement(s); }, stmt.node);
  }
}

uint32_t Compiler::nested(const Body& statements) {
  uint32_t at = open_scope();
  body(statements);
  close_scope();
  return at;
}

void Compiler::statement(const For& s) {
  Instruction loop{Code::loop};
  uint32_t number = statement_;
  loop.a = kept(s.begin), loop.b = kept(s.end), loop.c = kept(s.step);
  loop.ref = open_scope();
  loop.d = declare(s.var, scopes_.size() - 1, loop.a.varies || loop.c.varies);
  body(s.body);
  close_scope();
  statement_ = number;
  emit(loop);
}

void Compiler::statement(const If& s) {
  Instruction branch{Code::branch};
  uint32_t number = statement_;
  branch.a = value(s.condition);
  branch.ref = nested(s.then);
  if (!s.otherwise.empty()) branch.other = nested(s.otherwise);
  statement_ = number;
  emit(branch);
}

void Compiler::statement(const Let& s) {
  Type to = values_[s.var].type;
  ValueId id = to == Type::boolean ? s.value : values_.convert(to, s.value);
  size_t scope = reads_registers(id) ? scopes_.size() - 1 : scope_of(id);
  vars_[s.var] = {kept(id), scope};
}

/// Stays where it stands: elsewhere the number may be anything.
void Compiler::statement(const Delinearize& s) {
  Delinearized d;
  d.number = value(s.value);
  bool varies = d.number.varies;
  for (ValueId extent : s.extents) {
    d.extents.push_back(value(extent));
    varies |= d.extents.back().varies;
  }
  for (VarId var : s.vars) d.digits.push_back(declare(var, scopes_.size() - 1, varies));
  Instruction i{Code::delinearize};
  i.d = d.digits[0];
  i.ref = static_cast<uint32_t>(out_.delinearized.size());
  out_.delinearized.push_back(std::move(d));
  emit(i);
}

void Compiler::statement(const Allocate& s) {
  Instruction i{Code::allocate};
  i.ref = s.tensor.value;
  emit(i);
}

void Compiler::statement(const Load& s) {
  Instruction i{Code::load};
  i.ref = access(s.src);
  i.a = optional(s.predicate), i.b = optional(s.otherwise);
  i.type = values_[s.var].type;
  i.d = declare(s.var, scopes_.size() - 1, true);
  emit(i);
}

void Compiler::statement(const Store& s) {
  Instruction i{Code::store};
  i.ref = access(s.dst);
  i.b = optional(s.predicate);
  i.from = values_[s.value].type;
  // What is not stored is not computed.
  uint32_t guarded = nothing;
  if (s.predicate && reads_registers(s.value)) guarded = open_scope();
  i.a = value(s.value);
  emit(i);
  if (guarded == nothing) return;
  close_scope();
  Instruction branch{Code::branch};
  branch.a = i.b, branch.ref = guarded;
  emit(branch);
}

void Compiler::statement(const Copy& s) {
  Instruction i{Code::copy};
  i.ref = access(s.dst), i.other = access(s.src);
  i.a = optional(s.predicate);
  i.count = s.width;
  emit(i);
}

void Compiler::statement(const Shfl& s) {
  Instruction i{Code::shuffle};
  i.a = value(s.value);
  i.count = s.mask;
  i.d = declare(s.var, scopes_.size() - 1, true);
  emit(i);
}

void Compiler::statement(const Barrier&) {
  emit(Instruction{Code::barrier});
}

uint32_t Compiler::token_of(const std::string& name) {
  if (name.empty()) return nothing;
  auto at = std::find(tokens_.begin(), tokens_.end(), name);
  if (at == tokens_.end()) at = tokens_.insert(at, name);
  return static_cast<uint32_t>(at - tokens_.begin());
}

void Compiler::statement(const Atom& s) {
  auto [map, fresh] = out_.maps.try_emplace(s.row);
  if (fresh) map->second = map_of(*s.row);
  AtomUse use;
  use.row = s.row, use.map = &map->second;
  use.immediates = s.immediates;
  use.token = token_of(s.row->token);
  for (const Ref& operand : s.operands) use.accesses.push_back(access(operand));
  use.predicate = optional(s.predicate);
  Instruction i{Code::atom};
  i.ref = static_cast<uint32_t>(out_.atoms.size());
  out_.atoms.push_back(std::move(use));
  emit(i);
}

void Compiler::statement(const Spec& s) {
  body(s.body);
}

} // namespace tang::interpret::simulator

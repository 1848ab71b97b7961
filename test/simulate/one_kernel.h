#pragma once
// Programs of one kernel, written statement by statement.
#include "atomics/table.h"
#include "interpret/run_kernel.h"

namespace tang::simulate_test {

using namespace kernel;

/// A kernel of one block unless said otherwise, whose parameters are f32 buffers.
class OneKernel {
public:
  explicit OneKernel(int threads, int64_t blocks = 1) {
    Kernel& k = kernel();
    k.name = "k";
    t = v().variable({"t", Type::index, 0, threads - 1});
    k.threads = {{VarId(v()[t].ref), threads}};
    block = v().variable({"block", Type::index, 0, blocks});
    k.blocks = {{VarId(v()[block].ref), v().integer(blocks)}};
    variant.blocks = {program.values.integer(blocks, Type::i64)};
  }
  OneKernel(const OneKernel&) = delete;
  OneKernel& operator=(const OneKernel&) = delete;

  Kernel& kernel() { return program.kernels[0]; }
  ValueStore& v() { return kernel().values; }
  ValueId number(int64_t n) { return v().integer(n); }
  ValueId times(ValueId a, int64_t by) { return v().mul(a, number(by)); }
  ValueId real(double x) { return v().real(x, Type::f32); }

  /// A buffer of `elements`; inputs hold 0, 1, 2, ...
  TensorId global(const std::string& name, int64_t elements, bool written,
                  ElemType type = ElemType::f32) {
    TensorId id = kernel().add(
        {name, type, Memory::global, {number(elements)}, {number(1)}, written, 16, 0, false});
    kernel().params.push_back(id);
    BufferId buffer(static_cast<uint32_t>(program.buffers.size()));
    Buffer made;
    made.name = name, made.type = type, made.written = written;
    made.elements = program.values.integer(elements, Type::i64);
    program.buffers.push_back(made);
    program.arguments.push_back(buffer);
    variant.bindings.push_back({buffer, {}});
    interpret::Argument& argument = arguments[buffer];
    if (written) {
      for (int64_t n = 0; n < elements; ++n) argument.wanted.push_back(n);
      return id;
    }
    argument.given = true;
    argument.bytes.resize(static_cast<size_t>(graph::bytes_of(type, elements)));
    if (type == ElemType::f32)
      for (int64_t n = 0; n < elements; ++n) {
        auto x = static_cast<float>(n);
        std::copy_n(reinterpret_cast<const uint8_t*>(&x), 4, &argument.bytes[size_t(n) * 4]);
      }
    return id;
  }
  TensorId local(const std::string& name, Memory memory, int64_t elements,
                 ElemType type = ElemType::f32) {
    TensorId id =
        kernel().add({name, type, memory, {number(elements)}, {number(1)}, false, 16, 0, false});
    add(Allocate{id});
    return id;
  }
  template <class S>
  void add(S statement) {
    kernel().body.push_back({std::move(statement)});
  }
  ValueId load(TensorId from, ValueId at, ValueId predicate = {}) {
    VarId var = v().add_var({"x", Type::f32, {}, {}, 1});
    add(Load{var, {from, {at}}, predicate, {}});
    return v().variable(var);
  }
  void store(TensorId to, ValueId at, ValueId value, ValueId predicate = {}) {
    add(Store{{to, {at}}, value, predicate});
  }
  void atom(const char* row, std::vector<Ref> operands, std::vector<int64_t> immediates = {},
            ValueId predicate = {}) {
    add(Atom{atomics::find_row(row), std::move(operands), std::move(immediates), predicate});
  }

  interpret::RunReport run() {
    program.steps = {{Dispatch{"k", {}, {variant}}}};
    return interpret::run_program(program, {}, arguments);
  }
  interpret::Counts counts() {
    interpret::RunReport report = run();
    return report.kernels.at("k");
  }
  std::vector<float> result(TensorId id) const {
    const std::vector<uint8_t>& bytes = arguments.at(BufferId(id.value)).bytes;
    std::vector<float> out(bytes.size() / 4);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(out.data()));
    return out;
  }

  Program program = one();
  Variant variant{KernelId(0), {}, {}, {}, {}, 0};
  std::map<BufferId, interpret::Argument> arguments;
  ValueId t, block;

private:
  static Program one() {
    Program p;
    p.kernels.emplace_back();
    return p;
  }
};

} // namespace tang::simulate_test

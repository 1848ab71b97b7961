#pragma once
// Small legal programs, built by hand.
#include "kernel/program.h"
#include "print/printer.h"

namespace tang::print_test {

/// A program with one graph dim per name, all inputs and outputs as arguments, built step by step.
struct Built {
  graph::Graph graph;
  kernel::Program program;

  Built() { graph.name = program.name = "t"; }
  kernel::ValueId dim(const std::string& name, int64_t lo, int64_t hi, int64_t step = 1);
  kernel::BufferId argument(const std::string& name, graph::ElemType type, kernel::ValueId elements,
                            bool written);
  kernel::BufferId workspace(const std::string& name, graph::ElemType type,
                             kernel::ValueId elements, kernel::ValueId bytes);
  kernel::BufferId table(const std::string& name, graph::ElemType type, std::vector<double> reals,
                         std::vector<int64_t> integers);
  /// A dispatch of one kernel, without condition.
  void launch(kernel::Kernel kernel, const std::vector<kernel::BufferId>& buffers,
              const std::vector<kernel::ValueId>& scalars, kernel::ValueId blocks = {});
  kernel::ValueStore& host() { return program.values; }
  /// What the launcher takes before this one.
  std::vector<const Built*> variants;
  std::vector<print::Part> parts() const {
    std::vector<print::Part> list;
    for (const Built* variant : variants) list.push_back({&variant->program, &variant->graph});
    list.push_back({&program, &graph});
    return list;
  }
};

/// The pieces of a kernel under construction.
struct Maker {
  kernel::Kernel kernel;

  explicit Maker(std::string name) { kernel.name = std::move(name); }
  kernel::ValueStore& v() { return kernel.values; }
  kernel::TensorId global(const std::string& name, graph::ElemType type, bool written = false);
  kernel::TensorId local(const std::string& name, graph::ElemType type, int64_t size,
                         kernel::Memory memory = kernel::Memory::registers);
  kernel::VarId var(const std::string& name, kernel::Type type,
                    std::optional<int64_t> lo = std::nullopt,
                    std::optional<int64_t> hi = std::nullopt);
  kernel::ValueId scalar(const std::string& name, kernel::Type type = kernel::Type::i64,
                         int64_t hi = 1 << 20);
  kernel::ValueId number(int64_t value) { return v().integer(value, kernel::Type::i64); }
  kernel::ValueId real(double value) { return v().real(value, kernel::Type::f32); }
};

kernel::Stmt loop(kernel::VarId var, kernel::ValueId begin, kernel::ValueId end,
                  kernel::ValueId step, kernel::Body body,
                  kernel::LoopKind kind = kernel::LoopKind::serial);
kernel::Stmt load(kernel::VarId var, kernel::TensorId tensor, kernel::ValueId offset,
                  kernel::ValueId predicate = {}, kernel::ValueId otherwise = {});
kernel::Stmt store(kernel::TensorId tensor, kernel::ValueId offset, kernel::ValueId value,
                   kernel::ValueId predicate = {});
kernel::Stmt copy(kernel::TensorId to, kernel::ValueId to_offset, kernel::TensorId from,
                  kernel::ValueId from_offset, int width, kernel::ValueId predicate = {});

print::PrintOptions options(const std::string& target = "c");

/// y[i] = value(x[i]) for i < n, one thread: the value is made from a variable of the natural type.
Built pointwise(graph::ElemType in, kernel::Type compute, graph::ElemType out,
                const std::function<kernel::ValueId(kernel::ValueStore&, kernel::ValueId)>& value,
                const std::string& x = "x", const std::string& y = "y", const std::string& n = "n");

} // namespace tang::print_test

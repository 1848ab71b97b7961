#pragma once
// One kernel of a `.spec` file.
#include "parse/spec/read.h"
#include "parse/spec/values.h"

namespace tang::parse::spec {

class KernelReader {
public:
  KernelReader(Cursor& cursor, const ReadOptions& options)
      : cursor_(cursor), options_(options),
        values_(cursor, read_.kernel.values, names_, kernel::Type::index, &read_.kernel.tensors) {}

  /// From `kernel` on. Faults are reported; the kernel is whole where there are none.
  ReadKernel run();

private:
  kernel::Kernel& kernel() { return read_.kernel; }
  kernel::ValueStore& store() { return read_.kernel.values; }

  // head.cpp
  void head();
  bool is_head_line();
  bool head_line(bool scalars);
  bool parameter();
  bool scalar();
  bool modes(bool threads);
  bool flat();
  bool shared_bytes();
  bool addresses();
  std::optional<kernel::Tensor> tensor(Token& name);
  bool layout(kernel::Tensor& tensor);
  bool align(kernel::Tensor& tensor);
  void check_block();

  // statements.cpp
  void body(kernel::Body& statements);
  void nested(kernel::Body& statements);
  bool statement(kernel::Body& statements);
  bool loop(kernel::Body& statements);
  bool branch(kernel::Body& statements);
  bool allocation(kernel::Body& statements);
  bool definition(kernel::Body& statements);
  bool shared_term();
  bool tuple(kernel::Body& statements);
  bool move_to(kernel::Body& statements);
  bool spec(kernel::Body& statements, std::vector<kernel::TensorId> outputs, const Token& first);
  bool atom(kernel::Body& statements, std::optional<kernel::Ref> output, const Token& kind);
  bool copy(kernel::Body& statements, kernel::Ref to, int width);
  const atomics::Row* row(const Token& kind, std::string& name);
  bool tensors(std::vector<kernel::TensorId>& list);
  /// What follows ` if `; empty where nothing does.
  bool guard(kernel::ValueId& predicate);
  bool define(const Token& name, Entry entry, bool stays = false);
  void poison(const Token& name) { names_.add(std::string(cursor_.text(name)), {}); }
  /// A variable for a name, or the mode of the grid or block that it defines now.
  kernel::VarId variable(const Token& name, kernel::Var var);
  /// ` in lo..hi step s`; false and a report where it is none.
  bool range(kernel::Var& var);
  bool keyword(std::string_view word);
  std::string name_of(const Token& token) const { return std::string(cursor_.text(token)); }
  /// A statement that stands at its place in the file.
  void emit(kernel::Body& statements, kernel::Stmt statement) {
    statements.push_back(std::move(statement));
  }

  Cursor& cursor_;
  const ReadOptions& options_;
  ReadKernel read_;
  Names names_;
  ValueReader values_;
  int depth_ = 0; ///< of bodies
};

} // namespace tang::parse::spec

#pragma once
// Internal to compile.cpp and values.cpp.
//
// A scope is a body under construction: one that runs once for a launch, once for a block, and one
// for each loop and branch. A value that reads no registers is computed once, at the end of what
// the outermost scope has so far in which all its variables are known. A value that reads registers
// is computed anew in each statement, and where a `where`, `and` or `or` does not ask for it, not
// at all: its elements may then be out of range.
#include "interpret/kernel/compile.h"
#include <unordered_map>

namespace tang::interpret::simulator {

using kernel::Form;
using kernel::Ref;
using kernel::Value;
using kernel::ValueId;
using kernel::VarId;

class Compiler {
public:
  explicit Compiler(const kernel::Kernel& kernel);
  CompiledKernel run();

private:
  // compile.cpp
  void declare_grid();
  void declare_tensors();
  Slot declare(VarId var, size_t scope, bool varies);
  void body(const kernel::Body& statements);
  void statement(const kernel::For& s);
  void statement(const kernel::If& s);
  void statement(const kernel::Let& s);
  void statement(const kernel::Delinearize& s);
  void statement(const kernel::Allocate& s);
  void statement(const kernel::Load& s);
  void statement(const kernel::Store& s);
  void statement(const kernel::Copy& s);
  void statement(const kernel::Shfl& s);
  void statement(const kernel::Barrier& s);
  void statement(const kernel::Atom& s);
  void statement(const kernel::Spec& s);
  uint32_t access(const Ref& ref);
  uint32_t add_access(TensorId tensor, std::span<const ValueId> coordinates);
  ValueId offset_of(const kernel::Tensor& tensor, std::span<const ValueId> coordinates);
  uint32_t nested(const kernel::Body& statements);
  uint32_t token_of(const std::string& name);

  // values.cpp
  Slot value(ValueId root);
  Slot optional(ValueId root) { return root ? value(root) : Slot(); }
  Slot kept(ValueId root); ///< a slot that later statements leave alone
  void begin_statement(const kernel::Stmt& stmt);
  struct Task;
  void step(Task task, std::vector<Task>& tasks);
  void visit(ValueId id, std::vector<Task>& tasks);
  void finish(ValueId id);
  Instruction instruction_of(const Value& v);
  Slot slot_of(ValueId id);
  void open_choice(ValueId id);
  void other_choice(ValueId id);
  void close_choice(ValueId id);
  bool is_lazy(const Value& v);
  size_t scope_of(ValueId id);
  bool reads_registers(ValueId id) { return scope_of(id) == pinned; }
  Slot new_slot(bool varies, bool permanent);
  Slot constant(Word word);
  void emit(size_t scope, Instruction instruction);
  void emit(const Instruction& instruction) { emit(scopes_.size() - 1, instruction); }
  uint32_t open_scope(); ///< returns its body
  void close_scope();
  void remember(size_t scope, ValueId id, Slot slot);

  static constexpr size_t pinned = ~size_t{0};
  struct Scope {
    uint32_t body = 0;
    std::vector<ValueId> known; ///< values that end with it
  };
  /// What is left to do for a value, so that nothing recurses.
  struct Task {
    enum class Kind : uint8_t { visit, finish, open, other, close } kind = Kind::visit;
    ValueId id;
  };
  /// A choice under construction.
  struct Lazy {
    Slot condition, result;
    uint32_t then = nothing;
  };

  const kernel::Kernel& kernel_;
  kernel::ValueStore values_; ///< offsets are added
  CompiledKernel out_;
  std::vector<Scope> scopes_;
  std::unordered_map<ValueId, Slot> slots_;
  std::unordered_map<ValueId, size_t> value_scopes_;
  std::unordered_map<VarId, std::pair<Slot, size_t>> vars_; ///< and the scope that knows it
  std::unordered_map<Word, Slot> constants_;
  std::vector<Lazy> lazies_;
  std::vector<ValueId> read_here_;         ///< values of this statement that read registers
  std::vector<Slot> temporaries_, unused_; ///< slots of this statement; of those before it
  std::vector<std::string> tokens_;
  uint32_t statement_ = 0;
};

} // namespace tang::interpret::simulator

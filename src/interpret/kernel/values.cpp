// Values of a kernel as operations on slots.
#include "base/check.h"
#include "interpret/kernel/compiler.h"
#include <algorithm>

namespace tang::interpret::simulator {

uint32_t Compiler::open_scope() {
  auto body = static_cast<uint32_t>(out_.bodies.size());
  out_.bodies.emplace_back();
  scopes_.push_back({body, {}});
  return body;
}

void Compiler::close_scope() {
  for (ValueId id : scopes_.back().known) slots_.erase(id);
  scopes_.pop_back();
}

void Compiler::emit(size_t scope, Instruction instruction) {
  instruction.statement = statement_;
  out_.bodies[scopes_[scope].body].push_back(instruction);
}

void Compiler::remember(size_t scope, ValueId id, Slot slot) {
  slots_[id] = slot;
  scopes_[scope].known.push_back(id);
}

Slot Compiler::new_slot(bool varies, bool permanent) {
  Slot slot{out_.words, varies};
  auto same = std::find_if(unused_.begin(), unused_.end(),
                           [&](const Slot& s) { return s.varies == varies; });
  if (!permanent && same != unused_.end()) {
    slot = *same;
    unused_.erase(same);
  } else {
    out_.words += varies ? static_cast<uint32_t>(out_.threads) : 1;
  }
  if (!permanent) temporaries_.push_back(slot);
  return slot;
}

Slot Compiler::constant(Word word) {
  auto [at, fresh] = constants_.try_emplace(word);
  if (fresh) {
    at->second = {out_.words++, false};
    out_.constants.push_back({at->second.at, word});
  }
  return at->second;
}

void Compiler::begin_statement(const kernel::Stmt& stmt) {
  for (ValueId id : read_here_) slots_.erase(id);
  read_here_.clear();
  unused_.insert(unused_.end(), temporaries_.begin(), temporaries_.end());
  temporaries_.clear();
  statement_ = static_cast<uint32_t>(out_.statements.size());
  out_.statements.push_back(describe(kernel_, stmt));
}

size_t Compiler::scope_of(ValueId root) {
  if (auto at = value_scopes_.find(root); at != value_scopes_.end()) return at->second;
  for (ValueId id : kernel::reachable(values_, {&root, 1})) {
    auto [at, fresh] = value_scopes_.try_emplace(id, 0);
    if (!fresh) continue;
    const Value& v = values_[id];
    size_t scope = v.form == Form::element ? pinned : 0;
    if (v.form == Form::variable) {
      auto var = vars_.find(VarId(v.ref));
      TANG_CHECK(var != vars_.end(), "`{}` of kernel `{}` is used where it has no value",
                 values_[VarId(v.ref)].name, kernel_.name);
      scope = var->second.second;
    }
    for (ValueId operand : v.operands) scope = std::max(scope, value_scopes_.at(operand));
    value_scopes_[id] = scope;
  }
  return value_scopes_.at(root);
}

Slot Compiler::slot_of(ValueId id) {
  const Value& v = values_[id];
  if (v.form == Form::variable) return vars_.at(VarId(v.ref)).first;
  if (v.form == Form::literal) return constant(is_real(v.type) ? word(v.real) : word(v.integer));
  return slots_.at(id);
}

bool Compiler::is_lazy(const Value& v) {
  if (v.form != Form::operation) return false;
  if (v.op == Op::select) return reads_registers(v.operands[1]) || reads_registers(v.operands[2]);
  return (v.op == Op::logical_and || v.op == Op::logical_or) && reads_registers(v.operands[1]);
}

Slot Compiler::value(ValueId root) {
  static_cast<void>(scope_of(root));
  std::vector<Task> tasks{{Task::Kind::visit, root}};
  while (!tasks.empty()) {
    Task task = tasks.back();
    tasks.pop_back();
    step(task, tasks);
  }
  return slot_of(root);
}

Slot Compiler::kept(ValueId root) {
  Slot slot = value(root);
  if (!reads_registers(root)) return slot;
  Instruction move{Code::move};
  move.d = new_slot(slot.varies, true), move.a = slot;
  emit(move);
  return move.d;
}

void Compiler::step(Task task, std::vector<Task>& tasks) {
  switch (task.kind) {
  case Task::Kind::visit: visit(task.id, tasks); break;
  case Task::Kind::finish: finish(task.id); break;
  case Task::Kind::open: open_choice(task.id); break;
  case Task::Kind::other: other_choice(task.id); break;
  case Task::Kind::close: close_choice(task.id); break;
  }
}

void Compiler::visit(ValueId id, std::vector<Task>& tasks) {
  using enum Task::Kind;
  const Value& v = values_[id];
  if (v.form == Form::literal || v.form == Form::variable || slots_.contains(id)) return;
  if (!is_lazy(v)) {
    tasks.push_back({finish, id});
    for (ValueId operand : v.operands) tasks.push_back({Task::Kind::visit, operand});
    return;
  }
  tasks.push_back({close, id});
  if (v.op != Op::logical_and) tasks.push_back({Task::Kind::visit, v.operands.back()});
  tasks.push_back({other, id});
  if (v.op != Op::logical_or) tasks.push_back({Task::Kind::visit, v.operands[1]});
  tasks.push_back({open, id});
  tasks.push_back({Task::Kind::visit, v.operands[0]});
}

void Compiler::open_choice(ValueId id) {
  lazies_.push_back({slot_of(values_[id].operands[0]), new_slot(true, false), nothing});
  lazies_.back().then = open_scope();
}

void Compiler::other_choice(ValueId id) {
  const Value& v = values_[id];
  Instruction move{Code::move};
  move.d = lazies_.back().result;
  move.a = v.op == Op::logical_or ? constant(1) : slot_of(v.operands[1]);
  emit(move);
  close_scope();
  open_scope();
}

void Compiler::close_choice(ValueId id) {
  const Value& v = values_[id];
  Lazy lazy = lazies_.back();
  lazies_.pop_back();
  Instruction move{Code::move};
  move.d = lazy.result;
  move.a = v.op == Op::logical_and ? constant(0) : slot_of(v.operands.back());
  emit(move);
  Instruction branch{Code::branch};
  branch.a = lazy.condition, branch.ref = lazy.then, branch.other = scopes_.back().body;
  close_scope();
  emit(branch);
  remember(scopes_.size() - 1, id, lazy.result);
  read_here_.push_back(id);
}

void Compiler::finish(ValueId id) {
  if (slots_.contains(id)) return;
  const Value v = values_[id];
  size_t scope = scope_of(id), here = scopes_.size() - 1;
  bool reads = scope == pinned;
  Instruction instruction = instruction_of(v);
  bool varies = v.form == Form::element;
  for (ValueId operand : v.operands) varies |= slot_of(operand).varies;
  instruction.d = new_slot(varies, !reads);
  emit(reads ? here : scope, instruction);
  remember(reads ? here : scope, id, instruction.d);
  if (reads) read_here_.push_back(id);
}

Instruction Compiler::instruction_of(const Value& v) {
  Instruction i;
  i.type = v.type;
  Slot* operands[] = {&i.a, &i.b, &i.c};
  if (v.form != Form::element)
    for (size_t n = 0; n < v.operands.size(); ++n) *operands[n] = slot_of(v.operands[n]);
  switch (v.form) {
  case Form::literal:
  case Form::variable: TANG_CHECK(false, "a leaf needs no instruction"); break;
  case Form::element:
    i.code = Code::element, i.ref = add_access(TensorId(v.ref), v.operands);
    break;
  case Form::convert: i.code = Code::convert, i.from = values_[v.operands[0]].type; break;
  case Form::round: i.code = Code::round, i.format = v.to; break;
  case Form::operation:
    i.code = v.operands.size() == 1   ? Code::unary
             : v.operands.size() == 2 ? Code::binary
                                      : Code::select;
    i.op = v.op, i.from = values_[v.operands[0]].type;
    break;
  }
  return i;
}

} // namespace tang::interpret::simulator

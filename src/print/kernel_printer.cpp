#include "print/kernel_printer.h"
#include "base/check.h"
#include "print/instructions.h"
#include "print/kernel_facts.h"
#include "print/moves.h"
#include <algorithm>
#include <set>

namespace tang::print {

using namespace kernel;
using enum Precedence;

namespace {

/// Register tensors that hold words of no format: fragments, and what a tf32 unit reads, unless
/// numbers are stored there too.
std::set<uint32_t> words_of(const Kernel& kernel) {
  std::set<uint32_t> found;
  for (uint32_t i = 0; i < kernel.tensors.size(); ++i)
    if (is_fragment(kernel.tensors[i])) found.insert(i);
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    const auto* atom = std::get_if<Atom>(&stmt.node);
    for (size_t i = 0; atom && i < atom->operands.size(); ++i) {
      const atomics::Operand& o = atom->row->operands[i];
      if (is_word(o)) found.insert(atom->operands[i].tensor.value);
    }
  });
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    const auto* store = std::get_if<Store>(&stmt.node);
    if (store && !is_fragment(kernel[store->dst.tensor])) found.erase(store->dst.tensor.value);
  });
  return found;
}

/// The walk over statements, and what is declared before them.
class Printer {
public:
  Printer(const KernelTask& task, const Dialect& dialect, Calls& calls, Sink& sink)
      : k_(task, dialect, calls, sink) {
    k_.words = words_of(k_.kernel);
  }

  std::optional<std::string> run();

private:
  std::string head();
  void declare_coordinates();
  void declare_shared();
  void count_uses();
  void body(const Body& statements);
  void block(const Body& statements);
  void statement(const Stmt& stmt);
  void print(const For&);
  void print(const If&);
  void print(const Let&);
  void print(const Delinearize&);
  void print(const Allocate&);
  void print(const Load& load) { print_load(k_, load); }
  void print(const Store& store) { print_store(k_, store); }
  void print(const Copy& copy) { print_copy(k_, copy); }
  void print(const Shfl&);
  void print(const Barrier&) { k_.out.raw(std::string(k_.dialect.words.barrier.text())); }
  void print(const Atom& atom) { print_instruction(k_, atom); }
  void print(const Spec&);

  KernelState k_;
  std::vector<bool> tensor_read_;
  std::vector<bool> tensor_used_;
};

std::optional<std::string> Printer::run() {
  count_uses();
  std::string comment;
  for (const std::string& line : k_.kernel.comment) comment += "// " + comment_text(line) + "\n";
  std::string first = head();
  k_.out.indent();
  declare_coordinates();
  declare_shared();
  body(k_.kernel.body);
  k_.out.dedent();
  if (k_.failed) return std::nullopt;
  return comment + first + " {\n" + k_.out.take() + "}\n";
}

void Printer::count_uses() {
  std::vector<ValueId> roots = live_roots(k_.kernel);
  k_.values.count(roots);
  tensor_read_.assign(k_.kernel.tensors.size(), false);
  tensor_used_.assign(k_.kernel.tensors.size(), false);
  for_each_stmt(k_.kernel.body, [&](const Stmt& stmt) {
    auto load = std::get_if<Load>(&stmt.node);
    if (load && k_.values.used(load->var)) tensor_read_[load->src.tensor.value] = true;
    if (auto atom = std::get_if<Atom>(&stmt.node))
      for (const Ref& operand : atom->operands)
        tensor_read_[operand.tensor.value] = tensor_used_[operand.tensor.value] = true;
    if (auto copy = std::get_if<Copy>(&stmt.node)) {
      tensor_read_[copy->src.tensor.value] = true;
      tensor_used_[copy->dst.tensor.value] = true;
    }
    if (auto store = std::get_if<Store>(&stmt.node)) tensor_used_[store->dst.tensor.value] = true;
  });
  for (ValueId id : reachable(k_.kernel.values, roots))
    if (k_.kernel.values[id].form == Form::element) tensor_read_[k_.kernel.values[id].ref] = true;
  for (size_t i = 0; i < tensor_read_.size(); ++i)
    tensor_used_[i] = tensor_used_[i] || tensor_read_[i];
}

std::string Printer::head() {
  KernelHead head{k_.task.symbol, {}, k_.kernel.thread_count()};
  std::vector<std::string> unused;
  for (size_t i = 0; i < k_.kernel.params.size(); ++i) {
    TensorId id = k_.kernel.params[i];
    const Tensor& tensor = k_.kernel[id];
    k_.tensor_names[id.value] = k_.names.add(tensor.name);
    bool alone = i >= k_.task.aliased.size() || !k_.task.aliased[i];
    head.parameters.push_back(fmt::format(
        "{}{}{} *{}{}", k_.dialect.words.buffer_head.text(), tensor.written ? "" : "const ",
        k_.dialect.storages[tensor.type].type.text(),
        alone ? k_.dialect.words.restrict_qualifier.text() : "", k_.tensor_names[id.value]));
    if (!tensor_used_[id.value]) unused.push_back(k_.tensor_names[id.value]);
  }
  for (const ScalarParam& scalar : k_.kernel.scalars) {
    const std::string& name = k_.values.define(scalar.var);
    head.parameters.push_back(
        fmt::format("{} {}", word(k_.dialect.words, k_.kernel.values[scalar.var].type), name));
    if (!k_.values.used(scalar.var)) unused.push_back(name);
  }
  k_.out.indent();
  for (const std::string& name : unused) k_.out.line("(void){};", name);
  k_.out.dedent();
  return k_.dialect.sentences.kernel_head(head);
}

/// The two numbers that the hardware gives a thread.
void Printer::declare_coordinates() {
  auto declare = [&](VarId var, const Word& source) {
    if (!var || !k_.values.used(var)) return;
    std::string_view type = word(k_.dialect.words, k_.kernel.values[var].type);
    k_.out.line("const {} {} = ({}){};", type, k_.values.define(var), type, source.text());
  };
  declare(k_.kernel.flat_block, k_.kernel.descending ? k_.dialect.words.flat_block_from_last
                                                     : k_.dialect.words.flat_block);
  declare(k_.kernel.flat_thread, k_.dialect.words.flat_thread);
}

void Printer::declare_shared() {
  std::string pool;
  if (k_.kernel.shared_bytes > 0) {
    pool = k_.names.add("shared");
    std::string line(k_.dialect.words.shared_pool.text());
    k_.out.raw(line.replace(line.find("$n"), 2, pool));
  }
  for_each_stmt(k_.kernel.body, [&](const Stmt& stmt) {
    auto allocate = std::get_if<Allocate>(&stmt.node);
    if (!allocate || k_.kernel[allocate->tensor].memory != Memory::shared) return;
    const Tensor& tensor = k_.kernel[allocate->tensor];
    std::string& name = k_.tensor_names[allocate->tensor.value];
    if (!name.empty() || !tensor_used_[allocate->tensor.value]) return;
    name = k_.names.add(tensor.name);
    std::string_view type = k_.dialect.storages[tensor.type].type.text();
    if (!pool.empty()) {
      k_.out.line("{0} *const {1} = ({0} *)({2} + {3});", type, name, pool, tensor.offset);
      return;
    }
    int64_t size = element_span(k_.kernel, tensor);
    if (graph::is_packed(tensor.type)) size = (size + 1) / 2;
    k_.out.line("{}{} {}[{}];", k_.dialect.words.shared_head.text(),
                k_.dialect.storages[tensor.type].type.text(), name, std::max<int64_t>(size, 1));
  });
}

void Printer::body(const Body& statements) {
  for (const Stmt& stmt : statements) {
    statement(stmt);
    k_.values.forget_registers();
  }
}

void Printer::block(const Body& statements) {
  k_.out.indent();
  k_.values.push();
  k_.values.forget_registers();
  body(statements);
  k_.values.pop();
  k_.out.dedent();
}

void Printer::statement(const Stmt& stmt) {
  std::visit([&](const auto& s) { print(s); }, stmt.node);
}

void Printer::print(const For& loop) {
  const Value& step = k_.kernel.values[loop.step];
  bool one = step.form == Form::literal && step.integer == 1;
  std::string begin = k_.values.text(loop.begin), end = k_.values.text(loop.end, additive),
              by = k_.values.text(loop.step);
  k_.values.push();
  if (k_.values.reads_registers(loop.end)) {
    std::string name = k_.names.add("end");
    k_.out.line("const {} {} = {};", word(k_.dialect.words, k_.kernel.values[loop.end].type), name,
                end);
    end = name;
  }
  if (loop.kind == LoopKind::unrolled && !k_.dialect.words.unroll.text().empty())
    k_.out.raw(std::string(k_.dialect.words.unroll.text()));
  const std::string& var = k_.values.define(loop.var);
  k_.out.line("for ({} {} = {}; {} < {}; {}) {{",
              word(k_.dialect.words, k_.kernel.values[loop.var].type), var, begin, var, end,
              one ? "++" + var : var + " += " + by);
  block(loop.body);
  k_.out.raw("}");
  k_.values.pop();
}

void Printer::print(const If& branch) {
  k_.out.line("if ({}) {{", k_.values.text(branch.condition));
  block(branch.then);
  if (!branch.otherwise.empty()) {
    k_.out.raw("} else {");
    block(branch.otherwise);
  }
  k_.out.raw("}");
}

void Printer::print(const Let& let) {
  // A legal kernel may bind a coordinate that nothing reads; C compilers warn about the variable.
  if (!k_.values.used(let.var)) return;
  Type to = k_.kernel.values[let.var].type;
  Piece value =
      k_.values.converted(k_.values.piece(let.value), k_.kernel.values[let.value].type, to);
  const std::string& name = k_.values.define(let.var);
  k_.out.line("const {} {} = {};", word(k_.dialect.words, to), name, value.text);
}

void Printer::print(const Delinearize&) {
  TANG_CHECK(false, "a flat number of kernel `{}` is not divided", k_.kernel.name);
}

void Printer::print(const Allocate& allocate) {
  TensorId id = allocate.tensor;
  const Tensor& tensor = k_.kernel[id];
  if (tensor.memory == Memory::shared || !tensor_used_[id.value]) return;
  int64_t size = k_.tensor_sizes[id.value] = element_span(k_.kernel, tensor);
  std::string name = k_.tensor_names[id.value] = k_.names.add(tensor.name);
  bool fragment = k_.words.contains(id.value);
  std::string_view type = fragment ? k_.dialect.words.fragment_type.text()
                                   : word(k_.dialect.words, register_type(tensor.type));
  if (fragment) size = size * graph::info(tensor.type).bits / 32;
  if (size == 1)
    k_.out.line("{} {} = 0;", type, name);
  else
    k_.out.line("{} {}[{}]{};", type, name, std::max<int64_t>(size, 1),
                k_.dialect.words.register_value.text());
  if (!tensor_read_[id.value]) k_.out.line("(void){};", name);
}

void Printer::print(const Shfl& shfl) {
  if (!k_.values.used(shfl.var)) return;
  std::string text = k_.dialect.sentences.shuffle(k_.values.text(shfl.value), shfl.mask);
  Type type = k_.kernel.values[shfl.var].type;
  k_.out.line("const {} {} = {};", word(k_.dialect.words, type), k_.values.define(shfl.var), text);
}

void Printer::print(const Spec& spec) {
  for (size_t begin = 0; begin < spec.comment.size();) {
    size_t end = std::min(spec.comment.find('\n', begin), spec.comment.size());
    k_.out.raw("// " + comment_text(std::string_view(spec.comment).substr(begin, end - begin)));
    begin = end + 1;
  }
  body(spec.body);
}

} // namespace

std::optional<std::string> print_kernel(const KernelTask& task, const Dialect& dialect,
                                        Calls& calls, Sink& sink) {
  return Printer(task, dialect, calls, sink).run();
}

} // namespace tang::print

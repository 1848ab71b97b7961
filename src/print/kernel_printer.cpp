#include "print/kernel_printer.h"
#include "base/check.h"
#include "print/expressions.h"
#include "print/kernel_facts.h"
#include <algorithm>
#include <set>

namespace tang::print {

using namespace kernel;
using enum Precedence;

namespace {

/// Register tensors that instructions see as words of no format: fragments, and what a tf32 unit
/// reads.
std::set<uint32_t> fragments_of(const Kernel& kernel) {
  std::set<uint32_t> found;
  for (uint32_t i = 0; i < kernel.tensors.size(); ++i)
    if (is_fragment(kernel.tensors[i])) found.insert(i);
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    const auto* atom = std::get_if<Atom>(&stmt.node);
    for (size_t i = 0; atom && i < atom->operands.size(); ++i) {
      const atomics::Operand& o = atom->row->operands[i];
      if (o.memory == Memory::registers && o.bits == 32 && (o.tf32 || !o.type))
        found.insert(atom->operands[i].tensor.value);
    }
  });
  return found;
}

class Printer {
public:
  Printer(const KernelTask& task, const Dialect& dialect, Calls& calls, Sink& sink)
      : task_(task), kernel_(*task.kernel), dialect_(dialect), sink_(sink), calls_(calls),
        names_(dialect.reserved), tensor_names_(kernel_.tensors.size()),
        tensor_sizes_(kernel_.tensors.size()), fragments_(fragments_of(kernel_)),
        values_(kernel_.values, dialect, {task.fast_math, false}, names_, out_, calls.helpers,
                [this](const Value& v) { return element(v); }) {}

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
  void print(const Load&);
  void print(const Store&);
  void print(const Copy&);
  void print(const Shfl&);
  void print(const Barrier&) { out_.raw(std::string(dialect_.words.barrier.text())); }
  void print(const Atom&);
  std::string address(const std::string& pointer, ValueId offset);
  std::string operand(const Ref& ref, const atomics::Operand& operand);
  void print(const Spec&);
  void pack(const Copy&);
  void move_elements(const Copy& copy, const Ref& memory, const Ref& registers, bool load);
  bool refuse_packed(TensorId id);
  void store_now(const Store&);
  bool accumulate(const Store&);
  Piece load_piece(const Ref& ref, Type type);
  std::string element(const Value& value);
  std::string register_text(TensorId tensor, const std::string& offset) const;
  std::string offset_text(const Ref& ref);
  bool in_registers(const Ref& ref) const {
    return kernel_[ref.tensor].memory == Memory::registers;
  }
  void open_if(ValueId predicate);
  void close_if();

  const KernelTask& task_;
  const Kernel& kernel_;
  const Dialect& dialect_;
  Sink& sink_;
  Calls& calls_;
  TextWriter out_;
  NameScope names_;
  std::vector<std::string> tensor_names_;
  std::vector<int64_t> tensor_sizes_;
  std::set<uint32_t> fragments_; ///< tensors that are words of 32 bits
  std::vector<bool> tensor_read_;
  std::vector<bool> tensor_used_;
  Expressions values_;
  bool failed_ = false;
};

std::optional<std::string> Printer::run() {
  count_uses();
  std::string comment;
  for (const std::string& line : kernel_.comment) comment += "// " + comment_text(line) + "\n";
  std::string first = head();
  out_.indent();
  declare_coordinates();
  declare_shared();
  body(kernel_.body);
  out_.dedent();
  if (failed_) return std::nullopt;
  return comment + first + " {\n" + out_.take() + "}\n";
}

void Printer::count_uses() {
  std::vector<ValueId> roots = live_roots(kernel_);
  values_.count(roots);
  tensor_read_.assign(kernel_.tensors.size(), false);
  tensor_used_.assign(kernel_.tensors.size(), false);
  for_each_stmt(kernel_.body, [&](const Stmt& stmt) {
    auto load = std::get_if<Load>(&stmt.node);
    if (load && values_.used(load->var)) tensor_read_[load->src.tensor.value] = true;
    if (auto atom = std::get_if<Atom>(&stmt.node))
      for (const Ref& operand : atom->operands)
        tensor_read_[operand.tensor.value] = tensor_used_[operand.tensor.value] = true;
    if (auto copy = std::get_if<Copy>(&stmt.node)) {
      tensor_read_[copy->src.tensor.value] = true;
      tensor_used_[copy->dst.tensor.value] = true;
    }
    if (auto store = std::get_if<Store>(&stmt.node)) tensor_used_[store->dst.tensor.value] = true;
  });
  for (ValueId id : reachable(kernel_.values, roots))
    if (kernel_.values[id].form == Form::element) tensor_read_[kernel_.values[id].ref] = true;
  for (size_t i = 0; i < tensor_read_.size(); ++i)
    tensor_used_[i] = tensor_used_[i] || tensor_read_[i];
}

std::string Printer::head() {
  KernelHead head{task_.symbol, {}, kernel_.thread_count()};
  std::vector<std::string> unused;
  for (size_t i = 0; i < kernel_.params.size(); ++i) {
    TensorId id = kernel_.params[i];
    const Tensor& tensor = kernel_[id];
    tensor_names_[id.value] = names_.add(tensor.name);
    bool alone = i >= task_.aliased.size() || !task_.aliased[i];
    head.parameters.push_back(fmt::format(
        "{}{} *{}{}", tensor.written ? "" : "const ", dialect_.storages[tensor.type].type.text(),
        alone ? dialect_.words.restrict_qualifier.text() : "", tensor_names_[id.value]));
    if (!tensor_used_[id.value]) unused.push_back(tensor_names_[id.value]);
  }
  for (const ScalarParam& scalar : kernel_.scalars) {
    const std::string& name = values_.define(scalar.var);
    head.parameters.push_back(
        fmt::format("{} {}", word(dialect_.words, kernel_.values[scalar.var].type), name));
    if (!values_.used(scalar.var)) unused.push_back(name);
  }
  out_.indent();
  for (const std::string& name : unused) out_.line("(void){};", name);
  out_.dedent();
  return dialect_.sentences.kernel_head(head);
}

/// The two numbers that the hardware gives a thread.
void Printer::declare_coordinates() {
  auto declare = [&](VarId var, const Word& source) {
    if (!var || !values_.used(var)) return;
    std::string_view type = word(dialect_.words, kernel_.values[var].type);
    out_.line("const {} {} = ({}){};", type, values_.define(var), type, source.text());
  };
  declare(kernel_.flat_block,
          kernel_.descending ? dialect_.words.flat_block_from_last : dialect_.words.flat_block);
  declare(kernel_.flat_thread, dialect_.words.flat_thread);
}

void Printer::declare_shared() {
  std::string pool;
  if (kernel_.shared_bytes > 0) {
    pool = names_.add("shared");
    std::string line(dialect_.words.shared_pool.text());
    out_.raw(line.replace(line.find("$n"), 2, pool));
  }
  for_each_stmt(kernel_.body, [&](const Stmt& stmt) {
    auto allocate = std::get_if<Allocate>(&stmt.node);
    if (!allocate || kernel_[allocate->tensor].memory != Memory::shared) return;
    const Tensor& tensor = kernel_[allocate->tensor];
    std::string& name = tensor_names_[allocate->tensor.value];
    if (!name.empty() || !tensor_used_[allocate->tensor.value]) return;
    name = names_.add(tensor.name);
    std::string_view type = dialect_.storages[tensor.type].type.text();
    if (!pool.empty()) {
      out_.line("{0} *const {1} = ({0} *)({2} + {3});", type, name, pool, tensor.offset);
      return;
    }
    int64_t size = element_span(kernel_, tensor);
    if (graph::is_packed(tensor.type)) size = (size + 1) / 2;
    out_.line("{}{} {}[{}];", dialect_.words.shared_head.text(),
              dialect_.storages[tensor.type].type.text(), name, std::max<int64_t>(size, 1));
  });
}

void Printer::body(const Body& statements) {
  for (const Stmt& stmt : statements) {
    statement(stmt);
    values_.forget_registers();
  }
}

void Printer::block(const Body& statements) {
  out_.indent();
  values_.push();
  values_.forget_registers();
  body(statements);
  values_.pop();
  out_.dedent();
}

void Printer::statement(const Stmt& stmt) {
  std::visit([&](const auto& s) { print(s); }, stmt.node);
}

void Printer::print(const For& loop) {
  const Value& step = kernel_.values[loop.step];
  bool one = step.form == Form::literal && step.integer == 1;
  std::string begin = values_.text(loop.begin), end = values_.text(loop.end, additive),
              by = values_.text(loop.step);
  values_.push();
  if (values_.reads_registers(loop.end)) {
    std::string name = names_.add("end");
    out_.line("const {} {} = {};", word(dialect_.words, kernel_.values[loop.end].type), name, end);
    end = name;
  }
  if (loop.kind == LoopKind::unrolled && !dialect_.words.unroll.text().empty())
    out_.raw(std::string(dialect_.words.unroll.text()));
  const std::string& var = values_.define(loop.var);
  out_.line("for ({} {} = {}; {} < {}; {}) {{", word(dialect_.words, kernel_.values[loop.var].type),
            var, begin, var, end, one ? "++" + var : var + " += " + by);
  block(loop.body);
  out_.raw("}");
  values_.pop();
}

void Printer::open_if(ValueId predicate) {
  if (!predicate) return;
  out_.line("if ({}) {{", values_.text(predicate));
  out_.indent();
  values_.push();
}

void Printer::close_if() {
  values_.pop();
  out_.dedent();
  out_.raw("}");
}

void Printer::print(const If& branch) {
  out_.line("if ({}) {{", values_.text(branch.condition));
  block(branch.then);
  if (!branch.otherwise.empty()) {
    out_.raw("} else {");
    block(branch.otherwise);
  }
  out_.raw("}");
}

void Printer::print(const Let& let) {
  // A legal kernel may bind a coordinate that nothing reads; C compilers warn about the variable.
  if (!values_.used(let.var)) return;
  Type to = kernel_.values[let.var].type;
  Piece value = values_.converted(values_.piece(let.value), kernel_.values[let.value].type, to);
  const std::string& name = values_.define(let.var);
  out_.line("const {} {} = {};", word(dialect_.words, to), name, value.text);
}

void Printer::print(const Delinearize&) {
  TANG_CHECK(false, "a flat number of kernel `{}` is not divided", kernel_.name);
}

void Printer::print(const Allocate& allocate) {
  TensorId id = allocate.tensor;
  const Tensor& tensor = kernel_[id];
  if (tensor.memory == Memory::shared || !tensor_used_[id.value]) return;
  int64_t size = tensor_sizes_[id.value] = element_span(kernel_, tensor);
  std::string name = tensor_names_[id.value] = names_.add(tensor.name);
  bool fragment = fragments_.contains(id.value);
  std::string_view type = fragment ? dialect_.words.fragment_type.text()
                                   : word(dialect_.words, register_type(tensor.type));
  if (fragment) size = size * graph::info(tensor.type).bits / 32;
  if (size == 1)
    out_.line("{} {} = 0;", type, name);
  else
    out_.line("{} {}[{}]{};", type, name, std::max<int64_t>(size, 1),
              dialect_.words.register_value.text());
  if (!tensor_read_[id.value]) out_.line("(void){};", name);
}

std::string Printer::register_text(TensorId tensor, const std::string& offset) const {
  const std::string& name = tensor_names_[tensor.value];
  return tensor_sizes_[tensor.value] == 1 ? name : name + "[" + offset + "]";
}

std::string Printer::element(const Value& value) {
  std::string offset = value.operands.empty() ? "0" : values_.text(value.operands[0]);
  return register_text(TensorId(value.ref), offset);
}

std::string Printer::offset_text(const Ref& ref) {
  TANG_CHECK(ref.coordinates.size() <= 1, "`{}` has a reference of rank {} in a legal kernel",
             kernel_[ref.tensor].name, ref.coordinates.size());
  return ref.coordinates.empty() ? "0" : values_.text(ref.coordinates[0]);
}

Piece Printer::load_piece(const Ref& ref, Type type) {
  const Tensor& tensor = kernel_[ref.tensor];
  std::string offset = offset_text(ref);
  Type natural = register_type(tensor.type);
  if (in_registers(ref))
    return values_.converted({register_text(ref.tensor, offset), postfix}, natural, type);
  const Storage& storage = dialect_.storages[tensor.type];
  Piece piece{values_.move(storage.load.text(), tensor_names_[ref.tensor.value], offset, {}),
              storage.load_precedence};
  return values_.converted(piece, natural, type);
}

void Printer::print(const Load& load) {
  if (!values_.used(load.var)) return;
  Type type = kernel_.values[load.var].type;
  std::string_view type_word = word(dialect_.words, type);
  if (!load.predicate) {
    Piece value = load_piece(load.src, type);
    out_.line("const {} {} = {};", type_word, values_.define(load.var), value.text);
    return;
  }
  std::string otherwise =
      load.otherwise
          ? values_.text(load.otherwise, logical_or)
          : (type == Type::boolean ? std::string(dialect_.words.false_value.text()) : "0");
  bool simple = load.src.coordinates.empty() || !values_.needs_temporaries(load.src.coordinates[0]);
  if (simple) {
    std::string predicate = values_.text(load.predicate, logical_or);
    Piece value = load_piece(load.src, type);
    out_.line("const {} {} = {} ? {} : {};", type_word, values_.define(load.var), predicate,
              bracket(value, logical_or), otherwise);
    return;
  }
  std::string name = values_.define(load.var);
  out_.line("{} {} = {};", type_word, name, otherwise);
  open_if(load.predicate);
  out_.line("{} = {};", name, load_piece(load.src, type).text);
  close_if();
}

/// `a = a + x` as `a += x`.
bool Printer::accumulate(const Store& store) {
  const Value& value = kernel_.values[store.value];
  if (!in_registers(store.dst) || value.form != Form::operation || value.op != Op::add)
    return false;
  if (register_type(kernel_[store.dst.tensor].type) != value.type) return false;
  for (size_t i = 0; i < 2; ++i) {
    const Value& old = kernel_.values[value.operands[i]];
    if (old.form != Form::element || old.ref != store.dst.tensor.value ||
        old.operands != store.dst.coordinates)
      continue;
    std::string target = register_text(store.dst.tensor, offset_text(store.dst));
    out_.line("{} += {};", target, values_.text(value.operands[1 - i]));
    return true;
  }
  return false;
}

/// Reports a store to half a byte where threads run side by side.
bool Printer::refuse_packed(TensorId id) {
  const Tensor& tensor = kernel_[id];
  if (!graph::is_packed(tensor.type) || dialect_.packed_stores) return false;
  auto at = std::find(kernel_.params.begin(), kernel_.params.end(), id) - kernel_.params.begin();
  auto number = static_cast<size_t>(at);
  Span place = number < task_.places.size() ? task_.places[number] : Span();
  sink_
      .report(Kind::packed_store, place, "two threads may write one byte of `{}`, which is {}",
              tensor.name, graph::info(tensor.type).name)
      .help(fmt::format("store it as `{}`", graph::is_signed(tensor.type) ? "i8" : "u8"));
  failed_ = true;
  return true;
}

void Printer::store_now(const Store& store) {
  if (accumulate(store)) return;
  const Tensor& tensor = kernel_[store.dst.tensor];
  std::string offset = offset_text(store.dst);
  if (in_registers(store.dst)) {
    Piece value = values_.converted(values_.piece(store.value), kernel_.values[store.value].type,
                                    register_type(tensor.type));
    out_.line("{} = {};", register_text(store.dst.tensor, offset), value.text);
    return;
  }
  if (refuse_packed(store.dst.tensor)) return;
  Piece value = values_.storable(store.value, tensor.type);
  out_.line("{};", values_.move(dialect_.storages[tensor.type].store.text(),
                                tensor_names_[store.dst.tensor.value], offset, value));
}

void Printer::print(const Store& store) {
  open_if(store.predicate);
  store_now(store);
  if (store.predicate) close_if();
}

void Printer::print(const Copy& copy) {
  bool load = in_registers(copy.dst);
  if (load && in_registers(copy.src)) return pack(copy);
  TANG_CHECK(load || in_registers(copy.src), "a copy in kernel `{}` touches no registers",
             kernel_.name);
  open_if(copy.predicate);
  move_elements(copy, load ? copy.src : copy.dst, load ? copy.dst : copy.src, load);
  if (copy.predicate) close_if();
}

/// `base + lane`, short where one of them is 0.
std::string plus(const std::string& base, const std::string& lane) {
  if (base.empty() || base == "0") return lane;
  return lane == "0" ? base : base + " + " + lane;
}

/// Neighbouring values rounded into a fragment, two to a register.
void Printer::pack(const Copy& copy) {
  const Storage& storage = dialect_.storages[kernel_[copy.dst.tensor].type];
  TANG_CHECK(!storage.pair.text().empty() && !copy.predicate, "kernel `{}` rounds into fragments",
             kernel_.name);
  auto text = [&](const Ref& ref) { return values_.text(ref.coordinates[0], additive); };
  values_.push();
  std::string pair = names_.add("pair"), to = text(copy.dst), from = text(copy.src);
  auto source = [&](const std::string& lane) {
    return register_text(copy.src.tensor, plus(from, lane));
  };
  if (!dialect_.words.unroll.text().empty()) out_.raw(std::string(dialect_.words.unroll.text()));
  Piece value{source("2 * " + pair) + ", " + source(fmt::format("2 * {} + 1", pair)), lowest};
  out_.line("for (int {0} = 0; {0} < {1}; ++{0}) {2};", pair, copy.width / 2,
            values_.move(storage.pair.text(), tensor_names_[copy.dst.tensor.value],
                         fmt::format("({}) / 2 + {}", to, pair), value));
  values_.pop();
}

void Printer::move_elements(const Copy& copy, const Ref& memory, const Ref& registers, bool load) {
  const Tensor& outer = kernel_[memory.tensor];
  const Tensor& inner = kernel_[registers.tensor];
  const Storage& storage = dialect_.storages[outer.type];
  int bits = graph::info(outer.type).bits;
  if (!load && copy.width % 2 != 0 && refuse_packed(memory.tensor)) return;
  auto text = [&](const Ref& ref) {
    return ref.coordinates.empty() ? std::string("0") : values_.text(ref.coordinates[0], additive);
  };
  std::string outer_offset = text(memory), inner_offset = text(registers);
  int widest = dialect_.widest_move * 8 / bits;
  for (int first = 0; first < copy.width; first += widest) {
    VectorMove move;
    move.load = load;
    move.pointer = tensor_names_[memory.tensor.value];
    move.offset = plus(outer_offset, fmt::format("{}", first));
    move.storage = &storage;
    move.packed = graph::is_packed(outer.type);
    move.width = std::min(widest, copy.width - first);
    move.bytes = std::max(1, move.width * bits / 8);
    values_.push();
    move.names = &names_;
    MoveView view = dialect_.sentences.begin_move(out_, move);
    std::string lane = move.width == 1 ? "0" : names_.add("lane");
    std::string from = register_text(
        registers.tensor, plus(inner_offset, first ? plus(fmt::format("{}", first), lane) : lane));
    Type kept = register_type(inner.type), natural = register_type(outer.type);
    std::string at = plus(view.offset, lane), line;
    if (load) {
      Piece value{values_.move(storage.load.text(), view.pointer, at, {}), storage.load_precedence};
      line = from + " = " + values_.converted(value, natural, kept).text;
    } else {
      Piece value = values_.storable({from, postfix}, kept, {}, outer.type);
      line = values_.move(storage.store.text(), view.pointer, at, value);
    }
    if (move.width > 1) {
      if (!dialect_.words.unroll.text().empty())
        out_.raw(std::string(dialect_.words.unroll.text()));
      out_.line("for (int {0} = 0; {0} < {1}; ++{0}) {2};", lane, move.width, line);
    } else {
      out_.raw(line + ";");
    }
    dialect_.sentences.end_move(out_, move);
    values_.pop();
  }
}

void Printer::print(const Shfl& shfl) {
  if (!values_.used(shfl.var)) return;
  std::string text = dialect_.sentences.shuffle(values_.text(shfl.value), shfl.mask);
  Type type = kernel_.values[shfl.var].type;
  out_.line("const {} {} = {};", word(dialect_.words, type), values_.define(shfl.var), text);
}

/// A pointer with an offset; the parts of one that begins with 0 are added to the pointer one by
/// one.
std::string Printer::address(const std::string& pointer, ValueId offset) {
  std::vector<ValueId> parts;
  for (ValueId at = offset;;) {
    const Value& v = kernel_.values[at];
    bool sum = v.form == Form::operation && v.op == graph::Op::add;
    if (!sum) {
      if (kernel_.values.as_integer(at) != 0) parts = {offset};
      break;
    }
    parts.push_back(v.operands[1]), at = v.operands[0];
  }
  std::string text = pointer;
  for (size_t i = parts.size(); i-- > 0;) {
    bool one = parts.size() == 1;
    text += " + " + values_.text(parts[i], one ? additive : multiplicative);
  }
  return text;
}

/// The address of a memory operand's first element, or of a register operand's first register.
std::string Printer::operand(const Ref& ref, const atomics::Operand& operand) {
  const Tensor& tensor = kernel_[ref.tensor];
  const std::string& name = tensor_names_[ref.tensor.value];
  if (operand.memory == Memory::global && !ref.coordinates.empty())
    return address(name, ref.coordinates[0]);
  std::string offset = ref.coordinates.empty() ? "0" : values_.text(ref.coordinates[0], additive);
  if (operand.memory == Memory::registers && tensor_sizes_[ref.tensor.value] == 1)
    return "&" + name;
  if (is_fragment(tensor))
    offset = fmt::format("({}) / {}", offset, 32 / graph::info(tensor.type).bits);
  return offset == "0" ? name : fmt::format("{} + {}", name, offset);
}

void Printer::print(const Atom& atom) {
  const atomics::Row& row = *atom.row;
  std::string symbol = atomics::symbol_of(row.name);
  for (int64_t immediate : atom.immediates) symbol += fmt::format("_{}", immediate);
  calls_.instructions.try_emplace(
      symbol, dialect_.sentences.instruction(Instruction{&row, atom.immediates, symbol}));
  std::vector<std::string> arguments;
  for (size_t i = 0; i < atom.operands.size(); ++i)
    arguments.push_back(operand(atom.operands[i], row.operands[i]));
  if (row.zero_fills) {
    int bytes = row.operands[1].run_bytes();
    arguments.push_back(
        atom.predicate ? fmt::format("{} ? {} : 0", values_.text(atom.predicate, logical_or), bytes)
                       : fmt::format("{}", bytes));
  }
  out_.line("{}({});", symbol, fmt::join(arguments, ", "));
}

void Printer::print(const Spec& spec) {
  for (size_t begin = 0; begin < spec.comment.size();) {
    size_t end = std::min(spec.comment.find('\n', begin), spec.comment.size());
    out_.raw("// " + comment_text(std::string_view(spec.comment).substr(begin, end - begin)));
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

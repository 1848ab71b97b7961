// The `.spec` text of kernels (grammar/spec.ebnf).
#include "base/check.h"
#include "base/text_writer.h"
#include "kernel/kernel.h"
#include "kernel/names.h"
#include "kernel/value_text.h"
#include "kernel/var_range.h"
#include <fmt/ranges.h>

namespace tang::kernel {
namespace {

class KernelWriter {
public:
  explicit KernelWriter(const Kernel& kernel)
      : kernel_(kernel), names_{[this](VarId id) { return variable(id); },
                                [this](TensorId id) { return tensor(id); },
                                [this](TensorId id) { return register_type(kernel_[id].type); }} {}

  std::string text() {
    for (const std::string& line : kernel_.comment) comment(line);
    out_.line("kernel {} {{", kernel_.name);
    out_.indent();
    if (kernel_.index_bits) out_.line("addresses {}", kernel::name(address()));
    for (TensorId id : kernel_.params) parameter(id);
    for (const ScalarParam& scalar : kernel_.scalars) scalar_parameter(scalar.var);
    modes();
    body(kernel_.body);
    out_.dedent();
    out_.raw("}");
    return out_.take();
  }

private:
  std::string variable(VarId id) { return chosen_.of(vars_, id.value, kernel_.values[id].name); }
  std::string tensor(TensorId id) {
    // Shared memory stays to the end of the kernel.
    return chosen_.of(tensors_, id.value, kernel_[id].name, kernel_[id].memory == Memory::shared);
  }
  Type address() const {
    return kernel_.index_bits == 32   ? Type::i32
           : kernel_.index_bits == 64 ? Type::i64
                                      : Type::index;
  }
  Type type_of(VarId id) const { return kernel_.values[id].type; }
  void comment(const std::string& line) { out_.raw(line.empty() ? "#" : "# " + line); }

  /// Texts of values, with the definitions that they need written before. `root`: what literals
  /// that stand alone are here.
  std::vector<std::string> texts(std::span<const ValueId> ids, Type root) {
    auto define = [this](Type type, const std::string& text) {
      std::string name = fmt::format("${}", ++temporaries_);
      out_.line("{}: {} <- Pointwise({})", name, kernel::name(type), text);
      return name;
    };
    return texts_of(kernel_.values, ids, names_, define, {root, address()});
  }
  std::string text(ValueId id, Type root) { return texts({&id, 1}, root)[0]; }
  std::string text(ValueId id) { return text(id, address()); }

  std::string tuple(std::span<const ValueId> ids) {
    std::string joined = "(";
    for (const std::string& part : texts(ids, address()))
      joined += (joined.size() > 1 ? ", " : "") + part;
    return joined + ")";
  }

  std::string declaration(TensorId id) {
    const Tensor& t = kernel_[id];
    return fmt::format("{}: {} {} {}:{}", tensor(id), atomics::name(t.memory),
                       graph::info(t.type).name, tuple(t.shape), tuple(t.stride));
  }
  std::string align(TensorId id) const {
    return kernel_[id].align != 16 ? fmt::format(" align {}", kernel_[id].align) : "";
  }

  /// ` in lo..hi step s`, as far as it does not follow from the definition.
  std::string range(VarId id, const VarRange& follows = {}) const {
    const Var& var = kernel_.values[id];
    std::string text;
    auto end = [](std::optional<int64_t> n) { return n ? std::to_string(*n) : std::string(); };
    if (VarRange{var.lo, var.hi} != follows)
      text = fmt::format(" in {}..{}", end(var.lo), end(var.hi));
    return var.step == 1 ? text : text + fmt::format(" step {}", var.step);
  }

  void parameter(TensorId id) {
    const Tensor& t = kernel_[id];
    out_.line("param {}{}{}{}", declaration(id), align(id), t.written ? " written" : "",
              t.in_part ? " in part" : "");
  }

  void scalar_parameter(VarId id) {
    out_.line("scalar {}: {}{}", variable(id), kernel::name(type_of(id)), range(id));
  }

  void modes() {
    std::string blocks, threads;
    for (const BlockMode& mode : kernel_.blocks)
      blocks += fmt::format(
          "{}{}: {}{}", blocks.empty() ? "" : ", ", variable(mode.coordinate), text(mode.extent),
          range(mode.coordinate, range_of_coordinate(kernel_.values, mode.extent)));
    for (const ThreadMode& mode : kernel_.threads)
      threads += fmt::format("{}{}: {}{}", threads.empty() ? "" : ", ", variable(mode.coordinate),
                             mode.extent, range(mode.coordinate, {0, mode.extent - 1}));
    if (!kernel_.blocks.empty())
      out_.line("blocks ({}){}", blocks, kernel_.descending ? " descending" : "");
    if (!kernel_.threads.empty()) out_.line("threads ({})", threads);
    if (kernel_.flat_block)
      out_.line("flat block {}{}", variable(kernel_.flat_block),
                range(kernel_.flat_block, {0, {}}));
    if (kernel_.flat_thread)
      out_.line("flat thread {}{}", variable(kernel_.flat_thread),
                range(kernel_.flat_thread, {0, kernel_.thread_count() - 1}));
    if (kernel_.shared_bytes) out_.line("shared bytes {}", kernel_.shared_bytes);
  }

  void body(const Body& statements) {
    for (const Stmt& stmt : statements) std::visit([this](const auto& s) { write(s); }, stmt.node);
  }
  void block(const Body& statements) {
    out_.indent();
    body(statements);
    out_.dedent();
  }
  /// With names of its own.
  void scope(const Body& statements) {
    chosen_.open();
    block(statements);
    chosen_.close();
  }

  void write(const For& s) {
    ValueId bounds[] = {s.begin, s.end, s.step};
    auto t = texts(bounds, type_of(s.var));
    std::string_view kind = s.kind == LoopKind::serial     ? ""
                            : s.kind == LoopKind::unrolled ? " unrolled"
                                                           : " vector";
    std::string step = kernel_.values.as_integer(s.step) == 1 ? "" : " step " + t[2];
    chosen_.open();
    std::string known = range(s.var, range_of_loop(kernel_.values, s.begin, s.end));
    out_.line("for {}: {} in {} .. {}{}{}{} {{", variable(s.var), kernel::name(type_of(s.var)),
              t[0], t[1], step, kind, known.empty() ? "" : " known" + known);
    block(s.body);
    chosen_.close();
    out_.raw("}");
  }
  void write(const If& s) {
    out_.line("if {} {{", text(s.condition));
    scope(s.then);
    if (!s.otherwise.empty()) {
      out_.raw("} else {");
      scope(s.otherwise);
    }
    out_.raw("}");
  }
  void write(const Let& s) {
    std::string value = text(s.value, type_of(s.var));
    out_.line("{} <- Pointwise({})", typed(s.var, let_range(s)), value);
  }
  void write(const Delinearize& s) {
    std::vector<ValueId> all{s.value};
    all.insert(all.end(), s.extents.begin(), s.extents.end());
    auto t = texts(all, address());
    std::string names;
    for (size_t i = 0; i < s.vars.size(); ++i) {
      VarRange follows = is_mode(s.vars[i]) ? stated(s.vars[i])
                                            : range_of_coordinate(kernel_.values, s.extents[i]);
      names += (names.empty() ? "" : ", ") + variable(s.vars[i]) + range(s.vars[i], follows);
    }
    std::string value = std::move(t[0]);
    t.erase(t.begin());
    out_.line("({}) <- Delinearize({}; {})", names, value, fmt::join(t, ", "));
  }
  void write(const Allocate& s) {
    const Tensor& t = kernel_[s.tensor];
    bool placed = kernel_.shared_bytes && t.memory == Memory::shared;
    out_.line("allocate {}{}{}", declaration(s.tensor), align(s.tensor),
              placed ? fmt::format(" at {}", t.offset) : "");
  }
  void write(const Load& s) {
    std::string otherwise = s.otherwise ? " else " + text(s.otherwise, type_of(s.var)) : "";
    std::string condition = guard(s.predicate);
    std::string source = place(s.src);
    out_.line("{} <- Move({}){}{}", typed(s.var), source, condition, otherwise);
  }
  void write(const Store& s) {
    std::string condition = guard(s.predicate);
    std::string value = text(s.value, register_type(kernel_[s.dst.tensor].type));
    std::string target = place(s.dst);
    out_.line("{} <- Move({}){}", target, value, condition);
  }
  void write(const Copy& s) {
    std::string condition = guard(s.predicate), source = place(s.src), target = place(s.dst);
    out_.line("{} <- Move<{}>({}){}", target, s.width, source, condition);
  }
  void write(const Shfl& s) {
    std::string value = text(s.value, type_of(s.var));
    out_.line("{} <- Shfl<{}>({})", typed(s.var), s.mask, value);
  }
  void write(const Barrier&) { out_.raw("barrier"); }
  void write(const Atom& s) {
    std::string outputs, inputs, condition = guard(s.predicate);
    for (size_t i = 0; i < s.operands.size(); ++i) {
      std::string& list = i == 0 ? outputs : inputs;
      list += (list.empty() ? "" : ", ") + place(s.operands[i]);
    }
    for (int64_t immediate : s.immediates)
      inputs += fmt::format("{}{}", inputs.empty() ? "" : ", ", immediate);
    out_.line("{} <- {}<{}>({}){}", outputs.empty() ? "()" : outputs, atomics::name(s.row->kind),
              s.row->name, inputs, condition);
  }
  void write(const Spec& s) {
    for (size_t begin = 0; begin < s.comment.size();) {
      size_t end = std::min(s.comment.find('\n', begin), s.comment.size());
      comment(s.comment.substr(begin, end - begin));
      begin = end + 1;
    }
    auto list = [this](const std::vector<TensorId>& ids) {
      std::string joined;
      for (TensorId id : ids) joined += (joined.empty() ? "" : ", ") + tensor(id);
      return joined;
    };
    std::string outputs = list(s.outputs);
    out_.line("{} <- {}({}) {{", outputs.empty() ? "()" : outputs, s.kind, list(s.inputs));
    block(s.body);
    out_.raw("}");
  }

  /// A mode of the grid or the block, which its head has declared.
  bool is_mode(VarId id) const {
    auto is = [&](const auto& mode) { return mode.coordinate == id; };
    return std::any_of(kernel_.blocks.begin(), kernel_.blocks.end(), is) ||
           std::any_of(kernel_.threads.begin(), kernel_.threads.end(), is);
  }
  VarRange stated(VarId id) const { return {kernel_.values[id].lo, kernel_.values[id].hi}; }
  VarRange let_range(const Let& s) const {
    return is_mode(s.var) ? stated(s.var) : range_of_let(kernel_.values, s.value);
  }
  std::string typed(VarId id, const VarRange& follows = {}) {
    return fmt::format("{}: {}{}", variable(id), kernel::name(type_of(id)), range(id, follows));
  }
  std::string guard(ValueId predicate) { return predicate ? " if " + text(predicate) : ""; }
  std::string place(const Ref& ref) {
    std::string joined;
    for (const std::string& part : texts(ref.coordinates, address()))
      joined += (joined.empty() ? "" : ", ") + part;
    return fmt::format("{}[{}]", tensor(ref.tensor), joined);
  }

  const Kernel& kernel_;
  ValueNames names_;
  TextWriter out_;
  ChosenNames chosen_;
  std::unordered_map<uint32_t, std::string> vars_, tensors_;
  int temporaries_ = 0;
};

} // namespace

std::string to_text(const Kernel& kernel) {
  return KernelWriter(kernel).text();
}

} // namespace tang::kernel

// The `.spec` text of kernels (grammar/spec.ebnf).
#include "base/check.h"
#include "base/text_writer.h"
#include "kernel/kernel.h"
#include "kernel/names.h"
#include "kernel/value_text.h"
#include <fmt/ranges.h>

namespace tang::kernel {
namespace {

class KernelWriter {
public:
  explicit KernelWriter(const Kernel& kernel)
      : kernel_(kernel), names_{[this](VarId id) { return variable(id); },
                                [this](TensorId id) { return tensor(id); }} {}

  std::string text() {
    for (const std::string& line : kernel_.comment) out_.raw("# " + line);
    out_.line("kernel {} {{", kernel_.name);
    out_.indent();
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
  std::string tensor(TensorId id) { return chosen_.of(tensors_, id.value, kernel_[id].name); }

  /// Texts of values, with the definitions that they need written before.
  std::vector<std::string> texts(std::span<const ValueId> ids,
                                 RootLiterals literals = RootLiterals::bare) {
    auto define = [this](Type type, const std::string& text) {
      std::string name = fmt::format("${}", ++temporaries_);
      out_.line("{}: {} <- Pointwise({})", name, kernel::name(type), text);
      return name;
    };
    return texts_of(kernel_.values, ids, names_, define, literals);
  }
  std::string typed_text(ValueId id) { return texts({&id, 1}, RootLiterals::typed)[0]; }
  std::string text(ValueId id) { return texts({&id, 1})[0]; }

  std::string tuple(std::span<const ValueId> ids) {
    std::string joined = "(";
    for (const std::string& part : texts(ids)) joined += (joined.size() > 1 ? ", " : "") + part;
    return joined + ")";
  }

  std::string declaration(TensorId id) {
    const Tensor& t = kernel_[id];
    return fmt::format("{}: {} {} {}:{}", tensor(id), atomics::name(t.memory),
                       graph::info(t.type).name, tuple(t.shape), tuple(t.stride));
  }

  void parameter(TensorId id) {
    const Tensor& t = kernel_[id];
    out_.line("param {}{}{}{}", declaration(id),
              t.align != 16 ? fmt::format(" align {}", t.align) : "", t.written ? " written" : "",
              t.in_part ? " in part" : "");
  }

  void scalar_parameter(VarId id) {
    const Var& var = kernel_.values[id];
    std::string range;
    if (var.lo || var.hi)
      range = fmt::format(" in {}..{}", var.lo ? std::to_string(*var.lo) : "",
                          var.hi ? std::to_string(*var.hi) : "");
    out_.line("scalar {}: {}{}", variable(id), kernel::name(var.type), range);
  }

  void modes() {
    std::string blocks, threads;
    for (const BlockMode& mode : kernel_.blocks)
      blocks += fmt::format("{}{}: {}", blocks.empty() ? "" : ", ", variable(mode.coordinate),
                            text(mode.extent));
    for (const ThreadMode& mode : kernel_.threads)
      threads += fmt::format("{}{}: {}", threads.empty() ? "" : ", ", variable(mode.coordinate),
                             mode.extent);
    if (!kernel_.blocks.empty())
      out_.line("blocks ({}){}", blocks, kernel_.descending ? " descending" : "");
    if (!kernel_.threads.empty()) out_.line("threads ({})", threads);
    if (kernel_.flat_block) out_.line("flat block {}", variable(kernel_.flat_block));
    if (kernel_.flat_thread) out_.line("flat thread {}", variable(kernel_.flat_thread));
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

  void write(const For& s) {
    ValueId bounds[] = {s.begin, s.end, s.step};
    auto t = texts(bounds);
    std::string_view kind = s.kind == LoopKind::serial     ? ""
                            : s.kind == LoopKind::unrolled ? " unrolled"
                                                           : " vector";
    std::string step = kernel_.values.as_integer(s.step) == 1 ? "" : " step " + t[2];
    out_.line("for {}: {} in {} .. {}{}{} {{", variable(s.var),
              kernel::name(kernel_.values[s.var].type), t[0], t[1], step, kind);
    block(s.body);
    out_.raw("}");
  }
  void write(const If& s) {
    out_.line("if {} {{", text(s.condition));
    block(s.then);
    if (!s.otherwise.empty()) {
      out_.raw("} else {");
      block(s.otherwise);
    }
    out_.raw("}");
  }
  void write(const Let& s) {
    std::string value = text(s.value);
    out_.line("{} <- Pointwise({})", typed(s.var), value);
  }
  void write(const Delinearize& s) {
    std::string names;
    for (VarId id : s.vars) names += (names.empty() ? "" : ", ") + variable(id);
    std::vector<ValueId> all{s.value};
    all.insert(all.end(), s.extents.begin(), s.extents.end());
    auto t = texts(all);
    std::string value = std::move(t[0]);
    t.erase(t.begin());
    out_.line("({}) <- Delinearize({}; {})", names, value, fmt::join(t, ", "));
  }
  void write(const Allocate& s) { out_.line("allocate {}", declaration(s.tensor)); }
  void write(const Load& s) {
    std::string otherwise = s.otherwise ? " else " + text(s.otherwise) : "";
    std::string condition = guard(s.predicate);
    std::string source = place(s.src);
    out_.line("{} <- Move({}){}{}", typed(s.var), source, condition, otherwise);
  }
  void write(const Store& s) {
    std::string condition = guard(s.predicate), value = typed_text(s.value);
    std::string target = place(s.dst);
    out_.line("{} <- Move({}){}", target, value, condition);
  }
  void write(const Copy& s) {
    std::string condition = guard(s.predicate), source = place(s.src), target = place(s.dst);
    out_.line("{} <- Move<{}>({}){}", target, s.width, source, condition);
  }
  void write(const Shfl& s) {
    std::string value = text(s.value);
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
    if (!s.comment.empty()) out_.raw("# " + s.comment);
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

  std::string typed(VarId id) {
    return fmt::format("{}: {}", variable(id), kernel::name(kernel_.values[id].type));
  }
  std::string guard(ValueId predicate) { return predicate ? " if " + text(predicate) : ""; }
  std::string place(const Ref& ref) {
    std::string joined;
    for (const std::string& part : texts(ref.coordinates))
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

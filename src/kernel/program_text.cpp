// The `.spec` text of a program: dims, buffers, launches, then its kernels.
#include "base/check.h"
#include "base/text_writer.h"
#include "kernel/names.h"
#include "kernel/program.h"
#include "kernel/value_text.h"
#include <cmath>

namespace tang::kernel {
namespace {

class ProgramWriter {
public:
  explicit ProgramWriter(const Program& program)
      : program_(program), names_{[this](VarId id) { return variable(id); },
                                  [](TensorId) { return std::string("?"); }} {}

  std::string text() {
    out_.line("program {} {{", program_.name);
    out_.indent();
    if (!program_.target.empty()) out_.line("target {}", program_.target);
    for (VarId dim : program_.dims) dimension(dim);
    for (size_t i = 0; i < program_.slots.size(); ++i)
      out_.line("slot {}: {} bytes", i, text(program_.slots[i].bytes));
    for (size_t i = 0; i < program_.buffers.size(); ++i) buffer(static_cast<uint32_t>(i));
    std::string arguments;
    for (BufferId id : program_.arguments)
      arguments += (arguments.empty() ? "" : ", ") + buffer_name(id);
    out_.line("arguments ({})", arguments);
    for (const Promise& promise : program_.promises) this->promise(promise);
    for (const Room& room : program_.rooms) {
      std::string shape = list(room.shape), strides = list(room.strides);
      out_.line("room {} ({}):({})", buffer_name(room.buffer), shape, strides);
    }
    if (program_.whole_buffers) out_.raw("whole_buffers");
    if (program_.max_blocks) out_.line("max_blocks {}", program_.max_blocks);
    steps(program_.steps);
    out_.dedent();
    out_.raw("}");
    for (const Kernel& kernel : program_.kernels) {
      out_.blank();
      std::string body = to_text(kernel);
      body.pop_back(); // the line end that `raw` adds
      out_.raw(body);
    }
    return out_.take();
  }

private:
  std::string variable(VarId id) { return chosen_.of(vars_, id.value, program_.values[id].name); }
  std::string buffer_name(BufferId id) {
    return buffer_names_.of(buffers_, id.value, program_.buffers[id.value].name);
  }
  std::string text(ValueId id) {
    auto define = [this](Type type, const std::string& text) {
      std::string name = fmt::format("${}", ++temporaries_);
      out_.line("{}: {} = {}", name, kernel::name(type), text);
      return name;
    };
    return texts_of(program_.values, {&id, 1}, names_, define, {Type::i64, Type::i64})[0];
  }
  std::string list(std::span<const ValueId> ids) {
    std::string joined;
    for (ValueId id : ids) joined += (joined.empty() ? "" : ", ") + text(id);
    return joined;
  }

  void dimension(VarId id) {
    const Var& var = program_.values[id];
    out_.line("dim {} in {}..{}{}", variable(id), var.lo ? std::to_string(*var.lo) : "",
              var.hi ? std::to_string(*var.hi) : "",
              var.step != 1 ? fmt::format(" step {}", var.step) : "");
  }

  /// ` = {1.0, 2.0}`: what a table holds.
  static std::string elements(const Buffer& b) {
    if (b.kind != Buffer::Kind::table) return "";
    std::string list;
    for (double x : b.reals) {
      std::string text = real_text(x, Type::f64);
      text.resize(text.size() - (std::isfinite(x) ? 3 : 2)); // all are of one format
      list += (list.empty() ? "" : ", ") + text;
    }
    for (int64_t n : b.integers) list += (list.empty() ? "" : ", ") + std::to_string(n);
    return " = {" + list + "}";
  }

  void buffer(uint32_t i) {
    const Buffer& b = program_.buffers[i];
    std::string_view kind = b.kind == Buffer::Kind::argument    ? "argument"
                            : b.kind == Buffer::Kind::workspace ? "workspace"
                                                                : "table";
    std::string slot = b.kind == Buffer::Kind::workspace ? fmt::format(" in slot {}", b.slot) : "";
    std::string elements = text(b.elements);
    std::string shape = b.shape.empty() ? "" : fmt::format(" shape ({})", list(b.shape));
    std::string strides = b.strides.empty() ? "" : fmt::format(":({})", list(b.strides));
    out_.line("buffer {}: {} {} ({}){}{}{}{}{}{}", buffer_name(BufferId(i)), kind,
              graph::info(b.type).name, elements, shape, strides, slot,
              b.align != 16 ? fmt::format(" align {}", b.align) : "", b.written ? " written" : "",
              ProgramWriter::elements(b));
  }

  void promise(const Promise& p) {
    std::string shape = list(p.shape), strides = list(p.strides);
    std::string lo = text(p.lo), hi = text(p.hi);
    out_.line("promise {} ({}):({}) in {}..{}{}", buffer_name(p.buffer), shape, strides, lo, hi,
              p.sorted ? " sorted" : "");
  }

  void steps(const std::vector<Step>& steps) {
    for (const Step& step : steps)
      std::visit(Overload{[this](const Dispatch& d) { dispatch(d); },
                          [this](const Loop& l) {
                            std::string extent = text(l.extent);
                            chosen_.open();
                            out_.line("loop {} in 0 .. {} {{", variable(l.var), extent);
                            out_.indent();
                            this->steps(l.body);
                            out_.dedent();
                            chosen_.close();
                            out_.raw("}");
                          }},
                 step.node);
  }

  void dispatch(const Dispatch& d) {
    out_.line("launch {} {{", d.name);
    out_.indent();
    for (const Variant& v : d.variants) {
      std::string bound;
      for (const Binding& b : v.bindings) {
        std::string offset = b.offset ? text(b.offset) : "0";
        bound += (bound.empty() ? "" : ", ") + buffer_name(b.buffer);
        if (offset != "0") bound += "[" + offset + "]";
      }
      std::string scalars = list(v.scalars), blocks = list(v.blocks);
      std::string condition = v.condition ? " if " + text(v.condition) : "";
      const Kernel& kernel = program_.kernels[v.kernel.value];
      // A kernel whose addresses have a type shows it.
      bool undecided = v.index_bits != 0 && kernel.index_bits == 0;
      std::string index = undecided ? fmt::format(" index {}", v.index_bits) : "";
      out_.line("{}({}{}){}{}{}", kernel.name, bound, scalars.empty() ? "" : "; " + scalars,
                blocks.empty() ? "" : " blocks (" + blocks + ")", index, condition);
    }
    out_.dedent();
    out_.raw("}");
  }

  const Program& program_;
  ValueNames names_;
  TextWriter out_;
  ChosenNames chosen_, buffer_names_;
  std::unordered_map<uint32_t, std::string> vars_, buffers_;
  int temporaries_ = 0;
};

} // namespace

std::string to_text(const Program& program) {
  return ProgramWriter(program).text();
}

std::string to_text(const Program& program, ValueId host) {
  ValueNames names{[&](VarId id) { return program.values[id].name; },
                   [](TensorId) { return std::string("?"); }};
  auto in_place = [](Type, const std::string& text) { return "(" + text + ")"; };
  return texts_of(program.values, {&host, 1}, names, in_place, {Type::i64, Type::i64})[0];
}

} // namespace tang::kernel

// The canonical form of a kernel: words in one order, with values, variables and tensors numbered
// as they first appear. It could be read back, so that equal forms are equal kernels.
#include "base/check.h"
#include "kernel/kernel.h"
#include <bit>

namespace tang::kernel {
namespace {

class Canonical {
public:
  explicit Canonical(const Kernel& kernel)
      : kernel_(kernel), values_(kernel.values.size()), vars_(kernel.values.vars().size()),
        tensors_(kernel.tensors.size()) {}

  std::string form() {
    put(kernel_.params.size());
    for (TensorId id : kernel_.params) {
      declare(id);
      put(kernel_[id].written);
    }
    put(kernel_.scalars.size());
    for (const ScalarParam& scalar : kernel_.scalars) variable(scalar.var);
    put(kernel_.blocks.size());
    for (const BlockMode& mode : kernel_.blocks) variable(mode.coordinate), value(mode.extent);
    put(kernel_.descending);
    put(kernel_.threads.size());
    for (const ThreadMode& mode : kernel_.threads) variable(mode.coordinate), put(mode.extent);
    for (VarId flat : {kernel_.flat_block, kernel_.flat_thread}) {
      put(static_cast<bool>(flat));
      if (flat) variable(flat);
    }
    body(kernel_.body);
    return std::move(bytes_);
  }

private:
  /// A place for a value holds its number, or `absent`; `made` before it begins a new value.
  static constexpr uint32_t absent = 0xffffffffu, made = 0xfffffffeu;

  struct Numbers {
    explicit Numbers(size_t size) : of(size, absent) {}
    std::vector<uint32_t> of;
    uint32_t count = 0;
    uint32_t number(uint32_t id) {
      if (of[id] == absent) of[id] = count++;
      return of[id];
    }
  };

  template <class T>
  void put(T word) {
    auto small = static_cast<uint32_t>(word);
    TANG_CHECK(static_cast<T>(small) == word, "a word of a canonical form is too large");
    append(small);
  }
  template <class T>
  void append(T word) {
    char bytes[sizeof word];
    for (size_t i = 0; i < sizeof word; ++i) bytes[i] = static_cast<char>(word >> (8 * i) & 0xff);
    bytes_.append(bytes, sizeof word);
  }

  void variable(VarId id) {
    put(vars_.number(id.value));
    put(static_cast<int>(kernel_.values[id].type));
  }
  void tensor(TensorId id) { put(tensors_.number(id.value)); }

  void value(ValueId root) {
    if (!root) return append(absent);
    if (values_.of[root.value] != absent) return append(values_.of[root.value]);
    std::vector<ValueId> stack{root};
    while (!stack.empty()) {
      ValueId id = stack.back();
      size_t waiting = stack.size();
      const auto& operands = kernel_.values[id].operands;
      if (values_.of[id.value] == absent)
        for (auto operand = operands.rbegin(); operand != operands.rend(); ++operand)
          if (values_.of[operand->value] == absent) stack.push_back(*operand);
      if (stack.size() != waiting) continue;
      stack.pop_back();
      if (values_.of[id.value] == absent) make(id);
    }
    append(values_.of[root.value]);
  }

  void make(ValueId id) {
    const Value& v = kernel_.values[id];
    append(made);
    for (int part : {static_cast<int>(v.form), static_cast<int>(v.op), static_cast<int>(v.type),
                     static_cast<int>(v.to)})
      put(part);
    if (v.form == Form::variable) variable(VarId(v.ref));
    if (v.form == Form::element) tensor(TensorId(v.ref));
    append(static_cast<uint64_t>(v.integer));
    append(std::bit_cast<uint64_t>(v.real));
    put(v.operands.size());
    for (ValueId operand : v.operands) append(values_.of[operand.value]);
    values_.number(id.value);
  }

  template <class List>
  void list(const List& ids) {
    put(ids.size());
    for (ValueId id : ids) value(id);
  }
  void list(const std::vector<TensorId>& ids) {
    put(ids.size());
    for (TensorId id : ids) tensor(id);
  }

  void declare(TensorId id) {
    const Tensor& t = kernel_[id];
    tensor(id);
    put(static_cast<int>(t.memory)), put(static_cast<int>(t.type));
    // The extent of flat memory shows in no address.
    bool flat = t.memory == Memory::global && t.shape.size() == 1 &&
                kernel_.values.as_integer(t.stride[0]) == 1;
    put(flat);
    if (!flat) list(t.shape), list(t.stride);
  }

  void text(const std::string& text) {
    put(text.size());
    bytes_ += text;
  }
  void ref(const Ref& r) { tensor(r.tensor), list(r.coordinates); }

  void body(const Body& statements) {
    put(statements.size());
    for (const Stmt& stmt : statements) {
      put(stmt.node.index());
      std::visit([this](const auto& s) { write(s); }, stmt.node);
    }
  }
  void write(const For& s) {
    variable(s.var);
    value(s.begin), value(s.end), value(s.step);
    put(static_cast<int>(s.kind));
    body(s.body);
  }
  void write(const If& s) {
    value(s.condition);
    body(s.then), body(s.otherwise);
  }
  void write(const Let& s) { variable(s.var), value(s.value); }
  void write(const Delinearize& s) {
    put(s.vars.size());
    for (VarId id : s.vars) variable(id);
    value(s.value);
    list(s.extents);
  }
  void write(const Allocate& s) { declare(s.tensor); }
  void write(const Load& s) {
    variable(s.var), ref(s.src);
    value(s.predicate), value(s.otherwise);
  }
  void write(const Store& s) {
    ref(s.dst);
    value(s.value), value(s.predicate);
  }
  void write(const Copy& s) {
    ref(s.dst), ref(s.src);
    put(s.width), value(s.predicate);
  }
  void write(const Shfl& s) {
    variable(s.var), value(s.value);
    put(s.mask);
  }
  void write(const Barrier&) {}
  void write(const Atom& s) {
    text(s.row->name);
    for (const Ref& operand : s.operands) ref(operand);
    for (int64_t immediate : s.immediates) put(static_cast<int>(immediate));
    value(s.predicate);
  }
  void write(const Spec& s) {
    text(s.kind);
    list(s.outputs), list(s.inputs);
    body(s.body);
  }

  const Kernel& kernel_;
  std::string bytes_;
  Numbers values_, vars_, tensors_;
};

} // namespace

std::string canonical_form(const Kernel& kernel) {
  return Canonical(kernel).form();
}

} // namespace tang::kernel

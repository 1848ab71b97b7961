// Structure of a kernel: names, types, places of statements. Proofs about ranges and coverage are
// in ranges.cpp and coverage.cpp.
#include "kernel/verify.h"
#include "base/check.h"
#include "base/reachable.h"
#include "kernel/interval.h"
#include "kernel/misfit.h"
#include <set>

namespace tang::kernel {
namespace {

/// How far threads may differ in a value: not at all, from one group of 32 to the next, or one by
/// one. Registers and shuffled values count as equal: only what is surely different is an error.
enum class Spread : uint8_t { block, group, thread };

Spread wider(Spread a, Spread b) {
  return std::max(a, b);
}

class KernelVerifier {
public:
  explicit KernelVerifier(const Kernel& kernel)
      : kernel_(kernel), defined_(kernel.values.vars().size(), false), visible_(defined_),
        spreads_(defined_.size(), Spread::block), checked_(kernel.values.size(), false),
        differs_(checked_.size(), Spread::block) {}

  void run() {
    for (TensorId id : kernel_.params) parameter(id);
    for (const ScalarParam& scalar : kernel_.scalars) define(scalar.var);
    if (kernel_.flat_block) define(kernel_.flat_block);
    if (kernel_.flat_thread) define(kernel_.flat_thread);
    require(kernel_.thread_count() <= 1024, "a block has {} threads", kernel_.thread_count());
    for (const BlockMode& mode : kernel_.blocks) {
      value(mode.extent);
      // A grid without blocks runs nothing, whatever its accesses are.
      branches_ += kernel_.values.range(mode.extent).hi <= 0;
      if (!kernel_.flat_block) define(mode.coordinate);
    }
    threads();
    body(kernel_.body, Spread::block);
  }

private:
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> format, Args&&... args) const {
    if (holds) return;
    throw KernelMisfit{fmt::format(format, std::forward<Args>(args)...),
                       count_ == 0 ? std::nullopt : std::optional(count_ - 1)};
  }
  Type type(ValueId id) const { return kernel_.values[id].type; }
  const std::string& name(VarId id) const { return kernel_.values[id].name; }

  void threads() {
    int64_t below = 1;
    for (const ThreadMode& mode : kernel_.threads) {
      Spread spread = mode.extent == 1  ? Spread::block
                      : below % 32 == 0 ? Spread::group
                                        : Spread::thread;
      modes_[mode.coordinate] = spread;
      if (!kernel_.flat_thread) define(mode.coordinate, spread);
      below *= mode.extent;
    }
    if (kernel_.flat_thread)
      spreads_[kernel_.flat_thread.value] = below > 1 ? Spread::thread : Spread::block;
  }

  void parameter(TensorId id) {
    require(id.value < kernel_.tensors.size(), "parameter {} does not exist", id.value);
    const Tensor& t = kernel_[id];
    require(t.memory == Memory::global, "parameter `{}` is in {} memory", t.name,
            atomics::name(t.memory));
    require(t.shape.size() == t.stride.size(), "`{}` has {} extents and {} strides", t.name,
            t.shape.size(), t.stride.size());
    require(live_.insert(id).second, "`{}` is a parameter twice", t.name);
  }

  void define(VarId var, Spread spread = Spread::block) {
    require(!defined_[var.value], "`{}` is defined twice", name(var));
    defined_[var.value] = visible_[var.value] = true;
    scope_.push_back(var);
    spreads_[var.value] = spread;
  }

  /// Checks that a value can be computed here, and says how far threads differ in it. What was
  /// checked in this body or around it is not looked into again.
  Spread value(ValueId root) {
    if (!root) return Spread::block;
    if (checked_[root.value]) return differs_[root.value];
    auto unchecked = [&](ValueId id) -> std::span<const ValueId> {
      if (checked_[id.value]) return {};
      return kernel_.values[id].operands;
    };
    for (ValueId id : reachable_ids(std::span<const ValueId>(&root, 1), unchecked)) {
      if (checked_[id.value]) continue;
      const Value& v = kernel_.values[id];
      Spread spread = Spread::block;
      for (ValueId operand : v.operands) spread = wider(spread, differs_[operand.value]);
      if (v.form == Form::operation && v.op == Op::floordiv && numbers_groups(v))
        spread = Spread::group;
      if (v.form == Form::variable) {
        require(visible_[v.ref], "`{}` is used where it has no value", name(VarId(v.ref)));
        spread = spreads_[v.ref];
      }
      if (v.form == Form::element) {
        require(kernel_[TensorId(v.ref)].memory == Memory::registers,
                "a value reads `{}`, which is not in registers", kernel_[TensorId(v.ref)].name);
        ref(TensorId(v.ref), v.operands, 1);
      }
      differs_[id.value] = spread, checked_[id.value] = true;
    }
    return differs_[root.value];
  }
  /// The thread's number by a multiple of 32.
  bool numbers_groups(const Value& quotient) const {
    const Value& number = kernel_.values[quotient.operands[0]];
    auto by = kernel_.values.as_integer(quotient.operands[1]);
    return number.form == Form::variable && VarId(number.ref) == kernel_.flat_thread && by &&
           *by > 0 && *by % 32 == 0;
  }

  Spread condition(ValueId id) {
    if (id) require(type(id) == Type::boolean, "a condition is {}", kernel::name(type(id)));
    return value(id);
  }
  Spread integer(ValueId id) {
    require(id && is_integer(type(id)), "a coordinate or bound is no integer");
    return value(id);
  }

  Spread ref(const Ref& r, int width) { return ref(r.tensor, r.coordinates, width); }
  Spread ref(TensorId tensor, std::span<const ValueId> coordinates, int width) {
    require(tensor.value < kernel_.tensors.size(), "tensor {} does not exist", tensor.value);
    const Tensor& t = kernel_[tensor];
    require(live_.contains(tensor), "`{}` is used where it does not exist", t.name);
    require(coordinates.size() == t.shape.size(), "`{}` of rank {} has {} coordinates", t.name,
            t.shape.size(), coordinates.size());
    Spread spread = Spread::block;
    for (size_t i = 0; i < coordinates.size(); ++i) {
      spread = wider(spread, integer(coordinates[i]));
      if (branches_ > 0 || width > 1) continue;
      IntRange at = kernel_.values.range(coordinates[i]);
      IntRange extent = kernel_.values.range(t.shape[i]);
      bool outside = at.hi < 0 || (at.lo >= extent.hi && extent.hi > 0);
      require(!outside, "coordinate {} of `{}` is always out of range", i, t.name);
    }
    return spread;
  }

  void statement(const For& s, Spread around) {
    Spread spread = wider(wider(integer(s.begin), integer(s.end)), integer(s.step));
    IntRange step = kernel_.values.range(s.step);
    require(step.hi > 0, "the loop over `{}` does not advance", name(s.var));
    ++branches_;
    nested(s.body, wider(around, spread), [&] { define(s.var, spread); });
    --branches_;
  }
  void statement(const If& s, Spread around) {
    Spread spread = wider(around, condition(s.condition));
    ++branches_;
    nested(s.then, spread, [] {});
    nested(s.otherwise, spread, [] {});
    --branches_;
  }
  void statement(const Let& s, Spread) {
    require((kernel_.values[s.var].type == Type::boolean) == (type(s.value) == Type::boolean),
            "`{}` is {} and its value {}", name(s.var), kernel::name(kernel_.values[s.var].type),
            kernel::name(type(s.value)));
    Spread spread = value(s.value);
    auto mode = modes_.find(s.var);
    define(s.var, mode == modes_.end() ? spread : mode->second);
  }
  void statement(const Delinearize& s, Spread) {
    require(!s.vars.empty() && s.vars.size() == s.extents.size(), "{} coordinates of {} extents",
            s.vars.size(), s.extents.size());
    Spread spread = integer(s.value);
    for (ValueId extent : s.extents) spread = wider(spread, integer(extent));
    for (size_t i = 0; i < s.vars.size(); ++i) {
      auto mode = modes_.find(s.vars[i]);
      define(s.vars[i], mode == modes_.end() ? spread : mode->second);
    }
  }
  void statement(const Allocate& s, Spread) {
    const Tensor& t = kernel_[s.tensor];
    require(t.memory != Memory::global, "global tensor `{}` is allocated", t.name);
    for (ValueId id : t.shape)
      require(kernel_.values.as_integer(id).has_value(), "`{}` has no constant extent", t.name);
    for (ValueId id : t.stride)
      require(kernel_.values.as_integer(id).has_value(), "`{}` has no constant stride", t.name);
    require(live_.insert(s.tensor).second, "`{}` is allocated twice", t.name);
    if (t.memory == Memory::registers) scoped_.push_back(s.tensor);
  }
  void statement(const Load& s, Spread) {
    Spread spread = wider(guarded(s.predicate, [&] { return ref(s.src, 1); }), value(s.otherwise));
    if (s.otherwise)
      require(type(s.otherwise) == kernel_.values[s.var].type, "`{}` is {} or else {}", name(s.var),
              kernel::name(kernel_.values[s.var].type), kernel::name(type(s.otherwise)));
    bool registers = kernel_[s.src.tensor].memory == Memory::registers;
    define(s.var, registers ? Spread::block : spread);
  }
  void statement(const Store& s, Spread) {
    guarded(s.predicate, [&] { return ref(s.dst, 1); });
    value(s.value);
    written(s.dst);
    bool real = graph::scalar_of(kernel_[s.dst.tensor].type) == graph::Scalar::real;
    require(!is_real(type(s.value)) || real, "a real value is stored to `{}`",
            kernel_[s.dst.tensor].name);
  }
  void statement(const Copy& s, Spread) {
    guarded(s.predicate, [&] { return wider(ref(s.dst, s.width), ref(s.src, s.width)); });
    written(s.dst);
    // Between registers: values are rounded into a fragment.
    bool one = (kernel_[s.dst.tensor].memory == Memory::registers) !=
               (kernel_[s.src.tensor].memory == Memory::registers);
    bool packs = is_fragment(kernel_[s.dst.tensor]) && !is_fragment(kernel_[s.src.tensor]) &&
                 kernel_[s.src.tensor].memory == Memory::registers && s.width % 2 == 0;
    require(one || packs, "a copy from `{}` to `{}` does not move between registers and memory",
            kernel_[s.src.tensor].name, kernel_[s.dst.tensor].name);
    require(s.width >= 1, "a copy of {} elements", s.width);
  }
  void statement(const Shfl& s, Spread around) {
    value(s.value);
    require(type(s.value) == kernel_.values[s.var].type, "`{}` is {} and its value {}", name(s.var),
            kernel::name(kernel_.values[s.var].type), kernel::name(type(s.value)));
    require(s.mask > 0 && s.mask < 32, "a shuffle with mask {}", s.mask);
    require(around != Spread::thread, "a shuffle stands where threads of a group part");
    define(s.var);
  }
  void statement(const Barrier&, Spread around) {
    require(around == Spread::block, "a barrier stands where threads of a block part");
  }
  void statement(const Atom& s, Spread around) {
    const atomics::Row& row = *s.row;
    require(s.operands.size() == row.operands.size(), "`{}` has {} operands and is given {}",
            row.name, row.operands.size(), s.operands.size());
    require(s.immediates.size() == row.immediates.size(), "`{}` has {} immediates and is given {}",
            row.name, row.immediates.size(), s.immediates.size());
    for (size_t i = 0; i < s.immediates.size(); ++i)
      require(row.immediates[i].takes(s.immediates[i]), "`{}` of `{}` cannot be {}",
              row.immediates[i].name, row.name, s.immediates[i]);
    require(!s.predicate || row.zero_fills, "`{}` takes no predicate", row.name);
    require(row.threads == 1 || around != Spread::thread,
            "`{}` stands where threads of a group part", row.name);
    guarded(s.predicate, [&] {
      Spread spread = Spread::block;
      for (size_t i = 0; i < s.operands.size(); ++i) {
        const atomics::Operand& operand = row.operands[i];
        const Tensor& t = kernel_[s.operands[i].tensor];
        require(t.memory == operand.memory && operand.takes(t.type),
                "`{}` of `{}` takes {} bits in {} memory and is given `{}`, {} in {} memory",
                operand.name, row.name, operand.bits, atomics::name(operand.memory), t.name,
                graph::info(t.type).name, atomics::name(t.memory));
        spread = wider(spread, ref(s.operands[i], operand.values));
      }
      return spread;
    });
    if (!s.operands.empty()) written(s.operands[0]);
  }
  void statement(const Spec& s, Spread around) {
    static const std::set<std::string_view> kinds = {"Move",      "MatMul", "UnaryPointwise",
                                                     "Shfl",      "Init",   "BinaryPointwise",
                                                     "Reduction", "Spec",   "Allocate"};
    require(kinds.contains(s.kind), "`{}` is no kind of spec", s.kind);
    body(s.body, around);
  }

  template <class F>
  Spread guarded(ValueId predicate, F&& access) {
    Spread spread = condition(predicate);
    branches_ += static_cast<bool>(predicate);
    spread = wider(spread, access());
    branches_ -= static_cast<bool>(predicate);
    return spread;
  }

  void written(const Ref& dst) const {
    const Tensor& t = kernel_[dst.tensor];
    require(t.memory != Memory::global || t.written, "`{}` is stored to and not marked written",
            t.name);
  }

  void body(const Body& statements, Spread around) {
    for (const Stmt& stmt : statements) {
      ++count_;
      std::visit([&](const auto& s) { statement(s, around); }, stmt.node);
    }
  }

  /// A body of its own: what it defines and allocates ends with it (shared memory stays).
  template <class F>
  void nested(const Body& statements, Spread around, F&& enter) {
    size_t outer = scope_.size(), scoped = scoped_.size();
    enter();
    body(statements, around);
    for (; scope_.size() > outer; scope_.pop_back()) visible_[scope_.back().value] = false;
    for (; scoped_.size() > scoped; scoped_.pop_back()) live_.erase(scoped_.back());
    checked_.assign(checked_.size(), false);
  }

  const Kernel& kernel_;
  size_t count_ = 0;                    ///< of statements that were entered
  std::vector<bool> defined_, visible_; ///< by variable
  std::vector<Spread> spreads_;         ///< by variable
  std::vector<bool> checked_;           ///< by value: can be computed here
  std::vector<Spread> differs_;         ///< by value, of those
  std::vector<VarId> scope_;            ///< what is visible, in order
  std::set<TensorId> live_;
  std::vector<TensorId> scoped_;
  std::unordered_map<VarId, Spread> modes_;
  int branches_ = 0;
};

} // namespace

void check(const Kernel& kernel) {
  KernelVerifier(kernel).run();
}

void verify(const Kernel& kernel, std::string_view stage) {
  try {
    check(kernel);
  } catch (const KernelMisfit& misfit) {
    throw InternalError(fmt::format("after `{}`: kernel `{}`: {}\n{}", stage, kernel.name,
                                    misfit.text, to_text(kernel)));
  }
}

} // namespace tang::kernel

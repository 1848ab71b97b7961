// Launches that run beside each other are one: the blocks of the first kernel, then those of the
// next, which a block tells by its number.
//
//   first<<<n>>>(...), second<<<m>>>(...)   =>
//   both<<<n + m>>>(...) { if block < n { first } else { second at block - n } }
//
// The threads of a block agree on the branch, so that barriers stay legal, and branches share their
// shared memory. Where blocks differ in their threads or the memory is not enough, launches stay.
#include "base/check.h"
#include "kernel/graft.h"
#include "legalize/passes.h"
#include "legalize/rewriting.h"
#include <algorithm>
#include <map>
#include <set>

namespace tang::legalize {

using namespace kernel;
using graph::Op;

namespace {

/// Which parameter of the first kernel each one of the second is too, if any.
struct Common {
  std::vector<std::optional<size_t>> params, scalars;
  friend auto operator<=>(const Common&, const Common&) = default;
};

bool same(const Binding& a, const Binding& b) {
  return a.buffer == b.buffer && a.offset == b.offset;
}

template <class T, class Same>
std::vector<std::optional<size_t>> places(const std::vector<T>& first, const std::vector<T>& second,
                                          const Same& same) {
  std::vector<std::optional<size_t>> found;
  for (const T& item : second) {
    auto at = std::find_if(first.begin(), first.end(), [&](const T& x) { return same(x, item); });
    found.push_back(at == first.end() ? std::nullopt
                                      : std::optional(static_cast<size_t>(at - first.begin())));
  }
  return found;
}

/// The number of blocks of a kernel, one of whose values it is.
ValueId block_count(ValueStore& values, const std::vector<BlockMode>& blocks, Type type) {
  ValueId count = values.integer(1, type);
  for (const BlockMode& mode : blocks) count = values.mul(count, mode.extent);
  return count;
}

class Joiner {
public:
  Joiner(Program& program, const Capabilities& capabilities)
      : program_(program), most_declared_(capabilities.static_shared_bytes),
        most_buffers_(capabilities.max_buffers) {
    for (const Kernel& kernel : program.kernels) names_.insert(kernel.name);
  }

  void steps(std::vector<Step>& list) {
    std::vector<Step> out;
    for (Step& step : list) {
      if (auto* loop = std::get_if<Loop>(&step.node)) steps(loop->body);
      auto* dispatch = std::get_if<Dispatch>(&step.node);
      auto* before = out.empty() ? nullptr : std::get_if<Dispatch>(&out.back().node);
      if (dispatch && before && dispatch->beside && joined(*before, *dispatch)) continue;
      out.push_back(std::move(step));
    }
    list = std::move(out);
  }

private:
  bool joined(Dispatch& first, const Dispatch& second) {
    if (first.variants.size() != second.variants.size()) return false;
    for (size_t i = 0; i < first.variants.size(); ++i)
      if (!fit(first.variants[i], second.variants[i])) return false;
    first.name += "_" + second.name;
    for (size_t i = 0; i < first.variants.size(); ++i)
      join(first.variants[i], second.variants[i], first.name);
    first.nodes.insert(first.nodes.end(), second.nodes.begin(), second.nodes.end());
    return true;
  }

  bool fit(const Variant& first, const Variant& second) const {
    const Kernel &a = of(first), &b = of(second);
    bool placed = a.shared_bytes || b.shared_bytes;
    bool memory = placed ? a.shared_bytes && b.shared_bytes
                         : declared_bytes(a) + declared_bytes(b) <= most_declared_;
    return first.condition == second.condition && first.index_bits == second.index_bits &&
           a.thread_count() == b.thread_count() &&
           static_cast<bool>(a.flat_thread) == static_cast<bool>(b.flat_thread) &&
           a.descending == b.descending && memory &&
           (most_buffers_ == 0 ||
            static_cast<int64_t>(a.params.size() + b.params.size()) <= most_buffers_);
  }

  void join(Variant& first, const Variant& second, const std::string& name) {
    Common common{
        places(first.bindings, second.bindings, same),
        places(first.scalars, second.scalars, [](ValueId a, ValueId b) { return a == b; })};
    auto key = std::tuple(first.kernel.value, second.kernel.value, common);
    auto at = known_.find(key);
    if (at == known_.end()) {
      Kernel both = joined(first, second, common);
      both.name = unique(name);
      at = known_.emplace(key, KernelId(static_cast<uint32_t>(program_.kernels.size()))).first;
      program_.kernels.push_back(std::move(both));
    }
    first.kernel = at->second;
    for (size_t i = 0; i < second.bindings.size(); ++i)
      if (!common.params[i]) first.bindings.push_back(second.bindings[i]);
    for (size_t i = 0; i < second.scalars.size(); ++i)
      if (!common.scalars[i]) first.scalars.push_back(second.scalars[i]);
    first.blocks = {program_.values.add(blocks_of(first), blocks_of(second))};
  }

  ValueId blocks_of(const Variant& variant) {
    ValueId count = program_.values.integer(1, Type::i64);
    for (ValueId extent : variant.blocks) count = program_.values.mul(count, extent);
    return count;
  }

  Kernel joined(const Variant& one, const Variant& other, const Common& common) {
    const Kernel &first = of(one), &second = of(other);
    Kernel both = first;
    const Type type = both.index_bits == 64 ? Type::i64 : Type::i32;
    Graft graft;
    for (size_t i = 0; i < second.params.size(); ++i)
      if (common.params[i]) {
        TensorId to = first.params[*common.params[i]];
        graft.tensors[second.params[i]] = to;
        int& align = both.tensors[to.value].align;
        align = std::max(align, second[second.params[i]].align);
      }
    for (size_t i = 0; i < second.scalars.size(); ++i)
      if (common.scalars[i])
        graft.vars[second.scalars[i].var] = first.scalars[*common.scalars[i]].var;
    if (second.flat_thread) graft.vars[second.flat_thread] = first.flat_thread;
    if (second.flat_block)
      graft.vars[second.flat_block] = both.values.add_var({"own_block", type, 0, {}});
    Grafter grafter(both, second, std::move(graft));
    for (size_t i = 0; i < second.params.size(); ++i) {
      if (common.params[i]) continue;
      TensorId id = both.params.emplace_back(grafter.tensor(second.params[i]));
      // Equal kernels share the names of the first that was made.
      both.tensors[id.value].name = program_.buffers[other.bindings[i].buffer.value].name;
    }
    for (size_t i = 0; i < second.scalars.size(); ++i)
      if (!common.scalars[i]) both.scalars.push_back({grafter.var(second.scalars[i].var)});

    std::vector<BlockMode> behind;
    for (const BlockMode& mode : second.blocks)
      behind.push_back({mode.coordinate, grafter.value(mode.extent)});
    ValueId before = block_count(both.values, first.blocks, type),
            after = block_count(both.values, behind, type);
    VarId number = both.values.add_var({"block_number", type, 0, {}}),
          mode = both.values.add_var({"block", type, 0, {}});
    ValueId block = both.values.variable(number);
    If which{both.values.less(block, before), {}, {}};
    if (first.flat_block) substitute(both, {{first.flat_block, block}});
    which.then = std::move(both.body);
    if (second.flat_block)
      which.otherwise.push_back(
          {Let{grafter.var(second.flat_block), both.values.sub(block, before)}});
    Body rest = grafter.body(second.body);
    which.otherwise.insert(which.otherwise.end(), std::make_move_iterator(rest.begin()),
                           std::make_move_iterator(rest.end()));
    both.body.clear();
    both.body.push_back({std::move(which)});
    both.blocks = {{mode, both.values.add(before, after)}};
    both.flat_block = number;
    both.shared_bytes = std::max(first.shared_bytes, second.shared_bytes);
    both.comment.insert(both.comment.end(), second.comment.begin(), second.comment.end());
    both.asked.insert(both.asked.end(), second.asked.begin(), second.asked.end());
    return both;
  }

  const Kernel& of(const Variant& variant) const { return program_.kernels[variant.kernel.value]; }

  std::string unique(const std::string& wish) {
    std::string name = wish;
    for (int n = 2; !names_.insert(name).second; ++n) name = fmt::format("{}_{}", wish, n);
    return name;
  }

  Program& program_;
  int64_t most_declared_, most_buffers_;
  std::set<std::string> names_;
  std::map<std::tuple<uint32_t, uint32_t, Common>, KernelId> known_;
};

} // namespace

void join_launches(Program& program, const Capabilities& capabilities, const Options&) {
  Joiner(program, capabilities).steps(program.steps);
}

} // namespace tang::legalize

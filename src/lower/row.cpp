// Nodes over common rows: a warp or a block per row, or a loop over rows where there are no
// threads. Element (chunk c, lane e) of a thread is j = (c*threads + thread)*vector + e. With
// `chunks` set, what is read along the row is loaded once into registers; otherwise every step
// reads it again.
#include "base/check.h"
#include "lower/emit.h"
#include "lower/vectors.h"
#include <algorithm>

namespace tang::lower {

using graph::Axis;
using graph::Comprehension;
using graph::Expr;
using graph::Op;
using graph::TensorId;
using kernel::LoopKind;

namespace {

class RowEmitter {
public:
  explicit RowEmitter(const Emission& e)
      : e_(e), g_(e.graph), b_(e.graph, e.name), terms_(b_, compute_type(e.graph, e.nodes)),
        f_(e.fields), serial_(!e.machine.hardware_grid) {
    for (const auto& [step, last] : e.steps) b_.declare_step(step, last);
    for (const graph::Node* node : e.nodes)
      members_.push_back(&std::get<Comprehension>(node->definition));
    const Comprehension* reduction = *std::find_if(
        members_.begin(), members_.end(), [](const auto* c) { return c->reduction.has_value(); });
    rows_ = reduction->points;
    inner_ = reduction->reduction->axes[0];
    // Reductions and element maps number the inner axis alike: it follows the rows.
    TANG_CHECK(inner_.index.value == rows_.size(),
               "inner axis of `{}` is not numbered after its rows", e.name);
  }

  Built run() {
    auto& v = b_.values();
    extent_ = b_.extent(inner_.extent);
    if (serial_) {
      for (size_t i = rows_.size(); i-- > 0;) {
        VarId id = v.add_var({rows_[i].name, Type::index, 0, {}});
        b_.kernel().blocks.push_back({id, b_.extent(rows_[i].extent)});
      }
      for (size_t i = 0; i < rows_.size(); ++i)
        points_.push_back(v.variable(b_.kernel().blocks[rows_.size() - 1 - i].coordinate));
      thread_ = v.integer(0);
      in_row();
      return b_.finish();
    }
    VarId thread = v.add_var({"thread", Type::index, 0, f_.threads - 1});
    b_.kernel().threads.push_back({thread, f_.threads});
    thread_ = v.variable(thread);
    ValueId total = v.integer(1);
    for (const Axis& axis : rows_) total = v.mul(total, b_.extent(axis.extent));
    VarId block = v.add_var({"block", Type::index, 0, {}});
    b_.kernel().blocks.push_back({block, v.ceildiv(total, f_.rows)});
    ValueId row = v.variable(block);
    if (f_.rows > 1) {
      VarId lane = v.add_var({"row_lane", Type::index, 0, f_.rows - 1});
      b_.kernel().threads.push_back({lane, f_.rows});
      row = b_.let("row", v.add(v.mul(row, v.integer(f_.rows)), v.variable(lane)));
    }
    // Several rows share a block only when each is a warp, so no barrier stands under this branch.
    TANG_CHECK(f_.rows == 1 || f_.threads == 32, "rows of `{}` share a block and a barrier",
               e_.name);
    b_.when(f_.rows > 1 ? v.less(row, total) : ValueId{}, [&] {
      points_.resize(rows_.size());
      for (size_t i = rows_.size(); i-- > 0;) {
        if (i == 0) {
          points_[i] = row;
          break;
        }
        ValueId extent = b_.let_positive(rows_[i].name + "_extent", b_.extent(rows_[i].extent));
        points_[i] = b_.let(rows_[i].name, v.binary(Op::mod, row, extent));
        row = v.binary(Op::floordiv, row, extent);
      }
      in_row();
    });
    return b_.finish();
  }

private:
  void in_row() {
    for (size_t i = 0; i < rows_.size(); ++i) terms_.bind(rows_[i], points_[i]);
    terms_.multiply_by_reciprocals(inner_.index);
    auto outer = terms_.exchange_override([&](ExprId id) { return held(id); });
    auto operands = terms_.exchange_operands([&](ExprId id) -> std::optional<ValueId> {
      auto at = kept_.find(id);
      return at == kept_.end() ? std::nullopt
                               : std::optional(b_.element(at->second, {chunk_, lane_}));
    });
    if (f_.chunks) load_row();
    for (size_t n = 0; n < members_.size(); ++n) {
      const Comprehension& c = *members_[n];
      if (c.reduction)
        reduce(c, kept_terms(n));
      else if (c.points.size() > rows_.size())
        map_elements(c, kept_terms(n));
      else
        row_results(c);
    }
    terms_.exchange_operands(std::move(operands));
    terms_.exchange_override(std::move(outer));
  }

  /// A read that needs no memory: a row value, an element kept in registers.
  std::optional<ValueId> held(ExprId id) {
    const Expr& e = g_.exprs[id];
    std::optional<ValueId> value;
    if (auto at = row_values_.find(TensorId(e.ref)); at != row_values_.end())
      value = at->second;
    else if (auto kept = elements_.find(TensorId(e.ref)); kept != elements_.end())
      value = b_.element(kept->second, {chunk_, lane_});
    else if (auto read = loaded_.find(id); read != loaded_.end())
      value = b_.element(read->second, {chunk_, lane_});
    else if (auto late = late_.find(id); late != late_.end())
      value = b_.element(late->second, {lane_});
    if (!value) return value;
    return e.scalar == graph::Scalar::real ? terms_.convert(*value, terms_.real()) : *value;
  }

  /// The largest terms of a member that later members use again at the same element: they stay in
  /// registers, so that an exponential of a row is taken once.
  std::vector<ExprId> kept_terms(size_t member) {
    constexpr size_t most = 3;
    if (!f_.chunks || member + 1 == members_.size()) return {};
    std::unordered_set<ExprId> later;
    for (size_t n = member + 1; n < members_.size(); ++n) {
      auto all = graph::roots(*members_[n]);
      for (ExprId id : graph::reachable(g_.exprs, all)) later.insert(id);
    }
    const Comprehension& c = *members_[member];
    std::vector<ExprId> stack, found;
    auto roots = graph::roots(c);
    if (c.reduction)
      stack = c.reduction->body;
    else
      for (const graph::Result& result : c.results) stack.push_back(result.value);
    std::unordered_set<ExprId> seen(stack.begin(), stack.end());
    while (!stack.empty()) {
      ExprId id = stack.back();
      stack.pop_back();
      const Expr& e = g_.exprs[id];
      bool moves = std::binary_search(e.free.begin(), e.free.end(), inner_.index);
      if (!moves || e.op == Op::read || e.op == Op::index || kept_.contains(id)) continue;
      if (e.scalar == graph::Scalar::real && e.op != Op::to_real && later.contains(id) &&
          in_registers(id)) {
        found.push_back(id);
        continue;
      }
      for (ExprId operand : e.operands)
        if (seen.insert(operand).second) stack.push_back(operand);
    }
    order_by_appearance(g_.exprs, roots, found);
    if (kept_.size() + found.size() > most) found.clear();
    return found;
  }

  /// Whether a term reads nothing but registers (or what is guarded), so that it may be computed
  /// even where a filter excludes the element.
  bool in_registers(ExprId root) const {
    for (ExprId id : graph::reachable(g_.exprs, {&root, 1})) {
      const Expr& e = g_.exprs[id];
      if (e.has_state) return false;
      if (e.op != Op::read || e.guarded || loaded_.contains(id)) continue;
      if (!row_values_.contains(TensorId(e.ref)) && !elements_.contains(TensorId(e.ref)))
        return false;
    }
    return true;
  }

  void keep(const std::vector<ExprId>& terms) {
    for (ExprId id : terms) {
      ValueId value = b_.let("t", terms_.lower(id));
      b_.store({kept_arrays_.at(id), {chunk_, lane_}}, value);
      kept_[id] = kept_arrays_.at(id);
    }
  }

  void allocate_kept(const std::vector<ExprId>& terms) {
    for (ExprId id : terms)
      kept_arrays_[id] = b_.registers("kept", terms_.real(), {f_.chunks, f_.vector});
  }

  bool is_internal(TensorId id) const {
    return std::find(e_.internal.begin(), e_.internal.end(), id) != e_.internal.end();
  }
  bool defined_here(TensorId id) const {
    return std::any_of(members_.begin(), members_.end(), [&](const Comprehension* c) {
      return std::any_of(c->results.begin(), c->results.end(),
                         [&](const graph::Result& r) { return r.tensor == id; });
    });
  }

  /// Reads along the row that are in range for every element, whatever filters say.
  std::vector<ExprId> row_reads(std::span<const Comprehension* const> members) {
    std::vector<ExprId> all, found;
    for (const Comprehension* c : members) {
      auto roots = graph::roots(*c);
      all.insert(all.end(), roots.begin(), roots.end());
    }
    for (ExprId id : graph::reachable(g_.exprs, all)) {
      const Expr& e = g_.exprs[id];
      if (e.op != Op::read || e.guarded || e.operands.empty() || defined_here(TensorId(e.ref)))
        continue;
      const graph::Tensor& t = g_[TensorId(e.ref)];
      if (t.shape.empty() || t.shape.back() != inner_.extent ||
          !moves_as_vector(g_, e, inner_, f_.vector))
        continue;
      bool inside = true;
      for (size_t i = 0; inside && i + 1 < t.shape.size(); ++i) {
        auto place = graph::polynomial_of(g_.exprs, e.operands[i]);
        inside = !g_.exprs[e.operands[i]].has_read && place &&
                 terms_.prover().nonnegative(*place) &&
                 terms_.prover().less(e.operands[i], t.shape[i]);
      }
      if (inside) found.push_back(id);
    }
    order_by_appearance(g_.exprs, all, found);
    return found;
  }

  kernel::Ref row_ref(const Expr& read, ValueId first) {
    auto [memory, dropped] = terms_.memory_of(read);
    kernel::Ref src{memory, {}};
    for (size_t i = dropped; i + 1 < read.operands.size(); ++i)
      src.coordinates.push_back(b_.values().convert(Type::index, terms_.lower(read.operands[i])));
    src.coordinates.push_back(first);
    return src;
  }

  ValueId first_of(ValueId chunk) {
    auto& v = b_.values();
    return v.mul(v.add(v.mul(chunk, v.integer(f_.threads)), thread_), v.integer(f_.vector));
  }

  /// Whether the row's element must be at hand from the start: the first member or several read it.
  /// What one later member reads alone (a weight) is loaded there and holds no register before.
  bool is_early(ExprId read) const {
    size_t users = 0;
    for (size_t n = 0; n < members_.size(); ++n) {
      auto all = graph::roots(*members_[n]);
      auto terms = graph::reachable(g_.exprs, all);
      if (!std::binary_search(terms.begin(), terms.end(), read)) continue;
      if (n == 0) return true;
      ++users;
    }
    return users > 1;
  }

  void load_row() {
    auto& v = b_.values();
    auto reads = row_reads(members_);
    std::erase_if(reads, [&](ExprId id) { return !is_early(id); });
    for (ExprId id : reads) {
      const graph::Tensor& t = g_[TensorId(g_.exprs[id].ref)];
      loaded_[id] = b_.registers(t.name + "_v", register_type(t.type), {f_.chunks, f_.vector});
    }
    if (reads.empty()) return;
    over_chunks([&](const Vector& at) {
      for (ExprId id : reads) {
        const Expr& read = g_.exprs[id];
        copy_vector(b_, {loaded_[id], {at.chunk, v.integer(0)}}, row_ref(read, at.first),
                    g_[TensorId(read.ref)].type, f_.vector, e_.machine.vector_bytes);
      }
    });
  }

  /// One of the vectors that a thread visits.
  struct Vector {
    ValueId chunk;
    ValueId place; ///< where it would begin if the row were long enough
    ValueId own;   ///< whether it is, so that the vector is this thread's own; empty = always
    ValueId first; ///< its first element, in the row
  };

  /// Visits this thread's vectors of a row that is held in registers. Past the end of the row a
  /// thread visits the last vector once more and what it computes is dropped: without branches, all
  /// loads of a row are in flight together.
  void over_chunks(const std::function<void(const Vector&)>& inside) {
    auto& v = b_.values();
    b_.when(v.less(v.integer(0), extent_), [&] {
      b_.loop("c", f_.chunks, LoopKind::unrolled, [&](ValueId c) {
        ValueId place = first_of(c), own = v.less(place, extent_), first = place;
        if (v.as_boolean(own) == true)
          own = {};
        else
          first = v.binary(Op::min, place, v.sub(extent_, v.integer(f_.vector)));
        first = b_.let(inner_.name + "0", first);
        terms_.scope([&] { inside({c, place, own, first}); });
      });
    });
  }

  /// Visits this thread's vectors; what only `members` read along the row is loaded for each.
  void over_vectors(std::span<const Comprehension* const> members, LoopKind kind,
                    const std::function<void(const Vector&)>& inside) {
    auto& v = b_.values();
    auto load_late = [&](ValueId first) {
      for (ExprId id : row_reads(members)) {
        if (loaded_.contains(id)) continue;
        const graph::Tensor& t = g_[TensorId(g_.exprs[id].ref)];
        late_[id] = b_.registers(t.name + "_v", register_type(t.type), {f_.vector});
        copy_vector(b_, {late_[id], {v.integer(0)}}, row_ref(g_.exprs[id], first), t.type,
                    f_.vector, e_.machine.vector_bytes);
      }
    };
    if (f_.chunks) {
      over_chunks([&](const Vector& at) {
        load_late(at.first);
        inside(at);
      });
      late_.clear();
      return;
    }
    ValueId begin = v.mul(thread_, v.integer(f_.vector)),
            step = v.integer(int64_t{f_.threads} * f_.vector);
    b_.loop(inner_.name, begin, extent_, step, kind, [&](ValueId first) {
      terms_.scope([&] {
        if (f_.vector > 1) load_late(first);
        inside({v.integer(0), first, {}, first});
        late_.clear();
      });
    });
  }

  /// Visits the elements of a vector with the inner index bound.
  void over_elements(const Vector& at, const std::function<void()>& inside) {
    auto& v = b_.values();
    b_.loop("e", f_.vector, LoopKind::unrolled, [&](ValueId lane) {
      terms_.scope([&] {
        chunk_ = at.chunk, lane_ = lane;
        terms_.bind(inner_, v.add(at.first, lane));
        inside();
      });
    });
  }

  void reduce(const Comprehension& c, const std::vector<ExprId>& kept) {
    const graph::Reduction& r = *c.reduction;
    auto types = field_types(g_, c, terms_.prover(), terms_.real());
    Accumulator acc(terms_, r.monoid, g_[c.results[0].tensor].name + "_acc", types);
    acc.init();
    std::vector<ExprId> body(r.body.begin(), r.body.end());
    terms_.hoist(body, r.filter);
    allocate_kept(kept);
    const Comprehension* self[] = {&c};
    over_vectors(self, LoopKind::serial, [&](const Vector& at) {
      acc.only_where(at.own, [&] {
        over_elements(at, [&] {
          keep(kept);
          acc.combine(r.body, r.field_axes, r.filter);
        });
      });
    });
    if (!serial_) across_threads(acc, types);
    auto outer = terms_.exchange_state(acc.state());
    row_results(c);
    terms_.exchange_state(std::move(outer));
  }

  /// Every thread of the row gets the combination of all its threads' states: a butterfly inside
  /// each warp, then warps through shared memory in warp order.
  void across_threads(Accumulator& acc, const std::vector<Type>& types) {
    auto& v = b_.values();
    size_t fields = types.size();
    for (int mask = 16; mask > 0; mask /= 2) {
      std::vector<ValueId> other(fields);
      for (size_t f = 0; f < fields; ++f) {
        ValueId mine = b_.let("s", acc.value(static_cast<uint32_t>(f), {}));
        VarId var = v.add_var({"o", types[f], {}, {}});
        b_.emit({kernel::Shfl{var, mine, mask}});
        other[f] = v.variable(var);
      }
      acc.merge([&](Op, uint32_t field, const std::vector<ValueId>&) { return other[field]; });
    }
    int warps = f_.threads / 32;
    if (warps <= 1) return;
    std::vector<kernel::TensorId> parts(fields);
    ValueId lane = v.binary(Op::mod, thread_, v.integer(32)),
            warp = v.binary(Op::floordiv, thread_, v.integer(32));
    for (size_t f = 0; f < fields; ++f)
      parts[f] = b_.shared("part", element_type(types[f]), {warps});
    b_.when(v.binary(Op::eq, lane, v.integer(0)), [&] {
      for (size_t f = 0; f < fields; ++f)
        b_.store({parts[f], {warp}}, acc.value(static_cast<uint32_t>(f), {}));
    });
    b_.emit({kernel::Barrier{}});
    acc.init();
    b_.loop("w", warps, LoopKind::unrolled, [&](ValueId w) {
      std::vector<ValueId> other(fields);
      for (size_t f = 0; f < fields; ++f) other[f] = b_.load("o", types[f], {parts[f], {w}});
      acc.merge([&](Op, uint32_t field, const std::vector<ValueId>&) { return other[field]; });
    });
  }

  /// Values per row: every thread knows them, the first one stores them.
  void row_results(const Comprehension& c) {
    auto& v = b_.values();
    for (const graph::Result& result : c.results) {
      const graph::Tensor& t = g_[result.tensor];
      ValueId value = b_.narrowed(t.type, terms_.lower(result.value));
      value = b_.let(t.name, value);
      row_values_[result.tensor] = value;
      if (is_internal(result.tensor)) continue;
      ValueId first = serial_ ? ValueId{} : v.binary(Op::eq, thread_, v.integer(0));
      b_.store({b_.param(result.tensor, true), points_}, value, first);
    }
  }

  void map_elements(const Comprehension& c, const std::vector<ExprId>& kept) {
    auto& v = b_.values();
    std::vector<ExprId> roots;
    for (const graph::Result& result : c.results) roots.push_back(result.value);
    terms_.hoist(roots);
    allocate_kept(kept);
    bool vectors = f_.vector > 1;
    std::vector<kernel::TensorId> out(c.results.size());
    auto stored = [&](const graph::Result& r) { return !f_.chunks || !is_internal(r.tensor); };
    for (size_t i = 0; i < out.size(); ++i) {
      const graph::Tensor& t = g_[c.results[i].tensor];
      if (f_.chunks && needed_later(c.results[i].tensor))
        elements_pending_[c.results[i].tensor] =
            b_.registers(t.name + "_v", register_type(t.type), {f_.chunks, f_.vector});
      if (vectors && stored(c.results[i]) && whole(t))
        out[i] = b_.registers(t.name + "_o", register_type(t.type), {f_.vector});
    }
    const Comprehension* self[] = {&c};
    auto places = points_;
    places.push_back({});
    over_vectors(self, LoopKind::vector, [&](const Vector& at) {
      over_elements(at, [&] {
        keep(kept);
        for (size_t i = 0; i < out.size(); ++i) {
          const graph::Tensor& t = g_[c.results[i].tensor];
          ValueId value = b_.narrowed(t.type, terms_.lower(c.results[i].value));
          auto kept = elements_pending_.find(c.results[i].tensor);
          if (kept != elements_pending_.end()) {
            // Later readers see the stored format.
            bool narrow =
                graph::info(t.type).bits < 32 && graph::scalar_of(t.type) == graph::Scalar::real;
            b_.store({kept->second, {chunk_, lane_}}, narrow ? v.round(t.type, value) : value);
          }
          if (!stored(c.results[i])) continue;
          places.back() = v.add(at.place, lane_);
          if (out[i])
            b_.store({out[i], {lane_}}, value);
          else
            b_.store({b_.param(c.results[i].tensor, true), places}, value, at.own);
        }
      });
      places.back() = at.place;
      for (size_t i = 0; i < out.size(); ++i)
        if (out[i])
          copy_vector(b_, {b_.param(c.results[i].tensor, true), places}, {out[i], {v.integer(0)}},
                      g_[c.results[i].tensor].type, f_.vector, e_.machine.vector_bytes, at.own);
    });
    elements_.insert(elements_pending_.begin(), elements_pending_.end());
    elements_pending_.clear();
  }

  static bool whole(const graph::Tensor& t) {
    return t.strides.empty() && !graph::is_packed(t.type);
  }

  bool needed_later(TensorId id) const {
    return std::any_of(members_.begin(), members_.end(), [&](const Comprehension* c) {
      auto all = graph::roots(*c);
      for (ExprId e : graph::reachable(g_.exprs, all))
        if (g_.exprs[e].op == Op::read && TensorId(g_.exprs[e].ref) == id) return true;
      return false;
    });
  }

  const Emission& e_;
  const graph::Graph& g_;
  Builder b_;
  Terms terms_;
  const plan::Fields& f_;
  bool serial_;
  std::vector<const Comprehension*> members_;
  std::vector<Axis> rows_;
  Axis inner_;
  ValueId extent_, thread_, chunk_, lane_;
  std::vector<ValueId> points_;
  std::unordered_map<ExprId, kernel::TensorId> loaded_, late_; ///< whole row; one vector
  std::unordered_map<TensorId, kernel::TensorId> elements_, elements_pending_;
  std::unordered_map<TensorId, ValueId> row_values_;
  std::unordered_map<ExprId, kernel::TensorId> kept_, kept_arrays_;
};

} // namespace

Built emit_row(const Emission& e) {
  return RowEmitter(e).run();
}

} // namespace tang::lower

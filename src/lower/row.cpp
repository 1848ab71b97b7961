// Nodes over common rows: a warp or a block per row, or a loop over rows where there are no
// threads. Element (chunk c, lane e) of a thread is j = (c*threads + thread)*vector + e, or j =
// (thread*chunks + c)*vector + e where a reduction keeps its order. With `chunks` set, what is read
// along the row is loaded once into registers; otherwise every step reads it again.
#include "base/check.h"
#include "lower/emit.h"
#include "lower/row_reads.h"
#include "lower/threads.h"
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
        f_(e.fields), serial_(!e.machine.hardware_grid), group_{e.graph, {}, {}, {}} {
    for (const auto& [step, last] : e.steps) b_.declare_step(step, last);
    for (const graph::Node* node : e.nodes)
      group_.nodes.push_back(&std::get<Comprehension>(node->definition));
    for (const Comprehension* c : group_.nodes)
      ordered_ |= c->reduction && !g_[c->reduction->monoid].commutative;
    const Comprehension* reduction =
        *std::find_if(group_.nodes.begin(), group_.nodes.end(),
                      [](const auto* c) { return c->reduction.has_value(); });
    group_.rows = reduction->points;
    group_.inner = reduction->reduction->axes[0];
    group_.inner.lo = group_.inner.hi = {}; // each reduction has bounds of its own
    // Reductions and element maps number the inner axis alike: it follows the rows.
    TANG_CHECK(group_.inner.index.value == group_.rows.size(),
               "inner axis of `{}` is not numbered after its rows", e.name);
  }

  Built run() {
    auto& v = b_.values();
    extent_ = b_.extent(group_.inner.extent);
    if (serial_) {
      for (size_t i = group_.rows.size(); i-- > 0;) {
        VarId id = v.add_var({group_.rows[i].name, Type::index, 0, {}});
        b_.kernel().blocks.push_back({id, b_.extent(group_.rows[i].extent)});
      }
      for (size_t i = 0; i < group_.rows.size(); ++i)
        points_.push_back(v.variable(b_.kernel().blocks[group_.rows.size() - 1 - i].coordinate));
      thread_ = v.integer(0);
      in_row();
      return b_.finish();
    }
    VarId thread = v.add_var({"thread", Type::index, 0, f_.threads - 1});
    b_.kernel().threads.push_back({thread, f_.threads});
    thread_ = v.variable(thread);
    ValueId total = v.integer(1);
    for (const Axis& axis : group_.rows) total = v.mul(total, b_.extent(axis.extent));
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
      std::vector<std::string> names;
      std::vector<ValueId> extents;
      for (const Axis& axis : group_.rows) {
        names.push_back(axis.name);
        extents.push_back(b_.extent(axis.extent));
      }
      points_ = b_.delinearize(names, row, extents);
      in_row();
    });
    return b_.finish();
  }

private:
  /// One of the vectors that a thread visits.
  struct Vector {
    ValueId chunk;
    ValueId place; ///< where it would begin if the row were long enough
    ValueId own;   ///< whether it is, so that the vector is this thread's own; empty = always
    ValueId first; ///< its first element, in the row
  };
  /// The part of a row that is asked for; empty = to the row's own end.
  struct Stretch {
    ValueId lo, hi;
  };

  void in_row() {
    for (size_t i = 0; i < group_.rows.size(); ++i) terms_.bind(group_.rows[i], points_[i]);
    terms_.multiply_by_reciprocals(group_.inner.index);
    auto outer = terms_.exchange_override([&](ExprId id) { return held(id); });
    auto operands = terms_.exchange_operands([&](ExprId id) -> std::optional<ValueId> {
      auto at = kept_.find(id);
      return at == kept_.end() ? std::nullopt
                               : std::optional(b_.element(at->second, {chunk_, lane_}));
    });
    if (f_.chunks) load_row();
    for (size_t n = 0; n < group_.nodes.size(); ++n) {
      const Comprehension& c = *group_.nodes[n];
      if (c.reduction)
        reduce(c, kept_terms(n));
      else if (c.points.size() > group_.rows.size())
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
    if (!f_.chunks || member + 1 == group_.nodes.size()) return {};
    std::unordered_set<ExprId> later;
    for (size_t n = member + 1; n < group_.nodes.size(); ++n) {
      auto all = graph::roots(*group_.nodes[n]);
      for (ExprId id : graph::reachable(g_.exprs, all)) later.insert(id);
    }
    const Comprehension& c = *group_.nodes[member];
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
      bool moves = std::binary_search(e.free.begin(), e.free.end(), group_.inner.index);
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
      if (e.op != Op::read || e.guarded || loaded_.contains(id) || late_.contains(id)) continue;
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

  kernel::Ref row_ref(const Expr& read, ValueId first) {
    auto [memory, dropped] = terms_.memory_of(read);
    kernel::Ref src{memory, {}};
    for (size_t i = dropped; i + 1 < read.operands.size(); ++i)
      src.coordinates.push_back(b_.values().convert(Type::index, terms_.lower(read.operands[i])));
    src.coordinates.push_back(first);
    return src;
  }

  /// Neighbouring threads take neighbouring vectors; where the order of a reduction matters, a
  /// thread's own vectors are neighbours.
  ValueId first_of(ValueId chunk) {
    auto& v = b_.values();
    ValueId number = ordered_ ? v.add(v.mul(thread_, v.integer(f_.chunks)), chunk)
                              : v.add(v.mul(chunk, v.integer(f_.threads)), thread_);
    return v.mul(number, v.integer(f_.vector));
  }

  Stretch stretch_of(const Axis& axis) {
    ValueId begin = b_.values().integer(0);
    Stretch stretch;
    if (axis.lo) stretch.lo = b_.let("lo", clamped(terms_, Op::max, begin, axis.lo, extent_));
    if (axis.hi) stretch.hi = b_.let("hi", clamped(terms_, Op::min, extent_, axis.hi, extent_));
    return stretch;
  }

  void load_row() {
    auto& v = b_.values();
    auto reads = reads_along(group_, group_.nodes, terms_.prover(), f_.vector);
    std::erase_if(reads, [&](ExprId id) { return !needed_early(group_, id); });
    for (ExprId id : reads) {
      const graph::Tensor& t = g_[TensorId(g_.exprs[id].ref)];
      loaded_[id] = b_.registers(t.name + "_v", register_type(t.type), {f_.chunks, f_.vector});
    }
    if (reads.empty()) return;
    std::vector<Stretch> stretches;
    for (ExprId id : reads) stretches.push_back(stretch_of(needed_in(group_, id)));
    over_chunks([&](const Vector& at) {
      for (size_t n = 0; n < reads.size(); ++n) {
        const Expr& read = g_.exprs[reads[n]];
        terms_.scope([&] {
          copy_vector(b_, {loaded_[reads[n]], {at.chunk, v.integer(0)}},
                      row_ref(read, nearest(at.first, stretches[n])), g_[TensorId(read.ref)].type,
                      f_.vector, e_.machine.vector_bytes);
        });
      }
    });
  }

  /// The vector that is nearest to the one at `first` among those that a stretch touches (among
  /// all, where it is empty). What lies outside costs no memory then: it is loaded already.
  ValueId nearest(ValueId first, const Stretch& stretch) {
    auto& v = b_.values();
    ValueId width = v.integer(f_.vector);
    auto vector_of = [&](ValueId element) {
      return v.mul(v.binary(Op::floordiv, element, width), width);
    };
    if (stretch.hi) {
      ValueId last = v.binary(Op::max, v.integer(0), v.sub(stretch.hi, v.integer(1)));
      first = v.binary(Op::min, first, vector_of(last));
    }
    if (stretch.lo) {
      ValueId last = v.sub(extent_, width);
      first = v.binary(Op::max, first, v.binary(Op::min, vector_of(stretch.lo), last));
    }
    return stretch.lo || stretch.hi ? b_.let("near", first) : first;
  }

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
        first = b_.let(group_.inner.name + "0", first);
        inside({c, place, own, first});
      });
    });
  }

  /// What only `members` read along the row, at one vector.
  void load_late(std::span<const Comprehension* const> members, ValueId first) {
    late_.clear();
    for (ExprId id : reads_along(group_, members, terms_.prover(), f_.vector)) {
      if (loaded_.contains(id)) continue;
      const graph::Tensor& t = g_[TensorId(g_.exprs[id].ref)];
      late_[id] = b_.registers(t.name + "_v", register_type(t.type), {f_.vector});
      copy_vector(b_, {late_[id], {b_.values().integer(0)}}, row_ref(g_.exprs[id], first), t.type,
                  f_.vector, e_.machine.vector_bytes);
    }
  }

  /// The beginning of the round in which all threads together reach an element.
  ValueId round_of(ValueId element) {
    auto& v = b_.values();
    ValueId step = v.integer(int64_t{f_.threads} * f_.vector);
    return v.mul(v.binary(Op::floordiv, element, step), step);
  }

  /// Visits this thread's vectors; what only `members` read along the row is loaded for each.
  void over_vectors(std::span<const Comprehension* const> members, const Stretch& stretch,
                    LoopKind kind, const std::function<void(const Vector&)>& inside) {
    auto& v = b_.values();
    auto visit = [&](const Vector& at) {
      terms_.scope([&] {
        if (f_.vector > 1) load_late(members, at.first);
        inside(at);
      });
    };
    if (f_.chunks) {
      over_chunks(visit);
    } else if (!serial_ && kind == LoopKind::serial && (stretch.lo || ordered_)) {
      over_rounds(stretch, visit);
    } else {
      ValueId begin = stretch.lo ? stretch.lo : v.mul(thread_, v.integer(f_.vector));
      b_.loop(group_.inner.name, begin, stretch.hi ? stretch.hi : extent_, round_length(), kind,
              [&](ValueId first) {
                visit({v.integer(0), first, {}, first});
              });
    }
    late_.clear();
  }

  /// How many elements all threads visit together.
  ValueId round_length() { return b_.values().integer(int64_t{f_.threads} * f_.vector); }

  /// Rounds that all threads begin together, whether their vectors are in the row or not.
  void over_rounds(const Stretch& stretch, const std::function<void(const Vector&)>& inside) {
    auto& v = b_.values();
    ValueId begin = v.integer(0);
    if (stretch.lo)
      begin = v.mul(v.binary(Op::floordiv, stretch.lo, round_length()), round_length());
    auto round = [&](ValueId at) {
      ValueId place = v.add(at, v.mul(thread_, v.integer(f_.vector)));
      ValueId last = v.sub(extent_, v.integer(f_.vector));
      ValueId first = b_.let(group_.inner.name + "0", v.binary(Op::min, place, last));
      inside({v.integer(0), place, v.less(place, extent_), first});
    };
    b_.when(v.less(v.integer(0), extent_), [&] {
      b_.loop(group_.inner.name, begin, stretch.hi ? stretch.hi : extent_, round_length(),
              LoopKind::serial, round);
    });
  }

  /// Visits the elements of a vector with the inner index bound.
  void over_elements(const Vector& at, const std::function<void()>& inside) {
    auto& v = b_.values();
    b_.loop("e", f_.vector, LoopKind::unrolled, [&](ValueId lane) {
      terms_.scope([&] {
        chunk_ = at.chunk, lane_ = lane;
        // Where a thread is alone, the loop counts the places themselves.
        ValueId place = v.add(at.first, lane);
        if (!serial_ || f_.vector > 1) place = b_.coordinate(group_.inner.name, place, extent_);
        terms_.bind(group_.inner, place);
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
    Stretch stretch = stretch_of(r.axes[0]);
    bool skips = std::all_of(kept.begin(), kept.end(),
                             [&](ExprId id) { return needed_only_in(group_, id, r.axes[0]); });
    auto vector = [&](Vector at) {
      // An end of its own keeps a stretch inside the row.
      if (stretch.hi) at.own = {};
      b_.when(skips ? touches(at.chunk, stretch) : ValueId{}, [&] {
        acc.only_where(at.own,
                       [&] { over_elements(at, [&] { element(acc, r, kept, stretch, at); }); });
      });
    };
    const Comprehension* self[] = {&c};
    if (serial_ || f_.chunks || acc.commutes()) {
      over_vectors(self, stretch, LoopKind::serial, vector);
      if (!serial_) across_threads(acc, thread_, f_.threads);
    } else {
      // Threads take turns along the row: what they hold is combined once each round.
      Accumulator all(terms_, r.monoid, g_[c.results[0].tensor].name + "_all", types);
      all.init();
      over_vectors(self, stretch, LoopKind::serial, [&](const Vector& at) {
        acc.init();
        vector(at);
        if (f_.threads > 32) b_.emit({kernel::Barrier{}});
        across_threads(acc, thread_, f_.threads);
        all.merge([&](Op, uint32_t field, const std::vector<ValueId>& places) {
          return acc.value(field, places);
        });
      });
      for (uint32_t f = 0; f < types.size(); ++f) b_.store({acc.fields()[f], {}}, all.value(f, {}));
    }
    auto outer = terms_.exchange_state(acc.state());
    row_results(c);
    terms_.exchange_state(std::move(outer));
  }

  /// Whether a chunk of the row, the same for all its threads, meets a stretch; empty = it may.
  ValueId touches(ValueId chunk, const Stretch& stretch) {
    auto& v = b_.values();
    if (ordered_ || f_.chunks <= 1) return {};
    ValueId begin = v.mul(chunk, round_length()), holds;
    if (stretch.lo) holds = v.less(stretch.lo, v.add(begin, round_length()));
    if (stretch.hi) holds = v.both(holds, v.less(begin, stretch.hi));
    return holds;
  }

  /// One element of a reduction: outside its stretch it takes no part.
  void element(Accumulator& acc, const graph::Reduction& r, const std::vector<ExprId>& kept,
               const Stretch& stretch, const Vector& at) {
    auto& v = b_.values();
    ValueId place = v.add(at.place, lane_);
    auto combine = [&] { acc.combine(r.body, r.field_axes, r.filter); };
    auto combine_inside = [&] {
      terms_.scope([&] {
        terms_.bind(r.axes[0], place);
        combine();
      });
    };
    if (serial_) return combine_inside();
    ValueId inside;
    if (stretch.lo) inside = v.binary(Op::le, stretch.lo, place);
    if (stretch.hi) inside = v.both(inside, v.less(place, stretch.hi));
    // What is kept reads registers only, and others may use it at every element.
    keep(kept);
    std::vector<ExprId> terms(r.body.begin(), r.body.end());
    if (r.filter) terms.push_back(r.filter);
    bool free =
        std::all_of(terms.begin(), terms.end(), [&](ExprId id) { return in_registers(id); });
    if (!inside || free) return acc.only_where(inside, combine);
    b_.when(v.both(at.own, inside), combine_inside);
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
    over_vectors(self, {}, LoopKind::vector, [&](const Vector& at) {
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
    return std::any_of(group_.nodes.begin(), group_.nodes.end(), [&](const Comprehension* c) {
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
  bool serial_, ordered_ = false;
  RowMembers group_;
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

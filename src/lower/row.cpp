// Nodes over common rows: a warp or a block per row, or a loop over rows where there are no
// threads. Element (chunk c, lane e) of a thread is j = (c*threads + thread)*vector + e, or j =
// (thread*chunks + c)*vector + e where a reduction or a scan keeps its order. With `chunks` set,
// what is read along the row is loaded once into registers; otherwise every step reads it again.
// Here: how rows go to blocks and threads, reductions, scans, maps, and what they store.
#include "base/check.h"
#include "lower/row_vectors.h"
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
      : f_(e), held_(f_), vectors_(f_, held_), meeting_(f_.b, f_.f.threads) {}

  Built run() {
    auto& v = f_.b.values();
    f_.extent = f_.b.extent(f_.group.inner.extent);
    if (f_.serial) {
      for (size_t i = f_.group.rows.size(); i-- > 0;) {
        VarId id = v.add_var({f_.group.rows[i].name, Type::index, 0, {}});
        f_.b.kernel().blocks.push_back({id, f_.b.extent(f_.group.rows[i].extent)});
      }
      for (size_t i = 0; i < f_.group.rows.size(); ++i)
        f_.points.push_back(
            v.variable(f_.b.kernel().blocks[f_.group.rows.size() - 1 - i].coordinate));
      f_.thread = v.integer(0);
      in_row();
      return f_.b.finish();
    }
    VarId thread = v.add_var({"thread", Type::index, 0, f_.f.threads - 1});
    f_.b.kernel().threads.push_back({thread, f_.f.threads});
    f_.thread = v.variable(thread);
    ValueId total = v.integer(1);
    for (const Axis& axis : f_.group.rows) total = v.mul(total, f_.b.extent(axis.extent));
    VarId block = v.add_var({"block", Type::index, 0, {}});
    f_.b.kernel().blocks.push_back({block, v.ceildiv(total, f_.f.rows)});
    ValueId row = v.variable(block);
    if (f_.f.rows > 1) {
      VarId lane = v.add_var({"row_lane", Type::index, 0, f_.f.rows - 1});
      f_.b.kernel().threads.push_back({lane, f_.f.rows});
      row = f_.b.let("row", v.add(v.mul(row, v.integer(f_.f.rows)), v.variable(lane)));
    }
    // Several rows share a block only when each is a warp that needs no shared memory, so no
    // barrier stands under this branch.
    TANG_CHECK(f_.f.rows == 1 || (f_.f.threads == 32 && f_.e.machine.warp_shuffle),
               "rows of `{}` share a block and a barrier", f_.e.name);
    f_.b.when(f_.f.rows > 1 ? v.less(row, total) : ValueId{}, [&] {
      std::vector<std::string> names;
      std::vector<ValueId> extents;
      for (const Axis& axis : f_.group.rows) {
        names.push_back(axis.name);
        extents.push_back(f_.b.extent(axis.extent));
      }
      f_.points = f_.b.delinearize(names, row, extents);
      in_row();
    });
    return f_.b.finish();
  }

private:
  void in_row() {
    for (size_t i = 0; i < f_.group.rows.size(); ++i) f_.terms.bind(f_.group.rows[i], f_.points[i]);
    f_.terms.multiply_by_reciprocals(f_.group.inner.index);
    auto outer = f_.terms.exchange_override([&](ExprId id) { return held_.held(id); });
    auto operands = f_.terms.exchange_operands([&](ExprId id) { return held_.kept_value(id); });
    if (f_.f.chunks) vectors_.load_row();
    for (size_t n = 0; n < f_.group.nodes.size(); ++n) {
      const Comprehension& c = *f_.group.nodes[n];
      if (c.scan)
        scan(c, held_.kept_terms(n));
      else if (c.reduction)
        reduce(c, held_.kept_terms(n));
      else if (c.points.size() > f_.group.rows.size())
        map_elements(c, held_.kept_terms(n));
      else
        row_results(c);
    }
    f_.terms.exchange_operands(std::move(operands));
    f_.terms.exchange_override(std::move(outer));
  }

  bool is_internal(TensorId id) const {
    return std::find(f_.e.internal.begin(), f_.e.internal.end(), id) != f_.e.internal.end();
  }

  void reduce(const Comprehension& c, const std::vector<ExprId>& kept) {
    const graph::Reduction& r = *c.reduction;
    auto types = field_types(f_.g, c, f_.terms.prover(), f_.terms.real());
    Accumulator acc(f_.terms, r.monoid, f_.g[c.results[0].tensor].name + "_acc", types);
    acc.init();
    std::vector<ExprId> body(r.body.begin(), r.body.end());
    f_.terms.hoist(body, r.filter);
    held_.allocate_kept(kept);
    RowStretch stretch = vectors_.stretch_of(r.axes[0]);
    bool skips = std::all_of(kept.begin(), kept.end(),
                             [&](ExprId id) { return needed_only_in(f_.group, id, r.axes[0]); });
    auto vector = [&](RowVector at) {
      // An end of its own keeps a stretch inside the row.
      if (stretch.hi && !f_.mirrored) at.own = {};
      f_.b.when(skips ? vectors_.touches(at.chunk, stretch) : ValueId{}, [&] {
        only_own(c, acc, at,
                 [&] { vectors_.over_elements(at, [&] { element(acc, r, kept, stretch, at); }); });
      });
    };
    const Comprehension* self[] = {&c};
    if (!f_.serial && !f_.e.machine.warp_shuffle) meeting_.reserve(types);
    if (f_.serial || f_.f.chunks || acc.commutes()) {
      vectors_.over_vectors(self, stretch, LoopKind::serial, vector);
      if (!f_.serial) across(acc);
    } else {
      // Threads take turns along the row: what they hold is combined once each round.
      Accumulator all(f_.terms, r.monoid, f_.g[c.results[0].tensor].name + "_all", types);
      all.init();
      vectors_.over_vectors(self, stretch, LoopKind::serial, [&](const RowVector& at) {
        acc.init();
        vector(at);
        meet_again();
        across(acc);
        all.merge([&](Op, uint32_t field, const std::vector<ValueId>& places) {
          return acc.value(field, places);
        });
      });
      for (uint32_t f = 0; f < types.size(); ++f)
        f_.b.store({acc.fields()[f], {}}, all.value(f, {}));
    }
    auto outer = f_.terms.exchange_state(acc.state());
    row_results(c);
    f_.terms.exchange_state(std::move(outer));
  }

  /// What groups of 32 left in shared memory has been read.
  void meet_again() {
    if (f_.e.machine.warp_shuffle && f_.f.threads > 32) f_.b.emit({kernel::Barrier{}});
  }

  /// Threads combine what they hold; `before` as in `scan_threads`.
  void across(Accumulator& acc, Accumulator* before = nullptr) {
    if (!f_.e.machine.warp_shuffle)
      meeting_.across(acc, f_.thread, before);
    else if (before)
      scan_threads(acc, *before, f_.thread, f_.f.threads);
    else
      across_threads(acc, f_.thread, f_.f.threads);
  }

  /// Whether a member reads from memory what others of this row have stored there.
  bool reads_back(const Comprehension& c) const {
    auto all = graph::roots(c);
    auto terms = graph::reachable(f_.g.exprs, all);
    return !f_.f.chunks && std::any_of(terms.begin(), terms.end(), [&](ExprId id) {
      TensorId tensor(f_.g.exprs[id].ref);
      return f_.g.exprs[id].op == Op::read && f_.group.defines(tensor) &&
             !held_.rows.contains(tensor);
    });
  }

  /// Keeps what `inside` combines where the vector is this thread's own. What other threads store
  /// may not even be read.
  void only_own(const Comprehension& c, Accumulator& acc, const RowVector& at,
                const std::function<void()>& inside) {
    if (reads_back(c))
      f_.b.when(at.own, inside);
    else
      acc.only_where(at.own, inside);
  }

  /// One element of a reduction: outside its stretch it takes no part.
  void element(Accumulator& acc, const graph::Reduction& r, const std::vector<ExprId>& kept,
               const RowStretch& stretch, const RowVector& at) {
    auto& v = f_.b.values();
    ValueId place = v.add(at.place, held_.lane);
    auto combine = [&] { acc.combine(r.body, r.field_axes, r.filter); };
    auto combine_inside = [&] {
      f_.terms.scope([&] {
        f_.terms.bind(r.axes[0], place);
        combine();
      });
    };
    if (f_.serial) return combine_inside();
    ValueId inside;
    if (stretch.lo) inside = v.binary(Op::le, stretch.lo, place);
    if (stretch.hi) inside = v.both(inside, v.less(place, stretch.hi));
    // What is kept reads registers only, and others may use it at every element.
    held_.keep(kept);
    std::vector<ExprId> terms(r.body.begin(), r.body.end());
    if (r.filter) terms.push_back(r.filter);
    bool free =
        std::all_of(terms.begin(), terms.end(), [&](ExprId id) { return held_.in_registers(id); });
    if (!inside || free) return acc.only_where(inside, combine);
    f_.b.when(v.both(at.own, inside), combine_inside);
  }

  /// A thread scans its own elements, then the threads scan what they hold together, and what came
  /// before a thread goes in front of each of its elements. Rounds hand on what came before them.
  void scan(const Comprehension& c, const std::vector<ExprId>& kept) {
    const graph::Reduction& r = *c.reduction;
    auto types = field_types(f_.g, c, f_.terms.prover(), f_.terms.real());
    const std::string& name = f_.g[c.results[0].tensor].name;
    Accumulator acc(f_.terms, r.monoid, name + "_acc", types),
        before(f_.terms, r.monoid, name + "_before", types);
    std::vector<ExprId> terms(r.body.begin(), r.body.end());
    f_.terms.hoist(terms, r.filter);
    held_.allocate_kept(kept);
    std::vector<kernel::TensorId> own; // this thread's states: [chunk, lane]
    for (size_t f = 0; f < types.size(); ++f)
      own.push_back(
          f_.b.registers(name + "_own", types[f], {std::max(f_.f.chunks, 1), f_.f.vector}));
    auto keep_state = [&] {
      for (uint32_t f = 0; f < own.size(); ++f)
        f_.b.store({own[f], {held_.chunk, held_.lane}}, acc.value(f, {}));
    };
    auto scan_own = [&](const RowVector& at) {
      only_own(c, acc, at, [&] {
        vectors_.over_elements(at, [&] {
          held_.keep(kept);
          if (c.scan->exclusive) keep_state();
          acc.combine(r.body, r.field_axes, r.filter);
          if (!c.scan->exclusive) keep_state();
        });
      });
    };
    auto results = [&](const RowVector& at) {
      f_.b.when(reads_back(c) ? at.own : ValueId{}, [&] {
        store_elements(c, at, [&] {
          for (uint32_t f = 0; f < own.size(); ++f)
            f_.b.store({acc.fields()[f], {}}, before.value(f, {}));
          acc.merge([&](Op, uint32_t field, const std::vector<ValueId>&) {
            return f_.b.element(own[field], {held_.chunk, held_.lane});
          });
        });
      });
    };
    allocate_elements(c);
    if (!f_.e.machine.warp_shuffle) meeting_.reserve(types);
    auto outer = f_.terms.exchange_state(acc.state());
    if (f_.f.chunks) {
      // Each of the two visits loads what it needs.
      Comprehension elements = c, values = c;
      elements.results.clear();
      values.reduction.reset(), values.scan.reset();
      const Comprehension *first[] = {&elements}, *second[] = {&values};
      acc.init();
      vectors_.over_vectors(first, {}, LoopKind::serial, scan_own);
      across(acc, &before);
      vectors_.over_vectors(second, {}, LoopKind::serial, results);
    } else {
      Accumulator all(f_.terms, r.monoid, name + "_all", types);
      all.init();
      const Comprehension* self[] = {&c};
      vectors_.over_vectors(self, {}, LoopKind::serial, [&](const RowVector& at) {
        acc.init();
        scan_own(at);
        meet_again();
        across(acc, &before);
        std::vector<ValueId> handed;
        for (uint32_t f = 0; f < own.size(); ++f) handed.push_back(f_.b.let("s", all.value(f, {})));
        all.merge(
            [&](Op, uint32_t field, const std::vector<ValueId>&) { return acc.value(field, {}); });
        put_before(before, std::move(handed));
        results(at);
      });
    }
    f_.terms.exchange_state(std::move(outer));
    finish_elements();
  }

  /// Values per row: every thread knows them, the first one stores them.
  void row_results(const Comprehension& c) {
    auto& v = f_.b.values();
    for (const graph::Result& result : c.results) {
      const graph::Tensor& t = f_.g[result.tensor];
      ValueId value = f_.b.narrowed(t.type, f_.terms.lower(result.value));
      value = f_.b.let(t.name, value);
      held_.rows[result.tensor] = value;
      if (is_internal(result.tensor)) continue;
      ValueId first = f_.serial ? ValueId{} : v.binary(Op::eq, f_.thread, v.integer(0));
      f_.b.store({f_.b.param(result.tensor, true), f_.points}, value, first);
    }
  }

  void map_elements(const Comprehension& c, const std::vector<ExprId>& kept) {
    std::vector<ExprId> roots;
    for (const graph::Result& result : c.results) roots.push_back(result.value);
    f_.terms.hoist(roots);
    held_.allocate_kept(kept);
    allocate_elements(c);
    const Comprehension* self[] = {&c};
    vectors_.over_vectors(self, {}, LoopKind::vector, [&](const RowVector& at) {
      store_elements(c, at, [&] { held_.keep(kept); });
    });
    finish_elements();
  }

  bool is_stored(const graph::Result& r) const { return !f_.f.chunks || !is_internal(r.tensor); }

  /// Registers for what later members read of a member's elements, and for vectors to store.
  void allocate_elements(const Comprehension& c) {
    out_.assign(c.results.size(), {});
    for (size_t i = 0; i < out_.size(); ++i) {
      const graph::Tensor& t = f_.g[c.results[i].tensor];
      if (f_.f.chunks && needed_later(c.results[i].tensor))
        pending_[c.results[i].tensor] =
            f_.b.registers(t.name + "_v", register_type(t.type), {f_.f.chunks, f_.f.vector});
      if (f_.f.vector > 1 && is_stored(c.results[i]) && whole(t))
        out_[i] = f_.b.registers(t.name + "_o", register_type(t.type), {f_.f.vector});
    }
  }

  /// The results at the elements of a vector; `first` runs at each before its values are computed.
  void store_elements(const Comprehension& c, const RowVector& at,
                      const std::function<void()>& first) {
    auto& v = f_.b.values();
    auto places = f_.points;
    places.push_back({});
    vectors_.over_elements(at, [&] {
      first();
      for (size_t i = 0; i < out_.size(); ++i) {
        const graph::Tensor& t = f_.g[c.results[i].tensor];
        ValueId value = f_.b.narrowed(t.type, f_.terms.lower(c.results[i].value));
        auto kept = pending_.find(c.results[i].tensor);
        if (kept != pending_.end()) {
          // Later readers see the stored format.
          bool narrow =
              graph::info(t.type).bits < 32 && graph::scalar_of(t.type) == graph::Scalar::real;
          f_.b.store({kept->second, {held_.chunk, held_.lane}},
                     narrow ? v.round(t.type, value) : value);
        }
        if (!is_stored(c.results[i])) continue;
        places.back() = v.add(at.place, held_.lane);
        if (out_[i])
          f_.b.store({out_[i], {held_.lane}}, value);
        else
          f_.b.store({f_.b.param(c.results[i].tensor, true), places}, value, at.own);
      }
    });
    places.back() = at.place;
    for (size_t i = 0; i < out_.size(); ++i)
      if (out_[i])
        copy_vector(f_.b, {f_.b.param(c.results[i].tensor, true), places},
                    {out_[i], {v.integer(0)}}, f_.g[c.results[i].tensor].type, f_.f.vector,
                    f_.e.machine.vector_bytes, at.own);
  }

  void finish_elements() {
    held_.elements.insert(pending_.begin(), pending_.end());
    pending_.clear();
  }

  static bool whole(const graph::Tensor& t) {
    return t.strides.empty() && !graph::is_packed(t.type);
  }

  bool needed_later(TensorId id) const {
    return std::any_of(f_.group.nodes.begin(), f_.group.nodes.end(), [&](const Comprehension* c) {
      auto all = graph::roots(*c);
      for (ExprId e : graph::reachable(f_.g.exprs, all))
        if (f_.g.exprs[e].op == Op::read && TensorId(f_.g.exprs[e].ref) == id) return true;
      return false;
    });
  }

  RowFrame f_;
  RowRegisters held_;
  RowVectors vectors_;
  Meeting meeting_; ///< where threads cannot read each other's registers
  // Of the member at hand: elements that later ones read, and a vector of each result.
  std::unordered_map<TensorId, kernel::TensorId> pending_;
  std::vector<kernel::TensorId> out_;
};

} // namespace

Built emit_row(const Emission& e) {
  return RowEmitter(e).run();
}

} // namespace tang::lower

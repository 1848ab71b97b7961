// A contraction on matrix units. A block owns block_m x block_n points; its operands pass through
// shared memory in chunks block_k deep, of which `pipeline` are under way at once; a warp owns
// warp_m x warp_n points and multiplies fragments that lie in its registers as the instruction's
// row of atomics/ says. While one step of fragments multiplies, the next is loaded.
#include "atomics/check.h"
#include "atomics/match.h"
#include "base/check.h"
#include "lower/emit.h"
#include "lower/tile_axes.h"
#include "lower/vectors.h"
#include <algorithm>
#include <map>

namespace tang::lower {

using graph::Axis;
using graph::Comprehension;
using graph::Op;
using kernel::LoopKind;
using kernel::Ref;
using layout::Layout;

namespace {

/// How far a fragment reaches along an axis.
int extent_along(const Layout& layout, const std::string& axis) {
  return static_cast<int>(atomics::extents_by_axis(layout).at(axis));
}

/// `count` fragments one behind the other along an axis, as one of so many times the values.
Layout repeated(const Layout& fragment, int count, const std::string& axis) {
  std::vector<Layout> parts = fragment.parts();
  int step = extent_along(fragment, axis);
  Layout more =
      Layout::leaf({layout::Monomial::constant(count), {layout::Monomial::constant(step), axis}});
  return Layout::tuple({parts[0], Layout::tuple({parts[1], more})});
}

class MatrixTile {
public:
  explicit MatrixTile(const Emission& e)
      : e_(e), g_(e.graph), b_(e.graph, e.name), terms_(b_, compute_type(e.graph, e.nodes)),
        f_(e.fields), c_(std::get<Comprehension>(e.nodes[0]->definition)), r_(*c_.reduction),
        axes_(terms_, c_) {
    for (const auto& [step, last] : e.steps) b_.declare_step(step, last);
    sides_ = graph::sides_of(g_, c_);
    graph::Operands operands = graph::operands_of(g_, c_, sides_);
    format_ = plan::format_of(f_.precision);
    product_ = atomics::find_matmul(e.machine.target, graph::ElemType::f32, format_, format_);
    commit_ = atomics::find_commit(e.machine.target, "cp_async");
    wait_ = atomics::find_wait(e.machine.target, "cp_async");
    TANG_CHECK(product_ && commit_ && wait_ && operands.a.size() == 1 && operands.b.size() == 1,
               "`{}` is no product for matrix units", e.name);
    const Layout& d = product_->operands[0].layout;
    atom_m_ = extent_along(d, "m"), atom_n_ = extent_along(d, "n");
    atom_k_ = extent_along(product_->operands[1].layout, "k");
    warps_m_ = f_.block_m / f_.warp_m, warps_n_ = f_.block_n / f_.warp_n;
    rows_ = side(operands.a[0], sides_.m, "m", f_.block_m, f_.warp_m, product_->operands[1]);
    cols_ = side(operands.b[0], sides_.n, "n", f_.block_n, f_.warp_n, product_->operands[2]);
  }

  Built run() {
    threads();
    blocks();
    auto& v = b_.values();
    // The last group may have more blocks than there are rows.
    b_.when(f_.raster > 1 ? v.less(rows_.first, rows_.count) : ValueId(), [&] { body(); });
    return b_.finish();
  }

private:
  void body() {
    auto& v = b_.values();
    for (Side* s : {&rows_, &cols_}) allocate(*s);
    accumulators_ =
        b_.registers("acc", Type::f32, {f_.warp_m / atom_m_, f_.warp_n / atom_n_, values_of_d()});
    over_accumulators([&](ValueId i, ValueId j) {
      b_.loop("e", values_of_d(), LoopKind::unrolled, [&](ValueId e) {
        b_.store({accumulators_, {i, j, e}}, v.real(0, Type::f32));
      });
    });
    main_loop();
    epilogue();
  }

  /// One operand: where its tiles lie, how they are filled, and its fragments.
  struct Side {
    ExprId operand;
    std::vector<size_t> axes; ///< point axes
    std::string basis;        ///< what the instruction calls them
    int block = 0, warp = 0, atom = 0;
    bool along_sum = true; ///< neighbours in memory are terms of the sum
    int group = 1;         ///< fragments that are loaded together
    int values = 0;        ///< of one fragment
    atomics::FragmentLoad load;
    kernel::TensorId tile, fragments;
    ValueId first, count; ///< points of the block, points of all
    ValueId warp_first;   ///< within the block
    int outer(int block_k) const { return along_sum ? block : block_k; }
    int inner(int block_k) const { return along_sum ? block_k : block; }
  };

  Side side(ExprId operand, const std::vector<size_t>& axes, const char* basis, int block, int warp,
            const atomics::Operand& fragment) {
    Side s;
    s.operand = operand, s.axes = axes, s.basis = basis, s.block = block, s.warp = warp;
    s.atom = extent_along(fragment.layout, basis), s.values = fragment.values;
    s.along_sum = !graph::contiguous_along(g_, operand, c_.points[axes.back()].index);
    for (int group : {4, 2, 1}) {
      if (warp % (s.atom * group) != 0) continue;
      auto load = atomics::find_fragment_load(e_.machine.target, format_,
                                              repeated(fragment.layout, group, basis),
                                              s.along_sum ? "k" : basis);
      if (!load) continue;
      s.group = group, s.load = *load;
      return s;
    }
    TANG_CHECK(false, "nothing loads a fragment of `{}`", e_.name);
    return s;
  }

  int values_of_d() const { return product_->operands[0].values; }

  void threads() {
    auto& v = b_.values();
    auto mode = [&](const char* name, int extent) {
      VarId id = v.add_var({name, Type::index, 0, extent - 1});
      b_.kernel().threads.push_back({id, extent});
      return v.variable(id);
    };
    // The lane's digits are those of the accumulators, which every point has one of.
    ValueId lane = v.integer(0);
    int64_t below = 1;
    const Layout lanes = product_->operands[0].layout.parts()[0];
    for (const layout::Mode& digit : lanes.leaves) {
      lane_digits_.push_back(mode("lane", static_cast<int>(digit.size.factor)));
      lane = v.add(lane, v.mul(lane_digits_.back(), v.integer(below)));
      below *= digit.size.factor;
    }
    ValueId warp_m = mode("warp_m", warps_m_), warp_n = mode("warp_n", warps_n_);
    lane_ = b_.let("lane", lane);
    ValueId warp = v.add(warp_m, v.mul(warp_n, v.integer(warps_m_)));
    thread_ = b_.let("thread", v.add(lane_, v.mul(warp, v.integer(below))));
    thread_count_ = static_cast<int>(below) * warps_m_ * warps_n_;
    rows_.warp_first = v.mul(warp_m, v.integer(f_.warp_m));
    cols_.warp_first = v.mul(warp_n, v.integer(f_.warp_n));
  }

  void blocks() {
    auto& v = b_.values();
    rows_.count = axes_.size_of(sides_.m), cols_.count = axes_.size_of(sides_.n);
    // Blocks that run side by side share rows and columns of the operands (`raster`).
    ValueId in_group = axes_.block_mode("bm", v.integer(f_.raster)),
            bn = axes_.block_mode("bn", v.ceildiv(cols_.count, f_.block_n)),
            group =
                axes_.block_mode("group", v.ceildiv(rows_.count, int64_t{f_.block_m} * f_.raster)),
            batch = axes_.block_mode("batch", axes_.size_of(sides_.batch));
    ValueId bm = v.add(v.mul(group, v.integer(f_.raster)), in_group);
    axes_.bind_points(sides_.batch, batch);
    rows_.first = v.mul(bm, v.integer(f_.block_m)), cols_.first = v.mul(bn, v.integer(f_.block_n));
    depth_ = axes_.depth();
  }

  void allocate(Side& s) {
    int outer = s.outer(f_.block_k), inner = s.inner(f_.block_k);
    // Rows of 16 bytes more than a power of two lie in different banks.
    int pitch = inner + 128 / graph::info(format_).bits;
    s.tile = b_.shared(s.basis + "_tile", format_, {f_.pipeline, outer, inner},
                       {int64_t{outer} * pitch, pitch, 1});
    s.fragments = b_.fragments(s.basis + "_frag", format_,
                               {2, s.warp / (s.atom * s.group), int64_t{s.values} * s.group});
  }

  // ---- filling

  /// Chunk number `step` of both operands into a slot of the ring; nothing where there is none.
  void fill(ValueId slot, ValueId step) {
    auto& v = b_.values();
    ValueId some =
        v.both(v.less(v.mul(step, v.integer(f_.block_k)), depth_),
               v.both(v.less(v.integer(0), rows_.count), v.less(v.integer(0), cols_.count)));
    b_.when(some, [&] {
      for (const Side* s : {&rows_, &cols_})
        b_.spec("Move", "", {s->tile}, {}, [&] { terms_.scope([&] { fill(*s, slot, step); }); });
    });
    b_.emit({kernel::Atom{commit_, {}, {}, {}}});
  }

  void fill(const Side& s, ValueId slot, ValueId step) {
    auto& v = b_.values();
    int unit = f_.vector, outer = s.outer(f_.block_k), chunks = s.inner(f_.block_k) / unit;
    int rows = thread_count_ / chunks;
    ValueId chunk = b_.let("chunk", v.binary(Op::mod, thread_, v.integer(chunks))),
            row = b_.let("row", v.binary(Op::floordiv, thread_, v.integer(chunks)));
    ValueId units = s.along_sum ? axes_.groups_of_sum(unit) : axes_.groups_of_points(s.axes, unit);
    ValueId lines = s.along_sum ? s.count : depth_;
    ValueId first_unit =
                s.along_sum ? v.mul(step, v.integer(f_.block_k / unit)) : divided(s.first, unit),
            first_line = s.along_sum ? s.first : v.mul(step, v.integer(f_.block_k));
    ValueId at = b_.let("unit", v.add(first_unit, chunk));
    const atomics::Row* move = atomics::find_move(
        e_.machine.target, {kernel::Memory::shared, kernel::Memory::global, format_,
                            unit * graph::info(format_).bits / 8, true, true});
    TANG_CHECK(move, "nothing copies {} elements of `{}`", unit, e_.name);
    b_.loop("s", outer / rows, LoopKind::unrolled, [&](ValueId i) {
      terms_.scope([&] {
        ValueId place = v.add(row, v.mul(i, v.integer(rows)));
        ValueId line = b_.let("line", v.add(first_line, place));
        ValueId exists = v.both(v.less(line, lines), v.less(at, units));
        if (s.along_sum) {
          axes_.bind_points_if(s.axes, line);
          axes_.bind_sum_if(at, unit);
        } else {
          axes_.bind_sum_if(line);
          axes_.bind_points_if(s.axes, at, unit);
        }
        Ref to{s.tile, {slot, place, v.mul(chunk, v.integer(unit))}};
        b_.emit({kernel::Atom{move, {to, memory(s.operand)}, {}, exists}});
      });
    });
  }

  /// The element in memory that an operand reads at the bound indices.
  Ref memory(ExprId operand) {
    const graph::Expr& read = g_.exprs[operand];
    auto [tensor, dropped] = terms_.memory_of(read);
    Ref ref{tensor, {}};
    for (size_t i = dropped; i < read.operands.size(); ++i)
      ref.coordinates.push_back(b_.values().convert(Type::index, terms_.lower(read.operands[i])));
    return ref;
  }

  ValueId divided(ValueId value, int by) {
    return b_.values().binary(Op::floordiv, value, b_.values().integer(by));
  }

  // ---- multiplying

  void main_loop() {
    auto& v = b_.values();
    int ahead = f_.pipeline - 1, rounds = f_.block_k / atom_k_;
    ValueId steps = v.ceildiv(depth_, f_.block_k);
    for (int s = 0; s < ahead; ++s) fill(v.integer(s), v.integer(s));
    arrive();
    load_fragments(0, v.integer(0), 0);
    b_.loop("k", v.integer(0), steps, v.integer(1), LoopKind::serial, [&](ValueId k) {
      ValueId ring = v.integer(f_.pipeline);
      ValueId slot = b_.let("slot", v.binary(Op::mod, k, ring)),
              next = b_.let("next", v.binary(Op::mod, v.add(k, v.integer(1)), ring));
      for (int q = 0; q < rounds; ++q) {
        bool last = q + 1 == rounds;
        if (last) arrive();
        load_fragments((q + 1) % 2, last ? next : slot, last ? 0 : (q + 1) * atom_k_);
        if (q == 0) {
          ValueId later = v.add(k, v.integer(ahead));
          fill(b_.let("filled", v.binary(Op::mod, later, ring)), later);
        }
        multiply(q % 2);
      }
    });
  }

  /// The oldest chunk under way is there, and everybody is done with the one before.
  void arrive() {
    b_.emit({kernel::Atom{wait_, {}, {f_.pipeline - 2}, {}}});
    b_.emit({kernel::Barrier{}});
  }

  void load_fragments(int buffer, ValueId slot, int k) {
    for (Side* s : {&rows_, &cols_}) {
      b_.spec("Move", "", {s->fragments}, {s->tile}, [&] {
        auto& v = b_.values();
        auto at = coordinates(s->load.lanes);
        int reach = s->atom * s->group;
        b_.loop("i", s->warp / reach, LoopKind::unrolled, [&](ValueId i) {
          ValueId point = v.add(v.add(s->warp_first, v.mul(i, v.integer(reach))), at[s->basis]),
                  term = v.add(v.integer(k), at["k"]);
          Ref from{s->tile, {slot, s->along_sum ? point : term, s->along_sum ? term : point}};
          b_.emit({kernel::Atom{
              s->load.row, {{s->fragments, {v.integer(buffer), i, v.integer(0)}}, from}, {}, {}}});
        });
      });
    }
  }

  /// Coordinates by axis of what a lane's number names.
  std::map<std::string, ValueId> coordinates(const Layout& lanes) {
    auto& v = b_.values();
    std::map<std::string, ValueId> at{
        {"m", v.integer(0)}, {"n", v.integer(0)}, {"k", v.integer(0)}};
    int64_t below = 1;
    for (const layout::Mode& mode : lanes.leaves) {
      ValueId digit =
          v.binary(Op::mod, divided(lane_, static_cast<int>(below)), v.integer(mode.size.factor));
      ValueId& sum = at[mode.stride.basis];
      sum = v.add(sum, v.mul(digit, v.integer(mode.stride.amount.factor)));
      below *= mode.size.factor;
    }
    for (auto& [basis, value] : at) value = b_.let("lane_" + basis, value);
    return at;
  }

  void over_accumulators(const std::function<void(ValueId i, ValueId j)>& inside) {
    b_.loop("i", f_.warp_m / atom_m_, LoopKind::unrolled, [&](ValueId i) {
      b_.loop("j", f_.warp_n / atom_n_, LoopKind::unrolled, [&](ValueId j) { inside(i, j); });
    });
  }

  void multiply(int buffer) {
    auto& v = b_.values();
    auto fragment = [&](const Side& s, ValueId i) {
      ValueId group = v.integer(s.group), values = v.integer(s.values);
      return Ref{s.fragments,
                 {v.integer(buffer), v.binary(Op::floordiv, i, group),
                  v.mul(v.binary(Op::mod, i, group), values)}};
    };
    b_.spec("MatMul", "", {accumulators_}, {rows_.fragments, cols_.fragments}, [&] {
      over_accumulators([&](ValueId i, ValueId j) {
        b_.emit({kernel::Atom{
            product_,
            {{accumulators_, {i, j, v.integer(0)}}, fragment(rows_, i), fragment(cols_, j)},
            {},
            {}}});
      });
    });
  }

  // ---- results

  /// Neighbours along the columns that a thread stores at once.
  int neighbours() const {
    const layout::Mode first = product_->operands[0].layout.parts()[1].leaves[0];
    bool pairs = first.stride.basis == "n" && first.stride.amount.is(1);
    for (const graph::Result& result : c_.results) {
      const graph::Tensor& t = g_[result.tensor];
      pairs &= result.extra.empty() && !t.over && t.strides.empty() && !graph::is_packed(t.type) &&
               b_.store_prefix.empty();
    }
    bool even = f_.vector % first.size.factor == 0 && !cols_.along_sum;
    return pairs && even ? static_cast<int>(first.size.factor) : 1;
  }

  void epilogue() {
    auto& v = b_.values();
    auto parts = product_->operands[0].layout.parts();
    std::map<std::string, ValueId> lane{{"m", v.integer(0)}, {"n", v.integer(0)}};
    for (size_t i = 0; i < lane_digits_.size(); ++i) {
      const layout::Stride& stride = parts[0].leaves[i].stride;
      ValueId& sum = lane[stride.basis];
      sum = v.add(sum, v.mul(lane_digits_[i], v.integer(stride.amount.factor)));
    }
    lane_m_ = lane["m"], lane_n_ = lane["n"];
    unit_ = neighbours();
    b_.loop("i", f_.warp_m / atom_m_, LoopKind::unrolled,
            [&](ValueId i) { over_values(parts[1], "m", i, v.integer(0), v.integer(0)); });
  }

  /// Visits the values of the accumulators along the rows, and for each those along the columns.
  void over_values(const Layout& values, const std::string& basis, ValueId tile, ValueId number,
                   ValueId place) {
    auto& v = b_.values();
    std::vector<std::pair<layout::Mode, int64_t>> digits;
    int64_t below = 1;
    for (const layout::Mode& mode : values.leaves) {
      if (mode.stride.basis == basis && !(basis == "n" && unit_ > 1 && below == 1))
        digits.push_back({mode, below});
      below *= mode.size.factor;
    }
    std::function<void(size_t, ValueId, ValueId)> next = [&](size_t d, ValueId n, ValueId p) {
      if (d == digits.size()) return basis == "m" ? row(values, tile, n, p) : column(tile, n, p);
      b_.loop(basis == "m" ? "h" : "w", digits[d].first.size.factor, LoopKind::unrolled,
              [&](ValueId digit) {
                next(d + 1, v.add(n, v.mul(digit, v.integer(digits[d].second))),
                     v.add(p, v.mul(digit, v.integer(digits[d].first.stride.amount.factor))));
              });
    };
    next(0, number, place);
  }

  void row(const Layout& values, ValueId i, ValueId number, ValueId place) {
    auto& v = b_.values();
    ValueId within =
        v.add(v.add(rows_.warp_first, v.mul(i, v.integer(atom_m_))), v.add(place, lane_m_));
    ValueId m = b_.let("m", v.add(rows_.first, within));
    b_.when(v.less(m, rows_.count), [&] {
      terms_.scope([&] {
        axes_.bind_points(sides_.m, m);
        b_.loop("j", f_.warp_n / atom_n_, LoopKind::unrolled, [&](ValueId j) {
          tile_m_ = i;
          over_values(values, "n", j, number, v.integer(0));
        });
      });
    });
  }

  void column(ValueId j, ValueId number, ValueId place) {
    auto& v = b_.values();
    ValueId within =
        v.add(v.add(cols_.warp_first, v.mul(j, v.integer(atom_n_))), v.add(place, lane_n_));
    ValueId n = b_.let("n", divided(v.add(cols_.first, within), unit_));
    ValueId count = unit_ == 1 ? cols_.count : axes_.groups_of_points(sides_.n, unit_);
    b_.when(v.less(n, count), [&] {
      terms_.scope([&] {
        axes_.bind_points(sides_.n, n, unit_);
        results(j, number);
      });
    });
  }

  void results(ValueId j, ValueId number) {
    auto& v = b_.values();
    auto state = [&](ValueId value) {
      return [this, j, value](Op, uint32_t, const std::vector<ValueId>&) {
        return b_.element(accumulators_, {tile_m_, j, value});
      };
    };
    if (unit_ == 1) {
      auto outer = terms_.exchange_state(state(number));
      for (const graph::Result& result : c_.results)
        store_result(terms_, result, axes_.points(), {});
      terms_.exchange_state(std::move(outer));
      return;
    }
    const Axis& last = c_.points[sides_.n.back()];
    std::vector<ValueId> points = axes_.points();
    ValueId first = points.back();
    std::vector<kernel::TensorId> out;
    for (const graph::Result& result : c_.results) {
      const graph::Tensor& t = g_[result.tensor];
      out.push_back(b_.registers(t.name + "_o", register_type(t.type), {unit_}));
    }
    b_.loop("e", unit_, LoopKind::unrolled, [&](ValueId e) {
      terms_.scope([&] {
        terms_.bind(last, v.add(first, e));
        auto outer = terms_.exchange_state(state(v.add(number, e)));
        for (size_t i = 0; i < out.size(); ++i)
          b_.store({out[i], {e}},
                   b_.narrowed(g_[c_.results[i].tensor].type, terms_.lower(c_.results[i].value)));
        terms_.exchange_state(std::move(outer));
      });
    });
    for (size_t i = 0; i < out.size(); ++i)
      copy_vector(b_, {b_.param(c_.results[i].tensor, true), points}, {out[i], {v.integer(0)}},
                  g_[c_.results[i].tensor].type, unit_, e_.machine.vector_bytes);
  }

  const Emission& e_;
  const graph::Graph& g_;
  Builder b_;
  Terms terms_;
  const plan::Fields& f_;
  const Comprehension& c_;
  const graph::Reduction& r_;
  TileAxes axes_;
  graph::Sides sides_;
  graph::ElemType format_ = graph::ElemType::f16;
  const atomics::Row *product_ = nullptr, *commit_ = nullptr, *wait_ = nullptr;
  int atom_m_ = 0, atom_n_ = 0, atom_k_ = 0, warps_m_ = 1, warps_n_ = 1, thread_count_ = 0;
  Side rows_, cols_;
  std::vector<ValueId> lane_digits_;
  ValueId lane_, thread_, depth_, lane_m_, lane_n_, tile_m_;
  kernel::TensorId accumulators_;
  int unit_ = 1; ///< columns that are stored together
};

} // namespace

Built emit_matrix_tile(const Emission& e) {
  return MatrixTile(e).run();
}

} // namespace tang::lower

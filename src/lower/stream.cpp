// A reduction along one long axis that multiplies matrices on the way (graph/streaming.h):
// attention, its gradients, chains of two products. A block owns block_m rows, a warp warp_m of
// them; stretches of block_n elements of the streamed axis pass through shared memory, `pipeline`
// of them under way. Scores of a stretch stay in the registers in which matrix units leave them,
// become weights there, and are the left factor of the product that the amounts add up.
#include "base/check.h"
#include "lower/stream_bounds.h"
#include "lower/stream_tiles.h"
#include "lower/vectors.h"
#include <algorithm>

namespace tang::lower {

using graph::Axis;
using graph::Comprehension;
using graph::Op;
using graph::Streaming;
using kernel::LoopKind;
using kernel::Ref;

namespace {

/// Registers of a thread beyond which rows are loaded again from shared memory in every step.
constexpr int most_held = 160;

class Stream {
public:
  explicit Stream(const Emission& e)
      : e_(e), g_(e.graph), b_(e.graph, e.name), terms_(b_, compute_type(e.graph, e.nodes)),
        f_(e.fields), c_(std::get<Comprehension>(e.nodes[0]->definition)), r_(*c_.reduction),
        s_(*graph::streaming(g_, c_)), axes_(terms_, c_), unit_(b_, e.machine.target, s_.format) {
    for (const auto& [step, last] : e.steps) b_.declare_step(step, last);
    row_tiles_ = f_.warp_m / unit_.atom_m, column_tiles_ = f_.block_n / unit_.atom_n;
  }

  Built run() {
    auto& v = b_.values();
    ValueId warp = unit_.add_threads(f_.block_m / f_.warp_m);
    warp_first_ = v.mul(warp, v.integer(f_.warp_m));
    count_ = axes_.size_of(s_.rows);
    ValueId bm = axes_.block_mode("bm", v.ceildiv(count_, f_.block_m)),
            batch = axes_.block_mode("batch", axes_.size_of(s_.batch));
    axes_.bind_points(s_.batch, batch);
    first_ = b_.let("first", v.mul(bm, v.integer(f_.block_m)));
    tiles_.emplace(e_, s_, terms_, axes_, unit_);
    bounds_.emplace(terms_, c_, s_, first_, count_, f_.block_m, f_.block_n);
    states();
    stream();
    gather_lanes();
    results();
    return b_.finish();
  }

private:
  /// A row of a thread: tile of the warp and place within it.
  struct Row {
    ValueId tile, digit;
  };
  ValueId integer(int64_t n) { return b_.values().integer(n); }
  ValueId number(const Row& row) {
    auto& v = b_.values();
    ValueId within = v.add(v.mul(row.tile, integer(unit_.atom_m)),
                           v.mul(row.digit, integer(unit_.rows().place)));
    return v.add(v.add(first_, warp_first_), v.add(within, unit_.lane_m));
  }
  template <class F>
  void over_rows(F&& inside) {
    b_.loop("i", row_tiles_, LoopKind::unrolled, [&](ValueId i) {
      b_.loop("h", unit_.rows().count, LoopKind::unrolled, [&](ValueId h) {
        terms_.scope([&] { inside(Row{i, h}); });
      });
    });
  }
  /// Visits the thread's accumulators of a row: tile along the columns, value within, column.
  template <class F>
  void over_columns(const Row& row, int tiles, F&& inside) {
    auto& v = b_.values();
    MatrixUnit::Digit rows = unit_.rows(), columns = unit_.columns();
    b_.loop("j", tiles, LoopKind::unrolled, [&](ValueId j) {
      b_.loop("w", columns.count, LoopKind::unrolled, [&](ValueId w) {
        ValueId value =
            v.add(v.mul(row.digit, integer(rows.value)), v.mul(w, integer(columns.value)));
        ValueId column = v.add(v.add(v.mul(j, integer(unit_.atom_n)), unit_.lane_n),
                               v.mul(w, integer(columns.place)));
        terms_.scope([&] { inside(j, value, column); });
      });
    });
  }
  kernel::TensorId per_row(const std::string& name, Type type = Type::f32) {
    return b_.registers(name, type, {row_tiles_, unit_.rows().count});
  }
  kernel::TensorId per_element(const std::string& name, int tiles) {
    return b_.registers(name, Type::f32, {row_tiles_, tiles, unit_.d_values});
  }
  ValueId at(kernel::TensorId tensor, const Row& row) {
    return b_.element(tensor, {row.tile, row.digit});
  }
  void set(kernel::TensorId tensor, const Row& row, ValueId value) {
    b_.store({tensor, {row.tile, row.digit}}, value);
  }
  void clear(kernel::TensorId tensor, int tiles) {
    b_.loop("i", row_tiles_, LoopKind::unrolled, [&](ValueId i) {
      b_.loop("j", tiles, LoopKind::unrolled, [&](ValueId j) {
        b_.loop("e", unit_.d_values, LoopKind::unrolled, [&](ValueId e) {
          b_.store({tensor, {i, j, e}}, b_.values().real(0, Type::f32));
        });
      });
    });
  }
  std::string field_name(uint32_t field, const char* otherwise) const {
    const std::string& name = g_[r_.monoid].fields[field].name;
    return name.empty() ? otherwise : name;
  }

  // ---- what lives from step to step

  struct Reference {
    uint32_t field;
    Op op;
    kernel::TensorId state, next, elements;
  };
  /// Equal weights of several amounts are computed once.
  struct Weight {
    const Streaming::Amount* first;
    kernel::TensorId row_part; ///< what its factors and divisors are that rows alone decide
    std::vector<ExprId> factors, divisors;
    kernel::TensorId elements, fragments;
    bool multiplies = false;
  };
  struct Amount {
    const Streaming::Amount* amount;
    size_t weight;
    kernel::TensorId state, scale;
    int tiles = 0; ///< along the field's axis
  };
  struct RowTerm {
    ExprId term;
    kernel::TensorId value, scale, reciprocal; ///< of a divisor: value * scale * reciprocal = 1
  };

  bool of_row(ExprId id) const {
    const auto& free = g_.exprs[id].free;
    return !std::binary_search(free.begin(), free.end(), r_.axes[0].index);
  }

  void states() {
    auto& v = b_.values();
    for (uint32_t f : s_.monoid.references) {
      std::string name = field_name(f, "reference");
      Op op = g_.exprs[g_[r_.monoid].combine[f]].op;
      references_.push_back(
          {f, op, per_row(name), per_row(name + "_next"), per_element(name + "_e", column_tiles_)});
    }
    for (const Streaming::Amount& amount : s_.amounts) {
      std::string name = field_name(amount.scaled.field, "amount");
      Amount a{&amount, weight_of(amount), {}, {}, 0};
      if (amount.scaled.left) a.scale = per_row(name + "_scale");
      if (amount.read) {
        weights_[a.weight].multiplies = true;
        a.tiles = tiles_->of(amount.read).width / unit_.atom_n;
        a.state = per_element(name, a.tiles);
        clear(a.state, a.tiles);
      } else {
        a.state = per_row(name);
      }
      amounts_.push_back(a);
    }
    for (const Streaming::Score& score : s_.scores)
      scores_.push_back({&score, per_element("score", column_tiles_), {}, {}});
    for (Weight& w : weights_) {
      // Grouped as fragments are: so many accumulators one after the other.
      int atoms = unit_.a_values / unit_.d_values;
      w.elements =
          b_.registers("weight", Type::f32, {row_tiles_, column_tiles_ / atoms, unit_.a_values});
      if (w.multiplies)
        w.fragments = b_.fragments("weight_frag", s_.format,
                                   {row_tiles_, f_.block_n / unit_.atom_k, unit_.a_values});
    }
    over_rows([&](const Row& row) {
      for (const Reference& r : references_)
        set(r.state, row, terms_.lower(g_[r_.monoid].fields[r.field].identity));
      for (const Amount& a : amounts_)
        if (!a.tiles) set(a.state, row, v.real(0, Type::f32));
    });
  }

  size_t weight_of(const Streaming::Amount& amount) {
    for (size_t i = 0; i < weights_.size(); ++i) {
      const Streaming::Amount& other = *weights_[i].first;
      if (other.factors == amount.factors && other.divisors == amount.divisors &&
          other.scaled.right == amount.scaled.right)
        return i;
    }
    Weight w{&amount, {}, {}, {}, {}, {}, false};
    for (ExprId id : amount.factors)
      if (!of_row(id)) w.factors.push_back(id);
    for (ExprId id : amount.divisors)
      if (!of_row(id)) w.divisors.push_back(id);
    if (w.factors.size() + w.divisors.size() < amount.factors.size() + amount.divisors.size())
      w.row_part = per_row("row_part");
    weights_.push_back(std::move(w));
    return weights_.size() - 1;
  }

  /// Terms of which rows alone decide are computed before the first step.
  void row_terms() {
    std::vector<ExprId> stack;
    for (const Reference& r : references_) stack.push_back(r_.body[r.field]);
    for (const Weight& w : weights_) {
      stack.insert(stack.end(), w.factors.begin(), w.factors.end());
      stack.insert(stack.end(), w.divisors.begin(), w.divisors.end());
    }
    const Axis& axis = r_.axes[0];
    for (ExprId id : {r_.filter, axis.lo, axis.hi})
      if (id) stack.push_back(id);
    std::reverse(stack.begin(), stack.end());
    std::vector<ExprId> seen;
    while (!stack.empty()) {
      ExprId id = stack.back();
      stack.pop_back();
      const graph::Expr& e = g_.exprs[id];
      if (std::count(seen.begin(), seen.end(), id) || g_.exprs.is_literal(id)) continue;
      seen.push_back(id);
      if (of_row(id)) {
        if (e.scalar == graph::Scalar::real || e.has_read) add_row_term(id, false);
        continue;
      }
      if (e.op == Op::fold || e.op == Op::read) continue;
      bool divides =
          e.op == Op::div && of_row(e.operands[1]) && !g_.exprs.is_literal(e.operands[1]);
      if (divides) add_row_term(e.operands[1], true);
      for (size_t i = e.operands.size(); i-- > 0;)
        if (!divides || i == 0) stack.push_back(e.operands[i]);
    }
    terms_.multiply_by_reciprocals(axis.index);
    load_row_terms();
  }

  void add_row_term(ExprId id, bool divides) {
    auto known = std::find_if(row_terms_.begin(), row_terms_.end(), [&](const RowTerm& t) {
      return t.term == id && bool(t.reciprocal) == divides;
    });
    if (known != row_terms_.end()) return;
    RowTerm term{id, {}, {}, {}};
    if (divides)
      term.scale = per_row("scale"), term.reciprocal = per_row("reciprocal");
    else
      term.value = per_row("row_term", terms_.type_of(id));
    row_terms_.push_back(term);
  }

  void load_row_terms() {
    auto& v = b_.values();
    bool any = !row_terms_.empty();
    for (const Weight& w : weights_) any |= bool(w.row_part);
    if (!any) return;
    over_rows([&](const Row& row) {
      for (const RowTerm& t : row_terms_)
        for (auto tensor : {t.value, t.scale, t.reciprocal})
          if (tensor) set(tensor, row, zero(b_.kernel()[tensor].type));
      for (const Weight& w : weights_)
        if (w.row_part) set(w.row_part, row, v.real(0, Type::f32));
      ValueId place = b_.let("row", number(row));
      b_.when(v.less(place, count_), [&] {
        terms_.scope([&] {
          axes_.bind_points(s_.rows, place);
          for (const RowTerm& t : row_terms_) {
            ValueId value = terms_.lower(t.term);
            if (t.value) {
              set(t.value, row, terms_.convert(value, register_type(b_.kernel()[t.value].type)));
              continue;
            }
            Terms::Reciprocal r = terms_.reciprocal_of(value);
            set(t.scale, row, r.factor), set(t.reciprocal, row, r.reciprocal);
          }
          for (const Weight& w : weights_)
            if (w.row_part) set(w.row_part, row, row_part(w));
        });
      });
    });
  }

  ValueId zero(graph::ElemType type) {
    auto& v = b_.values();
    Type t = register_type(type);
    return t == Type::boolean   ? v.boolean(false)
           : kernel::is_real(t) ? v.real(0, t)
                                : v.integer(0, t);
  }

  ValueId row_part(const Weight& w) {
    auto& v = b_.values();
    ValueId value;
    for (ExprId id : w.first->factors)
      if (of_row(id)) value = value ? v.binary(Op::mul, value, terms_.lower(id)) : terms_.lower(id);
    if (!value) value = v.real(1, Type::f32);
    for (ExprId id : w.first->divisors)
      if (of_row(id)) value = v.binary(Op::div, value, terms_.lower(id));
    return value;
  }

  // ---- steps

  void stream() {
    auto& v = b_.values();
    int ahead = f_.pipeline - 1;
    ValueId begin = bounds_->begin(), end = bounds_->end(), ring = integer(f_.pipeline);
    tiles_->fill_rows(first_, count_);
    auto fill = [&](ValueId slot, ValueId step) {
      b_.when(v.less(step, end), [&] { tiles_->fill(slot, v.mul(step, integer(f_.block_n))); });
      tiles_->commit();
    };
    for (int s = 0; s < ahead; ++s) fill(integer(s), v.add(begin, integer(s)));
    row_terms();
    terms_.use_powers_of_two();
    hold_rows();
    b_.loop("step", begin, end, integer(1), LoopKind::serial, [&](ValueId step) {
      slot_ = b_.let("slot", v.binary(Op::mod, v.sub(step, begin), ring));
      place_ = b_.let("place", v.mul(step, integer(f_.block_n)));
      tiles_->arrive();
      ValueId later = v.add(step, integer(ahead));
      fill(b_.let("filled", v.binary(Op::mod, v.sub(later, begin), ring)), later);
      edge_ = bounds_->edge(place_);
      for (Scored& s : scores_) score(s);
      auto operands = terms_.exchange_operands([&](ExprId id) { return known(id); });
      auto reads =
          terms_.exchange_override([&](ExprId id) { return tiles_->column(id, slot_, column_); });
      for (const RowTerm& t : row_terms_)
        if (t.reciprocal) reciprocals_.push_back(t);
      elements();
      advance();
      weights();
      terms_.exchange_operands(std::move(operands));
      terms_.exchange_override(std::move(reads));
      reciprocals_.clear();
      for (const Amount& a : amounts_)
        if (a.tiles) multiply(a);
    });
  }

  struct Scored {
    const Streaming::Score* score;
    kernel::TensorId state, rows;
    MatrixUnit::Source row_source;
  };

  bool holds_rows() const {
    int registers = 0;
    for (const Scored& s : scores_) {
      registers += row_tiles_ * column_tiles_ * unit_.d_values;
      registers += row_tiles_ * tiles_->of(s.score->row).width / unit_.atom_k * unit_.a_values / 2;
    }
    for (const Amount& a : amounts_) registers += row_tiles_ * a.tiles * unit_.d_values;
    return registers <= most_held;
  }

  /// Fragments of the rows: all of them, before the first step, where registers allow.
  void hold_rows() {
    bool hold = held_ = holds_rows();
    for (Scored& s : scores_) {
      const StreamTiles::Tile& tile = tiles_->of(s.score->row);
      int depth = tile.width / unit_.atom_k;
      s.row_source = unit_.source("m", "k", row_tiles_);
      s.rows = b_.fragments("rows", s_.format,
                            {hold ? depth : 1, row_tiles_ / s.row_source.group,
                             int64_t{unit_.a_values} * s.row_source.group});
    }
    if (!hold) return;
    // The rows came with the first stretch.
    tiles_->arrive();
    for (const Scored& s : scores_)
      b_.loop("q", tiles_->of(s.score->row).width / unit_.atom_k, LoopKind::unrolled,
              [&](ValueId q) { load_rows(s, q, q); });
  }

  void load_rows(const Scored& s, ValueId into, ValueId q) {
    auto& v = b_.values();
    const StreamTiles::Tile& tile = tiles_->of(s.score->row);
    int reach = unit_.atom_m * s.row_source.group;
    b_.loop("i", f_.warp_m / reach, LoopKind::unrolled, [&](ValueId i) {
      unit_.load(s.row_source, "m", {s.rows, {into, i, integer(0)}},
                 [&](ValueId point, ValueId term) {
                   return Ref{tile.tensor,
                              {v.add(v.add(warp_first_, v.mul(i, integer(reach))), point),
                               v.add(v.mul(q, integer(unit_.atom_k)), term)}};
                 });
    });
  }

  Ref fragment(kernel::TensorId fragments, std::vector<ValueId> before, ValueId number,
               const MatrixUnit::Source& source) {
    auto& v = b_.values();
    ValueId group = integer(source.group);
    before.push_back(v.binary(Op::floordiv, number, group));
    before.push_back(v.mul(v.binary(Op::mod, number, group), integer(source.values)));
    return {fragments, std::move(before)};
  }

  void score(Scored& s) {
    auto& v = b_.values();
    const StreamTiles::Tile& tile = tiles_->of(s.score->column);
    MatrixUnit::Source source = unit_.source("n", "k", column_tiles_);
    clear(s.state, column_tiles_);
    kernel::TensorId columns =
        b_.fragments("columns", s_.format,
                     {column_tiles_ / source.group, int64_t{source.values} * source.group});
    int reach = unit_.atom_n * source.group;
    b_.spec("MatMul", "", {s.state}, {tile.tensor}, [&] {
      b_.loop("q", tile.width / unit_.atom_k, LoopKind::unrolled, [&](ValueId q) {
        if (!held_) load_rows(s, integer(0), q);
        b_.loop("j", f_.block_n / reach, LoopKind::unrolled, [&](ValueId j) {
          unit_.load(source, "n", {columns, {j, integer(0)}}, [&](ValueId point, ValueId term) {
            return Ref{tile.tensor,
                       {slot_, v.add(v.mul(j, integer(reach)), point),
                        v.add(v.mul(q, integer(unit_.atom_k)), term)}};
          });
        });
        over_tiles(column_tiles_, [&](ValueId i, ValueId j) {
          unit_.multiply({s.state, {i, j, integer(0)}},
                         fragment(s.rows, {held_ ? q : integer(0)}, i, s.row_source),
                         fragment(columns, {}, j, source));
        });
      });
    });
  }

  template <class F>
  void over_tiles(int tiles, F&& inside) {
    b_.loop("i", row_tiles_, LoopKind::unrolled, [&](ValueId i) {
      b_.loop("j", tiles, LoopKind::unrolled, [&](ValueId j) { inside(i, j); });
    });
  }

  /// What a whole subterm is at the element that `row_`, `tile_` and `value_` say.
  std::optional<ValueId> known(ExprId id) {
    for (const Scored& s : scores_)
      if (s.score->fold == id) return b_.element(s.state, {row_.tile, tile_, value_});
    // Of a divisor nothing but its reciprocal is used.
    for (const RowTerm& t : row_terms_)
      if (t.term == id) return at(t.value ? t.value : t.reciprocal, row_);
    return std::nullopt;
  }

  /// Visits the elements of a stretch with their indices bound.
  void over_elements(const std::function<void()>& inside, const std::function<void()>& of_row) {
    auto& v = b_.values();
    over_rows([&](const Row& row) {
      row_ = row;
      axes_.bind_points_if(s_.rows, number(row));
      for (const RowTerm& t : reciprocals_)
        terms_.set_reciprocal(t.term, {at(t.scale, row), at(t.reciprocal, row)});
      over_columns(row, column_tiles_, [&](ValueId j, ValueId value, ValueId column) {
        tile_ = j, value_ = value, column_ = column;
        axes_.bind_sum_if(v.add(place_, column));
        inside();
      });
      if (of_row) of_row();
    });
  }
  Ref element(kernel::TensorId tensor) { return {tensor, {row_.tile, tile_, value_}}; }
  ValueId value(kernel::TensorId tensor) { return b_.element(tensor, {row_.tile, tile_, value_}); }

  /// What references are at each element; where an element takes no part, the identity.
  void elements() {
    auto& v = b_.values();
    if (references_.empty()) return;
    over_elements(
        [&] {
          for (const Reference& r : references_)
            b_.store(element(r.elements), terms_.lower(r_.body[r.field]));
        },
        {});
    exclude([&](ValueId takes_part) {
      for (const Reference& r : references_)
        b_.store(element(r.elements),
                 v.select(takes_part, value(r.elements),
                          terms_.lower(g_[r_.monoid].fields[r.field].identity)));
    });
  }

  void exclude(const std::function<void(ValueId)>& inside) {
    b_.when(edge_, [&] {
      over_elements([&] { inside(bounds_->takes_part(b_.values().add(place_, column_))); }, {});
    });
  }

  /// The references with this stretch, and the amounts so far brought to them.
  void advance() {
    auto& v = b_.values();
    if (references_.empty()) return;
    over_rows([&](const Row& row) {
      row_ = row;
      for (const Reference& r : references_) {
        set(r.next, row, at(r.state, row));
        over_columns(row, column_tiles_, [&](ValueId j, ValueId value, ValueId) {
          tile_ = j, value_ = value;
          set(r.next, row, v.binary(r.op, at(r.next, row), this->value(r.elements)));
        });
        for (int mask : unit_.column_masks())
          set(r.next, row, v.binary(r.op, at(r.next, row), shuffled(at(r.next, row), mask)));
      }
      for (const Amount& a : amounts_) {
        if (!a.scale) continue;
        set(a.scale, row,
            weight(
                a.amount->scaled.left, [&](const Reference& r) { return at(r.state, row); },
                [&](const Reference& r) { return at(r.next, row); }));
        if (!a.tiles) set(a.state, row, v.binary(Op::mul, at(a.state, row), at(a.scale, row)));
      }
      for (const Reference& r : references_) set(r.state, row, at(r.next, row));
      for (const Amount& a : amounts_)
        if (a.scale && a.tiles)
          over_columns(row, a.tiles, [&](ValueId j, ValueId value, ValueId) {
            Ref ref{a.state, {row.tile, j, value}};
            b_.store(ref,
                     v.binary(Op::mul, b_.element(a.state, ref.coordinates), at(a.scale, row)));
          });
    });
  }

  ValueId shuffled(ValueId value, int mask) {
    auto& v = b_.values();
    VarId id = v.add_var({"other", v[value].type, {}, {}});
    b_.emit({kernel::Shfl{id, value, mask}});
    return v.variable(id);
  }

  template <class L, class R>
  ValueId weight(ExprId term, L&& left, R&& right) {
    ValueId out;
    terms_.isolate([&] {
      auto outer = terms_.exchange_state([&](Op op, uint32_t field, const std::vector<ValueId>&) {
        const Reference& r = *std::find_if(references_.begin(), references_.end(),
                                           [&](const Reference& x) { return x.field == field; });
        return op == Op::lhs ? left(r) : right(r);
      });
      out = terms_.lower(term);
      terms_.exchange_state(std::move(outer));
    });
    return out;
  }

  Ref weight_place(const Weight& w) {
    auto& v = b_.values();
    ValueId atoms = integer(unit_.a_values / unit_.d_values);
    return {w.elements,
            {row_.tile, v.binary(Op::floordiv, tile_, atoms),
             v.add(v.mul(v.binary(Op::mod, tile_, atoms), integer(unit_.d_values)), value_)}};
  }
  ValueId weight_value(const Weight& w) {
    return b_.element(w.elements, weight_place(w).coordinates);
  }

  /// What each element adds, as factors of the next product and to the scalar amounts.
  void weights() {
    auto& v = b_.values();
    over_elements(
        [&] {
          for (const Weight& w : weights_) b_.store(weight_place(w), weight_here(w));
        },
        {});
    exclude([&](ValueId takes_part) {
      for (const Weight& w : weights_)
        b_.store(weight_place(w), v.select(takes_part, weight_value(w), v.real(0, Type::f32)));
    });
    for (const Amount& a : amounts_) {
      if (a.tiles) continue;
      over_rows([&](const Row& row) {
        row_ = row;
        over_columns(row, column_tiles_, [&](ValueId j, ValueId value, ValueId) {
          tile_ = j, value_ = value;
          set(a.state, row, v.binary(Op::add, at(a.state, row), weight_value(weights_[a.weight])));
        });
      });
    }
    for (const Weight& w : weights_) {
      if (!w.multiplies) continue;
      over_tiles(f_.block_n / unit_.atom_k, [&](ValueId i, ValueId q) {
        b_.emit({kernel::Copy{{w.fragments, {i, q, integer(0)}},
                              {w.elements, {i, q, integer(0)}},
                              unit_.a_values,
                              {}}});
      });
    }
  }

  ValueId weight_here(const Weight& w) {
    auto& v = b_.values();
    ValueId product;
    auto times = [&](ValueId value) {
      product = product ? v.binary(Op::mul, product, value) : value;
    };
    if (w.first->scaled.right)
      times(weight(
          w.first->scaled.right, [&](const Reference& r) { return at(r.state, row_); },
          [&](const Reference& r) { return value(r.elements); }));
    for (ExprId id : w.factors) times(terms_.lower(id));
    if (w.row_part) times(at(w.row_part, row_));
    if (!product) product = v.real(1, Type::f32);
    for (ExprId id : w.divisors) product = v.binary(Op::div, product, terms_.lower(id));
    return product;
  }

  void multiply(const Amount& a) {
    auto& v = b_.values();
    const StreamTiles::Tile& tile = tiles_->of(a.amount->read);
    const Weight& w = weights_[a.weight];
    MatrixUnit::Source source = unit_.source("n", "n", a.tiles);
    kernel::TensorId columns = b_.fragments(
        "columns", s_.format, {a.tiles / source.group, int64_t{source.values} * source.group});
    int reach = unit_.atom_n * source.group;
    b_.spec("MatMul", "", {a.state}, {w.fragments, tile.tensor}, [&] {
      b_.loop("q", f_.block_n / unit_.atom_k, LoopKind::unrolled, [&](ValueId q) {
        b_.loop("j", a.tiles / source.group, LoopKind::unrolled, [&](ValueId j) {
          unit_.load(source, "n", {columns, {j, integer(0)}}, [&](ValueId point, ValueId term) {
            return Ref{tile.tensor,
                       {slot_, v.add(v.mul(q, integer(unit_.atom_k)), term),
                        v.add(v.mul(j, integer(reach)), point)}};
          });
        });
        over_tiles(a.tiles, [&](ValueId i, ValueId j) {
          unit_.multiply({a.state, {i, j, integer(0)}}, {w.fragments, {i, q, integer(0)}},
                         fragment(columns, {}, j, source));
        });
      });
    });
  }

  // ---- results

  /// Lanes that share a row have each added their own columns.
  void gather_lanes() {
    auto& v = b_.values();
    for (const Amount& a : amounts_) {
      if (a.tiles) continue;
      over_rows([&](const Row& row) {
        for (int mask : unit_.column_masks())
          set(a.state, row, v.binary(Op::add, at(a.state, row), shuffled(at(a.state, row), mask)));
      });
    }
  }

  void results() {
    auto& v = b_.values();
    over_rows([&](const Row& row) {
      row_ = row;
      ValueId place = b_.let("row", number(row));
      b_.when(v.less(place, count_), [&] {
        terms_.scope([&] {
          axes_.bind_points(s_.rows, place);
          auto outer =
              terms_.exchange_state([&](Op, uint32_t field, const std::vector<ValueId>& places) {
                return state(field, places);
              });
          for (const graph::Result& result : c_.results)
            result.extra.empty() ? scalar(result) : indexed(result);
          terms_.exchange_state(std::move(outer));
        });
      });
    });
  }

  ValueId state(uint32_t field, const std::vector<ValueId>& places) {
    for (const Reference& r : references_)
      if (r.field == field) return at(r.state, row_);
    for (const Amount& a : amounts_) {
      if (a.amount->scaled.field != field) continue;
      if (!a.tiles) return at(a.state, row_);
      TANG_CHECK(places.size() == 1 && places[0] == column_, "`{}` reads a state elsewhere",
                 e_.name);
      return b_.element(a.state, {row_.tile, tile_, value_});
    }
    TANG_CHECK(false, "`{}` has no field {}", e_.name, field);
    return {};
  }

  void scalar(const graph::Result& result) {
    b_.when(unit_.first_of_row(),
            [&] { terms_.scope([&] { store_result(terms_, result, axes_.points(), {}); }); });
  }

  void indexed(const graph::Result& result) {
    auto& v = b_.values();
    const Axis& axis = result.extra[0];
    const graph::Tensor& t = g_[result.tensor];
    int extent = static_cast<int>(*g_.exprs.as_integer(axis.extent));
    MatrixUnit::Digit columns = unit_.columns(), rows = unit_.rows();
    bool pairs = columns.place == 1 && columns.value == 1 && extent % columns.count == 0 &&
                 t.strides.empty() && !graph::is_packed(t.type) && b_.store_prefix.empty();
    int unit = pairs ? columns.count : 1;
    terms_.hoist({&result.value, 1}, {}, true);
    int tiles = (extent + unit_.atom_n - 1) / unit_.atom_n;
    b_.loop("j", tiles, LoopKind::unrolled, [&](ValueId j) {
      b_.loop("w", columns.count / unit, LoopKind::unrolled, [&](ValueId w) {
        ValueId column = v.add(v.add(v.mul(j, integer(unit_.atom_n)), unit_.lane_n),
                               v.mul(w, integer(columns.place)));
        column = b_.let("column", column);
        ValueId first =
            v.add(v.mul(row_.digit, integer(rows.value)), v.mul(w, integer(columns.value)));
        kernel::TensorId out = b_.registers(t.name + "_o", register_type(t.type), {unit});
        b_.loop("e", unit, LoopKind::unrolled, [&](ValueId e) {
          terms_.scope([&] {
            tile_ = j, value_ = v.add(first, e), column_ = v.add(column, e);
            terms_.bind(axis, column_);
            b_.store({out, {e}}, b_.narrowed(t.type, terms_.lower(result.value)));
          });
        });
        std::vector<ValueId> places = axes_.points();
        places.push_back(column);
        ValueId exists = extent % unit_.atom_n ? v.less(column, integer(extent)) : ValueId();
        copy_vector(b_, {b_.param(result.tensor, true), places}, {out, {integer(0)}}, t.type, unit,
                    e_.machine.vector_bytes, exists);
      });
    });
  }

  const Emission& e_;
  const graph::Graph& g_;
  Builder b_;
  Terms terms_;
  const plan::Fields& f_;
  const Comprehension& c_;
  const graph::Reduction& r_;
  Streaming s_;
  TileAxes axes_;
  MatrixUnit unit_;
  std::optional<StreamTiles> tiles_;
  std::optional<StreamBounds> bounds_;
  int row_tiles_ = 1, column_tiles_ = 1;
  bool held_ = false;
  ValueId first_, count_, warp_first_;
  std::vector<Reference> references_;
  std::vector<Weight> weights_;
  std::vector<Amount> amounts_;
  std::vector<Scored> scores_;
  std::vector<RowTerm> row_terms_, reciprocals_;
  ValueId slot_, place_, edge_;   ///< of a step
  Row row_;                       ///< of an element
  ValueId tile_, value_, column_; ///< of an element
};

} // namespace

Built emit_stream(const Emission& e) {
  return Stream(e).run();
}

} // namespace tang::lower

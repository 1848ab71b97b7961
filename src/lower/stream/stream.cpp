// A reduction along one long axis that multiplies matrices on the way (graph/streaming.h):
// attention, its gradients, chains of two products. A block owns block_m rows, a warp warp_m of
// them; stretches of block_n elements of the streamed axis pass through shared memory, `pipeline`
// of them under way. Scores of a stretch stay in the registers in which matrix units leave them,
// become weights there, and are the left factor of the product that the amounts add up.
#include "base/check.h"
#include "lower/stream/bounds.h"
#include "lower/stream/excluded.h"
#include "lower/stream/products.h"
#include "lower/stream/references.h"
#include "lower/stream/result.h"
#include "lower/stream/row_terms.h"
#include <algorithm>

namespace tang::lower {

using graph::Axis;
using graph::Comprehension;
using graph::Op;
using graph::Streaming;
using kernel::LoopKind;
using kernel::Ref;
using Row = StreamLanes::Row;
using Reference = References::Reference;

namespace {

/// So many products of a thread are left out by a branch where they can be; fewer cost less than
/// what the branch keeps apart.
constexpr int worth_a_branch = 96;

class Stream {
public:
  explicit Stream(const Emission& e)
      : e_(e), g_(e.graph), b_(e.graph, e.name), terms_(b_, compute_type(e.graph, e.nodes)),
        f_(e.fields), c_(std::get<Comprehension>(e.nodes[0]->definition)), r_(*c_.reduction),
        s_(*graph::streaming(g_, c_, f_.precision == plan::Precision::tf32)), axes_(terms_, c_),
        unit_(b_, e.machine, s_.format), column_tiles_(f_.block_n / unit_.atom_n) {
    for (const auto& [step, last] : e.steps) b_.declare_step(step, last);
  }

  Built run() {
    auto& v = b_.values();
    ValueId warp = unit_.add_threads(f_.block_m / f_.warp_m);
    ValueId warp_first = v.mul(warp, v.integer(f_.warp_m));
    count_ = axes_.size_of(s_.rows);
    ValueId bm = axes_.block_mode("bm", v.ceildiv(count_, f_.block_m)),
            batch = axes_.block_mode("batch", axes_.size_of(s_.batch)),
            part = axes_.block_mode("part", parts());
    // The longest loops begin first, so that short ones fill the end.
    b_.kernel().descending = bounds_grow(g_, c_, s_);
    axes_.bind_points(s_.batch, batch);
    first_ = b_.let("first", v.mul(bm, v.integer(f_.block_m)));
    tiles_.emplace(e_, s_, terms_, axes_, unit_);
    first_column_ = v.mul(part, integer(f_.warp_n)),
    first_part_ = v.binary(Op::eq, part, integer(0));
    tiles_->set_first_column(first_column_);
    bounds_.emplace(terms_, c_, s_, first_, count_, f_.block_m, f_.block_n);
    lanes_.emplace(terms_, unit_, v.add(first_, warp_first), f_.warp_m / unit_.atom_m);
    row_terms_.emplace(terms_, axes_, *lanes_, r_.axes[0].index, s_.rows, count_);
    references_.emplace(terms_, *lanes_, r_, column_tiles_);
    products_.emplace(e_, s_, terms_, *tiles_, unit_, *lanes_, warp_first);
    states();
    if (excludes()) excluded_.emplace(e_, s_, terms_, axes_, *tiles_, unit_, *lanes_);
    stream();
    if (excluded_) restore();
    gather_lanes();
    results();
    return b_.finish();
  }

private:
  /// Blocks that share a block's rows, each with columns of the amounts of its own.
  ValueId parts() {
    if (!f_.warp_n) return integer(1);
    for (const Streaming::Amount& a : s_.amounts)
      if (a.read) return b_.values().ceildiv(b_.extent(a.axis.extent), f_.warp_n);
    return integer(1);
  }
  ValueId integer(int64_t n) { return b_.values().integer(n); }

  // ---- what lives from step to step

  /// Equal weights of several amounts are computed once.
  struct Weight {
    const Streaming::Amount* first;
    std::vector<ExprId> factors, divisors;
    kernel::TensorId row_part; ///< what its factors and divisors are that rows alone decide
    kernel::TensorId elements, fragments;
    std::optional<size_t> scale;
    bool multiplies = false;
  };
  struct Amount {
    const Streaming::Amount* amount;
    size_t weight;
    kernel::TensorId state, factor;
    int tiles = 0; ///< along the field's axis
  };

  std::string field_name(uint32_t field, const char* otherwise) const {
    const std::string& name = g_[r_.monoid].fields[field].name;
    return name.empty() ? otherwise : name;
  }

  void states() {
    for (uint32_t f : s_.monoid.references) {
      row_terms_->find(references_->add(f, field_name(f, "reference")).term);
    }
    for (const Streaming::Amount& amount : s_.amounts) {
      std::string name = field_name(amount.scaled.field, "amount");
      Amount a{&amount, weight_of(amount), {}, {}, 0};
      if (weights_[a.weight].scale)
        a.factor = references_->scales()[*weights_[a.weight].scale].factor;
      else if (amount.scaled.left)
        a.factor = lanes_->per_row(name + "_scale");
      if (amount.read) {
        weights_[a.weight].multiplies = true;
        a.tiles = tiles_->of(amount.read).width / unit_.atom_n;
        a.state = lanes_->per_element(name, a.tiles);
        lanes_->clear(a.state, a.tiles);
      } else {
        a.state = lanes_->per_row(name);
      }
      amounts_.push_back(a);
    }
    // Grouped as fragments are: so many accumulators one after the other.
    int atoms = unit_.a_values / unit_.d_values;
    for (Weight& w : weights_) {
      w.elements = b_.registers("weight", Type::f32,
                                {lanes_->row_tiles(), column_tiles_ / atoms, unit_.a_values});
      if (w.multiplies)
        w.fragments = b_.fragments("weight_frag", s_.format,
                                   {lanes_->row_tiles(), column_tiles_ / atoms, unit_.a_values});
    }
    for (ExprId id : {r_.filter, r_.axes[0].lo, r_.axes[0].hi})
      if (id) row_terms_->find(id);
    lanes_->over_rows([&](const Row& row) {
      for (const Reference& r : references_->all())
        lanes_->set(r.state, row, references_->identity(r));
      for (const Amount& a : amounts_)
        if (!a.tiles) lanes_->set(a.state, row, b_.values().real(0, Type::f32));
    });
  }

  size_t weight_of(const Streaming::Amount& amount) {
    for (size_t i = 0; i < weights_.size(); ++i) {
      const Streaming::Amount& other = *weights_[i].first;
      if (other.factors == amount.factors && other.divisors == amount.divisors &&
          other.scaled.right == amount.scaled.right)
        return i;
    }
    Weight w{&amount, amount.factors, amount.divisors, {}, {}, {}, {}, false};
    if (amount.scaled.fall) w.scale = references_->scale_of(*amount.scaled.fall);
    w.row_part = row_terms_->product(w.factors, w.divisors);
    for (const auto* list : {&w.factors, &w.divisors})
      for (ExprId id : *list) row_terms_->find(id);
    weights_.push_back(std::move(w));
    return weights_.size() - 1;
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
    row_terms_->load();
    terms_.use_powers_of_two(ask(b_, e_.machine, atomics::Function{"exp2"}));
    // The rows come with the first stretch.
    tiles_->arrive();
    products_->hold_rows();
    b_.loop("step", begin, end, integer(1), LoopKind::serial, [&](ValueId step) {
      slot_ = b_.let("slot", v.binary(Op::mod, v.sub(step, begin), ring));
      place_ = b_.let("place", v.mul(step, integer(f_.block_n)));
      tiles_->arrive();
      ValueId later = v.add(step, integer(ahead));
      fill(b_.let("filled", v.binary(Op::mod, v.sub(later, begin), ring)), later);
      edge_ = bounds_->edge(place_);
      products_->scores(slot_);
      auto operands = terms_.exchange_operands([&](ExprId id) { return known(id); });
      auto reads =
          terms_.exchange_override([&](ExprId id) { return tiles_->column(id, slot_, column_); });
      elements();
      advance();
      weights();
      terms_.exchange_operands(std::move(operands));
      terms_.exchange_override(std::move(reads));
      if (excluded_) b_.when(edge_, [&] { excluded_->sift(slot_); });
      for (const Amount& a : amounts_)
        if (a.tiles) products_->add(*a.amount, weights_[a.weight].fragments, a.state, slot_);
    });
  }

  /// Whether data of an element that takes no part could reach a sum.
  bool excludes() const {
    const Axis& axis = r_.axes[0];
    return (axis.lo || axis.hi || r_.filter) &&
           std::any_of(amounts_.begin(), amounts_.end(),
                       [](const Amount& a) { return a.tiles > 0; });
  }
  void restore() {
    auto& v = b_.values();
    ValueId width = integer(f_.block_n);
    ValueId begin = b_.let("first_met", v.mul(bounds_->begin(), width)),
            end = b_.let("last_met", v.binary(Op::min, b_.extent(r_.axes[0].extent),
                                              v.mul(bounds_->end(), width)));
    excluded_->settle();
    for (const Amount& a : amounts_)
      if (a.tiles)
        excluded_->restore(*a.amount, a.state, first_column_, count_, begin, end, *bounds_);
  }

  /// What a whole subterm is at the element that `row_`, `tile_` and `value_` say.
  std::optional<ValueId> known(ExprId id) {
    if (auto score = products_->score(id)) return value(score);
    return row_terms_->value(id, row_);
  }

  /// Visits the elements of a stretch with their indices bound.
  void over_elements(const std::function<void()>& inside) {
    lanes_->over_rows([&](const Row& row) {
      axes_.bind_points_if(s_.rows, lanes_->number(row));
      row_terms_->use_reciprocals(row);
      over_columns(row, column_tiles_, [&] {
        axes_.bind_sum_if(b_.values().add(place_, column_));
        inside();
      });
    });
  }
  /// Visits all accumulators with the columns outermost, so that what is combined along each row is
  /// as many chains as a thread has rows.
  void over_columns_of_rows(int tiles, const std::function<void()>& inside) {
    lanes_->over_elements(tiles, [&](const Row& row, ValueId tile, ValueId value, ValueId column) {
      row_ = row, tile_ = tile, value_ = value, column_ = column;
      inside();
    });
  }
  /// Visits a thread's accumulators of a row: `row_`, `tile_`, `value_` and `column_` say which.
  void over_columns(const Row& row, int tiles, const std::function<void()>& inside) {
    row_ = row;
    lanes_->over_columns(row, tiles, [&](ValueId tile, ValueId value, ValueId column) {
      tile_ = tile, value_ = value, column_ = column;
      inside();
    });
  }
  Ref place(kernel::TensorId tensor) { return {tensor, {row_.tile, tile_, value_}}; }
  ValueId value(kernel::TensorId tensor) { return b_.element(tensor, place(tensor).coordinates); }

  /// What references are at each element; where an element takes no part, the identity.
  void elements() {
    if (references_->empty()) return;
    over_elements([&] {
      for (const Reference& r : references_->all())
        b_.store(place(r.elements), terms_.lower(r.term));
    });
    exclude([&](ValueId takes_part) {
      for (const Reference& r : references_->all())
        b_.store(place(r.elements),
                 b_.values().select(takes_part, value(r.elements), references_->identity(r)));
    });
  }

  void exclude(const std::function<void(ValueId)>& inside) {
    b_.when(edge_, [&] {
      over_elements([&] { inside(bounds_->takes_part(b_.values().add(place_, column_))); });
    });
  }

  /// The references with this stretch, and the amounts so far brought to them.
  void advance() {
    auto& v = b_.values();
    if (references_->empty()) return;
    lanes_->over_rows([&](const Row& row) {
      for (const Reference& r : references_->all())
        lanes_->set(r.next, row, lanes_->at(r.state, row));
    });
    over_columns_of_rows(column_tiles_, [&] {
      for (const Reference& r : references_->all())
        lanes_->set(r.next, row_, v.binary(r.op, lanes_->at(r.next, row_), value(r.elements)));
    });
    lanes_->over_rows([&](const Row& row) {
      auto of = [&](kernel::TensorId Reference::*which) {
        return [this, which, &row](const Reference& r) {
          return references_->kept(r, lanes_->at(r.*which, row));
        };
      };
      references_->gather(row);
      for (const Amount& a : amounts_)
        if (a.factor && !weights_[a.weight].scale)
          lanes_->set(a.factor, row,
                      references_->weight(a.amount->scaled.left, of(&Reference::state),
                                          of(&Reference::next)));
      references_->settle(row);
    });
    for (const Amount& a : amounts_)
      if (a.factor && !weights_[a.weight].scale) rescale(a);
    // A maximum grows less and less often.
    for (size_t s = 0; s < references_->scales().size(); ++s) {
      int products = 0;
      for (const Amount& a : amounts_)
        if (weights_[a.weight].scale == s)
          products += a.tiles * unit_.d_values * lanes_->row_tiles();
      bool rarely = products >= worth_a_branch;
      b_.when(rarely ? references_->moved(references_->scales()[s]) : ValueId(), [&] {
        for (const Amount& a : amounts_)
          if (weights_[a.weight].scale == s) rescale(a);
      });
    }
  }

  void rescale(const Amount& a) {
    auto& v = b_.values();
    if (!a.tiles)
      return lanes_->over_rows([&](const Row& row) {
        lanes_->set(a.state, row,
                    v.binary(Op::mul, lanes_->at(a.state, row), lanes_->at(a.factor, row)));
      });
    over_columns_of_rows(a.tiles, [&] {
      b_.store(place(a.state), v.binary(Op::mul, value(a.state), lanes_->at(a.factor, row_)));
    });
  }

  /// What each element adds, as factors of the next product and to the scalar amounts.
  void weights() {
    auto& v = b_.values();
    auto all = [&](bool finite) {
      over_elements([&] {
        for (const Weight& w : weights_) b_.store(weight_place(w), weight_here(w, finite));
      });
    };
    if (ValueId infinite = references_->some_infinite())
      b_.either(
          infinite, [&] { all(false); }, [&] { all(true); });
    else
      all(true);
    exclude([&](ValueId takes_part) {
      for (const Weight& w : weights_)
        b_.store(weight_place(w), v.select(takes_part, weight_value(w), v.real(0, Type::f32)));
    });
    for (const Amount& a : amounts_) {
      if (a.tiles) continue;
      over_columns_of_rows(column_tiles_, [&] {
        lanes_->set(a.state, row_,
                    v.binary(Op::add, lanes_->at(a.state, row_), weight_value(weights_[a.weight])));
      });
    }
    for (const Weight& w : weights_) {
      if (!w.multiplies) continue;
      lanes_->over_tiles(f_.block_n / unit_.atom_k, [&](ValueId i, ValueId q) {
        std::vector<ValueId> first{i, q, integer(0)};
        unit_.become_factor({w.fragments, first}, {w.elements, first});
      });
    }
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

  /// `finite`: the references are known to be.
  ValueId weight_here(const Weight& w, bool finite) {
    auto& v = b_.values();
    ValueId product;
    auto times = [&](ValueId value) {
      product = product ? v.binary(Op::mul, product, value) : value;
    };
    if (w.scale)
      times(fallen(references_->scales()[*w.scale], finite));
    else if (ExprId scale = w.first->scaled.right)
      times(references_->weight(
          scale,
          [&](const Reference& r) { return references_->kept(r, lanes_->at(r.state, row_)); },
          [&](const Reference& r) { return references_->kept(r, value(r.elements)); }));
    for (ExprId id : w.factors) times(terms_.lower(id));
    if (w.row_part) times(lanes_->at(w.row_part, row_));
    if (!product) product = v.real(1, Type::f32);
    for (ExprId id : w.divisors) product = v.binary(Op::div, product, terms_.lower(id));
    return product;
  }

  ValueId fallen(const References::Scale& s, bool finite) {
    return references_->fallen(s, value(references_->all()[s.reference].elements), row_, finite);
  }

  // ---- results

  /// Lanes that share a row have each added their own columns.
  void gather_lanes() {
    for (const Amount& a : amounts_)
      if (!a.tiles)
        lanes_->over_rows([&](const Row& row) {
          lanes_->across(a.state, row,
                         [&](ValueId x, ValueId y) { return b_.values().binary(Op::add, x, y); });
        });
  }

  void results() {
    auto& v = b_.values();
    lanes_->over_rows([&](const Row& row) {
      row_ = row;
      ValueId place = b_.let("row", lanes_->number(row));
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
    for (const Reference& r : references_->all())
      if (r.field == field) return references_->kept(r, lanes_->at(r.state, row_));
    for (const Amount& a : amounts_) {
      if (a.amount->scaled.field != field) continue;
      if (!a.tiles) return lanes_->at(a.state, row_);
      TANG_CHECK(places.size() == 1 && places[0] == column_, "`{}` reads a state elsewhere",
                 e_.name);
      return value(a.state);
    }
    TANG_CHECK(false, "`{}` has no field {}", e_.name, field);
    return {};
  }

  void scalar(const graph::Result& result) {
    b_.when(b_.values().both(unit_.first_of_row(), first_part_),
            [&] { terms_.scope([&] { store_result(terms_, result, axes_.points(), {}); }); });
  }

  void indexed(const graph::Result& result) {
    StreamResult out(e_, terms_, unit_, result);
    terms_.hoist({&result.value, 1}, {}, true);
    out.over_columns(
        first_column_, f_.warp_n, row_.digit,
        [&](ValueId tile, ValueId value, ValueId column) {
          tile_ = tile, value_ = value, column_ = column;
        },
        axes_.points());
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
  int column_tiles_;
  std::optional<StreamTiles> tiles_;
  std::optional<StreamBounds> bounds_;
  std::optional<StreamLanes> lanes_;
  std::optional<RowTerms> row_terms_;
  std::optional<References> references_;
  std::optional<StreamProducts> products_;
  std::optional<Excluded> excluded_;
  ValueId first_, count_;             ///< rows: the block's first, and all
  ValueId first_column_, first_part_; ///< of the block's columns; whether it has the first ones
  std::vector<Weight> weights_;
  std::vector<Amount> amounts_;
  ValueId slot_, place_, edge_;   ///< of a step
  Row row_;                       ///< of an element
  ValueId tile_, value_, column_; ///< of an element
};

} // namespace

Built emit_stream(const Emission& e) {
  return Stream(e).run();
}

} // namespace tang::lower

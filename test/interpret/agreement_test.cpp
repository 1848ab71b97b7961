// Random terms: register code and the direct evaluation of `term_value` must agree at every point,
// also on whether an integer overflows.
#include "graphs.h"
#include "interpret/random.h"
#include "interpret/term_value.h"

using namespace tang;
using namespace tang::interpret;
using namespace tang::interpret::test;

namespace {

constexpr int64_t rows = 3, columns = 4;

/// Builds a random DAG over indices 0 (rows) and 1 (columns).
class TermMaker {
public:
  TermMaker(Draft& d, uint64_t seed) : d_(d), seed_(seed) {
    x_ = d.input("x", ElemType::f64, {5});
    n_ = d.input("n", ElemType::i64, {4});
    b_ = d.input("b", ElemType::boolean, {3});
    integers_ = {d.at(0), d.at(1), d.lit(2), d.lit(-3), d.read(n_, {d.at(1)})};
    reals_ = {d.num(0.5), d.read(x_, {d.at(0)}), d.num(-2)};
    booleans_ = {d.read(b_, {d.at(0)}), d.op(Op::lt, d.at(0), d.at(1))};
  }
  void grow(int terms) {
    for (int n = 0; n < terms; ++n) step();
  }
  ExprId real() { return integers_or_reals(); }
  ExprId boolean() { return pick(booleans_); }
  TensorId x_, n_, b_;

private:
  int64_t draw(int64_t count) { return random_integer(seed_, 0, counter_++, {0, count - 1}); }
  ExprId pick(const std::vector<ExprId>& pool) {
    // Late terms more often, so that the DAG grows deep.
    auto n = static_cast<int64_t>(pool.size());
    return pool[static_cast<size_t>(std::max(draw(n), draw(n)))];
  }
  ExprId integers_or_reals() { return draw(2) ? pick(reals_) : d_.s().to_real(pick(integers_)); }
  void step() {
    static constexpr Op integer_ops[] = {Op::add, Op::sub, Op::mul,     Op::min,
                                         Op::max, Op::mod, Op::bit_xor, Op::bit_and,
                                         Op::shl, Op::shr, Op::floordiv};
    static constexpr Op real_ops[] = {Op::add, Op::sub, Op::mul, Op::div,
                                      Op::min, Op::max, Op::mod};
    static constexpr Op comparisons[] = {Op::eq, Op::ne, Op::lt, Op::le};
    switch (draw(10)) {
    case 0:
    case 1:
      integers_.push_back(d_.op(integer_ops[draw(11)], pick(integers_), pick(integers_)));
      break;
    case 2: reals_.push_back(d_.op(real_ops[draw(7)], pick(reals_), integers_or_reals())); break;
    case 3:
      booleans_.push_back(d_.op(comparisons[draw(4)], pick(integers_), pick(integers_)));
      break;
    case 4:
      booleans_.push_back(
          d_.op(draw(2) ? Op::logical_and : Op::logical_or, pick(booleans_), pick(booleans_)));
      break;
    case 5:
      integers_.push_back(d_.s().select(pick(booleans_), pick(integers_), pick(integers_)));
      break;
    case 6: reals_.push_back(d_.s().select(pick(booleans_), pick(reals_), pick(reals_))); break;
    case 7: reals_.push_back(d_.read(x_, {pick(integers_)}, pick(reals_))); break;
    case 8: integers_.push_back(d_.read(n_, {d_.read(n_, {pick(integers_)}, d_.lit(1))})); break;
    case 9: fold(); break;
    }
  }
  void fold() {
    IndexId l(2);
    ExprId extent = d_.lit(draw(4)), at = d_.at(2);
    ExprId place = d_.op(draw(2) ? Op::add : Op::mul, at, pick(integers_));
    ExprId filter = draw(2) ? d_.op(Op::le, at, pick(integers_)) : ExprId{};
    ExprId body = d_.op(Op::mul, d_.read(x_, {place}, d_.num(3)), pick(reals_));
    reals_.push_back(d_.s().fold(*d_.g.builtin(draw(2) ? "sum" : "max", Scalar::real), Scalar::real,
                                 {&l, 1}, {&extent, 1}, filter, body));
  }

  Draft& d_;
  uint64_t seed_, counter_ = 0;
  std::vector<ExprId> integers_, reals_, booleans_;
};

struct Trial {
  Draft d;
  Values inputs;
  TensorId y;
  ExprId value, filter;
};

TermContext context_of(const Trial& t) {
  TermContext context{t.d.g, {}, {}, {}};
  context.read = [&](const Expr& e, std::span<const int64_t> places) -> std::optional<Word> {
    const Array& a = t.inputs.at(TensorId(e.ref));
    if (places[0] < 0 || places[0] >= a.shape[0])
      return e.guarded ? std::nullopt : std::optional(Word{0});
    auto at = static_cast<size_t>(places[0]);
    return a.scalar == Scalar::real ? word(a.reals[at]) : word(a.integers[at]);
  };
  return context;
}

Trial make_trial(uint64_t seed) {
  Trial t;
  TermMaker maker(t.d, seed);
  maker.grow(40);
  t.value = maker.real(), t.filter = maker.boolean();
  t.inputs[maker.x_] = real_array({5}, {1.5, quiet_nan, -2, inf, 0.25});
  t.inputs[maker.n_] = integer_array({4}, {3, -1, 0, INT64_C(1) << (seed % 2 ? 61 : 3)});
  Array b = zeros(Scalar::boolean, {3});
  b.integers = {1, 0, 1};
  t.inputs[maker.b_] = b;
  return t;
}

} // namespace

TEST_CASE("random maps agree with the direct evaluation") {
  int failed = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Trial t = make_trial(seed);
    t.y = t.d.output("y", ElemType::f64, {rows, columns});
    t.d.map(t.y, {t.d.axis(0, rows), t.d.axis(1, columns)}, t.value);
    TermContext context = context_of(t);
    std::vector<double> want;
    bool fails = false;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        context.indices = {{IndexId(0), i}, {IndexId(1), j}};
        auto value = term_value(context, t.value);
        fails |= !value;
        want.push_back(value ? real_of(*value) : 0);
      }
    failed += fails;
    Sink sink;
    auto got = t.d.run(t.inputs, sink);
    INFO("seed " << seed);
    REQUIRE(got.has_value() == !fails);
    for (size_t n = 0; n < want.size() && got; ++n) REQUIRE(same(got->at(t.y).reals[n], want[n]));
  }
  CHECK(failed > 5);
  CHECK(failed < 100);
}

TEST_CASE("random filtered sums agree with the direct evaluation") {
  for (uint64_t seed = 200; seed < 300; ++seed) {
    Trial t = make_trial(seed);
    t.y = t.d.output("y", ElemType::f64, {rows});
    t.d.add(t.d.reduction(t.y, "sum", Scalar::real, {t.d.axis(0, rows)}, {t.d.axis(1, columns)},
                          {t.value}, t.filter));
    TermContext context = context_of(t);
    std::vector<double> want;
    bool fails = false;
    for (int64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < columns; ++j) {
        context.indices = {{IndexId(0), i}, {IndexId(1), j}};
        auto takes_part = term_value(context, t.filter);
        auto value = takes_part && *takes_part ? term_value(context, t.value) : takes_part;
        fails |= !value;
        if (value && *takes_part) sum += real_of(*value);
      }
      want.push_back(sum);
    }
    Sink sink;
    auto got = t.d.run(t.inputs, sink);
    INFO("seed " << seed);
    REQUIRE(got.has_value() == !fails);
    for (size_t n = 0; n < want.size() && got; ++n) REQUIRE(same(got->at(t.y).reals[n], want[n]));
  }
}

// Whole graphs: recurrences, dims, formats with and without --emulate, errors.
#include "graphs.h"
#include "interpret/formats.h"

using namespace tang;
using namespace tang::interpret;
using namespace tang::interpret::test;

namespace {

Kind only_error(const Sink& sink) {
  REQUIRE(sink.diagnostics().size() == 1);
  return sink.diagnostics()[0].kind;
}

/// h = 2 h + x[t]; hs collects h after each step; swap carries a and b crosswise.
struct Recurrence {
  Draft d;
  TensorId x, last, hs, a_last;
  explicit Recurrence(int64_t steps) {
    auto hidden = [&](const char* name) {
      return d.tensor(name, TensorKind::intermediate, ElemType::f32, {});
    };
    x = d.input("x", ElemType::f64, {steps});
    TensorId h0 = d.input("h0", ElemType::f64, {}), a0 = d.input("a0", ElemType::f64, {});
    TensorId h = hidden("h"), next = hidden("h'"), a = hidden("a");
    TensorId step = d.tensor("t", TensorKind::intermediate, ElemType::i64, {});
    last = d.output("h_last", ElemType::f64, {});
    a_last = d.output("a_last", ElemType::f64, {});
    hs = d.output("hs", ElemType::f64, {steps});
    Comprehension body;
    ExprId doubled = d.op(Op::mul, d.num(2), d.read(h, {}));
    ExprId t = d.read(step, {});
    body.results = {{next, d.op(Op::add, doubled, d.read(x, {t})), {}}};
    Recur r;
    r.time = d.axis(0, steps);
    r.step = step;
    r.carries = {{h0, h, next, last}, {a0, a, h, a_last}}; // a is the h of the step before
    r.body.push_back({body, {}, {}});
    r.collects = {{next, hs}};
    d.g.nodes.push_back({std::move(r), {}, {}});
  }
  Values run(std::vector<double> data) {
    Sink sink;
    int64_t n = static_cast<int64_t>(data.size());
    auto values = d.run({{x, real_array({n}, std::move(data))},
                         {d.g.inputs[1], real_array({}, {1})},
                         {d.g.inputs[2], real_array({}, {-7})}},
                        sink);
    REQUIRE(values);
    return *values;
  }
};

} // namespace

TEST_CASE("a recurrence carries, collects, and runs zero times") {
  Recurrence none(0);
  Values v = none.run({});
  CHECK(v.at(none.last).reals == std::vector<double>{1});
  CHECK(v.at(none.a_last).reals == std::vector<double>{-7});
  CHECK(v.at(none.hs).size() == 0);
  Recurrence three(3);
  v = three.run({10, 20, 30});
  CHECK(v.at(three.hs).reals == std::vector<double>{12, 44, 118});
  CHECK(v.at(three.last).reals == std::vector<double>{118});
  CHECK(v.at(three.a_last).reals == std::vector<double>{44});
}

TEST_CASE("symbolic dims: shapes, values in bodies, ranges") {
  Draft d;
  d.g.dims.push_back({"S", 0, 64, 4, {}});
  ExprId S = d.s().dim(DimId(0));
  TensorId x = d.tensor("x", TensorKind::input, ElemType::f64, {S});
  TensorId y = d.tensor("y", TensorKind::output, ElemType::f64, {S});
  Axis i{IndexId(0), S, "i", {}, {}};
  // Reverses: x[S - 1 - i].
  ExprId place = d.op(Op::sub, d.op(Op::sub, S, d.lit(1)), d.at(0));
  d.map(y, {i}, d.op(Op::add, d.read(x, {place}), d.s().to_real(S)));
  CHECK(d.run({{x, real_array({4}, {1, 2, 3, 4})}}, {}, {4}).reals ==
        std::vector<double>{8, 7, 6, 5});
  CHECK(d.run({{x, real_array({0}, {})}}, {}, {0}).size() == 0);
  for (int64_t bad : {3, 68, -4}) {
    Sink sink;
    CHECK_FALSE(d.run({}, sink, {}, {bad}));
    CHECK(only_error(sink) == Kind::dim_binding);
  }
}

TEST_CASE("inputs and outputs are rounded once; --f64 keeps outputs whole") {
  Draft d;
  TensorId x = d.input("x", ElemType::f16, {2}), y = d.output("y", ElemType::bf16, {2});
  d.map(y, {d.axis(0, 2)}, d.op(Op::mul, d.read(x, {d.at(0)}), d.num(1.00390625)));
  Values in{{x, real_array({2}, {0.1, 70000})}};
  double tenth = round_to(ElemType::f16, 0.1);
  CHECK(d.run(in).reals == std::vector<double>{round_to(ElemType::bf16, tenth * 1.00390625), inf});
  CHECK(d.run(in, {.unrounded_outputs = true}).reals ==
        std::vector<double>{tenth * 1.00390625, inf});
}

TEST_CASE("casts always apply; stores only with emulate") {
  Draft d;
  TensorId x = d.input("x", ElemType::f64, {1});
  TensorId h = d.tensor("h", TensorKind::intermediate, ElemType::bf16, {d.lit(1)});
  d.g[h].store_given = true;
  TensorId y = d.output("y", ElemType::f64, {1});
  d.map(h, {d.axis(0, 1)}, d.s().cast(ElemType::f32, d.read(x, {d.at(0)})));
  d.map(y, {d.axis(0, 1)}, d.read(h, {d.at(0)}));
  Values in{{x, real_array({1}, {0.1})}};
  CHECK(d.run(in).reals[0] == static_cast<double>(0.1f));
  CHECK(d.run(in, {.emulate = true}).reals[0] == round_to(ElemType::bf16, 0.1f));
}

TEST_CASE("operations round to the format that bodies compute in, on request") {
  for (bool wide : {false, true}) {
    // y = x * x - 1 loses what the square has beyond 24 bits; an f64 input makes bodies f64.
    Draft d;
    TensorId x = d.input("x", wide ? ElemType::f64 : ElemType::f32, {1});
    TensorId y = d.output("y", ElemType::f64, {1});
    ExprId at = d.read(x, {d.at(0)});
    d.map(y, {d.axis(0, 1)}, d.op(Op::sub, d.op(Op::mul, at, at), d.num(1)));
    float near = 1.0f + 0x1p-20f;
    double exact = static_cast<double>(near) * near - 1;
    Values in{{x, real_array({1}, {near})}};
    CHECK(d.run(in, {.emulate = true}).reals[0] == exact);
    double rounded = d.run(in, {.emulate = true, .round_operations = true}).reals[0];
    CHECK(rounded == (wide ? exact : static_cast<double>(near * near - 1.0f)));
    CHECK((rounded == exact) == wide);
  }
}

TEST_CASE("emulated accumulators and the operand rule") {
  // y = sum[k] x[k] * h[k] with x in bf16 and h an intermediate.
  for (bool narrow : {false, true}) {
    Draft d;
    TensorId x = d.input("x", narrow ? ElemType::bf16 : ElemType::f32, {300});
    TensorId h = d.tensor("h", TensorKind::intermediate, ElemType::f32, {d.lit(300)});
    TensorId y = d.output("y", ElemType::f32, {});
    d.g[y].accumulate = ElemType::f16;
    d.map(h, {d.axis(0, 300)}, d.op(Op::div, d.read(x, {d.at(0)}), d.num(3)));
    ExprId product = d.op(Op::mul, d.read(x, {d.at(0)}), d.read(h, {d.at(0)}));
    d.add(d.reduction(y, "sum", Scalar::real, {}, {d.axis(0, 300)}, {product}));
    Array ones = zeros(Scalar::real, {300});
    for (double& v : ones.reals) v = 1;
    double exact = 0, emulated = 0, third = static_cast<float>(1.0 / 3);
    if (narrow) third = round_to(ElemType::bf16, third);
    for (int n = 0; n < 300; ++n) {
      exact += 1.0 / 3;
      emulated = round_to(ElemType::f16, emulated + third);
    }
    CHECK(d.run({{x, ones}}).reals[0] == static_cast<float>(exact));
    CHECK(d.run({{x, ones}}, {.emulate = true}).reals[0] == emulated);
    CHECK(emulated != static_cast<float>(exact));
  }
}

TEST_CASE("an i32 accumulator that overflows is reported") {
  Draft d;
  TensorId x = d.input("x", ElemType::i32, {2}), y = d.output("y", ElemType::i64, {});
  d.g[y].accumulate = ElemType::i32;
  d.add(d.reduction(y, "sum", Scalar::integer, {}, {d.axis(0, 2)}, {d.read(x, {d.at(0)})}));
  Values in{{x, integer_array({2}, {2147483647, 1})}};
  CHECK(d.run(in).integers[0] == 2147483648);
  Sink sink;
  CHECK_FALSE(d.run(in, sink, {.emulate = true}));
  CHECK(only_error(sink) == Kind::integer_overflow);
}

TEST_CASE("integer sums overflow at 64 bits, with the node's place") {
  Draft d;
  TensorId x = d.input("x", ElemType::i64, {2}), y = d.output("y", ElemType::i64, {});
  d.add(d.reduction(y, "sum", Scalar::integer, {}, {d.axis(0, 2)}, {d.read(x, {d.at(0)})}));
  d.g.nodes[0].span = Span{FileId(0), 3, 9};
  Sink sink;
  CHECK_FALSE(d.run({{x, integer_array({2}, {INT64_MAX, 1})}}, sink));
  CHECK(only_error(sink) == Kind::integer_overflow);
  CHECK(sink.diagnostics()[0].span == Span{FileId(0), 3, 9});
  CHECK(sink.diagnostics()[0].message ==
        "integer overflow: `+` of 9223372036854775807 and 1 leaves 64 bits");
}

TEST_CASE("faults of the data are reported") {
  Draft d;
  TensorId x = d.input("x", ElemType::i32, {3}), y = d.output("y", ElemType::i32, {3});
  d.g[x].range = IntRange{0, 5};
  d.g[x].sorted = true;
  d.map(y, {d.axis(0, 3)}, d.read(x, {d.at(0)}));
  auto kind = [&](Values in) {
    Sink sink;
    CHECK_FALSE(d.run(in, sink));
    return only_error(sink);
  };
  CHECK(kind({}) == Kind::input_missing);
  CHECK(kind({{x, integer_array({2}, {1, 2})}}) == Kind::input_shape);
  CHECK(kind({{x, integer_array({3}, {1, 2, 6})}}) == Kind::input_outside_range);
  CHECK(kind({{x, integer_array({3}, {1, 3, 2})}}) == Kind::input_outside_range);
  CHECK(kind({{x, real_array({3}, {0.5, 1, 2})}}) == Kind::input_type);
  CHECK(d.run({{x, real_array({3}, {0, 1, 2})}}).integers == std::vector<int64_t>{0, 1, 2});
}

TEST_CASE("tensors that are too large are reported, not allocated") {
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{1 << 20, 1 << 20}, {INT64_MAX, INT64_MAX}, {-1}}) {
    Draft d;
    d.output("y", ElemType::f32, shape);
    Sink sink;
    CHECK_FALSE(d.run({}, sink));
    CHECK(only_error(sink) == Kind::array_too_large);
  }
}

TEST_CASE("constant tables are rounded to their type") {
  Draft d;
  TensorId c = d.tensor("c", TensorKind::constant, ElemType::f16, {d.lit(2)});
  d.g[c].reals = {0.1, 2};
  TensorId y = d.output("y", ElemType::f64, {2});
  d.map(y, {d.axis(0, 2)}, d.read(c, {d.at(0)}));
  CHECK(d.run({}).reals == std::vector<double>{round_to(ElemType::f16, 0.1), 2});
}

TEST_CASE("a DAG of 40,000 shared terms and nested branches stays linear") {
  Draft d;
  TensorId x = d.input("x", ElemType::f64, {}), y = d.output("y", ElemType::f64, {});
  ExprId v = d.read(x, {});
  // Each level uses the one below twice: 2^10000 as a tree. Every other level is a branch.
  for (int n = 0; n < 10000; ++n) {
    v = d.op(Op::mul, d.op(Op::add, v, v), d.num(0.5));
    v = d.s().select(d.op(Op::lt, v, d.num(n)), d.op(Op::add, v, d.num(1)), v);
  }
  d.map(y, {}, v);
  CHECK(d.run({{x, real_array({}, {-1})}}).reals[0] == 9999);
}

TEST_CASE("summaries") {
  Array a = real_array({2, 4}, {1, -2, quiet_nan, 4, 0.5, inf, 0, 0});
  CHECK(summary("y", ElemType::f16, a) ==
        "y : f16[2, 4]  min -2  max inf  mean inf  nan 1  inf 1  [1, -2, nan, 4, 0.5, inf, ...]");
  CHECK(summary("n", ElemType::i32, integer_array({}, {7})) ==
        "n : i32  min 7  max 7  mean 7  [7]");
  CHECK(summary("e", ElemType::f32, zeros(Scalar::real, {0, 3})) == "e : f32[0, 3]  nan 0  []");
}

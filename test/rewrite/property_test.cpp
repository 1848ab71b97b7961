// Random graphs mean the same before and after every pass.
#include "../graph/build.h"
#include "run.h"
#include <random>

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

class Generator {
public:
  explicit Generator(uint32_t seed) : random_(seed) {
    dim_ = b.dim("N", 2, 5);
    for (int k = 0; k < 3; ++k) add_input();
    index_ = b.input("id", ElemType::i32, {dim_});
    b.graph[index_].range = IntRange{-1, 5};
    for (int k = pick(3, 9); k > 0; --k) node(k == 1 || pick(0, 3) == 0);
  }
  Builder b;

  /// The program and its gradient: of the sum of all that it computes, by every real input.
  Graph with_gradients() {
    b.begin();
    ExprId total = b.r(0);
    std::vector<TensorId> inputs;
    for (TensorId t : std::vector(reals_)) {
      if (b.graph[t].kind == TensorKind::input) inputs.push_back(t);
      std::vector<Axis> axes;
      std::vector<ExprId> places;
      for (ExprId extent : std::vector(b.graph[t].shape)) {
        axes.push_back(b.axis("k", extent));
        places.push_back(b.at(axes.back()));
      }
      ExprId value = b.read(t, places);
      if (!axes.empty()) {
        std::vector<IndexId> bound;
        std::vector<ExprId> extents;
        for (const Axis& axis : axes) bound.push_back(axis.index), extents.push_back(axis.extent);
        MonoidId sum = *b.graph.builtin("sum", Scalar::real);
        value = b.s.fold(sum, Scalar::real, bound, extents, {}, value);
      }
      total = b.add(total, b.s.unary(Op::tanh, value));
    }
    TensorId loss = b.map("loss", {}, total);
    b.graph[loss].type = ElemType::f64;
    auto& c = std::get<Comprehension>(b.graph.nodes.back().definition);
    c = canonicalize(b.s, c);
    Gradient gradient{loss, {}, {}};
    for (TensorId x : inputs)
      gradient.pairs.push_back({x, b.tensor("d" + b.graph[x].name, TensorKind::output,
                                            ElemType::f64, b.graph[x].shape)});
    b.graph.nodes.push_back({std::move(gradient), {}, {}});
    return differentiate(std::move(b.graph));
  }

private:
  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }
  ExprId extent() { return pick(0, 1) ? dim_ : b.n(pick(1, 4)); }

  void add_input() {
    std::vector<ExprId> shape;
    for (int k = pick(0, 2); k > 0; --k) shape.push_back(extent());
    reals_.push_back(b.input("x" + std::to_string(reals_.size()), ElemType::f64, shape));
  }

  /// A place in 0..extent or outside it, over the axes.
  ExprId place(ExprId wanted, const std::vector<Axis>& axes, bool& safe) {
    std::vector<ExprId> exact;
    for (const Axis& axis : axes)
      if (axis.extent == wanted) exact.push_back(b.at(axis));
    if (!exact.empty() && pick(0, 3)) {
      ExprId i = exact[static_cast<size_t>(pick(0, static_cast<int>(exact.size()) - 1))];
      if (pick(0, 3)) return i;
      if (pick(0, 1)) return b.sub(b.sub(wanted, b.n(1)), i);
      safe = false;
      return b.add(i, b.n(pick(-2, 2)));
    }
    safe = false;
    ExprId i = axes.empty()
                   ? b.n(pick(-1, 2))
                   : b.at(axes[static_cast<size_t>(pick(0, static_cast<int>(axes.size()) - 1))]);
    switch (pick(0, 4)) {
    case 0: return b.add(b.mul(2, i), b.n(pick(-1, 1)));
    case 1: return b.floordiv(i, 2);
    case 2: return b.mod(i, 2);
    case 3: return gather(axes);
    default: return i;
    }
  }

  ExprId gather(const std::vector<Axis>& axes) {
    for (const Axis& axis : axes)
      if (axis.extent == dim_) return b.read(index_, {b.at(axis)});
    return b.n(1);
  }

  ExprId read(const std::vector<Axis>& axes) {
    int last = static_cast<int>(reals_.size()) - 1;
    TensorId t =
        reals_[static_cast<size_t>(pick(0, 2) ? std::max(0, last - pick(0, 2)) : pick(0, last))];
    std::vector<ExprId> places;
    bool safe = true;
    for (ExprId e : std::vector<ExprId>(b.graph[t].shape)) places.push_back(place(e, axes, safe));
    if (safe) return b.read(t, places);
    // What may leave the tensor is guarded by a value or by a branch.
    if (pick(0, 2)) return b.read(t, places, b.r(pick(-1, 1)));
    ExprId inside = b.s.boolean(true);
    for (size_t k = 0; k < places.size(); ++k)
      inside = b.s.logical_and(
          inside, b.s.logical_and(b.le(b.n(0), places[k]), b.lt(places[k], b.graph[t].shape[k])));
    return b.s.select(inside, b.read(t, places), b.r(0.5));
  }

  ExprId term(const std::vector<Axis>& axes, int depth) {
    if (depth == 0) return read(axes);
    ExprId x = term(axes, depth - 1);
    switch (pick(0, 9)) {
    case 0: return b.relu(x);
    case 1: return b.s.unary(Op::tanh, x);
    case 2: return b.mul(x, b.r(0.5));
    case 3: return b.s.cast(ElemType::f64, x);
    case 4: return axes.empty() ? x : b.s.select(condition(axes), x, term(axes, depth - 1));
    case 5: return axes.empty() ? x : b.add(x, b.s.to_real(b.at(axes.back())));
    case 6: return fold(axes, depth - 1);
    case 7: return x;
    default: return b.add(x, term(axes, depth - 1));
    }
  }

  ExprId fold(std::vector<Axis> axes, int depth) {
    Axis k = b.axis("k", extent());
    std::vector<IndexId> bound{k.index};
    std::vector<ExprId> extents{k.extent};
    axes.push_back(k);
    MonoidId sum = *b.graph.builtin("sum", Scalar::real);
    ExprId body = term(axes, depth);
    return b.s.fold(sum, Scalar::real, bound, extents, pick(0, 1) ? condition(axes) : ExprId(),
                    body);
  }

  ExprId condition(const std::vector<Axis>& axes) {
    ExprId i = b.at(axes.back()), j = b.at(axes.front());
    switch (pick(0, 5)) {
    case 0: return b.le(i, j);
    case 1: return b.lt(b.mul(2, i), b.add(j, b.n(pick(-1, 2))));
    case 2: return b.s.logical_and(b.le(b.n(1), i), b.lt(i, b.add(j, b.n(2))));
    case 3: return b.s.binary(Op::eq, i, b.n(pick(0, 2)));
    case 4: return b.s.unary(Op::logical_not, b.le(i, b.sub(j, b.n(1))));
    default: return b.lt(read(axes), b.r(0.3));
    }
  }

  void node(bool output) {
    b.begin();
    std::string name = "t" + std::to_string(reals_.size());
    std::vector<Axis> points;
    // Often the shape of an earlier tensor, so that views fit.
    auto shape = b.graph[reals_.back()].shape;
    if (pick(0, 1)) {
      shape.clear();
      for (int k = pick(0, 2); k > 0; --k) shape.push_back(extent());
    }
    if (shape.size() == 2 && pick(0, 3) == 0) std::swap(shape[0], shape[1]);
    for (ExprId e : shape) points.push_back(b.axis("i", e));
    TensorKind kind = output ? TensorKind::output : TensorKind::intermediate;
    TensorId result;
    int form = pick(0, 5);
    if (form <= 1) {
      std::vector<Axis> axes;
      for (int k = pick(1, 2); k > 0; --k) axes.push_back(b.axis("k", extent()));
      std::vector<Axis> all = points;
      all.insert(all.end(), axes.begin(), axes.end());
      ExprId filter = pick(0, 1) ? condition(all) : ExprId();
      ExprId body = term(all, pick(0, 2));
      result = b.reduce(name, form ? "sum" : "max", points, axes, filter, {body}, kind);
    } else if (form == 2 && !points.empty()) {
      result = b.reduce(name, "sum", points, {}, {}, {term(points, 1)}, kind);
      auto& c = std::get<Comprehension>(b.graph.nodes.back().definition);
      c.scan = Scan{static_cast<uint32_t>(pick(0, static_cast<int>(points.size()) - 1)),
                    pick(0, 1) == 1, pick(0, 1) == 1};
    } else {
      result = b.map(name, points, term(points, pick(0, 2)), kind);
    }
    b.graph[result].type = output && pick(0, 2) == 0 ? ElemType::f16 : ElemType::f64;
    auto& c = std::get<Comprehension>(b.graph.nodes.back().definition);
    c = canonicalize(b.s, c);
    reals_.push_back(result);
  }

  std::mt19937 random_;
  ExprId dim_;
  TensorId index_;
  std::vector<TensorId> reals_;
};

} // namespace

TEST_CASE("random graphs keep their meaning", "[rewrite][property]") {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    Generator generated(seed);
    const Graph& g = generated.b.graph;
    INFO("seed " << seed);
    REQUIRE_NOTHROW(verify(g, "generator"));
    for (int64_t n : {2, 5}) checked(g, {n});
  }
}

TEST_CASE("a pass that ran has nothing left to do", "[rewrite][property]") {
  for (uint32_t seed = 200; seed < 240; ++seed) {
    Generator generated(seed);
    const Graph& g = generated.b.graph;
    INFO("seed " << seed << "\n" << to_text(g));
    REQUIRE_NOTHROW(verify(g, "generator"));
    for (const Pass& pass : passes()) {
      Graph once = pass.run(g);
      INFO(pass.name);
      CHECK(first_difference(to_text(once), to_text(pass.run(once))) == "");
    }
  }
}

TEST_CASE("gradients of random graphs keep their meaning", "[rewrite][property]") {
  for (uint32_t seed = 300; seed < 340; ++seed) {
    Graph g = Generator(seed).with_gradients();
    INFO("seed " << seed);
    REQUIRE_NOTHROW(verify(g, "differentiate"));
    for (int64_t n : {2, 5}) checked(g, {n});
  }
}

TEST_CASE("a pass that ran on a gradient has nothing left to do", "[rewrite][property]") {
  for (uint32_t seed = 400; seed < 440; ++seed) {
    Graph g = Generator(seed).with_gradients();
    INFO("seed " << seed << "\n" << to_text(g));
    for (const Pass& pass : passes()) {
      g = pass.run(std::move(g));
      // What is worth repeating depends on costs, which change with what was put in.
      if (pass.run == substitute_maps) continue;
      INFO(pass.name);
      CHECK(first_difference(to_text(g), to_text(pass.run(g))) == "");
    }
  }
}

TEST_CASE("equal nodes are equal in whatever order their terms were made", "[merge_common_nodes]") {
  Builder b;
  TensorId x = b.input("x", ElemType::f64, {b.n(4)});
  MonoidId sum = *b.graph.builtin("sum", Scalar::real);
  auto fold = [&](Op op) {
    Axis k = b.axis("k", b.n(4));
    return b.s.fold(sum, Scalar::real, std::vector{k.index}, std::vector{k.extent}, {},
                    b.s.unary(op, b.read(x, {b.at(k)})));
  };
  for (bool first : {true, false}) {
    b.begin();
    ExprId made[2];
    for (int k : {0, 1}) made[k == first] = fold(k == first ? Op::exp : Op::tanh);
    b.map(first ? "y" : "z", {}, b.s.binary(Op::sub, made[1], made[0]), Builder::output);
    auto& c = std::get<Comprehension>(b.graph.nodes.back().definition);
    c = canonicalize(b.s, c);
  }
  Graph merged = merge_common_nodes(std::move(b.graph));
  INFO(to_text(merged));
  CHECK(merged.nodes.size() == 1);
}

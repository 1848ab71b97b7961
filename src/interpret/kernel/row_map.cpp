#include "interpret/kernel/row_map.h"
#include "base/check.h"
#include "layout/evaluate.h"
#include <algorithm>

namespace tang::interpret::simulator {

using atomics::Operand;
using atomics::Row;
using layout::Coordinate;

namespace {

/// Places along the axes of a row; those that a layout does not name are 0.
using Point = std::map<std::string, int64_t>;

/// The coordinates of each value of each thread, at t * values + v.
std::vector<Point> points_of(const Row& row, const Operand& operand) {
  std::vector<Point> points;
  for (int t = 0; t < operand.threads; ++t)
    for (int v = 0; v < operand.values; ++v) {
      auto at = layout::evaluate(operand.layout,
                                 Coordinate::tuple({Coordinate::leaf(t), Coordinate::leaf(v)}));
      TANG_CHECK(at, "`{}` of `{}`: {}", operand.name, row.name, at.refusal().reason);
      Point point;
      for (const layout::Stride& term : at->terms()) point[term.basis] = term.amount.factor;
      points.push_back(std::move(point));
    }
  return points;
}

void move(const Row& row, RowMap& map) {
  TANG_CHECK(row.operands.size() == 2, "`{}` moves {} operands", row.name, row.operands.size());
  std::vector<Point> to = points_of(row, row.operands[0]), from = points_of(row, row.operands[1]);
  std::map<Point, RowMap::Place> known;
  for (size_t i = 0; i < from.size(); ++i) {
    auto values = static_cast<size_t>(row.operands[1].values);
    known.try_emplace(from[i], RowMap::Place{int(i / values), int(i % values)});
  }
  for (const Point& point : to) {
    auto at = known.find(point);
    TANG_CHECK(at != known.end(), "`{}` has no source for an element of its destination", row.name);
    map.sources.push_back(at->second);
  }
}

/// A box with the first axis fastest.
struct Axes {
  std::vector<std::pair<std::string, int64_t>> extents;

  explicit Axes(const std::vector<Point>& points) {
    Point last;
    for (const Point& point : points)
      for (const auto& [axis, place] : point) last[axis] = std::max(last[axis], place + 1);
    for (const auto& [axis, extent] : last) extents.push_back({axis, extent});
  }
  int64_t size() const {
    int64_t product = 1;
    for (const auto& axis : extents) product *= axis.second;
    return product;
  }
  bool has(const std::string& name) const {
    return std::any_of(extents.begin(), extents.end(),
                       [&](const auto& a) { return a.first == name; });
  }
  uint32_t at(const Point& point) const {
    int64_t place = 0, below = 1;
    for (const auto& [axis, extent] : extents) {
      auto here = point.find(axis);
      place += here == point.end() ? 0 : here->second * below;
      below *= extent;
    }
    return static_cast<uint32_t>(place);
  }
  Point point(int64_t number) const {
    Point point;
    for (const auto& [axis, extent] : extents) point[axis] = number % extent, number /= extent;
    return point;
  }
};

RowMap::Box box_of(const std::vector<Point>& points, const Axes& axes) {
  RowMap::Box box;
  box.size = static_cast<uint32_t>(axes.size());
  for (const Point& point : points) box.at.push_back(axes.at(point));
  return box;
}

void matmul(const Row& row, RowMap& map) {
  TANG_CHECK(row.operands.size() == 3, "`{}` multiplies {} operands", row.name,
             row.operands.size());
  std::vector<Point> d = points_of(row, row.operands[0]), a = points_of(row, row.operands[1]),
                     b = points_of(row, row.operands[2]);
  Axes of_d(d), of_a(a), of_b(b), sum(d);
  map.d = box_of(d, of_d), map.a = box_of(a, of_a), map.b = box_of(b, of_b);
  sum.extents.clear();
  for (const Axes* axes : {&of_a, &of_b})
    for (const auto& axis : axes->extents)
      if (!of_d.has(axis.first) && !sum.has(axis.first)) sum.extents.push_back(axis);
  for (int64_t e = 0; e < of_d.size(); ++e) {
    Point point = of_d.point(e);
    map.a_of.push_back(of_a.at(point)), map.b_of.push_back(of_b.at(point));
  }
  for (int64_t k = 0; k < sum.size(); ++k) {
    Point point = sum.point(k);
    map.a_term.push_back(of_a.at(point)), map.b_term.push_back(of_b.at(point));
  }
}

} // namespace

RowMap map_of(const Row& row) {
  RowMap map;
  switch (row.kind) {
  case atomics::Kind::unary:
  case atomics::Kind::move: move(row, map); break;
  case atomics::Kind::matmul: matmul(row, map); break;
  case atomics::Kind::commit:
  case atomics::Kind::wait:
  case atomics::Kind::shfl:
  case atomics::Kind::reduction:
  case atomics::Kind::sync: break;
  }
  return map;
}

} // namespace tang::interpret::simulator

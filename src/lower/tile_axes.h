#pragma once
// The axes of a contraction's tile as flat numbers: rows, columns, batch and depth.
#include "graph/contraction.h"
#include "lower/terms.h"

namespace tang::lower {

class TileAxes {
public:
  TileAxes(Terms& terms, const graph::Comprehension& node)
      : terms_(terms), b_(terms.builder()), c_(node), points_(node.points.size()) {}

  /// How many points the axes (positions in `points`) have together.
  ValueId size_of(const std::vector<size_t>& axes);
  /// How many terms the sum has.
  ValueId depth();
  /// A mode of the grid.
  ValueId block_mode(const std::string& name, ValueId extent);
  /// Binds point axes to the coordinates of one flat number, the last axis fastest. With `unit`,
  /// the number counts groups of so many neighbours along the last axis, and the first of the group
  /// is bound.
  void bind_points(const std::vector<size_t>& axes, ValueId flat, int unit = 1);
  /// The same for the axes of the sum.
  void bind_sum(ValueId flat, int unit = 1);
  /// The same for a number of which only a predicate says that it is below their extent: what is
  /// computed from an index that is none is not used. Several axes would be taken from a number
  /// that has no coordinates, so they are bound to the last ones there are.
  void bind_points_if(const std::vector<size_t>& axes, ValueId flat, int unit = 1);
  void bind_sum_if(ValueId flat, int unit = 1);
  /// The same for point axes of which there are some: numbers behind the last mean the last.
  void bind_points_near(const std::vector<size_t>& axes, ValueId flat, int unit = 1);
  /// Groups of `unit` neighbours along the last of these point axes, or of the sum's axes.
  ValueId groups_of_points(const std::vector<size_t>& axes, int unit);
  ValueId groups_of_sum(int unit);

  const std::vector<ValueId>& points() const { return points_; }
  void set_point(size_t axis, ValueId value) { points_[axis] = value; }

private:
  ValueId nearest(std::span<const graph::Axis* const> axes, ValueId flat, int unit);
  std::vector<ValueId> coordinates(std::span<const graph::Axis* const> axes, ValueId flat,
                                   int unit);
  bool bind_open(std::span<const graph::Axis* const> axes, ValueId flat, int unit);
  ValueId groups(std::span<const graph::Axis* const> axes, int unit);
  std::vector<const graph::Axis*> points_of(const std::vector<size_t>& axes) const;
  std::vector<const graph::Axis*> sum_axes() const;

  Terms& terms_;
  Builder& b_;
  const graph::Comprehension& c_;
  std::vector<ValueId> points_; ///< by point axis
};

} // namespace tang::lower

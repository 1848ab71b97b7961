#pragma once
// A long axis as chunks of a fixed length: the axes, the terms of a step, and the nodes that the
// laws of chunks are made of.
#include "graph/graph.h"
#include "rewrite/affine.h"

namespace tang::rewrite {

class Chunks {
public:
  /// Steps in a chunk: as wide as the tiles of matrix units.
  static constexpr int64_t length = 64;

  /// New tensors are like `like` and named after it; `next` is the first free index.
  Chunks(graph::Graph& graph, graph::TensorId like, std::string law, Span span);
  void set_time(const graph::Axis& time, bool descending, uint32_t& next);

  graph::Axis chunk, step, from; ///< `from` is a second step of the same chunk

  // ---- terms

  graph::ExprId at(const graph::Axis& axis) { return s_.index(axis.index); }
  graph::ExprId last_step() { return s_.integer(length - 1); }
  graph::ExprId first_chunk() { return s_.binary(graph::Op::eq, at(chunk), s_.integer(0)); }
  /// x * y, where 1 is no factor.
  graph::ExprId times(graph::ExprId x, graph::ExprId y);
  /// A term over the time index in a step, or `neutral` behind the end and where one of the
  /// conditions fails.
  graph::ExprId in_step(graph::ExprId term, const graph::Axis& step, graph::ExprId neutral,
                        const std::vector<graph::ExprId>& conditions = {});
  /// How many steps come before the time `t`.
  graph::ExprId passed(graph::ExprId t) { return descending_ ? from_end(t) : t; }
  /// The chunk and the step in it that `t` stands for.
  std::unordered_map<graph::IndexId, graph::ExprId> places_at(graph::ExprId t);
  graph::ExprId read(graph::TensorId tensor, const std::vector<graph::Axis>& axes,
                     const std::vector<graph::ExprId>& last = {});

  // ---- nodes

  graph::TensorId tensor(const std::vector<graph::Axis>& points, const std::string& suffix);
  void make(graph::Comprehension c, std::string sentence);
  graph::TensorId make_map(const std::vector<graph::Axis>& points, graph::ExprId value,
                           const std::string& suffix, std::string sentence);
  graph::TensorId make_sum(const std::vector<graph::Axis>& points,
                           const std::vector<graph::Axis>& axes, graph::ExprId filter,
                           graph::ExprId body, const std::string& suffix, std::string sentence);
  graph::TensorId make_scan(const std::vector<graph::Axis>& points, uint32_t axis, bool exclusive,
                            const AffineStep& step, const std::string& suffix,
                            std::string sentence);
  std::vector<graph::Node> made;

  // ---- products of the factors of steps

  /// Makes the products of `factor` inside a chunk, over `axes`: from its start up to a step, and
  /// behind one step up to a later one. Scans of products: no quotient, no exponential of a sum.
  /// Without a factor both are 1.
  void make_decays(graph::ExprId factor, std::vector<graph::Axis> axes);
  graph::ExprId since_start(graph::ExprId step);
  graph::ExprId since_step(graph::ExprId from, graph::ExprId step);

private:
  graph::ExprId from_end(graph::ExprId step);
  graph::ExprId place(const graph::Axis& step);

  graph::Graph& graph_;
  graph::ExprStore& s_;
  graph::TensorId like_;
  std::string law_, name_;
  Span span_;
  graph::Axis time_;
  bool descending_ = false;
  std::vector<graph::Axis> decayed_;
  graph::TensorId since_start_, since_step_;
};

/// Lists of axes, one after the other.
std::vector<graph::Axis> joined(std::vector<graph::Axis> axes,
                                const std::vector<graph::Axis>& more);

} // namespace tang::rewrite

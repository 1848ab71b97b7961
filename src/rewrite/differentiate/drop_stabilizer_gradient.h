#pragma once
#include "rewrite/blocks.h"

namespace tang::rewrite {

/// drop_stabilizer_gradient: the maxima (and minima) among `active` on which `of` does not depend,
/// by a proof that the nodes' derivations print. `order`: the nodes behind `of`, latest first.
TensorSet constant_maxima(graph::Graph& graph, std::vector<graph::Node>& nodes,
                          const std::vector<size_t>& order, graph::TensorId of,
                          const TensorSet& active);

} // namespace tang::rewrite

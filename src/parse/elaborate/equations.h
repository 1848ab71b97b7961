#pragma once
#include "parse/elaborate/context.h"

namespace tang::parse {

/// Defines the tensors on the left. After a fault they are erroneous, so that their uses are
/// silent.
void elaborate_equation(Context& context, const Module& module, const Equation& equation,
                        Span span);

/// Binds a name to a tensor: anew where a `repeat` or `recur` carries it, otherwise once.
void declare_tensor(Context& context, const Name& name, graph::TensorId tensor);

/// Reports names of indices that the expression, or an extent on the left, uses as a tensor, dim or
/// let as well.
bool check_index_names(Context& context, const Module& module,
                       const std::vector<const Name*>& points, const std::vector<ExprId>& extents,
                       ExprId value);

/// Whether a reduction in the expression binds an index of that name.
bool binds(const Module& module, ExprId value, std::string_view index);

} // namespace tang::parse

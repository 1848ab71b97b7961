#pragma once
// `def` and `monoid` statements.
#include "parse/elaborate/context.h"

namespace tang::parse {

/// Adds the macro. Names in its body are checked here, once, and not at each use.
void declare_def(Context& context, const Module& module, const Def& def, bool is_library);
void declare_monoid(Context& context, const Module& module, const Monoid& monoid, bool is_library);

} // namespace tang::parse

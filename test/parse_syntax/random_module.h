#pragma once
// Random syntax trees, for the round trip through text.
#include "parse/ast.h"
#include <cstdint>

namespace tang::parse {

/// A module of about `statements` statements of every kind. The same seed gives the same module.
/// It is a tree the grammar can say; whether its names mean anything is not looked at.
Module random_module(uint64_t seed, int statements);

} // namespace tang::parse

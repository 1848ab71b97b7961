#include "graph/type.h"

namespace tang::graph {
namespace {

constexpr TypeInfo rows[] = {
#define TANG_TYPE(name, bits, scalar, bytes)                                                       \
  {std::string_view(#name) == "boolean" ? "bool" : #name, bits, Scalar::scalar},
#include "graph/types.def"
#undef TANG_TYPE
};

} // namespace

const TypeInfo& info(ElemType type) {
  return rows[static_cast<size_t>(type)];
}

std::optional<ElemType> type_of_name(std::string_view name) {
  for (size_t i = 0; i < std::size(rows); ++i)
    if (rows[i].name == name) return static_cast<ElemType>(i);
  return std::nullopt;
}

IntRange range_of(ElemType type) {
  if (type == ElemType::boolean) return {0, 1};
  int bits = info(type).bits;
  if (!is_signed(type)) return {0, (int64_t{1} << bits) - 1};
  if (bits == 64) return {};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

} // namespace tang::graph

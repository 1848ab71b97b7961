#include "print/dialects/registry.h"

namespace tang::print {

const Dialect* dialect_named(std::string_view name) {
  const Dialect* const all[] = {
      &c_dialect,
      &cuda_dialect,
      &opencl_dialect,
  };
  for (const Dialect* dialect : all)
    if (dialect->name == name) return dialect;
  return nullptr;
}

} // namespace tang::print

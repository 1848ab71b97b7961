#include "targets/feature.h"

namespace tang::targets {
namespace {

struct FeatureInfo {
  std::string_view name, documentation;
};

constexpr FeatureInfo rows[] = {
#define TANG_FEATURE(name, documentation) {#name, documentation},
#include "targets/feature.def"
#undef TANG_FEATURE
};

} // namespace

std::string_view name_of(Feature feature) {
  return rows[static_cast<size_t>(feature)].name;
}

std::string_view documentation_of(Feature feature) {
  return rows[static_cast<size_t>(feature)].documentation;
}

std::optional<Feature> feature_of_name(std::string_view name) {
  for (Feature feature : all_features)
    if (name_of(feature) == name) return feature;
  return std::nullopt;
}

} // namespace tang::targets

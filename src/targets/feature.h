#pragma once
// What a target can say, as a set. Rows live in feature.def.
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>

namespace tang::targets {

enum class Feature : uint8_t {
#define TANG_FEATURE(name, documentation) name,
#include "targets/feature.def"
#undef TANG_FEATURE
};

inline constexpr Feature all_features[] = {
#define TANG_FEATURE(name, documentation) Feature::name,
#include "targets/feature.def"
#undef TANG_FEATURE
};

std::string_view name_of(Feature feature);
/// One line, lower case, without a final period.
std::string_view documentation_of(Feature feature);
std::optional<Feature> feature_of_name(std::string_view name);

class FeatureSet {
public:
  constexpr FeatureSet() = default;
  constexpr FeatureSet(std::initializer_list<Feature> features) {
    for (Feature feature : features) add(feature);
  }
  constexpr bool has(Feature feature) const { return bits_ & bit(feature); }
  constexpr bool has_all(FeatureSet needed) const { return (bits_ & needed.bits_) == needed.bits_; }
  constexpr FeatureSet& add(Feature feature) {
    bits_ |= bit(feature);
    return *this;
  }
  constexpr FeatureSet& remove(Feature feature) {
    bits_ &= ~bit(feature);
    return *this;
  }
  constexpr bool empty() const { return bits_ == 0; }
  /// The features of both sets; of either; of the first that the second lacks.
  friend constexpr FeatureSet operator&(FeatureSet a, FeatureSet b) {
    return FeatureSet(a.bits_ & b.bits_);
  }
  friend constexpr FeatureSet operator|(FeatureSet a, FeatureSet b) {
    return FeatureSet(a.bits_ | b.bits_);
  }
  friend constexpr FeatureSet operator-(FeatureSet a, FeatureSet b) {
    return FeatureSet(a.bits_ & ~b.bits_);
  }
  friend constexpr bool operator==(FeatureSet, FeatureSet) = default;

private:
  constexpr explicit FeatureSet(uint64_t bits) : bits_(bits) {}
  static constexpr uint64_t bit(Feature feature) {
    return uint64_t{1} << static_cast<unsigned>(feature);
  }
  uint64_t bits_ = 0;
};

static_assert(std::size(all_features) <= 64, "FeatureSet holds 64 features");

} // namespace tang::targets

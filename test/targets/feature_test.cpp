#include "targets/feature.h"
#include <catch2/catch.hpp>
#include <set>
#include <string>

using namespace tang::targets;

TEST_CASE("features have distinct names that read back", "[features]") {
  std::set<std::string_view> names;
  for (Feature feature : all_features) {
    std::string name(name_of(feature));
    INFO(name);
    CHECK(names.insert(name_of(feature)).second);
    CHECK(feature_of_name(name) == feature);
    CHECK_FALSE(documentation_of(feature).empty());
    CHECK(documentation_of(feature).back() != '.');
  }
  CHECK_FALSE(feature_of_name("hardware_gird"));
  CHECK_FALSE(feature_of_name(""));
}

TEST_CASE("feature sets are sets", "[features]") {
  constexpr FeatureSet none;
  constexpr FeatureSet a{Feature::int64, Feature::f64}, b{Feature::f64, Feature::tensor_memory};
  static_assert(none.empty() && !a.empty());
  CHECK(a.has(Feature::int64));
  CHECK_FALSE(a.has(Feature::tensor_memory));
  CHECK(a.has_all(none));
  CHECK_FALSE(a.has_all(b));
  CHECK((a | b).has_all(b));
  CHECK((a & b) == FeatureSet{Feature::f64});
  CHECK((a - b) == FeatureSet{Feature::int64});
  FeatureSet c = a;
  CHECK(c.add(Feature::fma).remove(Feature::fma) == a);
}

TEST_CASE("the first and the last feature have bits of their own", "[features]") {
  Feature first = all_features[0], last = all_features[std::size(all_features) - 1];
  CHECK_FALSE(FeatureSet{first}.has(last));
  CHECK_FALSE(FeatureSet{last}.has(first));
}

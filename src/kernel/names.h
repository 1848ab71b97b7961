#pragma once
// Distinct names for text forms.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace tang::kernel {

/// Gives each thing the name it wishes for, or the first free one of `name_2`, `name_3`, ... A name
/// once given stays.
class ChosenNames {
public:
  /// `known` holds the names of one sort of things, by their number.
  const std::string& of(std::unordered_map<uint32_t, std::string>& known, uint32_t id,
                        const std::string& wish);

private:
  std::unordered_set<std::string> taken_;
};

} // namespace tang::kernel

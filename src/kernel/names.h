#pragma once
// Distinct names for text forms.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tang::kernel {

/// Gives each thing the name it wishes for, or the first free one of `name.2`, `name.3`, ... A name
/// once given stays; others may have it again when its body has ended.
class ChosenNames {
public:
  /// `known` holds the names of one sort of things, by their number. Where it `stays`, the name is
  /// taken to the end of the text.
  const std::string& of(std::unordered_map<uint32_t, std::string>& known, uint32_t id,
                        const std::string& wish, bool stays = false);
  void open() { bodies_.push_back(order_.size()); }
  void close();

private:
  std::unordered_set<std::string> taken_;
  std::vector<std::string> order_; ///< of names that end with their body
  std::vector<size_t> bodies_;
};

/// What a thing wished to be called: the name without the number that kept it apart.
std::string wished_name(const std::string& name);

} // namespace tang::kernel

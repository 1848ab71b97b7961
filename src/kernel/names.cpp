#include "kernel/names.h"
#include <cctype>

namespace tang::kernel {

const std::string& ChosenNames::of(std::unordered_map<uint32_t, std::string>& known, uint32_t id,
                                   const std::string& wish, bool stays) {
  auto [at, inserted] = known.try_emplace(id);
  if (!inserted) return at->second;
  std::string base;
  for (char c : wish) base += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0]))) base = "_" + base;
  std::string name = base;
  for (int n = 2; !taken_.insert(name).second; ++n) name = base + "." + std::to_string(n);
  if (!stays) order_.push_back(name);
  return at->second = name;
}

void ChosenNames::close() {
  for (; order_.size() > bodies_.back(); order_.pop_back()) taken_.erase(order_.back());
  bodies_.pop_back();
}

std::string wished_name(const std::string& name) {
  return name.substr(0, name.find('.'));
}

} // namespace tang::kernel

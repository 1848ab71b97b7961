#pragma once
// What names stand for in a kernel or program, body by body.
#include "diagnostics/sink.h"
#include "kernel/value.h"
#include <algorithm>
#include <unordered_map>

namespace tang::parse::spec {

struct Entry {
  enum class Kind : uint8_t {
    variable,
    waiting, ///< a mode of the grid or block that comes from a flat number: not defined yet
    tensor,
    value, ///< `$1`: a shared term
    bad    ///< its definition was reported
  };
  Kind kind = Kind::bad;
  kernel::VarId var;
  kernel::TensorId tensor;
  kernel::ValueId value;
  Span defined;
};

/// Names are visible to the end of the body that defines them; no two that are visible are equal.
class Names {
public:
  const Entry* find(const std::string& name) const {
    auto at = entries_.find(name);
    return at == entries_.end() ? nullptr : &at->second;
  }
  Entry* find(const std::string& name) {
    auto at = entries_.find(name);
    return at == entries_.end() ? nullptr : &at->second;
  }
  /// False where the name is taken. `stays`: to the end of everything.
  bool add(const std::string& name, Entry entry, bool stays = false) {
    if (!entries_.try_emplace(name, entry).second) return false;
    if (!stays) order_.push_back(name);
    return true;
  }
  void open() { bodies_.push_back(order_.size()); }
  void close() {
    for (; order_.size() > bodies_.back(); order_.pop_back()) entries_.erase(order_.back());
    bodies_.pop_back();
  }
  /// Names of one kind, for suggestions.
  std::vector<std::string> all(bool tensors) const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_)
      if (entry.kind != Entry::Kind::bad && (entry.kind == Entry::Kind::tensor) == tensors)
        names.push_back(name);
    std::sort(names.begin(), names.end());
    return names;
  }

private:
  std::unordered_map<std::string, Entry> entries_;
  std::vector<std::string> order_;
  std::vector<size_t> bodies_;
};

} // namespace tang::parse::spec

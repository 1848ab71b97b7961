#pragma once
// Walks over terms whose operands have smaller ids, as interned terms have.
#include "base/id.h"
#include <algorithm>
#include <span>
#include <vector>

namespace tang {

/// All ids reachable from `roots`, each once, ascending: operands before users. `operands_of(id)`
/// is a range of smaller ids.
template <class IdT, class OperandsOf>
std::vector<IdT> reachable_ids(std::span<const IdT> roots, OperandsOf&& operands_of) {
  // The largest id first, so that users come before their operands and equal ids meet.
  std::vector<IdT> heap, found;
  auto push = [&](IdT id) { heap.push_back(id), std::push_heap(heap.begin(), heap.end()); };
  for (IdT root : roots)
    if (root) push(root);
  while (!heap.empty()) {
    IdT id = heap.front();
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
    if (!found.empty() && found.back() == id) continue;
    found.push_back(id);
    for (IdT operand : operands_of(id)) push(operand);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

/// The value that belongs to `id` in a list of values made for ascending `ids`.
template <class IdT, class T>
const T& value_for(const std::vector<IdT>& ids, const std::vector<T>& values, IdT id) {
  return values[std::lower_bound(ids.begin(), ids.end(), id) - ids.begin()];
}

} // namespace tang

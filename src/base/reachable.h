#pragma once
// Walks over terms whose operands have smaller ids, as interned terms have.
#include "base/id.h"
#include "base/inline_vector.h"
#include <algorithm>
#include <bit>
#include <span>
#include <vector>

namespace tang {

namespace detail {

/// Where few terms are reached among very many.
template <class IdT, class OperandsOf>
std::vector<IdT> reachable_by_heap(std::span<const IdT> roots, OperandsOf&& operands_of) {
  // The largest id first, so that users come before their operands and equal ids meet.
  InlineVector<IdT, 64> heap;
  std::vector<IdT> found;
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

} // namespace detail

/// All ids reachable from `roots`, each once, ascending: operands before users. `operands_of(id)`
/// is a range of smaller ids.
template <class IdT, class OperandsOf>
std::vector<IdT> reachable_ids(std::span<const IdT> roots, OperandsOf&& operands_of) {
  // A bit for every id up to the largest root, where that is not much more than there are roots.
  constexpr uint32_t few = 16;
  size_t words = 0;
  for (IdT root : roots)
    if (root) words = std::max<size_t>(words, root.value / 64 + 1);
  if (words > std::max<size_t>(few, roots.size()))
    return detail::reachable_by_heap(roots, operands_of);
  InlineVector<uint64_t, few> marks;
  marks.resize(words, 0);
  size_t count = 0;
  auto mark = [&](IdT id) {
    uint64_t bit = uint64_t{1} << id.value % 64;
    count += (marks[id.value / 64] & bit) == 0;
    marks[id.value / 64] |= bit;
  };
  for (IdT root : roots)
    if (root) mark(root);
  auto id_at = [](size_t word, size_t bit) { return IdT(static_cast<uint32_t>(word * 64 + bit)); };
  for (size_t word = words; word-- > 0;)
    for (uint64_t below = ~uint64_t{0}; (marks[word] & below) != 0;) {
      auto bit = static_cast<size_t>(std::bit_width(marks[word] & below)) - 1;
      below = (uint64_t{1} << bit) - 1;
      for (IdT operand : operands_of(id_at(word, bit))) mark(operand);
    }
  std::vector<IdT> found;
  found.reserve(count);
  for (size_t word = 0; word < words; ++word)
    for (uint64_t rest = marks[word]; rest != 0; rest &= rest - 1)
      found.push_back(id_at(word, static_cast<size_t>(std::countr_zero(rest))));
  return found;
}

/// The value that belongs to `id` in a list of values made for ascending `ids`.
template <class IdT, class T>
const T& value_for(const std::vector<IdT>& ids, const std::vector<T>& values, IdT id) {
  return values[std::lower_bound(ids.begin(), ids.end(), id) - ids.begin()];
}

} // namespace tang

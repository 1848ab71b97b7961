#pragma once
// Which terms are evaluated at one place of a kernel, how often each is used, and under which
// conditions it is needed.
#include "lower/builder.h"
#include <algorithm>
#include <unordered_set>

namespace tang::lower {

/// A path: conditions (with their sign) that all hold where a term is needed. Sorted.
using Path = std::vector<std::pair<ExprId, bool>>;

/// Operands that are evaluated at the place of the term itself; a fold's body is not.
inline std::span<const ExprId> direct_operands(const graph::Expr& e) {
  std::span<const ExprId> all(e.operands);
  return e.op == graph::Op::fold ? all.subspan(2) : all;
}

/// Terms under `roots` that are evaluated here, operands first.
inline std::vector<ExprId> reachable_here(const graph::ExprStore& store,
                                          std::span<const ExprId> roots) {
  std::vector<ExprId> found, stack;
  std::unordered_set<ExprId> seen;
  auto push = [&](ExprId id) {
    if (id && seen.insert(id).second) stack.push_back(id);
  };
  for (ExprId root : roots) push(root);
  while (!stack.empty()) {
    ExprId id = stack.back();
    stack.pop_back();
    found.push_back(id);
    for (ExprId operand : direct_operands(store[id])) push(operand);
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Under which paths each term is needed, as a disjunction of conjunctions without absorbed
/// members, and how often it is used.
struct Needs {
  const graph::ExprStore& store;
  std::unordered_map<ExprId, std::vector<Path>> paths;
  std::unordered_map<ExprId, int> uses;
  std::unordered_set<ExprId> loosened; ///< reads that no longer wait for all of their conditions

  void add(ExprId id, const Path& path) {
    auto& list = paths[id];
    auto within = [](const Path& a, const Path& b) {
      return std::includes(b.begin(), b.end(), a.begin(), a.end());
    };
    for (const Path& other : list)
      if (within(other, path)) return;
    std::erase_if(list, [&](const Path& other) { return within(path, other); });
    list.push_back(path);
  }
  bool always(ExprId id) const {
    auto at = paths.find(id);
    return at != paths.end() && at->second.size() == 1 && at->second[0].empty();
  }

  static Path with(Path path, ExprId condition, bool sign) {
    std::pair<ExprId, bool> literal{condition, sign};
    auto at = std::lower_bound(path.begin(), path.end(), literal);
    if (at == path.end() || *at != literal) path.insert(at, literal);
    return path;
  }

  /// True when the value of `from` waits for `read`: through operands, and through the conditions
  /// under which other reads are loaded.
  bool waits_for(ExprId from, ExprId read) const {
    std::vector<ExprId> stack{from};
    std::unordered_set<ExprId> seen{from};
    auto push = [&](ExprId id) {
      if (store[id].has_read && seen.insert(id).second) stack.push_back(id);
    };
    while (!stack.empty()) {
      ExprId id = stack.back();
      stack.pop_back();
      if (id == read) return true;
      for (ExprId operand : direct_operands(store[id])) push(operand);
      auto at = store[id].op == graph::Op::read ? paths.find(id) : paths.end();
      if (at == paths.end()) continue;
      for (const Path& path : at->second)
        for (const auto& [condition, sign] : path) push(condition);
    }
    return false;
  }

  /// The parts of a literal that all hold with it and do not wait for the read.
  Path free_parts(ExprId condition, bool sign, ExprId read) const {
    Path parts;
    std::vector<std::pair<ExprId, bool>> stack{{condition, sign}};
    while (!stack.empty()) {
      auto [id, holds] = stack.back();
      stack.pop_back();
      const graph::Expr& e = store[id];
      if (!waits_for(id, read))
        parts = with(std::move(parts), id, holds);
      else if (e.op == graph::Op::logical_not)
        stack.emplace_back(e.operands[0], !holds);
      else if (e.op == (holds ? graph::Op::logical_and : graph::Op::logical_or))
        for (ExprId operand : e.operands) stack.emplace_back(operand, holds);
    }
    return parts;
  }

  /// `where(b and r > 0, r, 0)`: the condition of the branch needs the read that it is to protect.
  /// Such a read is loaded under what of the condition is known before it, and checked itself.
  void break_cycles(const std::vector<ExprId>& order) {
    for (ExprId id : order) {
      if (store[id].op != graph::Op::read || always(id)) continue;
      for (const Path& path : std::vector<Path>(paths[id])) {
        Path less;
        bool cyclic = false;
        for (const auto& [condition, sign] : path) {
          if (!store[condition].has_read || !waits_for(condition, id)) {
            less = with(std::move(less), condition, sign);
            continue;
          }
          cyclic = true;
          for (const auto& [part, holds] : free_parts(condition, sign, id))
            less = with(std::move(less), part, holds);
        }
        if (!cyclic) continue;
        std::erase(paths[id], path);
        add(id, less);
        loosened.insert(id);
      }
    }
  }

  Needs(const graph::ExprStore& expr_store, std::span<const ExprId> roots, ExprId condition)
      : store(expr_store) {
    std::vector<ExprId> all(roots.begin(), roots.end());
    if (condition) all.push_back(condition), add(condition, {}), ++uses[condition];
    for (ExprId root : roots) add(root, condition ? Path{{condition, true}} : Path{}), ++uses[root];
    auto order = reachable_here(store, all);
    // Users before operands: ids descend.
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const graph::Expr& e = store[*it];
      const std::vector<Path> here = paths[*it];
      auto operands = direct_operands(e);
      for (size_t i = 0; i < operands.size(); ++i) {
        ++uses[operands[i]];
        bool branch = (e.op == graph::Op::select && i > 0) ||
                      ((e.op == graph::Op::logical_and || e.op == graph::Op::logical_or) && i == 1);
        bool sign = e.op == graph::Op::select ? i == 1 : e.op == graph::Op::logical_and;
        if (branch && store[operands[i]].has_read) ++uses[operands[0]];
        for (const Path& path : here)
          add(operands[i], branch ? with(path, operands[0], sign) : path);
      }
    }
    break_cycles(order);
  }
};

} // namespace tang::lower

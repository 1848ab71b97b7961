#include "lower/needs.h"
#include "base/reachable.h"
#include <algorithm>
#include <set>

namespace tang::lower {

using graph::Expr;
using graph::ExprStore;
using graph::Op;

std::vector<ExprId> reachable_here(const ExprStore& store, std::span<const ExprId> roots) {
  return reachable_ids(roots, [&](ExprId id) { return direct_operands(store[id]); });
}

namespace {

/// Paths of a term with more literals than this are not repeated at its operands.
constexpr size_t most_literals = 32;
/// A list with more paths than this is not searched for paths that contain each other.
constexpr size_t most_compared = 32;

Path with(Path path, const Literal& literal) {
  auto at = std::lower_bound(path.begin(), path.end(), literal);
  if (at == path.end() || *at != literal) path.insert(at, literal);
  return path;
}

bool within(const Path& a, const Path& b) {
  return std::includes(b.begin(), b.end(), a.begin(), a.end());
}

size_t literals_of(const std::vector<Path>& paths) {
  size_t count = 0;
  for (const Path& path : paths) count += path.size();
  return count;
}

Literal literal_of(ExprId condition, bool holds) {
  return {condition, holds ? Literal::Kind::holds : Literal::Kind::fails};
}

} // namespace

void Needs::add(ExprId id, const Path& path) {
  auto& list = paths[id];
  if (path.empty()) list.clear();
  if (list.size() <= most_compared || (list.size() == 1 && list[0].empty())) {
    for (const Path& other : list)
      if (within(other, path)) return;
    std::erase_if(list, [&](const Path& other) { return within(path, other); });
  }
  list.push_back(path);
}

/// True when the value of `from` waits for `read`: through operands, and through the conditions
/// under which other reads are loaded.
bool Needs::waits_for(const Literal& from, ExprId read) const {
  std::vector<Literal> stack;
  std::set<Literal> seen;
  auto push = [&](Literal literal) {
    bool value = literal.kind != Literal::Kind::needed;
    if (value) literal.kind = Literal::Kind::holds; // its value is the same either way
    if (value && !store[literal.term].has_read) return;
    if (seen.insert(literal).second) stack.push_back(literal);
  };
  push(from);
  while (!stack.empty()) {
    Literal at = stack.back();
    stack.pop_back();
    bool value = at.kind != Literal::Kind::needed;
    if (value && at.term == read) return true;
    if (value)
      for (ExprId operand : direct_operands(store[at.term])) push(literal_of(operand, true));
    if (value && store[at.term].op != Op::read) continue;
    auto list = paths.find(at.term);
    if (list == paths.end()) continue;
    for (const Path& path : list->second)
      for (const Literal& literal : path) push(literal);
  }
  return false;
}

/// The parts of a literal that all hold with it and do not wait for the read.
Path Needs::free_parts(const Literal& literal, ExprId read) const {
  Path parts;
  std::vector<Literal> stack{literal};
  while (!stack.empty()) {
    Literal at = stack.back();
    stack.pop_back();
    if (!waits_for(at, read)) {
      parts = with(std::move(parts), at);
      continue;
    }
    if (at.kind == Literal::Kind::needed) continue;
    const Expr& e = store[at.term];
    bool holds = at.kind == Literal::Kind::holds;
    if (e.op == Op::logical_not)
      stack.push_back(literal_of(e.operands[0], !holds));
    else if (e.op == (holds ? Op::logical_and : Op::logical_or))
      for (ExprId operand : e.operands) stack.push_back(literal_of(operand, holds));
  }
  return parts;
}

/// `where(b and r > 0, r, 0)`: the condition of the branch needs the read that it is to protect.
/// Such a read is loaded under what of the condition is known before it, and checked itself.
void Needs::break_cycles(const std::vector<ExprId>& order) {
  for (ExprId id : order) {
    if (store[id].op != Op::read || always(id)) continue;
    for (const Path& path : std::vector<Path>(paths[id])) {
      Path less;
      bool cyclic = false;
      for (const Literal& literal : path) {
        if (!waits_for(literal, id)) {
          less = with(std::move(less), literal);
          continue;
        }
        cyclic = true;
        for (const Literal& part : free_parts(literal, id)) less = with(std::move(less), part);
      }
      if (!cyclic) continue;
      std::erase(paths[id], path);
      add(id, less);
      loosened.insert(id);
    }
  }
}

Needs::Needs(const ExprStore& expr_store, std::span<const ExprId> roots, ExprId condition)
    : store(expr_store) {
  std::vector<ExprId> all(roots.begin(), roots.end());
  if (condition) all.push_back(condition), add(condition, {}), ++uses[condition];
  for (ExprId root : roots)
    add(root, condition ? Path{literal_of(condition, true)} : Path{}), ++uses[root];
  auto order = reachable_here(store, all);
  // Users before operands: ids descend.
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Expr& e = store[*it];
    std::vector<Path> here = paths[*it];
    if (literals_of(here) > most_literals) here = {{Literal{*it, Literal::Kind::needed}}};
    auto operands = direct_operands(e);
    for (size_t i = 0; i < operands.size(); ++i) {
      ++uses[operands[i]];
      bool branch = (e.op == Op::select && i > 0) ||
                    ((e.op == Op::logical_and || e.op == Op::logical_or) && i == 1);
      bool sign = e.op == Op::select ? i == 1 : e.op == Op::logical_and;
      if (branch && store[operands[i]].has_read) ++uses[operands[0]];
      for (const Path& path : here)
        add(operands[i], branch ? with(path, literal_of(operands[0], sign)) : path);
    }
  }
  break_cycles(order);
}

} // namespace tang::lower

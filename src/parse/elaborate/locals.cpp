// Names inside a body: frames, indices, renames.
#include "parse/elaborate/body.h"
#include <algorithm>

namespace tang::parse {

Body::Body(Context& context, const Module& module, std::string name, Span span)
    : c_(context), name_(std::move(name)), span_(span) {
  frames_.push_back({&module, context.callables.size(), 0, nullptr, {}, {}});
  levels_.push_back({});
}

graph::IndexId Body::new_index(std::string_view name, Term extent) {
  graph::IndexId id(static_cast<uint32_t>(axes_.size()));
  axes_.push_back({id, extent, std::string(name), {}, {}});
  // Terms of indices are made in the order of the indices, so that the canonical order of a sum
  // follows the order of the axes.
  terms().index(id);
  return id;
}

void Body::push_index(const Name& name, graph::IndexId id, bool is_point) {
  Local local;
  local.kind = LocalKind::index, local.name = name.text, local.span = name.span,
  local.indices = {id};
  if (is_point) points_.push_back(id);
  locals_.push_back(std::move(local));
}

HiddenNames Body::hidden() const {
  HiddenNames names;
  for (size_t i = frames_.back().first_local; i < locals_.size(); ++i)
    names.push_back(locals_[i].name);
  return names;
}

Local* Body::find_local(std::string_view name) {
  for (size_t i = locals_.size(); i > frames_.back().first_local; --i)
    if (locals_[i - 1].name == name) return &locals_[i - 1];
  return nullptr;
}

Term Body::substitute_index(Term term, graph::IndexId from, graph::IndexId to) {
  const auto& free = terms()[term].free;
  if (!std::binary_search(free.begin(), free.end(), from)) return term;
  auto& known = substituted_[uint64_t{from.value} << 32 | to.value];
  if (auto at = known.find(term); at != known.end()) return at->second;
  size_t before = terms().size();
  Term result = graph::substitute(terms(), term, {{from, terms().index(to)}});
  c_.charge(span_, terms().size() - before);
  known.emplace(term, result);
  return result;
}

Term Body::rename(Term term, size_t seen) {
  if (!term) return term;
  const auto& renames = frames_.back().renames;
  for (size_t i = seen; i < renames.size(); ++i)
    term = substitute_index(term, renames[i].first, renames[i].second);
  return term;
}

Term Body::local_value(const Local& local) {
  for (const Condition& need : local.needs)
    use({rename(need.term, local.renames_seen), need.level});
  return rename(local.value, local.renames_seen);
}

std::vector<Condition> Body::needs_since(size_t mark) const {
  std::vector<Condition> needs;
  for (size_t i = mark; i < log_.size(); ++i) {
    bool known = std::any_of(needs.begin(), needs.end(), [&](const Condition& c) {
      return c.term == log_[i].term && c.level == log_[i].level;
    });
    if (!known) needs.push_back(log_[i]);
  }
  return needs;
}

Diagnostic& Body::report(Kind kind, Span span, std::string message) {
  Diagnostic& d = c_.report(kind, span, std::move(message));
  // The innermost expansions are what a reader wants; deep ones are cut.
  size_t shown = 0;
  for (size_t i = frames_.size(); i > 1 && shown < 4; --i, ++shown)
    d.note(frames_[i - 1].call,
           fmt::format("in the expansion of `{}` here", frames_[i - 1].callable->name));
  return d;
}

} // namespace tang::parse

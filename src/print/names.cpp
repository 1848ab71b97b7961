#include "print/names.h"
#include "base/ascii.h"
#include "base/check.h"
#include <algorithm>

namespace tang::print {

namespace {

/// `__x`, `_X` and names with `__` inside belong to C, C++ and shading languages; `tg_` to the
/// preludes.
bool belongs_to_implementation(const std::string& name) {
  if (name.starts_with("tg_") || name.starts_with("TG_")) return true;
  return name.size() > 1 && name[0] == '_' &&
         (name[1] == '_' || (is_letter(name[1]) && name[1] < 'a'));
}

} // namespace

std::string identifier(std::string_view text) {
  std::string out;
  for (char c : text) out += is_name_part(c) ? c : '_';
  if (out.empty() || is_digit(out[0])) out.insert(out.begin(), '_');
  return out;
}

std::string symbol_prefix(std::string_view name) {
  if (name.empty()) return "graph";
  std::string out = identifier(name);
  if (is_digit(name[0])) out = "graph" + out; // with the `_` that `identifier` put in front
  if (belongs_to_implementation(out) || out == "_") out = "graph_" + out;
  return out;
}

NameScope::NameScope(std::span<const WordList> reserved)
    : reserved_(reserved.begin(), reserved.end()) {}

bool NameScope::reserved(const std::string& name) const {
  return std::any_of(reserved_.begin(), reserved_.end(), [&](WordList list) {
    return std::binary_search(list.begin(), list.end(), std::string_view(name));
  });
}

std::string NameScope::add(std::string_view name) {
  std::string base = identifier(name);
  if (belongs_to_implementation(base) || reserved(base)) base += '_';
  std::string result = base;
  int number = 0;
  if (taken_.contains(base)) {
    int& next = next_.try_emplace(base, 1).first->second;
    do {
      number = next++;
      result = fmt::format("{}{}{}", base, base.ends_with('_') ? "" : "_", number);
    } while (taken_.contains(result) || reserved(result));
  }
  taken_.insert(result);
  order_.push_back({result, base, number});
  if (result != name) changed_.emplace_back(name, result);
  return result;
}

void NameScope::take(std::string name) {
  TANG_CHECK(taken_.insert(name).second, "the identifier `{}` is taken twice", name);
  order_.push_back({name, name, 0});
}

void NameScope::pop() {
  TANG_CHECK(!marks_.empty(), "a scope of names is closed that was not opened");
  for (; order_.size() > marks_.back(); order_.pop_back()) {
    const Taken& last = order_.back();
    taken_.erase(last.name);
    if (last.number > 0) next_[last.base] = last.number;
  }
  marks_.pop_back();
}

std::string comment_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    bool opens =
        !out.empty() && ((out.back() == '/' && c == '*') || (out.back() == '*' && c == '/') ||
                         (out.back() == '?' && c == '?'));
    if (opens) out += ' ';
    if (byte < 0x20 || byte >= 0x7f || c == '\\')
      out += fmt::format("<{:02x}>", byte);
    else
      out += c;
  }
  return out;
}

std::string string_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '\\' || c == '"' || c == '?')
      out += fmt::format("\\{:03o}", byte);
    else
      out += c;
  }
  return out;
}

} // namespace tang::print

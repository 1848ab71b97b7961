#pragma once
// Tuples in tuples, flat: the leaves in order, and the form as text without its numbers.
//
//   4           *          leaves 4
//   (4,(2,8))   (*(**))    leaves 4 2 8
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tang::layout {

/// Where the part of a form that starts at `at` ends.
inline size_t part_end(std::string_view form, size_t at) {
  int depth = 0;
  do {
    if (form[at] == '(') ++depth;
    if (form[at] == ')') --depth;
    ++at;
  } while (depth > 0);
  return at;
}

template <class T>
struct Nested {
  std::string form;
  std::vector<T> leaves;

  static Nested leaf(T value) { return {"*", {std::move(value)}}; }
  /// At least one part; one part alone makes a tuple of rank 1.
  static Nested tuple(const std::vector<Nested>& parts) {
    Nested out{"(", {}};
    for (const Nested& part : parts) {
      out.form += part.form;
      out.leaves.insert(out.leaves.end(), part.leaves.begin(), part.leaves.end());
    }
    out.form += ')';
    return out;
  }
  /// The leaves as one flat tuple; a single one as a leaf.
  static Nested flat(std::vector<T> leaves) {
    std::string form = "*";
    if (leaves.size() > 1) form = "(" + std::string(leaves.size(), '*') + ")";
    return {std::move(form), std::move(leaves)};
  }

  bool is_leaf() const { return form == "*"; }
  /// The parts of a tuple; a leaf is its own only part.
  std::vector<Nested> parts() const {
    if (is_leaf()) return {*this};
    std::vector<Nested> out;
    auto leaf = leaves.begin();
    for (size_t at = 1; form[at] != ')';) {
      size_t end = part_end(form, at);
      Nested part{form.substr(at, end - at), {}};
      auto count = std::count(part.form.begin(), part.form.end(), '*');
      part.leaves.assign(leaf, leaf + count);
      out.push_back(std::move(part));
      leaf += count;
      at = end;
    }
    return out;
  }
  size_t rank() const {
    if (is_leaf()) return 1;
    size_t count = 0;
    for (size_t at = 1; form[at] != ')'; at = part_end(form, at)) ++count;
    return count;
  }
  friend bool operator==(const Nested&, const Nested&) = default;
};

/// `(a,(b,c))`, with each leaf as `text_of` writes it.
template <class T, class F>
std::string nested_text(const Nested<T>& tree, F&& text_of) {
  std::string text;
  size_t leaf = 0;
  char before = '(';
  for (char c : tree.form) {
    if (c != ')' && before != '(') text += ',';
    text += c == '*' ? text_of(tree.leaves[leaf++]) : std::string(1, c);
    before = c;
  }
  return text;
}

} // namespace tang::layout

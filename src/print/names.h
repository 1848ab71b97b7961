#pragma once
// Names of the input as identifiers of the output: any name may be a keyword, a macro or a function
// there. The map is injective, and what it changed can be listed.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tang::print {

using WordList = std::span<const std::string_view>; ///< in ascending order

/// Identifiers in use, in nested scopes. A name is taken in its scope and in those inside it.
class NameScope {
public:
  /// `reserved` are lists of words that no name may be; they outlive the scope.
  explicit NameScope(std::span<const WordList> reserved);

  /// A new identifier for `name`: other characters than letters, digits and `_` become `_`,
  /// reserved words gain `_`, and a number is appended where the result is taken.
  std::string add(std::string_view name);
  /// Takes an identifier that is already legal; it must be free.
  void take(std::string name);
  void push() { marks_.push_back(order_.size()); }
  void pop();
  /// Names that `add` gave another spelling: (as written, as printed), in order.
  const std::vector<std::pair<std::string, std::string>>& changed() const { return changed_; }

private:
  bool reserved(const std::string& name) const; ///< in one of the lists
  std::vector<WordList> reserved_;
  std::unordered_set<std::string> taken_;
  struct Taken {
    std::string name, base;
    int number = 0; ///< that was appended to `base`; 0 for none
  };
  std::vector<Taken> order_;                  ///< in order of taking, for `pop`
  std::unordered_map<std::string, int> next_; ///< by base: numbers below are taken
  std::vector<size_t> marks_;
  std::vector<std::pair<std::string, std::string>> changed_;
};

/// Letters, digits and `_` stay, everything else becomes `_`; never empty, never starts with a
/// digit.
std::string identifier(std::string_view text);

/// What the external symbols of generated code start with, as an identifier that C leaves to
/// programs: of `1a`, `graph_1a`; of nothing, `graph`. Of a result, the same again.
std::string symbol_prefix(std::string_view name);

/// Text of the input as part of a one-line comment: no line ends, no backslash, nothing that opens
/// or closes a comment, no trigraph, ASCII only.
std::string comment_text(std::string_view text);

/// Text of the input inside a string literal, without its quotes.
std::string string_text(std::string_view text);

} // namespace tang::print

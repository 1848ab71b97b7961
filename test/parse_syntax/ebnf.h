#pragma once
// Reads grammar/tg.ebnf, makes sentences from it, and recognises sentences by it.
#include "parse/lexer.h"
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tang::parse {

/// A node of a right side.
struct Syntax {
  enum Kind { word, rule, sequence, choice, optional, repetition } kind;
  std::string text; ///< of a word or the name of a rule
  std::vector<Syntax> parts;
};

class Ebnf {
public:
  /// Throws std::runtime_error with the place of a fault in the notation.
  explicit Ebnf(const std::string& text);

  const std::map<std::string, Syntax>& rules() const { return rules_; }
  /// Token rules (names in capitals) with their regular expressions.
  const std::map<std::string, std::string>& tokens() const { return tokens_; }
  /// Every word and rule name that some right side uses.
  std::set<std::string> used(Syntax::Kind kind) const;

private:
  struct Reader;
  std::map<std::string, Syntax> rules_;
  std::map<std::string, std::string> tokens_;
};

/// A random sentence of `file`, or nothing when it ran into the one ambiguity that the grammar
/// explains in words (a read followed by what could be an operand).
std::optional<std::string> sentence(const Ebnf& grammar, uint64_t seed);

/// Whether the tokens of a file derive from `file`.
bool derives(const Ebnf& grammar, const std::string& text, const std::vector<Token>& tokens);

} // namespace tang::parse

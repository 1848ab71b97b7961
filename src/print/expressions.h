#pragma once
// Values as text: precedence, temporaries, literals, conversions. Pure values that are used more
// than once, and parts of very long ones, become temporaries in the scope where they are first
// needed.
#include "print/dialect.h"
#include <set>
#include <unordered_map>

namespace tang::print {

struct Piece {
  std::string text;
  Precedence precedence = Precedence::primary;
};
/// The piece in brackets where it binds looser than `least`.
std::string bracket(const Piece& piece, Precedence least);

/// `name` of the type as part of helper names; `index` counts as i64.
std::string_view suffix(kernel::Type type);
std::string_view word(const Words& words, kernel::Type type);

struct ExpressionOptions {
  bool fast_math = false;
  bool host = false; ///< launcher code: sums and products that may leave 64 bits set `overflow`
};

class Expressions {
public:
  using Element = std::function<std::string(const kernel::Value&)>;

  /// `element` gives the text of a register element. Everything referred to outlives the object.
  Expressions(const kernel::ValueStore& values, const Dialect& dialect, ExpressionOptions options,
              NameScope& names, TextWriter& out, std::set<std::string>& helpers, Element element);

  /// Counts the uses of every value under `roots`: all of a kernel, so that temporaries are known.
  void count(std::span<const kernel::ValueId> roots);

  /// A scope of generated code: temporaries and names made in it end with it.
  void push();
  void pop();
  /// Registers may have changed: temporaries that read them are not used again.
  void forget_registers();

  /// Gives a variable its identifier, in the current scope.
  const std::string& define(kernel::VarId var);
  /// Gives a variable a text that is already known, such as a parameter.
  void define(kernel::VarId var, std::string text);
  bool used(kernel::VarId var) const;

  /// Text of a value; may write temporaries before. Operands of an operator that binds as `least`.
  std::string text(kernel::ValueId id, Precedence least = Precedence::lowest);
  Piece piece(kernel::ValueId id);
  /// Whether `text` would write temporaries now.
  bool needs_temporaries(kernel::ValueId id) const;
  bool reads_registers(kernel::ValueId id) const { return facts_[id.value].reads_registers; }

  /// `value` of type `from` as `to` (widening; float to int truncates and saturates).
  Piece converted(Piece value, kernel::Type from, kernel::Type to);
  /// A value of any type as the natural type of `storage`, within the values the format holds.
  Piece storable(kernel::ValueId id, graph::ElemType storage);
  /// The same for a text of which only the type is known.
  Piece storable(Piece value, kernel::Type from, graph::IntRange range, graph::ElemType storage);
  /// Replaces `$p`, `$i`, `$v` of a storage pattern and notes the helpers it calls.
  std::string move(std::string_view pattern, std::string_view pointer, std::string_view offset,
                   const Piece& value);
  /// Notes the helpers that a text calls.
  void use_helpers(std::string_view text);

private:
  struct Facts {
    uint32_t uses = 0, size = 0;
    bool reads_registers = false, temporary = false;
    bool holds_temporary = false; ///< it is one, or an operand holds one
  };
  struct Scope {
    std::vector<uint32_t> temporaries;
  };
  const Pattern& pattern(const kernel::Value& value) const;
  void find_facts(kernel::ValueId id);
  std::vector<kernel::ValueId> pending(kernel::ValueId root) const;
  void write_temporaries(kernel::ValueId root);
  Piece render(kernel::ValueId id);
  Piece literal(const kernel::Value& value) const;
  Piece integer(int64_t value, kernel::Type type) const;
  Piece operation(kernel::ValueId id);
  std::optional<Piece> special(const kernel::Value& value);
  Piece sum(const kernel::Value& value);
  std::optional<Piece> without_sign(kernel::ValueId id);
  Piece expand(const Pattern& pattern, const kernel::Value& value);
  Piece rounded(const kernel::Value& value);
  Piece clamped(Piece value, graph::IntRange have, kernel::Type type, graph::ElemType to);

  const kernel::ValueStore& values_;
  const Dialect& dialect_;
  ExpressionOptions options_;
  NameScope& names_;
  TextWriter& out_;
  std::set<std::string>& helpers_;
  Element element_;
  std::vector<Facts> facts_;
  std::vector<std::string> temporaries_; ///< by value; empty = none in scope
  std::vector<std::string> variables_;   ///< by variable
  std::vector<uint32_t> variable_uses_;
  std::vector<Scope> scopes_;
  std::vector<uint32_t> volatile_; ///< temporaries that read registers
  std::vector<OpRow> rows_;        ///< by op
};

} // namespace tang::print

#pragma once
// Values of `.spec` text. They are taken as they are written: no law is applied, so that writing
// gives the text again.
#include "kernel/kernel.h"
#include "parse/spec/cursor.h"
#include "parse/spec/names.h"

namespace tang::parse::spec {

/// A value, or an integer whose type its surroundings tell.
struct Operand {
  kernel::ValueId id; ///< empty: an integer
  int64_t integer = 0;
  Span span;
  bool beyond = false; ///< 2^63, which only its negative is a number of 64 bits
};

class ValueReader {
public:
  /// `plain`: what an integer is where nothing tells. `tensors`: of the kernel, or null for host
  /// values.
  ValueReader(Cursor& cursor, kernel::ValueStore& store, Names& names, kernel::Type plain,
              const std::vector<kernel::Tensor>* tensors)
      : cursor_(cursor), store_(store), names_(names), plain_(plain), tensors_(tensors) {}

  void set_plain(kernel::Type plain) { plain_ = plain; }
  kernel::Type plain() const { return plain_; }

  /// A value; integers that stand alone are of type `told`. Empty where a fault was reported.
  kernel::ValueId value(kernel::Type told);
  /// A value that must have a type.
  kernel::ValueId value_of(kernel::Type type, std::string_view what);
  kernel::ValueId condition() { return value_of(kernel::Type::boolean, "a condition"); }
  /// A coordinate, bound or extent: any integer.
  kernel::ValueId index(std::string_view what);
  /// Values between brackets, the opening one of which was taken.
  bool list(std::string_view close, std::vector<kernel::ValueId>& values, std::string_view what);
  /// `name[...]`, a place in a tensor.
  std::optional<kernel::Ref> place();
  /// The same behind its name.
  std::optional<kernel::Ref> place_of(const Token& name);

  std::optional<kernel::Type> machine_type();
  std::optional<graph::ElemType> element_type();

  /// A variable or shared term, or nothing and a report.
  const Entry* resolve(const Token& token, bool tensor);

private:
  using Read = std::optional<Operand>;
  Read disjunction();
  Read conjunction();
  Read negation();
  Read comparison();
  Read sum();
  Read product();
  Read factor();
  Read number(const Token& token);
  Read call(const Token& token);
  Read conversion(const Token& token);
  Read named(const Token& token);
  Read element(const Token& token, std::optional<kernel::Type> as);
  Read operation(graph::Op op, std::vector<Operand> operands, Span place);
  Read negated(const Operand& operand, Span place);
  bool agree(std::vector<Operand>& operands, size_t first, Span place);
  bool takes(graph::Op op, const std::vector<Operand>& operands, Span place);
  kernel::ValueId settle(const Operand& operand, kernel::Type told);
  kernel::Type type(const Operand& o) const { return store_[o.id].type; }

  Cursor& cursor_;
  kernel::ValueStore& store_;
  Names& names_;
  kernel::Type plain_;
  const std::vector<kernel::Tensor>* tensors_;
  int depth_ = 0;
};

/// What an undefined or unfit name is reported with.
void report_unknown(Cursor& cursor, const Token& token, std::string_view kind,
                    const std::vector<std::string>& candidates);

} // namespace tang::parse::spec

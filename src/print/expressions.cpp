#include "print/expressions.h"
#include "base/check.h"
#include <algorithm>
#include <cmath>

namespace tang::print {

using graph::ElemType;
using kernel::Form;
using kernel::Op;
using kernel::Type;
using kernel::Value;
using kernel::ValueId;
using enum Precedence;

namespace {

/// Longer expressions are cut into temporaries.
constexpr uint32_t longest_expression = 24;

/// Rows of launcher code, which is C wherever there is one.
constexpr OpOverride host_ops[] = {
    {Op::min, {{}, {"tg_host_min($0, $1)"}, {}}},
    {Op::max, {{}, {"tg_host_max($0, $1)"}, {}}},
    {Op::floordiv, {{}, {"tg_host_floordiv($0, $1)"}, {}}},
    {Op::mod, {{}, {"tg_host_mod($0, $1)"}, {}}},
};

void override_rows(std::vector<OpRow>& rows, std::span<const OpOverride> overrides) {
  for (const OpOverride& o : overrides) {
    OpRow& row = rows[static_cast<size_t>(o.op)];
    if (!o.row.real.text.empty()) row.real = o.row.real;
    if (!o.row.integer.text.empty()) row.integer = o.row.integer;
    if (!o.row.boolean.text.empty()) row.boolean = o.row.boolean;
  }
}

/// The class of an operation's data: the second operand of a choice, else the first.
Type data_type(const kernel::ValueStore& values, const Value& value) {
  return values[value.operands[value.op == Op::select ? 1 : 0]].type;
}

Precedence tighter(Precedence p) {
  return static_cast<Precedence>(static_cast<int>(p) + 1);
}

/// What an operand on the left or right of an infix operator must at least bind as. Stricter than C
/// where compilers advise brackets.
Precedence operand_precedence(Precedence op, bool first) {
  switch (op) {
  case logical_or: return first ? logical_or : bit_or;
  case logical_and: return first ? logical_and : bit_or;
  case bit_or:
  case bit_xor:
  case bit_and:
  case shift: return prefix;
  case equality:
  case relational: return additive;
  case conditional: return logical_or;
  case additive:
  case multiplicative: return first ? op : tighter(op);
  case prefix: return postfix;
  case lowest:
  case postfix:
  case primary: return op;
  }
  return primary;
}

} // namespace

std::string bracket(const Piece& piece, Precedence least) {
  return piece.precedence < least ? "(" + piece.text + ")" : piece.text;
}

std::string_view suffix(Type type) {
  return type == Type::index ? "i64" : kernel::name(type);
}

std::string_view word(const Words& words, Type type) {
  switch (type) {
  case Type::boolean: return words.boolean_type.text();
  case Type::i32: return words.i32_type.text();
  case Type::i64:
  case Type::index: return words.i64_type.text();
  case Type::f32: return words.f32_type.text();
  case Type::f64: return words.f64_type.text();
  }
  return {};
}

Expressions::Expressions(const kernel::ValueStore& values, const Dialect& dialect,
                         ExpressionOptions options, NameScope& names, TextWriter& out,
                         std::set<std::string>& helpers, Element element)
    : values_(values), dialect_(dialect), options_(options), names_(names), out_(out),
      helpers_(helpers), element_(std::move(element)), facts_(values.size()),
      temporaries_(values.size()), variables_(values.vars().size()),
      variable_uses_(values.vars().size()) {
  for (size_t op = 0; op <= static_cast<size_t>(Op::cast); ++op)
    rows_.push_back(default_row(static_cast<Op>(op)));
  override_rows(rows_, dialect.ops);
  if (options.fast_math) override_rows(rows_, dialect.fast_ops);
  if (options.host) override_rows(rows_, host_ops);
  scopes_.emplace_back();
}

const Pattern& Expressions::pattern(const Value& value) const {
  const OpRow& row = rows_[static_cast<size_t>(value.op)];
  Type type = data_type(values_, value);
  const Pattern& result = type == Type::boolean   ? row.boolean
                          : kernel::is_real(type) ? row.real
                                                  : row.integer;
  TANG_CHECK(!result.text.empty(), "`{}` has no row for {}", graph::info(value.op).name,
             kernel::name(type));
  return result;
}

void Expressions::find_facts(ValueId id) {
  const Value& value = values_[id];
  Facts& facts = facts_[id.value];
  facts.size = 1;
  facts.reads_registers = value.form == Form::element;
  for (ValueId operand : value.operands) {
    const Facts& part = facts_[operand.value];
    facts.size += part.temporary ? 1 : part.size;
    facts.reads_registers |= part.reads_registers;
    facts.holds_temporary |= part.holds_temporary;
  }
  if (value.form == Form::literal || value.form == Form::variable || value.form == Form::element)
    return;
  bool call = value.form != Form::operation || pattern(value).precedence >= postfix;
  facts.temporary = (facts.uses > 1 && (facts.size > 3 || (call && value.form != Form::convert))) ||
                    facts.size > longest_expression;
  facts.holds_temporary |= facts.temporary;
}

void Expressions::count(std::span<const ValueId> roots) {
  std::vector<ValueId> all = kernel::reachable(values_, roots);
  for (ValueId root : roots) ++facts_[root.value].uses;
  for (ValueId id : all)
    for (ValueId operand : values_[id].operands) ++facts_[operand.value].uses;
  for (ValueId id : all) {
    find_facts(id);
    if (values_[id].form == Form::variable) variable_uses_[values_[id].ref] += 1;
  }
}

void Expressions::push() {
  names_.push();
  scopes_.emplace_back();
}

void Expressions::pop() {
  for (uint32_t value : scopes_.back().temporaries) temporaries_[value].clear();
  scopes_.pop_back();
  names_.pop();
}

void Expressions::forget_registers() {
  for (uint32_t value : volatile_) temporaries_[value].clear();
  volatile_.clear();
}

const std::string& Expressions::define(kernel::VarId var) {
  return variables_[var.value] = names_.add(values_[var].name);
}
void Expressions::define(kernel::VarId var, std::string text) {
  variables_[var.value] = std::move(text);
}
bool Expressions::used(kernel::VarId var) const {
  return variable_uses_[var.value] > 0;
}

std::vector<ValueId> Expressions::pending(ValueId root) const {
  if (!facts_[root.value].holds_temporary) return {};
  auto known = [&](ValueId id) { return !temporaries_[id.value].empty(); };
  std::vector<ValueId> found = kernel::reading_order(values_, {&root, 1}, known);
  std::erase_if(found, [&](ValueId id) {
    const Facts& facts = facts_[id.value];
    return !facts.temporary || (id == root && facts.uses <= 1);
  });
  return found;
}

bool Expressions::needs_temporaries(ValueId id) const {
  return !pending(id).empty();
}

void Expressions::write_temporaries(ValueId root) {
  for (ValueId id : pending(root)) {
    std::string text = render(id).text;
    std::string name = names_.add("t");
    out_.raw(fmt::format("const {} {} = {};", word(dialect_.words, values_[id].type), name, text));
    temporaries_[id.value] = name;
    scopes_.back().temporaries.push_back(id.value);
    if (facts_[id.value].reads_registers) volatile_.push_back(id.value);
  }
}

std::string Expressions::text(ValueId id, Precedence least) {
  return bracket(piece(id), least);
}

Piece Expressions::piece(ValueId id) {
  write_temporaries(id);
  return render(id);
}

Piece Expressions::render(ValueId id) {
  const Value& value = values_[id];
  if (!temporaries_[id.value].empty()) return {temporaries_[id.value], primary};
  switch (value.form) {
  case Form::literal: return literal(value);
  case Form::variable: {
    const std::string& name = variables_[value.ref];
    TANG_CHECK(!name.empty(), "`{}` is printed before it is defined",
               values_[kernel::VarId(value.ref)].name);
    return {name, primary};
  }
  case Form::element: return {element_(value), postfix};
  case Form::operation: return operation(id);
  case Form::convert:
    return converted(render(value.operands[0]), values_[value.operands[0]].type, value.type);
  case Form::round: return rounded(value);
  }
  return {};
}

Piece Expressions::operation(ValueId id) {
  const Value& value = values_[id];
  if (auto piece = special(value)) return *piece;
  if (options_.host && (value.op == Op::add || value.op == Op::sub || value.op == Op::mul)) {
    graph::IntRange range = values_.range(id), all;
    if (range.lo == all.lo || range.hi == all.hi) {
      std::string name = fmt::format("tg_host_{}", graph::info(value.op).name);
      return expand({name + "($0, $1, &overflow)", postfix}, value);
    }
  }
  if (value.op == Op::add) return sum(value);
  return expand(pattern(value), value);
}

std::optional<Piece> Expressions::special(const Value& value) {
  const Words& words = dialect_.words;
  Type type = data_type(values_, value);
  bool same = value.operands.size() == 2 && value.operands[0] == value.operands[1];
  switch (value.op) {
  case Op::eq:
  case Op::ne:
  case Op::lt:
  case Op::le: {
    // Compilers warn about a comparison of an integer with itself.
    if (!same || kernel::is_real(type)) return std::nullopt;
    bool holds = value.op == Op::eq || value.op == Op::le;
    return Piece{std::string((holds ? words.true_value : words.false_value).text()), primary};
  }
  case Op::floordiv:
  case Op::mod: {
    if (kernel::is_real(type)) return std::nullopt;
    bool plain =
        values_.range(value.operands[0]).lo >= 0 && values_.range(value.operands[1]).lo > 0;
    if (!plain) return std::nullopt;
    if (!options_.host && !values_.as_integer(value.operands[1]))
      for (const OpOverride& o : dialect_.natural_ops)
        if (o.op == value.op) return expand(o.row.integer, value);
    return expand({value.op == Op::mod ? "$0 % $1" : "$0 / $1", multiplicative}, value);
  }
  case Op::shr: {
    auto amount = values_.as_integer(value.operands[1]);
    if (!amount || *amount < 0 || *amount >= (type == Type::i32 ? 32 : 64)) return std::nullopt;
    return expand({"$0 >> $1", shift}, value);
  }
  default: return std::nullopt;
  }
}

/// `x` where the value is `-x` in a form that a sum can subtract.
std::optional<Piece> Expressions::without_sign(ValueId id) {
  const Value& value = values_[id];
  if (!temporaries_[id.value].empty()) return std::nullopt;
  auto negative = [&](ValueId v) {
    auto literal = values_.as_integer(v);
    return literal && *literal < 0 && *literal > -2147483648LL;
  };
  if (negative(id)) return integer(-*values_.as_integer(id), value.type);
  if (value.form != Form::operation || !kernel::is_integer(value.type)) return std::nullopt;
  if (value.op == Op::neg) return render(value.operands[0]);
  if (value.op != Op::mul) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    if (!negative(value.operands[i])) continue;
    int64_t factor = -*values_.as_integer(value.operands[i]);
    Piece other = render(value.operands[1 - i]);
    if (factor == 1) return other;
    return Piece{fmt::format("{} * {}", bracket(other, multiplicative), factor), multiplicative};
  }
  return std::nullopt;
}

Piece Expressions::sum(const Value& value) {
  ValueId a = value.operands[0], b = value.operands[1];
  auto subtrahend = without_sign(b);
  if (!subtrahend && kernel::is_integer(value.type)) {
    subtrahend = without_sign(a);
    if (subtrahend) std::swap(a, b);
  }
  if (!subtrahend) return expand(pattern(value), value);
  return {bracket(render(a), additive) + " - " + bracket(*subtrahend, multiplicative), additive};
}

Piece Expressions::expand(const Pattern& pattern, const Value& value) {
  Type type = data_type(values_, value);
  std::string out, helper(pattern.text);
  if (size_t at = helper.find("$t"); at != helper.npos) helper.replace(at, 2, suffix(type));
  use_helpers(helper);
  std::string_view text = pattern.text;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      out += text[i];
      continue;
    }
    char what = text[++i];
    if (what == 't') {
      out += suffix(type);
    } else if (what == 's') {
      if (type == Type::f32) out += dialect_.words.function_suffix_f32.text();
    } else {
      size_t operand = static_cast<size_t>(what - '0');
      bool argument = i >= 2 && (text[i - 2] == '(' || text.substr(0, i - 1).ends_with(", ")) &&
                      i + 1 < text.size() && (text[i + 1] == ')' || text[i + 1] == ',');
      Precedence least = argument ? lowest : operand_precedence(pattern.precedence, operand == 0);
      Piece piece = render(value.operands[operand]);
      // Compilers advise brackets in `a && b || c`, but a chain of either needs none.
      if (least == logical_or && piece.precedence == logical_and) least = primary;
      out += bracket(piece, least);
    }
  }
  return {out, pattern.precedence};
}

void Expressions::use_helpers(std::string_view text) {
  for (size_t at = text.find("tg_"); at != text.npos; at = text.find("tg_", at + 1)) {
    size_t end = at;
    while (end < text.size() &&
           (isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
      ++end;
    helpers_.emplace(text.substr(at, end - at));
  }
}

std::string Expressions::move(std::string_view pattern, std::string_view pointer,
                              std::string_view offset, const Piece& value) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '$') {
      out += pattern[i];
      continue;
    }
    char what = pattern[++i];
    bool cast = i >= 2 && pattern[i - 2] == ')';
    if (what == 'v')
      out += bracket(value, cast ? prefix : lowest);
    else
      out += what == 'p' ? pointer : offset;
  }
  use_helpers(pattern);
  return out;
}

} // namespace tang::print

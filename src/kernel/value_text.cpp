#include "kernel/value_text.h"
#include "base/check.h"
#include <cmath>
#include <unordered_set>

namespace tang::kernel {
namespace {

/// How tightly text holds together; an operand that holds less tightly needs brackets.
enum Level {
  any_level,
  or_level,
  and_level,
  not_level,
  compare_level,
  sum_level,
  product_level,
  tight
};

struct Text {
  std::string text;
  Level level = tight;
};

/// An integer whose type its surroundings tell is written without it.
Text literal(const Value& v, Type told) {
  if (v.type == Type::boolean) return {v.integer ? "true" : "false", tight};
  std::string text = is_real(v.type) ? real_text(v.real, v.type) : std::to_string(v.integer);
  if (is_integer(v.type) && v.type != told) text += name(v.type);
  return {text, text[0] == '-' ? sum_level : tight};
}

/// What tells the type of an operand that is a literal: the other operand, or arm of a choice.
Type told_type(const ValueStore& store, const Value& v, size_t operand, Type plain) {
  if (v.form != Form::operation || v.operands.size() < 2) return plain;
  size_t first = v.op == Op::select ? 1 : 0;
  if (operand < first) return plain;
  const Value& other = store[v.operands[operand == first ? first + 1 : first]];
  return other.form == Form::literal ? plain : other.type;
}

Level level_of(Op op) {
  switch (op) {
  case Op::logical_or: return or_level;
  case Op::logical_and: return and_level;
  case Op::logical_not: return not_level;
  case Op::eq:
  case Op::ne:
  case Op::lt:
  case Op::le: return compare_level;
  case Op::add:
  case Op::sub:
  case Op::neg: return sum_level;
  case Op::mul:
  case Op::div: return product_level;
  default: return tight;
  }
}

std::string wrapped(const Text& t, Level least) {
  return t.level < least ? "(" + t.text + ")" : t.text;
}

Text operation(Op op, const std::vector<const Text*>& in) {
  Level level = level_of(op);
  std::string_view word = graph::info(op).text;
  if (level == tight) {
    std::string text = std::string(word) + "(";
    for (size_t i = 0; i < in.size(); ++i) text += (i ? ", " : "") + in[i]->text;
    return {text + ")", tight};
  }
  auto above = [](Level l) { return static_cast<Level>(l + 1); };
  if (op == Op::logical_not) return {"not " + wrapped(*in[0], level), level};
  if (op == Op::neg) return {"-" + wrapped(*in[0], product_level), level};
  bool spaced = level != product_level || op == Op::div;
  std::string left = wrapped(*in[0], level == compare_level ? above(level) : level);
  std::string right = wrapped(*in[1], above(level));
  std::string_view space = spaced ? " " : "";
  return {fmt::format("{0}{1}{2}{1}{3}", left, space, word, right), level};
}

Text text_of(const Value& v, const std::vector<const Text*>& in, const ValueNames& names) {
  switch (v.form) {
  case Form::literal: return literal(v, Type::boolean);
  case Form::variable: return {names.variable(VarId(v.ref)), tight};
  case Form::element: {
    std::string text = names.tensor(TensorId(v.ref)) + "[";
    for (size_t i = 0; i < in.size(); ++i) text += (i ? ", " : "") + in[i]->text;
    text += "]";
    bool same = !names.holds || names.holds(TensorId(v.ref)) == v.type;
    return {same ? text : fmt::format("as<{}>({})", name(v.type), text), tight};
  }
  case Form::operation: return operation(v.op, in);
  case Form::convert: return {fmt::format("convert<{}>({})", name(v.type), in[0]->text), tight};
  case Form::round:
    return {fmt::format("round<{}>({})", graph::info(v.to).name, in[0]->text), tight};
  }
  return {};
}

} // namespace

std::string real_text(double value, Type type) {
  if (std::isnan(value)) return type == Type::f64 ? "nan64" : "nan";
  if (std::isinf(value))
    return fmt::format("{}inf{}", value < 0 ? "-" : "", type == Type::f64 ? "64" : "");
  std::string text =
      type == Type::f32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return type == Type::f64 ? text + "f64" : text;
}

std::vector<std::string> texts_of(const ValueStore& store, std::span<const ValueId> roots,
                                  const ValueNames& names,
                                  const std::function<std::string(Type, std::string)>& define,
                                  LiteralTypes literals) {
  constexpr size_t longest = 400, longest_repeated = 40;
  std::vector<ValueId> order = reading_order(store, roots);
  std::unordered_map<ValueId, int> uses;
  for (ValueId id : order)
    for (ValueId operand : store[id].operands) ++uses[operand];
  for (ValueId root : roots) ++uses[root];
  std::unordered_set<ValueId> is_root(roots.begin(), roots.end());

  std::unordered_map<ValueId, Text> texts;
  std::vector<const Text*> operands;
  std::vector<Text> bare;
  for (ValueId id : order) {
    const Value& v = store[id];
    operands.clear();
    bare.clear();
    bare.reserve(v.operands.size());
    for (size_t i = 0; i < v.operands.size(); ++i) {
      const Value& o = store[v.operands[i]];
      if (o.form == Form::literal)
        operands.push_back(&bare.emplace_back(literal(o, told_type(store, v, i, literals.plain))));
      else
        operands.push_back(&texts.at(v.operands[i]));
    }
    Text text = text_of(v, operands, names);
    // A text that was used for the last time is not needed any more.
    for (ValueId operand : v.operands)
      if (--uses[operand] == 0) texts.erase(operand);
    if (v.form == Form::literal) {
      texts[id] = std::move(text);
      continue;
    }
    bool repeated = uses[id] > 1;
    bool name_it = text.text.size() > (repeated ? longest_repeated : longest);
    if (name_it && !(is_root.contains(id) && !repeated))
      text = {define(v.type, std::move(text.text)), tight};
    texts[id] = std::move(text);
  }
  std::vector<std::string> result;
  for (ValueId root : roots) {
    bool is_literal = root && store[root].form == Form::literal;
    result.push_back(!root        ? std::string()
                     : is_literal ? literal(store[root], literals.root).text
                                  : texts.at(root).text);
  }
  return result;
}

} // namespace tang::kernel

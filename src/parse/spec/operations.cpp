// Calls, conversions and operators: what they take and what they give.
#include "parse/spec/values.h"

namespace tang::parse::spec {

using namespace kernel;
using graph::Op;
using graph::OperandClass;

namespace {

/// Functions are spelled with letters; operators have signs, and `and`, `or`, `not`.
std::optional<Op> function_named(std::string_view name) {
  auto op = graph::op_of_function(name);
  if (!op || graph::info(*op).arity < 1) return std::nullopt;
  return op;
}

bool in_class(Type type, OperandClass wanted) {
  switch (wanted) {
  case OperandClass::num: return is_integer(type) || is_real(type);
  case OperandClass::real: return is_real(type);
  case OperandClass::integer: return is_integer(type);
  case OperandClass::boolean: return type == Type::boolean;
  case OperandClass::any:
  case OperandClass::same: return true;
  }
  return true;
}

std::string_view words_of(OperandClass wanted) {
  switch (wanted) {
  case OperandClass::num: return "numbers";
  case OperandClass::real: return "reals";
  case OperandClass::integer: return "integers";
  case OperandClass::boolean: return "conditions";
  case OperandClass::any:
  case OperandClass::same: return "values";
  }
  return "";
}

} // namespace

ValueReader::Read ValueReader::element(const Token& token, std::optional<Type> as) {
  if (!tensors_) {
    cursor_.report(Kind::type_mismatch, cursor_.span(token), "host values read no tensor");
    return std::nullopt;
  }
  auto ref = place_of(token);
  if (!ref) return std::nullopt;
  const Tensor& tensor = (*tensors_)[ref->tensor.value];
  Span span = cursor_.since(cursor_.span(token));
  if (tensor.memory != Memory::registers || is_fragment(tensor)) {
    cursor_
        .report(Kind::type_mismatch, span, "a value reads `{}`, {} in {} memory", tensor.name,
                graph::info(tensor.type).name, atomics::name(tensor.memory))
        .help(fmt::format("load it first: `x: {} <- Move({}[...])`",
                          kernel::name(register_type(tensor.type)), tensor.name));
    return std::nullopt;
  }
  Type type = as.value_or(register_type(tensor.type));
  if (is_real(type) != is_real(register_type(tensor.type)) ||
      (type == Type::boolean) != (tensor.type == ElemType::boolean)) {
    cursor_.report(Kind::type_mismatch, span, "an element of `{}` is not read as {}", tensor.name,
                   kernel::name(type));
    return std::nullopt;
  }
  return Operand{store_.element(ref->tensor, type, ref->coordinates), 0, span};
}

ValueReader::Read ValueReader::conversion(const Token& token) {
  std::string_view word = cursor_.text(token);
  cursor_.take(); // `<`
  std::optional<Type> type;
  std::optional<graph::ElemType> format;
  if (word == "round")
    format = element_type();
  else
    type = machine_type();
  if ((!type && !format) || !cursor_.expect(">") || !cursor_.expect("(")) return std::nullopt;
  if (word == "as") {
    if (cursor_.peek().kind != TokenKind::name) return cursor_.expected("a place"), std::nullopt;
    Read read = element(cursor_.take(), type);
    return read && cursor_.expect(")") ? read : std::nullopt;
  }
  Read inner = disjunction();
  if (!inner || !cursor_.expect(")")) return std::nullopt;
  ValueId from = settle(*inner, plain_);
  if (!from) return std::nullopt;
  Type have = store_[from].type;
  Value v;
  v.operands = {from};
  if (word == "convert") {
    v.form = Form::convert, v.type = *type;
    if (have == *type || *type == Type::boolean) {
      cursor_.report(Kind::type_mismatch, cursor_.since(cursor_.span(token)),
                     "{} is not converted to {}", kernel::name(have), kernel::name(*type));
      return std::nullopt;
    }
  } else {
    v.form = Form::round, v.type = have, v.to = *format;
    bool real = graph::scalar_of(*format) == graph::Scalar::real;
    if (have == Type::boolean || *format == ElemType::boolean || real != is_real(have)) {
      cursor_.report(Kind::type_mismatch, cursor_.since(cursor_.span(token)),
                     "{} is not rounded to {}", kernel::name(have), graph::info(*format).name);
      return std::nullopt;
    }
  }
  return Operand{store_.exactly(std::move(v)), 0, cursor_.since(cursor_.span(token))};
}

ValueReader::Read ValueReader::call(const Token& token) {
  std::string name(cursor_.text(token));
  auto op = function_named(name);
  if (!op) {
    std::vector<std::string> functions;
    for (int n = 0; n <= static_cast<int>(Op::cast); ++n)
      if (std::string_view text = graph::info(static_cast<Op>(n)).text; function_named(text))
        functions.emplace_back(text);
    cursor_.report(Kind::unknown_function, cursor_.span(token), "there is no function `{}`", name)
        .help(name_help(name, "function", functions));
    return std::nullopt;
  }
  cursor_.take(); // `(`
  std::vector<Operand> operands;
  if (!cursor_.accept(")")) {
    do {
      Read operand = disjunction();
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    } while (cursor_.accept(","));
    if (!cursor_.expect(")")) return std::nullopt;
  }
  Span place = cursor_.since(cursor_.span(token));
  if (operands.size() != static_cast<size_t>(graph::info(*op).arity)) {
    cursor_.report(Kind::argument_count, place, "`{}` takes {} values and is given {}", name,
                   graph::info(*op).arity, operands.size());
    return std::nullopt;
  }
  return operation(*op, std::move(operands), place);
}

/// Operands from `first` on get one type: that of those that have one.
bool ValueReader::agree(std::vector<Operand>& operands, size_t first, Span place) {
  Type told = plain_;
  for (size_t i = first; i < operands.size(); ++i)
    if (operands[i].id) told = type(operands[i]);
  for (size_t i = first; i < operands.size(); ++i) {
    operands[i].id = settle(operands[i], told);
    if (!operands[i].id) return false;
    if (type(operands[i]) == type(operands[first])) continue;
    cursor_
        .report(Kind::type_mismatch, place, "operands of two types, {} and {}",
                kernel::name(type(operands[first])), kernel::name(type(operands[i])))
        .help("`convert<f32>(x)` and the like convert");
    return false;
  }
  return true;
}

bool ValueReader::takes(Op op, const std::vector<Operand>& operands, Span place) {
  const graph::OpInfo& info = graph::info(op);
  for (const Operand& operand : operands)
    if (op != Op::select && !in_class(type(operand), info.operands)) {
      auto& report =
          cursor_.report(Kind::type_mismatch, place, "`{}` takes {}, and this is {}", info.text,
                         words_of(info.operands), kernel::name(type(operand)));
      if (op == Op::div) report.help("integers are divided by `floordiv(a, b)`");
      return false;
    }
  return true;
}

ValueReader::Read ValueReader::operation(Op op, std::vector<Operand> operands, Span place) {
  bool choice = op == Op::select;
  if (choice) {
    operands[0].id = settle(operands[0], plain_);
    if (!operands[0].id) return std::nullopt;
    if (type(operands[0]) != Type::boolean) {
      cursor_.report(Kind::type_mismatch, operands[0].span,
                     "`where` chooses by a condition, and "
                     "this is {}",
                     kernel::name(type(operands[0])));
      return std::nullopt;
    }
  }
  if (!agree(operands, choice ? 1 : 0, place) || !takes(op, operands, place)) return std::nullopt;
  Value v;
  v.form = Form::operation, v.op = op;
  v.type = graph::info(op).result == OperandClass::boolean ? Type::boolean : type(operands.back());
  for (const Operand& operand : operands) v.operands.push_back(operand.id);
  return Operand{store_.exactly(std::move(v)), 0, place};
}

} // namespace tang::parse::spec

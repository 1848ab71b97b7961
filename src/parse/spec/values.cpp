#include "parse/spec/values.h"
#include <cmath>
#include <limits>

namespace tang::parse::spec {

using namespace kernel;
using graph::Op;
using graph::OperandClass;

namespace {

/// Brackets, calls and operators that nest to the right, inside each other.
constexpr int deepest = 200;

struct Deeper {
  explicit Deeper(int& depth) : depth(++depth) {}
  ~Deeper() { --depth; }
  int& depth;
};

constexpr Type machine_types[] = {Type::boolean, Type::i32, Type::i64,
                                  Type::index,   Type::f32, Type::f64};

std::optional<Type> type_named(std::string_view name) {
  for (Type type : machine_types)
    if (kernel::name(type) == name) return type;
  return std::nullopt;
}

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

void report_unknown(Cursor& cursor, const Token& token, std::string_view kind,
                    const std::vector<std::string>& candidates) {
  std::string name(cursor.text(token));
  cursor.report(Kind::unknown_name, cursor.span(token), "nothing here is called `{}`", name)
      .help(name_help(name, kind, candidates));
}

std::optional<Type> ValueReader::machine_type() {
  auto token = cursor_.name("a type");
  if (!token) return std::nullopt;
  auto type = type_named(cursor_.text(*token));
  if (!type)
    cursor_.report(Kind::unknown_type, cursor_.span(*token), "`{}` is no type of a value",
                   cursor_.text(*token))
        .help("the types are bool, i32, i64, index, f32 and f64");
  return type;
}

std::optional<graph::ElemType> ValueReader::element_type() {
  auto token = cursor_.name("an element type");
  if (!token) return std::nullopt;
  auto type = graph::type_of_name(cursor_.text(*token));
  if (!type)
    cursor_.report(Kind::unknown_type, cursor_.span(*token), "`{}` is no element type",
                   cursor_.text(*token))
        .help("the element types are f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i16 i8 i4 u32 u8 u4 "
              "bool");
  return type;
}

const Entry* ValueReader::resolve(const Token& token, bool tensor) {
  std::string name(cursor_.text(token));
  Entry* entry = names_.find(name);
  if (!entry) {
    report_unknown(cursor_, token, tensor ? "tensor" : "variable", names_.all(tensor));
    names_.add(name, {}); // once is enough
    return nullptr;
  }
  if (entry->kind == Entry::Kind::bad) return nullptr;
  if (entry->kind == Entry::Kind::waiting) {
    cursor_.report(Kind::use_before_definition, cursor_.span(token),
                   "`{}` comes from the flat number, and is not defined yet", name);
    return nullptr;
  }
  if ((entry->kind == Entry::Kind::tensor) != tensor) {
    cursor_.report(Kind::type_mismatch, cursor_.span(token), "`{}` is {}", name,
                   tensor ? "no tensor" : "a tensor: an element of it is `" + name + "[...]`");
    return nullptr;
  }
  return entry;
}

ValueId ValueReader::settle(const Operand& operand, Type told) {
  if (operand.id) return operand.id;
  if (operand.beyond) {
    cursor_.report(Kind::number_out_of_range, operand.span, "a number beyond 9223372036854775807");
    return {};
  }
  if (!is_integer(told)) {
    cursor_
        .report(Kind::type_mismatch, operand.span, "an integer stands where {} is expected",
                kernel::name(told))
        .help(told == Type::f64 ? "write it with a point and its type: `1.0f64`"
                                : "write it with a point: `1.0`");
    return {};
  }
  bool fits = told != Type::i32 ||
              graph::range_of(ElemType::i32).contains({operand.integer, operand.integer});
  if (!fits) {
    cursor_.report(Kind::number_out_of_range, operand.span, "{} does not fit i32",
                   operand.integer);
    return {};
  }
  return store_.integer(operand.integer, told);
}

ValueId ValueReader::value(Type told) {
  Read read = disjunction();
  if (!read) return {};
  return settle(*read, is_integer(told) ? told : plain_);
}

ValueId ValueReader::value_of(Type wanted, std::string_view what) {
  Read read = disjunction();
  if (!read) return {};
  ValueId id = settle(*read, wanted);
  if (!id) return {};
  if (store_[id].type == wanted) return id;
  cursor_.report(Kind::type_mismatch, read->span, "{} is {}, and this is {}", what,
                 kernel::name(wanted), kernel::name(store_[id].type));
  return {};
}

ValueId ValueReader::index(std::string_view what) {
  Read read = disjunction();
  if (!read) return {};
  ValueId id = settle(*read, plain_);
  if (!id || is_integer(store_[id].type)) return id;
  cursor_.report(Kind::type_mismatch, read->span, "{} is an integer, and this is {}", what,
                 kernel::name(store_[id].type));
  return {};
}

bool ValueReader::list(std::string_view close, std::vector<ValueId>& values,
                       std::string_view what) {
  if (cursor_.accept(close)) return true;
  do {
    ValueId id = index(what);
    if (!id) return false;
    values.push_back(id);
  } while (cursor_.accept(","));
  return cursor_.expect(close);
}

std::optional<Ref> ValueReader::place() {
  auto token = cursor_.name("a place, `name[...]`,");
  return token ? place_of(*token) : std::nullopt;
}

std::optional<Ref> ValueReader::place_of(const Token& name) {
  const Entry* entry = resolve(name, true);
  TensorId tensor = entry ? entry->tensor : TensorId();
  Ref ref{tensor, {}};
  if (!cursor_.expect("[") || !list("]", ref.coordinates, "a coordinate") || !tensor)
    return std::nullopt;
  size_t rank = (*tensors_)[tensor.value].shape.size();
  if (ref.coordinates.size() == rank) return ref;
  cursor_.report(Kind::wrong_rank, cursor_.since(cursor_.span(name)),
                 "`{}` has {} modes and is given {} coordinates", cursor_.text(name), rank,
                 ref.coordinates.size());
  return std::nullopt;
}

ValueReader::Read ValueReader::disjunction() {
  Deeper deeper(depth_);
  if (depth_ > deepest) {
    cursor_.report(Kind::nesting_too_deep, cursor_.here(), "a value nests deeper than {} levels",
                   deepest);
    return std::nullopt;
  }
  Read left = conjunction();
  while (left && cursor_.accept("or")) {
    Read right = conjunction();
    if (!right) return std::nullopt;
    left = operation(Op::logical_or, {*left, *right}, join(left->span, right->span));
  }
  return left;
}

ValueReader::Read ValueReader::conjunction() {
  Read left = negation();
  while (left && cursor_.accept("and")) {
    Read right = negation();
    if (!right) return std::nullopt;
    left = operation(Op::logical_and, {*left, *right}, join(left->span, right->span));
  }
  return left;
}

ValueReader::Read ValueReader::negation() {
  if (!cursor_.at("not")) return comparison();
  Span first = cursor_.span(cursor_.take());
  Read inner = comparison();
  if (!inner) return std::nullopt;
  return operation(Op::logical_not, {*inner}, join(first, inner->span));
}

ValueReader::Read ValueReader::comparison() {
  Read left = sum();
  constexpr std::pair<std::string_view, Op> signs[] = {
      {"==", Op::eq}, {"!=", Op::ne}, {"<", Op::lt}, {"<=", Op::le}};
  for (const auto& [sign, op] : signs) {
    if (!left || !cursor_.at(sign)) continue;
    cursor_.take();
    Read right = sum();
    if (!right) return std::nullopt;
    return operation(op, {*left, *right}, join(left->span, right->span));
  }
  if (left && cursor_.at(">")) {
    cursor_.report(Kind::foreign_operator, cursor_.here(), "`>` is not part of the language")
        .help("write `b < a` for `a > b`");
    return std::nullopt;
  }
  return left;
}

ValueReader::Read ValueReader::negated(const Operand& o, Span place) {
  if (o.id) {
    const Value& v = store_[o.id];
    if (v.form == Form::literal && is_real(v.type))
      return Operand{store_.real(-v.real, Type(v.type)), 0, place};
    if (v.form == Form::literal && is_integer(v.type) && v.integer != INT64_MIN)
      return Operand{store_.integer(-v.integer, Type(v.type)), 0, place};
    return operation(Op::neg, {o}, place);
  }
  return Operand{{}, o.beyond || o.integer == INT64_MIN ? INT64_MIN : -o.integer, place};
}

ValueReader::Read ValueReader::sum() {
  bool negative = cursor_.at("-");
  Span first = cursor_.here();
  if (negative) cursor_.take();
  Read left = product();
  if (left && negative) left = negated(*left, join(first, left->span));
  while (left && (cursor_.at("+") || cursor_.at("-"))) {
    Op op = cursor_.text(cursor_.take()) == "+" ? Op::add : Op::sub;
    Read right = product();
    if (!right) return std::nullopt;
    left = operation(op, {*left, *right}, join(left->span, right->span));
  }
  return left;
}

ValueReader::Read ValueReader::product() {
  Read left = factor();
  while (left && (cursor_.at("*") || cursor_.at("/"))) {
    Op op = cursor_.text(cursor_.take()) == "*" ? Op::mul : Op::div;
    Read right = factor();
    if (!right) return std::nullopt;
    left = operation(op, {*left, *right}, join(left->span, right->span));
  }
  return left;
}

ValueReader::Read ValueReader::number(const Token& token) {
  auto number = number_of(cursor_.text(token));
  Span span = cursor_.span(token);
  if (!number) return std::nullopt; // reported
  if (number->is_real) {
    Type type = number->suffix == "f64" ? Type::f64 : Type::f32;
    return Operand{store_.real(number->real, type), 0, span};
  }
  bool least = number->integer == uint64_t{1} << 63;
  auto value = least ? INT64_MIN : static_cast<int64_t>(number->integer);
  Operand operand{{}, value, span, least};
  if (number->suffix.empty()) return operand;
  operand.id = settle(operand, *type_named(number->suffix));
  return operand.id ? Read(operand) : std::nullopt;
}

ValueReader::Read ValueReader::factor() {
  const Token token = cursor_.peek();
  if (token.kind == TokenKind::number) return number(cursor_.take());
  if (token.kind == TokenKind::name || token.kind == TokenKind::shared)
    return named(cursor_.take());
  if (cursor_.accept("(")) {
    Read inner = disjunction();
    if (!inner || !cursor_.expect(")")) return std::nullopt;
    inner->span = cursor_.since(cursor_.span(token));
    return inner;
  }
  cursor_.expected("a value");
  return std::nullopt;
}

ValueReader::Read ValueReader::named(const Token& token) {
  std::string_view word = cursor_.text(token);
  Span span = cursor_.span(token);
  bool called = cursor_.at("("), typed = cursor_.at("<");
  if (word == "true" || word == "false") return Operand{store_.boolean(word == "true"), 0, span};
  for (Type type : {Type::f32, Type::f64}) {
    std::string_view bits = type == Type::f64 ? "64" : "";
    double value = word == "inf" + std::string(bits)   ? INFINITY
                   : word == "nan" + std::string(bits) ? NAN
                                                       : 0;
    if (value != 0) return Operand{store_.real(value, type), 0, span};
  }
  if (typed && (word == "convert" || word == "round" || word == "as")) return conversion(token);
  if (called) return call(token);
  if (cursor_.at("[")) return element(token, {});
  const Entry* entry = resolve(token, false);
  if (!entry) return std::nullopt;
  if (entry->kind == Entry::Kind::value) return Operand{entry->value, 0, span};
  Value v;
  v.form = Form::variable, v.type = store_[entry->var].type, v.ref = entry->var.value;
  return Operand{store_.exactly(std::move(v)), 0, span};
}

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
      cursor_.report(Kind::type_mismatch, operands[0].span, "`where` chooses by a condition, and "
                     "this is {}", kernel::name(type(operands[0])));
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

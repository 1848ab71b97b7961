#include "parse/spec/values.h"
#include <cmath>
#include <limits>

namespace tang::parse::spec {

using namespace kernel;
using graph::Op;

namespace {

/// Brackets, calls and operators that nest to the right, inside each other.
constexpr int deepest_value = 200;

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
    cursor_
        .report(Kind::unknown_type, cursor_.span(*token), "`{}` is no type of a value",
                cursor_.text(*token))
        .help("the types are bool, i32, i64, index, f32 and f64");
  return type;
}

std::optional<graph::ElemType> ValueReader::element_type() {
  auto token = cursor_.name("an element type");
  if (!token) return std::nullopt;
  auto type = graph::type_of_name(cursor_.text(*token));
  if (!type)
    cursor_
        .report(Kind::unknown_type, cursor_.span(*token), "`{}` is no element type",
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
    cursor_.report(Kind::number_out_of_range, operand.span, "{} does not fit i32", operand.integer);
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
  if (depth_ > deepest_value) {
    cursor_.report(Kind::nesting_too_deep, cursor_.here(), "a value nests deeper than {} levels",
                   deepest_value);
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

} // namespace tang::parse::spec

// Statements that make or move values: definitions, moves, instructions, specs.
#include "kernel/names.h"
#include "kernel/var_range.h"
#include "parse/spec/kernels.h"

namespace tang::parse::spec {

using namespace kernel;

namespace {

constexpr std::string_view spec_kinds[] = {
    "Move",     "MatMul", "UnaryPointwise", "BinaryPointwise", "Reduction", "Shfl", "Init",
    "Allocate", "Spec"};

} // namespace

/// `name: type in lo..hi <- ...`
bool KernelReader::definition(Body& statements) {
  const Token name = cursor_.take();
  cursor_.take(); // `:`
  Var var;
  var.name = wished_name(name_of(name));
  bool ranged = false;
  auto fail = [&] {
    Entry* entry = names_.find(name_of(name));
    if (entry && entry->kind == Entry::Kind::waiting) entry->kind = Entry::Kind::bad;
    poison(name);
    return false;
  };
  auto type = values_.machine_type();
  if (!type) return fail();
  var.type = *type;
  ranged = cursor_.at("in");
  if (!range(var) || !cursor_.expect("<-")) return fail();
  auto made = [&] { return variable(name, std::move(var)); };
  if (cursor_.accept("Pointwise")) {
    if (!cursor_.expect("(")) return fail();
    ValueId value = values_.value_of(var.type, "`" + name_of(name) + "`");
    if (!value || !cursor_.expect(")")) return fail();
    VarRange follows = range_of_let(store(), value);
    if (!ranged) var.lo = follows.lo, var.hi = follows.hi;
    emit(statements, {kernel::Let{made(), value}});
    return true;
  }
  if (cursor_.accept("Shfl")) {
    if (!cursor_.expect("<")) return fail();
    auto mask = cursor_.integer("the mask of lanes");
    if (!mask || !cursor_.expect(">") || !cursor_.expect("(")) return fail();
    ValueId value = values_.value_of(var.type, "what is exchanged");
    if (!value || !cursor_.expect(")")) return fail();
    emit(statements, {Shfl{made(), value, static_cast<int>(std::clamp<int64_t>(*mask, 0, 32))}});
    return true;
  }
  if (!cursor_.accept("Move")) return cursor_.expected("`Pointwise`, `Move` or `Shfl`"), fail();
  if (!cursor_.expect("(")) return fail();
  Load load;
  auto source = values_.place();
  if (!source || !cursor_.expect(")") || !guard(load.predicate)) return fail();
  load.src = std::move(*source);
  const Tensor& tensor = kernel()[load.src.tensor];
  if (is_fragment(tensor) || is_real(var.type) != is_real(register_type(tensor.type)) ||
      (var.type == Type::boolean) != (tensor.type == ElemType::boolean)) {
    cursor_.report(Kind::type_mismatch, cursor_.span(name),
                   "an element of `{}`, {}, is not moved "
                   "to {}",
                   tensor.name, graph::info(tensor.type).name, kernel::name(var.type));
    return fail();
  }
  if (cursor_.accept("else")) {
    load.otherwise = values_.value_of(var.type, "what stands for the element");
    if (!load.otherwise) return fail();
  }
  if (static_cast<bool>(load.predicate) != static_cast<bool>(load.otherwise)) {
    cursor_.report(Kind::misplaced_guard, cursor_.span(name),
                   "a guarded Move says what stands for the element elsewhere, and no other does: "
                   "`Move(x[i]) if i < N else 0.0`");
    return fail();
  }
  load.var = made();
  emit(statements, {std::move(load)});
  return true;
}

/// `(i, j) <- Delinearize(number; extents)`, `() <- Kind...`
bool KernelReader::tuple(Body& statements) {
  const Token first = cursor_.take();
  if (cursor_.accept(")")) return cursor_.expect("<-") && spec(statements, {}, first);
  std::vector<std::pair<Token, Var>> vars;
  std::vector<bool> ranged;
  do {
    auto name = cursor_.name("the name of a coordinate");
    if (!name) return false;
    Var var{wished_name(name_of(*name)), values_.plain(), {}, {}};
    ranged.push_back(cursor_.at("in"));
    if (!range(var)) return poison(*name), false;
    vars.emplace_back(*name, std::move(var));
  } while (cursor_.accept(","));
  Delinearize made;
  auto rest = [&] {
    if (!cursor_.expect(")") || !cursor_.expect("<-") || !cursor_.expect("Delinearize") ||
        !cursor_.expect("("))
      return false;
    made.value = values_.index("the number");
    return made.value && cursor_.expect(";") && values_.list(")", made.extents, "an extent");
  };
  bool good = rest();
  if (good && made.extents.size() != vars.size()) {
    cursor_.report(Kind::wrong_rank, cursor_.since(cursor_.span(first)),
                   "{} coordinates of {} extents", vars.size(), made.extents.size());
    good = false;
  }
  if (!good) {
    for (const auto& var : vars) poison(var.first);
    return false;
  }
  for (size_t i = 0; i < vars.size(); ++i) {
    Var& var = vars[i].second;
    VarRange follows = range_of_coordinate(store(), made.extents[i]);
    if (!ranged[i]) var.lo = follows.lo, var.hi = follows.hi;
    made.vars.push_back(variable(vars[i].first, std::move(var)));
  }
  emit(statements, {std::move(made)});
  return true;
}

/// `place <- ...`
bool KernelReader::move_to(Body& statements) {
  auto to = values_.place();
  if (!to || !cursor_.expect("<-")) return false;
  auto kind = cursor_.name("`Move` or a kind of instruction");
  if (!kind) return false;
  if (cursor_.at("<")) {
    if (cursor_.peek_second().kind != TokenKind::number)
      return atom(statements, std::move(to), *kind);
    cursor_.take();
    auto width = cursor_.integer("a number of elements");
    if (!width || !cursor_.expect(">")) return false;
    return copy(statements, std::move(*to), static_cast<int>(std::clamp<int64_t>(*width, 0, 4096)));
  }
  kernel::Store store;
  store.dst = std::move(*to);
  if (cursor_.text(*kind) != "Move") {
    cursor_
        .report(Kind::expected_token, cursor_.span(*kind), "`{}` does not store one element",
                cursor_.text(*kind))
        .help("`y[i] <- Move(value)` stores a value, `y[i] <- Move<4>(x[j])` copies elements");
    return false;
  }
  const Tensor& tensor = kernel()[store.dst.tensor];
  if (!cursor_.expect("(")) return false;
  Span place = cursor_.here();
  store.value = values_.value(register_type(tensor.type));
  if (!store.value || !cursor_.expect(")") || !guard(store.predicate)) return false;
  Type type = this->store()[store.value].type;
  bool truth = tensor.type == ElemType::boolean;
  if (is_fragment(tensor) || (type == Type::boolean) != truth ||
      (is_real(type) && graph::scalar_of(tensor.type) != graph::Scalar::real)) {
    cursor_.report(Kind::type_mismatch, place, "{} is not stored to `{}`, {}", kernel::name(type),
                   tensor.name, graph::info(tensor.type).name);
    return false;
  }
  emit(statements, {std::move(store)});
  return true;
}

bool KernelReader::copy(Body& statements, Ref to, int width) {
  Copy made;
  made.dst = std::move(to), made.width = width;
  if (!cursor_.expect("(")) return false;
  auto from = values_.place();
  if (!from || !cursor_.expect(")") || !guard(made.predicate)) return false;
  made.src = std::move(*from);
  emit(statements, {std::move(made)});
  return true;
}

/// `<name>` behind the kind of an instruction.
const atomics::Row* KernelReader::row(const Token& kind, std::string& name) {
  cursor_.take(); // `<`
  auto token = cursor_.name("the name of an instruction");
  if (!token || !cursor_.expect(">")) return nullptr;
  name = name_of(*token);
  const atomics::Row* found = nullptr;
  for (const atomics::Row& row : options_.rows)
    if (!found && row.name == name) found = &row;
  if (!found) found = atomics::find_row(name);
  if (!found) {
    std::vector<std::string> names;
    for (const atomics::Entry& entry : atomics::embedded_rows())
      if (atomics::name(entry.kind) == cursor_.text(kind)) names.emplace_back(entry.name);
    std::string near = nearest_name(name, names);
    auto& report = cursor_.report(Kind::unknown_instruction, cursor_.span(*token),
                                  "no table has an instruction `{}`", name);
    report.help(near.empty() ? "the rows of atomics/*.yaml are the instructions"
                             : fmt::format("did you mean `{}`?", near));
    return nullptr;
  }
  if (atomics::name(found->kind) != cursor_.text(kind)) {
    cursor_.report(Kind::unknown_instruction, cursor_.span(kind), "`{}` is a {}, not a {}", name,
                   atomics::name(found->kind), cursor_.text(kind));
    return nullptr;
  }
  read_.uses.push_back({found, cursor_.span(*token)});
  return found;
}

bool KernelReader::atom(Body& statements, std::optional<Ref> output, const Token& kind) {
  std::string name;
  Atom made;
  made.row = row(kind, name);
  if (!made.row || !cursor_.expect("(")) return false;
  if (output) made.operands.push_back(std::move(*output));
  if (!cursor_.accept(")")) {
    do {
      if (cursor_.peek().kind == TokenKind::number || cursor_.at("-")) {
        auto number = cursor_.integer("a number");
        if (!number) return false;
        made.immediates.push_back(*number);
        continue;
      }
      auto operand = values_.place();
      if (!operand) return false;
      made.operands.push_back(std::move(*operand));
    } while (cursor_.accept(","));
    if (!cursor_.expect(")")) return false;
  }
  if (!guard(made.predicate)) return false;
  emit(statements, {std::move(made)});
  return true;
}

/// `outputs <- Kind(inputs) { body }`, or an instruction without an output.
bool KernelReader::spec(Body& statements, std::vector<TensorId> outputs, const Token& first) {
  auto kind = cursor_.name("a kind of spec");
  if (!kind) return false;
  if (cursor_.at("<")) {
    if (outputs.empty()) return atom(statements, std::nullopt, *kind);
    return cursor_.expected("`(`: an instruction writes to a place, `name[...]`");
  }
  Spec made;
  made.kind = name_of(*kind);
  if (std::find(std::begin(spec_kinds), std::end(spec_kinds), made.kind) == std::end(spec_kinds)) {
    cursor_
        .report(Kind::unknown_function, cursor_.span(*kind), "`{}` is no kind of spec", made.kind)
        .help(name_help(made.kind, "kind", {std::begin(spec_kinds), std::end(spec_kinds)}));
    return false;
  }
  made.outputs = std::move(outputs);
  for (const std::string& line : cursor_.comments_above(first))
    made.comment += (made.comment.empty() ? "" : "\n") + line;
  if (!cursor_.expect("(")) return false;
  if (!cursor_.accept(")") && (!tensors(made.inputs) || !cursor_.expect(")"))) return false;
  if (!cursor_.expect("{")) return false;
  nested(made.body);
  if (!cursor_.expect("}")) return false;
  emit(statements, {std::move(made)});
  return true;
}

} // namespace tang::parse::spec

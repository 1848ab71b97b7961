// The body of a kernel, statement by statement.
#include "parse/spec/kernels.h"
#include "kernel/names.h"
#include "kernel/var_range.h"

namespace tang::parse::spec {

using namespace kernel;

namespace {

/// Bodies in bodies.
constexpr int deepest = 64;

constexpr std::string_view spec_kinds[] = {"Move",           "MatMul",    "UnaryPointwise",
                                           "BinaryPointwise", "Reduction", "Shfl",
                                           "Init",           "Allocate",  "Spec"};

} // namespace

ReadKernel KernelReader::run() {
  const Token first = cursor_.take(); // `kernel`
  kernel().comment = cursor_.comments_above(first);
  auto name = cursor_.name("the name of a kernel");
  if (name) kernel().name = name_of(*name), read_.name = cursor_.span(*name);
  if (!name || !cursor_.expect("{") || !cursor_.end_of_line()) cursor_.skip_line();
  head();
  body(kernel().body);
  if (!cursor_.accept("}"))
    cursor_.report(Kind::unclosed_bracket, read_.name, "the body of kernel `{}` is not closed",
                   kernel().name);
  return std::move(read_);
}

/// Statements up to a `}` that is left to the caller.
void KernelReader::body(Body& statements) {
  for (;;) {
    cursor_.skip_blank_lines();
    if (cursor_.at_end() || cursor_.at("}")) return;
    size_t before = cursor_.mark();
    if (statement(statements) && cursor_.end_of_line()) continue;
    // What stands in a body whose head is wrong is still looked at.
    bool opened = cursor_.skip_line();
    if (opened) {
      Body unused;
      nested(unused);
      cursor_.accept("}");
    }
    if (cursor_.mark() == before) return;
  }
}

void KernelReader::nested(Body& statements) {
  if (++depth_ > deepest) {
    if (depth_ == deepest + 1)
      cursor_.report(Kind::nesting_too_deep, cursor_.here(), "bodies nest deeper than {} levels",
                     deepest);
    // Nothing in it is read.
    for (int open = 1; open > 0 && !cursor_.at_end();) {
      if (cursor_.at("{")) ++open;
      if (cursor_.at("}") && --open == 0) break;
      cursor_.take();
    }
  } else {
    body(statements);
  }
  --depth_;
}

bool KernelReader::statement(Body& statements) {
  const Token first = cursor_.peek();
  read_.statements.push_back(cursor_.span(first));
  size_t place = read_.statements.size();
  size_t count = statements.size();
  bool good = false;
  if (first.kind == TokenKind::shared) {
    good = shared_term();
  } else if (keyword("for")) {
    good = loop(statements);
  } else if (keyword("if")) {
    good = branch(statements);
  } else if (keyword("allocate")) {
    cursor_.take();
    good = allocation(statements);
  } else if (keyword("barrier")) {
    cursor_.take();
    emit(statements, {Barrier{}});
    good = true;
  } else if (cursor_.at("(")) {
    good = tuple(statements);
  } else if (first.kind == TokenKind::name && cursor_.text(cursor_.peek_second()) == ":") {
    good = definition(statements);
  } else if (first.kind == TokenKind::name && cursor_.text(cursor_.peek_second()) == "[") {
    good = move_to(statements);
  } else if (first.kind == TokenKind::name) {
    std::vector<TensorId> outputs;
    good = tensors(outputs) && cursor_.expect("<-") && spec(statements, std::move(outputs), first);
  } else {
    cursor_.expected("a statement");
  }
  // Shared terms, and what was not understood, are no statements.
  if (statements.size() == count && read_.statements.size() == place) read_.statements.pop_back();
  return good;
}

bool KernelReader::define(const Token& name, Entry entry, bool stays) {
  entry.defined = cursor_.span(name);
  std::string text = name_of(name);
  if (names_.add(text, entry, stays)) return true;
  const Entry* before = names_.find(text);
  if (before->kind == Entry::Kind::bad) return true;
  auto& report = cursor_.report(Kind::duplicate_definition, cursor_.span(name),
                                "`{}` is defined already", text);
  if (before->defined) report.note(before->defined, "here");
  report.help("names are free again when their body has ended; until then `" + wished_name(text) +
              ".2` is another name");
  return true; // the line itself is understood
}

VarId KernelReader::variable(const Token& name, Var var) {
  Entry* entry = names_.find(name_of(name));
  if (entry && entry->kind == Entry::Kind::waiting) {
    if (store()[entry->var].type != var.type)
      cursor_.report(Kind::type_mismatch, cursor_.span(name), "`{}` is {}, and an address is {}",
                     name_of(name), kernel::name(var.type), kernel::name(store()[entry->var].type));
    entry->kind = Entry::Kind::variable;
    return entry->var;
  }
  VarId id = store().add_var(std::move(var));
  define(name, {Entry::Kind::variable, id, {}, {}, {}});
  return id;
}

bool KernelReader::guard(ValueId& predicate) {
  if (!cursor_.accept("if")) return true;
  predicate = values_.condition();
  return static_cast<bool>(predicate);
}

bool KernelReader::tensors(std::vector<TensorId>& list) {
  do {
    auto name = cursor_.name("the name of a tensor");
    if (!name) return false;
    const Entry* entry = values_.resolve(*name, true);
    if (!entry) return false;
    list.push_back(entry->tensor);
  } while (cursor_.accept(","));
  return true;
}

/// `$1: f32 <- Pointwise(value)`
bool KernelReader::shared_term() {
  const Token name = cursor_.take();
  auto type = cursor_.expect(":") ? values_.machine_type() : std::nullopt;
  bool good = type && cursor_.expect("<-") && cursor_.expect("Pointwise") && cursor_.expect("(");
  ValueId id = good ? values_.value_of(*type, "the term") : ValueId();
  if (!id || !cursor_.expect(")")) return poison(name), false;
  return define(name, {Entry::Kind::value, {}, {}, id, {}});
}

bool KernelReader::loop(Body& statements) {
  cursor_.take();
  auto name = cursor_.name("the name of the loop's variable");
  if (!name) return false;
  names_.open();
  For made;
  Var var;
  auto header = [&] {
    var.name = wished_name(name_of(*name)), var.type = values_.plain();
    if (cursor_.accept(":")) {
      auto type = values_.machine_type();
      if (!type) return false;
      var.type = *type;
    }
    if (!is_integer(var.type)) {
      cursor_.report(Kind::type_mismatch, cursor_.span(*name), "a loop counts integers, not {}",
                     kernel::name(var.type));
      return false;
    }
    if (!cursor_.expect("in")) return false;
    made.begin = values_.value_of(var.type, "a bound of this loop");
    if (!made.begin || !cursor_.expect("..")) return false;
    made.end = values_.value_of(var.type, "a bound of this loop");
    if (!made.end) return false;
    made.step = cursor_.accept("step") ? values_.value_of(var.type, "the step of this loop")
                                       : store().integer(1, var.type);
    if (!made.step) return false;
    made.kind = cursor_.accept("unrolled") ? LoopKind::unrolled
                : cursor_.accept("vector") ? LoopKind::vector
                                           : LoopKind::serial;
    VarRange follows = range_of_loop(store(), made.begin, made.end);
    var.lo = follows.lo, var.hi = follows.hi;
    if (cursor_.accept("known")) {
      if (cursor_.at("in")) var.lo.reset(), var.hi.reset();
      if (!range(var)) return false;
    }
    return cursor_.at("{") || cursor_.expected("`{`");
  };
  bool good = header();
  if (good) {
    made.var = variable(*name, std::move(var));
  } else {
    poison(*name);
    if (!cursor_.skip_line()) {
      names_.close();
      return true; // reported; the line is behind us
    }
  }
  if (good) cursor_.take();
  nested(made.body);
  names_.close();
  if (good) emit(statements, {std::move(made)});
  return cursor_.expect("}");
}

bool KernelReader::branch(Body& statements) {
  cursor_.take();
  If made;
  made.condition = values_.condition();
  if (!made.condition || !cursor_.expect("{")) return false;
  names_.open();
  nested(made.then);
  names_.close();
  if (!cursor_.expect("}")) return false;
  if (cursor_.accept("else")) {
    if (!cursor_.expect("{")) return false;
    names_.open();
    nested(made.otherwise);
    names_.close();
    if (!cursor_.expect("}")) return false;
  }
  emit(statements, {std::move(made)});
  return true;
}

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
    emit(statements, {Let{made(), value}});
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
    cursor_.report(Kind::type_mismatch, cursor_.span(name), "an element of `{}`, {}, is not moved "
                   "to {}", tensor.name, graph::info(tensor.type).name, kernel::name(var.type));
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
  Store store;
  store.dst = std::move(*to);
  if (cursor_.text(*kind) != "Move") {
    cursor_.report(Kind::expected_token, cursor_.span(*kind), "`{}` does not store one element",
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
    cursor_.report(Kind::unknown_function, cursor_.span(*kind), "`{}` is no kind of spec",
                   made.kind)
        .help(name_help(made.kind, "kind",
                        {std::begin(spec_kinds), std::end(spec_kinds)}));
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

// The body of a kernel, statement by statement.
#include "kernel/names.h"
#include "kernel/var_range.h"
#include "parse/spec/kernels.h"

namespace tang::parse::spec {

using namespace kernel;

namespace {

/// Bodies in bodies.
constexpr int deepest_statement = 64;

} // namespace

ReadKernel KernelReader::run() {
  const Token first = cursor_.take(); // `kernel`
  kernel().comment = cursor_.comments_above(first);
  auto name = cursor_.name("the name of a kernel");
  if (name) kernel().name = name_of(*name), read_.name = cursor_.span(*name);
  if (!name || !cursor_.expect("{") || !cursor_.end_of_line()) cursor_.skip_line(cursor_.mark());
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
    bool opened = cursor_.skip_line(before);
    if (opened) {
      Body unused;
      nested(unused);
      cursor_.accept("}");
    }
    if (cursor_.mark() == before) return;
  }
}

void KernelReader::nested(Body& statements) {
  if (++depth_ > deepest_statement) {
    if (depth_ == deepest_statement + 1)
      cursor_.report(Kind::nesting_too_deep, cursor_.here(), "bodies nest deeper than {} levels",
                     deepest_statement);
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
  size_t start = cursor_.mark();
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
    if (cursor_.accept("known") && !range(var)) return false;
    return cursor_.at("{") || cursor_.expected("`{`");
  };
  bool good = header();
  if (good) {
    made.var = variable(*name, std::move(var));
  } else {
    poison(*name);
    if (!cursor_.skip_line(start)) {
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

} // namespace tang::parse::spec

// What a program declares: dims, buffers, arguments, and what callers promise.
#include "kernel/names.h"
#include "parse/spec/programs.h"

namespace tang::parse::spec {

using namespace kernel;

namespace {

/// Workspace is a list of slots; each is a term of the launcher.
constexpr int64_t most_slots = 4096;

} // namespace

/// `sm_80`, `c+avx2`
bool ProgramReader::target() {
  Span first = cursor_.here();
  if (!cursor_.name("the name of a target")) return false;
  while (cursor_.accept("+"))
    if (!cursor_.name("a feature")) return false;
  read_.target = cursor_.since(first);
  program().target = cursor_.source(read_.target);
  return true;
}

bool ProgramReader::shared_term() {
  const Token name = cursor_.take();
  std::string text(cursor_.text(name));
  auto type = cursor_.expect(":") ? values_.machine_type() : std::nullopt;
  ValueId id = type && cursor_.expect("=") ? values_.value_of(*type, "the term") : ValueId();
  Entry entry{id ? Entry::Kind::value : Entry::Kind::bad, {}, {}, id, cursor_.span(name)};
  if (!names_.add(text, entry, true))
    cursor_.report(Kind::duplicate_definition, cursor_.span(name), "`{}` is defined already", text);
  return static_cast<bool>(id);
}

bool ProgramReader::dim() {
  auto name = cursor_.name("the name of a dim");
  if (!name) return false;
  std::string text(cursor_.text(*name));
  Var var{wished_name(text), Type::i64, {}, {}};
  auto fail = [&] {
    names_.add(text, {});
    return false;
  };
  Span place = cursor_.here();
  if (cursor_.accept("in") && !cursor_.range(var.lo, var.hi)) return fail();
  if (cursor_.accept("step")) {
    auto step = cursor_.integer("a step");
    if (!step) return fail();
    var.step = *step;
  }
  if (!var.lo) var.lo = 0;
  if (!var.hi) var.hi = INT64_MAX;
  if (*var.lo < 0 || *var.lo > *var.hi || var.step < 1) {
    cursor_.report(Kind::dim_range, cursor_.since(place),
                   "a dim is at least 0, and its step at least 1");
    return fail();
  }
  VarId id = program().values.add_var(std::move(var));
  program().dims.push_back(id);
  if (!names_.add(text, {Entry::Kind::variable, id, {}, {}, cursor_.span(*name)}, true))
    cursor_.report(Kind::duplicate_definition, cursor_.span(*name), "`{}` is defined already",
                   text);
  return true;
}

bool ProgramReader::slot() {
  Span place = cursor_.here();
  auto number = cursor_.integer("the number of a slot");
  if (!number) return false;
  if (*number != static_cast<int64_t>(program().slots.size()) || *number >= most_slots) {
    cursor_.report(Kind::duplicate_definition, place, "slots are numbered 0, 1, ...: this is {}",
                   program().slots.size());
    return false;
  }
  ValueId bytes = cursor_.expect(":") ? host("a size") : ValueId();
  if (!bytes || !cursor_.expect("bytes")) return false;
  program().slots.push_back({bytes});
  return true;
}

bool ProgramReader::buffer() {
  auto name = cursor_.name("the name of a buffer");
  if (!name) return false;
  Buffer made;
  std::string text(cursor_.text(*name));
  made.name = wished_name(text);
  Span place = cursor_.span(*name);
  auto rest = [&] {
    if (!cursor_.expect(":")) return false;
    made.kind = cursor_.accept("argument")    ? Buffer::Kind::argument
                : cursor_.accept("workspace") ? Buffer::Kind::workspace
                                              : Buffer::Kind::table;
    if (made.kind == Buffer::Kind::table && !cursor_.accept("table"))
      return cursor_.expected("`argument`, `workspace` or `table`");
    auto type = values_.element_type();
    if (!type) return false;
    made.type = *type;
    if (cursor_.accept("(")) {
      made.elements = host("a number of elements");
      if (!made.elements || !cursor_.expect(")")) return false;
    }
    if (cursor_.accept("shape")) {
      if (!cursor_.expect("(") || !values_.list(")", made.shape, "an extent")) return false;
      if (cursor_.accept(":") &&
          (!cursor_.expect("(") || !values_.list(")", made.strides, "a stride")))
        return false;
    }
    if (cursor_.accept("in")) {
      auto slot = cursor_.expect("slot") ? cursor_.integer("a slot") : std::nullopt;
      if (!slot) return false;
      if (*slot < 0 || *slot >= static_cast<int64_t>(program().slots.size())) {
        cursor_.report(Kind::unknown_name, cursor_.since(place), "there is no slot {}", *slot);
        return false;
      }
      made.slot = static_cast<uint32_t>(*slot);
    } else if (made.kind == Buffer::Kind::workspace) {
      return cursor_.expected("`in slot`: where in the workspace it lies");
    }
    if (cursor_.accept("align")) {
      auto align = cursor_.integer("a number of bytes");
      if (!align) return false;
      if (*align < 1 || *align > 4096 || (*align & (*align - 1)) != 0) {
        cursor_.report(Kind::bad_layout, cursor_.since(place),
                       "an alignment is a power of two up to 4096, not {}", *align);
        return false;
      }
      made.align = static_cast<int>(*align);
    }
    made.written = cursor_.accept("written");
    return made.kind != Buffer::Kind::table || table(made);
  };
  if (!rest()) {
    bad_buffers_.insert(text);
    return false;
  }
  if (!made.elements && !made.strides.empty()) {
    cursor_.report(Kind::bad_layout, place, "how many elements strides reach must be written");
    return false;
  }
  if (!made.elements) {
    made.elements = program().values.integer(1, Type::i64);
    for (ValueId extent : made.shape) made.elements = program().values.mul(made.elements, extent);
  }
  BufferId id(static_cast<uint32_t>(program().buffers.size()));
  if (!buffers_.try_emplace(text, id).second)
    cursor_.report(Kind::duplicate_definition, place, "`{}` is defined already", text);
  program().buffers.push_back(std::move(made));
  return true;
}

/// ` = {1.0, 2.0}`
bool ProgramReader::table(Buffer& buffer) {
  Span place = cursor_.here();
  auto count = program().values.as_integer(
      buffer.elements ? buffer.elements : program().values.integer(1, Type::i64));
  if (!cursor_.expect("=") || !cursor_.expect("{")) return false;
  bool real = graph::scalar_of(buffer.type) == graph::Scalar::real;
  graph::IntRange held = buffer.type == ElemType::boolean ? graph::IntRange{0, 1}
                         : real                           ? graph::IntRange{}
                                                          : graph::range_of(buffer.type);
  while (cursor_.skip_line_ends(), !cursor_.at("}")) {
    if (!real) {
      Span at = cursor_.here();
      auto number = cursor_.integer("a whole number");
      if (!number) return false;
      if (!held.contains({*number, *number})) {
        cursor_.report(Kind::bad_table, at, "{} does not fit {}", *number,
                       graph::info(buffer.type).name);
        return false;
      }
      buffer.integers.push_back(*number);
    } else {
      auto number = cursor_.real("a number");
      if (!number) return false;
      buffer.reals.push_back(*number);
    }
    cursor_.skip_line_ends();
    if (!cursor_.accept(",")) break;
  }
  cursor_.skip_line_ends();
  if (!cursor_.expect("}")) return false;
  size_t given = buffer.reals.size() + buffer.integers.size();
  if (count && *count >= 0 && given == static_cast<size_t>(*count)) return true;
  cursor_.report(Kind::bad_table, place,
                 "{} elements are given; a table has as many as it says, a "
                 "number",
                 given);
  return false;
}

std::optional<BufferId> ProgramReader::buffer_named() {
  auto name = cursor_.name("the name of a buffer");
  if (!name) return std::nullopt;
  std::string text(cursor_.text(*name));
  auto at = buffers_.find(text);
  if (at != buffers_.end()) return at->second;
  if (!bad_buffers_.insert(text).second) return std::nullopt; // reported
  std::vector<std::string> names;
  for (const auto& buffer : buffers_) names.push_back(buffer.first);
  std::sort(names.begin(), names.end());
  report_unknown(cursor_, *name, "buffer", names);
  return std::nullopt;
}

bool ProgramReader::arguments() {
  if (!cursor_.expect("(")) return false;
  if (cursor_.accept(")")) return true;
  do {
    Span place = cursor_.here();
    auto id = buffer_named();
    if (!id) return false;
    if (program().buffers[id->value].kind != Buffer::Kind::argument) {
      cursor_.report(Kind::kernel_misfit, place, "`{}` is no argument",
                     program().buffers[id->value].name);
      return false;
    }
    program().arguments.push_back(*id);
  } while (cursor_.accept(","));
  return cursor_.expect(")");
}

bool ProgramReader::strided(std::vector<ValueId>& shape, std::vector<ValueId>& strides) {
  Span place = cursor_.here();
  if (!cursor_.expect("(") || !values_.list(")", shape, "an extent") || !cursor_.expect(":") ||
      !cursor_.expect("(") || !values_.list(")", strides, "a stride"))
    return false;
  if (!shape.empty() && shape.size() == strides.size()) return true;
  cursor_.report(Kind::wrong_rank, cursor_.since(place), "{} extents and {} strides", shape.size(),
                 strides.size());
  return false;
}

bool ProgramReader::promise() {
  auto buffer = buffer_named();
  if (!buffer) return false;
  Promise made{*buffer, {}, {}, {}, {}, false};
  if (!strided(made.shape, made.strides) || !cursor_.expect("in")) return false;
  made.lo = host("an end of a range");
  made.hi = made.lo && cursor_.expect("..") ? host("an end of a range") : ValueId();
  if (!made.hi) return false;
  made.sorted = cursor_.accept("sorted");
  program().promises.push_back(std::move(made));
  return true;
}

bool ProgramReader::room() {
  auto buffer = buffer_named();
  if (!buffer) return false;
  Room made{*buffer, {}, {}};
  if (!strided(made.shape, made.strides)) return false;
  program().rooms.push_back(std::move(made));
  return true;
}

bool ProgramReader::max_blocks() {
  Span place = cursor_.here();
  auto most = cursor_.integer("a number of blocks");
  if (most && *most < 0) cursor_.report(Kind::dim_range, place, "{} blocks", *most);
  program().max_blocks = most.value_or(0);
  return most && *most >= 0;
}

} // namespace tang::parse::spec

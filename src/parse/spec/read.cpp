// Programs: storage, launches, and the kernels behind them.
#include "parse/spec/read.h"
#include "base/check.h"
#include "kernel/names.h"
#include "kernel/verify.h"
#include "parse/spec/kernels.h"
#include <fmt/ranges.h>
#include <set>

namespace tang::parse::spec {

using namespace kernel;

namespace {

/// Recurrences in recurrences.
constexpr int deepest = 16;
/// Workspace is a list of slots; each is a term of the launcher.
constexpr int64_t most_slots = 4096;

/// A variant's kernel by name, until all kernels are read: in the order of the text.
struct Launched {
  std::string kernel;
  Span place;
};

class ProgramReader {
public:
  ProgramReader(Cursor& cursor, const ReadOptions& options)
      : cursor_(cursor), options_(options),
        values_(cursor, program().values, names_, Type::i64, nullptr) {}

  bool run() {
    cursor_.skip_blank_lines();
    if (!cursor_.at("program")) {
      cursor_.expected("a program: `program name {`");
      return false;
    }
    block();
    for (cursor_.skip_blank_lines(); !cursor_.at_end(); cursor_.skip_blank_lines()) {
      if (cursor_.at("kernel")) {
        kernel();
      } else {
        std::string what = cursor_.at("program") ? "a kernel: a file holds one program" : "a kernel";
        cursor_.expected(what);
        cursor_.skip_line();
      }
    }
    link();
    return cursor_.sink().ok();
  }
  ReadProgram take() { return std::move(read_); }

private:
  Program& program() { return read_.program; }
  void block();
  void lines(std::vector<Step>& steps, bool top);
  bool line(std::vector<Step>& steps, bool top);
  bool target();
  bool dim();
  bool slot();
  bool buffer();
  bool table(Buffer& buffer);
  bool arguments();
  bool promise();
  bool room();
  bool max_blocks();
  bool shared_term();
  bool launch(std::vector<Step>& steps);
  bool variant(Dispatch& dispatch);
  bool bindings(Variant& variant);
  bool loop(std::vector<Step>& steps);
  bool strided(std::vector<ValueId>& shape, std::vector<ValueId>& strides);
  std::optional<BufferId> buffer_named();
  void kernel();
  void link();
  ValueId host(std::string_view what) { return values_.value_of(Type::i64, what); }

  Cursor& cursor_;
  const ReadOptions& options_;
  ReadProgram read_;
  Names names_;
  ValueReader values_;
  std::unordered_map<std::string, BufferId> buffers_;
  std::set<std::string> bad_buffers_;
  std::unordered_map<std::string, KernelId> kernels_;
  std::vector<Launched> launched_;
  int depth_ = 0;
  bool said_deep_ = false;
};

void ProgramReader::block() {
  cursor_.take();
  auto name = cursor_.name("the name of the program");
  if (name) program().name = cursor_.text(*name), read_.name = cursor_.span(*name);
  if (!name || !cursor_.expect("{") || !cursor_.end_of_line()) cursor_.skip_line();
  lines(program().steps, true);
  if (!cursor_.accept("}"))
    cursor_.report(Kind::unclosed_bracket, read_.name, "the program is not closed");
}

void ProgramReader::lines(std::vector<Step>& steps, bool top) {
  for (;;) {
    cursor_.skip_blank_lines();
    if (cursor_.at_end() || cursor_.at("}")) return;
    if (line(steps, top) && cursor_.end_of_line()) continue;
    if (!cursor_.skip_line()) continue;
    std::vector<Step> unused;
    if (++depth_ <= deepest) lines(unused, false);
    --depth_;
    cursor_.accept("}");
  }
}

bool ProgramReader::line(std::vector<Step>& steps, bool top) {
  if (cursor_.peek().kind == TokenKind::shared) return shared_term();
  if (cursor_.accept("launch")) return launch(steps);
  if (cursor_.accept("loop")) return loop(steps);
  if (!top) return cursor_.expected("`launch`, `loop` or `}`");
  if (cursor_.accept("target")) return target();
  if (cursor_.accept("dim")) return dim();
  if (cursor_.accept("slot")) return slot();
  if (cursor_.accept("buffer")) return buffer();
  if (cursor_.accept("arguments")) return arguments();
  if (cursor_.accept("promise")) return promise();
  if (cursor_.accept("room")) return room();
  if (cursor_.accept("max_blocks")) return max_blocks();
  return cursor_.expected("`target`, `dim`, `slot`, `buffer`, `arguments`, `promise`, `room`, "
                          "`max_blocks`, `launch`, `loop` or `}`");
}

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
    for (ValueId extent : made.shape)
      made.elements = program().values.mul(made.elements, extent);
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
  auto count = program().values.as_integer(buffer.elements ? buffer.elements
                                                           : program().values.integer(1, Type::i64));
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
  cursor_.report(Kind::bad_table, place, "{} elements are given; a table has as many as it says, a "
                 "number", given);
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

bool ProgramReader::loop(std::vector<Step>& steps) {
  auto name = cursor_.name("the name of a step");
  if (!name) return false;
  Loop made;
  if (!cursor_.expect("in")) return false;
  Span place = cursor_.here();
  auto begin = cursor_.integer("0");
  if (begin && *begin != 0) cursor_.report(Kind::expected_token, place, "steps count from 0");
  if (begin != 0 || !cursor_.expect("..")) return false;
  made.extent = host("a number of steps");
  if (!made.extent || !cursor_.expect("{")) return false;
  if (depth_ >= deepest) {
    if (!std::exchange(said_deep_, true))
      cursor_.report(Kind::nesting_too_deep, place, "recurrences nest deeper than {} levels",
                     deepest);
    return false;
  }
  std::string text(cursor_.text(*name));
  made.var = program().values.add_var({wished_name(text), Type::i64, 0, {}});
  names_.open();
  if (!names_.add(text, {Entry::Kind::variable, made.var, {}, {}, cursor_.span(*name)}))
    cursor_.report(Kind::duplicate_definition, cursor_.span(*name), "`{}` is defined already",
                   text);
  ++depth_;
  lines(made.body, false);
  --depth_;
  names_.close();
  steps.push_back({std::move(made)});
  return cursor_.expect("}");
}

bool ProgramReader::launch(std::vector<Step>& steps) {
  Span first = cursor_.here();
  // A name for comments and reports, in any words.
  Dispatch made;
  while (!cursor_.at("{") && cursor_.peek().kind != TokenKind::newline && !cursor_.at_end())
    cursor_.take();
  if (!cursor_.at("{")) return cursor_.expected("`{`");
  made.name = cursor_.source(cursor_.since(first));
  cursor_.take();
  for (cursor_.skip_blank_lines(); !cursor_.at("}") && !cursor_.at_end();
       cursor_.skip_blank_lines()) {
    if (cursor_.peek().kind == TokenKind::shared) {
      if (!shared_term() || !cursor_.end_of_line()) cursor_.skip_line();
      continue;
    }
    if (!variant(made) || !cursor_.end_of_line()) cursor_.skip_line();
  }
  if (made.variants.empty() && cursor_.sink().ok())
    cursor_.report(Kind::kernel_misfit, first, "a launch without a kernel");
  steps.push_back({std::move(made)});
  return cursor_.expect("}");
}

bool ProgramReader::variant(Dispatch& dispatch) {
  auto name = cursor_.name("the name of a kernel");
  if (!name) return false;
  Variant made;
  if (!cursor_.expect("(") || !bindings(made)) return false;
  if (cursor_.accept("blocks") &&
      (!cursor_.expect("(") || !values_.list(")", made.blocks, "a number of blocks")))
    return false;
  if (cursor_.accept("index")) {
    Span place = cursor_.here();
    auto bits = cursor_.integer("32 or 64");
    if (!bits) return false;
    if (*bits != 32 && *bits != 64) {
      cursor_.report(Kind::expected_token, place, "addresses have 32 or 64 bits");
      return false;
    }
    made.index_bits = static_cast<int>(*bits);
  }
  if (cursor_.accept("if")) {
    made.condition = values_.condition();
    if (!made.condition) return false;
  }
  launched_.push_back({std::string(cursor_.text(*name)), cursor_.span(*name)});
  dispatch.variants.push_back(std::move(made));
  return true;
}

/// `a, b[offset]; scalars)`
bool ProgramReader::bindings(Variant& variant) {
  while (!cursor_.at(";") && !cursor_.at(")")) {
    auto buffer = buffer_named();
    if (!buffer) return false;
    Binding binding{*buffer, {}};
    if (cursor_.accept("[")) {
      binding.offset = host("an offset");
      if (!binding.offset || !cursor_.expect("]")) return false;
    }
    variant.bindings.push_back(binding);
    if (!cursor_.accept(",")) break;
  }
  if (cursor_.accept(";")) return values_.list(")", variant.scalars, "an argument");
  return cursor_.expect(")");
}

void ProgramReader::kernel() {
  ReadKernel made = KernelReader(cursor_, options_).run();
  KernelId id(static_cast<uint32_t>(program().kernels.size()));
  if (!made.kernel.name.empty() && !kernels_.try_emplace(made.kernel.name, id).second)
    cursor_.report(Kind::duplicate_definition, made.name, "two kernels are called `{}`",
                   made.kernel.name);
  program().kernels.push_back(std::move(made.kernel));
  read_.kernels.push_back(std::move(made));
}

void for_each_dispatch(std::vector<Step>& steps, const std::function<void(Dispatch&)>& visit) {
  for (Step& step : steps)
    std::visit(Overload{[&](Dispatch& d) { visit(d); },
                        [&](Loop& loop) { for_each_dispatch(loop.body, visit); }},
               step.node);
}

/// Names of kernels become kernels; what a launch gives must be what its kernel takes.
void ProgramReader::link() {
  std::vector<std::string> names;
  for (const auto& kernel : kernels_) names.push_back(kernel.first);
  std::sort(names.begin(), names.end());
  std::set<std::string> said;
  for (const Launched& launched : launched_)
    if (!kernels_.contains(launched.kernel) && said.insert(launched.kernel).second)
      cursor_
          .report(Kind::unknown_name, launched.place, "there is no kernel `{}`", launched.kernel)
          .help(name_help(launched.kernel, "kernel", names));
  if (!cursor_.sink().ok()) return;
  size_t next = 0;
  for_each_dispatch(program().steps, [&](Dispatch& dispatch) {
    for (Variant& variant : dispatch.variants) {
      const Launched& launched = launched_[next++];
      variant.kernel = kernels_.at(launched.kernel);
      const Kernel& kernel = program().kernels[variant.kernel.value];
      if (kernel.index_bits) variant.index_bits = kernel.index_bits;
      auto agree = [&](size_t given, size_t taken, std::string_view what) {
        if (given != taken)
          cursor_.report(Kind::argument_count, launched.place, "`{}` takes {} {} and is given {}",
                         kernel.name, taken, what, given);
      };
      agree(variant.bindings.size(), kernel.params.size(), "tensors");
      agree(variant.scalars.size(), kernel.scalars.size(), "scalars");
      agree(variant.blocks.size(), kernel.blocks.size(), "extents of its grid");
    }
  });
  TANG_CHECK(next == launched_.size(), "launches are out of order");
}

} // namespace

std::optional<ReadProgram> read_program(const SourceManager& sources, FileId file,
                                        const ReadOptions& options, Sink& sink) {
  Sink own; // counts what this file has, whatever was reported before
  Cursor cursor(sources, file, own);
  ProgramReader reader(cursor, options);
  bool good = reader.run();
  ReadProgram read = reader.take();
  if (good)
    if (auto misfit = find_misfit(read.program)) {
      Span place = read.name;
      if (misfit->kernel) {
        const ReadKernel& kernel = read.kernels[misfit->kernel.value];
        place = misfit->statement ? kernel.statements[*misfit->statement] : kernel.name;
      }
      own.report(Kind::kernel_misfit, place, misfit->text);
      good = false;
    }
  for (const Diagnostic& d : own.diagnostics()) {
    Diagnostic& copy = sink.report(d.kind, d.span, d.message);
    copy.notes = d.notes, copy.fix = d.fix;
  }
  if (!good) return std::nullopt;
  return read;
}

bool check_instructions(const ReadProgram& read, const atomics::Target& target, Sink& sink) {
  bool good = true;
  for (const ReadKernel& kernel : read.kernels)
    for (const Use& use : kernel.uses) {
      std::string why = atomics::why_not(*use.row, target);
      if (why.empty()) continue;
      good = false;
      sink.report(Kind::unknown_instruction, use.span, "`{}` is {}", use.row->name, why)
          .help(fmt::format("it runs on {}", fmt::join(use.row->native_on, ", ")));
    }
  return good;
}

} // namespace tang::parse::spec

// A file: its program, its kernels, and what only the whole of them shows.
#include "parse/spec/read.h"
#include "kernel/verify.h"
#include "parse/spec/programs.h"
#include <fmt/ranges.h>

namespace tang::parse::spec {

using namespace kernel;

bool ProgramReader::run() {
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
      cursor_.skip_line(cursor_.mark());
    }
  }
  link();
  return cursor_.sink().ok();
}

void ProgramReader::block() {
  cursor_.take();
  auto name = cursor_.name("the name of the program");
  if (name) program().name = cursor_.text(*name), read_.name = cursor_.span(*name);
  if (!name || !cursor_.expect("{") || !cursor_.end_of_line()) cursor_.skip_line(cursor_.mark());
  lines(program().steps, true);
  if (!cursor_.accept("}"))
    cursor_.report(Kind::unclosed_bracket, read_.name, "the program is not closed");
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
  if (cursor_.accept("whole_buffers")) return program().whole_buffers = true;
  return cursor_.expected("`target`, `dim`, `slot`, `buffer`, `arguments`, `promise`, `room`, "
                          "`max_blocks`, `whole_buffers`, `launch`, `loop` or `}`");
}

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

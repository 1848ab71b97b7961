#include "driver/driver.h"
#include "base/check.h"
#include "driver/files.h"
#include "driver/guide.h"
#include "driver/verbs.h"
#include <csignal>
#include <unistd.h>

namespace tang::driver {

namespace {

Exit exit_of(const Diagnostic& d) {
  switch (d.kind) {
  case Kind::command_line:
  case Kind::not_in_this_version:
  case Kind::unknown_dim:
  case Kind::dim_binding: return Exit::command_line;
  // About an option when it has no place, about the program when it has one.
  case Kind::target_cannot: return d.span ? Exit::input : Exit::command_line;
  case Kind::not_canonical:
  case Kind::gate_failed:
  case Kind::budget_exceeded:
  case Kind::kernels_differ: return Exit::gate;
  // An include is part of the input.
  case Kind::cannot_read: return d.span ? Exit::input : Exit::files;
  case Kind::cannot_write:
  case Kind::tool_missing: return Exit::files;
  default: return Exit::input;
  }
}

/// The first error decides.
Exit exit_of(const Sink& sink) {
  for (const Diagnostic& d : sink.diagnostics())
    if (d.severity == Severity::error) return exit_of(d);
  return Exit::ok;
}

/// A word as a shell reads it back.
std::string shell_word(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void report_internal_error(const std::string& text, const std::string& stage,
                           const std::vector<std::string>& words) {
  std::string command = "tangc";
  for (const std::string& word : words) command += " " + shell_word(word);
  write_stderr(
      fmt::format("tangc: internal error: {}\n"
                  "note: the last stage that ended is {}\n"
                  "note: tangc {}; to reproduce: {}\n"
                  "help: this is a fault of tangc, not of the input; please report it with "
                  "the input file\n",
                  text, stage, TANGC_VERSION, command));
}

/// A crash is an internal error too; only what is safe in a signal handler happens here.
extern "C" void on_crash(int) {
  constexpr std::string_view text =
      "tangc: internal error: crashed\n"
      "help: this is a fault of tangc, not of the input; please report it with the input file\n";
  [[maybe_unused]] ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(static_cast<int>(Exit::internal));
}

void catch_crashes() {
  static char stack[1 << 16]; // a stack overflow leaves none to run on
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  ::sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    ::sigaction(signal, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN); // a closed stdout is an error of writing
}

void run_verb(Session& session) {
  switch (session.arguments.verb) {
  case Verb::compile: return compile_file(session);
  case Verb::check: return check_file(session);
  case Verb::fmt: return format_files(session);
  case Verb::run: return run_file(session);
  case Verb::verify: return verify_file(session);
  case Verb::targets: return list_targets(session);
  case Verb::explain: return explain_code(session);
  case Verb::report: return show_report(session);
  case Verb::layout: return evaluate_layout(session);
  case Verb::later:
    session.sink.report(Kind::not_in_this_version, {}, "`tangc {}` is not part of this version",
                        session.arguments.verb_name);
  }
}

/// Words that other programs take as verbs, and what to write here.
std::string in_place_of_verb(const std::string& word) {
  if (word == "version") return "`tangc --version` shows the version";
  if (word == "compile" || word == "build") return "to compile needs no verb: `tangc FILE -t T`";
  if (word == "man") return "`man tangc`, or `tangc --generate=man`";
  std::vector<std::string> verbs{"help"};
  for (const VerbRow& row : verb_rows())
    if (!row.name.empty()) verbs.emplace_back(row.name);
  std::string near = nearest_name(word, verbs);
  return near.empty() ? fmt::format("the verbs are `{}`", fmt::join(verbs, "`, `"))
                      : fmt::format("did you mean `{}`?", near);
}

/// A first operand that is a plain word and no file was meant as a verb.
bool is_stray_verb(const Arguments& arguments) {
  if (arguments.verb != Verb::compile || arguments.operands.empty() ||
      arguments.has(OptionId::print_outputs))
    return false;
  const std::string& word = arguments.operands[0];
  return word != "-" && word.find_first_of("./") == word.npos && !is_there(word);
}

bool check_operands(const Arguments& arguments, Sink& sink) {
  if (arguments.verb == Verb::later) return true;
  if (is_stray_verb(arguments)) {
    const std::string& word = arguments.operands[0];
    sink.report(Kind::command_line, {}, "no verb or file is called `{}`", word)
        .help(in_place_of_verb(word));
    return false;
  }
  const VerbRow& row = row_of(arguments.verb);
  auto count = static_cast<int>(arguments.operands.size());
  if (count >= row.least && count <= row.most) return true;
  std::string verb = row.name.empty() ? "tangc" : fmt::format("tangc {}", row.name);
  sink.report(Kind::command_line, {}, "`{}` takes `{}`, and {} given", verb, row.operands,
              count == 0 ? "nothing is" : fmt::format("{} operands are", count));
  return false;
}

/// Texts about tangc itself. True when one was asked for.
bool show_guide(Session& session) {
  const Arguments& arguments = session.arguments;
  if (arguments.verb == Verb::later) return false;
  if (arguments.has(OptionId::help))
    print_text(session, help_text(arguments.verb));
  else if (arguments.has(OptionId::version))
    print_text(session, fmt::format("tangc {}\n", TANGC_VERSION));
  else if (arguments.has(OptionId::generate))
    print_text(session, generated_text(arguments.last(OptionId::generate)));
  else
    return false;
  return true;
}

int run_words(const std::vector<std::string>& words, std::string& stage) {
  Sink sink;
  SourceManager sources;
  CommonOptions common;
  auto finish = [&](const Sink& from) {
    write_stderr(render_all(from.diagnostics(), sources, common.render));
    return static_cast<int>(exit_of(from));
  };
  auto expanded = expand_response_files(words, sink);
  if (!expanded) return finish(sink);
  auto arguments = parse_arguments(*expanded, sink);
  if (!arguments) return finish(sink);
  common = common_options(*arguments, sink);
  std::vector<std::string> dumps;
  for (const std::string& list : arguments->all(OptionId::dump))
    for_each_part(list, ',', [&](std::string_view name) { dumps.emplace_back(name); });
  std::string dump_dir = arguments->last(OptionId::dump_dir);
  if (!dump_dir.empty() && dumps.empty()) dumps.emplace_back("all");
  check_stage_names(dumps, sink);
  if (!sink.ok()) return finish(sink);

  Sink judged(common.warnings);
  Stages stages(common, dumps, dump_dir);
  Session session{*arguments, common, sources, judged, stages};
  try {
    if (!show_guide(session) && check_operands(*arguments, judged)) run_verb(session);
  } catch (...) {
    stage = stages.last();
    write_stderr(render_all(judged.diagnostics(), sources, common.render));
    throw;
  }
  int code = finish(judged);
  write_stderr(stages.time_report());
  return code;
}

} // namespace

void print_text(Session& session, std::string_view text) {
  if (!write_stdout(text))
    session.sink.report(Kind::cannot_write, {}, "cannot write to standard output: {}",
                        last_error());
}

int run(const std::vector<std::string>& words) {
  catch_crashes();
  std::string stage = "none";
  try {
    if (words.empty()) {
      write_stderr(usage_text());
      return static_cast<int>(Exit::command_line);
    }
    return run_words(words, stage);
  } catch (const std::exception& error) {
    report_internal_error(error.what(), stage, words);
  } catch (...) {
    report_internal_error("an unknown exception", stage, words);
  }
  return static_cast<int>(Exit::internal);
}

} // namespace tang::driver

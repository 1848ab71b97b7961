#pragma once
// One function per verb. Faults go to the sink, which decides the exit code.
#include "driver/stages.h"

namespace tang::driver {

struct Session {
  const Arguments& arguments;
  const CommonOptions& common;
  SourceManager& sources;
  Sink& sink;
  Stages& stages;
};

void compile_file(Session& session);
void check_file(Session& session);
void format_files(Session& session);
void run_file(Session& session);
void verify_file(Session& session);
void list_targets(Session& session);
void explain_code(Session& session);
void show_report(Session& session);
void evaluate_layout(Session& session);

/// Writes to standard output, and reports when that fails.
void print_text(Session& session, std::string_view text);

} // namespace tang::driver

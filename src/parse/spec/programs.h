#pragma once
// The program of a `.spec` file: storage and launches.
#include "parse/spec/kernels.h"
#include <set>

namespace tang::parse::spec {

/// A variant's kernel by name, until all kernels are read: in the order of the text.
struct Launched {
  std::string kernel;
  Span place;
};

class ProgramReader {
public:
  ProgramReader(Cursor& cursor, const ReadOptions& options)
      : cursor_(cursor), options_(options),
        values_(cursor, program().values, names_, kernel::Type::i64, nullptr) {}

  /// False where something was reported.
  bool run();
  ReadProgram take() { return std::move(read_); }

private:
  kernel::Program& program() { return read_.program; }
  void block();
  void lines(std::vector<kernel::Step>& steps, bool top);
  bool line(std::vector<kernel::Step>& steps, bool top);
  bool target();
  bool dim();
  bool slot();
  bool buffer();
  bool table(kernel::Buffer& buffer);
  bool arguments();
  bool promise();
  bool room();
  bool max_blocks();
  bool shared_term();
  bool launch(std::vector<kernel::Step>& steps);
  bool variant(kernel::Dispatch& dispatch);
  bool bindings(kernel::Variant& variant);
  bool loop(std::vector<kernel::Step>& steps);
  bool strided(std::vector<kernel::ValueId>& shape, std::vector<kernel::ValueId>& strides);
  std::optional<kernel::BufferId> buffer_named();
  void kernel();
  void link();
  kernel::ValueId host(std::string_view what) { return values_.value_of(kernel::Type::i64, what); }

  Cursor& cursor_;
  const ReadOptions& options_;
  ReadProgram read_;
  Names names_;
  ValueReader values_;
  std::unordered_map<std::string, kernel::BufferId> buffers_;
  std::set<std::string> bad_buffers_;
  std::unordered_map<std::string, kernel::KernelId> kernels_;
  std::vector<Launched> launched_;
  int depth_ = 0;
  bool said_deep_ = false;
};

} // namespace tang::parse::spec

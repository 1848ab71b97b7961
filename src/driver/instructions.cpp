#include "driver/instructions.h"
#include "atomics/explain.h"
#include "atomics/load.h"
#include "base/sha256.h"
#include "driver/files.h"
#include <set>

namespace tang::driver {

bool read_rows_of(Input& input, CompileOptions& options, SourceManager& sources, Sink& sink) {
  std::set<std::string> taken;
  for (const atomics::Entry& entry : atomics::embedded_rows())
    taken.insert(atomics::symbol_of(entry.name));
  for (const std::string& path : options.atomics) {
    auto text = read_file(path);
    if (!text) {
      sink.report(Kind::cannot_read, {}, "cannot read `{}`: {}", path, last_error());
      continue;
    }
    options.canonical.push_back("--atomics=sha256:" + sha256_hex(*text));
    FileId file = sources.add(path == "-" ? "<stdin>" : path, std::move(*text));
    auto rows = atomics::load_rows(sources, file, taken, sink);
    if (rows) input.rows.insert(input.rows.end(), rows->begin(), rows->end());
  }
  return sink.ok();
}

atomics::Target instructions_of(const targets::Target& target, const Input& input) {
  atomics::Target out(target.name);
  out.dialect = target.dialect;
  out.stated = input.rows;
  return out;
}

std::string explained_atoms(const Input& input, std::span<const TargetResult> results) {
  std::string text;
  for (const TargetResult& result : results)
    for (size_t i = 0; i < result.variants.size(); ++i) {
      std::string variant = result.variants.size() > 1 ? fmt::format(", variant {}", i + 1) : "";
      for (const kernel::Kernel& kernel : result.variants[i].program.kernels) {
        text += fmt::format("# kernel {} ({}{})\n", kernel.name, result.target->name, variant);
        if (kernel.asked.empty())
          text += "asks for no instruction: the compiler of the language chooses them\n";
        text += atomics::explain(instructions_of(*result.target, input), kernel.asked,
                                 "multiply-adds of single threads, which the compiler of the "
                                 "language chooses");
      }
    }
  return text;
}

} // namespace tang::driver

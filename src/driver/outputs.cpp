#include "driver/outputs.h"
#include "driver/files.h"
#include "driver/pipeline.h"
#include "targets/target.h"
#include <filesystem>
#include <unistd.h>

namespace tang::driver {

namespace fs = std::filesystem;

namespace {

std::string in_folder(const std::string& folder, const std::string& name) {
  if (folder.empty()) return name;
  return folder.back() == '/' ? folder + name : folder + "/" + name;
}

bool is_per_target(Emit kind) {
  switch (kind) {
  case Emit::source:
  case Emit::report:
  case Emit::schedule:
  case Emit::spec:
  case Emit::test:
  case Emit::html:
  case Emit::launcher: return true;
  case Emit::header:
  case Emit::tg:
  case Emit::graph:
  case Emit::cmake: return false;
  }
  return false;
}

/// What follows the stem.
std::string ending(Emit kind, const targets::Target* target) {
  std::string name = target ? "." + target->name : "", extension = target ? target->extension : "";
  const print::HostFile* host = target ? host_file_of(*target) : nullptr;
  std::string host_extension = host ? std::string(host->extension) : extension;
  switch (kind) {
  case Emit::source: return name + extension;
  case Emit::header: return ".h";
  case Emit::report: return name + ".sol.json";
  case Emit::tg: return ".parse.tg";
  case Emit::graph: return ".graph.tg";
  case Emit::schedule: return name + ".schedule.yaml";
  case Emit::spec: return name + ".spec";
  case Emit::test: return name + ".test" + host_extension;
  case Emit::html: return name + ".html";
  case Emit::launcher: return name + ".launcher" + host_extension;
  case Emit::cmake: return ".cmake";
  }
  return "";
}

/// The nearest ancestor that exists must be a folder that can be written.
bool can_make(const fs::path& folder, std::string& reason) {
  std::error_code error;
  fs::path at = folder.empty() ? fs::path(".") : folder;
  while (!fs::exists(at, error)) {
    if (error && error != std::errc::no_such_file_or_directory) break;
    fs::path parent = at.parent_path();
    at = parent.empty() ? fs::path(".") : parent;
  }
  if (!error && !fs::is_directory(at, error)) {
    reason = fmt::format("`{}` is no folder", at.string());
    return false;
  }
  if (error || ::access(at.c_str(), W_OK | X_OK) != 0) {
    reason = error ? error.message() : last_error();
    return false;
  }
  return true;
}

bool is_writable(const std::string& path, std::string& reason) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  bool folder = path.back() == '/';
  if (fs::exists(status) && fs::is_directory(status) != folder) {
    reason = folder ? "a file stands there" : "a folder stands there";
    return false;
  }
  if (fs::exists(status) && !folder && !fs::is_regular_file(status)) {
    if (::access(path.c_str(), W_OK) == 0) return true;
    reason = last_error();
    return false;
  }
  fs::path resolved = fs::path(resolve_links(path));
  return can_make(folder ? fs::path(path) : resolved.parent_path(), reason);
}

} // namespace

const print::HostFile* host_file_of(const targets::Target& target) {
  const print::Dialect* dialect = print::dialect_named(target.dialect);
  return dialect ? dialect->host : nullptr;
}

std::vector<OutputFile> output_files(const CompileOptions& options, const std::string& input) {
  std::vector<OutputFile> files;
  std::string folder = options.directory, stem = stem_of(input);
  size_t slash = options.output.rfind('/');
  if (folder.empty() && slash != options.output.npos) folder = options.output.substr(0, slash + 1);
  auto add = [&](Emit kind, size_t target) {
    const targets::Target* t =
        target == OutputFile::no_target ? nullptr : options.targets[target].target;
    bool named = !options.output.empty() && (kind == Emit::source || options.emit.size() == 1);
    files.push_back(
        {kind, named ? options.output : in_folder(folder, stem + ending(kind, t)), target});
    auto add_part = [&](Part part, std::string_view end) {
      files.push_back(
          {kind, in_folder(folder, fmt::format("{}.{}.{}", stem, t->name, end)), target, part});
    };
    if (kind == Emit::source && options.split) add_part(Part::kernels, "kernels/");
    if (kind == Emit::source && options.embed) {
      add_part(Part::array, "embed.c");
      add_part(Part::array_header, "embed.h");
    }
  };
  for (Emit kind : options.emit)
    if (is_per_target(kind))
      for (size_t i = 0; i < options.targets.size(); ++i) {
        // A launcher that is part of the source is no file.
        if (kind != Emit::launcher || host_file_of(*options.targets[i].target)) add(kind, i);
      }
    else
      add(kind, OutputFile::no_target);
  return files;
}

std::string depfile_path(const CompileOptions& options, const std::vector<OutputFile>& files) {
  const DependencyOptions& dependencies = options.dependencies;
  if (!dependencies.file.empty()) return dependencies.file;
  if (dependencies.only) return "-";
  if (!dependencies.beside || files.empty()) return "";
  std::string first = files.front().path;
  if (first == "-") return "";
  size_t dot = first.rfind('.'), slash = first.rfind('/');
  if (dot == first.npos || (slash != first.npos && dot < slash)) return first + ".d";
  return first.substr(0, dot) + ".d";
}

bool check_outputs(const std::vector<std::string>& paths, const std::vector<std::string>& inputs,
                   Sink& sink) {
  bool good = true;
  std::vector<fs::path> seen;
  std::error_code ignored;
  for (const std::string& path : paths) {
    if (path == "-") continue;
    std::string reason;
    if (!is_writable(path, reason)) {
      sink.report(Kind::cannot_write, {}, "cannot write `{}`: {}", path, reason);
      good = false;
      continue;
    }
    fs::path real = fs::weakly_canonical(path, ignored);
    for (const std::string& input : inputs)
      if (input != "-" && real == fs::weakly_canonical(input, ignored)) {
        sink.report(Kind::command_line, {}, "the output `{}` would replace the input", path);
        good = false;
      }
    if (std::find(seen.begin(), seen.end(), real) != seen.end() &&
        !fs::is_character_file(real, ignored)) {
      sink.report(Kind::command_line, {}, "two outputs are called `{}`", path);
      good = false;
    }
    seen.push_back(real);
  }
  return good;
}

std::optional<std::string> make_name(std::string_view name) {
  std::string out;
  size_t backslashes = 0;
  for (char c : name) {
    if (c == '\n' || c == '\r') return std::nullopt;
    if (c == ' ' || c == '\t' || c == '#') out.append(backslashes + 1, '\\');
    if (c == '$') out += '$';
    out += c;
    backslashes = c == '\\' ? backslashes + 1 : 0;
  }
  return out;
}

std::optional<std::string> depfile_text(const DependencyOptions& options,
                                        const std::vector<std::string>& outputs,
                                        const std::vector<std::string>& inputs, Sink& sink) {
  bool good = true;
  auto escaped = [&](const std::string& name) {
    auto text = make_name(name);
    if (!text) sink.report(Kind::command_line, {}, "a depfile cannot hold the name `{}`", name);
    good = good && text;
    return text.value_or("");
  };
  std::vector<std::string> left = options.targets, right;
  if (left.empty())
    for (const std::string& output : outputs)
      if (output != "-" && output.back() != '/') left.push_back(escaped(output));
  for (const std::string& input : inputs)
    if (input != "-") right.push_back(escaped(input));
  if (!good) return std::nullopt;
  std::string text = fmt::format("{}:", fmt::join(left, " "));
  for (const std::string& name : right) text += " \\\n  " + name;
  text += "\n";
  if (options.phony)
    for (size_t i = 1; i < right.size(); ++i) text += right[i] + ":\n";
  return text;
}

} // namespace tang::driver

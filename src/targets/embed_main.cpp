// tangc_embed: prints the tables of targets/ and the texts of specs/ as one C++ source file, so
// that the compiler proper never reads YAML.
//
//   tangc_embed OUTPUT INDEX TARGET.yaml... -- DEVICE.yaml... -- SPEC...
#include "diagnostics/render.h"
#include "targets/embed_print.h"
#include "targets/load.h"
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace tang::targets {
namespace {

/// Where the files come from, and where their faults go.
struct Input {
  SourceManager sources;
  Sink sink;
  bool readable = true;

  std::string slurp(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) {
      fmt::print(stderr, "{}: error: cannot read the file\n", path);
      readable = false;
    }
    return std::move(text).str();
  }
  FileId read(const std::string& path) { return sources.add(path, slurp(path)); }

  int status() const {
    RenderOptions options;
    options.tool = "tangc_embed";
    fmt::print(stderr, "{}", render_all(sink.diagnostics(), sources, options));
    return sink.ok() && readable ? 0 : 1;
  }
};

std::string stem(const std::string& path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  return name.substr(0, name.rfind(".yaml"));
}

/// Loads every file in the order of `names`; a file without a name, and a name without a file, are
/// errors.
template <class Row, class Load>
std::vector<Row> load_all(Input& input, const std::vector<std::string>& names,
                          const std::vector<std::string>& paths, Load load) {
  std::vector<Row> rows;
  for (const std::string& path : paths)
    if (std::find(names.begin(), names.end(), stem(path)) == names.end()) {
      fmt::print(stderr, "{}: error: the index does not list `{}`\n", path, stem(path));
      input.readable = false;
    }
  for (const std::string& name : names) {
    auto path = std::find_if(paths.begin(), paths.end(),
                             [&](const std::string& p) { return stem(p) == name; });
    if (path == paths.end()) {
      fmt::print(stderr, "error: the index lists `{}`, which has no file\n", name);
      input.readable = false;
      continue;
    }
    auto row = load(input.sources, input.read(*path), input.sink);
    if (row && row->name != name) {
      fmt::print(stderr, "{}: error: the file holds `{}`\n", *path, row->name);
      input.readable = false;
    }
    if (row) rows.push_back(std::move(*row));
  }
  return rows;
}

/// Names that one table takes from another must exist there.
void check_references(Input& input, const std::vector<Target>& targets,
                      const std::vector<Device>& devices) {
  auto fail = [&](const std::string& text) {
    fmt::print(stderr, "error: {}\n", text);
    input.readable = false;
  };
  for (const Target& t : targets) {
    if (t.default_device.empty()) continue;
    auto at = std::find_if(devices.begin(), devices.end(),
                           [&](const Device& d) { return d.name == t.default_device; });
    if (at == devices.end())
      fail(fmt::format("`{}`: there is no device `{}`", t.name, t.default_device));
    else if (!at->can_run(t.name))
      fail(fmt::format("device `{}` does not run `{}`", at->name, t.name));
  }
  for (const Device& d : devices)
    for (const std::string& name : d.runs)
      if (std::none_of(targets.begin(), targets.end(),
                       [&](const Target& t) { return t.name == name; }))
        fail(fmt::format("device `{}` runs `{}`, which is no target", d.name, name));
}

/// The arguments between two `--`.
struct Arguments {
  std::string output, index;
  std::vector<std::string> groups[3]; ///< targets, devices, specs
};

std::optional<Arguments> parse_arguments(int count, char** values) {
  if (count < 3) return std::nullopt;
  Arguments arguments{values[1], values[2], {}};
  size_t group = 0;
  for (int i = 3; i < count; ++i) {
    if (std::string_view(values[i]) != "--")
      arguments.groups[group].push_back(values[i]);
    else if (++group == 3)
      return std::nullopt;
  }
  for (auto& paths : arguments.groups) std::sort(paths.begin(), paths.end());
  return arguments;
}

int run(const Arguments& arguments) {
  Input input;
  auto index = load_index(input.sources, input.read(arguments.index), input.sink);
  if (!index) return input.status();
  auto targets = load_all<Target>(input, index->targets, arguments.groups[0], load_target);
  auto devices = load_all<Device>(input, index->devices, arguments.groups[1], load_device);
  if (input.sink.ok()) check_references(input, targets, devices);
  std::vector<EmbeddedFile> specs;
  for (const std::string& path : arguments.groups[2])
    specs.push_back({path.substr(path.find_last_of('/') + 1), input.slurp(path)});
  if (int status = input.status()) return status;
  std::ofstream file(arguments.output, std::ios::binary);
  file << embedded_source(targets, devices, specs);
  file.close();
  if (file) return 0;
  fmt::print(stderr, "{}: error: cannot write the file\n", arguments.output);
  return 1;
}

} // namespace
} // namespace tang::targets

int main(int count, char** values) {
  auto arguments = tang::targets::parse_arguments(count, values);
  if (arguments) return tang::targets::run(*arguments);
  fmt::print(stderr,
             "usage: tangc_embed OUTPUT INDEX TARGET.yaml... -- DEVICE.yaml... -- SPEC...\n");
  return 2;
}

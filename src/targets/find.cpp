#include "targets/find.h"
#include "diagnostics/sink.h"
#include "targets/embedded.h"
#include <fmt/format.h>

namespace tang::targets {
namespace {

template <class Rows>
std::vector<std::string> names_of(Rows rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

/// What was meant by a word that names no target; empty where that is not plain.
std::string target_hint(std::string_view name) {
  if (const Device* device = device_named(name))
    for (auto target = device->runs.rbegin(); target != device->runs.rend(); ++target)
      if (target_named(*target)) return fmt::format("it is a device: write `{}:{}`", *target, name);
  // A language is not enough: which targets are written in it.
  std::string targets;
  for (const EmbeddedTarget& row : embedded_targets())
    if (row.get().dialect == name)
      targets += fmt::format("{}`{}`", targets.empty() ? "" : ", ", row.name);
  if (!targets.empty()) return "its targets are " + targets;
  for (std::string_view word : {"gpu", "nvidia", "ptx", "nvptx"})
    if (name == word) return "NVIDIA GPUs are named by compute capability: `sm_80`, `sm_90a`";
  for (std::string_view word : {"cpu", "x86", "x86_64", "host", "native"})
    if (name == word) return "C code is for `c`, `c+avx2`, `c+avx512` or `c+neon`";
  return "";
}

std::string unknown(std::string_view what, std::string_view name,
                    const std::vector<std::string>& known) {
  // Names are lower case: `SM_80` is three letters off, but what was meant is plain.
  std::string lower(name);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  std::string near = nearest_name(lower, known);
  std::string meant = what == "target" ? target_hint(lower) : "";
  std::string hint = !meant.empty() ? meant
                     : near.empty() ? "`tangc targets` lists them"
                                    : fmt::format("did you mean `{}`?", near);
  return fmt::format("unknown {} `{}`; {}", what, name, hint);
}

} // namespace

const std::vector<std::string>& target_names() {
  static const std::vector<std::string> names = names_of(embedded_targets());
  return names;
}

const std::vector<std::string>& device_names() {
  static const std::vector<std::string> names = names_of(embedded_devices());
  return names;
}

const Target* target_named(std::string_view name) {
  for (const EmbeddedTarget& row : embedded_targets())
    if (row.name == name) return &row.get();
  return nullptr;
}

const Device* device_named(std::string_view name) {
  for (const EmbeddedDevice& row : embedded_devices())
    if (row.name == name) return &row.get();
  return nullptr;
}

std::string_view embedded_spec(std::string_view name) {
  for (const EmbeddedSpec& row : embedded_specs())
    if (row.name == name) return row.text;
  return {};
}

std::optional<TargetSpec> find_target(std::string_view text, std::string& error) {
  size_t colon = text.find(':');
  std::string_view name = text.substr(0, colon);
  if (name.empty()) {
    error = fmt::format("`{}` names no target; `tangc targets` lists them", text);
    return std::nullopt;
  }
  const Target* target = target_named(name);
  if (!target) {
    error = unknown("target", name, target_names());
    return std::nullopt;
  }
  bool named = colon != std::string_view::npos;
  std::string_view device_name =
      named ? text.substr(colon + 1) : std::string_view(target->default_device);
  if (device_name.empty() && !named) return TargetSpec{target, nullptr};
  const Device* device = device_named(device_name);
  if (!device) {
    error = unknown("device", device_name, device_names());
    return std::nullopt;
  }
  if (!device->can_run(target->name)) {
    error = fmt::format("device `{}` cannot run code for `{}`", device->name, target->name);
    return std::nullopt;
  }
  return TargetSpec{target, device};
}

} // namespace tang::targets

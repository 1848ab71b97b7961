#include "targets/load.h"
#include "targets/table_reader.h"
#include <algorithm>

namespace tang::targets {
namespace {

bool is_name(std::string_view text, std::string_view extra) {
  auto legal = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           extra.find(c) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), legal);
}

/// The keys of one kind of row, and nothing else; `source` first, where the rows may share one.
template <class Rows>
std::vector<std::string_view> keys_of(const Rows& rows, bool shared_source) {
  std::vector<std::string_view> keys;
  if (shared_source) keys.push_back("source");
  for (const auto& row : rows) keys.push_back(row.name);
  return keys;
}

/// A mapping from names to figures, each written `132` under a common `source`, or `{value: 132,
/// source: ...}`.
template <class Rows, size_t count>
void read_figures(TableReader& reader, const Table& table, const Rows& rows,
                  std::array<Figure, count>& out) {
  std::string common = table.has("source") ? reader.text(table, "source") : std::string();
  for (size_t i = 0; i < count; ++i) {
    if (!reader.require(table, rows[i].name)) continue;
    Figure& figure = out[i];
    if (!is_mapping(table, rows[i].name)) {
      figure = {reader.integer(table, rows[i].name), common};
      if (common.empty())
        reader
            .report(Kind::table_missing_key, reader.place(table, rows[i].name),
                    "`{}` has no source", rows[i].name)
            .help("write `{value: ..., source: ...}`, or one `source` for the whole mapping");
      continue;
    }
    Table entry = reader.table(table, rows[i].name, {"value", "source"});
    if (reader.require(entry, "value")) figure.value = reader.integer(entry, "value");
    if (entry.has("source"))
      figure.source = reader.text(entry, "source");
    else if (!common.empty())
      figure.source = common;
    else
      reader.require(entry, "source");
  }
}

void read_roof(TableReader& reader, const Table& roofs, const RoofInfo& info,
               std::optional<Roof>& out) {
  Table entry = reader.table(roofs, info.name, {"hard", "achievable", "source"});
  Roof roof;
  // Ask for all three before giving up, so that every missing key is reported.
  bool has_hard = reader.require(entry, "hard"),
       has_achievable = reader.require(entry, "achievable");
  if (!reader.require(entry, "source") || !has_hard || !has_achievable) return;
  roof.hard = reader.number(entry, "hard");
  roof.source = reader.text(entry, "source");
  if (!is_null(entry, "achievable")) roof.achievable = reader.number(entry, "achievable");
  if (info.bound == RoofBound::most && roof.hard <= 0)
    reader.report(Kind::table_bad_value, reader.place(entry, "hard"), "`{}` must be above 0",
                  info.name);
  if (roof.achievable) {
    bool beyond =
        info.bound == RoofBound::most ? *roof.achievable > roof.hard : *roof.achievable < roof.hard;
    if (beyond)
      reader.report(Kind::table_bad_value, reader.place(entry, "achievable"),
                    "`{}` was achieved beyond its hard limit: {} against {}", info.name,
                    *roof.achievable, roof.hard);
  }
  out = std::move(roof);
}

void read_hierarchy(TableReader& reader, const Table& table, Target& target) {
  for (Level level : all_levels) {
    if (!reader.require(table, name_of(level))) continue;
    Table entry = reader.table(table, name_of(level), {"is", "text"});
    LevelInfo& info = target.hierarchy[static_cast<size_t>(level)];
    if (reader.require(entry, "text")) info.text = reader.text(entry, "text");
    if (!reader.require(entry, "is")) continue;
    std::string presence = reader.text(entry, "is");
    bool known = false;
    for (Presence candidate : {Presence::hardware, Presence::loop, Presence::single})
      if (name_of(candidate) == presence) info.presence = candidate, known = true;
    if (!known)
      reader.report(Kind::table_bad_value, reader.place(entry, "is"),
                    "`{}` is none of `hardware`, `loop`, `single`", presence);
  }
}

void read_features(TableReader& reader, const Table& table, Target& target) {
  std::vector<std::string> known;
  for (Feature feature : all_features) known.emplace_back(name_of(feature));
  for (const Item& item : reader.list(table, "features")) {
    if (auto feature = feature_of_name(item.text)) {
      target.features.add(*feature);
      continue;
    }
    Diagnostic& report =
        reader.report(Kind::table_bad_value, item.span, "`{}` is not a feature", item.text);
    if (std::string near = nearest_name(item.text, known); !near.empty())
      report.help(fmt::format("did you mean `{}`?", near));
  }
}

/// Entries that say the same thing twice must agree.
void check_target(TableReader& reader, const Table& table, const Target& target) {
  auto contradiction = [&](bool wrong, std::string_view key, std::string_view text) {
    if (wrong) reader.report(Kind::table_bad_value, reader.place(table, key), "{}", text);
  };
  bool grid = target.level(Level::grid).presence == Presence::hardware;
  bool threads = target.level(Level::thread).presence == Presence::hardware;
  bool shared = target.has(Feature::shared_memory);
  contradiction(grid != target.has(Feature::hardware_grid), "hierarchy",
                "`hardware_grid` and the level `grid` contradict each other");
  contradiction(threads != target.has(Feature::hardware_threads), "hierarchy",
                "`hardware_threads` and the level `thread` contradict each other");
  contradiction(
      !threads && (shared || target.has(Feature::barriers) || target.has(Feature::warp_shuffle)),
      "features", "a block of one thread has no `barriers`, `shared_memory` or `warp_shuffle`");
  contradiction(shared != (target.limit(LimitKey::static_shared_bytes) > 0), "limits",
                "`shared_memory` and `static_shared_bytes` contradict each other");
  contradiction(target.limit(LimitKey::dynamic_shared_bytes) <
                    target.limit(LimitKey::static_shared_bytes),
                "limits", "`dynamic_shared_bytes` is below `static_shared_bytes`");
  contradiction(target.limit(LimitKey::warp_size) > target.limit(LimitKey::max_threads_per_block),
                "limits", "`warp_size` exceeds `max_threads_per_block`");
  contradiction(target.printable && target.default_device.empty(), "default_device",
                "a printable target needs a default device");
}

} // namespace

std::optional<Target> load_target(const SourceManager& sources, FileId file, Sink& sink) {
  TableReader reader(sources, file, sink);
  Table table = reader.root({"name", "title", "dialect", "extension", "default_device", "printable",
                             "tested", "compile_flags", "features", "hierarchy", "limits"});
  Target target;
  for (auto [key, member] :
       {std::pair("name", &Target::name), std::pair("title", &Target::title),
        std::pair("dialect", &Target::dialect), std::pair("extension", &Target::extension),
        std::pair("tested", &Target::tested)})
    if (reader.require(table, key)) target.*member = reader.text(table, key);
  if (reader.require(table, "default_device") && !is_null(table, "default_device"))
    target.default_device = reader.text(table, "default_device");
  if (reader.require(table, "compile_flags") && !is_null(table, "compile_flags"))
    target.compile_flags = reader.text(table, "compile_flags");
  if (reader.require(table, "printable")) target.printable = reader.boolean(table, "printable");
  if (reader.require(table, "features")) read_features(reader, table, target);
  if (reader.require(table, "hierarchy")) {
    std::vector<std::string_view> levels;
    for (Level level : all_levels) levels.push_back(name_of(level));
    read_hierarchy(reader, reader.table(table, "hierarchy", levels), target);
  }
  if (reader.require(table, "limits"))
    read_figures(reader, reader.table(table, "limits", keys_of(limit_rows, true)), limit_rows,
                 target.limits);
  if (table.has("name") && reader.ok() && !is_name(target.name, "_+"))
    reader
        .report(Kind::table_bad_value, reader.place(table, "name"), "`{}` cannot name a target",
                target.name)
        .help("names are made of lower-case letters, digits, `_` and `+`");
  if (reader.ok()) check_target(reader, table, target);
  if (!reader.ok()) return std::nullopt;
  return target;
}

std::optional<Device> load_device(const SourceManager& sources, FileId file, Sink& sink) {
  TableReader reader(sources, file, sink);
  Table table = reader.root({"name", "title", "tested", "runs", "capacities", "roofs"});
  Device device;
  for (auto [key, member] : {std::pair("name", &Device::name), std::pair("title", &Device::title),
                             std::pair("tested", &Device::tested)})
    if (reader.require(table, key)) device.*member = reader.text(table, key);
  if (reader.require(table, "runs"))
    for (const Item& item : reader.list(table, "runs")) device.runs.push_back(item.text);
  if (reader.require(table, "capacities"))
    read_figures(reader, reader.table(table, "capacities", keys_of(capacity_rows, true)),
                 capacity_rows, device.capacities);
  if (reader.require(table, "roofs")) {
    Table roofs = reader.table(table, "roofs", keys_of(roof_rows, false));
    for (const RoofInfo& info : roof_rows)
      if (roofs.has(info.name) || (info.required && reader.require(roofs, info.name)))
        read_roof(reader, roofs, info, device.roofs[static_cast<size_t>(info.key)]);
  }
  if (table.has("name") && reader.ok() && !is_name(device.name, "-"))
    reader
        .report(Kind::table_bad_value, reader.place(table, "name"), "`{}` cannot name a device",
                device.name)
        .help("names are made of lower-case letters, digits and `-`");
  if (!reader.ok()) return std::nullopt;
  return device;
}

std::optional<Index> load_index(const SourceManager& sources, FileId file, Sink& sink) {
  TableReader reader(sources, file, sink);
  Table table = reader.root({"targets", "devices"});
  Index index;
  for (auto [key, member] :
       {std::pair("targets", &Index::targets), std::pair("devices", &Index::devices)})
    if (reader.require(table, key))
      for (const Item& item : reader.list(table, key)) (index.*member).push_back(item.text);
  if (!reader.ok()) return std::nullopt;
  return index;
}

} // namespace tang::targets

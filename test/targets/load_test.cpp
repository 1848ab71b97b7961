// Reading tables: a good one, and every way to spoil it.
#include "targets/load.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <random>

using namespace tang;
using namespace tang::targets;

namespace {

/// A whole target or device, one key a line, so that tests can spoil single lines.
std::string good_target() {
  return R"(name: sm_1
title: "a target"
dialect: c
extension: ".c"
default_device: d
printable: true
tested: "no"
compile_flags: null
features: [hardware_grid, hardware_threads, shared_memory]
hierarchy:
  grid: {is: hardware, text: a}
  block: {is: hardware, text: b}
  warp: {is: single, text: c}
  thread: {is: hardware, text: d}
limits:
  source: "manual"
  warp_size: {value: 32, source: "another manual"}
  max_threads_per_block: 1024
  max_block_x: 1024
  max_block_y: 1024
  max_block_z: 64
  max_grid_x: 2147483647
  max_grid_y: 65535
  max_grid_z: 65535
  max_threads_per_core: 2048
  max_blocks_per_core: 32
  registers_per_core: 65536
  max_registers_per_thread: 255
  static_shared_bytes: 49152
  dynamic_shared_bytes: 49152
  max_buffers: 0
  buffer_alignment: 1
  max_vector_bytes: 16
)";
}

std::string good_device() {
  std::string text = R"(name: d-1
title: a device
tested: "no"
runs: [sm_1, sm_2]
capacities:
  source: sheet
)";
  for (const CapacityInfo& info : capacity_rows) text += fmt::format("  {}: 7\n", info.name);
  text += "roofs:\n";
  for (const RoofInfo& info : roof_rows)
    if (info.required)
      text += fmt::format("  {}: {{hard: 4.5e3, achievable: null, source: sheet}}\n", info.name);
  return text;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// `line:column code message`, one a line.
struct Loaded {
  std::string faults;
  std::optional<Target> target;
  std::optional<Device> device;
};

Loaded load(const std::string& text, bool device) {
  SourceManager sources;
  Sink sink;
  FileId file = sources.add("t.yaml", text);
  Loaded loaded;
  if (device)
    loaded.device = load_device(sources, file, sink);
  else
    loaded.target = load_target(sources, file, sink);
  for (const Diagnostic& d : sink.diagnostics()) {
    LineColumn at = sources.position(d.span.file, d.span.begin);
    loaded.faults += fmt::format("{}:{} {} {}\n", at.line, at.column, info(d.kind).code, d.message);
    for (const Note& note : d.notes) loaded.faults += fmt::format("  {}\n", note.message);
  }
  CHECK(loaded.faults.empty() == (loaded.target || loaded.device));
  return loaded;
}

std::string target_faults(std::string_view from, std::string_view to) {
  return load(replaced(good_target(), from, to), false).faults;
}
std::string device_faults(std::string_view from, std::string_view to) {
  return load(replaced(good_device(), from, to), true).faults;
}

} // namespace

TEST_CASE("a target is read whole", "[load]") {
  auto target = load(good_target(), false).target;
  REQUIRE(target);
  CHECK(target->name == "sm_1");
  CHECK(target->compile_flags.empty());
  CHECK(target->features ==
        FeatureSet{Feature::hardware_grid, Feature::hardware_threads, Feature::shared_memory});
  CHECK(target->level(Level::warp).presence == Presence::single);
  CHECK(target->level(Level::block).text == "b");
  CHECK(target->limit(LimitKey::max_grid_x) == 2147483647);
  CHECK(target->limits[0].source == "another manual");
  CHECK(target->limits[1].source == "manual");
}

TEST_CASE("a device is read whole", "[load]") {
  auto device = load(good_device(), true).device;
  REQUIRE(device);
  CHECK(device->can_run("sm_2"));
  CHECK_FALSE(device->can_run("sm_3"));
  CHECK(device->capacity(CapacityKey::l2_bytes) == 7);
  REQUIRE(device->roof(RoofKey::dram_bytes_per_s));
  CHECK(device->roof(RoofKey::dram_bytes_per_s)->hard == 4500);
  CHECK_FALSE(device->roof(RoofKey::dram_bytes_per_s)->achievable);
  CHECK_FALSE(device->roof(RoofKey::bf16_mma_flop_per_s));
}

TEST_CASE("text that is no table", "[load]") {
  CHECK(load("", true).faults == "1:1 E0023 a table must be a mapping, not nothing\n");
  CHECK(load("- a\n", true).faults == "1:1 E0023 a table must be a mapping, not a list\n");
  CHECK(load("a: [1, 2\n", true).faults.find("E0020 this is not YAML: ") != std::string::npos);
  CHECK(load("a: 1\nb: c: d\n", true).faults.find("2:5 E0020") == 0);
  CHECK(load("a: *b\n", false).faults.find("E0020") != std::string::npos);
}

TEST_CASE("hostile tables are refused, not followed", "[load]") {
  std::string deep(100000, '[');
  CHECK(load("name: " + deep, false).faults.find("E0020") != std::string::npos);
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i)
    bomb += fmt::format("a{}: &a{} [*a{}, *a{}, *a{}, *a{}, *a{}, *a{}]\n", i, i, i - 1, i - 1,
                        i - 1, i - 1, i - 1, i - 1);
  CHECK(load(bomb, false).faults.find("E0020 the table is larger than any table can be") !=
        std::string::npos);
}

TEST_CASE("keys", "[load]") {
  CHECK(target_faults("max_grid_y", "max_gird_y") ==
        "23:3 E0021 unknown key `max_gird_y`\n"
        "  did you mean `max_grid_y`?\n"
        "16:3 E0022 the key `max_grid_y` is missing\n");
  CHECK(target_faults("dialect: c\n", "") == "1:1 E0022 the key `dialect` is missing\n");
  CHECK(target_faults("dialect: c\n", "dialect: c\ndialect: c\n") ==
        "4:1 E0025 the key `dialect` stands twice\n"
        "  it stands here first\n");
  CHECK(target_faults("is: single, ", "") == "13:9 E0022 the key `is` is missing\n");
  CHECK(device_faults("hard: 4.5e3, ", "").find("E0022 the key `hard` is missing") !=
        std::string::npos);
  CHECK(device_faults("roofs:", "rooves:").find("E0021 unknown key `rooves`") != std::string::npos);
}

TEST_CASE("types", "[load]") {
  CHECK(target_faults("max_grid_y: 65535", "max_grid_y: many") ==
        "23:15 E0023 `max_grid_y` must be a whole number, not `many`\n");
  CHECK(target_faults("65535", "-1").find("must be a whole number, not `-1`") != std::string::npos);
  CHECK(target_faults("65535", "1.5").find("must be a whole number, not `1.5`") !=
        std::string::npos);
  CHECK(target_faults("65535", "\"7\"").find("must be a whole number, not `\"7\"`") !=
        std::string::npos);
  CHECK(target_faults("65535", "9223372036854775808").find("must be a whole number") !=
        std::string::npos);
  CHECK(target_faults("65535", "[1]").find("must be a whole number, not a list") !=
        std::string::npos);
  CHECK(target_faults("printable: true", "printable: yes") ==
        "6:12 E0023 `printable` must be `true` or `false`, not `yes`\n");
  CHECK(target_faults("title: \"a target\"", "title:") ==
        "2:1 E0023 `title` must be a text, not nothing\n");
  CHECK(target_faults("[hardware_grid, hardware_threads, shared_memory]", "int64") ==
        "9:11 E0023 `features` must be a list, not `int64`\n");
  CHECK(target_faults("{is: single, text: c}", "single") ==
        "13:9 E0023 `warp` must be a mapping, not `single`\n");
  CHECK(device_faults("4.5e3", "fast").find("`hard` must be a number, not `fast`") !=
        std::string::npos);
  CHECK(device_faults("4.5e3", "1e999").find("`hard` must be a number") != std::string::npos);
  CHECK(device_faults("4.5e3", ".inf").find("`hard` must be a number") != std::string::npos);
  CHECK(device_faults("runs: [sm_1, sm_2]", "runs: [sm_1, {}]")
            .find("`runs` must be a list of names") != std::string::npos);
}

TEST_CASE("values", "[load]") {
  CHECK(target_faults("[hardware_grid,", "[hardware_grid, int46,") ==
        "9:27 E0024 `int46` is not a feature\n"
        "  did you mean `int64`?\n");
  CHECK(target_faults("[hardware_grid,", "[hardware_grid, hardware_grid,")
            .find("9:27 E0025 `hardware_grid` stands twice") == 0);
  CHECK(target_faults("is: single", "is: soft") ==
        "13:14 E0024 `soft` is none of `hardware`, `loop`, `single`\n");
  CHECK(target_faults("name: sm_1", "name: Sm-1").find("1:7 E0024 `Sm-1` cannot name a target") ==
        0);
  CHECK(device_faults("name: d-1", "name: d_1").find("1:7 E0024 `d_1` cannot name a device") == 0);
  CHECK(device_faults("4.5e3", "0").find("`dram_bytes_per_s` must be above 0") !=
        std::string::npos);
  CHECK(device_faults("achievable: null", "achievable: 4501")
            .find("`dram_bytes_per_s` was achieved beyond its hard limit: 4501 against 4500") !=
        std::string::npos);
  CHECK(device_faults("launch_s: {hard: 4.5e3, achievable: null",
                      "launch_s: {hard: 4.5e3, achievable: 4499")
            .find("`launch_s` was achieved beyond its hard limit") != std::string::npos);
}

TEST_CASE("sources", "[load]") {
  CHECK(device_faults("achievable: null, source: sheet", "achievable: null")
            .find("E0022 the key `source` is missing") != std::string::npos);
  CHECK(target_faults("  source: \"manual\"\n", "")
            .find("E0022 `max_threads_per_block` has no source") != std::string::npos);
}

TEST_CASE("entries that contradict each other", "[load]") {
  CHECK(target_faults("[hardware_grid, ", "[").find("`hardware_grid` and the level `grid`") !=
        std::string::npos);
  CHECK(target_faults("thread: {is: hardware", "thread: {is: single")
            .find("`hardware_threads` and the level") != std::string::npos);
  CHECK(target_faults(", shared_memory]", "]").find("`shared_memory` and `static_shared_bytes`") !=
        std::string::npos);
  CHECK(target_faults("dynamic_shared_bytes: 49152", "dynamic_shared_bytes: 1")
            .find("is below `static_shared_bytes`") != std::string::npos);
  CHECK(target_faults("{value: 32", "{value: 2048").find("`warp_size` exceeds") !=
        std::string::npos);
  CHECK(target_faults("default_device: d", "default_device: null").find("needs a default device") !=
        std::string::npos);
  CHECK(target_faults("shared_memory]", "shared_memory]\n").empty());
}

TEST_CASE("all faults of a file are reported, in its order of reading", "[load]") {
  std::string text = replaced(good_target(), "65535", "x");
  text = replaced(text, "is: single", "is: odd");
  text = replaced(text, "printable: true", "printable: 1");
  std::string faults = load(text, false).faults;
  CHECK(std::count(faults.begin(), faults.end(), '\n') == 3);
}

TEST_CASE("an index", "[load]") {
  SourceManager sources;
  Sink sink;
  auto index = load_index(sources, sources.add("i", "targets: [b, a]\ndevices: []\n"), sink);
  REQUIRE(index);
  CHECK(index->targets == std::vector<std::string>{"b", "a"});
  CHECK(index->devices.empty());
  CHECK_FALSE(load_index(sources, sources.add("j", "targets: [b, b]\ndevices: []\n"), sink));
  CHECK(sink.error_count() == 1);
}

TEST_CASE("a spoilt table is read or refused, never worse", "[load]") {
  std::mt19937 random(11);
  const std::string good = good_device(), alphabet = ":{}[]&*!|>-'\"#%@`,? \n\t\xff";
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text = good;
    for (int i = 0; i <= round % 4; ++i) {
      size_t at = random() % text.size();
      if (random() % 2)
        text[at] = alphabet[random() % alphabet.size()];
      else
        text.erase(at, random() % 20);
    }
    Loaded loaded = load(text, true);
    refused += !loaded.device;
  }
  CHECK(refused > 200);
}

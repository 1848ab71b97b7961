// The tables that are built in: complete, consistent, and what the command line promises.
#include "targets/describe.h"
#include "targets/embedded.h"
#include "targets/find.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

using namespace tang;
using namespace tang::targets;

namespace {

TargetSpec find(std::string_view text) {
  std::string error;
  auto spec = find_target(text, error);
  INFO(error);
  REQUIRE(spec);
  return *spec;
}

std::string error_of(std::string_view text) {
  std::string error;
  CHECK_FALSE(find_target(text, error));
  return error;
}

double hard(std::string_view device, RoofKey key) {
  const Device* found = device_named(device);
  REQUIRE(found);
  REQUIRE(found->roof(key));
  return found->roof(key)->hard;
}

} // namespace

TEST_CASE("every target of the command line is there, in its order", "[tables]") {
  CHECK(target_names() == std::vector<std::string>{"sm_75", "sm_80", "sm_86", "sm_89", "sm_90",
                                                   "sm_90a", "sm_100a", "metal3", "wgsl",
                                                   "wgsl+f16", "wgsl+subgroups", "opencl", "glsl",
                                                   "c", "c+avx2", "c+avx512", "c+neon"});
  CHECK(device_names() == std::vector<std::string>{"t4", "a100-40gb", "a100-80gb", "rtx3090",
                                                   "rtx4090", "h100-sxm", "h200", "b200",
                                                   "generic-x86", "generic-arm"});
}

TEST_CASE("default devices", "[tables]") {
  for (auto [target, device] : {std::pair("sm_75", "t4"), std::pair("sm_80", "a100-80gb"),
                                std::pair("sm_86", "rtx3090"), std::pair("sm_89", "rtx4090"),
                                std::pair("sm_90", "h100-sxm"), std::pair("sm_90a", "h100-sxm"),
                                std::pair("c", "generic-x86"), std::pair("opencl", "rtx4090")}) {
    TargetSpec spec = find(target);
    CHECK(spec.target->name == target);
    CHECK(spec.device->name == device);
  }
  CHECK(find("wgsl").device == nullptr);
  CHECK_FALSE(find("wgsl").target->printable);
}

TEST_CASE("a device can be named", "[tables]") {
  CHECK(find("sm_90a:h200").device->name == "h200");
  CHECK(find("sm_80:a100-40gb").device->name == "a100-40gb");
  CHECK(find("sm_80:h200").device->name == "h200");
}

TEST_CASE("what cannot be found says why", "[tables]") {
  CHECK(error_of("sm_81") == "unknown target `sm_81`; did you mean `sm_80`?");
  CHECK(error_of("quantum-computer") ==
        "unknown target `quantum-computer`; `tangc targets` lists them");
  CHECK(error_of("") == "`` names no target; `tangc targets` lists them");
  CHECK(error_of(":h200") == "`:h200` names no target; `tangc targets` lists them");
  CHECK(error_of("sm_90a:h20") == "unknown device `h20`; did you mean `h200`?");
  CHECK(error_of("sm_90a:") == "unknown device ``; `tangc targets` lists them");
  CHECK(error_of("sm_90a:t4") == "device `t4` cannot run code for `sm_90a`");
  CHECK(error_of("c:h200") == "device `h200` cannot run code for `c`");
  CHECK(error_of("h200") == "unknown target `h200`; it is a device: write `sm_90a:h200`");
  CHECK(error_of("cuda") == "unknown target `cuda`; its targets are `sm_75`, `sm_80`, `sm_86`, "
                            "`sm_89`, `sm_90`, `sm_90a`, `sm_100a`");
  CHECK(error_of("gpu") ==
        "unknown target `gpu`; NVIDIA GPUs are named by compute capability: `sm_80`, `sm_90a`");
  CHECK(error_of("SM_80") == "unknown target `SM_80`; did you mean `sm_80`?");
}

TEST_CASE("hard limits are those of the highest clock", "[tables]") {
  CHECK(hard("h200", RoofKey::bf16_mma_flop_per_s) == Approx(1.0705e15).epsilon(1e-4));
  CHECK(hard("h200", RoofKey::dram_bytes_per_s) >= 4.8e12);
  CHECK(hard("a100-40gb", RoofKey::dram_bytes_per_s) == Approx(1.5552e12));
  CHECK(hard("a100-80gb", RoofKey::f16_mma_flop_per_s) == Approx(3.118e14).epsilon(1e-3));
  CHECK(device_named("h200")->capacity(CapacityKey::l2_bytes) == 60 << 20);
  CHECK(device_named("t4")->roof(RoofKey::bf16_mma_flop_per_s) == nullptr);
}

TEST_CASE("a source that multiplies clocks gives the hard limit", "[tables]") {
  int checked = 0;
  for (const auto& row : embedded_devices())
    for (const RoofInfo& info : roof_rows) {
      const Roof* roof = row.get().roof(info.key);
      int cores = 0;
      double per_clock = 0, megahertz = 0;
      char unit[16];
      if (!roof || sscanf(roof->source.c_str(), "%d %*s x %lf %15s x %lf MHz", &cores, &per_clock,
                          unit, &megahertz) != 4)
        continue;
      INFO(row.name << " " << info.name << ": " << roof->source);
      CHECK(cores == row.get().capacity(CapacityKey::sm_count));
      CHECK(megahertz * 1e6 == row.get().capacity(CapacityKey::clock_hz));
      CHECK(roof->hard == Approx(cores * per_clock * megahertz * 1e6).epsilon(1e-9));
      ++checked;
    }
  CHECK(checked > 90);
}

TEST_CASE("every figure has a source and every row can be printed", "[tables]") {
  for (const std::string& name : target_names()) {
    INFO(name);
    TargetSpec spec = find(name);
    CHECK_FALSE(spec.target->tested.empty());
    for (const Row& row : rows_of(spec)) {
      INFO(row.group << "." << row.key);
      bool figure = row.group == "limits" || row.group == "capacities" || row.group == "roofs";
      CHECK((!figure || !row.source.empty()));
    }
    std::string text = describe_target(spec);
    CHECK(text.find("max_threads_per_block") != std::string::npos);
    CHECK(text.find(spec.target->tested) != std::string::npos);
    CHECK(describe_targets().find(spec.target->title) != std::string::npos);
  }
}

TEST_CASE("rows hold typed values", "[tables]") {
  auto rows = rows_of(find("sm_90a:h200"));
  auto row = [&](std::string_view group, std::string_view key) -> const Row& {
    auto at = std::find_if(rows.begin(), rows.end(),
                           [&](const Row& r) { return r.group == group && r.key == key; });
    REQUIRE(at != rows.end());
    return *at;
  };
  CHECK(std::get<int64_t>(row("limits", "warp_size").value) == 32);
  CHECK(row("limits", "warp_size").unit == "thread");
  CHECK(std::get<bool>(row("features", "warpgroup_matrix").value));
  CHECK(std::get<double>(row("roofs", "dram_bytes_per_s.achievable").value) < 4.8e12);
  CHECK(
      std::holds_alternative<std::monostate>(row("roofs", "shared_bytes_per_s.achievable").value));
  CHECK(std::get<std::string>(row("hierarchy", "grid").value) == "hardware");
  CHECK(text_of(RowValue(4.8e12)) == "4800000000000");
  CHECK(text_of(RowValue()) == "-");
}

TEST_CASE("a processor has one thread a block and loops over blocks", "[tables]") {
  for (const char* name : {"c", "c+avx2", "c+avx512", "c+neon"}) {
    const Target& target = *find(name).target;
    CHECK_FALSE(target.has(Feature::hardware_grid));
    CHECK(target.level(Level::grid).presence == Presence::loop);
    CHECK(target.level(Level::thread).presence == Presence::single);
    CHECK(target.limit(LimitKey::max_threads_per_block) == 1);
  }
  CHECK(find("c+avx2").target->symbol() == "c_avx2");
  CHECK(find("sm_80").target->symbol() == "sm_80");
}

TEST_CASE("specs are embedded byte for byte", "[tables]") {
  CHECK(embedded_spec("no such spec").data() == nullptr);
  for (const EmbeddedSpec& spec : embedded_specs()) {
    INFO(spec.name);
    std::ifstream file(fmt::format("{}/specs/{}", TANGC_SOURCE_DIR, spec.name), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    CHECK(spec.text == text.str());
    CHECK(embedded_spec(spec.name).data() == spec.text.data());
  }
}

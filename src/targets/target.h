#pragma once
// A target: what `--target` names. Its language, what it can say, what one launch may ask for, and
// what it has of the hierarchy grid, block, warp, thread. Nothing but the tables in targets/ tells
// targets apart.
#include "targets/device.h"
#include "targets/feature.h"

namespace tang::targets {

enum class LimitKey : uint8_t {
#define TANG_LIMIT(name, unit, documentation) name,
#include "targets/limit.def"
#undef TANG_LIMIT
};

struct LimitInfo {
  LimitKey key;
  std::string_view name, unit, documentation;
};

inline constexpr LimitInfo limit_rows[] = {
#define TANG_LIMIT(name, unit, documentation) {LimitKey::name, #name, unit, documentation},
#include "targets/limit.def"
#undef TANG_LIMIT
};

/// The levels of the hierarchy, outermost first.
enum class Level : uint8_t { grid, block, warp, thread };
inline constexpr Level all_levels[] = {Level::grid, Level::block, Level::warp, Level::thread};
std::string_view name_of(Level level);

/// How a target has a level.
enum class Presence : uint8_t {
  hardware, ///< the machine makes it: its index is read, not counted
  loop,     ///< generated code loops over it
  single,   ///< there is one: the level adds nothing
};
std::string_view name_of(Presence presence);

struct LevelInfo {
  Presence presence = Presence::single;
  std::string text; ///< what the level is called there, and what is special about it
};

struct Target {
  std::string name;           ///< "sm_90a"
  std::string title;          ///< "NVIDIA Hopper, with its architecture-specific instructions"
  std::string dialect;        ///< which printer says it; data for `print`
  std::string extension;      ///< of source files, with its dot
  std::string default_device; ///< empty where there is none: not printable yet
  std::string tested;         ///< how far it is tested, as text
  std::string compile_flags;  ///< what the target's own compiler must be told, and nothing else
  bool printable = false;     ///< false: known, but this version cannot print it
  FeatureSet features;
  std::array<LevelInfo, std::size(all_levels)> hierarchy;
  std::array<Figure, std::size(limit_rows)> limits;

  bool has(Feature feature) const { return features.has(feature); }
  int64_t limit(LimitKey key) const { return limits[static_cast<size_t>(key)].value; }
  const LevelInfo& level(Level level) const { return hierarchy[static_cast<size_t>(level)]; }
  /// The name as part of a symbol: `+` becomes `_`.
  std::string symbol() const;
};

/// A target and the device that its bounds are about. Both outlive every compile.
struct TargetSpec {
  const Target* target = nullptr;
  const Device* device =
      nullptr; ///< null only where the target is not printable and none was named
};

} // namespace tang::targets

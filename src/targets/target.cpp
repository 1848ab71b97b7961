#include "targets/target.h"
#include <algorithm>

namespace tang::targets {

bool Device::can_run(std::string_view target) const {
  return std::find(runs.begin(), runs.end(), target) != runs.end();
}

std::string_view name_of(Level level) {
  switch (level) {
  case Level::grid: return "grid";
  case Level::block: return "block";
  case Level::warp: return "warp";
  case Level::thread: return "thread";
  }
  return {};
}

std::string_view name_of(Presence presence) {
  switch (presence) {
  case Presence::hardware: return "hardware";
  case Presence::loop: return "loop";
  case Presence::single: return "single";
  }
  return {};
}

std::string Target::symbol() const {
  std::string text = name;
  std::replace(text.begin(), text.end(), '+', '_');
  return text;
}

} // namespace tang::targets

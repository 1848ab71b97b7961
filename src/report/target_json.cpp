#include "report/json.h"

namespace tang::report {
using namespace targets;

Json target_json(const TargetSpec& spec) {
  const Device& device = *spec.device;
  Json roofs = Json::object(), capacities = Json::object();
  for (const RoofInfo& info : roof_rows) {
    const Roof* roof = device.roof(info.key);
    if (!roof) continue;
    roofs[info.name] = {{"hard", roof->hard},
                        {"achievable", roof->achievable ? Json(*roof->achievable) : Json()},
                        {"bound", info.bound == RoofBound::most ? "most" : "least"},
                        {"source", roof->source}};
  }
  for (const CapacityInfo& info : capacity_rows) capacities[info.name] = device.capacity(info.key);
  return {{"name", spec.target->name},
          {"device", device.name},
          {"roofs", roofs},
          {"capacities", capacities},
          {"assume", {{"cache", "cold"}, {"clock", "max_boost"}}}};
}

} // namespace tang::report

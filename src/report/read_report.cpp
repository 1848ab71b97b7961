// Reading a report that anybody may have written.
#include "report/json.h"

namespace tang::report {

namespace {

/// Reports nest far less; deeper files are refused before a parser sees them.
constexpr int max_depth = 64;

/// Where a text nests deeper than allowed, or npos.
size_t too_deep_at(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (quoted) {
      if (c == '\\')
        ++at;
      else if (c == '"')
        quoted = false;
    } else if (c == '"')
      quoted = true;
    else if (c == '[' || c == '{') {
      if (++depth > max_depth) return at;
    } else if (c == ']' || c == '}')
      --depth;
  }
  return std::string_view::npos;
}

/// What every reader relies on: the path of the first thing that is missing or of another kind.
class Shape {
public:
  explicit Shape(const Json& json) : json_(json) {}

  std::string fault() {
    need(json_, "", "input", Json::value_t::object);
    need(json_, "", "target", Json::value_t::object);
    need(json_, "", "totals", Json::value_t::object);
    need(json_, "", "kernels", Json::value_t::array);
    if (!fault_.empty()) return fault_;
    text(json_["input"], "input.", "file");
    text(json_["target"], "target.", "name");
    text(json_["target"], "target.", "device");
    for (const char* key : {"floor_us", "floor_warm_us", "fused_graph_floor_us"})
      number(json_["totals"], "totals.", key);
    kernels(json_, "");
    if (json_.contains("variants")) variants();
    return fault_;
  }

private:
  void kernels(const Json& in, const std::string& path) {
    size_t k = 0;
    for (const Json& kernel : in["kernels"]) one(kernel, fmt::format("{}kernels[{}].", path, k++));
  }
  void variants() {
    need(json_, "", "variants", Json::value_t::array);
    if (!fault_.empty()) return;
    size_t v = 0;
    for (const Json& variant : json_["variants"]) {
      std::string path = fmt::format("variants[{}].", v++);
      need(variant, path, "totals", Json::value_t::object);
      need(variant, path, "kernels", Json::value_t::array);
      if (!fault_.empty()) return;
      text(variant, path, "when");
      for (const char* key : {"floor_us", "floor_warm_us"})
        number(variant["totals"], path + "totals.", key);
      kernels(variant, path);
    }
  }
  void one(const Json& kernel, const std::string& path) {
    if (!kernel.is_object()) return say(path.substr(0, path.size() - 1), "an object");
    text(kernel, path, "name");
    need(kernel, path, "floor", Json::value_t::object);
    need(kernel, path, "traffic", Json::value_t::object);
    if (!fault_.empty()) return;
    number(kernel["floor"], path + "floor.", "us");
    number(kernel["floor"], path + "floor.", "warm_us");
    text(kernel["floor"], path + "floor.", "bound_by");
    need(kernel["traffic"], path + "traffic.", "per_tensor", Json::value_t::array);
    if (!fault_.empty()) return;
    size_t t = 0;
    for (const Json& entry : kernel["traffic"]["per_tensor"])
      if (std::string at = fmt::format("{}traffic.per_tensor[{}]", path, t++); !entry.is_object())
        say(at, "an object");
  }
  void say(const std::string& path, const char* wanted) {
    if (fault_.empty()) fault_ = fmt::format("`{}` must be {}", path, wanted);
  }
  void need(const Json& in, const std::string& path, const char* key, Json::value_t type) {
    bool array = type == Json::value_t::array;
    if (!in.is_object() || !in.contains(key) || in[key].type() != type)
      say(path + key, array ? "a list" : "an object");
  }
  void number(const Json& in, const std::string& path, const char* key) {
    if (!in.contains(key) || !in[key].is_number()) say(path + key, "a number");
  }
  void text(const Json& in, const std::string& path, const char* key) {
    if (!in.contains(key) || !in[key].is_string()) say(path + key, "a string");
  }
  const Json& json_;
  std::string fault_;
};

} // namespace

std::optional<Json> read_report(const SourceManager& sources, FileId id, Sink& sink) {
  const SourceFile& file = sources.file(id);
  auto report = [&](size_t at, const std::string& what) -> std::optional<Json> {
    auto begin = static_cast<uint32_t>(std::min(at, file.text.size()));
    auto end = static_cast<uint32_t>(std::min<size_t>(begin + 1, file.text.size()));
    sink.report(Kind::report_file, {id, begin, end}, "`{}` is no report: {}", file.path, what);
    return std::nullopt;
  };
  if (size_t at = too_deep_at(file.text); at != std::string_view::npos)
    return report(at, "it nests too deep");
  Json json;
  try {
    json = Json::parse(file.text);
  } catch (const Json::parse_error& error) {
    return report(error.byte ? error.byte - 1 : 0, "it is not JSON here");
  } catch (const Json::exception&) {
    return report(0, "it holds a number that is too large");
  }
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_string())
    return report(0, "it has no `schema`");
  if (json["schema"] != "tangc.sol/1")
    return report(file.text.find("\"schema\""),
                  "its schema is not `tangc.sol/1`, which this version reads");
  if (std::string fault = Shape(json).fault(); !fault.empty()) return report(0, fault);
  return json;
}

} // namespace tang::report

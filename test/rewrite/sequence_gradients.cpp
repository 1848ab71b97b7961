// The gradient of a loss over all that a random sequence gives.
#include "sequences.h"
#include <algorithm>
#include <fmt/format.h>

namespace tang::rewrite::test {

namespace {

/// What stands behind `word` at the start of lines: names and shapes of real tensors.
std::vector<std::pair<std::string, std::string>> declared(const std::string& text,
                                                          const std::string& word) {
  std::vector<std::pair<std::string, std::string>> found;
  const std::string type = " : f64[";
  for (size_t at = text.find("\n" + word); at != std::string::npos;
       at = text.find("\n" + word, at + 1)) {
    std::string line = text.substr(at + 1 + word.size());
    line.resize(line.find('\n'));
    size_t colon = line.find(type);
    if (colon == std::string::npos) continue;
    std::string shape = line.substr(colon + type.size());
    shape.resize(shape.find(']'));
    found.emplace_back(line.substr(0, colon), shape);
  }
  return found;
}

} // namespace

std::string Sequence::with_gradient() const {
  auto inputs = declared(text, "input "), outputs = declared(text, "output ");
  if (inputs.empty() || outputs.empty()) return "";
  std::string loss, pairs, results;
  for (const auto& [name, shape] : outputs) {
    std::string binders, places;
    size_t k = 0;
    for (size_t at = 0; at < shape.size(); at = shape.find_first_not_of(", ", at)) {
      size_t end = std::min(shape.find(',', at), shape.size());
      std::string comma = k ? ", " : "", index = fmt::format("i{}", k++);
      binders += fmt::format("{}{}: {}", comma, index, shape.substr(at, end - at));
      places += comma + index;
      at = end;
    }
    loss +=
        fmt::format("{}(sum[{}] tanh({}[{}]))", loss.empty() ? "" : " + ", binders, name, places);
  }
  for (const auto& [name, shape] : inputs) {
    pairs += fmt::format("{}{} -> d_{}", pairs.empty() ? "" : ", ", name, name);
    results += fmt::format("output d_{} : f64[{}]\n", name, shape);
  }
  return fmt::format("{}loss = {}\ngrad loss wrt {}\n{}output loss : f64\n", text, loss, pairs,
                     results);
}

} // namespace tang::rewrite::test

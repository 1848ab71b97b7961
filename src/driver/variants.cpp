#include "driver/variants.h"
#include "driver/arguments.h"
#include "graph/dims.h"
#include "rewrite/specialize.h"
#include <algorithm>
#include <charconv>

namespace tang::driver {

namespace {

constexpr int64_t unbounded = std::numeric_limits<int64_t>::max();

std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(' ');
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

std::optional<int64_t> to_size(std::string_view text) {
  int64_t value = 0;
  text = trimmed(text);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// `S=1`, `S=1..64`, `S=1..`, `S=..64`, each range with `/16` behind it or not, and `S%16=0`.
std::optional<parse::DimBinding> read_condition(std::string_view text) {
  size_t equal = text.find('=');
  if (equal == text.npos) return std::nullopt;
  std::string_view left = text.substr(0, equal), right = text.substr(equal + 1);
  size_t percent = left.find('%');
  parse::DimBinding out{std::string(trimmed(left.substr(0, percent))), 0, unbounded, 1};
  std::optional<int64_t> lo = 0, hi = unbounded, step = 1;
  size_t dots = right.find(".."), slash = right.find('/');
  if (percent != left.npos) {
    step = to_size(left.substr(percent + 1));
    if (to_size(right) != 0) return std::nullopt;
  } else if (dots == right.npos) {
    lo = hi = to_size(right);
  } else {
    if (slash != right.npos) {
      step = to_size(right.substr(slash + 1));
      right = right.substr(0, slash);
    }
    if (dots >= right.size()) return std::nullopt;
    if (auto from = right.substr(0, dots); !trimmed(from).empty()) lo = to_size(from);
    if (auto to = right.substr(dots + 2); !trimmed(to).empty()) hi = to_size(to);
  }
  if (out.name.empty() || !lo || !hi || !step || *step < 1 || *lo > *hi) return std::nullopt;
  out.lo = *lo, out.hi = *hi, out.step = *step;
  return out;
}

std::string text_of(const SizeCase& size_case) {
  std::string text;
  for (const parse::DimBinding& b : size_case) {
    std::string one = b.name;
    if (b.lo == b.hi)
      one += fmt::format("={}", b.lo);
    else if (b.lo == 0 && b.hi == unbounded && b.step != 1)
      one += fmt::format("%{}=0", b.step);
    else
      one += fmt::format("={}..{}{}", b.lo, b.hi == unbounded ? "" : fmt::format("{}", b.hi),
                         b.step == 1 ? "" : fmt::format("/{}", b.step));
    text += (text.empty() ? "" : ",") + one;
  }
  return text;
}

/// The dims of a graph where a case holds.
std::optional<std::vector<graph::Dim>> narrowed(const graph::Graph& graph, const SizeCase& wanted,
                                                Sink& sink) {
  std::vector<graph::Dim> dims = graph.dims;
  for (const parse::DimBinding& b : wanted) {
    auto at = std::find_if(dims.begin(), dims.end(),
                           [&](const graph::Dim& dim) { return dim.name == b.name; });
    if (at == dims.end()) {
      std::vector<std::string> known;
      for (const graph::Dim& dim : dims) known.push_back(dim.name);
      sink.report(Kind::unknown_dim, {},
                  "`--specialize` of `{}`: no dim of that name is left for run time", b.name)
          .help(name_help(b.name, "free dim", known));
      return std::nullopt;
    }
    auto both = graph::meet(*at, {"", b.lo, b.hi, b.step, {}});
    if (!both) {
      sink.report(Kind::dim_binding, {},
                  "`--specialize` of `{}`: `{}` has no such value in {}..{}{}", text_of(wanted),
                  b.name, at->lo, at->hi, at->step == 1 ? "" : fmt::format(" step {}", at->step));
      return std::nullopt;
    }
    *at = *both;
  }
  return dims;
}

bool all_covered(const std::vector<graph::Dim>& outer, const std::vector<graph::Dim>& inner) {
  return std::equal(outer.begin(), outer.end(), inner.begin(), inner.end(), graph::covers);
}

} // namespace

std::vector<SizeCase> read_size_cases(std::string_view text, Sink& sink) {
  std::vector<SizeCase> cases;
  for_each_part(text, ';', [&](std::string_view item) {
    SizeCase& conditions = cases.emplace_back();
    for_each_part(item, ',', [&](std::string_view part) {
      if (auto condition = read_condition(part))
        conditions.push_back(*condition);
      else
        sink.report(Kind::command_line, {}, "`--specialize`: `{}` is no condition on a dim", part)
            .help("conditions are `S=1`, `S=1..64`, `S=1..`, `S=1..64/16` and `S%16=0`; `,` joins "
                  "those of one variant, and `;` stands between variants");
    });
  });
  return cases;
}

std::optional<std::vector<graph::Graph>>
variant_graphs(const graph::Graph& graph, const std::vector<SizeCase>& cases, Sink& sink) {
  std::vector<std::vector<graph::Dim>> sizes;
  for (const SizeCase& wanted : cases) {
    auto dims = narrowed(graph, wanted, sink);
    if (!dims) return std::nullopt;
    for (size_t i = 0; i < sizes.size(); ++i)
      if (all_covered(sizes[i], *dims)) {
        sink.report(Kind::command_line, {},
                    "`--specialize`: `{}` is never chosen, because `{}` stands before it",
                    text_of(wanted), text_of(cases[i]))
            .help("the launcher takes the first variant that fits: put narrower ones first");
        return std::nullopt;
      }
    sizes.push_back(std::move(*dims));
  }
  if (sizes.empty() || !all_covered(sizes.back(), graph.dims)) sizes.push_back(graph.dims);
  std::vector<graph::Graph> graphs;
  for (size_t i = 0; i + 1 < sizes.size(); ++i)
    graphs.push_back(rewrite::specialize(graph, std::move(sizes[i])));
  graphs.push_back(graph);
  return graphs;
}

} // namespace tang::driver

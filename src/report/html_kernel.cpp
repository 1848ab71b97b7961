// One kernel as a part of the page.
#include "report/html.h"
#include <algorithm>

namespace tang::report {

namespace {

/// Any scalar as text.
std::string plain(const Json& value) {
  if (value.is_string()) return printable(value.get<std::string>());
  return value.is_structured() || value.is_null() ? "" : value.dump();
}

std::vector<std::string> sentences(const Json& array) {
  std::vector<std::string> out;
  if (array.is_array())
    for (const Json& entry : array)
      if (entry.is_string()) out.push_back(prose(printable(entry.get<std::string>())));
  return out;
}

/// `i < M, j < N`
std::string axes(const Json& object) {
  std::string out;
  if (object.is_object())
    for (const auto& [name, extent] : object.items())
      out += fmt::format("{}{} &lt; {}", out.empty() ? "" : ", ", escaped(printable(name)),
                         escaped(plain(extent)));
  return out.empty() ? "" : "<code>" + out + "</code>";
}

std::string computes(const Json& kernel) {
  std::string names;
  const Json& covers = member(kernel, "covers");
  if (covers.is_array())
    for (const Json& name : covers)
      if (name.is_string())
        names += (names.empty() ? "" : ", ") + code(printable(name.get<std::string>()));
  std::string out = names.empty() ? "" : "computes " + names;
  const Json& space = member(kernel, "space");
  std::string points = axes(member(space, "points")), reduce = axes(member(space, "reduce"));
  if (!points.empty()) out += " for each " + points;
  if (!reduce.empty()) out += ", going over " + reduce;
  return out.empty() ? "" : "<p>" + out + "</p>\n";
}

/// What each resource needs at least; the longest is the floor.
std::string floors(const Json& kernel) {
  const Json& floor = kernel["floor"];
  const Json& terms = member(floor, "terms");
  auto measured = measured_of(kernel);
  double cold = floor_of(kernel), warm = number(floor, "warm_us").value_or(0);
  double full = std::max({cold, warm, measured.value_or(0)});
  if (terms.is_array())
    for (const Json& term : terms) full = std::max(full, number(term, "us").value_or(0));
  Rows rows{{"", "", "time", "", "from"}};
  auto row = [&](std::string name, double us, std::string_view kind, const std::string& note,
                 const std::string& source) {
    rows.push_back({std::move(name), bar(us / full, kind), micros(us), note, source});
  };
  std::string bound_by = text(floor, "bound_by");
  if (terms.is_array())
    for (const Json& term : terms) {
      std::string name = text(term, "name");
      row(escaped(name), number(term, "us").value_or(0), name == bound_by ? "bound" : "",
          escaped(text(term, "kind")), escaped(text(term, "source")));
    }
  row("<b>floor</b>", cold, "floor", "cold", "");
  row("<b>floor</b>", warm, "floor", "warm", "");
  if (measured)
    row("<b>measured</b>", *measured, "measured", reached(kernel) + " of the floor",
        escaped(text(member(kernel, "measured"), "clock")));
  return "<h4>Least time</h4>\n" + table("tbntt", rows);
}

std::string traffic(const Json& kernel) {
  Rows rows{{"tensor", "", "format", "at least", "", "whole", "at least, in bytes"}};
  double full = 1;
  const Json& tensors = kernel["traffic"]["per_tensor"];
  for (const Json& entry : tensors) full = std::max(full, number(entry, "whole").value_or(0));
  for (const Json& entry : tensors) {
    auto least = number(entry, "compulsory");
    rows.push_back({code(text(entry, "tensor")), text(entry, "dir") == "w" ? "written" : "read",
                    escaped(text(entry, "format")), bytes(least),
                    bar(least.value_or(0) / full, "floor"), bytes(number(entry, "whole")),
                    code(text(entry, "formula"))});
  }
  return "<h4>Traffic</h4>\n" + table("tttnbnt", rows);
}

/// Names of the fields that some variant sets: those that are 0 everywhere say nothing.
std::vector<std::string> fields_in_use(const Json& variants) {
  std::vector<std::string> names;
  for (const Json& variant : variants) {
    const Json& fields = member(variant, "fields");
    if (!fields.is_object()) continue;
    for (const auto& [name, value] : fields.items()) {
      bool zero = value == 0 || value == false || value.is_null();
      if (!zero && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
  }
  return names;
}

std::string schedule(const Json& kernel) {
  const Json& schedule = member(kernel, "schedule");
  std::string out = "<h4>Schedule</h4>\n";
  std::string reason = text(schedule, "reason"), emitter = text(schedule, "emitter");
  out += fmt::format("<p><b>{}</b>{}{}</p>\n", escaped(emitter), reason.empty() ? "" : ": ",
                     prose(reason));
  const Json& variants = member(schedule, "variants");
  if (variants.is_array() && !variants.empty()) {
    std::vector<std::string> fields = fields_in_use(variants);
    Rows rows{{"where"}};
    for (const std::string& field : fields) rows[0].push_back(escaped(printable(field)));
    for (const Json& variant : variants) {
      std::vector<std::string> when;
      const Json& facts = member(variant, "when");
      if (facts.is_array())
        for (const Json& fact : facts) when.push_back(code(plain(fact)));
      rows.push_back({when.empty() ? "always" : fmt::format("{}", fmt::join(when, " and "))});
      const Json& values = member(variant, "fields");
      for (const std::string& field : fields)
        rows.back().push_back(escaped(plain(member(values, field.c_str()))));
    }
    out += table("t" + std::string(fields.size(), 'n'), rows);
  }
  const Json& resources = member(kernel, "resources");
  out += fmt::format("<p class=\"soft\">grid {}, {} threads, {} of shared memory, {} registers "
                     "declared a thread</p>\n",
                     code(text(resources, "grid")), escaped(plain(member(resources, "threads"))),
                     bytes(number(resources, "shared_bytes")),
                     escaped(plain(member(resources, "registers_declared"))));
  return out;
}

std::string numerics(const Json& kernel) {
  const Json &precision = member(kernel, "precision"), &error = member(kernel, "error");
  std::string out =
      fmt::format("stored as {}, accumulated in {}", escaped(text(precision, "store")),
                  escaped(text(precision, "accumulate")));
  if (auto budget = number(error, "budget_rel"))
    out += fmt::format(", error budget {:.3g} of the largest value", *budget);
  if (auto budget = number(error, "budget_abs"))
    out += fmt::format(", error budget {:.3g} absolute", *budget);
  if (auto predicted = number(error, "predicted_rel"))
    out += fmt::format(", predicted {:.3g}", *predicted);
  return "<p class=\"soft\">" + out + "</p>\n";
}

} // namespace

std::string kernel_section(const Json& kernel, std::string_view id) {
  std::string where = place(kernel);
  std::string out = fmt::format("<section class=\"kernel\" id=\"{}\">\n<h3>{}", id,
                                escaped(text(kernel, "name")));
  if (!where.empty()) out += fmt::format(" <small class=\"soft\">{}</small>", escaped(where));
  out += "</h3>\n" + computes(kernel);
  std::vector<std::string> steps = sentences(member(kernel, "derivation"));
  if (!steps.empty()) out += "<h4>Derivation</h4>\n" + list("ol", steps);
  out += floors(kernel) + traffic(kernel) + schedule(kernel) + numerics(kernel);
  std::vector<std::string> outside = sentences(member(kernel, "not_modelled"));
  if (!outside.empty()) out += details("what the floor does not count", list("ul", outside));
  return out + "</section>\n";
}

} // namespace tang::report

#include "report/html.h"
#include <algorithm>

namespace tang::report {

namespace {

/// System fonts and two sets of colours; nothing is loaded.
constexpr std::string_view style = R"(
:root { color-scheme: light dark; --ink: #1c2024; --soft: #60646c; --paper: #fcfcfd; --card: #f1f2f5; --line: #d9dbe1;
  --bound: #b4430f; --floor: #3e63b8; --other: #a9b7d6; --measured: #2b8a4b; --link: #2c57b5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaee; --soft: #a3a8b3; --paper: #15171b; --card: #1f2228;
  --line: #363a43; --bound: #f08a4b; --floor: #86a6ee; --other: #45557c; --measured: #5cc98a; --link: #93b4ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1.1rem; margin: 0; } h4 { font-size: .95rem; margin: 1.1rem 0 .3rem; }
p { margin: .3rem 0; } a { color: var(--link); } .soft { color: var(--soft); } ol, ul { margin: .3rem 0; padding-left: 1.6rem; }
code { font: .92em ui-monospace, monospace; }
.figures { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1rem 0; padding: 0; list-style: none; }
.figures li { background: var(--card); border-radius: .5rem; padding: .6rem 1rem; }
.figures b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; overflow-wrap: normal; }
th, td { padding: .25rem .7rem .25rem 0; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); white-space: nowrap; }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; } .b { width: 34%; min-width: 9rem; }
.bar { display: block; width: 100%; height: .8rem; } .bar rect { fill: var(--other); } .bar .track { fill: var(--card); }
.bar.bound rect { fill: var(--bound); } .bar.floor rect { fill: var(--floor); } .bar.measured rect { fill: var(--measured); }
.bar .track, .bar.bound .track, .bar.floor .track, .bar.measured .track { fill: var(--card); }
.kernel { border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; margin: 0 0 1rem; }
.alarm { background: var(--bound); color: var(--paper); font-weight: 700; padding: .5rem 1rem; border-radius: .5rem; }
details { margin: .8rem 0 0; } summary { cursor: pointer; color: var(--soft); }
@media print { body { max-width: none; } .kernel { break-inside: avoid; } }
)";

std::string_view entity(char c) {
  switch (c) {
  case '&': return "&amp;";
  case '<': return "&lt;";
  case '>': return "&gt;";
  case '"': return "&quot;";
  case '\'': return "&#39;";
  default: return {};
  }
}

} // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text)
    if (std::string_view named = entity(c); !named.empty())
      out += named;
    else
      out += c;
  return out;
}

std::string code(std::string_view text) {
  return text.empty() ? "" : fmt::format("<code>{}</code>", escaped(text));
}

std::string prose(std::string_view text) {
  std::string out;
  while (true) {
    size_t open = text.find('`');
    size_t close = open == text.npos ? open : text.find('`', open + 1);
    if (close == text.npos) return out + escaped(text);
    out += escaped(text.substr(0, open)) + code(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
}

std::string bar(double part, std::string_view kind) {
  constexpr int whole = 1000;
  // What is no number is no bar.
  double clamped = part > 0 ? std::min(part, 1.0) : 0;
  int width = clamped > 0 ? std::max(3, static_cast<int>(clamped * whole + 0.5)) : 0;
  return fmt::format("<svg class=\"bar{}{}\" viewBox=\"0 0 {} 10\" preserveAspectRatio=\"none\" "
                     "aria-hidden=\"true\"><rect class=\"track\" width=\"{}\" height=\"10\"/>"
                     "<rect width=\"{}\" height=\"10\"/></svg>",
                     kind.empty() ? "" : " ", kind, whole, whole, width);
}

std::string table(std::string_view columns, const Rows& rows) {
  std::string out = "<div class=\"scroll\"><table>\n";
  for (size_t r = 0; r < rows.size(); ++r) {
    out += "<tr>";
    for (size_t c = 0; c < rows[r].size(); ++c) {
      char kind = c < columns.size() ? columns[c] : 't';
      std::string_view tag = r == 0 ? "th" : "td";
      std::string attribute = kind == 't' ? "" : fmt::format(" class=\"{}\"", kind);
      out += fmt::format("<{}{}>{}</{}>", tag, attribute, rows[r][c], tag);
    }
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string details(std::string_view summary, std::string_view body) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", summary, body);
}

std::string list(std::string_view tag, const std::vector<std::string>& items) {
  std::string out = fmt::format("<{}>\n", tag);
  for (const std::string& item : items) out += fmt::format("<li>{}</li>\n", item);
  return out + fmt::format("</{}>\n", tag);
}

std::string page_head(std::string_view title) {
  // The policy keeps a page that somebody else changed from loading or running anything.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n",
      escaped(title), style);
}

} // namespace tang::report

// The report as a page: well-formed, complete, and safe whatever a report says.
#include "compile.h"
#include <catch2/catch.hpp>
#include <set>

using namespace tang;
using namespace tang::report;

namespace {

const char* mlp =
    "tg 1\ngraph mlp\ndim M in 1..4096, K in 1..4096\ninput x : f32[M, K]\nparam w : f32[K]\n"
    "h[i] = sum[k] x[i, k] * w[k]\ny[i, k] = relu(x[i, k] * h[i])\noutput y : f32[M, K]\n";

report::test::Compiled compiled(const char* text = mlp, std::vector<BoundDim> dims = {}) {
  std::string messages;
  auto out = report::test::compile("mlp.tg", text, "sm_80", messages, std::move(dims));
  INFO(messages);
  REQUIRE(out);
  return std::move(*out);
}

std::optional<std::string> page_of(const std::string& json, const std::string& base = "") {
  SourceManager sources;
  Sink sink;
  FileId shown = sources.add("a.json", json), other;
  if (!base.empty()) other = sources.add("b.json", base);
  return report_html(sources, shown, other, sink);
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

/// Reads a page as strict XML: tags nest, attributes are quoted and differ, `&` starts one of the
/// five entities or a number.
class Reader {
public:
  explicit Reader(std::string_view text) : text_(text) {}

  /// Empty where it is well-formed.
  std::string fault() {
    constexpr std::string_view doctype = "<!DOCTYPE html>\n";
    if (!text_.starts_with(doctype)) return "no doctype";
    at_ = doctype.size();
    while (at_ < text_.size() && fault_.empty()) {
      if (text_[at_] == '<')
        tag();
      else
        character();
    }
    if (fault_.empty() && !open_.empty()) fault_ = "not closed: " + open_.back();
    return fault_;
  }
  std::multiset<std::string> names; ///< of elements
  std::set<std::string> ids, links, attributes;

private:
  void say(const std::string& what) {
    if (fault_.empty())
      fault_ = what + " at: " + std::string(text_.substr(at_ < 60 ? 0 : at_ - 60, 120));
  }
  bool accept(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string name() {
    size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  void character() {
    char c = text_[at_];
    if ((static_cast<unsigned char>(c) < ' ' && c != '\n') || c == 0x7f) say("control character");
    if (c == '<' || c == '>') say("a bare bracket");
    if (c == '&') {
      size_t end = text_.find(';', at_);
      std::string_view entity = text_.substr(at_, end == text_.npos ? 1 : end - at_ + 1);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;" &&
          entity != "&#39;")
        say("a bare ampersand");
      at_ += entity.size();
    } else
      ++at_;
  }
  void tag() {
    ++at_;
    if (accept('/')) {
      std::string closed = name();
      if (open_.empty() || open_.back() != closed) return say("closes " + closed);
      open_.pop_back();
      if (!accept('>')) say("end of tag");
      return;
    }
    std::string element = name();
    if (element.empty()) return say("no name");
    names.insert(element);
    std::set<std::string> seen;
    while (accept(' ')) {
      std::string key = name();
      if (key.empty() || !seen.insert(key).second || !accept('=') || !accept('"'))
        return say("attribute");
      attributes.insert(key);
      size_t begin = at_;
      while (at_ < text_.size() && text_[at_] != '"' && fault_.empty()) character();
      std::string value(text_.substr(begin, at_ - begin));
      if (!accept('"')) return say("open quote");
      if (key == "id" && !ids.insert(value).second) say("id twice");
      if (key == "href") links.insert(value);
    }
    if (!accept('/')) open_.push_back(element);
    if (!accept('>')) return say("end of tag");
    if (element == "style") at_ = std::min(text_.find("</style>", at_), text_.size());
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<std::string> open_;
  std::string fault_;
};

/// What no page has: it runs nothing, loads nothing, and leads nowhere but into itself.
void check_page(const std::string& page) {
  Reader reader(page);
  CHECK(reader.fault() == "");
  for (const char* name : {"script", "img", "iframe", "link", "object", "form", "base"})
    CHECK(reader.names.count(name) == 0);
  for (const std::string& key : reader.attributes) {
    CHECK(key.substr(0, 2) != "on");
    CHECK(key != "src");
    CHECK(key != "style");
  }
  for (const std::string& link : reader.links) {
    CHECK(link.front() == '#');
    CHECK(reader.ids.count(link.substr(1)) == 1);
  }
  CHECK(page.find("url(") == page.npos);
  CHECK(page.find("@import") == page.npos);
}

} // namespace

TEST_CASE("a page has what the report says", "[report][html]") {
  auto built = compiled();
  ReportInput input = built.input();
  std::string page = report_html(std::span(&input, 1));
  INFO(page);
  check_page(page);
  for (const char* text :
       {"<h1>mlp for sm_80 on a100-80gb</h1>", "numbers at M=1024 K=1024", "unfused", "compulsory",
        "<h4>Derivation</h4>", "<h4>Schedule</h4>", "mlp.tg:6", "<td>dram</td>", "certified",
        "<code>8*M*K + 4*K</code>", "At other sizes", "prefers-color-scheme: dark"})
    CHECK(page.find(text) != page.npos);
  // Every sentence of the derivation, its code marked.
  size_t sentences = 0;
  for (const graph::Node& node : built.graph.nodes)
    for (const std::string& sentence : node.derivation) {
      std::string start = sentence.substr(0, sentence.find_first_of("`<>&'\""));
      CHECK(page.find("<li>" + start) != page.npos);
      ++sentences;
    }
  CHECK(sentences > 0);
  CHECK(page.find('`') == page.npos);
}

TEST_CASE("the same report gives the same page, read or made", "[report][html]") {
  auto built = compiled();
  ReportInput input = built.input();
  std::string page = report_html(std::span(&input, 1));
  CHECK(page == report_html(std::span(&input, 1)));
  CHECK(page == page_of(report_json(input)));
}

TEST_CASE("bars are as long as their numbers", "[report][html]") {
  std::string json = report_json(compiled(mlp, {{"M", 1024}, {"K", 1024}}).input());
  std::string page = *page_of(json);
  // The longest of a table is whole, and fused to unfused is as the report says.
  size_t unfused = page.find("<td>unfused</td>"), fused = page.find("<td>fused</td>"),
         compulsory = page.find("<td>compulsory</td>");
  REQUIRE(compulsory != page.npos);
  auto width = [&](size_t row) {
    size_t track = page.find("<rect class=\"track\"", row),
           own = page.find("<rect width=\"", track);
    return std::stoi(page.substr(own + 13));
  };
  auto total = [&](const std::string& key) {
    return std::stod(json.substr(json.find("\"" + key + "\": ") + key.size() + 4));
  };
  CHECK(width(unfused) == 1000);
  CHECK(total("compulsory_bytes") == 8 * 1024 * 1024 + 4096); // x, y and w
  for (auto [row, key] : {std::pair{fused, "fused_bytes"}, {compulsory, "compulsory_bytes"}}) {
    CHECK(width(row) < 1000);
    CHECK(width(row) == Approx(1000 * total(key) / total("unfused_bytes")).margin(1));
  }
}

TEST_CASE("measurements and a baseline are on the page", "[report][html]") {
  SourceManager sources;
  Sink sink;
  std::string json = report_json(compiled(mlp, {{"M", 1024}, {"K", 1024}}).input());
  FileId report = sources.add("a.json", json);
  auto slow = merge_measurements(sources, report, sources.add("t", "y,10\n"), {}, sink);
  REQUIRE(slow);
  auto page = page_of(slow->json, json);
  REQUIRE(page);
  check_page(*page);
  CHECK(page->find("<b>10.0 us</b>measured") != page->npos);
  CHECK(page->find("bar measured") != page->npos);
  CHECK(page->find("Against mlp.tg for sm_80") != page->npos);
  CHECK(page->find("class=\"alarm\"") == page->npos);
  auto impossible = merge_measurements(sources, report, sources.add("t", "y,0.001\n"), {}, sink);
  REQUIRE(impossible);
  CHECK(page_of(impossible->json)->find("class=\"alarm\"") != page->npos);
}

TEST_CASE("hostile texts are shown, not obeyed", "[report][html]") {
  // Every text of a report replaced by one that would break out of elements and attributes.
  const std::string good = report_json(compiled().input());
  const std::string hostile = "\\\"'><script>alert(1)</script>&amp;`<b>`\\u0000\\u001b</style>";
  size_t shown = 0;
  for (size_t quote = good.find('"'); quote != std::string::npos;) {
    size_t end = good.find('"', quote + 1);
    bool key = good[end + 1] == ':';
    bool version = good.compare(quote, 8, "\"tangc.s") == 0;
    if (!key && !version) {
      auto page = page_of(good.substr(0, quote + 1) + hostile + good.substr(end));
      if (page) {
        Reader reader(*page);
        REQUIRE(reader.fault() == "");
        REQUIRE(reader.names.count("script") == 0);
        shown += page->find("&lt;script&gt;") != page->npos;
      }
    }
    quote = good.find('"', end + 1);
  }
  CHECK(shown > 30);
}

TEST_CASE("hostile keys too", "[report][html]") {
  std::string json = report_json(compiled().input());
  for (std::string key : {"M\"", "dram_bytes_per_s\"", "threads\"", "k\"", "i\""}) {
    std::string hostile = "\"<script>&'\\\"" + key;
    key = '"' + key;
    for (size_t at = json.find(key); at != json.npos; at = json.find(key, at + hostile.size()))
      json.replace(at, key.size(), hostile);
  }
  auto page = page_of(json);
  REQUIRE(page);
  check_page(*page);
  CHECK(page->find("&lt;script&gt;&amp;&#39;&quot;dram_bytes_per_s") != page->npos);
}

TEST_CASE("no change of one value breaks the page", "[report][html]") {
  const std::string good = report_json(compiled(mlp, {{"M", 64}, {"K", 64}}).input());
  size_t taken = 0, refused = 0;
  for (size_t colon = good.find(": "); colon != std::string::npos;
       colon = good.find(": ", colon + 1)) {
    size_t end = good.find_first_of(",\n", colon + 2);
    char first = good[colon + 2];
    if (first == '{' || first == '[') continue;
    for (const char* other : {"null", "{\"<\":1}", "-7", "1e308"}) {
      auto page = page_of(good.substr(0, colon + 2) + other + good.substr(end));
      page ? ++taken : ++refused;
      if (page) REQUIRE(Reader(*page).fault() == "");
    }
  }
  CHECK(taken > 100);
  CHECK(refused > 10);
}

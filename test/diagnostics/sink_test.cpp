#include "diagnostics/sink.h"
#include "some_warning.h"
#include <algorithm>
#include <catch2/catch.hpp>

using namespace tang;

TEST_CASE("errors are counted and keep their order", "[sink]") {
  Sink sink;
  CHECK(sink.ok());
  sink.report(Kind::cannot_read, {}, "cannot read `{}`", "a").help("check the path");
  sink.report(Kind::include_cycle, {}, "plain {text}");
  CHECK(sink.error_count() == 2);
  CHECK_FALSE(sink.ok());
  REQUIRE(sink.diagnostics().size() == 2);
  CHECK(sink.diagnostics()[0].message == "cannot read `a`");
  CHECK(sink.diagnostics()[0].notes[0].severity == Severity::help);
  CHECK(sink.diagnostics()[1].message == "plain {text}");
}

TEST_CASE("the policy decides about warnings only", "[sink]") {
  auto warning = some_warning();
  if (!warning) return;
  auto counts = [&](WarningPolicy policy) {
    Sink sink(std::move(policy));
    sink.report(*warning, {}, "w");
    sink.report(Kind::cannot_read, {}, "e");
    return std::pair(sink.diagnostics().size(), sink.error_count());
  };
  CHECK(counts({}) == std::pair<size_t, size_t>(2, 1));
  CHECK(counts({.all_off = true}) == std::pair<size_t, size_t>(1, 1));
  CHECK(counts({.all_errors = true}) == std::pair<size_t, size_t>(2, 2));
  CHECK(counts({.disabled = {*warning}}) == std::pair<size_t, size_t>(1, 1));
  CHECK(counts({.errors = {*warning}}) == std::pair<size_t, size_t>(2, 2));
  CHECK(counts({.all_errors = true, .disabled = {*warning}}) == std::pair<size_t, size_t>(1, 1));
}

TEST_CASE("near names", "[sink]") {
  std::vector<std::string> names{"softmax", "sum", "weights"};
  CHECK(nearest_name("sofmax", names) == "softmax");
  CHECK(nearest_name("smu", names) == "sum");
  CHECK(nearest_name("bananas", names).empty());
  CHECK(nearest_name("", names).empty());
  CHECK(nearest_name(std::string(1000, 'a'), names).empty());
  CHECK(nearest_name("x", {}).empty());
  // Of one letter every other is one edit away.
  CHECK(nearest_name("q", {"N", "M"}).empty());
  CHECK(nearest_name("n", {"M", "N"}) == "N");
}

TEST_CASE("what to do about an unknown name", "[sink]") {
  CHECK(name_help("sze", "dim", {"size", "N"}) == "did you mean `size`?");
  CHECK(name_help("Q", "dim", {"M", "N"}) == "the dims are `M`, `N`");
  CHECK(name_help("Q", "dim", {"N"}) == "the only dim is `N`");
  CHECK(name_help("Q", "dim", {}) == "there is no dim here");
  std::vector<std::string> many(40, "other");
  CHECK(name_help("Q", "dim", many).ends_with("`other` and others"));
}

// The registry of diagnostics is consistent.
#include "diagnostics/kind.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <set>
#include <string>

using namespace tang;

TEST_CASE("codes are unique, well formed, and say the severity", "[kinds]") {
  std::set<std::string_view> codes;
  for (const KindInfo& row : all_kinds()) {
    INFO(row.name);
    CHECK(codes.insert(row.code).second);
    REQUIRE(row.code.size() == 5);
    CHECK(std::all_of(row.code.begin() + 1, row.code.end(),
                      [](unsigned char c) { return std::isdigit(c); }));
    CHECK((row.severity == Severity::error || row.severity == Severity::warning));
    CHECK(row.code[0] == (row.severity == Severity::error ? 'E' : 'W'));
    CHECK(kind_of_code(row.code) == row.kind);
  }
  CHECK_FALSE(kind_of_code("E9999"));
  CHECK_FALSE(kind_of_code(""));
}

TEST_CASE("rows stand where their enumerator says", "[kinds]") {
  for (const KindInfo& row : all_kinds()) CHECK(&info(row.kind) == &row);
}

TEST_CASE("warnings have a flag of their own, errors have none", "[kinds]") {
  std::set<std::string_view> flags;
  for (const KindInfo& row : all_kinds()) {
    INFO(row.name);
    CHECK(row.flag.empty() == (row.severity == Severity::error));
    if (row.flag.empty()) continue;
    CHECK(flags.insert(row.flag).second);
    CHECK(std::all_of(row.flag.begin(), row.flag.end(),
                      [](unsigned char c) { return std::islower(c) || c == '-'; }));
    CHECK(kind_of_flag(row.flag) == row.kind);
  }
  CHECK_FALSE(kind_of_flag(""));
  CHECK_FALSE(kind_of_flag("no-such-warning"));
}

TEST_CASE("every kind is explained in sentences", "[kinds]") {
  for (const KindInfo& row : all_kinds()) {
    INFO(row.name);
    CHECK(row.explanation.size() > 30);
    CHECK(row.explanation.find_last_of(".`)") == row.explanation.size() - 1);
    CHECK(std::all_of(row.explanation.begin(), row.explanation.end(),
                      [](unsigned char c) { return c >= 0x20 || c == '\n'; }));
  }
}

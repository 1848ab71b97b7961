// Reading rows: the tables that are built in, a good row, and ways to spoil it.
#include "atomics/check.h"
#include "atomics/load.h"
#include "atomics/table.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tang;
using namespace tang::atomics;

namespace {

constexpr std::string_view good = R"yaml(- name: mma.example
  spec: MatMul
  threads: "32:1"
  operands:
    D: {type: f32, memory: register, layout: "((4,8),(2,2)):((2@n,1@m),(1@n,8@m))"}
    A: {type: f16, memory: register, layout: "((4,8),(2,2,2)):((2@k,1@m),(1@k,8@m,8@k))"}
    B: {type: f16, memory: register, layout: "((4,8),(2,2)):((2@k,1@n),(1@k,8@k))"}
  requires: [sm_80]
  native_on: [sm_80]
  completion: none
  cost: {fma: 2048}
  accumulates: D
  print: {cuda: 'asm("mma {$D}, {$A}, {$B}, {$D};")'}
  source: "a manual"
)yaml";

struct Loaded {
  std::optional<std::vector<Row>> rows;
  std::string messages;
};
Loaded load(std::string text) {
  SourceManager sources;
  Sink sink;
  FileId file = sources.add("rows.yaml", std::move(text));
  std::set<std::string> taken;
  Loaded loaded{load_rows(sources, file, taken, sink), {}};
  for (const Diagnostic& d : sink.diagnostics()) loaded.messages += d.message + "\n";
  return loaded;
}

std::string spoiled(std::string_view from, std::string_view to) {
  std::string text(good);
  size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE("rows that are built in hold by themselves", "[load]") {
  CHECK(embedded_rows().size() > 10);
  for (const Entry& entry : embedded_rows()) {
    const Row& row = entry.get();
    CAPTURE(row.name);
    CHECK(row.name == entry.name);
    CHECK(row.kind == entry.kind);
    CHECK(faults_of(row).empty());
    CHECK_FALSE(row.source.empty());
  }
}

TEST_CASE("a row is read", "[load]") {
  Loaded loaded = load(std::string(good));
  CAPTURE(loaded.messages);
  REQUIRE(loaded.rows);
  const Row& row = loaded.rows->at(0);
  CHECK(row.kind == atomics::Kind::matmul);
  CHECK(row.threads == 32);
  CHECK(row.operand("A").values == 8);
  CHECK(row.operand("D").threads == 32);
  CHECK(row.accumulates);
  CHECK(row.fma == 2048);
}

TEST_CASE("a spoiled row is reported", "[load]") {
  struct Case {
    std::string_view from, to, message;
  };
  const Case cases[] = {
      {"spec: MatMul", "spec: Matmul", "`Matmul` is no spec"},
      {"type: f32", "type: f33", "`f33` is no element type"},
      {"memory: register", "memory: registers", "`registers` is no memory"},
      {"(1@n,8@m))", "(1@n,8@m)", "is not closed"},
      // The pair along n twice: half of the elements are named by two threads.
      {"(1@n,8@m)", "(2@n,8@m)", "names an element twice"},
      // A gap along m.
      {"(1@n,8@m)", "(1@n,16@m)", "elements of its box"},
      {"(1@k,8@k))\"}", "(1@k,4@k))\"}", "names an element twice"},
      {"((4,8),(2,2)):((2@k,1@n),(1@k,8@k))", "((4,8),2):((2@k,1@n),1@k)", "along `k`"},
      {"threads: \"32:1\"", "threads: \"16:1\"", "lies in 32 threads, and 16 take part"},
      {"(2,2)):((2@k,1@n),(1@k,8@k))\"}", "(2,2)):((2@k,1@l),(1@k,8@k))\"}",
       "only one operand has the axis `l`"},
      {"fma: 2048", "fma: 1024", "`fma: 1024` is not the 2048 products of its axes"},
      {"((4,8),(2,2)):((2@k,1@n),(1@k,8@k))", "((4,8),1):((1@k,1@n),0)",
       "`A` has 16 elements along `k`, and `B` has 4"},
      {"accumulates: D", "accumulates: D\n  immediates: {pending: 7..0}",
       "`7..0` is no range of numbers"},
      {"accumulates: D", "accumulates: D\n  immediates: {pending: 0..7/}",
       "is no range of numbers"},
      {"accumulates: D", "accumulates: D\n  op: add", "`add` is no op of a MatMul"},
      {"spec: MatMul", "spec: Reduction", "`` is no op of a Reduction"},
      {"{$B}", "{$C}", "`$C` is no operand or immediate"},
      {"  source: \"a manual\"\n", "", "the key `source` is missing"},
      {"source:", "sauce:", "unknown key `sauce`"},
  };
  for (const Case& c : cases) {
    Loaded loaded = load(spoiled(c.from, c.to));
    CAPTURE(c.from, c.to, loaded.messages);
    CHECK_FALSE(loaded.rows);
    CHECK(loaded.messages.find(c.message) != std::string::npos);
  }
}

// Random recurrences and scans mean the same before and after every pass.
#include "run.h"
#include "sequences.h"
#include <map>

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

/// Recurrences outside others, and those of them that take a step for each step of the program.
struct Recurrences {
  size_t all = 0, long_ones = 0;
};

Recurrences recurrences_of(const Graph& g) {
  Recurrences count;
  for (const Node& node : g.nodes)
    if (const auto* r = std::get_if<Recur>(&node.definition))
      ++count.all, count.long_ones += g.exprs[r->time.extent].op == Op::dim;
  return count;
}

/// How often each pass changed a program.
using Fired = std::map<std::string, size_t>;

/// The passes in order; each that changes something keeps the meaning and has nothing left to do.
Graph checked_in_order(Graph g, const Sequence& sequence, Fired& fired, uint32_t seed) {
  const Graph before = g;
  size_t nth = seed;
  for (const Pass& pass : passes()) {
    Graph once = pass.run(g);
    REQUIRE_NOTHROW(verify(once, pass.name));
    std::string text = to_text(once);
    if (text == to_text(g)) continue;
    INFO(pass.name << " gives\n" << text);
    ++fired[std::string(pass.name)];
    // What is worth repeating depends on costs, which change with what was put in.
    if (pass.run != substitute_maps) CHECK(first_difference(text, to_text(pass.run(once))) == "");
    int64_t length =
        std::max(sequence.least, sequence_lengths[nth++ % std::size(sequence_lengths)]);
    INFO("T = " << length);
    REQUIRE(difference(before, once, sequence.dims(length), seed) == "");
    g = std::move(once);
  }
  return g;
}

void check_steps(const Graph& g, Steps steps) {
  Recurrences left = recurrences_of(g);
  switch (steps) {
  case Steps::parallel: CHECK(left.all == 0); return;
  case Steps::chunks:
    CHECK(left.long_ones == 0);
    CHECK(left.all == 1);
    return;
  case Steps::sequential: CHECK(left.long_ones == 1); return;
  }
}

} // namespace

TEST_CASE("random recurrences and scans keep their meaning", "[rewrite][property]") {
  const uint32_t programs = 6 * sequence_forms();
  Fired fired;
  for (uint32_t seed = 0; seed < programs; ++seed) {
    Sequence sequence = random_sequence(seed);
    INFO("seed " << seed << ", " << sequence.form << "\n" << sequence.text);
    Graph g = graph_of(sequence.text);
    REQUIRE_NOTHROW(verify(g, "elaborate"));
    size_t before = fired[sequence.law];
    Graph all = checked_in_order(g, sequence, fired, seed);
    INFO("all passes give\n" << to_text(all));
    check_steps(all, sequence.steps);
    if (!sequence.law.empty()) CHECK(fired[sequence.law] == before + 1);
    for (int64_t length : sequence_lengths) {
      if (length < sequence.least) continue;
      INFO("T = " << length);
      CHECK(difference(g, all, sequence.dims(length), seed) == "");
    }
  }
  CHECK(5 * fired["scan_recurrences"] > 2 * programs);
  CHECK(4 * fired["chunk_scans"] > programs);
  CHECK(8 * fired["reduce_scans"] > programs);
  CHECK(10 * fired["solve_feedback"] > programs);
}

TEST_CASE("gradients of random recurrences and scans keep their meaning", "[rewrite][property]") {
  const uint32_t programs = 3 * sequence_forms();
  Fired fired;
  for (uint32_t seed = 0; seed < programs; ++seed) {
    Sequence sequence = random_sequence(seed);
    std::string text = sequence.with_gradient();
    if (text.empty()) continue;
    INFO("seed " << seed << ", " << sequence.form << "\n" << text);
    Graph g = differentiate(graph_of(text));
    REQUIRE_NOTHROW(verify(g, "differentiate"));
    Graph all = checked_in_order(g, sequence, fired, seed);
    INFO("all passes give\n" << to_text(all));
    for (int64_t length : {0, 1, 3, 17, 65}) {
      if (length < sequence.least) continue;
      INFO("T = " << length);
      CHECK(difference(g, all, sequence.dims(length), seed) == "");
    }
  }
  CHECK(4 * fired["scan_recurrences"] > programs);
  CHECK(fired["chunk_scans"] > 0);
  CHECK(10 * fired["reduce_scans"] > programs);
  CHECK(fired["solve_feedback"] > 0);
}

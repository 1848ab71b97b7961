// Fragments of matrix products against the formulas of the PTX ISA manual (9.1, "Matrix Fragments
// for mma"), written down a second time: which element each register of each lane holds.
#include "atomics/check.h"
#include "atomics/table.h"
#include <catch2/catch.hpp>

using namespace tang;
using namespace tang::atomics;

namespace {

struct Element {
  int64_t line = 0, column = 0; ///< of A: m, k; of B: n, k; of D: m, n
};

/// What an operand's layout says of one value of one lane.
Element element_of(const Operand& o, const char* line, const char* column, int lane, int value) {
  int64_t index = lane + int64_t{o.threads} * value;
  Element e;
  for (const layout::Mode& mode : o.layout.leaves) {
    int64_t at = index % mode.size.factor * mode.stride.amount.factor;
    index /= mode.size.factor;
    if (mode.stride.basis == line) e.line += at;
    if (mode.stride.basis == column) e.column += at;
  }
  return e;
}

template <class F>
void check_operand(const Operand& o, const char* line, const char* column, F&& formula) {
  REQUIRE(o.threads == 32);
  int wrong = 0;
  for (int lane = 0; lane < 32; ++lane)
    for (int value = 0; value < o.values; ++value) {
      Element seen = element_of(o, line, column, lane, value), said = formula(lane, value);
      wrong += seen.line != said.line || seen.column != said.column;
    }
  CAPTURE(o.name);
  CHECK(wrong == 0);
}

bool is_quad_pair(const Row& row) {
  return row.name.starts_with("mma.m8n8k4.") && row.operands[1].type == graph::ElemType::f16;
}

} // namespace

TEST_CASE("fragments of a warp are the manual's", "[fragment]") {
  int rows = 0;
  for (const Entry& entry : embedded_rows()) {
    const Row& row = entry.get();
    if (!row.name.starts_with("mma.") || is_quad_pair(row)) continue;
    CAPTURE(row.name);
    ++rows;
    // A group of four lanes holds a line; `held` neighbours lie in one register.
    int held = std::max(32 / row.operands[1].bits, 1);
    bool tall = extents_by_axis(row.operands[1].layout).at("m") == 16;
    check_operand(row.operands[0], "m", "n", [](int lane, int i) {
      return Element{lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2};
    });
    check_operand(row.operands[1], "m", "k", [&](int lane, int i) {
      int which = i / held, column = lane % 4 * held + i % held;
      return tall ? Element{lane / 4 + 8 * (which % 2), column + which / 2 * 4 * held}
                  : Element{lane / 4, column + which * 4 * held};
    });
    check_operand(row.operands[2], "n", "k", [&](int lane, int i) {
      return Element{lane / 4, lane % 4 * held + i % held + i / held * 4 * held};
    });
  }
  CHECK(rows > 40);
}

TEST_CASE("fragments of a quarter of a warp are the manual's", "[fragment]") {
  int rows = 0;
  for (const Entry& entry : embedded_rows()) {
    const Row& row = entry.get();
    if (!row.name.starts_with("mma.") || !is_quad_pair(row)) continue;
    CAPTURE(row.name);
    ++rows;
    // `mma.m8n8k4.row.col.f32.f16`: how A and B lie, and the format of D.
    bool a_by_row = row.name.find("k4.row") != row.name.npos,
         b_by_row = row.name.find("row.f", 12) != row.name.npos;
    auto upper = [](int lane) { return lane < 16 ? 0 : 4; };
    auto line_each = [&](int lane, int i) { return Element{lane % 4 + upper(lane), i}; };
    auto column_each = [&](int lane, int i) { return Element{i + upper(lane), lane % 4}; };
    for (const Operand& o : row.operands) {
      CAPTURE(o.name);
      auto of_quarter = [&](int lane, int) { return Element{lane % 16 / 4, 0}; };
      check_operand(o, "q", "none", of_quarter);
    }
    if (a_by_row)
      check_operand(row.operands[1], "m", "k", line_each);
    else
      check_operand(row.operands[1], "m", "k", column_each);
    if (b_by_row)
      check_operand(row.operands[2], "n", "k", column_each);
    else
      check_operand(row.operands[2], "n", "k", line_each);
    if (row.operands[0].type == graph::ElemType::f16)
      check_operand(row.operands[0], "m", "n", line_each);
    else
      check_operand(row.operands[0], "m", "n", [&](int lane, int i) {
        return Element{(lane & 1) + (i & 2) + upper(lane), (i & 4) + (lane & 2) + (i & 1)};
      });
  }
  CHECK(rows == 8);
}

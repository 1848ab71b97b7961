// Which row carries out a leaf, and how a fragment is loaded: each load that is found is carried
// out element by element as the layouts of its row say, and must give the fragment.
#include "atomics/check.h"
#include "atomics/match.h"
#include "atomics/table.h"
#include "layout/text.h"
#include <catch2/catch.hpp>

using namespace tang;
using namespace tang::atomics;
using graph::ElemType;
using layout::Layout;

namespace {

Layout layout_of(std::string_view text) {
  return std::get<layout::Swizzled>(layout::read_layout(text)).layout;
}

using Place = std::map<std::string, int64_t>;
Place place_of(const Layout& layout, int64_t index) {
  Place at;
  for (const layout::Mode& mode : layout.leaves) {
    int64_t digit = index % mode.size.factor;
    index /= mode.size.factor;
    if (mode.stride.amount.factor) at[mode.stride.basis] += digit * mode.stride.amount.factor;
  }
  std::erase_if(at, [](const auto& entry) { return entry.second == 0; });
  return at;
}

/// Runs the row of a load: which coordinates of the fragment each (lane, value) holds afterwards.
std::map<int64_t, Place> carried_out(const FragmentLoad& load, const std::string& contiguous) {
  const Operand &dst = load.row->operands[0], &src = load.row->operands[1];
  std::map<Place, Place> moved; // coordinates of the row: coordinates of the fragment
  for (int64_t lane = 0; lane < src.threads; ++lane)
    for (int64_t value = 0; value < src.values; ++value) {
      Place at = place_of(load.lanes, lane);
      at[contiguous] += value;
      std::erase_if(at, [](const auto& entry) { return entry.second == 0; });
      moved[place_of(src.layout, lane + src.threads * value)] = at;
    }
  std::map<int64_t, Place> held;
  for (int64_t i = 0; i < int64_t{dst.threads} * dst.values; ++i)
    held[i] = moved.at(place_of(dst.layout, i));
  return held;
}

void check_load(std::string_view fragment, const std::string& contiguous, std::string_view row) {
  CAPTURE(fragment, contiguous);
  Layout wanted = layout_of(fragment);
  auto load = find_fragment_load("sm_80", {ElemType::bf16, wanted, contiguous});
  REQUIRE(load);
  CHECK(load->row->name == row);
  for (const auto& [index, place] : carried_out(*load, contiguous))
    CHECK(place == place_of(wanted, index));
}

} // namespace

TEST_CASE("products are found by formats", "[match]") {
  for (ElemType type : {ElemType::f16, ElemType::bf16}) {
    const Row* row = find("sm_90a", Product{ElemType::f32, type, type});
    REQUIRE(row);
    CHECK(row->operands[1].type == type);
  }
  CHECK_FALSE(find("sm_80", Product{ElemType::f32, ElemType::f16, ElemType::bf16}));
  CHECK_FALSE(find("sm_80", Product{ElemType::f32, ElemType::f32, ElemType::f32}));
  CHECK_FALSE(find("c", Product{ElemType::f32, ElemType::f16, ElemType::f16}));
}

TEST_CASE("fragments are loaded by what their layouts compose to", "[match]") {
  const char* a = "((4,8),(2,2,2)):((2@k,1@m),(1@k,8@m,8@k))";
  const char* b = "((4,8),(2,2)):((2@k,1@n),(1@k,8@k))";
  const char* two_b = "((4,8),(2,2,2)):((2@k,1@n),(1@k,8@k,8@n))";
  check_load(a, "k", "ldmatrix.x4");
  check_load(a, "m", "ldmatrix.x4.trans");
  check_load(b, "k", "ldmatrix.x2");
  check_load(b, "n", "ldmatrix.x2.trans");
  check_load(two_b, "k", "ldmatrix.x4");
  check_load(two_b, "n", "ldmatrix.x4.trans");
}

TEST_CASE("what no row gives is not found", "[match]") {
  Layout accumulator = layout_of("((4,8),(2,2)):((2@n,1@m),(1@n,8@m))");
  CHECK_FALSE(find_fragment_load("sm_80", {ElemType::f32, accumulator, "n"}));
  CHECK_FALSE(find_fragment_load("c", {ElemType::bf16, accumulator, "n"}));
  // Every lane holds one element of each of two columns: rows of 16 bytes give no such thing.
  Layout columns = layout_of("(32,2):(1@m,1@k)");
  CHECK_FALSE(find_fragment_load("sm_80", {ElemType::bf16, columns, "k"}));
}

TEST_CASE("copies are found by memories, bytes and class", "[match]") {
  for (int bytes : {4, 8, 16}) {
    const Row* row =
        find("sm_86", MoveShape{Memory::shared, Memory::global, ElemType::f16, bytes, true, true});
    REQUIRE(row);
    CHECK(row->operands[0].run_bytes() == bytes);
  }
  CHECK_FALSE(
      find("sm_75", MoveShape{Memory::shared, Memory::global, ElemType::f16, 16, true, true}));
  CHECK_FALSE(
      find("sm_80", MoveShape{Memory::shared, Memory::global, ElemType::f16, 2, true, true}));
  CHECK(find("sm_90a", GroupShape{atomics::Kind::commit, "cp_async"}));
  CHECK(find("sm_90a", GroupShape{atomics::Kind::wait, "cp_async"}));
  CHECK_FALSE(find("sm_75", GroupShape{atomics::Kind::wait, "cp_async"}));
}

TEST_CASE("functions are found by what they compute", "[match]") {
  const Row* row = find("sm_80", atomics::Function{"exp2"});
  REQUIRE(row);
  CHECK(row->kind == atomics::Kind::unary);
  CHECK(row->flushes);
  const Row* reciprocal = find("sm_80", atomics::Function{"reciprocal"});
  REQUIRE(reciprocal);
  CHECK(reciprocal->name == "rcp.approx.ftz.f32");
  CHECK_FALSE(find("sm_80", atomics::Function{"log2"}));
  CHECK_FALSE(find("c", atomics::Function{"exp2"}));
}

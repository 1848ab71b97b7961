// Counters against values worked out by hand.
#include "one_kernel.h"
#include <catch2/catch.hpp>

using namespace tang;
using namespace tang::simulate_test;

namespace {

/// Warps read x[first + stride*t] and write y[t].
interpret::Counts strided(int threads, int64_t stride, int64_t first) {
  OneKernel k(threads);
  TensorId x = k.global("x", threads * stride + first + 1, false), y = k.global("y", threads, true);
  k.store(y, k.t, k.load(x, k.v().add(k.times(k.t, stride), k.number(first))));
  return k.counts();
}

} // namespace

TEST_CASE("sectors of global memory", "[counts]") {
  // 32 threads of 4 bytes: 128 bytes are 4 sectors.
  interpret::Counts c = strided(32, 1, 0);
  CHECK(c.global_bytes_read == 128);
  CHECK(c.global_bytes_written == 128);
  CHECK(c.sectors_read == 4);
  CHECK(c.sectors_written == 4);
  CHECK(strided(32, 1, 1).sectors_read == 5);   // across a border
  CHECK(strided(32, 2, 0).sectors_read == 8);   // every other element
  CHECK(strided(32, 8, 0).sectors_read == 32);  // a sector each
  CHECK(strided(32, 64, 0).sectors_read == 32); // and no more
  CHECK(strided(32, 0, 0).sectors_read == 1);   // all the same
  CHECK(strided(48, 1, 0).sectors_read == 6);   // a warp and half a warp
  CHECK(strided(128, 1, 0).sectors_read == 16);
}

TEST_CASE("vectors, short formats, and threads that stay away", "[counts]") {
  OneKernel k(32);
  TensorId x = k.global("x", 256, false, ElemType::f16), y = k.global("y", 256, true);
  TensorId r = k.local("r", Memory::registers, 8);
  ValueId half = k.v().less(k.t, k.number(16));
  k.add(Copy{{r, {k.number(0)}}, {x, {k.times(k.t, 8)}}, 8, {}});   // 16 bytes a lane
  k.add(Copy{{y, {k.times(k.t, 8)}}, {r, {k.number(0)}}, 8, half}); // 32 bytes a lane: two accesses
  interpret::Counts c = k.counts();
  CHECK(c.global_bytes_read == 512);
  CHECK(c.sectors_read == 16);
  CHECK(c.global_bytes_written == 512);
  CHECK(c.sectors_written == 32); // each half of a lane's vector touches its own sector again
}

namespace {

/// Passes and conflicts of 32 threads that write s[stride*t], `width` elements each.
std::pair<int64_t, int64_t> banks(int64_t stride, int width, int threads = 32) {
  OneKernel k(threads);
  TensorId s = k.local("s", Memory::shared, threads * std::max<int64_t>(stride, width) + width);
  TensorId r = k.local("r", Memory::registers, width);
  for (int e = 0; e < width; ++e) k.store(r, k.number(e), k.real(e));
  k.add(Copy{{s, {k.times(k.t, stride)}}, {r, {k.number(0)}}, width, {}});
  interpret::Counts c = k.counts();
  CHECK(c.shared_bytes_written == int64_t{4} * width * threads);
  return {c.shared_passes, c.shared_conflicts};
}

} // namespace

TEST_CASE("conflicts of banks", "[counts]") {
  using Pair = std::pair<int64_t, int64_t>;
  CHECK(banks(1, 1) == Pair{1, 0});
  CHECK(banks(2, 1) == Pair{2, 1});
  CHECK(banks(4, 1) == Pair{4, 3});
  CHECK(banks(8, 1) == Pair{8, 7});
  CHECK(banks(32, 1) == Pair{32, 31});
  CHECK(banks(33, 1) == Pair{1, 0});    // a word more than a row of banks
  CHECK(banks(1, 1, 64) == Pair{2, 0}); // two warps
  CHECK(banks(2, 2) == Pair{2, 0});     // 8 bytes: two halves of a warp
  CHECK(banks(4, 4) == Pair{4, 0});     // 16 bytes: four quarters
  CHECK(banks(8, 4) == Pair{8, 4});     // every other 16 bytes: two ways
  CHECK(banks(32, 4) == Pair{32, 28});  // one column of 16 bytes: eight ways
  // All threads read one word: no conflict.
  OneKernel k(32);
  TensorId y = k.global("y", 32, true), s = k.local("s", Memory::shared, 1);
  k.store(s, k.number(0), k.real(1), k.v().less(k.t, k.number(1)));
  k.add(Barrier{});
  k.store(y, k.t, k.load(s, k.number(0)));
  interpret::Counts c = k.counts();
  CHECK(c.shared_passes == 2);
  CHECK(c.shared_conflicts == 0);
  CHECK(c.barriers == 1);
}

namespace {

/// ldmatrix.x4 of a 32 x 8 part of a tile with lines of `pitch` elements of 16 bits; the chunks of
/// 8 elements of a line are exchanged by XOR with the line's number where `swizzled`.
std::pair<int64_t, int64_t> matrices(int64_t pitch, bool swizzled) {
  OneKernel k(32);
  TensorId s = k.local("s", Memory::shared, 32 * pitch, ElemType::f16);
  TensorId f = k.local("f", Memory::registers, 8, ElemType::f16);
  ValueId chunk = k.number(2);
  if (swizzled) chunk = k.v().binary(Op::bit_xor, chunk, k.v().binary(Op::mod, k.t, k.number(8)));
  k.atom("ldmatrix.x4",
         {{f, {k.number(0)}}, {s, {k.v().add(k.times(k.t, pitch), k.times(chunk, 8))}}});
  interpret::Counts c = k.counts();
  CHECK(c.shared_bytes_read == 512);
  CHECK(c.instructions.at("ldmatrix.x4") == 1);
  return {c.shared_passes, c.shared_conflicts};
}

} // namespace

TEST_CASE("matrices of 8 rows of 16 bytes", "[counts]") {
  using Pair = std::pair<int64_t, int64_t>;
  CHECK(matrices(64, false) == Pair{32, 28}); // all rows in the same banks
  CHECK(matrices(64, true) == Pair{4, 0});
  CHECK(matrices(72, false) == Pair{4, 0});   // 16 bytes more a line
  CHECK(matrices(32, false) == Pair{16, 12}); // two lines in a row of banks: four ways
}

TEST_CASE("instructions count once for each warp that takes part", "[counts]") {
  OneKernel k(96);
  TensorId x = k.global("x", 384, false);
  TensorId s = k.local("s", Memory::shared, 384);
  If some{k.v().less(k.t, k.number(40)), {}, {}};
  some.then.push_back({Atom{atomics::find_row("cp.async.cg.16.b32"),
                            {{s, {k.times(k.t, 4)}}, {x, {k.times(k.t, 4)}}},
                            {},
                            {}}});
  k.add(some);
  k.atom("cp.async.commit_group", {});
  interpret::Counts c = k.counts();
  CHECK(c.instructions.at("cp.async.cg.16.b32") == 2);
  CHECK(c.instructions.at("cp.async.commit_group") == 3);
  CHECK(c.global_bytes_read == 640);
  CHECK(c.sectors_read == 20);
  CHECK(c.shared_bytes_written == 640);
  CHECK(c.shared_conflicts == 0);
}

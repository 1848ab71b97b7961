// Products on matrix units: which instructions a kernel is made of, by the formats of its factors
// and by which way they lie in memory.
#include "lowered.h"
#include <catch2/catch.hpp>
#include <set>

using namespace tang;
using namespace tang::lower::test;

namespace {

Target ampere(bool allow_tf32 = false) {
  Target target = gpu();
  target.schedule.target = target.lower.target = "sm_80";
  target.schedule.dynamic_shared_bytes = 166912;
  target.schedule.units = 108;
  target.schedule.allow_tf32 = allow_tf32;
  return target;
}

/// The rows that the kernels of a program use, by name.
std::set<std::string> instructions(const std::string& body, const Target& target) {
  std::set<std::string> names;
  auto lowered_program = lowered(body, target);
  for (const kernel::Kernel& k : lowered_program.program.kernels)
    kernel::for_each_stmt(k.body, [&](const kernel::Stmt& stmt) {
      if (const auto* atom = std::get_if<kernel::Atom>(&stmt.node)) names.insert(atom->row->name);
    });
  return names;
}

std::string product(const std::string& type, const std::string& a, const std::string& b,
                    const std::string& y, const std::string& k = "1024") {
  return "input a : " + type + (a == "ik" ? "[512, " + k + "]" : "[" + k + ", 512]") +
         "\ninput b : " + type + (b == "jk" ? "[512, " + k + "]" : "[" + k + ", 512]") +
         "\ny[i, j] = sum[k] a[" + a[0] + ", " + a[1] + "] * b[" + b[0] + ", " + b[1] +
         "]\noutput y : " + y + "[512, 512]\n";
}

} // namespace

TEST_CASE("f32 factors lose bits only where that is permitted", "[matrix]") {
  auto units = [](const std::set<std::string>& names) {
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& name) { return name.rfind("mma.", 0) == 0; });
  };
  CHECK_FALSE(units(instructions(product("f32", "ik", "kj", "f32"), ampere())));
  auto some = instructions(product("f32", "ik", "kj", "f32"), ampere(true));
  CHECK(some.contains("mma.m16n8k8.f32.tf32"));
  // The unit drops the lower bits, so that they are rounded first.
  CHECK(some.contains("cvt.rna.tf32.f32"));
  // Neighbours along the sum come as rows of a matrix, others word by word.
  CHECK(some.contains("ldmatrix.x4.b32"));
  CHECK(some.contains("ld.shared.b32"));
  CHECK(some.contains("cp.async.cg.16.b32"));
  CHECK_FALSE(
      instructions(product("f32", "ik", "jk", "f32"), ampere(true)).contains("ld.shared.b32"));
  CHECK_FALSE(
      instructions(product("f32", "ki", "kj", "f32"), ampere(true)).contains("ldmatrix.x4.b32"));
  // What has a format of its own keeps it, and f64 has no such unit here.
  CHECK(instructions(product("bf16", "ik", "kj", "f32"), ampere(true))
            .contains("mma.m16n8k16.f32.bf16"));
  CHECK_FALSE(units(instructions(product("f64", "ik", "kj", "f64"), ampere(true))));
}

TEST_CASE("bytes are multiplied exactly, or not on matrix units", "[matrix]") {
  auto some = instructions(product("i8", "ik", "jk", "i32"), ampere());
  CHECK(some == std::set<std::string>{"mma.m16n8k32.i32.i8", "ldmatrix.x4.b8", "cp.async.cg.16.b8",
                                      "cp.async.commit_group", "cp.async.wait_group"});
  CHECK(instructions(product("u8", "ik", "jk", "i32"), ampere()).contains("mma.m16n8k32.i32.u8"));
  // A byte that lies beside another point's is part of no row of bytes along the sum.
  CHECK(instructions(product("i8", "ik", "kj", "i32"), ampere()).empty());
  // 255 * 255 * 33024 is below 2^31, and with 16 more terms it is not.
  CHECK_FALSE(instructions(product("u8", "ik", "jk", "i64", "33024"), ampere()).empty());
  CHECK(instructions(product("u8", "ik", "jk", "i64", "33040"), ampere()).empty());
}

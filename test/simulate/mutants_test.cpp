// The simulator finds faults: one thing is changed in kernels that are right, and each such mutant
// gives a finding or a wrong result.
#include "layout/text.h"
#include "support.h"
#include <catch2/catch.hpp>
#include <limits>
#include <set>

using namespace tang;
using namespace tang::kernel;
using namespace tang::simulate_test;

namespace {

/// Changes one thing of a kernel: the one of number `target`.
class Mutator {
public:
  Mutator(Kernel& kernel, int target) : k_(kernel), v_(kernel.values), target_(target) {
    body(k_.body);
  }
  std::string change; ///< empty when there is none of that number

private:
  bool now(const std::string& name) {
    if (seen_++ != target_) return false;
    change = name;
    return true;
  }
  bool in_memory(const Ref& ref) const { return k_[ref.tensor].memory != Memory::registers; }
  std::string name(const Ref& ref) const { return "`" + k_[ref.tensor].name + "`"; }
  static void shift(ValueStore& v, Ref& ref, int64_t by) {
    ValueId& last = ref.coordinates.back();
    last = v.add(last, v.integer(by, v[last].type));
  }

  /// False where the statement goes.
  bool keeps(Stmt& stmt) {
    return std::visit([&](auto& s) { return mutate(s); }, stmt.node);
  }
  bool mutate(Barrier&) { return !now("no barrier"); }
  bool mutate(Store& s) {
    if (!in_memory(s.dst)) return true;
    if (now("no store to " + name(s.dst))) return false;
    if (now("store to " + name(s.dst) + " one place further")) shift(v_, s.dst, 1);
    return true;
  }
  bool mutate(Load& s) {
    if (in_memory(s.src) && now("load of " + name(s.src) + " one place further"))
      shift(v_, s.src, 1);
    return true;
  }
  bool mutate(Copy& s) {
    if (now("no move to " + name(s.dst))) return false;
    Ref& memory = in_memory(s.dst) ? s.dst : s.src;
    if (now("move of " + name(memory) + " one vector further")) shift(v_, memory, s.width);
    return true;
  }
  bool mutate(Shfl& s) {
    if (now("shuffle with another mask")) s.mask = s.mask == 1 ? 2 : s.mask / 2;
    return true;
  }
  bool mutate(Atom& s) {
    const std::string& row = s.row->name;
    if (s.row->kind == atomics::Kind::wait) {
      if (now("wait for one group less")) ++s.immediates[0];
      return !now("no wait");
    }
    if (s.row->kind == atomics::Kind::commit) return !now("no commit");
    for (size_t i = 0; i < s.operands.size(); ++i)
      if (now(row + ", " + name(s.operands[i]) + " one run further"))
        shift(v_, s.operands[i], s.row->operands[i].values);
    if (s.predicate && now(row + " without predicate")) s.predicate = {};
    return !now("no " + row);
  }
  bool mutate(For& s) {
    if (s.kind == LoopKind::serial && now("a round less")) s.end = v_.sub(s.end, s.step);
    body(s.body);
    return true;
  }
  bool mutate(If& s) {
    body(s.then), body(s.otherwise);
    if (now("no guard")) s.condition = v_.boolean(true);
    return true;
  }
  bool mutate(Spec& s) {
    body(s.body);
    return true;
  }
  bool mutate(Let&) { return true; }
  bool mutate(Delinearize&) { return true; }
  bool mutate(Allocate&) { return true; }

  void body(Body& statements) {
    for (size_t i = 0; i < statements.size(); ++i)
      if (!keeps(statements[i])) statements.erase(statements.begin() + static_cast<int64_t>(i--));
  }

  Kernel& k_;
  ValueStore& v_;
  int target_, seen_ = 0;
};

struct Tally {
  int mutants = 0;
  std::vector<std::string> missed;
};

/// Every mutant of every kernel that a launch takes.
Tally mutate(const std::string& text, const std::vector<std::pair<std::string, int64_t>>& sizes,
             std::optional<size_t> variant = {}, const std::string& schedule = "",
             bool infinite = false) {
  Compiled compiled = compile({text, "mutated.tg", "sm_80", 2, sizes, false, schedule, true});
  driver::TestVectors data = data_of(compiled, 5);
  if (infinite) {
    // What follows a line is not finite, so that reading too far shows.
    interpret::Array& first = data.inputs[0];
    for (int64_t row = 1; row < first.shape[0]; row += 2)
      first.reals[static_cast<size_t>(row * first.shape[1])] =
          std::numeric_limits<double>::infinity();
    evaluate_again(compiled, data);
  }
  interpret::RunOptions options;
  options.only_variant = variant;
  Outcome right = simulate(compiled, data, options);
  REQUIRE(right.faults == std::vector<std::string>());
  Tally tally;
  for (Kernel& kernel : compiled.program.kernels) {
    if (!right.report.kernels.contains(kernel.name)) continue;
    const Kernel original = kernel;
    for (int target = 0;; ++target) {
      kernel = original;
      Mutator mutator(kernel, target);
      if (mutator.change.empty()) break;
      ++tally.mutants;
      if (simulate(compiled, data, options).faults.empty()) tally.missed.push_back(mutator.change);
    }
    kernel = original;
  }
  return tally;
}

const std::string product = "tg 1\ngraph product\n"
                            "dim M in 0..8192, N in 0..8192, K in 0..8192\n"
                            "input a : f16[M, K]\ninput b : f16[K, N]\ninput bias : f32[N]\n"
                            "c[i, j] = max((sum[k] a[i, k] * b[k, j]) + bias[j], 0)\n"
                            "output c : f32[M, N]\n";

/// The same row with two digits of an operand's layout exchanged.
std::vector<atomics::Row> exchanged(const atomics::Row& row) {
  std::vector<atomics::Row> mutants;
  for (size_t o = 0; o < row.operands.size(); ++o) {
    const layout::Layout& layout = row.operands[o].layout;
    for (size_t i = 0; i < layout.leaves.size(); ++i)
      for (size_t j = i + 1; j < layout.leaves.size(); ++j) {
        const layout::Mode &a = layout.leaves[i], &b = layout.leaves[j];
        if (a.size != b.size || a.stride == b.stride) continue;
        mutants.push_back(row);
        auto& leaves = mutants.back().operands[o].layout.leaves;
        std::swap(leaves[i].stride, leaves[j].stride);
      }
  }
  return mutants;
}

/// Uses `to` in the place of `from`.
void replace(Body& body, const atomics::Row* from, const atomics::Row* to) {
  for (Stmt& stmt : body) {
    if (auto* atom = std::get_if<Atom>(&stmt.node); atom && atom->row == from) atom->row = to;
    if (auto* loop = std::get_if<For>(&stmt.node)) replace(loop->body, from, to);
    if (auto* spec = std::get_if<Spec>(&stmt.node)) replace(spec->body, from, to);
    if (auto* branch = std::get_if<If>(&stmt.node)) replace(branch->then, from, to);
  }
}

using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("every mutant of a product on matrix units is found", "[mutants]") {
  Tally tally = mutate(product, {{"M", 40}, {"N", 72}, {"K", 328}}, {}, "", true);
  CHECK(tally.mutants > 50);
  // The first three chunks lie in the sum at this size: the predicates of their copies hold. Behind
  // the guard, stores have conditions of their own.
  Texts missed(6, "cp.async.cg.16.b16 without predicate");
  missed.push_back("no guard");
  CHECK(tally.missed == missed);
}

TEST_CASE("every mutant of rows that several warps share is found", "[mutants]") {
  Tally tally = mutate(file_text("samples/softmax.tg"), {{"M", 3}, {"N", 600}});
  CHECK(tally.mutants > 10);
  // The guards ask whether there are columns.
  CHECK(tally.missed == Texts(4, "no guard"));
}

namespace {

/// The mutants of a product of f32 in a stated tile.
Tally mutate_tile(const std::string& fields,
                  const std::vector<std::pair<std::string, int64_t>>& sizes) {
  std::string text = product;
  for (const char* factor : {"a : f16", "b : f16"})
    text.replace(text.find(factor), 7, std::string(factor).replace(4, 3, "f32"));
  return mutate(text, sizes, {},
                "steps:\n- kernel: c\n  variants:\n  - fields: {" + fields + "}\n");
}

} // namespace

TEST_CASE("every mutant of a tile in shared memory is found", "[mutants]") {
  Tally tally = mutate_tile("threads: 256, block_m: 64, block_n: 64, block_k: 16, thread_m: 4, "
                            "thread_n: 4, stage: true",
                            {{"M", 67}, {"N", 70}, {"K", 37}});
  CHECK(tally.mutants > 10);
  // A whole chunk is also right where the sum ends: what lies behind is 0.
  CHECK(tally.missed == Texts{"no guard"});
}

TEST_CASE("every mutant of a tile with chunks under way is found", "[mutants]") {
  Tally tally = mutate_tile("threads: 64, block_m: 16, block_n: 32, block_k: 4, thread_m: 2, "
                            "thread_n: 4, warp_m: 16, warp_n: 16, pipeline: 3, stage: true",
                            {{"M", 19}, {"N", 35}, {"K", 38}});
  CHECK(tally.mutants > 50);
  // The first two chunks lie in the sum at this size.
  Texts missed(4, "cp.async.ca.4.b32 without predicate");
  missed.push_back("no guard");
  CHECK(tally.missed == missed);
}

TEST_CASE("every mutant of a product whose lines begin anywhere is found", "[mutants]") {
  Tally tally = mutate(product, {{"M", 67}, {"N", 70}, {"K", 101}});
  CHECK(tally.mutants > 50);
  // Stores behind the guard have conditions of their own.
  CHECK(tally.missed == Texts{"no guard"});
}

TEST_CASE("wrong layouts in the table give wrong results", "[mutants]") {
  const std::pair<std::string, std::string> forms[] = {{"a[i, k]", "b[k, j]"},
                                                       {"a[k, i]", "b[j, k]"}};
  int mutants = 0;
  std::set<std::string> rows;
  for (const auto& [a, b] : forms) {
    std::string text = product;
    text.replace(text.find("a[i, k]"), 7, a).replace(text.find("b[k, j]"), 7, b);
    if (a == "a[k, i]")
      text.replace(text.find("f16[M, K]"), 9, "f16[K, M]")
          .replace(text.find("f16[K, N]"), 9, "f16[N, K]");
    Compiled compiled = compile(
        {text, "product.tg", "sm_80", 2, {{"M", 64}, {"N", 64}, {"K", 64}}, false, "", true});
    driver::TestVectors data = data_of(compiled, 5);
    REQUIRE(simulate(compiled, data).faults == Texts());
    Kernel& kernel = compiled.program.kernels[0];
    const Kernel original = kernel;
    std::set<const atomics::Row*> used;
    for_each_stmt(original.body, [&](const Stmt& stmt) {
      if (const auto* atom = std::get_if<Atom>(&stmt.node)) used.insert(atom->row);
    });
    for (const atomics::Row* row : used)
      for (const atomics::Row& mutant : exchanged(*row)) {
        kernel = original;
        replace(kernel.body, row, &mutant);
        std::string layouts;
        for (const atomics::Operand& operand : mutant.operands)
          layouts += " " + layout::to_text(operand.layout);
        INFO(row->name << layouts);
        CHECK(simulate(compiled, data).faults != Texts());
        ++mutants;
        rows.insert(row->name);
      }
  }
  CHECK(mutants >= 18);
  CHECK(rows == std::set<std::string>{"ldmatrix.x4", "ldmatrix.x4.trans", "mma.m16n8k16.f32.f16"});
}

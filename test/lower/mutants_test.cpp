// The proofs about kernels find faults: every mutant of every kernel that the emitters make here is
// refused.
#include "lowered.h"
#include <set>

using namespace tang::kernel;
using namespace tang::lower::test;

namespace {

/// Changes one thing about the stores of a kernel: the one of number `target`.
class Mutator {
public:
  Mutator(Kernel& kernel, int target) : k_(kernel), v_(kernel.values), target_(target) {
    body(k_.body);
  }
  /// Empty when there is none of that number.
  std::string change;

private:
  bool now(const std::string& name) {
    if (seen_++ != target_) return false;
    change = name;
    return true;
  }

  bool is_output(const Ref& ref) const {
    const Tensor& t = k_[ref.tensor];
    return t.memory == Memory::global && !t.in_part;
  }

  bool stores(const Stmt& stmt) const {
    bool found = false;
    for_each_stmt({stmt}, [&](const Stmt& s) {
      if (const auto* store = std::get_if<Store>(&s.node)) found |= is_output(store->dst);
      if (const auto* copy = std::get_if<Copy>(&s.node)) found |= is_output(copy->dst);
    });
    return found;
  }

  /// True when the statement is replaced by those in `instead`.
  template <class S>
  bool site(const S& s, Body& instead) {
    if (!is_output(s.dst)) return false;
    S other = s;
    if (now("not stored")) return true;
    if (now("stored twice")) {
      instead = {{s}, {s}};
      return true;
    }
    if (s.predicate && now("stored under no predicate")) {
      other.predicate = {};
      instead = {{other}};
      return true;
    }
    if (s.dst.coordinates.empty()) return false;
    ValueId& last = other.dst.coordinates.back();
    if (now("stored one place further")) {
      last = v_.add(last, v_.integer(1));
      instead = {{other}};
      return true;
    }
    if (now("left out at the first place")) {
      other.predicate = v_.both(s.predicate, v_.less(v_.integer(0), last));
      instead = {{other}};
      return true;
    }
    return false;
  }

  bool branch(If& s, Body& instead) {
    if (now("under no condition")) {
      instead = std::move(s.then);
      return true;
    }
    const Value condition = v_[s.condition];
    if (condition.form != Form::operation || condition.op != Op::lt) return false;
    ValueId a = condition.operands[0], b = condition.operands[1];
    bool changed = false;
    if (now("one point too many")) s.condition = v_.binary(Op::le, a, b), changed = true;
    if (now("one point too few"))
      s.condition = v_.less(v_.add(a, v_.integer(1)), b), changed = true;
    if (changed) instead = {{std::move(s)}};
    return changed;
  }

  bool loop(For& s, Body& instead) {
    if (!now("every second round")) return false;
    s.step = v_.mul(s.step, v_.integer(2));
    instead = {{std::move(s)}};
    return true;
  }

  void body(Body& statements) {
    for (size_t i = 0; i < statements.size() && change.empty(); ++i) {
      Stmt& stmt = statements[i];
      if (!stores(stmt)) continue;
      Body instead;
      bool replaced = false;
      if (auto* s = std::get_if<Store>(&stmt.node)) replaced = site(*s, instead);
      if (auto* s = std::get_if<Copy>(&stmt.node)) replaced = site(*s, instead);
      if (auto* s = std::get_if<If>(&stmt.node)) replaced = branch(*s, instead);
      if (auto* s = std::get_if<For>(&stmt.node)) replaced = loop(*s, instead);
      if (replaced) {
        statements.erase(statements.begin() + static_cast<ptrdiff_t>(i));
        statements.insert(statements.begin() + static_cast<ptrdiff_t>(i), instead.begin(),
                          instead.end());
        return;
      }
      if (auto* s = std::get_if<If>(&stmt.node)) body(s->then), body(s->otherwise);
      if (auto* s = std::get_if<For>(&stmt.node)) body(s->body);
      if (auto* s = std::get_if<Spec>(&stmt.node)) body(s->body);
    }
  }

  Kernel& k_;
  ValueStore& v_;
  int target_, seen_ = 0;
};

bool is_proved(const Program& program) {
  return check_coverage(program).unproved.empty() && check_ranges(program).unproved.empty();
}

} // namespace

TEST_CASE("every mutant of a kernel is found", "[mutants]") {
  const std::string head = "dim M in 0..100000, N in 1..100000, K in 1..4096\n"
                           "input x : f32[M, N]\ninput h : bf16[M, N]\ninput a : f32[M, K]\n"
                           "input b : f32[K, N]\ninput i8 : i32[M]\n";
  const char* bodies[] = {
      "y[i, j] = x[i, j] * 2 + x[i, 0]\noutput y : f32[M, N]\n",
      "y[i, j, k: 3] = x[i, j] * k\noutput y : f32[M, N, 3]\n",
      "y[j, i] = h[i, j] * 2\noutput y : bf16[N, M]\n",
      "s = sum[i, j] x[i, j]\noutput s : f32\n",
      "y[i] = sum[k: 5, l: 3] x[i, 0] * k * l\noutput y : f32[M]\n",
      "y[i, j] = softmax[j] h[i, j]\nm[i] = max[j] h[i, j]\noutput y : bf16[M, N]\n"
      "output m : f32[M]\n",
      "y[i, j] = softmax[j where j <= i] x[i, j]\noutput y : f32[M, N]\n",
      "y[i, j] = relu(sum[k] a[i, k] * b[k, j])\noutput y : f32[M, N]\n",
      "y[g: 4, i, j] = sum[k] a[i, k] * b[k, j] * g\noutput y : f32[4, M, N]\n",
      "y[i, j] = scan sum[j] x[i, j]\noutput y : f32[M, N]\n",
      "y[i, j] = x[i8[i], j] else 0\noutput y : f32[M, N]\n",
      "(v[i, n], w[i, n]) = topk[j; 3] x[i, j]\noutput v : f32[M, 3]\noutput w : i32[M, 3]\n"};
  int mutants = 0;
  for (std::string body : bodies)
    for (const auto& target : {gpu(), core()})
      for (int level : {0, 2}) {
        auto made = lowered(head + body, target, level);
        INFO(body << "-O" << level << (target.lower.hardware_grid ? " with" : " without")
                  << " threads");
        REQUIRE(is_proved(made.program));
        for (size_t k = 0; k < made.program.kernels.size(); ++k)
          for (int n = 0;; ++n) {
            Program mutant = made.program;
            Mutator mutator(mutant.kernels[k], n);
            if (mutator.change.empty()) break;
            ++mutants;
            if (is_proved(mutant)) {
              INFO(mutator.change << ":\n" << to_text(mutant.kernels[k]));
              CHECK(false);
            }
          }
      }
  CHECK(mutants > 700);
}

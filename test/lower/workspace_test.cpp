// Slots of the workspace: shared by buffers whose lives do not meet, and no larger than they must.
#include "base/check.h"
#include "lowered.h"
#include <random>

using namespace tang::lower::test;
namespace kernel = tang::kernel;

namespace {

struct Life {
  int first = -1, last = -1;
};

/// When each buffer is first and last bound, counted in top-level steps.
std::vector<Life> lives_of(const kernel::Program& program) {
  std::vector<Life> lives(program.buffers.size());
  auto touch = [&](auto&& self, const kernel::Step& step, int moment) -> void {
    if (const auto* loop = std::get_if<kernel::Loop>(&step.node)) {
      for (const auto& inner : loop->body) self(self, inner, moment);
      return;
    }
    for (const auto& v : std::get<kernel::Dispatch>(step.node).variants)
      for (const auto& b : v.bindings) {
        Life& life = lives[b.buffer.value];
        if (life.first < 0) life.first = moment;
        life.last = moment;
      }
  };
  for (size_t i = 0; i < program.steps.size(); ++i)
    touch(touch, program.steps[i], static_cast<int>(i));
  return lives;
}

/// Holds a program with fixed dims to the invariants; returns the bytes of all slots.
int64_t check_slots(const kernel::Program& program) {
  auto lives = lives_of(program);
  std::vector<int64_t> need(program.slots.size(), 0);
  for (size_t a = 0; a < program.buffers.size(); ++a) {
    const kernel::Buffer& buffer = program.buffers[a];
    if (buffer.kind != kernel::Buffer::Kind::workspace || lives[a].first < 0) continue;
    REQUIRE(buffer.slot < program.slots.size());
    int64_t elements = program.values.as_integer(buffer.elements).value();
    int bits = tang::graph::info(buffer.type).bits;
    need[buffer.slot] = std::max(need[buffer.slot], (elements * bits + 7) / 8);
    for (size_t b = 0; b < a; ++b) {
      const kernel::Buffer& other = program.buffers[b];
      if (other.kind != kernel::Buffer::Kind::workspace || lives[b].first < 0 ||
          other.slot != buffer.slot)
        continue;
      INFO(buffer.name << " and " << other.name << " share slot " << buffer.slot);
      CHECK((lives[a].last < lives[b].first || lives[b].last < lives[a].first));
    }
  }
  int64_t total = 0;
  for (size_t s = 0; s < program.slots.size(); ++s) {
    CHECK(program.values.as_integer(program.slots[s].bytes) == need[s]);
    total += need[s];
  }
  return total;
}

} // namespace

TEST_CASE("slots of random programs", "[workspace]") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const char* types[] = {"f32", "f16", "f64", "bf16", "f8e4m3"};
    std::string body = "input t0 : f32[7]\n", stores;
    int count = 3 + pick(12);
    for (int n = 1; n < count; ++n) {
      body += fmt::format("t{}[i: {}] = (t{}[i] else 0) + (t{}[i] else 1)\n", n, 1 + pick(40),
                          pick(n), std::max(0, n - 1 - pick(3)));
      if (pick(2)) stores += fmt::format("store t{} : {}\n", n, types[pick(5)]);
    }
    // A last one reads two more, so that some live long.
    body += fmt::format("y[i: 5] = (t{}[i] else 0) + (t{}[i] else 0)\n{}output y : f32[5]\n",
                        count - 1, pick(count), stores);
    INFO(body);
    for (const auto& target : {gpu(), core()}) check_slots(lowered(body, target, 0).program);
  }
}

TEST_CASE("a chain needs two slots, as large as its largest", "[workspace]") {
  std::string body = "input x : f32[100]\na[n] = x[n] + 1\n";
  for (char c = 'b'; c < 'k'; ++c)
    body += fmt::format("{}[n] = {}[n] * 2\n", c, static_cast<char>(c - 1));
  auto p = lowered(body + "output j as y : f32[100]\n", core(), 0);
  CHECK(p.program.slots.size() == 2);
  CHECK(check_slots(p.program) == 800);
}

TEST_CASE("slots of symbolic sizes", "[workspace]") {
  auto p = lowered("dim N\ninput x : f32[N]\na[i] = x[i] + 1\nb[i] = a[i] * 2\nc[i] = b[i] * 2\n"
                   "d[i] = c[i] * 2\noutput d : f32[N]\n",
                   core(), 0);
  // Equal sizes meet in equal slots, which need no maximum.
  REQUIRE(p.program.slots.size() == 2);
  CHECK(p.program.slots[0].bytes == p.program.slots[1].bytes);
  CHECK(p.program.values[p.program.slots[0].bytes].op == tang::graph::Op::mul);
}

TEST_CASE("what a recurrence touches lives through it", "[workspace][recur]") {
  auto p = lowered("dim T = 4\ninput x : f32[T, 8]\na[i: 8] = x[0, i] * 3\nb[i] = a[i] * 2\n"
                   "recur t: T carry h = b {\n  u[i] = h[i] + x[t, i]\n  v[i] = u[i] * 2\n"
                   "  h[i] = v[i] + u[i]\n}\nc[i] = h[i] + 1\nd[i] = c[i] + 1\n"
                   "output d : f32[8]\n",
                   core(), 0);
  check_slots(p.program);
}

TEST_CASE("nothing between the input and the output needs no workspace", "[workspace]") {
  auto p = lowered("dim M, N\ninput x : f32[M, N]\ny[i, j] = softmax[j] exp(x[i, j]) + 1\n"
                   "output y : f32[M, N]\n");
  CHECK(p.program.slots.empty());
}

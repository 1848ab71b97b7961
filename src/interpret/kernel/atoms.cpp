// Instructions, carried out through the tables that their rows' layouts give.
#include "base/check.h"
#include "interpret/formats.h"
#include "interpret/kernel/lanes.h"
#include <algorithm>
#include <cmath>

namespace tang::interpret::simulator {

void Machine::atom(const Instruction& i, const Mask& mask) {
  const AtomUse& use = code_.atoms[i.ref];
  counts_.instructions[use.row->name] += warps_of(mask);
  switch (use.row->kind) {
  case atomics::Kind::commit: return commit(use, mask);
  case atomics::Kind::wait: return wait(use, mask);
  case atomics::Kind::unary:
  case atomics::Kind::move: return move(i, use, whole_groups(i, use, mask));
  case atomics::Kind::matmul: return matmul(i, use, whole_groups(i, use, mask));
  // Kernels exchange values and combine them by statements of their own.
  case atomics::Kind::shfl:
  case atomics::Kind::reduction:
  case atomics::Kind::sync:
    TANG_CHECK(false, "the simulator has no `{}`, which no emitter uses", use.row->name);
  }
}

void Machine::commit(const AtomUse& use, const Mask& mask) {
  for (uint32_t t : mask.lanes) {
    Flights& flights = flights_[use.token * threads_ + t];
    flights.closed.push_back(std::move(flights.open));
    flights.open.clear();
  }
}

/// Waits until so many groups as the immediate says are open; what has come is the thread's own
/// from here on, and the others' behind a barrier.
void Machine::wait(const AtomUse& use, const Mask& mask) {
  auto pending = static_cast<size_t>(use.immediates.empty() ? 0 : use.immediates[0]);
  for (uint32_t t : mask.lanes) {
    Flights& flights = flights_[use.token * threads_ + t];
    visitor_.thread = visitor_.block * visitor_.threads_of_block + t;
    for (; flights.closed.size() > pending; flights.closed.pop_front())
      for (Cells cells : flights.closed.front())
        for (uint32_t c = cells.first; c < cells.second; ++c) {
          copied_by_[c] = 0;
          Cell& cell = shared_cells_[c];
          cell.write_run = block_run_, cell.writer = visitor_.thread;
          cell.write_epoch = visitor_.epoch;
        }
  }
}

/// The groups of which every thread is here.
const Mask& Machine::whole_groups(const Instruction& i, const AtomUse& use, const Mask& mask) {
  auto size = static_cast<uint32_t>(use.row->threads);
  if (size == 1 || (mask.all && threads_ % size == 0)) return mask;
  Mask& whole = new_mask();
  const std::vector<uint32_t>& lanes = mask.lanes;
  for (size_t first = 0; first < lanes.size();) {
    uint32_t group = lanes[first] / size;
    size_t end = first;
    while (end < lanes.size() && lanes[end] / size == group) ++end;
    if (end - first == size)
      whole.lanes.insert(whole.lanes.end(), lanes.begin() + static_cast<int64_t>(first),
                         lanes.begin() + static_cast<int64_t>(end));
    else if (Finding* f = fault(Fault::missing_lanes, i, lanes[first]))
      f->note = fmt::format("{} of {} threads are here", end - first, size);
    first = end;
  }
  return whole;
}

/// The lanes that hold an operand or give its address.
const Mask& Machine::givers(const AtomUse& use, size_t operand, const Mask& mask) {
  auto all = static_cast<uint32_t>(use.row->threads);
  auto some = static_cast<uint32_t>(use.row->operands[operand].threads);
  if (some >= all) return mask;
  Mask& lanes = new_mask();
  for (uint32_t t : mask.lanes)
    if (t % all < some) lanes.lanes.push_back(t);
  return lanes;
}

namespace {

/// The nearest f32 of which a tf32 unit reads all bits; ties away from 0.
double nearest_tf32(double value) {
  if (!std::isfinite(value)) return value;
  uint64_t bits = (encode(ElemType::f32, word(value), true) + 0x1000) & ~uint64_t{0x1fff};
  return real_of(decode(ElemType::f32, bits));
}

/// What a unit makes of an f32. Units that flush take subnormal numbers for 0 and give none.
double function(const atomics::Row& row, double value) {
  auto flushed = [&](double x) {
    return row.flushes && std::fabs(x) < 0x1p-126 ? std::copysign(0.0, x) : x;
  };
  double x = flushed(value);
  if (row.op == "exp2") return flushed(round_to(ElemType::f32, std::exp2(x)));
  TANG_CHECK(row.op == "reciprocal", "the simulator has no `{}`", row.op);
  return flushed(round_to(ElemType::f32, 1 / x));
}

double rounded_as(atomics::Rounds how, ElemType held, double value) {
  switch (how) {
  case atomics::Rounds::no: return value;
  case atomics::Rounds::nearest: return nearest_tf32(value);
  case atomics::Rounds::head: return head_of(held, value);
  case atomics::Rounds::rest: return rest_of(held, value);
  }
  return value;
}

bool contains(const Mask& mask, uint32_t lane) {
  return mask.all || std::binary_search(mask.lanes.begin(), mask.lanes.end(), lane);
}

} // namespace

void Machine::move(const Instruction& i, const AtomUse& use, const Mask& mask) {
  const atomics::Row& row = *use.row;
  const atomics::Operand &to_operand = row.operands[0], &from_operand = row.operands[1];
  Resolved to = resolve(i, use.accesses[0], givers(use, 0, mask), to_operand.values);
  const Mask& reading = guarded(use.predicate, givers(use, 1, mask));
  Resolved from = resolve(i, use.accesses[1], reading, from_operand.values);
  count(i, from, from_operand.values, false);
  count(i, to, to_operand.values, true);
  ElemType held_as = tensor(*from.access).type, type = tensor(*to.access).type;
  auto size = static_cast<uint32_t>(row.threads);
  bool all_there = from.lanes->all;
  for (uint32_t t : to.lanes->lanes) {
    uint32_t first = t / size * size, within = t % size;
    for (int v = 0; v < to_operand.values; ++v) {
      RowMap::Place source =
          use.map->sources[static_cast<size_t>(within) * static_cast<size_t>(to_operand.values) +
                           static_cast<size_t>(v)];
      uint32_t other = first + static_cast<uint32_t>(source.thread);
      Held held{0, true};
      if (all_there || contains(*from.lanes, other))
        held = fetch(i, *from.access, other, from(other) + source.value);
      else if (!use.predicate || contains(reading, other))
        held.written = false; // it was out of range
      if (row.rounds != atomics::Rounds::no)
        held.word = word(rounded_as(row.rounds, type, real_of(held.word)));
      else if (held_as != type)
        held.word = decode(
            type, encode(held_as, held.word, graph::scalar_of(held_as) == graph::Scalar::real));
      if (row.kind == atomics::Kind::unary) held.word = word(function(row, real_of(held.word)));
      put(i, *to.access, t, to(t) + v, held);
    }
    if (use.token != nothing) take_off(use, *to.access, t, to(t), to_operand.values);
  }
}

/// From here to the wait the cells belong to a copy under way.
void Machine::take_off(const AtomUse& use, const Access& access, size_t lane, int64_t element,
                       int count) {
  if (tensor(access).memory != Memory::shared) return;
  Cells cells{cells_of(access, element).first, cells_of(access, element + count - 1).second};
  for (uint32_t c = cells.first; c < cells.second; ++c)
    copied_by_[c] = static_cast<uint32_t>(lane) + 1;
  flights_[use.token * threads_ + lane].open.push_back(cells);
}

/// The values of one group in their box; false where a lane is not in range or a value is not
/// written.
bool Machine::gather(const Instruction& i, const AtomUse& use, size_t operand, const Resolved& at,
                     const RowMap::Box& box, uint32_t first, std::vector<double>& dense) {
  const atomics::Operand& o = use.row->operands[operand];
  dense.assign(box.size, 0);
  size_t n = 0;
  for (int t = 0; t < o.threads; ++t) {
    uint32_t lane = first + static_cast<uint32_t>(t);
    if (!contains(*at.lanes, lane)) return false;
    for (int v = 0; v < o.values; ++v, ++n) {
      Held held = fetch(i, *at.access, lane, at(lane) + v);
      if (!held.written) {
        if (Finding* f = fault(Fault::unwritten, i, lane, at.access))
          f->note = fmt::format("value {}", v);
      }
      bool real = graph::scalar_of(tensor(*at.access).type) == graph::Scalar::real;
      double value = real ? real_of(held.word) : static_cast<double>(integer_of(held.word));
      // The unit reads the 19 upper bits of a register.
      if (o.tf32) value = cut_tf32(value);
      dense[box.at[n]] = held.written ? value : std::numeric_limits<double>::quiet_NaN();
    }
  }
  return true;
}

void Machine::matmul(const Instruction& i, const AtomUse& use, const Mask& mask) {
  const RowMap& map = *use.map;
  const RowMap::Box* boxes[] = {&map.d, &map.a, &map.b};
  Resolved at[3];
  for (size_t o = 0; o < 3; ++o)
    at[o] = resolve(i, use.accesses[o], givers(use, o, mask), use.row->operands[o].values);
  auto size = static_cast<uint32_t>(use.row->threads);
  const atomics::Operand& d = use.row->operands[0];
  bool real = graph::scalar_of(tensor(*at[0].access).type) == graph::Scalar::real;
  for (size_t n = 0; n < mask.lanes.size(); n += size) {
    uint32_t first = mask.lanes[n];
    bool there = true;
    for (size_t o = use.row->accumulates ? 0 : 1; o < 3; ++o)
      there = there && gather(i, use, o, at[o], *boxes[o], first, dense_[o]);
    if (!there) continue;
    if (!use.row->accumulates) dense_[0].assign(map.d.size, 0);
    for (size_t e = 0; e < map.d.size; ++e) {
      const double *a = &dense_[1][map.a_of[e]], *b = &dense_[2][map.b_of[e]];
      double sum = dense_[0][e];
      for (size_t k = 0; k < map.a_term.size(); ++k) sum += a[map.a_term[k]] * b[map.b_term[k]];
      dense_[0][e] = sum;
    }
    size_t value = 0;
    for (int t = 0; t < d.threads; ++t)
      for (int v = 0; v < d.values; ++v, ++value) {
        uint32_t lane = first + static_cast<uint32_t>(t);
        double sum = dense_[0][map.d.at[value]];
        Word held = real ? word(round_to(tensor(*at[0].access).type, sum))
                         : word(static_cast<int64_t>(sum));
        put(i, *at[0].access, lane, at[0](lane) + v, {held, true});
      }
  }
}

} // namespace tang::interpret::simulator

// Loads, stores and moves of elements.
#include "interpret/kernel/lanes.h"
#include <limits>

namespace tang::interpret::simulator {

namespace {

/// The storage format whose registers are of a type.
ElemType format_of(Type type) {
  switch (type) {
  case Type::boolean: return ElemType::boolean;
  case Type::i32: return ElemType::i32;
  case Type::i64:
  case Type::index: return ElemType::i64;
  case Type::f32: return ElemType::f32;
  case Type::f64: return ElemType::f64;
  }
  return ElemType::f64;
}

Word nan_of(Type type) {
  return kernel::is_real(type) ? word(std::numeric_limits<double>::quiet_NaN()) : 0;
}

} // namespace

int64_t Machine::room(const Access& access) const {
  if (tensor(access).memory != Memory::global) return code_.places[access.tensor.value].elements;
  const Bound& bound = bound_[access.tensor.value];
  return bound.buffer->elements - bound.offset;
}

bool Machine::is_outside(const Access& access, size_t lane, int width) const {
  for (size_t k = 0; k < access.coordinates.size(); ++k) {
    Slot c = access.coordinates[k], e = access.extents[k];
    int64_t at = integer_of(words(c)[lane * stride(c)]),
            extent = integer_of(words(e)[lane * stride(e)]);
    int reach = static_cast<int>(k) == access.contiguous ? width : 1;
    if (at < 0 || at > extent - reach) return true;
  }
  int64_t at = integer_of(words(access.offset)[lane * stride(access.offset)]);
  return at < 0 || at > room(access) - width;
}

Machine::Resolved Machine::resolve(const Instruction& i, uint32_t number, const Mask& mask,
                                   int width) {
  const Access& access = code_.accesses[number];
  Resolved at{&access, words(access.offset), stride(access.offset), &mask};
  bool outside = false;
  auto check = [&](Slot place, int64_t extent, int reach) {
    const Word* c = words(place);
    each(mask, place.varies, [&](size_t t) {
      int64_t here = integer_of(c[t]);
      outside |= here < 0 || here > extent - reach;
    });
  };
  for (size_t k = 0; k < access.coordinates.size(); ++k) {
    if (access.extents[k].varies) outside = true; // looked at lane by lane
    check(access.coordinates[k], uniform(access.extents[k]),
          static_cast<int>(k) == access.contiguous ? width : 1);
  }
  check(access.offset, room(access), width);
  if (!outside) return at;
  Mask& inside = new_mask();
  for (uint32_t t : mask.lanes) {
    if (is_outside(access, t, width))
      static_cast<void>(fault(Fault::out_of_range, i, t, &access));
    else
      inside.lanes.push_back(t);
  }
  inside.all = inside.lanes.size() == threads_;
  at.lanes = &inside;
  return at;
}

/// The lanes for which a predicate holds; without one, all.
const Mask& Machine::guarded(Slot predicate, const Mask& mask) {
  if (!predicate) return mask;
  Mask& holds = new_mask();
  if (predicate.varies)
    filter(mask, predicate, true, holds);
  else if (uniform(predicate) != 0)
    return mask;
  return holds;
}

void Machine::element(const Instruction& i, const Mask& mask) {
  Resolved at = resolve(i, i.ref, mask, 1);
  Word* d = words(i.d);
  if (at.lanes != &mask) each(mask, true, [&](size_t t) { d[t] = nan_of(i.type); });
  bool unwritten = false;
  each(*at.lanes, true, [&](size_t t) {
    size_t place = register_at(*at.access, t, at(t));
    unwritten |= register_written_[place] == 0;
    d[t] = registers_[place];
  });
  if (!unwritten) return;
  for (uint32_t t : at.lanes->lanes) {
    if (register_written_[register_at(*at.access, t, at(t))] != 0) continue;
    d[t] = nan_of(i.type);
    static_cast<void>(fault(Fault::unwritten, i, t, at.access));
  }
}

void Machine::load(const Instruction& i, const Mask& mask) {
  const Mask& live = guarded(i.a, mask);
  Resolved at = resolve(i, i.ref, live, 1);
  Word* d = words(i.d);
  if (&live != &mask)
    each(mask, true, [&](size_t t) { d[t] = i.b ? words(i.b)[t * stride(i.b)] : 0; });
  if (at.lanes != &live) each(live, true, [&](size_t t) { d[t] = nan_of(i.type); });
  ElemType from = tensor(*at.access).type, to = format_of(i.type);
  bool same = kernel::register_type(from) == i.type;
  count(i, at, 1, false);
  each(*at.lanes, true, [&](size_t t) {
    Held held = fetch(i, *at.access, t, at(t));
    d[t] = same ? held.word : converted(from, to, held.word);
    if (held.written) return;
    d[t] = nan_of(i.type);
    static_cast<void>(fault(Fault::unwritten, i, static_cast<uint32_t>(t), at.access));
  });
}

void Machine::store(const Instruction& i, const Mask& mask) {
  Resolved at = resolve(i, i.ref, guarded(i.b, mask), 1);
  const Word* a = words(i.a);
  ElemType from = format_of(i.from), to = tensor(*at.access).type;
  bool same = tensor(*at.access).memory == Memory::registers && from == to;
  count(i, at, 1, true);
  each(*at.lanes, true, [&](size_t t) {
    Word value = a[t * stride(i.a)];
    if (same) {
      size_t place = register_at(*at.access, t, at(t));
      registers_[place] = value, register_written_[place] = 1;
    } else {
      put(i, *at.access, t, at(t), {converted(from, to, value), true});
    }
  });
}

void Machine::copy(const Instruction& i, const Mask& mask) {
  Resolved from = resolve(i, i.other, guarded(i.a, mask), i.count);
  Resolved to = resolve(i, i.ref, *from.lanes, i.count);
  from.lanes = to.lanes;
  ElemType held_as = tensor(*from.access).type, type = tensor(*to.access).type;
  bool global = tensor(*to.access).memory == Memory::global;
  count(i, from, i.count, false);
  count(i, to, i.count, true);
  for (int k = 0; k < i.count; ++k)
    each(*to.lanes, true, [&](size_t t) {
      Held held = fetch(i, *from.access, t, from(t) + k);
      if (held_as != type) held.word = converted(held_as, type, held.word);
      if (!held.written && global)
        static_cast<void>(fault(Fault::unwritten, i, static_cast<uint32_t>(t), from.access));
      put(i, *to.access, t, to(t) + k, held);
    });
}

void Machine::allocate(const Instruction& i, const Mask& mask) {
  if (kernel_.tensors[i.ref].memory != Memory::registers) return;
  const Place& place = code_.places[i.ref];
  for (int64_t e = 0; e < place.elements; ++e)
    each(mask, true, [&](size_t t) {
      register_written_[static_cast<size_t>(place.begin + e) * threads_ + t] = 0;
    });
}

} // namespace tang::interpret::simulator

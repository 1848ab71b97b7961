#pragma once
// Internal: one result for each active thread.
#include "interpret/kernel/machine.h"

namespace tang::interpret::simulator {

template <class F>
void Machine::map1(const Instruction& i, const Mask& mask, F&& f) {
  Word* d = words(i.d);
  const Word* a = words(i.a);
  if (i.a.varies)
    each(mask, i.d.varies, [&](size_t t) { d[t] = f(a[t]); });
  else
    each(mask, i.d.varies, [&](size_t t) { d[t] = f(*a); });
}

template <class F>
void Machine::map2(const Instruction& i, const Mask& mask, F&& f) {
  Word* d = words(i.d);
  const Word *a = words(i.a), *b = words(i.b);
  if (i.a.varies && i.b.varies)
    each(mask, i.d.varies, [&](size_t t) { d[t] = f(a[t], b[t]); });
  else if (i.a.varies)
    each(mask, i.d.varies, [&](size_t t) { d[t] = f(a[t], *b); });
  else if (i.b.varies)
    each(mask, i.d.varies, [&](size_t t) { d[t] = f(*a, b[t]); });
  else
    each(mask, i.d.varies, [&](size_t t) { d[t] = f(*a, *b); });
}

} // namespace tang::interpret::simulator

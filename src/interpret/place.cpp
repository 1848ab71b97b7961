// Which region each term's code stands in. See builder.h.
#include "base/check.h"
#include "interpret/builder.h"
#include "interpret/extents.h"
#include <algorithm>

namespace tang::interpret {

uint32_t Builder::new_register(Word start) {
  program_.registers.push_back(start);
  return static_cast<uint32_t>(program_.registers.size() - 1);
}

uint32_t Builder::constant(Word value) {
  auto [at, inserted] = constants_.try_emplace(value, 0);
  if (inserted) at->second = new_register(value);
  return at->second;
}

uint32_t Builder::new_region(uint32_t parent, bool hoist_target) {
  auto id = static_cast<uint32_t>(regions_.size());
  Region r;
  r.parent = parent;
  if (parent == none) {
    r.jump = id;
  } else {
    // Skew-binary jump pointers: ancestors at any depth in logarithmic time.
    const Region& p = regions_[parent];
    const Region& far = regions_[p.jump];
    r.depth = p.depth + 1;
    r.jump = p.depth - far.depth == far.depth - regions_[far.jump].depth ? far.jump : parent;
  }
  r.loop = hoist_target || parent == none ? id : regions_[parent].loop;
  regions_.push_back(std::move(r));
  return id;
}

uint32_t Builder::common_ancestor(uint32_t a, uint32_t b) const {
  auto depth = [&](uint32_t r) { return regions_[r].depth; };
  if (depth(a) < depth(b)) std::swap(a, b);
  while (depth(a) > depth(b))
    a = depth(regions_[a].jump) >= depth(b) ? regions_[a].jump : regions_[a].parent;
  while (a != b) {
    bool far = regions_[a].jump != regions_[b].jump;
    a = far ? regions_[a].jump : regions_[a].parent;
    b = far ? regions_[b].jump : regions_[b].parent;
  }
  return a;
}

uint32_t Builder::new_unit(uint32_t parent, uint32_t base) {
  Unit u;
  u.parent = parent, u.base = base;
  if (parent != none) u.facts = units_[parent].facts;
  units_.push_back(std::move(u));
  return static_cast<uint32_t>(units_.size() - 1);
}

uint32_t Builder::tensor_buffer(graph::TensorId tensor) {
  auto [at, inserted] =
      buffers_.try_emplace(tensor.value, static_cast<uint32_t>(program_.tensors.size()));
  if (inserted) {
    program_.tensors.push_back(tensor);
    program_.scratch.push_back(0);
  }
  return at->second;
}

uint32_t Builder::scratch_buffer(int64_t words) {
  program_.tensors.push_back({});
  program_.scratch.push_back(words);
  return static_cast<uint32_t>(program_.tensors.size() - 1);
}

const State& Builder::state_of(const Expr& e, uint32_t unit) const {
  for (uint32_t u = unit; u != none; u = units_[u].parent) {
    const std::vector<State>* states = e.op == Op::acc   ? units_[u].acc
                                       : e.op == Op::lhs ? units_[u].lhs
                                                         : units_[u].rhs;
    if (states) return states->at(e.ref);
  }
  TANG_CHECK(false, "`{}` stands where no state is", graph::info(e.op).name);
  std::abort();
}

const Binding& Builder::binding(IndexId index, uint32_t unit) const {
  for (uint32_t u = unit; u != none; u = units_[u].parent) {
    auto at = units_[u].indices.find(index);
    if (at != units_[u].indices.end()) return at->second;
  }
  TANG_CHECK(false, "index {} is not bound", index.value);
  std::abort();
}

/// Literals, dims, indices and scalar states are registers as they stand.
bool Builder::is_free_of_code(ExprId id, uint32_t unit) const {
  const Expr& e = exprs_[id];
  switch (e.op) {
  case Op::literal_int:
  case Op::literal_real:
  case Op::literal_bool:
  case Op::dim:
  case Op::index: return true;
  case Op::acc:
  case Op::lhs:
  case Op::rhs: return !state_of(e, unit).indexed;
  default: return false;
  }
}

uint32_t Builder::owner(ExprId id, uint32_t unit) const {
  const Expr& e = exprs_[id];
  while (units_[unit].parent != none) {
    const Unit& u = units_[unit];
    if (u.acc && (*u.facts)[id].uses_acc) return unit;
    for (IndexId index : e.free)
      if (u.indices.contains(index)) return unit;
    unit = u.parent;
  }
  return unit;
}

/// The outermost region in which everything the term uses is known.
uint32_t Builder::anchor(ExprId id, uint32_t unit) const {
  uint32_t region = 0;
  for (uint32_t u = unit; u != none; u = units_[u].parent) {
    bool here = units_[u].parent == none || (units_[u].acc && (*units_[u].facts)[id].uses_acc);
    if (here && regions_[units_[u].base].depth > regions_[region].depth) region = units_[u].base;
  }
  for (IndexId index : exprs_[id].free) {
    uint32_t at = binding(index, unit).region;
    if (regions_[at].depth > regions_[region].depth) region = at;
  }
  return region;
}

void Builder::use(ExprId id, uint32_t unit, uint32_t region) {
  if (is_free_of_code(id, unit)) return;
  Key key{id, owner(id, unit)};
  auto [at, inserted] = instances_.try_emplace(key);
  Instance& instance = at->second;
  if (inserted) {
    instance.place = region;
    instance.reg = new_register();
    unplaced_.push(key);
    return;
  }
  uint32_t shared = common_ancestor(instance.place, region);
  instance.direct = shared == region || (shared == instance.place && instance.direct);
  instance.place = shared;
}

void Builder::place_all() {
  while (!unplaced_.empty()) {
    Key key = unplaced_.top();
    unplaced_.pop();
    place(key, instances_.at(key));
  }
}

void Builder::place(Key key, Instance& instance) {
  bool safe = (*units_[key.unit].facts)[key.id].safe;
  if (safe) {
    uint32_t out = anchor(key.id, key.unit);
    if (regions_[regions_[instance.place].loop].depth > regions_[out].depth) instance.place = out;
    instance.direct = true;
  }
  uint32_t region = instance.place;
  if (instance.direct) {
    regions_[region].items.push_back(key);
  } else {
    instance.flag = new_register(), instance.back = new_register();
    instance.thunk = new_region(region, false);
    regions_[region].flags.push_back(instance.flag);
    thunks_.push_back(key);
    region = instance.thunk;
  }
  place_operands(key, instance, region);
}

void Builder::place_operands(Key key, Instance& instance, uint32_t region) {
  const Expr& e = exprs_[key.id];
  auto branch = [&](size_t operand) {
    instance.branches.push_back(new_region(region, false));
    use(e.operands[operand], key.unit, instance.branches.back());
  };
  switch (e.op) {
  case Op::select:
    use(e.operands[0], key.unit, region);
    branch(1), branch(2);
    break;
  case Op::logical_and:
  case Op::logical_or:
    use(e.operands[0], key.unit, region);
    branch(1);
    break;
  case Op::read:
  case Op::acc:
  case Op::lhs:
  case Op::rhs: place_read(key, instance, region); break;
  case Op::fold: place_fold(key, instance, region); break;
  default:
    for (ExprId operand : e.operands) use(operand, key.unit, region);
    break;
  }
}

void Builder::place_read(Key key, Instance& instance, uint32_t region) {
  const Expr& e = exprs_[key.id];
  const Facts& facts = *units_[key.unit].facts;
  bool tensor = e.op == Op::read;
  const Readable& readable = tensor ? tensors_[e.ref] : state_of(e, key.unit).readable;
  instance.access.buffer =
      tensor ? tensor_buffer(graph::TensorId(e.ref)) : state_of(e, key.unit).buffer;
  Affine offset;
  uint64_t stride = 1;
  for (size_t n = readable.shape.size(); n-- > 0;) {
    int64_t extent = readable.shape[n];
    ExprId at = e.operands[n];
    std::optional<Affine> sum;
    if (facts.place_in_range(e, n, extent) && facts[at].safe)
      sum = combine(offset, *facts[at].form, static_cast<int64_t>(stride));
    else
      instance.access.checks.push_back({n, extent});
    if (!sum) {
      sum = offset;
      sum->terms.push_back({at, static_cast<int64_t>(stride)});
      use(at, key.unit, region);
    }
    offset = std::move(*sum);
    stride *= static_cast<uint64_t>(extent);
  }
  std::reverse(instance.access.checks.begin(), instance.access.checks.end());
  for (auto [term, factor] : offset.terms) use(term, key.unit, region);
  affine_access(std::move(offset), key.unit, instance.access);
  if (e.guarded && !instance.access.checks.empty()) {
    instance.branches.push_back(new_region(region, false));
    use(e.operands.back(), key.unit, instance.branches.back());
  }
}

void Builder::affine_access(Affine form, uint32_t unit, Access& access) {
  access.terms = std::move(form.terms);
  access.base = constant(word(form.constant));
  std::vector<std::pair<Binding, int64_t>> parts;
  for (auto [index, factor] : form.indices) parts.push_back({binding(index, unit), factor});
  std::stable_sort(parts.begin(), parts.end(), [&](const auto& a, const auto& b) {
    return regions_[a.first.region].depth < regions_[b.first.region].depth;
  });
  // All but the innermost index are added where their loops begin.
  for (size_t n = 0; n + 1 < parts.size(); ++n) {
    auto [at, factor] = parts[n];
    auto [found, inserted] = partial_offsets_.try_emplace({access.base, at.reg, factor}, 0);
    if (inserted) {
      found->second = new_register();
      Instruction i;
      i.code = Code::multiply_add;
      i.d = found->second, i.a = access.base, i.b = at.reg, i.imm = factor;
      regions_[at.region].prologue.push_back(i);
    }
    access.base = found->second;
  }
  if (!parts.empty()) access.last = parts.back().first.reg, access.factor = parts.back().second;
}

const Facts& Builder::monoid_facts(const Monoid& monoid) {
  auto& facts = monoid_facts_[&monoid];
  if (facts) return *facts;
  std::vector<Readable> fields;
  std::vector<ExprId> roots = monoid.combine;
  Facts::Context context{graph_, options_.dims, {}, {}};
  for (const graph::MonoidField& field : monoid.fields) {
    fields.push_back({});
    if (field.scalar == Scalar::boolean) fields.back().range = {0, 1};
    for (const Axis& axis : field.axes) {
      auto extent = extent_value(exprs_, axis.extent, options_.dims);
      TANG_CHECK(extent, "the extent of a field of `{}` is not constant", monoid.name);
      fields.back().shape.push_back(*extent);
      auto& range = context.indices.try_emplace(axis.index, graph::IntRange{0, 0}).first->second;
      range.hi = std::max(range.hi, *extent - 1);
    }
    roots.push_back(field.identity);
  }
  for (ExprId id : graph::reachable(exprs_, roots)) {
    const Expr& e = exprs_[id];
    for (size_t n = 0; n < e.bound.size(); ++n) {
      auto extent =
          extent_value(exprs_, e.operands[n + 2], options_.dims).value_or(INT64_C(1) << 40);
      auto& range = context.indices.try_emplace(e.bound[n], graph::IntRange{0, 0}).first->second;
      range.hi = std::max(range.hi, extent - 1);
    }
  }
  context.readable = [&](const Expr& e) -> const Readable& {
    return e.op == Op::read ? tensors_[e.ref] : fields.at(e.ref);
  };
  facts = std::make_unique<Facts>(context, roots);
  return *facts;
}

Reducer Builder::new_reducer(const Monoid& monoid) {
  Reducer r;
  r.monoid = &monoid;
  monoid_facts(monoid);
  for (const graph::MonoidField& field : monoid.fields) {
    State state;
    if (field.scalar == Scalar::boolean) state.readable.range = {0, 1};
    state.indexed = !field.axes.empty();
    int64_t words = 1;
    for (const Axis& axis : field.axes) {
      int64_t extent = *extent_value(exprs_, axis.extent, options_.dims);
      state.readable.shape.push_back(extent);
      words *= extent;
    }
    for (auto* part : {&r.acc, &r.element, &r.next}) {
      if (state.indexed)
        state.buffer = scratch_buffer(words);
      else
        state.reg = new_register();
      part->push_back(state);
    }
    r.kept_in.push_back(accumulator_of(field.scalar));
  }
  // push_top wants the buffers of values and indices side by side.
  if (monoid.form == Monoid::Form::topk)
    for (auto* part : {&r.acc, &r.element, &r.next}) {
      (*part)[0].buffer = scratch_buffer(monoid.k);
      (*part)[1].buffer = scratch_buffer(monoid.k);
    }
  return r;
}

void Builder::place_init(Reducer& r, uint32_t outside) {
  r.init_region = new_region(outside, true);
  r.init_unit = new_unit(none, r.init_region);
  units_[r.init_unit].facts = &monoid_facts(*r.monoid);
  for (size_t f = 0; f < r.acc.size(); ++f) {
    const graph::MonoidField& field = r.monoid->fields[f];
    r.init_units.push_back(new_unit(r.init_unit, r.init_region));
    r.init_loops.push_back(axis_loops(field.axes, r.init_units.back(), r.init_region));
    uint32_t inner =
        r.init_loops.back().empty() ? r.init_region : r.init_loops.back().back().region;
    use(field.identity, r.init_units.back(), inner);
  }
}

void Builder::place_combine(Reducer& r, uint32_t region) {
  r.combine_region = new_region(region, true);
  r.combine_unit = new_unit(none, r.combine_region);
  Unit& unit = units_[r.combine_unit];
  unit.facts = &monoid_facts(*r.monoid);
  unit.lhs = &r.acc, unit.rhs = &r.element;
  for (size_t f = 0; f < r.monoid->combine.size(); ++f) {
    r.combine_units.push_back(new_unit(r.combine_unit, r.combine_region));
    r.combine_loops.push_back(
        axis_loops(r.monoid->fields[f].axes, r.combine_units.back(), r.combine_region));
    uint32_t inner =
        r.combine_loops.back().empty() ? r.combine_region : r.combine_loops.back().back().region;
    use(r.monoid->combine[f], r.combine_units.back(), inner);
  }
}

void Builder::place_fold(Key key, Instance& instance, uint32_t region) {
  const Expr& e = exprs_[key.id];
  const Monoid& monoid = graph_.monoids[e.ref];
  TANG_CHECK(monoid.fields.size() == 1 && monoid.fields[0].axes.empty(),
             "a fold under `{}`, whose state is not one scalar", monoid.name);
  instance.fold = std::make_unique<Fold>();
  Fold& fold = *instance.fold;
  fold.reducer = new_reducer(monoid);
  fold.unit = new_unit(key.unit, region);
  place_init(fold.reducer, region);
  uint32_t inner = region;
  for (size_t n = 0; n < e.bound.size(); ++n) {
    use(e.operands[n + 2], key.unit, region);
    Loop loop;
    loop.region = inner = new_region(inner, true);
    loop.reg = new_register(), loop.lo = constant(word(int64_t{0}));
    units_[fold.unit].indices[e.bound[n]] = {loop.reg, inner};
    fold.loops.push_back(loop);
  }
  // A fold over no index still has a place for its body.
  fold.filtered = exprs_.as_boolean(e.operands[1]) != true;
  if (fold.filtered) use(e.operands[1], fold.unit, inner);
  fold.body = new_region(inner, false);
  use(e.operands[0], fold.unit, fold.body);
  fold.reducer.element[0].reg = register_of(e.operands[0], fold.unit);
  place_combine(fold.reducer, fold.body);
}

} // namespace tang::interpret

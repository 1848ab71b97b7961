// The code of terms, region by region. Nothing recurses on the depth of an expression: what comes
// later waits on a stack of steps. See builder.h.
#include "base/check.h"
#include "interpret/builder.h"

namespace tang::interpret {
namespace {

Instruction make(Code code, uint32_t d = 0, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0,
                 int64_t imm = 0) {
  Instruction i;
  i.code = code, i.d = d, i.a = a, i.b = b, i.c = c, i.imm = imm;
  return i;
}

} // namespace

uint32_t Builder::emit(Instruction instruction) {
  program_.code.push_back(instruction);
  return static_cast<uint32_t>(program_.code.size() - 1);
}

/// Schedules steps to run in this order, before everything scheduled earlier.
void Builder::sequence(std::vector<Step> steps) {
  for (size_t n = steps.size(); n-- > 0;) then(std::move(steps[n]));
}

void Builder::drain() {
  while (!todo_.empty()) {
    Step step = std::move(todo_.back());
    todo_.pop_back();
    step();
  }
}

uint32_t Builder::register_of(ExprId id, uint32_t unit) {
  const Expr& e = exprs_[id];
  switch (e.op) {
  case Op::literal_real: return constant(word(e.real));
  case Op::literal_int:
  case Op::literal_bool: return constant(word(e.integer));
  case Op::dim: return constant(word(options_.dims[e.ref]));
  case Op::index: return binding(IndexId(e.ref), unit).reg;
  case Op::acc:
  case Op::lhs:
  case Op::rhs:
    if (const State& state = state_of(e, unit); !state.indexed) return state.reg;
    break;
  default: break;
  }
  return instances_.at({id, owner(id, unit)}).reg;
}

bool Builder::is_thunk(ExprId id, uint32_t unit) const {
  return !is_free_of_code(id, unit) && instances_.at({id, owner(id, unit)}).thunk != none;
}

/// The register of an operand, computed first when it is a thunk.
uint32_t Builder::operand(ExprId id, uint32_t unit) {
  if (is_thunk(id, unit)) {
    Key key{id, owner(id, unit)};
    const Instance& thunk = instances_.at(key);
    calls_.push_back({emit(make(Code::call_once, thunk.flag, 0, thunk.back)), key});
  }
  return register_of(id, unit);
}

bool Builder::is_empty(uint32_t region) const {
  const Region& r = regions_[region];
  return r.items.empty() && r.prologue.empty() && r.flags.empty();
}

uint32_t Builder::rounded(uint32_t reg, std::optional<ElemType> type) {
  if (!type || *type == ElemType::f64) return reg;
  Instruction i = make(Code::round_real, new_register(), reg);
  i.type = *type;
  emit(i);
  return i.d;
}

void Builder::items(uint32_t region, size_t done) {
  if (done == 0) {
    for (uint32_t flag : regions_[region].flags)
      emit(make(Code::move, flag, constant(word(int64_t{0}))));
    for (const Instruction& i : regions_[region].prologue) emit(i);
  }
  // Items were added users first.
  size_t count = regions_[region].items.size();
  while (done < count) {
    Key key = regions_[region].items[count - 1 - done];
    ++done;
    size_t mark = todo_.size();
    if (emit_item(key)) continue;
    // Steps were scheduled: the rest of the region goes below them.
    todo_.insert(todo_.begin() + static_cast<std::ptrdiff_t>(mark),
                 [this, region, done] { items(region, done); });
    return;
  }
}

void Builder::emit_thunks() {
  for (Key key : thunks_)
    sequence({[this, key] {
                Instance& thunk = instances_.at(key);
                thunk.entry = static_cast<uint32_t>(program_.code.size());
                items(thunk.thunk, 0);
              },
              [this, key] { emit_item(key); },
              [this, key] { emit(make(Code::come_back, 0, 0, instances_.at(key).back)); }});
}

bool Builder::emit_item(Key key) {
  const Expr& e = exprs_[key.id];
  switch (e.op) {
  case Op::select: return emit_select(key);
  case Op::logical_and:
  case Op::logical_or: return emit_logic(key);
  case Op::read:
  case Op::acc:
  case Op::lhs:
  case Op::rhs: return emit_read(key);
  case Op::fold: emit_fold(key); return false;
  default: emit_op(key); return true;
  }
}

void Builder::emit_op(Key key) {
  const Expr& e = exprs_[key.id];
  uint32_t d = instances_.at(key).reg;
  Scalar from = exprs_[e.operands[0]].scalar;
  switch (e.op) {
  case Op::to_real:
    emit(make(Code::to_real, d, operand(e.operands[0], key.unit)));
    round_operation(d);
    return;
  case Op::cast: emit_cast(e, key.unit, d); return;
  case Op::logical_not: emit(make(Code::logical_not, d, operand(e.operands[0], key.unit))); return;
  case Op::eq:
  case Op::ne:
  case Op::lt:
  case Op::le: emit_comparison(e, key.unit, d); return;
  default: break;
  }
  if (from == Scalar::real)
    emit_real(e, key, d);
  else
    emit_integer(e, key, d);
}

void Builder::emit_integer(const Expr& e, Key key, uint32_t d) {
  Instruction i = make(Code::integer_unary, d, operand(e.operands[0], key.unit));
  if (e.operands.size() == 2) i.code = Code::integer_binary, i.b = operand(e.operands[1], key.unit);
  i.op = e.op;
  if ((*units_[key.unit].facts)[key.id].fits) {
    if (e.op == Op::add) i.code = Code::add_wrapping;
    if (e.op == Op::sub) i.code = Code::subtract_wrapping;
    if (e.op == Op::mul) i.code = Code::multiply_wrapping;
  }
  emit(i);
}

void Builder::emit_real(const Expr& e, Key key, uint32_t d) {
  Instruction i = make(Code::real_unary, d, operand(e.operands[0], key.unit));
  if (e.operands.size() == 2) i.code = Code::real_binary, i.b = operand(e.operands[1], key.unit);
  i.op = e.op;
  switch (e.op) {
  case Op::add: i.code = Code::add_real; break;
  case Op::sub: i.code = Code::subtract_real; break;
  case Op::mul: i.code = Code::multiply_real; break;
  case Op::div: i.code = Code::divide_real; break;
  case Op::min: i.code = Code::min_real; break;
  case Op::max: i.code = Code::max_real; break;
  case Op::neg: i.code = Code::negate_real; break;
  default: break;
  }
  if (auto at = operand_formats_.find(key.id); at != operand_formats_.end() && key.unit == 0) {
    i.a = rounded(i.a, at->second.first);
    i.b = rounded(i.b, at->second.second);
  }
  if (e.op == Op::mul && key.unit == 0)
    if (const graph::Pieces* pieces = pieces_of(key.id))
      i.code = Code::split_product, i.imm = pieces - graph::all_pieces;
  emit(i);
  round_operation(d);
}

/// What a machine keeps of a result.
void Builder::round_operation(uint32_t d) {
  if (!options_.emulate || !options_.round_operations || options_.compute == ElemType::f64) return;
  Instruction i = make(Code::round_real, d, d);
  i.type = options_.compute;
  emit(i);
}

void Builder::emit_comparison(const Expr& e, uint32_t unit, uint32_t d) {
  bool real = exprs_[e.operands[0]].scalar == Scalar::real;
  uint32_t a = operand(e.operands[0], unit), b = operand(e.operands[1], unit);
  Instruction i = make(real ? Code::real_compare : Code::integer_compare, d, a, b);
  if (e.op == Op::lt) i.code = real ? Code::less_real : Code::less_integer;
  if (e.op == Op::le) i.code = real ? Code::less_equal_real : Code::less_equal_integer;
  i.op = e.op;
  emit(i);
}

void Builder::emit_cast(const Expr& e, uint32_t unit, uint32_t d) {
  bool from_real = exprs_[e.operands[0]].scalar == Scalar::real;
  bool to_real = graph::scalar_of(e.to) == Scalar::real;
  Code code = from_real ? (to_real ? Code::round_real : Code::real_to_integer)
                        : (to_real ? Code::round_integer : Code::integer_to_integer);
  Instruction i = make(code, d, operand(e.operands[0], unit));
  i.type = e.to;
  emit(i);
}

bool Builder::emit_select(Key key) {
  const Expr& e = exprs_[key.id];
  const Instance& instance = instances_.at(key);
  uint32_t d = instance.reg, yes = instance.branches[0], no = instance.branches[1];
  ExprId a = e.operands[1], b = e.operands[2];
  uint32_t condition = operand(e.operands[0], key.unit);
  if (is_empty(yes) && is_empty(no) && !is_thunk(a, key.unit) && !is_thunk(b, key.unit)) {
    emit(make(Code::choose, d, operand(a, key.unit), operand(b, key.unit), condition));
    return true;
  }
  uint32_t skip = emit(make(Code::jump_if_false, 0, condition));
  sequence({[=, this] { items(yes, 0); },
            [=, this] {
              emit(make(Code::move, d, operand(a, key.unit)));
              uint32_t end = emit(make(Code::jump));
              patch(skip);
              sequence({[=, this] { items(no, 0); },
                        [=, this] {
                          emit(make(Code::move, d, operand(b, key.unit)));
                          patch(end);
                        }});
            }});
  return false;
}

bool Builder::emit_logic(Key key) {
  const Expr& e = exprs_[key.id];
  const Instance& instance = instances_.at(key);
  bool is_and = e.op == Op::logical_and;
  uint32_t d = instance.reg, rest = instance.branches[0];
  uint32_t a = operand(e.operands[0], key.unit);
  ExprId b = e.operands[1];
  if (is_empty(rest) && !is_thunk(b, key.unit)) {
    emit(make(is_and ? Code::logical_and : Code::logical_or, d, a, operand(b, key.unit)));
    return true;
  }
  emit(make(Code::move, d, a));
  // `a or b` asks for b when a is false.
  uint32_t test = a;
  if (!is_and) test = new_register(), emit(make(Code::logical_not, test, a));
  uint32_t skip = emit(make(Code::jump_if_false, 0, test));
  sequence({[=, this] { items(rest, 0); },
            [=, this] {
              emit(make(Code::move, d, operand(b, key.unit)));
              patch(skip);
            }});
  return false;
}

void Builder::emit_load(const Access& access, uint32_t unit, uint32_t d) {
  uint32_t base = access.base;
  for (auto [term, factor] : access.terms) {
    uint32_t sum = new_register();
    emit(make(Code::multiply_add, sum, base, operand(term, unit), 0, factor));
    base = sum;
  }
  if (access.last == none)
    emit(make(Code::load_at, d, base, 0, access.buffer));
  else
    emit(make(Code::load, d, base, access.last, access.buffer, access.factor));
}

bool Builder::emit_read(Key key) {
  const Expr& e = exprs_[key.id];
  const Instance& instance = instances_.at(key);
  uint32_t d = instance.reg;
  bool has_else = e.guarded && !instance.access.checks.empty();
  std::vector<uint32_t> outside;
  for (auto [n, extent] : instance.access.checks) {
    // Places that read data may leave the tensor; affine ones were proved inside or are guarded.
    bool may_leave = e.guarded || exprs_[e.operands[n]].has_read;
    uint32_t at = operand(e.operands[n], key.unit);
    Code code = may_leave ? Code::jump_unless_within : Code::check_place;
    uint32_t check = emit(make(code, static_cast<uint32_t>(n), at, at, 0, extent));
    if (may_leave) outside.push_back(check);
  }
  emit_load(instance.access, key.unit, d);
  if (outside.empty()) return true;
  uint32_t end = emit(make(Code::jump));
  for (uint32_t check : outside) patch(check);
  if (!has_else) {
    emit(make(Code::move, d, constant(0)));
    patch(end);
    return true;
  }
  sequence({[=, this] { items(instances_.at(key).branches[0], 0); },
            [=, this] {
              emit(make(Code::move, d, operand(exprs_[key.id].operands.back(), key.unit)));
              patch(end);
            }});
  return false;
}

/// Loops around `inside`, each with the code of its region first.
void Builder::nest(std::vector<Loop> loops, size_t level, Step inside) {
  if (level == loops.size()) {
    inside();
    return;
  }
  const Loop& l = loops[level];
  uint32_t head = emit(make(l.down ? Code::loop_down : Code::loop_up, l.reg, l.lo, l.hi));
  uint32_t region = l.region;
  Instruction next = make(l.down ? Code::next_down : Code::next_up, l.reg, l.lo, l.hi);
  next.target = head + 1;
  sequence({[=, this] { items(region, 0); }, [=, this] { nest(loops, level + 1, inside); },
            [=, this] {
              emit(next);
              patch(head);
            }});
}

void Builder::emit_init(const Reducer& r) {
  std::vector<Step> steps{[this, &r] { items(r.init_region, 0); }};
  for (size_t f = 0; f < r.acc.size(); ++f) {
    ExprId identity = r.monoid->fields[f].identity;
    uint32_t unit = r.init_units[f];
    steps.push_back([=, this, &r] {
      nest(r.init_loops[f], 0,
           [=, this, &r] { set_state(r.acc[f], r.init_loops[f], operand(identity, unit)); });
    });
  }
  sequence(std::move(steps));
}

/// Sets a state, or the element of an indexed one at the loops' indices.
void Builder::set_state(const State& state, const std::vector<Loop>& loops, uint32_t value) {
  if (!state.indexed) {
    emit(make(Code::move, state.reg, value));
    return;
  }
  uint32_t at = constant(word(int64_t{0}));
  int64_t stride = 1;
  for (size_t n = loops.size(); n-- > 0;) {
    uint32_t sum = new_register();
    emit(make(Code::multiply_add, sum, at, loops[n].reg, 0, stride));
    at = sum;
    stride *= state.readable.shape[n];
  }
  emit(make(Code::store, 0, at, value, state.buffer));
}

void Builder::emit_combine(const Reducer& r) {
  bool accumulates = accumulates_in_place(r);
  std::vector<Step> steps{[this, &r] { items(r.combine_region, 0); }};
  for (size_t f = 0; f < r.monoid->combine.size() && !accumulates; ++f) {
    auto keep = [=, this, &r] {
      uint32_t value = operand(r.monoid->combine[f], r.combine_units[f]);
      value = kept(value, r.monoid->fields[f].scalar, r.kept_in[f]);
      set_state(r.next[f], r.combine_loops[f], value);
    };
    steps.push_back([=, this, &r] { nest(r.combine_loops[f], 0, keep); });
  }
  // Every field is computed from the old state before any field changes.
  if (!accumulates)
    steps.push_back([this, &r] {
      for (size_t f = 0; f < r.acc.size(); ++f) {
        int64_t words = 1;
        for (int64_t extent : r.acc[f].readable.shape) words *= extent;
        if (r.acc[f].indexed)
          emit(make(Code::copy, r.next[f].buffer, 0, 0, r.acc[f].buffer, words));
        else
          emit(make(Code::move, r.acc[f].reg, r.next[f].reg));
      }
    });
  sequence(std::move(steps));
}

/// Whether the combine of a single scalar field is one instruction that can write the accumulator
/// itself; then its register is the accumulator.
bool Builder::accumulates_in_place(const Reducer& r) {
  if (r.acc.size() != 1 || r.acc[0].indexed || r.kept_in[0]) return false;
  ExprId root = r.monoid->combine[0];
  const graph::OpInfo& op = graph::info(exprs_[root].op);
  if (op.arity != 2 || op.operands != graph::OperandClass::num) return false;
  auto at = instances_.find({root, owner(root, r.combine_units[0])});
  if (at == instances_.end() || !at->second.direct || at->second.place != r.combine_region)
    return false;
  at->second.reg = r.acc[0].reg;
  return true;
}

/// An accumulator after a combine: rounded to its format, or checked to fit it.
uint32_t Builder::kept(uint32_t value, Scalar scalar, std::optional<ElemType> type) {
  if (!type) return value;
  if (scalar == Scalar::real) return rounded(value, type);
  Instruction check = make(Code::check_integer, 0, value);
  check.type = *type;
  emit(check);
  return value;
}

void Builder::emit_fold(Key key) {
  const Expr& e = exprs_[key.id];
  const Fold& fold = *instances_.at(key).fold;
  std::vector<Loop> loops = fold.loops;
  for (size_t n = 0; n < loops.size(); ++n) loops[n].hi = operand(e.operands[n + 2], key.unit);
  const Reducer& r = fold.reducer;
  ExprId filter = e.operands[1], body = e.operands[0];
  auto inside = [=, this, &fold, &r] {
    uint32_t skip = none;
    if (fold.filtered) skip = emit(make(Code::jump_if_false, 0, operand(filter, fold.unit)));
    sequence({[=, this, &fold] { items(fold.body, 0); },
              [=, this, &fold] { operand(body, fold.unit); }, [=, this, &r] { emit_combine(r); },
              [=, this] {
                if (skip != none) patch(skip);
              }});
  };
  uint32_t d = instances_.at(key).reg;
  sequence({[=, this, &r] { emit_init(r); }, [=, this] { nest(loops, 0, inside); },
            [=, this, &r] { emit(make(Code::move, d, r.acc[0].reg)); }});
}

} // namespace tang::interpret

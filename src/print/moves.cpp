#include "print/moves.h"
#include "base/check.h"
#include <algorithm>

namespace tang::print {

using namespace kernel;
using enum Precedence;

namespace {

Piece load_piece(KernelState& k, const Ref& ref, Type type) {
  const Tensor& tensor = k.kernel[ref.tensor];
  std::string offset = k.offset_text(ref);
  Type natural = register_type(tensor.type);
  if (k.in_registers(ref))
    return k.values.converted({k.register_text(ref.tensor, offset), postfix}, natural, type);
  const Storage& storage = k.dialect.storages[tensor.type];
  Piece piece{k.values.move(storage.load.text(), k.tensor_names[ref.tensor.value], offset, {}),
              storage.load_precedence};
  return k.values.converted(piece, natural, type);
}

/// `a = a + x` as `a += x`.
bool accumulate(KernelState& k, const Store& store) {
  const Value& value = k.kernel.values[store.value];
  if (!k.in_registers(store.dst) || value.form != Form::operation || value.op != Op::add)
    return false;
  if (register_type(k.kernel[store.dst.tensor].type) != value.type) return false;
  for (size_t i = 0; i < 2; ++i) {
    const Value& old = k.kernel.values[value.operands[i]];
    if (old.form != Form::element || old.ref != store.dst.tensor.value ||
        !std::ranges::equal(old.operands, store.dst.coordinates))
      continue;
    std::string target = k.register_text(store.dst.tensor, k.offset_text(store.dst));
    k.out.line("{} += {};", target, k.values.text(value.operands[1 - i]));
    return true;
  }
  return false;
}

/// Reports a store to half a byte where threads run side by side.
bool refuse_packed(KernelState& k, TensorId id) {
  const Tensor& tensor = k.kernel[id];
  if (!graph::is_packed(tensor.type) || k.dialect.packed_stores) return false;
  auto at = std::find(k.kernel.params.begin(), k.kernel.params.end(), id) - k.kernel.params.begin();
  auto number = static_cast<size_t>(at);
  Span place = number < k.task.places.size() ? k.task.places[number] : Span();
  k.sink
      .report(Kind::packed_store, place, "two threads may write one byte of `{}`, which is {}",
              tensor.name, graph::info(tensor.type).name)
      .help(fmt::format("store it as `{}`", graph::is_signed(tensor.type) ? "i8" : "u8"));
  k.failed = true;
  return true;
}

void store_now(KernelState& k, const Store& store) {
  if (accumulate(k, store)) return;
  const Tensor& tensor = k.kernel[store.dst.tensor];
  std::string offset = k.offset_text(store.dst);
  if (k.in_registers(store.dst)) {
    Piece value = k.values.converted(k.values.piece(store.value), k.kernel.values[store.value].type,
                                     register_type(tensor.type));
    k.out.line("{} = {};", k.register_text(store.dst.tensor, offset), value.text);
    return;
  }
  if (refuse_packed(k, store.dst.tensor)) return;
  Piece value = k.values.storable(store.value, tensor.type);
  k.out.line("{};", k.values.move(k.dialect.storages[tensor.type].store.text(),
                                  k.tensor_names[store.dst.tensor.value], offset, value));
}

/// `base + lane`, short where one of them is 0.
std::string plus(const std::string& base, const std::string& lane) {
  if (base.empty() || base == "0") return lane;
  return lane == "0" ? base : base + " + " + lane;
}

/// Neighbouring values rounded into a fragment, two to a register.
void pack(KernelState& k, const Copy& copy) {
  const Storage& storage = k.dialect.storages[k.kernel[copy.dst.tensor].type];
  TANG_CHECK(!storage.pair.text().empty() && !copy.predicate, "kernel `{}` rounds into fragments",
             k.kernel.name);
  auto text = [&](const Ref& ref) { return k.values.text(ref.coordinates[0], additive); };
  k.values.push();
  std::string pair = k.names.add("pair"), to = text(copy.dst), from = text(copy.src);
  auto source = [&](const std::string& lane) {
    return k.register_text(copy.src.tensor, plus(from, lane));
  };
  if (!k.dialect.words.unroll.text().empty()) k.out.raw(std::string(k.dialect.words.unroll.text()));
  Piece value{source("2 * " + pair) + ", " + source(fmt::format("2 * {} + 1", pair)), lowest};
  k.out.line("for (int {0} = 0; {0} < {1}; ++{0}) {2};", pair, copy.width / 2,
             k.values.move(storage.pair.text(), k.tensor_names[copy.dst.tensor.value],
                           fmt::format("({}) / 2 + {}", to, pair), value));
  k.values.pop();
}

void move_elements(KernelState& k, const Copy& copy, const Ref& memory, const Ref& registers,
                   bool load) {
  const Tensor& outer = k.kernel[memory.tensor];
  const Tensor& inner = k.kernel[registers.tensor];
  const Storage& storage = k.dialect.storages[outer.type];
  int bits = graph::info(outer.type).bits;
  if (!load && copy.width % 2 != 0 && refuse_packed(k, memory.tensor)) return;
  auto text = [&](const Ref& ref) {
    return ref.coordinates.empty() ? std::string("0") : k.values.text(ref.coordinates[0], additive);
  };
  std::string outer_offset = text(memory), inner_offset = text(registers);
  int widest = k.dialect.widest_move * 8 / bits;
  for (int first = 0; first < copy.width; first += widest) {
    VectorMove move;
    move.load = load;
    move.pointer = k.tensor_names[memory.tensor.value];
    move.offset = plus(outer_offset, fmt::format("{}", first));
    move.storage = &storage;
    move.packed = graph::is_packed(outer.type);
    move.width = std::min(widest, copy.width - first);
    move.bytes = std::max(1, move.width * bits / 8);
    k.values.push();
    move.names = &k.names;
    MoveView view = k.dialect.sentences.begin_move(k.out, move);
    std::string lane = move.width == 1 ? "0" : k.names.add("lane");
    std::string from = k.register_text(
        registers.tensor, plus(inner_offset, first ? plus(fmt::format("{}", first), lane) : lane));
    Type kept = register_type(inner.type), natural = register_type(outer.type);
    std::string at = plus(view.offset, lane), line;
    if (load) {
      Piece value{k.values.move(storage.load.text(), view.pointer, at, {}),
                  storage.load_precedence};
      line = from + " = " + k.values.converted(value, natural, kept).text;
    } else {
      Piece value = k.values.storable({from, postfix}, kept, {}, outer.type);
      line = k.values.move(storage.store.text(), view.pointer, at, value);
    }
    if (move.width > 1) {
      if (!k.dialect.words.unroll.text().empty())
        k.out.raw(std::string(k.dialect.words.unroll.text()));
      k.out.line("for (int {0} = 0; {0} < {1}; ++{0}) {2};", lane, move.width, line);
    } else {
      k.out.raw(line + ";");
    }
    k.dialect.sentences.end_move(k.out, move);
    k.values.pop();
  }
}

} // namespace

void print_load(KernelState& k, const Load& load) {
  if (!k.values.used(load.var)) return;
  Type type = k.kernel.values[load.var].type;
  std::string_view type_word = word(k.dialect.words, type);
  if (!load.predicate) {
    Piece value = load_piece(k, load.src, type);
    k.out.line("const {} {} = {};", type_word, k.values.define(load.var), value.text);
    return;
  }
  std::string otherwise =
      load.otherwise
          ? k.values.text(load.otherwise, logical_or)
          : (type == Type::boolean ? std::string(k.dialect.words.false_value.text()) : "0");
  bool simple =
      load.src.coordinates.empty() || !k.values.needs_temporaries(load.src.coordinates[0]);
  if (simple) {
    std::string predicate = k.values.text(load.predicate, logical_or);
    Piece value = load_piece(k, load.src, type);
    k.out.line("const {} {} = {} ? {} : {};", type_word, k.values.define(load.var), predicate,
               bracket(value, logical_or), otherwise);
    return;
  }
  std::string name = k.values.define(load.var);
  k.out.line("{} {} = {};", type_word, name, otherwise);
  k.open_if(load.predicate);
  k.out.line("{} = {};", name, load_piece(k, load.src, type).text);
  k.close_if();
}

void print_store(KernelState& k, const Store& store) {
  k.open_if(store.predicate);
  store_now(k, store);
  if (store.predicate) k.close_if();
}

void print_copy(KernelState& k, const Copy& copy) {
  bool load = k.in_registers(copy.dst);
  if (load && k.in_registers(copy.src)) return pack(k, copy);
  TANG_CHECK(load || k.in_registers(copy.src), "a copy in kernel `{}` touches no registers",
             k.kernel.name);
  k.open_if(copy.predicate);
  move_elements(k, copy, load ? copy.src : copy.dst, load ? copy.dst : copy.src, load);
  if (copy.predicate) k.close_if();
}

} // namespace tang::print

// The head of a kernel: what it is given, its grid and its block.
#include "base/checked.h"
#include "kernel/names.h"
#include "kernel/var_range.h"
#include "parse/spec/kernels.h"

namespace tang::parse::spec {

using namespace kernel;

namespace {

/// Elements of a tensor in registers or shared memory: no device has more.
constexpr int64_t most_elements = int64_t(1) << 24;
constexpr int64_t most_threads = 1024;

} // namespace

bool KernelReader::is_head_line() {
  static constexpr std::string_view words[] = {"addresses", "param", "scalar", "blocks",
                                               "threads",   "flat",  "shared"};
  const Token& first = cursor_.peek();
  if (first.kind == TokenKind::shared) return true;
  return first.kind == TokenKind::name &&
         std::any_of(std::begin(words), std::end(words), [&](auto word) { return keyword(word); });
}

/// A name may be spelled like a word that begins a line: then it goes on as a name does.
bool KernelReader::keyword(std::string_view word) {
  if (!cursor_.at(word)) return false;
  std::string_view next = cursor_.text(cursor_.peek_second());
  return next != "[" && next != ":" && next != "<-" && next != ",";
}

void KernelReader::head() {
  size_t begin = cursor_.mark();
  // Shapes stand above the scalars that they use.
  for (bool scalars : {true, false}) {
    cursor_.go_back(begin);
    for (cursor_.skip_blank_lines(); is_head_line(); cursor_.skip_blank_lines()) {
      size_t start = cursor_.mark();
      bool mine = cursor_.at("scalar") == scalars;
      if (scalars && cursor_.peek().kind == TokenKind::shared) mine = false;
      if (!scalars && cursor_.at("addresses")) mine = false; // read at first
      if (scalars && cursor_.at("addresses")) mine = true;
      if (!mine || !head_line(scalars) || !cursor_.end_of_line()) cursor_.skip_line(start);
    }
  }
  check_block();
}

bool KernelReader::head_line(bool) {
  if (cursor_.peek().kind == TokenKind::shared) return shared_term();
  if (cursor_.accept("addresses")) return addresses();
  if (cursor_.accept("param")) return parameter();
  if (cursor_.accept("scalar")) return scalar();
  if (cursor_.accept("blocks")) return modes(false);
  if (cursor_.accept("threads")) return modes(true);
  if (cursor_.accept("flat")) return flat();
  return cursor_.accept("shared") && shared_bytes();
}

bool KernelReader::addresses() {
  Span place = cursor_.here();
  auto type = values_.machine_type();
  if (!type) return false;
  if (*type != Type::i32 && *type != Type::i64) {
    cursor_.report(Kind::type_mismatch, place, "addresses are i32 or i64")
        .help("without the line the compiler chooses: indices are then of type `index`");
    return false;
  }
  kernel().index_bits = *type == Type::i32 ? 32 : 64;
  values_.set_plain(*type);
  return true;
}

std::optional<Tensor> KernelReader::tensor(Token& name) {
  auto token = cursor_.name("the name of a tensor");
  if (!token) return std::nullopt;
  name = *token;
  if (!cursor_.expect(":")) return poison(name), std::nullopt;
  Tensor tensor;
  tensor.name = wished_name(name_of(name));
  bool known = false;
  for (Memory memory : {Memory::global, Memory::shared, Memory::registers})
    if (!known && cursor_.accept(atomics::name(memory))) tensor.memory = memory, known = true;
  if (!known) {
    cursor_.expected("`global`, `shared` or `register`");
    return poison(name), std::nullopt;
  }
  auto type = values_.element_type();
  if (!type) return poison(name), std::nullopt;
  tensor.type = *type;
  if (!layout(tensor) || !align(tensor)) return poison(name), std::nullopt;
  return tensor;
}

bool KernelReader::layout(Tensor& tensor) {
  Span place = cursor_.here();
  if (!cursor_.expect("(") || !values_.list(")", tensor.shape, "an extent")) return false;
  if (!cursor_.accept(":")) {
    // Compact: the last mode is fastest.
    tensor.stride.resize(tensor.shape.size());
    ValueId stride = store().integer(1, values_.plain());
    for (size_t i = tensor.shape.size(); i-- > 0;) {
      tensor.stride[i] = stride;
      if (store()[tensor.shape[i]].type != values_.plain()) {
        cursor_.report(Kind::type_mismatch, place, "strides of these extents must be written");
        return false;
      }
      stride = store().mul(tensor.shape[i], stride);
    }
    return true;
  }
  if (!cursor_.expect("(") || !values_.list(")", tensor.stride, "a stride")) return false;
  if (tensor.shape.size() == tensor.stride.size()) return true;
  cursor_.report(Kind::wrong_rank, cursor_.since(place), "{} extents and {} strides",
                 tensor.shape.size(), tensor.stride.size());
  return false;
}

bool KernelReader::align(Tensor& tensor) {
  if (!cursor_.accept("align")) return true;
  Span place = cursor_.here();
  auto bytes = cursor_.integer("a number of bytes");
  if (!bytes) return false;
  if (*bytes < 1 || *bytes > 4096 || (*bytes & (*bytes - 1)) != 0) {
    cursor_.report(Kind::bad_layout, place, "an alignment is a power of two up to 4096, not {}",
                   *bytes);
    return false;
  }
  tensor.align = static_cast<int>(*bytes);
  return true;
}

bool KernelReader::parameter() {
  Token name;
  auto tensor = this->tensor(name);
  if (!tensor) return false;
  tensor->written = cursor_.accept("written");
  if (tensor->written && cursor_.accept("in")) {
    tensor->in_part = true;
    if (!cursor_.expect("part")) return poison(name), false;
  }
  Entry entry{Entry::Kind::tensor, {}, kernel().add(std::move(*tensor)), {}, {}};
  kernel().params.push_back(entry.tensor);
  return define(name, entry);
}

bool KernelReader::range(Var& var) {
  if (cursor_.accept("in")) {
    var.lo = var.hi = std::nullopt; // a free end says that nothing is known
    if (!cursor_.range(var.lo, var.hi)) return false;
  }
  if (!cursor_.accept("step")) return true;
  Span place = cursor_.here();
  auto step = cursor_.integer("a step");
  if (step && *step < 1) cursor_.report(Kind::dim_range, place, "a step of {}", *step);
  var.step = step.value_or(1);
  return step && *step >= 1;
}

bool KernelReader::scalar() {
  auto name = cursor_.name("the name of a scalar");
  if (!name) return false;
  Var var;
  var.name = wished_name(name_of(*name));
  auto type = cursor_.expect(":") ? values_.machine_type() : std::nullopt;
  if (!type) return poison(*name), false;
  var.type = *type;
  if (!range(var)) return poison(*name), false;
  kernel().scalars.push_back({variable(*name, std::move(var))});
  return true;
}

bool KernelReader::modes(bool threads) {
  if (!cursor_.expect("(")) return false;
  do {
    auto name = cursor_.name("the name of a mode");
    if (!name) return false;
    if (!cursor_.expect(":")) return poison(*name), false;
    Span place = cursor_.here();
    Var var{wished_name(name_of(*name)), values_.plain(), {}, {}};
    ValueId extent = values_.index("an extent");
    if (!extent) return poison(*name), false;
    auto constant = store().as_integer(extent);
    if (threads && (!constant || *constant < 1 || *constant > most_threads)) {
      cursor_.report(Kind::not_constant, place, "a mode of the block has 1 to {} threads, a number",
                     most_threads);
      return poison(*name), false;
    }
    VarRange follows = range_of_coordinate(store(), extent);
    var.lo = follows.lo, var.hi = follows.hi;
    if (!range(var)) return poison(*name), false;
    VarId id = variable(*name, std::move(var));
    if (threads)
      kernel().threads.push_back({id, static_cast<int>(*constant)});
    else
      kernel().blocks.push_back({id, extent});
  } while (cursor_.accept(","));
  if (!cursor_.expect(")")) return false;
  if (!threads) kernel().descending = cursor_.accept("descending");
  return true;
}

bool KernelReader::flat() {
  bool block = cursor_.at("block");
  if (!block && !cursor_.at("thread")) return cursor_.expected("`block` or `thread`");
  cursor_.take();
  auto name = cursor_.name("the name of a number");
  if (!name) return false;
  Var var{wished_name(name_of(*name)), values_.plain(), 0, {}};
  int64_t threads = 1;
  for (const ThreadMode& mode : kernel().threads)
    threads = std::min<int64_t>(threads * mode.extent, most_threads);
  if (!block) var.hi = threads - 1;
  if (!range(var)) return poison(*name), false;
  VarId id = variable(*name, std::move(var));
  (block ? kernel().flat_block : kernel().flat_thread) = id;
  auto wait = [&](VarId coordinate) {
    for (const std::string& mode : names_.all(false))
      if (Entry* entry = names_.find(mode); entry->var == coordinate)
        entry->kind = Entry::Kind::waiting;
  };
  if (block)
    for (const BlockMode& mode : kernel().blocks) wait(mode.coordinate);
  else
    for (const ThreadMode& mode : kernel().threads) wait(mode.coordinate);
  return true;
}

bool KernelReader::shared_bytes() {
  if (!cursor_.expect("bytes")) return false;
  Span place = cursor_.here();
  auto bytes = cursor_.integer("a number of bytes");
  if (bytes && (*bytes < 0 || *bytes > most_elements))
    cursor_.report(Kind::number_out_of_range, place, "{} bytes of shared memory", *bytes);
  kernel().shared_bytes = std::clamp<int64_t>(bytes.value_or(0), 0, most_elements);
  return bytes.has_value();
}

void KernelReader::check_block() {
  int64_t threads = 1;
  for (ThreadMode& mode : kernel().threads) {
    threads *= mode.extent;
    if (threads <= most_threads) continue;
    cursor_.report(Kind::kernel_misfit, read_.name, "a block of more than {} threads",
                   most_threads);
    mode.extent = 1, threads = 1;
  }
}

bool KernelReader::allocation(Body& statements) {
  Token name;
  Span place = cursor_.here();
  auto tensor = this->tensor(name);
  if (!tensor) return false;
  if (cursor_.accept("at")) {
    auto offset = cursor_.integer("a number of bytes");
    if (!offset) return poison(name), false;
    tensor->offset = *offset;
  }
  auto refuse = [&](Kind kind, std::string text) {
    cursor_.report(kind, cursor_.since(place), std::move(text));
    poison(name);
    return false;
  };
  if (tensor->memory == Memory::global)
    return refuse(Kind::kernel_misfit, "global memory is given, not allocated: `param`");
  if (tensor->offset < 0 || tensor->offset > most_elements)
    return refuse(Kind::number_out_of_range, "an offset beyond any shared memory");
  std::optional<int64_t> last = 0, count = 1;
  for (size_t i = 0; i < tensor->shape.size(); ++i) {
    auto extent = store().as_integer(tensor->shape[i]);
    auto stride = store().as_integer(tensor->stride[i]);
    if (!extent || !stride)
      return refuse(Kind::not_constant, "extents and strides of what is allocated are numbers");
    if (*extent < 1 || *stride < 0)
      return refuse(Kind::bad_layout, "an extent below 1, or a stride below 0");
    auto reach = checked_mul(*extent - 1, *stride);
    last = last && reach ? checked_add(*last, *reach) : std::nullopt;
    count = count ? checked_mul(*count, *extent) : std::nullopt;
  }
  if (!last || *last >= most_elements || !count || *count > most_elements)
    return refuse(Kind::bad_layout, "more elements than any device has room for");
  bool stays = tensor->memory == Memory::shared;
  Entry entry{Entry::Kind::tensor, {}, kernel().add(std::move(*tensor)), {}, {}};
  emit(statements, {Allocate{entry.tensor}});
  return define(name, entry, stays);
}

} // namespace tang::parse::spec

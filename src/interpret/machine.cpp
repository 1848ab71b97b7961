#include "base/check.h"
#include "interpret/formats.h"
#include "interpret/program.h"
#include "interpret/scalar_ops.h"
#include <cmath>
#include <cstring>

namespace tang::interpret {
namespace {

Word load_word(const void* buffer, int64_t at) {
  Word w;
  std::memcpy(&w, static_cast<const char*>(buffer) + at * 8, 8);
  return w;
}

void store_word(void* buffer, int64_t at, Word w) {
  std::memcpy(static_cast<char*>(buffer) + at * 8, &w, 8);
}

/// Whether entry (v, i) stands before (w, j) in a top-k list: NaN first, then the greater value,
/// then the lower index; an entry without an index stands last.
template <class T>
bool before(T v, int64_t i, T w, int64_t j) {
  if (i < 0 || j < 0) return i >= 0;
  bool v_nan = v != v, w_nan = w != w;
  if (v_nan != w_nan) return v_nan;
  if (!v_nan && v != w) return v > w;
  return i < j;
}

template <class T>
void push_top(void* values, void* indices, int64_t k, T v, int64_t i) {
  auto value_at = [&](int64_t n) { return std::bit_cast<T>(load_word(values, n)); };
  auto index_at = [&](int64_t n) { return integer_of(load_word(indices, n)); };
  if (k == 0 || !before(v, i, value_at(k - 1), index_at(k - 1))) return;
  int64_t n = k - 1;
  for (; n > 0 && before(v, i, value_at(n - 1), index_at(n - 1)); --n) {
    store_word(values, n, load_word(values, n - 1));
    store_word(indices, n, load_word(indices, n - 1));
  }
  store_word(values, n, std::bit_cast<Word>(v));
  store_word(indices, n, word(i));
}

/// Instructions that only compute registers from registers; `run` handles all others itself.
inline void compute(const Instruction& i, Word* r) {
  auto real = [&](uint32_t n) { return real_of(r[n]); };
  auto integer = [&](uint32_t n) { return integer_of(r[n]); };
  switch (i.code) {
  case Code::move: r[i.d] = r[i.a]; break;
  case Code::multiply_add: r[i.d] = r[i.a] + r[i.b] * static_cast<Word>(i.imm); break;
  case Code::add_wrapping: r[i.d] = r[i.a] + r[i.b]; break;
  case Code::subtract_wrapping: r[i.d] = r[i.a] - r[i.b]; break;
  case Code::multiply_wrapping: r[i.d] = r[i.a] * r[i.b]; break;
  case Code::add_real: r[i.d] = word(real(i.a) + real(i.b)); break;
  case Code::subtract_real: r[i.d] = word(real(i.a) - real(i.b)); break;
  case Code::split_product:
    r[i.d] = word(split_product(graph::all_pieces[i.imm], real(i.a), real(i.b)));
    break;
  case Code::multiply_real: r[i.d] = word(real(i.a) * real(i.b)); break;
  case Code::divide_real: r[i.d] = word(real(i.a) / real(i.b)); break;
  case Code::min_real: {
    double a = real(i.a), b = real(i.b);
    r[i.d] = std::isnan(a) || a <= b ? r[i.a] : r[i.b];
    break;
  }
  case Code::max_real: {
    double a = real(i.a), b = real(i.b);
    r[i.d] = std::isnan(a) || a >= b ? r[i.a] : r[i.b];
    break;
  }
  case Code::negate_real: r[i.d] = word(-real(i.a)); break;
  case Code::real_unary: r[i.d] = word(real_unary(i.op, real(i.a))); break;
  case Code::real_binary: r[i.d] = word(real_binary(i.op, real(i.a), real(i.b))); break;
  case Code::less_real: r[i.d] = real(i.a) < real(i.b); break;
  case Code::less_equal_real: r[i.d] = real(i.a) <= real(i.b); break;
  case Code::real_compare: r[i.d] = real_compare(i.op, real(i.a), real(i.b)); break;
  case Code::less_integer: r[i.d] = integer(i.a) < integer(i.b); break;
  case Code::less_equal_integer: r[i.d] = integer(i.a) <= integer(i.b); break;
  case Code::integer_compare: r[i.d] = integer_compare(i.op, integer(i.a), integer(i.b)); break;
  case Code::logical_and: r[i.d] = r[i.a] & r[i.b]; break;
  case Code::logical_or: r[i.d] = r[i.a] | r[i.b]; break;
  case Code::logical_not: r[i.d] = r[i.a] ^ 1; break;
  case Code::choose: r[i.d] = r[i.c] ? r[i.a] : r[i.b]; break;
  case Code::to_real: r[i.d] = word(static_cast<double>(integer(i.a))); break;
  case Code::round_real: r[i.d] = word(round_to(i.type, real(i.a))); break;
  case Code::round_integer: r[i.d] = word(round_integer_to(i.type, integer(i.a))); break;
  case Code::real_to_integer: r[i.d] = word(to_integer(i.type, real(i.a))); break;
  case Code::integer_to_integer: r[i.d] = word(to_integer(i.type, integer(i.a))); break;
  default: TANG_CHECK(false, "instruction {} does not compute", static_cast<int>(i.code));
  }
}

void push_top(const Instruction& i, Word* r, const std::vector<void*>& buffers) {
  void *values = buffers[i.c], *indices = buffers[i.c + 1];
  if (i.flag)
    push_top<double>(values, indices, i.imm, real_of(r[i.a]), integer_of(r[i.b]));
  else
    push_top<int64_t>(values, indices, i.imm, integer_of(r[i.a]), integer_of(r[i.b]));
}

} // namespace

std::optional<Stop> run(const Program& program, std::vector<void*> buffers) {
  std::vector<Word> registers = program.registers;
  std::vector<std::vector<Word>> scratch(program.scratch.size());
  for (size_t n = 0; n < scratch.size(); ++n)
    if (!program.tensors[n]) {
      scratch[n].resize(static_cast<size_t>(program.scratch[n]));
      buffers[n] = scratch[n].data();
    }
  Word* const r = registers.data();
  const Instruction* const code = program.code.data();
  const Instruction* at = code;
  auto integer = [&](uint32_t n) { return integer_of(r[n]); };
  auto stop = [&] { return Stop{*at, r[at->a], r[at->b]}; };
  for (;; ++at) {
    const Instruction& i = *at;
    switch (i.code) {
    case Code::integer_unary: {
      auto v = integer_unary(i.op, integer(i.a));
      if (!v) return stop();
      r[i.d] = word(*v);
      break;
    }
    case Code::integer_binary: {
      auto v = integer_binary(i.op, integer(i.a), integer(i.b));
      if (!v) return stop();
      r[i.d] = word(*v);
      break;
    }
    case Code::check_integer:
      if (to_integer(i.type, integer(i.a)) != integer(i.a)) return stop();
      break;
    case Code::check_place:
      if (r[i.a] >= static_cast<Word>(i.imm)) return stop();
      break;
    case Code::load: {
      Word place = r[i.a] + r[i.b] * static_cast<Word>(i.imm);
      r[i.d] = load_word(buffers[i.c], integer_of(place));
      break;
    }
    case Code::load_at: r[i.d] = load_word(buffers[i.c], integer(i.a)); break;
    case Code::store: store_word(buffers[i.c], integer(i.a), r[i.b]); break;
    case Code::copy:
      if (i.imm > 0) std::memcpy(buffers[i.c], buffers[i.d], static_cast<size_t>(i.imm) * 8);
      break;
    case Code::jump: at = code + i.target - 1; break;
    case Code::jump_if_false:
      if (!r[i.a]) at = code + i.target - 1;
      break;
    case Code::jump_unless_within:
      // One unsigned comparison covers negative places too.
      if (r[i.a] >= static_cast<Word>(i.imm)) at = code + i.target - 1;
      break;
    case Code::loop_up:
      r[i.d] = r[i.a];
      if (integer(i.d) >= integer(i.b)) at = code + i.target - 1;
      break;
    case Code::next_up:
      ++r[i.d];
      if (integer(i.d) < integer(i.b)) at = code + i.target - 1;
      break;
    case Code::loop_down:
      r[i.d] = r[i.b] - 1;
      if (integer(i.d) < integer(i.a)) at = code + i.target - 1;
      break;
    case Code::next_down:
      --r[i.d];
      if (integer(i.d) >= integer(i.a)) at = code + i.target - 1;
      break;
    case Code::call_once:
      if (!r[i.d]) {
        r[i.d] = 1;
        r[i.b] = static_cast<Word>(at - code);
        at = code + i.target - 1;
      }
      break;
    case Code::come_back: at = code + r[i.b]; break;
    case Code::push_top: push_top(i, r, buffers); break;
    case Code::halt: return std::nullopt;
    default: compute(i, r); break;
    }
  }
}

} // namespace tang::interpret

// CUDA C++: blocks and threads are the hardware's, short floats have types and conversions of their
// own, and neighbouring elements move in accesses of up to 16 bytes.
#include "print/dialects/c_family.h"
#include "print/dialects/registry.h"
#include <algorithm>
#include <map>

namespace tang::print {

namespace {

using kernel::Op;

constexpr std::string_view includes[] = {"#include <cuda_runtime.h>", "#include <math.h>",
                                         "#include <stddef.h>", "#include <stdint.h>"};
constexpr std::string_view preludes[] = {"integers.h", "formats.h", "reals.h", "cuda.cuh"};

constexpr Words words = {
    .boolean_type = "bool",
    .i32_type = "int32_t",
    .i64_type = "int64_t",
    .f32_type = "float",
    .f64_type = "double",
    .true_value = "true",
    .false_value = "false",
    .infinity_f32 = "INFINITY",
    .nan_f32 = "NAN",
    .infinity_f64 = "HUGE_VAL",
    .nan_f64 = "(double)NAN",
    .suffix_f32 = "f",
    .suffix_i64 = "ll",
    .function_suffix_f32 = "f",
    .least_i32 = "(-2147483647 - 1)",
    .least_i64 = "(-9223372036854775807ll - 1)",
    .cast = "($w)$0",
    .buffer_head = "",
    .restrict_qualifier = "__restrict__ ",
    .helper_head = "static __device__ __forceinline__",
    .shared_head = "__shared__ __align__(16) ",
    .shared_pool = "extern __shared__ __align__(128) unsigned char $n[];",
    .fragment_type = "uint32_t",
    .register_value = "",
    .table_head = "static __device__ const ",
    .barrier = "__syncthreads();",
    .unroll = "#pragma unroll",
    .flat_block = "blockIdx.x",
    .flat_block_from_last = "gridDim.x - 1 - blockIdx.x",
    .flat_thread = "threadIdx.x",
    .stream_use = "",
    .argument_check = misaligned_argument,
};

constexpr Storages storages = {
    .f64 = plain_storage("double"),
    .f32 = plain_storage("float"),
    .f16 = {"__half", "__half2float($p[$i])", Precedence::postfix, "$p[$i] = __float2half_rn($v)",
            "__half2float(__float2half_rn($v))", "#include <cuda_fp16.h>",
            "$p[$i] = tg_pair_f16($v)"},
    .bf16 = {"__nv_bfloat16", "__bfloat162float($p[$i])", Precedence::postfix,
             "$p[$i] = __float2bfloat16_rn($v)", "__bfloat162float(__float2bfloat16_rn($v))",
             "#include <cuda_bf16.h>", "$p[$i] = tg_pair_bf16($v)"},
    .f8e4m3 = {"uint8_t", "tg_e4m3_to_f32($p[$i])", Precedence::postfix,
               "$p[$i] = tg_f32_to_e4m3($v)", "tg_e4m3_to_f32(tg_f32_to_e4m3($v))",
               "#include <cuda_fp8.h>"},
    .f8e5m2 = {"uint8_t", "tg_e5m2_to_f32($p[$i])", Precedence::postfix,
               "$p[$i] = tg_f32_to_e5m2($v)", "tg_e5m2_to_f32(tg_f32_to_e5m2($v))",
               "#include <cuda_fp8.h>"},
    .i64 = plain_storage("int64_t"),
    .i32 = plain_storage("int32_t"),
    .i16 = plain_storage("int16_t", "$p[$i] = (int16_t)$v"),
    .i8 = plain_storage("int8_t", "$p[$i] = (int8_t)$v"),
    .i4 = packed_storage("tg_load_i4($p, $i)"),
    .u32 = u32_storage,
    .u8 = plain_storage("uint8_t", "$p[$i] = (uint8_t)$v"),
    .u4 = packed_storage("tg_load_u4($p, $i)"),
    .boolean = boolean_storage,
};

constexpr OpOverride ops[] = {
    {Op::rsqrt, {{"rsqrt$s($0)"}, {}, {}}},
    {Op::div, {{"tg_full_div_$t($0, $1)"}, {}, {}}},
    {Op::max, {{"tg_nan_max_$t($0, $1)"}, {"tg_max_$t($0, $1)"}, {}}},
    {Op::min, {{"tg_nan_min_$t($0, $1)"}, {"tg_min_$t($0, $1)"}, {}}},
};
// A third of the instructions of a signed division.
constexpr OpOverride natural_ops[] = {
    {Op::floordiv, {{}, {"tg_unsigned_div_$t($0, $1)"}, {}}},
    {Op::mod, {{}, {"tg_unsigned_mod_$t($0, $1)"}, {}}},
};
constexpr OpOverride fast_ops[] = {
    {Op::exp, {{"tg_fast_exp_$t($0)"}, {}, {}}},
    {Op::log, {{"tg_fast_log_$t($0)"}, {}, {}}},
    {Op::log2, {{"tg_fast_log2_$t($0)"}, {}, {}}},
    {Op::sin, {{"tg_fast_sin_$t($0)"}, {}, {}}},
    {Op::cos, {{"tg_fast_cos_$t($0)"}, {}, {}}},
    {Op::pow, {{"tg_fast_pow_$t($0, $1)"}, {}, {}}},
    {Op::div, {{"tg_fast_div_$t($0, $1)"}, {}, {}}},
};

std::string kernel_head(const KernelHead& head) {
  return fmt::format("static __global__ void __launch_bounds__({}) {}({})", head.threads,
                     head.symbol, joined(head.parameters));
}

/// The type of one access of so many bytes; empty where there is none.
std::string_view access_type(int bytes) {
  switch (bytes) {
  case 1: return "uint8_t";
  case 2: return "uint16_t";
  case 4: return "uint32_t";
  case 8: return "uint2";
  case 16: return "uint4";
  default: return {};
  }
}

bool one_access(const VectorMove& move) {
  return move.width > 1 && !access_type(move.bytes).empty();
}

std::string address(const VectorMove& move) {
  if (move.offset == "0") return move.pointer;
  std::string at = move.packed ? "(" + move.offset + ") / 2" : move.offset;
  return "(" + move.pointer + " + " + at + ")";
}

MoveView begin_move(TextWriter& out, VectorMove& move) {
  if (!one_access(move)) return {move.pointer, move.offset};
  out.raw("{");
  out.indent();
  std::string_view access = access_type(move.bytes), element = move.storage->type.text();
  std::string part = move.names->add("part");
  if (move.load) {
    std::string raw = move.names->add("raw");
    out.line("const {0} {1} = *(const {0} *){2};", access, raw, address(move));
    out.line("const {0} *{1} = (const {0} *)&{2};", element, part, raw);
  } else {
    move.part = part;
    out.line("__align__({}) {} {}[{}]{};", move.bytes, element, part,
             move.packed ? move.bytes : move.width, move.packed ? " = {0}" : "");
  }
  return {part, ""};
}

void end_move(TextWriter& out, const VectorMove& move) {
  if (!one_access(move)) return;
  if (!move.load)
    out.line("*({0} *){1} = *(const {0} *){2};", access_type(move.bytes), address(move), move.part);
  out.dedent();
  out.raw("}");
}

std::string shuffle(std::string_view value, int mask) {
  return fmt::format("__shfl_xor_sync(0xffffffffu, {}, {})", value, mask);
}

void launch(TextWriter& out, const Launch& launch) {
  out.line("if ({} > 0) {{", launch.grid);
  std::string config = launch.names->add("config");
  out.line("  cudaLaunchConfig_t {} = {{}};", config);
  out.line("  {}.gridDim = dim3((unsigned){});", config, launch.grid);
  out.line("  {}.blockDim = dim3({});", config, launch.threads);
  out.line("  {}.stream = (cudaStream_t)stream;", config);
  if (launch.shared_bytes > 0) {
    out.line("  {}.dynamicSmemBytes = {};", config, launch.shared_bytes);
    out.line("  if (cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, {}) != "
             "cudaSuccess) return TG_E_LAUNCH;",
             launch.symbol, launch.shared_bytes);
  }
  std::string arguments;
  for (const std::string& argument : launch.arguments) arguments += ", " + argument;
  out.line("  if (cudaLaunchKernelEx(&{}, {}{}) != cudaSuccess) return TG_E_LAUNCH;", config,
           launch.symbol, arguments);
  out.raw("}");
}

void table_address(TextWriter& out, const TableUse& use) {
  out.line("void *{} = NULL;", use.pointer);
  out.line("if (cudaGetSymbolAddress(&{}, {}) != cudaSuccess) return TG_E_LAUNCH;", use.pointer,
           use.name);
}

/// Builds the operands of an `asm` statement: outputs come first and are numbered first.
class Assembly {
public:
  explicit Assembly(const Instruction& instruction) : row_(*instruction.row), i_(instruction) {
    for (size_t n = 0; n < row_.operands.size(); ++n) operand(n);
    if (row_.zero_fills) {
      parameters_.push_back("int bytes");
      names_["bytes"] = {next(), 1};
      inputs_.push_back("\"r\"(bytes)");
    }
  }

  std::string definition() const {
    const std::string& text = row_.print.at("cuda");
    if (!text.starts_with("asm"))
      return fmt::format("static __device__ __forceinline__ void {}({}) {{\n  {};\n}}\n", i_.symbol,
                         fmt::join(parameters_, ", "), filled(text, false));
    // The statement is `asm("...")` or `asm volatile("...")`.
    size_t begin = text.find('"'), end = text.rfind('"');
    std::string head = text.substr(0, begin), body = text.substr(begin + 1, end - begin - 1);
    std::string statement = fmt::format("{}\"{}\"", head, filled(body, true));
    bool memory = std::any_of(row_.operands.begin(), row_.operands.end(),
                              [](const auto& o) { return o.memory != kernel::Memory::registers; });
    bool clobbers = memory || row_.operands.empty();
    if (!outputs_.empty() || !inputs_.empty() || clobbers)
      statement += fmt::format(" : {} : {}", fmt::join(outputs_, ", "), fmt::join(inputs_, ", "));
    if (clobbers) statement += " : \"memory\"";
    return fmt::format("static __device__ __forceinline__ void {}({}) {{\n  {});\n}}\n", i_.symbol,
                       fmt::join(parameters_, ", "), statement);
  }

private:
  struct Range {
    size_t first, count;
  };
  size_t next() { return count_++; }

  /// What a register of an operand is in the language, and to `asm`: words of no format, but for
  /// accumulators and what fills a register by itself.
  struct Register {
    std::string_view type, letter;
  };
  static Register register_of(const atomics::Operand& o) {
    using graph::ElemType;
    if (o.type == ElemType::f64) return {"double", "d"};
    if (o.bits == 64) return {"uint64_t", "l"};
    if (o.type == ElemType::f32 && !o.tf32) return {"float", "f"};
    if (o.type == ElemType::i32) return {"int32_t", "r"};
    return {"uint32_t", "r"};
  }

  void operand(size_t n) {
    const atomics::Operand& o = row_.operands[n];
    bool written = n == 0;
    if (o.described) {
      parameters_.push_back(fmt::format("uint64_t {}", o.name));
      names_[o.name] = {next(), 1};
      inputs_.push_back(fmt::format("\"l\"({})", o.name));
      return;
    }
    if (o.memory != kernel::Memory::registers) {
      parameters_.push_back(fmt::format("{}void *{}", written ? "" : "const ", o.name));
      names_[o.name] = {next(), 1};
      inputs_.push_back(o.memory == kernel::Memory::shared
                            ? fmt::format("\"r\"((uint32_t)__cvta_generic_to_shared({}))", o.name)
                            : fmt::format("\"l\"({})", o.name));
      return;
    }
    Register held = register_of(o);
    parameters_.push_back(fmt::format("{}{} *{}", written ? "" : "const ", held.type, o.name));
    size_t count = static_cast<size_t>(std::max(o.values * o.bits / std::max(o.bits, 32), 1));
    names_[o.name] = {count_, count};
    for (size_t v = 0; v < count; ++v) {
      next();
      std::string place = fmt::format("{}[{}]", o.name, v);
      std::string constraint = written ? (row_.accumulates ? "+" : "=") : "";
      (written ? outputs_ : inputs_)
          .push_back(fmt::format("\"{}{}\"({})", constraint, held.letter, place));
    }
  }

  /// `$name` as the operand's numbers, or the parameter, or the immediate.
  std::string filled(const std::string& text, bool assembly) const {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      if (text[at] != '$') {
        out += text[at++];
        continue;
      }
      size_t end = at + 1;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0)) ++end;
      std::string name = text.substr(at + 1, end - at - 1);
      if (auto found = names_.find(name); found != names_.end() && !assembly)
        out += name;
      else if (found != names_.end())
        for (size_t k = 0; k < found->second.count; ++k)
          out += fmt::format("{}%{}", k ? ", " : "", found->second.first + k);
      for (size_t k = 0; k < row_.immediates.size(); ++k)
        if (row_.immediates[k].name == name) out += fmt::format("{}", i_.immediates[k]);
      at = end;
    }
    return out;
  }

  const atomics::Row& row_;
  const Instruction& i_;
  size_t count_ = 0;
  std::vector<std::string> parameters_, outputs_, inputs_;
  std::map<std::string, Range> names_;
};

std::string instruction(const Instruction& instruction) {
  return Assembly(instruction).definition();
}

} // namespace

const Dialect cuda_dialect = {
    .name = "cuda",
    .includes = includes,
    .reserved = cuda_reserved,
    .preludes = preludes,
    .host_preludes = pointer_host,
    .words = words,
    .storages = storages,
    .ops = ops,
    .fast_ops = fast_ops,
    .natural_ops = natural_ops,
    .packed_stores = false,
    .widest_move = 16,
    .reads_arguments = false,
    .host = nullptr,
    .sentences = {kernel_head, begin_move, end_move, shuffle, launch, table_address, instruction},
};

} // namespace tang::print

// OpenCL C 1.2: blocks are work-groups, threads work-items, shared memory is local, and f16 and
// bf16 are kept as bits. What it has in its favour is that every device takes it; so no sub-groups,
// no half arithmetic and no 64-bit atomics are assumed. The compiler may contract a*b + c, as in
// CUDA.
#include "base/check.h"
#include "print/dialects/c_family.h"
#include "print/dialects/opencl_host.h"
#include "print/dialects/registry.h"

namespace tang::print {

namespace {

using kernel::Op;

constexpr std::string_view preludes[] = {"opencl.cl", "integers.h", "formats.h", "reals.h"};
constexpr std::string_view host_preludes[] = {"host_opencl.h", "host.h"};

constexpr Words words = {
    .boolean_type = "bool",
    .i32_type = "int",
    .i64_type = "long",
    .f32_type = "float",
    .f64_type = "double",
    .true_value = "true",
    .false_value = "false",
    .infinity_f32 = "INFINITY",
    .nan_f32 = "NAN",
    .infinity_f64 = "(double)INFINITY",
    .nan_f64 = "(double)NAN",
    .suffix_f32 = "f",
    .suffix_i64 = "l",
    .function_suffix_f32 = "",
    .least_i32 = "(-2147483647 - 1)",
    .least_i64 = "(-9223372036854775807l - 1)",
    .cast = "($w)$0",
    .buffer_head = "__global ",
    .restrict_qualifier = "restrict ",
    .helper_head = "static inline",
    .shared_head = "__local ",
    .shared_pool = "",
    .fragment_type = "",
    .register_value = " = {0}",
    .table_head = "",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
    .unroll = "#pragma unroll",
    .flat_block = "get_group_id(0)",
    .flat_block_from_last = "get_num_groups(0) - 1 - get_group_id(0)",
    .flat_thread = "get_local_id(0)",
    .stream_use = "",
    .argument_check = "if (tg_host_short(pointers[i], sizes[i])) return TG_E_DIM;",
};

constexpr Storages storages = {
    .f64 = {"double", "$p[$i]", Precedence::postfix, "$p[$i] = $v", "$v",
            "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"},
    .f32 = plain_storage("float"),
    .f16 = {"ushort", "tg_f16_to_f32($p[$i])", Precedence::postfix, "$p[$i] = tg_f32_to_f16($v)",
            "tg_f16_to_f32(tg_f32_to_f16($v))", ""},
    .bf16 = {"ushort", "tg_bf16_to_f32($p[$i])", Precedence::postfix, "$p[$i] = tg_f32_to_bf16($v)",
             "tg_bf16_to_f32(tg_f32_to_bf16($v))", ""},
    .f8e4m3 = {"uchar", "tg_f8e4m3_to_f32($p[$i])", Precedence::postfix,
               "$p[$i] = tg_f32_to_f8e4m3($v)", "tg_f8e4m3_to_f32(tg_f32_to_f8e4m3($v))", ""},
    .f8e5m2 = {"uchar", "tg_f8e5m2_to_f32($p[$i])", Precedence::postfix,
               "$p[$i] = tg_f32_to_f8e5m2($v)", "tg_f8e5m2_to_f32(tg_f32_to_f8e5m2($v))", ""},
    .i64 = plain_storage("long"),
    .i32 = plain_storage("int"),
    .i16 = plain_storage("short", "$p[$i] = (short)$v"),
    .i8 = plain_storage("char", "$p[$i] = (char)$v"),
    .i4 = {"uchar", "tg_half_i4($p[($i) / 2], $i)", Precedence::postfix, "tg_store_4($p, $i, $v)",
           "$v", ""},
    .u32 = {"uint", "(long)$p[$i]", Precedence::prefix, "$p[$i] = (uint)$v", "$v", ""},
    .u8 = plain_storage("uchar", "$p[$i] = (uchar)$v"),
    .u4 = {"uchar", "tg_half_u4($p[($i) / 2], $i)", Precedence::postfix, "tg_store_4($p, $i, $v)",
           "$v", ""},
    .boolean = {"uchar", "$p[$i] != 0", Precedence::equality, "$p[$i] = $v", "$v", ""},
};

constexpr OpOverride ops[] = {
    {Op::rsqrt, {{"rsqrt($0)"}, {}, {}}},
};
constexpr OpOverride natural_ops[] = {
    {Op::floordiv, {{}, {"tg_unsigned_div_$t($0, $1)"}, {}}},
    {Op::mod, {{}, {"tg_unsigned_mod_$t($0, $1)"}, {}}},
};
constexpr OpOverride fast_ops[] = {
    {Op::exp, {{"tg_fast_exp_$t($0)"}, {}, {}}},   {Op::log, {{"tg_fast_log_$t($0)"}, {}, {}}},
    {Op::log2, {{"tg_fast_log2_$t($0)"}, {}, {}}}, {Op::sin, {{"tg_fast_sin_$t($0)"}, {}, {}}},
    {Op::cos, {{"tg_fast_cos_$t($0)"}, {}, {}}},   {Op::div, {{"tg_fast_div_$t($0, $1)"}, {}, {}}},
};

std::string kernel_head(const KernelHead& head) {
  return fmt::format("__kernel __attribute__((reqd_work_group_size({}, 1, 1)))\nvoid {}({})",
                     head.threads, head.symbol, joined(head.parameters));
}

/// Elements of an access as memory counts them: of packed formats bytes.
int count_of(const VectorMove& move) {
  return move.packed ? move.bytes : move.width;
}

/// Vectors are loaded and stored as a whole; a single byte of two elements is put together first.
bool one_access(const VectorMove& move) {
  int count = count_of(move);
  bool vector = count == 2 || count == 4 || count == 8 || count == 16;
  return vector || (move.packed && !move.load && count == 1);
}

std::string address(const VectorMove& move) {
  if (move.offset == "0") return move.pointer;
  return move.pointer + " + " + (move.packed ? "(" + move.offset + ") / 2" : move.offset);
}

MoveView begin_move(TextWriter& out, VectorMove& move) {
  if (!one_access(move)) return {move.pointer, move.offset};
  out.raw("{");
  out.indent();
  int count = count_of(move);
  move.part = move.names->add("part");
  out.line("{} {}[{}]{};", move.storage->type.text(), move.part, count,
           move.packed && !move.load ? " = {0}" : "");
  if (move.load) out.line("vstore{0}(vload{0}(0, {1}), 0, {2});", count, address(move), move.part);
  return {move.part, ""};
}

void end_move(TextWriter& out, const VectorMove& move) {
  if (!one_access(move)) return;
  int count = count_of(move);
  if (!move.load && count == 1)
    out.line("*({}) = {}[0];", address(move), move.part);
  else if (!move.load)
    out.line("vstore{0}(vload{0}(0, {2}), 0, {1});", count, address(move), move.part);
  out.dedent();
  out.raw("}");
}

std::string shuffle(std::string_view value, int) {
  TANG_CHECK(false, "threads exchange `{}` without shared memory", value);
  return {};
}

std::string instruction(const Instruction& instruction) {
  TANG_CHECK(false, "OpenCL C has no instruction `{}`", instruction.row->name);
  return {};
}

} // namespace

const Dialect opencl_dialect = {
    .name = "opencl",
    .includes = {},
    .reserved = opencl_reserved,
    .preludes = preludes,
    .host_preludes = host_preludes,
    .words = words,
    .storages = storages,
    .ops = ops,
    .fast_ops = fast_ops,
    .natural_ops = natural_ops,
    .packed_stores = false,
    .widest_move = 16,
    .reads_arguments = false,
    .host = &opencl_host,
    .sentences = {kernel_head, begin_move, end_move, shuffle, opencl_launch, opencl_table,
                  instruction},
};

} // namespace tang::print

// C11 and <math.h>: a kernel is a function, a block is an iteration of its loops, floats shorter
// than 32 bits are kept as bits.
#include "base/check.h"
#include "print/dialects/c_family.h"
#include "print/dialects/registry.h"

namespace tang::print {

namespace {

constexpr std::string_view includes[] = {"#include <math.h>", "#include <stdbool.h>",
                                         "#include <stddef.h>", "#include <stdint.h>"};
constexpr std::string_view preludes[] = {"integers.h", "formats.h", "reals.h"};

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
    .restrict_qualifier = "restrict ",
    .helper_head = "static inline",
    .shared_head = "",
    .shared_pool = "",
    .fragment_type = "",
    .register_value = " = {0}",
    .table_head = "static const ",
    .barrier = "",
    .unroll = "",
    .flat_block = "",
    .flat_block_from_last = "",
    .flat_thread = "",
    .stream_use = "(void)stream;",
    .argument_check = misaligned_argument,
};

constexpr Storages storages = {
    .f64 = plain_storage("double"),
    .f32 = plain_storage("float"),
    .f16 = {"uint16_t", "tg_f16_to_f32($p[$i])", Precedence::postfix, "$p[$i] = tg_f32_to_f16($v)",
            "tg_f16_to_f32(tg_f32_to_f16($v))", "#include <string.h>"},
    .bf16 = {"uint16_t", "tg_bf16_to_f32($p[$i])", Precedence::postfix,
             "$p[$i] = tg_f32_to_bf16($v)", "tg_bf16_to_f32(tg_f32_to_bf16($v))",
             "#include <string.h>"},
    .f8e4m3 = {"uint8_t", "tg_f8e4m3_to_f32($p[$i])", Precedence::postfix,
               "$p[$i] = tg_f32_to_f8e4m3($v)", "tg_f8e4m3_to_f32(tg_f32_to_f8e4m3($v))",
               "#include <string.h>"},
    .f8e5m2 = {"uint8_t", "tg_f8e5m2_to_f32($p[$i])", Precedence::postfix,
               "$p[$i] = tg_f32_to_f8e5m2($v)", "tg_f8e5m2_to_f32(tg_f32_to_f8e5m2($v))",
               "#include <string.h>"},
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

std::string kernel_head(const KernelHead& head) {
  std::string parameters = head.parameters.empty() ? "void" : joined(head.parameters);
  return fmt::format("static void {}({})", head.symbol, parameters);
}

MoveView begin_move(TextWriter&, VectorMove& move) {
  return {move.pointer, move.offset};
}
void end_move(TextWriter&, const VectorMove&) {}

std::string shuffle(std::string_view value, int) {
  TANG_CHECK(false, "threads exchange `{}` on a target without threads", value);
  return {};
}

void launch(TextWriter& out, const Launch& launch) {
  out.line("{}({});", launch.symbol, joined(launch.arguments));
}

std::string instruction(const Instruction& instruction) {
  TANG_CHECK(false, "C has no instruction `{}`", instruction.row->name);
  return {};
}

void table_address(TextWriter& out, const TableUse& use) {
  out.line("const {} *{} = {};", use.type, use.pointer, use.name);
}

} // namespace

const Dialect c_dialect = {
    .name = "c",
    .includes = includes,
    .reserved = c_reserved,
    .preludes = preludes,
    .host_preludes = pointer_host,
    .words = words,
    .storages = storages,
    .ops = {},
    .fast_ops = {},
    .natural_ops = {},
    .packed_stores = true,
    .widest_move = 1 << 20,
    .reads_arguments = true,
    .host = nullptr,
    .sentences = {kernel_head, begin_move, end_move, shuffle, launch, table_address, instruction},
};

} // namespace tang::print

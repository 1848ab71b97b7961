#include "print/dialects/keywords.h"
#include <algorithm>
#include <array>

namespace tang::print {

namespace {

template <size_t n>
consteval std::array<std::string_view, n> sorted(const std::string_view (&list)[n]) {
  std::array<std::string_view, n> words = std::to_array(list);
  std::sort(words.begin(), words.end());
  return words;
}

/// One list of all: a name is looked up once.
template <size_t... n>
consteval auto merged(const std::array<std::string_view, n>&... lists) {
  std::array<std::string_view, (n + ...)> words;
  auto end = words.begin();
  ((end = std::copy(lists.begin(), lists.end(), end)), ...);
  std::sort(words.begin(), words.end());
  return words;
}

constexpr auto c =
    sorted({"auto",    "break",  "case",     "char",   "const",         "continue",  "default",
            "do",      "double", "else",     "enum",   "extern",        "float",     "for",
            "goto",    "if",     "inline",   "int",    "long",          "register",  "restrict",
            "return",  "short",  "signed",   "sizeof", "static",        "struct",    "switch",
            "typedef", "union",  "unsigned", "void",   "volatile",      "while",     "asm",
            "typeof",  "near",   "far",      "huge",   "typeof_unqual", "constexpr", "fortran"});

constexpr auto cpp =
    sorted({"alignas",       "alignof",         "and",         "and_eq",       "atomic_cancel",
            "atomic_commit", "atomic_noexcept", "bitand",      "bitor",        "bool",
            "catch",         "char16_t",        "char32_t",    "char8_t",      "class",
            "co_await",      "co_return",       "co_yield",    "compl",        "concept",
            "const_cast",    "consteval",       "constinit",   "decltype",     "delete",
            "dynamic_cast",  "explicit",        "export",      "false",        "friend",
            "mutable",       "namespace",       "new",         "noexcept",     "not",
            "not_eq",        "nullptr",         "operator",    "or",           "or_eq",
            "private",       "protected",       "public",      "reflexpr",     "reinterpret_cast",
            "requires",      "static_assert",   "static_cast", "synchronized", "template",
            "this",          "thread_local",    "throw",       "true",         "try",
            "typeid",        "typename",        "using",       "virtual",      "wchar_t",
            "xor",           "xor_eq"});

/// Macros of the standard headers, and those that compilers predefine without underscores.
constexpr auto macros = sorted({"assert",
                                "complex",
                                "imaginary",
                                "I",
                                "isfinite",
                                "isinf",
                                "isnan",
                                "isnormal",
                                "signbit",
                                "fpclassify",
                                "isgreater",
                                "isgreaterequal",
                                "isless",
                                "islessequal",
                                "islessgreater",
                                "isunordered",
                                "NAN",
                                "INFINITY",
                                "HUGE_VAL",
                                "HUGE_VALF",
                                "HUGE_VALL",
                                "FP_NAN",
                                "FP_ZERO",
                                "FP_INFINITE",
                                "FP_NORMAL",
                                "FP_SUBNORMAL",
                                "FP_ILOGB0",
                                "FP_ILOGBNAN",
                                "MATH_ERRNO",
                                "MATH_ERREXCEPT",
                                "math_errhandling",
                                "NULL",
                                "offsetof",
                                "EOF",
                                "BUFSIZ",
                                "FILENAME_MAX",
                                "FOPEN_MAX",
                                "L_tmpnam",
                                "SEEK_CUR",
                                "SEEK_END",
                                "SEEK_SET",
                                "TMP_MAX",
                                "stdin",
                                "stdout",
                                "stderr",
                                "errno",
                                "EDOM",
                                "EILSEQ",
                                "ERANGE",
                                "EXIT_FAILURE",
                                "EXIT_SUCCESS",
                                "MB_CUR_MAX",
                                "RAND_MAX",
                                "CHAR_BIT",
                                "CHAR_MAX",
                                "CHAR_MIN",
                                "INT_MAX",
                                "INT_MIN",
                                "LONG_MAX",
                                "LONG_MIN",
                                "LLONG_MAX",
                                "LLONG_MIN",
                                "SCHAR_MAX",
                                "SCHAR_MIN",
                                "SHRT_MAX",
                                "SHRT_MIN",
                                "UCHAR_MAX",
                                "UINT_MAX",
                                "ULONG_MAX",
                                "ULLONG_MAX",
                                "USHRT_MAX",
                                "DBL_MAX",
                                "DBL_MIN",
                                "DBL_EPSILON",
                                "FLT_MAX",
                                "FLT_MIN",
                                "FLT_EPSILON",
                                "FLT_RADIX",
                                "FLT_ROUNDS",
                                "FLT_DIG",
                                "DBL_DIG",
                                "INT8_MAX",
                                "INT16_MAX",
                                "INT32_MAX",
                                "INT64_MAX",
                                "INT8_MIN",
                                "INT16_MIN",
                                "INT32_MIN",
                                "INT64_MIN",
                                "UINT8_MAX",
                                "UINT16_MAX",
                                "UINT32_MAX",
                                "UINT64_MAX",
                                "SIZE_MAX",
                                "PTRDIFF_MAX",
                                "INTPTR_MAX",
                                "UINTPTR_MAX",
                                "INTMAX_MAX",
                                "UINTMAX_MAX",
                                "INT32_C",
                                "INT64_C",
                                "UINT32_C",
                                "UINT64_C",
                                "WCHAR_MAX",
                                "WCHAR_MIN",
                                "setjmp",
                                "va_arg",
                                "va_copy",
                                "va_end",
                                "va_start",
                                "SIGABRT",
                                "SIGFPE",
                                "SIGILL",
                                "SIGINT",
                                "SIGSEGV",
                                "SIGTERM",
                                "SIG_DFL",
                                "SIG_ERR",
                                "SIG_IGN",
                                "CLOCKS_PER_SEC",
                                "TIME_UTC",
                                "ONCE_FLAG_INIT",
                                "noreturn",
                                "linux",
                                "unix",
                                "i386",
                                "vax",
                                "sun",
                                "min",
                                "max",
                                "interface",
                                "IN",
                                "OUT",
                                "TRUE",
                                "FALSE",
                                "ERROR",
                                "DOMAIN",
                                "OVERFLOW",
                                "UNDERFLOW",
                                "M_PI",
                                "M_E"});

/// Functions and types that generated C may call; a local of the same name would hide them.
constexpr auto functions = sorted(
    {"main",     "fabs",     "fabsf",    "floor",  "floorf",    "ceil",     "ceilf",     "rint",
     "rintf",    "exp",      "expf",     "exp2",   "exp2f",     "log",      "logf",      "log2",
     "log2f",    "sqrt",     "sqrtf",    "sin",    "sinf",      "cos",      "cosf",      "tan",
     "tanf",     "tanh",     "tanhf",    "erf",    "erff",      "pow",      "powf",      "atan2",
     "atan2f",   "fmod",     "fmodf",    "rsqrt",  "rsqrtf",    "fma",      "fmaf",      "fmin",
     "fminf",    "fmax",     "fmaxf",    "abs",    "labs",      "memcpy",   "memset",    "memcmp",
     "malloc",   "free",     "printf",   "int8_t", "int16_t",   "int32_t",  "int64_t",   "uint8_t",
     "uint16_t", "uint32_t", "uint64_t", "size_t", "ptrdiff_t", "intptr_t", "uintptr_t", "j0",
     "j1",       "jn",       "y0",       "y1",     "yn",        "gamma",    "lgamma",    "tgamma",
     "exp10",    "exp10f",   "index",    "signgam"});

constexpr auto cuda = sorted({"threadIdx",    "blockIdx",   "blockDim",    "gridDim",
                              "warpSize",     "half",       "half2",       "nv_bfloat16",
                              "nv_bfloat162", "char1",      "char2",       "char3",
                              "char4",        "uchar1",     "uchar2",      "uchar3",
                              "uchar4",       "short1",     "short2",      "short3",
                              "short4",       "ushort1",    "ushort2",     "ushort3",
                              "ushort4",      "int1",       "int2",        "int3",
                              "int4",         "uint1",      "uint2",       "uint3",
                              "uint4",        "long1",      "long2",       "long3",
                              "long4",        "float1",     "float2",      "float3",
                              "float4",       "double1",    "double2",     "double3",
                              "double4",      "dim3",       "longlong1",   "longlong2",
                              "ulonglong1",   "ulonglong2", "cudaError_t", "cudaStream_t",
                              "cudaSuccess",  "clock",      "clock64",     "printf",
                              "atomicAdd",    "min",        "max",         "uint",
                              "ushort",       "ulong",      "uchar",       "__shfl_xor_sync",
                              "umin",         "umax",       "llmin",       "llmax",
                              "mul24",        "saturate",   "signbit",     "norm",
                              "norm3d",       "norm4d",     "rnorm",       "normcdf",
                              "rcbrt",        "sinpi",      "cospi",       "sincos",
                              "tex1D",        "tex2D",      "surf1Dread",  "texture",
                              "surface"});

constexpr auto metal = sorted(
    {"kernel", "vertex",  "fragment",   "device",   "constant",    "threadgroup", "thread", "half",
     "half2",  "half3",   "half4",      "float2",   "float3",      "float4",      "bfloat", "uint",
     "ushort", "uchar",   "ulong",      "sampler",  "texture2d",   "array",       "metal",  "simd",
     "atomic", "visible", "stitchable", "ray_data", "object_data", "as_type",     "matrix"});

constexpr auto wgsl =
    sorted({"alias",    "break",      "case",    "const",  "const_assert", "continue", "continuing",
            "default",  "diagnostic", "discard", "else",   "enable",       "false",    "fn",
            "for",      "if",         "let",     "loop",   "override",     "requires", "return",
            "struct",   "switch",     "true",    "var",    "while",        "NULL",     "Self",
            "abstract", "active",     "array",   "as",     "async",        "atomic",   "attribute",
            "await",    "become",     "bool",    "f16",    "f32",          "i32",      "u32",
            "vec2",     "vec3",       "vec4",    "mat2x2", "mat3x3",       "mat4x4",   "ptr",
            "sampler",  "select",     "bitcast", "crate",  "filter",       "final",    "from",
            "get",      "impl",       "import",  "macro",  "match",        "meta",     "mod",
            "module",   "move",       "mut",     "of",     "pass",         "precise",  "self",
            "set",      "shared",     "smooth",  "snorm",  "super",        "target",   "texture",
            "trait",    "type",       "unorm",   "use",    "where",        "with",     "workgroup",
            "yield"});

// clang-format off
constexpr auto opencl = sorted(
    {"bool", "true", "false", "kernel", "global", "local", "constant", "private", "generic",
     "read_only", "write_only", "read_write", "uniform", "pipe", "half", "quad", "complex",
     "imaginary", "uchar", "ushort", "uint", "ulong", "size_t", "ptrdiff_t", "intptr_t",
     "uintptr_t", "event_t", "sampler_t", "image1d_t", "image1d_array_t", "image1d_buffer_t",
     "image2d_t", "image2d_array_t", "image3d_t", "cl_mem_fence_flags", "get_work_dim",
     "get_global_size", "get_global_id", "get_local_size", "get_local_id", "get_num_groups",
     "get_group_id", "get_global_offset", "barrier", "mem_fence", "read_mem_fence",
     "write_mem_fence", "prefetch", "vec_step", "shuffle", "shuffle2", "printf", "select",
     "bitselect", "isequal", "isnotequal", "isgreater", "isgreaterequal", "isless",
     "islessequal", "islessgreater", "isfinite", "isinf", "isnan", "isnormal", "isordered",
     "isunordered", "signbit", "any", "all", "acos", "acosh", "acospi", "asin", "asinh",
     "asinpi", "atan", "atan2", "atanh", "atanpi", "atan2pi", "cbrt", "ceil", "copysign", "cos",
     "cosh", "cospi", "erf", "erfc", "exp", "exp2", "exp10", "expm1", "fabs", "fdim", "floor",
     "fma", "fmax", "fmin", "fmod", "fract", "frexp", "hypot", "ilogb", "ldexp", "lgamma",
     "lgamma_r", "log", "log2", "log10", "log1p", "logb", "mad", "maxmag", "minmag", "modf",
     "nan", "nextafter", "pow", "pown", "powr", "remainder", "remquo", "rint", "rootn", "round",
     "rsqrt", "sin", "sincos", "sinh", "sinpi", "sqrt", "tan", "tanh", "tanpi", "tgamma",
     "trunc", "half_exp", "half_log", "half_sqrt", "native_cos", "native_divide", "native_exp",
     "native_exp2", "native_log", "native_log2", "native_powr", "native_recip", "native_rsqrt",
     "native_sin", "native_sqrt", "native_tan", "abs", "abs_diff", "add_sat", "hadd", "rhadd",
     "clamp", "clz", "mad_hi", "mad_sat", "max", "min", "mul_hi", "rotate", "sub_sat",
     "upsample", "popcount", "mad24", "mul24", "degrees", "mix", "radians", "step",
     "smoothstep", "sign", "cross", "dot", "distance", "length", "normalize", "fast_distance",
     "fast_length", "fast_normalize", "atomic_add", "atomic_sub", "atomic_xchg", "atomic_inc",
     "atomic_dec", "atomic_cmpxchg", "atomic_min", "atomic_max", "atomic_and", "atomic_or",
     "atomic_xor", "vload2", "vload3", "vload4", "vload8", "vload16", "vload_half", "vstore2",
     "vstore3", "vstore4", "vstore8", "vstore16", "vstore_half", "vstore_half_rte", "as_char",
     "as_uchar", "as_uchar2", "as_short", "as_ushort", "as_int", "as_uint", "as_long",
     "as_ulong", "as_float", "as_double", "convert_int", "convert_uint", "convert_long",
     "convert_float", "convert_double", "MAXFLOAT", "HUGE_VALF", "INFINITY", "NAN", "M_E_F",
     "M_PI_F", "CLK_LOCAL_MEM_FENCE", "CLK_GLOBAL_MEM_FENCE", "FP_FAST_FMAF", "FP_FAST_FMA",
     "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "fmodf", "rintf",
     "image2d_depth_t", "char2", "char3", "char4", "char8", "char16", "uchar2", "uchar3",
     "uchar4", "uchar8", "uchar16", "short2", "short3", "short4", "short8", "short16",
     "ushort2", "ushort3", "ushort4", "ushort8", "ushort16", "int2", "int3", "int4", "int8",
     "int16", "uint2", "uint3", "uint4", "uint8", "uint16", "long2", "long3", "long4", "long8",
     "long16", "ulong2", "ulong3", "ulong4", "ulong8", "ulong16", "float2", "float3", "float4",
     "float8", "float16", "double2", "double3", "double4", "double8", "double16", "half2",
     "half3", "half4", "half8", "half16", "bool2", "bool3", "bool4", "bool8", "bool16"});
// clang-format on

// clang-format off
constexpr auto opencl_host = sorted(
    {"session", "tg_source", "cl_mem", "cl_kernel", "cl_int", "cl_uint", "cl_long", "cl_ulong",
     "cl_bool", "cl_program", "cl_context", "cl_device_id", "cl_command_queue", "cl_event",
     "CL_SUCCESS", "CL_TRUE", "CL_FALSE", "clSetKernelArg", "clEnqueueNDRangeKernel",
     "clCreateKernel", "clReleaseKernel", "clReleaseMemObject", "clReleaseProgram",
     "clGetMemObjectInfo"});
// clang-format on

constexpr auto glsl =
    sorted({"attribute", "varying", "uniform",   "buffer",    "shared",     "coherent", "in",
            "out",       "inout",   "layout",    "precision", "highp",      "mediump",  "lowp",
            "flat",      "smooth",  "sample",    "patch",     "subroutine", "vec2",     "vec3",
            "vec4",      "ivec2",   "ivec3",     "ivec4",     "uvec2",      "uvec3",    "uvec4",
            "mat2",      "mat3",    "mat4",      "dvec2",     "dvec3",      "dvec4",    "bvec2",
            "bvec3",     "bvec4",   "discard",   "invariant", "precise",    "common",   "partition",
            "active",    "filter",  "input",     "output",    "sampler2D",  "image2D",  "half",
            "fixed",     "cast",    "noise1",    "texture",   "mix",        "step",     "clamp",
            "mod",       "fract",   "dot",       "cross",     "length",     "distance", "normalize",
            "reflect",   "inverse", "transpose", "main"});

} // namespace

constinit const WordList c_keywords = c, cpp_keywords = cpp, standard_macros = macros,
                         standard_functions = functions;
constinit const WordList cuda_words = cuda, metal_words = metal, wgsl_words = wgsl,
                         opencl_words = opencl, glsl_words = glsl;

namespace {
constexpr auto header_words = merged(c, cpp, macros);
constexpr auto function_words = merged(c, cpp, macros, functions);
constexpr auto kernel_words = merged(c, cpp, macros, functions, cuda);
constexpr auto opencl_kernel_words = merged(c, macros, opencl);
constexpr auto opencl_host_words = merged(c, cpp, macros, functions, opencl_host);
constexpr WordList for_headers[] = {header_words};
constexpr WordList for_functions[] = {function_words};
constexpr WordList for_cuda[] = {kernel_words};
constexpr WordList for_opencl[] = {opencl_kernel_words};
constexpr WordList for_opencl_host[] = {opencl_host_words};
} // namespace
constinit const std::span<const WordList> header_reserved = for_headers;
constinit const std::span<const WordList> c_reserved = for_functions;
constinit const std::span<const WordList> cuda_reserved = for_cuda;
constinit const std::span<const WordList> opencl_reserved = for_opencl;
constinit const std::span<const WordList> opencl_host_reserved = for_opencl_host;

} // namespace tang::print

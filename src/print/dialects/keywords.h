#pragma once
// Words that names of the input may not be, by language. `constexpr` tables in keywords.cpp.
#include "print/names.h"

namespace tang::print {

extern const WordList c_keywords, cpp_keywords, standard_macros, standard_functions;
/// C, C++ and their standard macros: what fields of public structures avoid.
extern const std::span<const WordList> header_reserved;
/// The same and the library's functions: what names inside C functions avoid.
extern const std::span<const WordList> c_reserved;
/// The same and the built-in names of CUDA.
extern const std::span<const WordList> cuda_reserved;
/// C and its macros, and the words and built-in names of OpenCL C; what its launchers avoid.
extern const std::span<const WordList> opencl_reserved, opencl_host_reserved;
extern const WordList cuda_words, metal_words, wgsl_words, opencl_words, glsl_words;

} // namespace tang::print

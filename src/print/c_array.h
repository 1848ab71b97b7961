#pragma once
// A source as data: for programs that hand it to a compiler at run time and carry
// no files along.
#include "print/printer.h"

namespace tang::print {

struct CArray {
  std::string definition;  ///< of the array and its length
  std::string declaration; ///< a header for it
};

/// The bytes of a text, and a 0 behind them, as what stands between the brackets of an array.
std::string byte_elements(std::string_view text);

/// `text`, the source for `options.target`, as two files of C11 that are C++ too:
///
///     extern const unsigned char mlp_sm_80_source[];   the text, and a 0 behind it
///     extern const size_t mlp_sm_80_source_bytes;      without that 0
///
/// `header` is the file name of the declaration, which the definition includes; it has no `"`, `\`
/// or control characters.
CArray c_array(std::string_view text, std::string_view header, const PrintOptions& options);

} // namespace tang::print

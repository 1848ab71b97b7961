#pragma once
// Source files and places in them.
#include "base/id.h"
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace tang {

struct SourceFile;
using FileId = Id<SourceFile>;

/// A half-open byte range of one file. A default span is "no place".
struct Span {
  FileId file;
  uint32_t begin = 0;
  uint32_t end = 0;
  explicit operator bool() const { return static_cast<bool>(file); }
  friend bool operator==(Span, Span) = default;
};

/// The smallest span that covers both, which must lie in one file; either may be empty.
Span join(Span a, Span b);

struct SourceFile {
  std::string path; ///< as named on the command line or by `include`; `<nn>` for the library
  std::string text;
  std::vector<uint32_t> lines; ///< byte offset of the start of every line
};

struct LineColumn {
  uint32_t line = 0;   ///< from 1
  uint32_t column = 0; ///< from 1, in bytes
};

/// Owns the text of every file that was read. Files never move.
class SourceManager {
public:
  FileId add(std::string path, std::string text);
  const SourceFile& file(FileId id) const { return files_[id.value]; }
  size_t size() const { return files_.size(); }
  LineColumn position(FileId file, uint32_t offset) const;
  std::string_view text(Span span) const;
  /// The whole line that holds `offset`, without its line end.
  std::string_view line_at(FileId file, uint32_t offset) const;

private:
  std::deque<SourceFile> files_;
};

} // namespace tang

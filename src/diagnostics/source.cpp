#include "diagnostics/source.h"
#include <algorithm>

namespace tang {

Span join(Span a, Span b) {
  if (!a) return b;
  if (!b) return a;
  return {a.file, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

FileId SourceManager::add(std::string path, std::string text) {
  SourceFile file{std::move(path), std::move(text), {0}};
  for (uint32_t i = 0; i < file.text.size(); ++i)
    if (file.text[i] == '\n') file.lines.push_back(i + 1);
  files_.push_back(std::move(file));
  return FileId(static_cast<uint32_t>(files_.size() - 1));
}

LineColumn SourceManager::position(FileId id, uint32_t offset) const {
  const auto& lines = file(id).lines;
  auto after = std::upper_bound(lines.begin(), lines.end(), offset);
  return {static_cast<uint32_t>(after - lines.begin()), offset - *(after - 1) + 1};
}

std::string_view SourceManager::text(Span span) const {
  if (!span) return {};
  return std::string_view(file(span.file).text).substr(span.begin, span.end - span.begin);
}

std::string_view SourceManager::line_at(FileId id, uint32_t offset) const {
  const SourceFile& f = file(id);
  uint32_t begin = f.lines[position(id, offset).line - 1];
  auto end = f.text.find('\n', begin);
  if (end == std::string::npos) end = f.text.size();
  if (end > begin && f.text[end - 1] == '\r') --end;
  return std::string_view(f.text).substr(begin, end - begin);
}

} // namespace tang

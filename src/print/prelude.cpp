#include "print/prelude.h"
#include "base/check.h"
#include <algorithm>
#include <vector>

namespace tang::print {

namespace {

struct PreludeFile {
  std::string_view name, text;
};
constexpr PreludeFile prelude_files[] = {
#include "print/preludes.inc"
};

struct Block {
  std::string_view name, text;
};

std::vector<Block> blocks_of(std::span<const std::string_view> files) {
  std::vector<Block> blocks;
  for (std::string_view file : files) {
    auto found = std::find_if(std::begin(prelude_files), std::end(prelude_files),
                              [&](const PreludeFile& f) { return f.name == file; });
    TANG_CHECK(found != std::end(prelude_files), "no prelude `{}` is built in", file);
    std::string_view text = found->text;
    for (size_t at = text.find("//// "); at != text.npos;) {
      size_t line_end = text.find('\n', at), next = text.find("//// ", line_end);
      std::string_view body =
          text.substr(line_end + 1, next == text.npos ? next : next - line_end - 1);
      while (body.ends_with("\n\n")) body.remove_suffix(1);
      std::string_view name = text.substr(at + 5, line_end - at - 5);
      bool replaced =
          std::any_of(blocks.begin(), blocks.end(), [&](const Block& b) { return b.name == name; });
      if (!replaced) blocks.push_back({name, body});
      at = next;
    }
  }
  return blocks;
}

bool name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool calls(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    bool starts = at == 0 || !name_character(text[at - 1]);
    if (starts && (end == text.size() || !name_character(text[end]))) return true;
  }
  return false;
}

} // namespace

bool prelude_has(std::span<const std::string_view> files, const std::string& name) {
  std::vector<Block> blocks = blocks_of(files);
  return std::any_of(blocks.begin(), blocks.end(), [&](const Block& b) { return b.name == name; });
}

std::string prelude(std::span<const std::string_view> files, const std::set<std::string>& used,
                    std::string_view head) {
  std::vector<Block> blocks = blocks_of(files);
  std::set<std::string_view> wanted;
  for (const std::string& name : used) {
    bool known =
        std::any_of(blocks.begin(), blocks.end(), [&](const Block& b) { return b.name == name; });
    TANG_CHECK(known, "no prelude block defines `{}`", name);
    wanted.insert(name);
  }
  // A block calls only blocks before it, so one walk from the end finds all.
  for (size_t i = blocks.size(); i-- > 0;)
    if (wanted.contains(blocks[i].name))
      for (size_t j = 0; j < i; ++j)
        if (calls(blocks[i].text, blocks[j].name)) wanted.insert(blocks[j].name);
  std::string out;
  constexpr std::string_view plain = "static inline";
  for (const Block& block : blocks) {
    if (!wanted.contains(block.name)) continue;
    std::string text(block.text);
    if (size_t at = text.find(plain); at != text.npos) text.replace(at, plain.size(), head);
    out += text;
  }
  return out;
}

} // namespace tang::print

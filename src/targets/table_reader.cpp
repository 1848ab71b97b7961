#include "targets/table_reader.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <yaml-cpp/yaml.h>

namespace tang::targets {
namespace {

using Shape = TableValue::Shape;

/// Tables are shallow and small. The limits keep a hostile file, with its aliases of aliases, from
/// growing.
constexpr int max_depth = 24;
constexpr size_t max_values = 20000;

struct TooLarge {
  YAML::Mark mark;
};

class Converter {
public:
  Converter(const SourceManager& sources, FileId file) : source_(sources.file(file)), file_(file) {}

  /// The bytes at a mark of yaml-cpp, whose lines and columns count from 0; without a mark the
  /// start of the file.
  Span span(YAML::Mark mark, size_t length) const {
    size_t begin = 0;
    if (mark.line >= 0 && mark.column >= 0 && static_cast<size_t>(mark.line) < source_.lines.size())
      begin = source_.lines[mark.line] + static_cast<size_t>(mark.column);
    begin = std::min(begin, source_.text.size());
    size_t end = std::min({begin + length, source_.text.size(), source_.text.find('\n', begin)});
    return {file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(std::max(begin, end))};
  }

  TableValue convert(const YAML::Node& node, int depth) {
    if (depth > max_depth || ++values_ > max_values) throw TooLarge{node.Mark()};
    TableValue value;
    value.span = span(node.Mark(), 1);
    if (node.IsScalar()) {
      bool quoted = node.Tag() == "!";
      value.shape = quoted ? Shape::quoted : Shape::plain;
      value.text = node.Scalar();
      value.span = span(node.Mark(), value.text.size() + (quoted ? 2 : 0));
    } else if (node.IsSequence()) {
      value.shape = Shape::list;
      for (const YAML::Node& item : node) value.items.push_back(convert(item, depth + 1));
    } else if (node.IsMap()) {
      value.shape = Shape::mapping;
      for (const auto& pair : node) value.entries.push_back(entry(pair.first, pair.second, depth));
    }
    return value;
  }

private:
  TableValue::Entry entry(const YAML::Node& key, const YAML::Node& node, int depth) {
    std::string name = key.IsScalar() ? key.Scalar() : std::string();
    Span key_span = span(key.Mark(), std::max<size_t>(name.size(), 1));
    TableValue value = convert(node, depth + 1);
    if (value.shape == Shape::null) value.span = key_span;
    return {std::move(name), key_span, std::move(value)};
  }

  const SourceFile& source_;
  FileId file_;
  size_t values_ = 0;
};

std::string shown(const TableValue& value) {
  switch (value.shape) {
  case Shape::null: return "nothing";
  case Shape::plain: return fmt::format("`{}`", value.text);
  case Shape::quoted: return fmt::format("`\"{}\"`", value.text);
  case Shape::list: return "a list";
  case Shape::mapping: return "a mapping";
  }
  return {};
}

/// The whole of `text` as a number; nothing for signs, blanks, units, infinities and what does not
/// fit.
template <class T>
std::optional<T> parse_number(const TableValue& value) {
  const std::string& text = value.text;
  if (value.shape != Shape::plain || text.empty() || text[0] < '0' || text[0] > '9')
    return std::nullopt;
  T number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

} // namespace

const TableValue::Entry* Table::find(std::string_view key) const {
  if (!mapping_) return nullptr;
  for (const auto& entry : mapping_->entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

TableReader::TableReader(const SourceManager& sources, FileId file, Sink& sink) : sink_(sink) {
  Converter converter(sources, file);
  try {
    root_ = converter.convert(YAML::Load(sources.file(file).text), 0);
  } catch (const YAML::Exception& fault) {
    report(Kind::table_syntax, converter.span(fault.mark, 1), "this is not YAML: {}", fault.msg);
  } catch (const TooLarge& fault) {
    report(Kind::table_syntax, converter.span(fault.mark, 1),
           "the table is larger than any table can be")
        .help(fmt::format("a table nests {} levels and holds {} values at most", max_depth,
                          max_values));
  }
}

Table TableReader::checked(const TableValue& value, std::string_view what, const Keys& known) {
  if (value.shape != Shape::mapping) {
    report(Kind::table_wrong_type, value.span, "{} must be a mapping, not {}", what, shown(value));
    return {};
  }
  Table table(value);
  std::vector<std::string> names(known.begin(), known.end());
  for (const auto& entry : table.entries()) {
    if (!known.empty() && std::find(known.begin(), known.end(), entry.key) == known.end()) {
      Diagnostic& fault =
          report(Kind::table_unknown_key, entry.key_span, "unknown key `{}`", entry.key);
      if (std::string near = nearest_name(entry.key, names); !near.empty())
        fault.help(fmt::format("did you mean `{}`?", near));
    }
    if (const auto* first = table.find(entry.key); first != &entry)
      report(Kind::table_duplicate, entry.key_span, "the key `{}` stands twice", entry.key)
          .note(first->key_span, "it stands here first");
  }
  return table;
}

Table TableReader::root(const Keys& known) {
  if (!ok_) return {};
  return checked(root_, "a table", known);
}

std::vector<Table> TableReader::roots(const Keys& known) {
  std::vector<Table> found;
  if (!ok_) return found;
  if (root_.shape != Shape::list) wrong_type("the file", "a list", root_);
  for (const TableValue& item : root_.items)
    if (Table t = checked(item, "an entry of the list", known)) found.push_back(t);
  return found;
}

Table TableReader::table(const Table& parent, std::string_view key, const Keys& known) {
  return checked(parent.find(key)->value, fmt::format("`{}`", key), known);
}

bool TableReader::require(const Table& table, std::string_view key) {
  if (table && !table.has(key))
    report(Kind::table_missing_key, table.span(), "the key `{}` is missing", key);
  return table.has(key);
}

Span TableReader::place(const Table& table, std::string_view key) const {
  const auto* entry = table.find(key);
  return entry ? entry->value.span : table.span();
}

void TableReader::wrong_type(std::string_view key, std::string_view wanted,
                             const TableValue& seen) {
  report(Kind::table_wrong_type, seen.span, "`{}` must be {}, not {}", key, wanted, shown(seen));
}

std::string TableReader::text(const Table& table, std::string_view key) {
  const TableValue& value = table.find(key)->value;
  bool scalar = value.shape == Shape::plain || value.shape == Shape::quoted;
  if (!scalar || value.text.empty()) wrong_type(key, "a text", value);
  return value.text;
}

int64_t TableReader::integer(const Table& table, std::string_view key) {
  const TableValue& value = table.find(key)->value;
  auto number = parse_number<int64_t>(value);
  if (!number) wrong_type(key, "a whole number", value);
  return number.value_or(0);
}

double TableReader::number(const Table& table, std::string_view key) {
  const TableValue& value = table.find(key)->value;
  auto number = parse_number<double>(value);
  if (!number) wrong_type(key, "a number", value);
  return number.value_or(0);
}

bool TableReader::boolean(const Table& table, std::string_view key) {
  const TableValue& value = table.find(key)->value;
  bool is_true = value.shape == Shape::plain && value.text == "true";
  bool is_false = value.shape == Shape::plain && value.text == "false";
  if (!is_true && !is_false) wrong_type(key, "`true` or `false`", value);
  return is_true;
}

std::vector<Item> TableReader::list(const Table& table, std::string_view key) {
  const TableValue& value = table.find(key)->value;
  std::vector<Item> items;
  if (value.shape != Shape::list) {
    wrong_type(key, "a list", value);
    return items;
  }
  for (const TableValue& item : value.items) {
    if (item.shape != Shape::plain) {
      wrong_type(key, "a list of names", item);
      continue;
    }
    auto first = std::find_if(items.begin(), items.end(),
                              [&](const Item& i) { return i.text == item.text; });
    if (first != items.end())
      report(Kind::table_duplicate, item.span, "`{}` stands twice in `{}`", item.text, key)
          .note(first->span, "it stands here first");
    items.push_back({item.text, item.span});
  }
  return items;
}

std::vector<Item> TableReader::texts(const Table& table, std::string_view key) {
  const TableValue& value = table.find(key)->value;
  std::vector<Item> items;
  if (value.shape != Shape::list) wrong_type(key, "a list", value);
  for (const TableValue& item : value.items) {
    if (item.shape == Shape::plain || item.shape == Shape::quoted)
      items.push_back({item.text, item.span});
    else
      wrong_type(key, "a list of texts", item);
  }
  return items;
}

std::vector<Table> TableReader::tables(const Table& table, std::string_view key,
                                       const Keys& known) {
  const TableValue& value = table.find(key)->value;
  std::vector<Table> found;
  if (value.shape != Shape::list) wrong_type(key, "a list", value);
  for (const TableValue& item : value.items)
    if (Table t = checked(item, fmt::format("an entry of `{}`", key), known)) found.push_back(t);
  return found;
}

} // namespace tang::targets

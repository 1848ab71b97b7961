#pragma once
// Reads mappings of scalars, lists and mappings from YAML, with a place for every fault.
#include "diagnostics/sink.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tang::targets {

/// A YAML value with its place. Scalars keep their text: what it means depends on the key.
struct TableValue {
  enum class Shape : uint8_t { null, plain, quoted, list, mapping };
  struct Entry;
  Shape shape = Shape::null;
  std::string text;              ///< plain, quoted
  std::vector<TableValue> items; ///< list
  std::vector<Entry> entries;    ///< mapping
  Span span;                     ///< the scalar, or where a list or mapping starts
};
struct TableValue::Entry {
  std::string key;
  Span key_span;
  TableValue value;
};

/// A mapping, or nothing where there was none: then it has no key and misses none. Lives as long as
/// its reader.
class Table {
public:
  Table() = default;
  explicit Table(const TableValue& mapping) : mapping_(&mapping) {}
  explicit operator bool() const { return mapping_; }
  bool has(std::string_view key) const { return find(key); }
  const TableValue::Entry* find(std::string_view key) const;
  Span span() const { return mapping_ ? mapping_->span : Span{}; }
  const std::vector<TableValue::Entry>& entries() const { return mapping_->entries; }

private:
  const TableValue* mapping_ = nullptr;
};

struct Item {
  std::string text;
  Span span;
};

class TableReader {
public:
  /// Reads the file, and reports it where it is not YAML.
  TableReader(const SourceManager& sources, FileId file, Sink& sink);

  /// Whether this reader has reported nothing yet.
  bool ok() const { return ok_; }
  template <class... Args>
  Diagnostic& report(Kind kind, Span span, fmt::format_string<Args...> format, Args&&... args) {
    ok_ = false;
    return sink_.report(kind, span, fmt::format(format, std::forward<Args>(args)...));
  }

  using Keys = std::vector<std::string_view>;
  /// The whole file, or the mapping under a key; keys outside `known` (any, where it is empty) and
  /// repeated keys are reported.
  Table root(const Keys& known);
  /// The same of a file that is a list of mappings.
  std::vector<Table> roots(const Keys& known);
  Table table(const Table& parent, std::string_view key, const Keys& known);

  /// Whether the key is there; reports it where it is missing.
  bool require(const Table& table, std::string_view key);
  /// Where the value of a key stands, or the table where there is no such key.
  Span place(const Table& table, std::string_view key) const;

  // The value of a key that is there, or a zero after reporting what is wrong with it.
  std::string text(const Table& table, std::string_view key);        ///< not empty
  int64_t integer(const Table& table, std::string_view key);         ///< 0 or above
  double number(const Table& table, std::string_view key);           ///< finite, 0 or above
  bool boolean(const Table& table, std::string_view key);            ///< true or false
  std::vector<Item> list(const Table& table, std::string_view key);  ///< distinct names
  std::vector<Item> texts(const Table& table, std::string_view key); ///< a list, quoted or plain
  /// A list of mappings.
  std::vector<Table> tables(const Table& table, std::string_view key, const Keys& known);

private:
  Table checked(const TableValue& value, std::string_view what, const Keys& known);
  void wrong_type(std::string_view key, std::string_view wanted, const TableValue& seen);

  Sink& sink_;
  TableValue root_;
  bool ok_ = true;
};

/// Shapes that a caller asks about before it reads.
inline bool is_null(const Table& table, std::string_view key) {
  return table.has(key) && table.find(key)->value.shape == TableValue::Shape::null;
}
inline bool is_mapping(const Table& table, std::string_view key) {
  return table.has(key) && table.find(key)->value.shape == TableValue::Shape::mapping;
}

} // namespace tang::targets

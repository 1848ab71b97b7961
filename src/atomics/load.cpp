#include "atomics/load.h"
#include "atomics/check.h"
#include "layout/text.h"
#include "targets/table_reader.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <fmt/ranges.h>

namespace tang::atomics {

using layout::Layout;
using layout::Result;
using targets::Item;
using targets::Table;
using targets::TableReader;

namespace {

template <class T, size_t N>
std::optional<T> named(const T (&all)[N], std::string_view text) {
  for (T value : all)
    if (name(value) == text) return value;
  return std::nullopt;
}

/// `b8` to `b128`: bits of no particular format.
std::optional<int> bits_of(std::string_view type) {
  for (int bits : {8, 16, 32, 64, 128})
    if (type == fmt::format("b{}", bits)) return bits;
  return std::nullopt;
}

constexpr Memory memories[] = {Memory::global, Memory::shared, Memory::registers};
constexpr Kind kinds[] = {Kind::move, Kind::matmul, Kind::unary,     Kind::commit,
                          Kind::wait, Kind::shfl,   Kind::reduction, Kind::sync};

constexpr Rounds roundings[] = {Rounds::nearest, Rounds::head, Rounds::rest};

class Loader {
public:
  Loader(const SourceManager& sources, FileId file, std::set<std::string>& taken, Sink& sink)
      : reader_(sources, file, sink), taken_(taken) {}

  std::optional<std::vector<Row>> run() {
    std::vector<Row> rows;
    for (const Table& table :
         reader_.roots({"name", "spec", "threads", "operands", "requires", "native_on",
                        "completion", "cost", "accumulates", "immediates", "otherwise", "rounds",
                        "subnormals", "op", "print", "source"}))
      rows.push_back(row(table));
    if (!reader_.ok()) return std::nullopt;
    return rows;
  }

private:
  Row row(const Table& table) {
    Row row;
    for (const char* key : {"name", "spec", "threads", "requires", "native_on", "print", "source"})
      if (!reader_.require(table, key)) return row;
    row.name = named_once(table);
    choose(table, "spec", "spec of a row", kinds, row.kind);
    row.threads = extents(table, "threads", reader_.text(table, "threads")).threads;
    row.source = reader_.text(table, "source");
    for (const Item& item : reader_.list(table, "requires")) row.needs = item.text;
    for (const Item& item : reader_.list(table, "native_on")) row.native_on.push_back(item.text);
    if (table.has("completion")) {
      row.token = reader_.text(table, "completion");
      if (row.token == "none") row.token.clear();
    }
    if (table.has("op")) row.op = reader_.text(table, "op");
    if (table.has("immediates")) immediates(reader_.table(table, "immediates", {}), row);
    if (table.has("otherwise")) row.zero_fills = reader_.text(table, "otherwise") == "zero";
    if (table.has("rounds")) choose(table, "rounds", "way to round", roundings, row.rounds);
    if (table.has("subnormals")) row.flushes = reader_.text(table, "subnormals") == "zero";
    if (table.has("operands")) operands(reader_.table(table, "operands", {}), row);
    if (table.has("accumulates"))
      row.accumulates =
          !row.operands.empty() && reader_.text(table, "accumulates") == row.operands[0].name;
    if (table.has("cost")) {
      Table cost = reader_.table(table, "cost", {"fma", "min_cycles"});
      if (cost.has("fma")) row.fma = reader_.integer(cost, "fma");
    }
    Table print = reader_.table(table, "print", {});
    for (const auto& entry : print.entries()) row.print[entry.key] = entry.value.text;
    if (reader_.ok())
      for (const std::string& fault : faults_of(row))
        reader_.report(tang::Kind::table_bad_value, reader_.place(table, "name"), "`{}`: {}",
                       row.name, fault);
    return row;
  }

  /// One of a few words.
  template <class T, size_t N>
  void choose(const Table& table, const char* key, std::string_view what, const T (&all)[N],
              T& into) {
    std::string text = reader_.text(table, key);
    if (auto found = named(all, text)) {
      into = *found;
      return;
    }
    std::vector<std::string_view> words;
    for (T value : all) words.push_back(name(value));
    reader_.report(tang::Kind::table_bad_value, reader_.place(table, key), "`{}` is no {}: {}",
                   text, what, fmt::join(words, ", "));
  }

  /// Names become symbols of the generated code.
  std::string named_once(const Table& table) {
    std::string name = reader_.text(table, "name");
    bool good = std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '.' || c == '_';
    });
    if (!good)
      reader_.report(tang::Kind::table_bad_value, reader_.place(table, "name"),
                     "`{}` is no name of a row: letters, digits, `.` and `_`", name);
    else if (!taken_.insert(symbol_of(name)).second)
      reader_
          .report(tang::Kind::table_duplicate, reader_.place(table, "name"),
                  "the name `{}` is taken by another row", name)
          .help("rows are found by what they do; any other name will do");
    return name;
  }

  /// `pending: 0..7`, `registers: 24..256/8`: each with the numbers it may be.
  void immediates(const Table& all, Row& row) {
    if (!all) return;
    for (const auto& entry : all.entries()) {
      Immediate i{entry.key};
      std::string text = reader_.text(all, entry.key);
      std::string_view rest = text;
      auto number = [&](std::string_view before, int64_t& value) {
        if (!rest.starts_with(before)) return false;
        rest.remove_prefix(before.size());
        auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
        rest.remove_prefix(static_cast<size_t>(end - rest.data()));
        return error == std::errc();
      };
      bool whole = number("", i.least) && number("..", i.greatest) &&
                   (rest.empty() || (number("/", i.step) && rest.empty()));
      if (!whole || i.least > i.greatest || i.step < 1)
        reader_.report(tang::Kind::table_bad_value, reader_.place(all, entry.key),
                       "`{}` is no range of numbers: `0..7`, `24..256/8`", text);
      row.immediates.push_back(i);
    }
  }

  void operands(const Table& all, Row& row) {
    for (const auto& entry : all.entries()) {
      Table table = reader_.table(all, entry.key, {"type", "memory", "layout", "address"});
      for (const char* key : {"type", "memory", "layout"})
        if (!reader_.require(table, key)) return;
      Operand operand;
      operand.name = entry.key;
      std::string type = reader_.text(table, "type");
      operand.tf32 = type == "tf32";
      if (auto format = graph::type_of_name(operand.tf32 ? "f32" : type))
        operand.type = *format, operand.bits = graph::info(*format).bits;
      else if (auto bits = bits_of(type))
        operand.bits = *bits;
      else
        reader_.report(tang::Kind::table_bad_value, reader_.place(table, "type"),
                       "`{}` is no element type", type);
      if (table.has("address")) operand.described = reader_.text(table, "address") == "descriptor";
      choose(table, "memory", "memory", memories, operand.memory);
      Extents extents = this->extents(table, "layout", reader_.text(table, "layout"));
      operand.threads = extents.threads, operand.values = extents.values;
      operand.layout = std::move(layout_);
      row.operands.push_back(std::move(operand));
    }
  }

  /// Reads a layout (into layout_).
  Extents extents(const Table& table, const char* key, const std::string& text) {
    auto read = layout::read_layout(text);
    std::string why;
    if (auto* fault = std::get_if<layout::TextFault>(&read)) {
      why = fault->message;
    } else if (!std::get<layout::Swizzled>(read).is_strided()) {
      why = "a swizzle and an offset say nothing about threads and values";
    } else {
      layout_ = std::get<layout::Swizzled>(read).layout;
      if (auto extents = extents_of(layout_))
        return *extents;
      else
        why = extents.refusal().reason;
    }
    reader_.report(tang::Kind::table_bad_value, reader_.place(table, key), "`{}`: {}", text, why);
    return {};
  }

  TableReader reader_;
  std::set<std::string>& taken_; ///< symbols
  Layout layout_;
};

} // namespace

Result<Extents> extents_of(const Layout& layout) {
  std::vector<Layout> parts = layout.parts();
  if (parts.size() > 2)
    return layout::refuse("it has {} modes, not threads and values", parts.size());
  int counts[2] = {1, 1};
  for (size_t i = 0; i < parts.size(); ++i) {
    auto count = layout::size(parts[i]);
    if (!count) return count.refusal();
    if (!count->is_constant() || count->factor > 65536)
      return layout::refuse("{} threads or values", layout::to_text(*count));
    counts[i] = static_cast<int>(count->factor);
  }
  return Extents{counts[0], counts[1]};
}

std::optional<std::vector<Row>> load_rows(const SourceManager& sources, FileId file,
                                          std::set<std::string>& taken, Sink& sink) {
  return Loader(sources, file, taken, sink).run();
}

} // namespace tang::atomics

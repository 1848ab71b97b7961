// The safetensors format, as its README describes it: the length of the header in 8 bytes, a JSON
// header, the data.
#include "base/check.h"
#include "base/checked.h"
#include "interpret/elements.h"
#include "interpret/files.h"
#include "interpret/formats.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace tang::interpret {
namespace {

using nlohmann::json;

std::optional<ElementCode> code_of_dtype(std::string_view dtype) {
  using Kind = ElementCode::Kind;
  struct Row {
    std::string_view name;
    ElementCode code;
  };
  static constexpr Row rows[] = {
      {"F64", {Kind::real, 8, ElemType::f64}},
      {"F32", {Kind::real, 4, ElemType::f32}},
      {"F16", {Kind::real, 2, ElemType::f16}},
      {"BF16", {Kind::real, 2, ElemType::bf16}},
      {"F8_E4M3", {Kind::real, 1, ElemType::f8e4m3}},
      {"F8_E5M2", {Kind::real, 1, ElemType::f8e5m2}},
      {"I64", {Kind::signed_integer, 8, {}}},
      {"I32", {Kind::signed_integer, 4, {}}},
      {"I16", {Kind::signed_integer, 2, {}}},
      {"I8", {Kind::signed_integer, 1, {}}},
      {"U64", {Kind::unsigned_integer, 8, {}}},
      {"U32", {Kind::unsigned_integer, 4, {}}},
      {"U16", {Kind::unsigned_integer, 2, {}}},
      {"U8", {Kind::unsigned_integer, 1, {}}},
      {"BOOL", {Kind::boolean, 1, {}}},
  };
  for (const Row& row : rows)
    if (row.name == dtype) return row.code;
  return std::nullopt;
}

std::string_view dtype_of(ElemType type) {
  switch (type) {
  case ElemType::f64: return "F64";
  case ElemType::f32: return "F32";
  case ElemType::f16: return "F16";
  case ElemType::bf16: return "BF16";
  case ElemType::f8e4m3: return "F8_E4M3";
  case ElemType::f8e5m2: return "F8_E5M2";
  case ElemType::i64: return "I64";
  case ElemType::i32: return "I32";
  case ElemType::i16: return "I16";
  case ElemType::i8:
  case ElemType::i4: return "I8";
  case ElemType::u32: return "U32";
  case ElemType::u8:
  case ElemType::u4: return "U8";
  case ElemType::boolean: return "BOOL";
  }
  return "";
}

std::optional<int64_t> unsigned_of(const json& value) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX) return std::nullopt;
  return static_cast<int64_t>(value.get<uint64_t>());
}

/// A list of non-negative integers; empty when it is anything else.
std::optional<std::vector<int64_t>> list_of(const json& object, const char* key) {
  auto at = object.find(key);
  if (at == object.end() || !at->is_array() || at->size() > 64) return std::nullopt;
  std::vector<int64_t> list;
  for (const json& item : *at) {
    auto value = unsigned_of(item);
    if (!value) return std::nullopt;
    list.push_back(*value);
  }
  return list;
}

} // namespace

std::optional<Safetensors> Safetensors::parse(std::string bytes, std::string name, Sink& sink) {
  auto fail = [&](size_t at, std::string_view what) {
    sink.report(Kind::safetensors_file, Span{}, "`{}`, byte {}: {}", name, at, what);
    return std::nullopt;
  };
  if (bytes.size() < 8) return fail(0, "the file is shorter than its header length");
  uint64_t length = 0;
  for (size_t n = 8; n-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[n]);
  if (length > bytes.size() - 8)
    return fail(0, fmt::format("the header of {} bytes is longer than the file", length));
  size_t data = 8 + static_cast<size_t>(length);
  json header = json::parse(bytes.begin() + 8, bytes.begin() + static_cast<std::ptrdiff_t>(data),
                            nullptr, false);
  if (!header.is_object()) return fail(8, "the header is not a JSON object");
  Safetensors file;
  for (const auto& [key, value] : header.items()) {
    if (key == "__metadata__") continue;
    auto dtype = value.find("dtype");
    auto shape = value.is_object() ? list_of(value, "shape") : std::nullopt;
    auto offsets = value.is_object() ? list_of(value, "data_offsets") : std::nullopt;
    if (!shape || !offsets || offsets->size() != 2 || dtype == value.end() || !dtype->is_string())
      return fail(8, fmt::format("tensor `{}` lacks a dtype, a shape or two data_offsets", key));
    int64_t room = static_cast<int64_t>(bytes.size() - data);
    if (offsets->at(0) > offsets->at(1) || offsets->at(1) > room)
      return fail(8, fmt::format("tensor `{}` lies at {}..{} of {} bytes of data", key,
                                 offsets->at(0), offsets->at(1), room));
    file.entries_[key] = {dtype->get<std::string>(), *shape,
                          data + static_cast<size_t>(offsets->at(0)),
                          data + static_cast<size_t>(offsets->at(1))};
  }
  file.bytes_ = std::move(bytes), file.name_ = std::move(name);
  return file;
}

std::optional<Safetensors> Safetensors::read(const std::string& path, Sink& sink) {
  auto bytes = read_bytes(path, sink);
  return bytes ? parse(std::move(*bytes), path, sink) : std::nullopt;
}

std::vector<std::string> Safetensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

std::optional<Array> Safetensors::tensor(const std::string& tensor, Sink& sink) const {
  const Entry& entry = entries_.at(tensor);
  auto fail = [&](std::string_view what) {
    sink.report(Kind::safetensors_file, Span{}, "`{}`, byte {}: tensor `{}` {}", name_, entry.begin,
                tensor, what);
    return std::nullopt;
  };
  auto code = code_of_dtype(entry.dtype);
  if (!code) return fail(fmt::format("has dtype `{}`, which is not understood", entry.dtype));
  auto count = element_count(entry.shape);
  auto size = count ? checked_mul(*count, code->bytes) : std::nullopt;
  if (!size || static_cast<uint64_t>(*size) != entry.end - entry.begin)
    return fail(fmt::format("of {}[{}] does not take its {} bytes", entry.dtype,
                            fmt::join(entry.shape, ", "), entry.end - entry.begin));
  int64_t at = 0;
  auto array =
      decode_elements(*code, std::string_view(bytes_).substr(entry.begin), entry.shape, &at);
  if (!array) return fail(fmt::format("has element {} above 2^63 - 1", at));
  return array;
}

std::string safetensors_bytes(std::span<const NamedArray> tensors, bool unrounded) {
  struct Entry {
    const NamedArray* tensor;
    ElemType type; ///< as stored
    ElementCode code;
  };
  std::vector<Entry> entries;
  for (const NamedArray& tensor : tensors) {
    bool real = tensor.array->scalar == Scalar::real;
    ElemType type = real && unrounded ? ElemType::f64 : tensor.type;
    auto code = code_of_dtype(dtype_of(type));
    TANG_CHECK(code && tensor.name != safetensors_metadata, "`{}` cannot be stored", tensor.name);
    entries.push_back({&tensor, type, *code});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.code.bytes > b.code.bytes; });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::string data;
  for (const Entry& entry : entries) {
    const Array& array = *entry.tensor->array;
    size_t begin = data.size();
    for (double x : array.reals)
      append_little_endian(data, encode_real(entry.type, x), entry.code.bytes);
    for (int64_t x : array.integers)
      append_little_endian(data, static_cast<uint64_t>(x), entry.code.bytes);
    header[entry.tensor->name] = {{"dtype", dtype_of(entry.type)},
                                  {"shape", array.shape},
                                  {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string out;
  append_little_endian(out, text.size(), 8);
  return out + text + data;
}

} // namespace tang::interpret

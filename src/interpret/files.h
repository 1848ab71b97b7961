#pragma once
// Tensor files: `.npy` (versions 1 to 3) and safetensors.
//
// Files are untrusted: every length is checked against the bytes that are there before anything is
// allocated, and faults are reported with the file's name and the byte at which it goes wrong.
#include "diagnostics/sink.h"
#include "interpret/value.h"
#include <map>
#include <span>

namespace tang::interpret {

/// The whole file; reports `cannot_read` and returns empty when that fails.
std::optional<std::string> read_bytes(const std::string& path, Sink& sink);

/// An array from the bytes of a `.npy` file: f2 f4 f8, i1..i8, u1..u8, b1, little endian, C or
/// Fortran order. `name` is for messages.
std::optional<Array> parse_npy(std::string_view bytes, std::string_view name, Sink& sink);
std::optional<Array> read_npy(const std::string& path, Sink& sink);

/// The bytes of a version 1.0 `.npy` file: reals as f32 (f64 when `type` is f64 or `unrounded`),
/// integers as i64, booleans as bool.
std::string npy_bytes(const Array& array, ElemType type, bool unrounded = false);

struct NamedArray {
  std::string name;
  ElemType type;
  const Array* array;
};
/// The name that the format keeps for itself, which no tensor may have.
constexpr std::string_view safetensors_metadata = "__metadata__";
/// The bytes of a safetensors file: every array in the format of its type, which it is rounded to
/// (reals as F64 when `unrounded`; i4 and u4, which the format lacks, as I8 and U8). The names
/// differ. The data starts at a multiple of 8 bytes and has no holes, and every tensor is aligned
/// to its elements: wide ones come first, else in the given order.
std::string safetensors_bytes(std::span<const NamedArray> tensors, bool unrounded = false);

/// A safetensors file: named tensors, decoded on demand.
class Safetensors {
public:
  static std::optional<Safetensors> parse(std::string bytes, std::string name, Sink& sink);
  static std::optional<Safetensors> read(const std::string& path, Sink& sink);

  bool contains(const std::string& tensor) const { return entries_.contains(tensor); }
  std::vector<std::string> names() const;
  /// The tensor must be contained. Reports a dtype that has no exact value here.
  std::optional<Array> tensor(const std::string& tensor, Sink& sink) const;

private:
  struct Entry {
    std::string dtype;
    std::vector<int64_t> shape;
    size_t begin = 0, end = 0; ///< within the file
  };
  std::string bytes_, name_;
  std::map<std::string, Entry> entries_;
};

} // namespace tang::interpret

// The `.npy` format, as NEP 1 and numpy.lib.format describe it: magic, version, header length, a
// Python dictionary literal, then the elements.
#include "base/checked.h"
#include "interpret/elements.h"
#include "interpret/files.h"
#include "interpret/formats.h"
#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>

namespace tang::interpret {

std::optional<std::string> read_bytes(const std::string& path, Sink& sink) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  if (file) bytes.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  if (!file || file.bad()) {
    sink.report(Kind::cannot_read, Span{}, "cannot read `{}`: {}", path,
                std::generic_category().message(errno));
    return std::nullopt;
  }
  return bytes;
}

namespace {

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> shape;
  size_t data = 0; ///< where the elements start
};

/// Reads the header dictionary. Every method reports what it misses and returns false.
class HeaderParser {
public:
  HeaderParser(std::string_view bytes, size_t begin, size_t end, std::string_view name, Sink& sink)
      : bytes_(bytes), at_(begin), end_(end), name_(name), sink_(sink) {}

  bool parse(Header& header) {
    bool descr = false, order = false, shape = false;
    if (!expect('{')) return false;
    while (!accept('}')) {
      std::string key;
      if (!text(key) || !expect(':')) return false;
      bool ok = false;
      if (key == "descr")
        ok = descr = text(header.descr);
      else if (key == "fortran_order")
        ok = order = boolean(header.fortran);
      else if (key == "shape")
        ok = shape = tuple(header.shape);
      else
        return fail(fmt::format("unknown key `{}`", key));
      if (!ok) return false;
      if (!accept(',')) {
        if (!expect('}')) return false;
        break;
      }
    }
    if (descr && order && shape) return true;
    return fail("the header lacks `descr`, `fortran_order` or `shape`");
  }

  bool fail(std::string_view what) {
    sink_.report(Kind::npy_file, Span{}, "`{}`, byte {}: {}", name_, at_, what);
    return false;
  }

private:
  void skip_space() {
    while (at_ < end_ && (bytes_[at_] == ' ' || bytes_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= end_ || bytes_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool expect(char c) { return accept(c) || fail(fmt::format("expected `{}` in the header", c)); }
  bool text(std::string& out) {
    skip_space();
    if (at_ >= end_ || (bytes_[at_] != '\'' && bytes_[at_] != '"'))
      return fail("expected a quoted text in the header");
    size_t close = bytes_.find(bytes_[at_], at_ + 1);
    if (close == std::string_view::npos || close >= end_) return fail("a quote is not closed");
    out = bytes_.substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    return true;
  }
  bool boolean(bool& out) {
    skip_space();
    for (auto [word, value] : {std::pair{"True", true}, {"False", false}})
      if (bytes_.substr(at_, std::min(end_ - at_, std::string_view(word).size())) == word) {
        at_ += std::string_view(word).size();
        out = value;
        return true;
      }
    return fail("expected `True` or `False`");
  }
  bool tuple(std::vector<int64_t>& out) {
    if (!expect('(')) return false;
    while (!accept(')')) {
      skip_space();
      int64_t extent = -1;
      auto [stop, error] = std::from_chars(bytes_.data() + at_, bytes_.data() + end_, extent);
      if (error != std::errc{} || extent < 0) return fail("an extent is no integer of 64 bits");
      at_ = static_cast<size_t>(stop - bytes_.data());
      accept('L'); // as Python 2 wrote them
      out.push_back(extent);
      if (out.size() > 64) return fail("more than 64 dimensions");
      if (!accept(',')) return expect(')');
    }
    return true;
  }

  std::string_view bytes_;
  size_t at_, end_;
  std::string_view name_;
  Sink& sink_;
};

std::optional<ElementCode> code_of_descr(std::string_view descr) {
  using Kind = ElementCode::Kind;
  if (descr.size() != 3 || (descr[0] != '<' && descr[0] != '|' && descr[0] != '='))
    return std::nullopt;
  int bytes = descr[2] - '0';
  if (descr[0] == '|' && bytes != 1) return std::nullopt;
  bool power = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  if (descr[1] == 'b' && bytes == 1) return ElementCode{Kind::boolean, 1, {}};
  if (descr[1] == 'i' && power) return ElementCode{Kind::signed_integer, bytes, {}};
  if (descr[1] == 'u' && power) return ElementCode{Kind::unsigned_integer, bytes, {}};
  if (descr[1] != 'f' || !power || bytes == 1) return std::nullopt;
  ElemType type = bytes == 2 ? ElemType::f16 : bytes == 4 ? ElemType::f32 : ElemType::f64;
  return ElementCode{Kind::real, bytes, type};
}

/// From column-major (first index fastest) to row-major.
template <class T>
void to_row_major(std::vector<T>& elements, const std::vector<int64_t>& shape) {
  std::vector<T> result(elements.size());
  std::vector<int64_t> index(shape.size(), 0);
  for (T& to : result) {
    int64_t from = 0;
    for (size_t n = shape.size(); n-- > 0;) from = from * shape[n] + index[n];
    to = elements[static_cast<size_t>(from)];
    for (size_t n = shape.size(); n-- > 0;) {
      if (++index[n] < shape[n]) break;
      index[n] = 0;
    }
  }
  elements = std::move(result);
}

std::optional<Header> parse_header(std::string_view bytes, std::string_view name, Sink& sink) {
  HeaderParser start(bytes, 0, 0, name, sink);
  if (bytes.size() < 10 || bytes.substr(0, 6) != std::string_view("\x93NUMPY", 6)) {
    start.fail("not a `.npy` file");
    return std::nullopt;
  }
  int version = static_cast<unsigned char>(bytes[6]);
  size_t prefix = version == 1 ? 10 : 12, length = 0;
  if (version < 1 || version > 3 || bytes.size() < prefix) {
    start.fail(fmt::format("format version {} is not 1, 2 or 3, or the file ends early", version));
    return std::nullopt;
  }
  for (size_t n = prefix; n-- > 8;) length = length << 8 | static_cast<unsigned char>(bytes[n]);
  if (length > bytes.size() - prefix) {
    start.fail(fmt::format("the header of {} bytes is longer than the file", length));
    return std::nullopt;
  }
  Header header;
  header.data = prefix + length;
  if (!HeaderParser(bytes, prefix, header.data, name, sink).parse(header)) return std::nullopt;
  return header;
}

} // namespace

std::optional<Array> parse_npy(std::string_view bytes, std::string_view name, Sink& sink) {
  auto header = parse_header(bytes, name, sink);
  if (!header) return std::nullopt;
  HeaderParser place(bytes, header->data, header->data, name, sink);
  auto fail = [&](std::string_view what) {
    place.fail(what);
    return std::nullopt;
  };
  auto code = code_of_descr(header->descr);
  if (!code)
    return fail(fmt::format("element type `{}`; real, integer and bool elements in little-endian "
                            "order are understood",
                            header->descr));
  auto count = element_count(header->shape);
  auto size = count ? checked_mul(*count, code->bytes) : std::nullopt;
  size_t there = bytes.size() - header->data;
  if (!size || static_cast<uint64_t>(*size) > there)
    return fail(fmt::format("shape ({}) of `{}` needs more than the {} bytes that follow",
                            fmt::join(header->shape, ", "), header->descr, there));
  int64_t at = 0;
  auto shape = header->shape;
  auto array = decode_elements(*code, bytes.substr(header->data), shape, &at);
  if (!array) return fail(fmt::format("element {} is above 2^63 - 1", at));
  if (header->fortran && shape.size() > 1) {
    to_row_major(array->reals, shape);
    to_row_major(array->integers, shape);
  }
  return array;
}

std::optional<Array> read_npy(const std::string& path, Sink& sink) {
  auto bytes = read_bytes(path, sink);
  return bytes ? parse_npy(*bytes, path, sink) : std::nullopt;
}

std::string npy_bytes(const Array& array, ElemType type, bool unrounded) {
  bool real = array.scalar == Scalar::real;
  bool wide = real && (unrounded || type == ElemType::f64);
  std::string_view descr = !real  ? (array.scalar == Scalar::boolean ? "|b1" : "<i8")
                           : wide ? "<f8"
                                  : "<f4";
  std::string shape;
  for (int64_t extent : array.shape) shape += fmt::format("{}, ", extent);
  // numpy writes (3,) for one dimension and (3, 4) for two.
  if (array.shape.size() == 1) shape.pop_back();
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  // The elements start at a multiple of 64 bytes.
  dictionary.append(63 - (10 + dictionary.size()) % 64, ' ').push_back('\n');
  std::string out("\x93NUMPY\x01\x00", 8);
  append_little_endian(out, dictionary.size(), 2);
  out += dictionary;
  for (double x : array.reals)
    append_little_endian(out, encode_real(wide ? ElemType::f64 : ElemType::f32, x), wide ? 8 : 4);
  for (int64_t x : array.integers)
    append_little_endian(out, static_cast<uint64_t>(x), array.scalar == Scalar::boolean ? 1 : 8);
  return out;
}

} // namespace tang::interpret

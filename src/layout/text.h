#pragma once
// Layouts as text, which reads back in: `(4,(2,4)):(2,(1,8))`, `(M,N):(1,M)`, `(8,4):(1@m,2@n)`,
// `Sw<3,4,3> o 16 + (8,64):(64,1)`.
#include "layout/layout.h"
#include <cstdint>

namespace tang::layout {

std::string to_text(const Shape& shape);
std::string to_text(const Coordinate& coordinate);
std::string to_text(const Layout& layout);
std::string to_text(const Swizzle& swizzle);
std::string to_text(const Swizzled& layout);

/// A fault of a text, at bytes [begin, end) of it.
struct TextFault {
  size_t begin = 0, end = 0;
  std::string message; ///< lower case, no final period
};

/// A leaf of a tuple in text: a number, a monomial, a stride along a basis; or `_`.
using Item = std::optional<Stride>;
/// Tuples nest at most so deep.
inline constexpr int max_nesting = 64;

/// Reads the parts that texts of layouts are made of. Each function reads what stands next, blanks
/// before it included; on a fault it returns empty, and `fault` says why.
class TextReader {
public:
  explicit TextReader(std::string_view text) : text_(text) {}

  /// The next byte that is no blank; 0 at the end.
  char peek();
  /// Reads `c` where it stands next.
  bool take(char c);
  /// Reads the name where it stands next as a whole word.
  bool take_word(std::string_view name);
  /// The name that stands next, unread; empty where none does.
  std::string_view peek_name();

  std::optional<int64_t> integer();
  std::optional<Item> item();
  std::optional<Nested<Item>> tuple();
  std::optional<Swizzle> swizzle();
  /// The strides behind a `:` whose shape was read from byte `begin` on.
  std::optional<Layout> layout_behind(const Nested<Item>& shape, size_t begin);
  std::optional<Swizzled> swizzled();

  size_t at() const { return at_; }
  /// Where what was read last ends; blanks may stand between there and `at`.
  size_t end() const { return end_; }
  /// Remembers the first fault.
  void report(size_t begin, size_t end, std::string message);
  /// "expected a size" and what stands there instead.
  void expected(std::string_view what);
  const std::optional<TextFault>& fault() const { return fault_; }

private:
  std::optional<std::string> basis();
  std::optional<Monomial> factors();
  std::optional<Shape> sizes(const Nested<Item>& items, size_t begin);

  void advance(size_t to);

  std::string_view text_;
  size_t at_ = 0, end_ = 0;
  std::optional<TextFault> fault_;
};

/// The whole text as one layout.
std::variant<Swizzled, TextFault> read_layout(std::string_view text);

} // namespace tang::layout

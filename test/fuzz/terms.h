#pragma once
// Random terms over tensors and indices, with a bound on their size.
#include "choices.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tang::fuzz {

/// An extent as `.tg` says it, and the values it may have.
struct Extent {
  std::string text;
  int64_t lo = 0, hi = 0;
};

struct Index {
  std::string name;
  Extent extent;
};

enum class Sort : uint8_t { real, integer, boolean };

/// What is known of a value: |value| <= bound, unless `wild`: then it may also be infinite, or the
/// least integer, as the maximum of nothing is.
struct Size {
  int64_t bound = 0;
  bool wild = false;
};

struct Tensor {
  std::string name;
  Sort sort = Sort::real;
  std::vector<Extent> shape;
  Size size;
};

struct Term {
  std::string text;
  Size size;
};

/// No value is larger: f32 holds every integer up to 2^24, and sums of two stay below it.
inline constexpr int64_t largest = int64_t{1} << 20;

using Indices = std::vector<Index>;

class Terms {
public:
  Terms(Choices& choices, const std::vector<Extent>& extents, const std::vector<Tensor>& tensors)
      : choices_(choices), extents_(extents), tensors_(tensors) {}

  Term real(const Indices& scope, int depth);
  Term integer(const Indices& scope, int depth);
  std::string condition(const Indices& scope, int depth);

  Extent extent();
  Index fresh_index();
  /// ` where c`, or nothing.
  std::string filter(const Indices& scope);
  /// `min(max(x, -limit), limit)`: no longer wild.
  static Term clamped(const Term& term, int64_t limit);
  /// Clamped only where it is larger than the limit.
  static Term at_most(const Term& term, int64_t limit);
  static std::string binder(const Index& index) { return index.name + ": " + index.extent.text; }

  /// A read of the tensor at places made of the indices.
  Term read(const Tensor& tensor, const Indices& scope);

private:
  struct Place {
    std::string text;
    bool safe;
    std::string proof; ///< a condition under which it is in range, where one can be said
  };
  Place place(const Extent& extent, const Indices& scope);
  Place moved(const Index& index, const Extent& extent);
  const Tensor* tensor_of(Sort sort, const Indices& scope);
  std::optional<Term> leaf_read(Sort sort, const Indices& scope);
  Term real_leaf(const Indices& scope);
  Term integer_leaf(const Indices& scope);
  Term fold(Sort sort, const Indices& scope, int depth);
  Term arithmetic(Sort sort, const Indices& scope, int depth);
  Term any(Sort sort, const Indices& scope, int depth) {
    return sort == Sort::real ? real(scope, depth) : integer(scope, depth);
  }

  Choices& choices_;
  const std::vector<Extent>& extents_;
  const std::vector<Tensor>& tensors_;
  int names_ = 0;
};

} // namespace tang::fuzz

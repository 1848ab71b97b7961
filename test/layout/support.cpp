#include "support.h"
#include <numeric>
#include <set>

namespace tang::layout {

uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15ull;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

int64_t Random::in(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
}

std::string random_form(Random& random, size_t leaves) {
  // A list of forms; neighbours are gathered in tuples until one form is left.
  std::vector<std::string> forms(leaves, "*");
  while (forms.size() > 1 || random.chance(10)) {
    auto first = static_cast<size_t>(random.in(0, static_cast<int64_t>(forms.size()) - 1));
    auto last = static_cast<size_t>(
        random.in(static_cast<int64_t>(first), static_cast<int64_t>(forms.size()) - 1));
    if (random.chance(50)) first = 0, last = forms.size() - 1;
    if (first == last && !random.chance(10)) continue;
    std::string tuple = "(";
    for (size_t i = first; i <= last; ++i) tuple += forms[i];
    forms[first] = tuple + ")";
    forms.erase(forms.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                forms.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  }
  return forms[0];
}

Layout random_layout(Random& random, int64_t most, Strides strides,
                     const std::vector<int64_t>& sizes) {
  if (strides == Strides::mixed)
    strides = random.of<Strides>({Strides::any, Strides::compact, Strides::compact, Strides::gaps});
  std::vector<int64_t> chosen;
  int64_t count = 1;
  auto leaves = static_cast<size_t>(random.in(1, 4));
  while (chosen.size() < leaves) {
    int64_t size = random.of(sizes);
    if (size * count > most) size = 1;
    count *= size;
    chosen.push_back(size);
  }
  std::vector<size_t> order(leaves);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = leaves; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(random.in(0, static_cast<int64_t>(i) - 1))]);
  if (random.chance(30)) std::sort(order.begin(), order.end());
  std::vector<int64_t> stride(leaves);
  int64_t next = 1;
  for (size_t i : order) {
    if (strides == Strides::gaps && random.chance(50)) next *= random.in(1, 3);
    stride[i] = strides == Strides::any ? random.in(0, 16) : next;
    if (strides == Strides::gaps && random.chance(10)) stride[i] = 0;
    next *= chosen[i];
  }
  Layout out{random_form(random, leaves), {}};
  for (size_t i = 0; i < leaves; ++i)
    out.leaves.push_back({Monomial::constant(chosen[i]), {Monomial::constant(stride[i]), ""}});
  return out;
}

Layout random_tuple(Random& random, size_t rank, int64_t most, Strides strides) {
  std::vector<Layout> parts;
  for (size_t i = 0; i < rank; ++i) parts.push_back(random_layout(random, most, strides));
  return Layout::tuple(parts);
}

int64_t count_of(const Layout& layout) {
  int64_t count = 1;
  for (const Mode& mode : layout.leaves) count *= mode.size.factor;
  return count;
}

int64_t value_at(const Layout& layout, int64_t index) {
  int64_t value = 0;
  for (const Mode& mode : layout.leaves) {
    value += index % mode.size.factor * mode.stride.amount.factor;
    index /= mode.size.factor;
  }
  return value;
}

std::vector<int64_t> values_of(const Layout& layout) {
  std::vector<int64_t> values;
  for (int64_t i = 0, count = count_of(layout); i < count; ++i)
    values.push_back(value_at(layout, i));
  return values;
}

bool has_repeats(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) != values.end();
}

Layout without_broadcasts(const Layout& layout) {
  std::vector<Mode> modes;
  for (const Mode& mode : layout.leaves)
    if (mode.size.factor != 1 && mode.stride.amount.factor != 0) modes.push_back(mode);
  return modes.empty() ? single_element() : Layout::flat(std::move(modes));
}

bool refines(const Layout& fine, const Shape& coarse) {
  size_t at = 0, leaf = 0, size = 0;
  for (char c : coarse.form) {
    if (at == fine.form.size()) return false;
    if (c != '*') {
      if (fine.form[at++] != c) return false;
      continue;
    }
    size_t end = part_end(fine.form, at);
    int64_t product = 1;
    for (; at < end; ++at)
      if (fine.form[at] == '*') product *= fine.leaves[leaf++].size.factor;
    if (product != coarse.leaves[size++].factor) return false;
  }
  return at == fine.form.size();
}

std::string show(const Layout& a) {
  return to_text(a);
}

Swizzled read_whole(std::string_view text) {
  auto result = read_layout(text);
  if (const auto* fault = std::get_if<TextFault>(&result)) FAIL(text << ": " << fault->message);
  return std::get<Swizzled>(result);
}

Layout read(std::string_view text) {
  return read_whole(text).layout;
}

namespace {

/// Whether a layout with sizes in this order and so many modes has these values.
bool some_layout_has(const std::vector<int64_t>& values, size_t modes) {
  struct Choice {
    int64_t left, stride_at;
    size_t modes;
    std::vector<Mode> chosen;
  };
  std::vector<Choice> work{{static_cast<int64_t>(values.size()), 1, modes, {}}};
  while (!work.empty()) {
    Choice c = work.back();
    work.pop_back();
    if (c.left == 1) {
      if (values_of(Layout::flat(c.chosen)) == values) return true;
      continue;
    }
    if (c.modes == 0) continue;
    for (int64_t size = 2; size <= c.left; ++size) {
      if (c.left % size != 0) continue;
      Choice next = c;
      next.left /= size;
      next.stride_at *= size;
      --next.modes;
      next.chosen.push_back(
          {Monomial::constant(size),
           {Monomial::constant(values[static_cast<size_t>(c.stride_at)] - values[0]), ""}});
      work.push_back(std::move(next));
    }
  }
  return false;
}

} // namespace

std::string coalesce_law(const Layout& a, const Layout& r) {
  if (values_of(a) != values_of(r)) return "not the same function: " + show(a, r);
  if (r.form != Layout::flat(r.leaves).form) return "not flat: " + show(a, r);
  for (const Mode& mode : r.leaves)
    if (mode.size.factor == 1 && r.leaves.size() > 1) return "a mode of size 1: " + show(a, r);
  if (count_of(a) <= 24 && count_of(a) > 1 && some_layout_has(values_of(a), r.leaves.size() - 1))
    return "fewer modes do: " + show(a, r);
  return "";
}

std::string compose_law(const Layout& a, const Layout& b, const Layout& r) {
  if (!refines(r, shape_of(b))) return "the shape is lost: " + show(a, b, r);
  for (int64_t i = 0; i < count_of(b); ++i) {
    if (value_at(b, i) >= count_of(a)) return "outside of the left side: " + show(a, b, r);
    if (value_at(r, i) != value_at(a, value_at(b, i)))
      return fmt::format("wrong at {}: {}", i, show(a, b, r));
  }
  return "";
}

std::string complement_law(const Layout& a, int64_t target, const Layout& r) {
  Layout counting = without_broadcasts(a);
  std::vector<int64_t> both = values_of(Layout::tuple({counting, r})), rest = values_of(r);
  for (size_t i = 1; i < rest.size(); ++i)
    if (rest[i] <= rest[i - 1]) return "not ordered: " + show(a, r);
  if (has_repeats(both)) return "not disjoint: " + show(a, r);
  auto count = static_cast<int64_t>(both.size());
  if (*std::max_element(both.begin(), both.end()) != count - 1) return "gaps: " + show(a, r);
  if (count < target) return "too small: " + show(a, r);
  // One block less would not reach the target.
  auto block = complement(a, Monomial::constant(1));
  if (!block) return "refused without a target: " + show(a);
  int64_t filled = count_of(counting) * count_of(*block);
  return count > filled && count - filled >= target ? "too large: " + show(a, r) : "";
}

std::string right_inverse_law(const Layout& a, const Layout& r) {
  for (int64_t k = 0; k < count_of(r); ++k)
    if (value_at(r, k) >= count_of(a) || value_at(a, value_at(r, k)) != k)
      return fmt::format("wrong at {}: {}", k, show(a, r));
  std::vector<int64_t> values = values_of(without_broadcasts(a));
  if (has_repeats(values)) return "";
  std::set<int64_t> reached(values.begin(), values.end());
  return reached.count(count_of(r)) ? "not the longest: " + show(a, r) : "";
}

std::string left_inverse_law(const Layout& a, const Layout& r) {
  for (int64_t i = 0; i < count_of(a); ++i)
    if (value_at(a, i) >= count_of(r) || value_at(r, value_at(a, i)) != i)
      return fmt::format("wrong at {}: {}", i, show(a, r));
  return "";
}

std::string divide_law(const Layout& a, const Layout& b, const Layout& r) {
  auto rest = complement(b, Monomial::constant(count_of(a)));
  if (!rest) return "an answer without a complement: " + show(a, b, r);
  Layout inner = Layout::tuple({b, *rest});
  if (r.rank() != 2 || count_of(r.parts()[0]) != count_of(b) ||
      !refines(r.parts()[0], shape_of(b)) || count_of(r) != count_of(inner))
    return "not (tile, rest): " + show(a, b, r);
  std::set<int64_t> seen;
  for (int64_t i = 0; i < count_of(r); ++i) {
    int64_t index = value_at(inner, i);
    if (index >= count_of(a)) continue;
    seen.insert(index);
    if (value_at(r, i) != value_at(a, index))
      return fmt::format("wrong at {}: {}", i, show(a, b, r));
  }
  return static_cast<int64_t>(seen.size()) == count_of(a) ? "" : "elements lost: " + show(a, b, r);
}

std::string product_law(const Layout& a, const Layout& b, const Layout& r) {
  auto parts = r.parts();
  if (parts.size() != 2 || parts[0] != a || !refines(parts[1], shape_of(b)))
    return "not (block, copies): " + show(a, b, r);
  std::vector<int64_t> order = values_of(b), copies = values_of(parts[1]);
  for (size_t i = 1; i < order.size(); ++i)
    if ((order[i] <=> order[i - 1]) != (copies[i] <=> copies[i - 1]))
      return "the copies are out of order: " + show(a, b, r);
  if (!has_repeats(values_of(a)) && !has_repeats(order) && has_repeats(values_of(r)))
    return "copies overlap: " + show(a, b, r);
  return "";
}

} // namespace tang::layout

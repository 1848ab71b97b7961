// Operations on symbolic layouts hold for all values of the symbols: whatever they answer obeys the
// law of the operation when numbers stand in its place.
#include "support.h"
#include <map>

using namespace tang::layout;

namespace {

using Values = std::map<std::string, int64_t>;

Monomial with(const Monomial& m, const Values& values) {
  int64_t value = m.factor;
  for (const std::string& symbol : m.symbols) value *= values.at(symbol);
  return Monomial::constant(value);
}

Layout with(const Layout& layout, const Values& values) {
  Layout out{layout.form, {}};
  for (const Mode& mode : layout.leaves)
    out.leaves.push_back({with(mode.size, values), {with(mode.stride.amount, values), ""}});
  return out;
}

/// Sizes such as 2*M; strides without gaps in some order, or with gaps that may have symbols.
Layout symbolic_layout(Random& random) {
  std::vector<Mode> modes;
  for (int64_t count = random.in(1, 3); count > 0; --count) {
    Mode mode{Monomial::constant(random.of<int64_t>({1, 2, 3})), {}};
    if (random.chance(50)) mode.size.symbols = {random.chance(50) ? "M" : "N"};
    modes.push_back(mode);
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < modes.size(); ++i)
    order.insert(order.begin() + random.in(0, static_cast<int64_t>(i)), i);
  Monomial next;
  for (size_t i : order) {
    if (random.chance(20)) next = *times(next, Monomial{random.in(1, 2), {"N"}});
    modes[i].stride = {next, ""};
    next = *times(next, modes[i].size);
    if (random.chance(5)) modes[i].stride = {};
  }
  return {random_form(random, modes.size()), modes};
}

/// Runs `law` with numbers for the symbols.
template <class Law>
std::string for_values(Law&& law) {
  for (auto [m, n] : {std::pair(1, 1), std::pair(1, 3), std::pair(3, 2), std::pair(2, 4)})
    if (std::string fault = law(Values{{"M", m}, {"N", n}}); !fault.empty())
      return fmt::format("M = {}, N = {}: {}", m, n, fault);
  return "";
}

} // namespace

TEST_CASE("one layout with symbols", "[symbols]") {
  hold(
      [](Random& random) -> std::string {
        Layout a = symbolic_layout(random);
        auto flat = coalesce(a), right = right_inverse(a), left = left_inverse(a);
        Monomial target = random.chance(50) ? *size(a) : Monomial::constant(1);
        auto rest = complement(a, target);
        if (!flat || !right) return "refused: " + show(a);
        std::string fault = for_values([&](const Values& values) -> std::string {
          Layout number = with(a, values), flat_number = with(*flat, values);
          if (values_of(number) != values_of(flat_number)) return "coalesce: " + show(a, *flat);
          // How long a right inverse is depends on the symbols.
          Layout right_number = with(*right, values);
          for (int64_t k = 0; k < count_of(right_number); ++k)
            if (value_at(number, value_at(right_number, k)) != k)
              return "right inverse: " + show(a, *right);
          if (left)
            if (auto f = left_inverse_law(number, with(*left, values)); !f.empty())
              return "left inverse: " + show(a, *left);
          if (rest) {
            auto both = values_of(Layout::tuple({without_broadcasts(number), with(*rest, values)}));
            if (has_repeats(both) ||
                *std::max_element(both.begin(), both.end()) + 1 !=
                    static_cast<int64_t>(both.size()) ||
                static_cast<int64_t>(both.size()) < with(target, values).factor)
              return "complement: " + show(a, *rest);
          }
          return "";
        });
        return !fault.empty() ? fault : left && rest ? "" : refused;
      },
      15);
}

TEST_CASE("compose, divide, multiply and reshape with symbols", "[symbols]") {
  hold(
      [](Random& random) -> std::string {
        Layout a = symbolic_layout(random), b = symbolic_layout(random);
        if (random.chance(50))
          b = random.chance(50) ? *compact(shape_of(a))
                                : Layout::leaf({a.leaves[0].size, {Monomial{}, ""}});
        auto composed = compose(a, b), divided = logical_divide(a, b),
             product = logical_product(a, b), reshaped = reshape(a, shape_of(b));
        std::string fault = for_values([&](const Values& values) -> std::string {
          Layout x = with(a, values), y = with(b, values);
          std::string wrong;
          if (composed) wrong = compose_law(x, y, with(*composed, values));
          if (divided && wrong.empty()) {
            // The symbolic complement may be another one than that of the numbers.
            Layout inner = Layout::tuple({y, with(*complement(b, *size(a)), values)});
            Layout number = with(*divided, values);
            for (int64_t i = 0; i < count_of(inner); ++i)
              if (value_at(inner, i) < count_of(x) &&
                  value_at(number, i) != value_at(x, value_at(inner, i)))
                wrong = "divide: " + show(a, b, *divided);
          }
          if (product && wrong.empty()) wrong = product_law(x, y, with(*product, values));
          if (reshaped && wrong.empty() && values_of(with(*reshaped, values)) != values_of(x))
            wrong = "reshape: " + show(a, *reshaped);
          return wrong;
        });
        if (!fault.empty()) return fault;
        return composed || divided || product || reshaped ? "" : refused;
      },
      50);
}

TEST_CASE("what depends on the symbols is refused, with the reason", "[symbols]") {
  CHECK(to_text(*compose(read("(M,N):(N,1)"), read("(M,N):(1,M)"))) == "(M,N):(N,1)");
  CHECK(to_text(*logical_divide(read("128*M:1"), read("128:1"))) == "(128,M):(1,128)");
  CHECK(logical_divide(read("M:1"), read("128:1")).refusal().reason ==
        "whether 128 divides M depends on the symbols");
  CHECK(
      compose(read("(M,N):(N,1)"), read("4:1")).refusal().reason ==
      "`4:1` of the right side does not step evenly through the left side: 4 steps of 1 in a mode "
      "of size M");
  CHECK(to_text(*max_common_vector(read("(4,M):(1,4)"), read("(4,M):(1,8)"))) == "4");
  CHECK(max_common_vector(read("(M,N):(1,2*M)"), read("(N,M):(1,2*N)")).refusal().reason ==
        "which of M and N is smaller depends on the symbols");
}

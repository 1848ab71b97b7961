// Arithmetic with symbols: what is said holds for all of their values.
#include "support.h"
#include <map>

using namespace tang::layout;

namespace {

using Values = std::map<std::string, int64_t>;

Monomial random_monomial(Random& random) {
  Monomial m = Monomial::constant(random.of<int64_t>({1, 2, 3, 4, 6, 8, 12}));
  for (const char* symbol : {"K", "M", "N"})
    if (random.chance(30)) m.symbols.emplace_back(symbol);
  if (!m.symbols.empty() && random.chance(20)) m.symbols.push_back(m.symbols.back());
  return m;
}

int64_t value_of(const Monomial& m, const Values& values) {
  int64_t value = m.factor;
  for (const std::string& symbol : m.symbols) value *= values.at(symbol);
  return value;
}

int64_t value_of(const Sum& sum, const Values& values) {
  int64_t value = 0;
  for (const Stride& term : sum.terms()) value += value_of(term.amount, values);
  return value;
}

Values random_values(Random& random) {
  return {{"K", random.in(1, 6)}, {"M", random.in(1, 6)}, {"N", random.in(1, 6)}};
}

} // namespace

TEST_CASE("products and exact quotients", "[monomial]") {
  hold(
      [](Random& random) -> std::string {
        Monomial a = random_monomial(random), b = random_monomial(random);
        auto product = times(a, b);
        if (!product) return product.refusal().reason;
        if (quotient(*product, b) != a) return "(a * b) / b is not a";
        Values values = random_values(random);
        if (value_of(*product, values) != value_of(a, values) * value_of(b, values))
          return "wrong product";
        auto part = quotient(a, b);
        if (!part) return refused;
        return value_of(*part, values) * value_of(b, values) == value_of(a, values)
                   ? ""
                   : "wrong quotient";
      },
      15);
}

TEST_CASE("a proven order holds for all values, and the plain cases are proven", "[monomial]") {
  hold(
      [](Random& random) -> std::string {
        Sum a = random.in(-3, 3), b = random.in(-3, 3);
        for (Sum* sum : {&a, &b})
          for (int64_t terms = random.in(0, 2); terms > 0; --terms)
            if (!sum->add(Stride{random_monomial(random), ""}, random.in(-2, 3))) return "overflow";
        if (random.chance(50) && (!b.add(a) || !b.add(Stride{random_monomial(random), ""})))
          return "overflow";
        if (!proven_at_most(a, b)) return refused;
        for (int i = 0; i < 8; ++i) {
          Values values = random_values(random);
          if (value_of(a, values) > value_of(b, values)) return to_text(a) + " > " + to_text(b);
        }
        return "";
      },
      30);
  auto term = [](std::string_view size) {
    Sum sum;
    CHECK(sum.add({read(fmt::format("{}:1", size)).leaves[0].size, ""}));
    return sum;
  };
  CHECK(proven_at_most(1, term("M")));
  CHECK(proven_at_most(term("M"), term("M*N")));
  CHECK(proven_at_most(term("3*M"), term("4*M*M")));
  CHECK_FALSE(proven_at_most(2, term("M")));
  CHECK_FALSE(proven_at_most(term("M"), term("N")));
}

TEST_CASE("arithmetic beyond 64 bits or 16 symbols is refused", "[monomial]") {
  Monomial large = Monomial::constant(INT64_MAX);
  CHECK(times(large, Monomial::constant(2)).refusal().reason ==
        "9223372036854775807 times 2 leaves 64 bits");
  Sum sum = INT64_MAX;
  CHECK_FALSE(sum.add(Sum(1)));
  CHECK(sum == Sum(INT64_MAX));
  Monomial many{1, std::vector<std::string>(16, "M")};
  CHECK(times(many, Monomial{1, {"N"}}).refusal().reason.find("more than 16 symbols") !=
        std::string::npos);
  CHECK(times(many, Monomial::constant(2)));
}

// Kernels grow with the terms of their nodes and no faster, counted in statements and values.
// (Equal kernels are one, so twice the levels may need no more.)
#include "lowered.h"

using namespace tang::lower::test;

namespace {

/// A graph whose last definition t<levels> was made by `line` from level to level.
template <class Line>
std::string chain(int levels, Line line) {
  std::string text = "dim N in 1..1000000\ninput x : f32[N]\ninput z : f32[N]\nt0[i] = z[i]\n";
  for (int k = 1; k <= levels; ++k) text += line(k, k - 1) + "\n";
  return text + fmt::format("y[i] = t{}[i] + 1\noutput y : f32[N]\n", levels);
}

struct Size {
  size_t statements = 0, values = 0;
};

Size size_of(const std::string& text, const Target& target) {
  auto p = lowered(text, target);
  Size size;
  for (const auto& kernel : p.program.kernels) {
    size.values += kernel.values.size();
    tang::kernel::for_each_stmt(kernel.body, [&](const auto&) { ++size.statements; });
  }
  return size;
}

template <class Line>
void check_linear(Line line, int levels) {
  for (const Target& target : {gpu(), core()}) {
    Size half = size_of(chain(levels / 2, line), target);
    Size whole = size_of(chain(levels, line), target);
    INFO(line(2, 1) << ": " << half.statements << " statements and " << half.values << " values, "
                    << whole.statements << " and " << whole.values);
    CHECK(half.statements > 0);
    CHECK(whole.statements < 2.2 * static_cast<double>(half.statements));
    CHECK(whole.values < 2.2 * static_cast<double>(half.values));
  }
}

} // namespace

TEST_CASE("both branches of every level need the level below", "[scale]") {
  auto line = [](int k, int below) {
    return fmt::format("t{0}[i] = where(x[i] > {0}, t{1}[i] * 2, t{1}[i] + 1)", k, below);
  };
  check_linear(line, 2000);
}

TEST_CASE("one branch of every level needs the level below", "[scale]") {
  auto line = [](int k, int below) {
    return fmt::format("t{0}[i] = where(x[i] > {0}, t{1}[i] * 2, x[i])", k, below);
  };
  check_linear(line, 2000);
}

TEST_CASE("branches need the two levels below", "[scale]") {
  auto line = [](int k, int below) {
    return fmt::format("t{0}[i] = where(x[i] > {0}, t{1}[i] * 2, t{2}[i])", k, below,
                       std::max(0, below - 1));
  };
  check_linear(line, 2000);
}

TEST_CASE("conditions read what they protect", "[scale]") {
  auto line = [](int k, int below) {
    return fmt::format("t{0}[i] = where(x[i] > {0} and t{1}[i] < 1, t{1}[i], z[i] * {0})", k,
                       below);
  };
  check_linear(line, 300);
}

TEST_CASE("a doubling DAG", "[scale]") {
  auto line = [](int k, int below) {
    return fmt::format("t{0}[i] = t{1}[i] * t{1}[i] + t{1}[i]", k, below);
  };
  check_linear(line, 2000);
}

TEST_CASE("many terms read one element under conditions of their own", "[scale]") {
  auto line = [](int k, int below) {
    return fmt::format("t{0}[i] = t{1}[i] + where(x[i] > {0}, z[i] * {0}, 0)", k, below);
  };
  check_linear(line, 2000);
}

// Gradients of maps: scalar operations, choices, views.
#include "gradient.h"
#include <fmt/format.h>

using namespace tang;
using namespace tang::rewrite::test;

namespace {

/// A function of one vector, element by element, weighted so that no two elements count alike.
Function pointwise(const std::string& expression) {
  return {expression,
          "input x : f64[7]\ninput w : f64[7]\n"
          "y[i] = " +
              expression + "\nloss = sum[i] w[i] * y[i]\n",
          {"x", "w"},
          {}};
}

} // namespace

TEST_CASE("derivatives of scalar operations", "[differentiate]") {
  for (const char* expression : {"x[i] + 2",
                                 "3 - x[i]",
                                 "x[i] * x[i]",
                                 "-x[i]",
                                 "1 / (x[i] * x[i] + 1)",
                                 "(x[i] + 1) / (x[i] * x[i] + 0.5)",
                                 "exp(x[i])",
                                 "exp2(x[i])",
                                 "log(x[i] * x[i] + 0.1)",
                                 "log2(x[i] * x[i] + 0.1)",
                                 "sqrt(x[i] * x[i] + 0.1)",
                                 "rsqrt(x[i] * x[i] + 0.1)",
                                 "sin(x[i])",
                                 "cos(x[i])",
                                 "tan(x[i] / 4)",
                                 "tanh(x[i])",
                                 "erf(x[i])",
                                 "atan2(x[i], x[i] * x[i] + 1)",
                                 "atan2(2, x[i] + 9)",
                                 "pow(x[i] * x[i] + 0.5, 1.5)",
                                 "pow(x[i], 2)",
                                 "pow(x[i], 3)",
                                 "pow(x[i], 0)",
                                 "pow(2, x[i])",
                                 "pow(x[i] * x[i] + 0.5, x[i])",
                                 "abs(x[i])",
                                 "min(x[i], w[i])",
                                 "max(x[i], w[i])",
                                 "max(x[i], 0.25)",
                                 "max(0.25, x[i])",
                                 "min(max(x[i], -0.5), 0.5)",
                                 "mod(x[i], 0.75)",
                                 "x[i] - mod(2.5, x[i] * x[i] + 1.1)",
                                 "floor(x[i]) * x[i]",
                                 "round(x[i]) + ceil(x[i])",
                                 "sign(x[i]) * x[i]",
                                 "f64(x[i]) * 2",
                                 "where(x[i] < w[i], x[i] * w[i], exp(x[i]))"})
    check(pointwise(expression));
}

TEST_CASE("derivatives of the library's small functions", "[differentiate]") {
  for (const char* call : {"relu(x[i])",
                           "relu6(3 * x[i])",
                           "leaky_relu(x[i], 0.1)",
                           "sigmoid(x[i])",
                           "softplus(x[i])",
                           "log_sigmoid(x[i])",
                           "gelu(x[i])",
                           "gelu_tanh(x[i])",
                           "quick_gelu(x[i])",
                           "silu(x[i])",
                           "mish(x[i])",
                           "elu(x[i], 1.5)",
                           "selu(x[i])",
                           "celu(x[i], 0.7)",
                           "hardsigmoid(2 * x[i])",
                           "hardswish(2 * x[i])",
                           "hardtanh(x[i])",
                           "softsign(x[i])",
                           "tanhshrink(x[i])",
                           "softshrink(x[i], 0.3)",
                           "hardshrink(x[i], 0.3)",
                           "clamp(x[i], -0.5, 0.7)",
                           "lerp(x[i], w[i], 0.3)",
                           "cube(x[i])",
                           "glu(x[i], w[i])",
                           "swiglu(w[i], x[i])"})
    check(pointwise(call));
}

TEST_CASE("views rename, shift, divide and gate", "[differentiate]") {
  std::string head = "input x : f64[12]\ninput z : f64[4, 6]\ninput v : f64[24]\n";
  auto loss = [&](const std::string& y, const std::string& index, const std::string& wrt) {
    std::string weight = index == "i, j" ? "(1 + 0.1 * i + 0.37 * j)" : "(1 + 0.1 * i)";
    return Function{y,
                    fmt::format("{}{}\nloss = sum[{}] {} * y[{}] * y[{}]\n", head, y, index, weight,
                                index, index),
                    {wrt},
                    {}};
  };
  check(loss("y[i] = x[i]", "i", "x"));
  check(loss("y[i: 5] = x[i]", "i", "x"));
  check(loss("y[i: 20] = x[i] else 0", "i", "x"));
  check(loss("y[i: 20] = x[i] else v[i]", "i", "x"));
  check(loss("y[i] = x[i] + (x[i - 1] else 0.5)", "i", "x"));
  check(loss("y[i: 6] = x[2 * i + 1]", "i", "x"));
  check(loss("y[i: 12] = x[11 - i]", "i", "x"));
  check(loss("y[i: 4] = x[3 * i] * x[2 * i + 1]", "i", "x"));
  check(loss("y[i: 24] = x[floordiv(i, 2)]", "i", "x"));
  check(loss("y[i: 24] = x[mod(i, 12)]", "i", "x"));
  check(loss("y[i: 23] = x[mod(i, 5)]", "i", "x"));
  check(loss("y[i: 24] = z[floordiv(i, 6), mod(i, 6)]", "i", "z"));
  check(loss("y[i: 20] = z[floordiv(i, 6), mod(i, 6)]", "i", "z"));
  check(loss("y[i: 20] = z[floordiv(i, 5), mod(i, 5)]", "i", "z"));
  check(loss("y[i: 4, j: 6] = z[i, j] * z[3 - i, 5 - j]", "i, j", "z"));
  check(loss("y[i: 4] = z[i, i + 1]", "i", "z"));
  check(loss("y[i: 4] = z[i, 2]", "i", "z"));
  check(loss("y[i: 2, j: 3] = z[i + j, i - j + 2]", "i, j", "z"));
  check(loss("y[i: 4, j: 6] = x[i + j]", "i, j", "x"));
  check(loss("y[i: 4, j: 3] = x[i + 4 * j]", "i, j", "x"));
  check(loss("y[i: 4, j: 6] = where(i <= j, z[i, j], x[i] * x[j])", "i, j", "z"));
  check(loss("y[i: 4, j: 6] = where(i <= j, z[i, j], x[i] * x[j])", "i, j", "x"));
  check(loss("y[i: 12] = where(i > 2, x[i - 3], x[2 - i])", "i", "x"));
}

TEST_CASE("a place that gives no index becomes a condition as it is written", "[differentiate]") {
  struct Case {
    const char *y, *condition;
  };
  for (const Case& c :
       {Case{"y[t] = x[id[t], t]", "where(id[t] == i0,"},
        Case{"y[t] = x[id[t] - 1, 2] else 0", "id[t] - 1 == i0"},
        Case{"y[t] = x[2, t]", "where(2 == i0,"}, Case{"y[t: 5] = x[t, t]", "where(t == i1,"}}) {
    Function f{c.y,
               fmt::format("input x : f64[5, 6]\ninput id : i32[6] in 0..<5\n{}\n"
                           "loss = sum[t] (1 + t) * y[t] * y[t]\n",
                           c.y),
               {"x"},
               {}};
    check(f);
    std::string text = to_text(differentiated(graph_of_body(with_gradients(f))));
    INFO(text);
    CHECK(text.find(c.condition) != std::string::npos);
  }
}

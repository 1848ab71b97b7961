#include "graphs.h"

using namespace tang;
using namespace tang::interpret;
using namespace tang::interpret::test;

TEST_CASE("a matmul of odd sizes equals the plain loop") {
  for (int64_t n : {0, 1, 2, 3, 17})
    for (int64_t k : {0, 1, 5}) {
      Draft d;
      TensorId x = d.input("x", ElemType::f32, {n, k}), w = d.input("w", ElemType::f32, {k, n});
      TensorId y = d.output("y", ElemType::f64, {n, n});
      ExprId product = d.op(Op::mul, d.read(x, {d.at(0), d.at(2)}), d.read(w, {d.at(2), d.at(1)}));
      d.add(d.reduction(y, "sum", Scalar::real, {d.axis(0, n), d.axis(1, n)}, {d.axis(2, k)},
                        {product}));
      Array xv = zeros(Scalar::real, {n, k}), wv = zeros(Scalar::real, {k, n});
      for (size_t i = 0; i < xv.reals.size(); ++i) xv.reals[i] = static_cast<double>(i % 7) - 3;
      for (size_t i = 0; i < wv.reals.size(); ++i) wv.reals[i] = static_cast<double>(i % 5) + 0.5;
      Array got = d.run({{x, xv}, {w, wv}});
      REQUIRE(got.shape == std::vector<int64_t>{n, n});
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t l = 0; l < k; ++l)
            sum +=
                xv.reals[static_cast<size_t>(i * k + l)] * wv.reals[static_cast<size_t>(l * n + j)];
          REQUIRE(got.reals[static_cast<size_t>(i * n + j)] == sum);
        }
    }
}

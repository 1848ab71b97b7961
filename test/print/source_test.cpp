#include "run.h"
#include <catch2/catch.hpp>

using namespace tang::kernel;
using namespace tang::print_test;
using tang::graph::ElemType;

TEST_CASE("a pointwise kernel compiles and runs", "[print][c]") {
  Built b = pointwise(ElemType::f32, Type::f32, ElemType::f32, [](ValueStore& v, ValueId x) {
    return v.binary(Op::add, v.binary(Op::mul, x, x), v.real(1.5, Type::f32));
  });
  check_c(b, R"(
int main(void) {
  float x[3] = {1, 2, 3}, y[3] = {0};
  t_dims dims = {3};
  t_args args = {x, y};
  printf("%s %zu", tg_status_string(t_run(&args, &dims, NULL, 0, NULL)), t_c_workspace_bytes(&dims));
  printf(" %g %g %g", y[0], y[1], y[2]);
  dims.n = -1;
  printf(" %d", t_run(&args, &dims, NULL, 0, NULL) == TG_E_DIM);
  dims.n = 3;
  args.y = x;
  printf(" %d", t_run(&args, &dims, NULL, 0, NULL) == TG_E_ALIAS);
  args.y = NULL;
  printf(" %d", t_run(&args, &dims, NULL, 0, NULL) == TG_E_NULL);
  args.y = (char *)y + 1;
  printf(" %d", t_run(&args, &dims, NULL, 0, NULL) == TG_E_ALIGN);
  dims.n = 0;
  args.x = args.y = NULL;
  printf(" %d", t_run(&args, &dims, NULL, 0, NULL) == TG_OK);
  return 0;
}
)",
          "ok 0 2.5 5.5 10.5 1 1 1 1 1");
}

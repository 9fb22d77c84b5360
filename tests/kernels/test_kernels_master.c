/* label: unit
   libs: kernels
 * Optimizers that keep fp32 master weights beside parameters and gradients of any type, against plain formulas in double. */
#include "kernels/all.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MN = 20011, STEPS = 4 };

/* One update of element i in double, by torch.optim's formulas. */
static void plain_update(double *p, double *m, double *v, double g, int adam, double t) {
  g *= 0.37;
  if (adam) {
    *p -= 1e-2 * 0.13 * *p;
    *m = 0.87 * *m + (1 - 0.87) * g;
    *v = 0.993 * *v + (1 - 0.993) * g * g;
    *p -= 1e-2 * (*m / (1 - pow(0.87, t))) / (sqrt(*v / (1 - pow(0.993, t))) + 1e-7);
  } else {
    g += 0.11 * *p;
    *m = t == 1 ? g : 0.9 * *m + g;
    *p -= 0.05 * *m;
  }
}

static void check_master(enum sl_number grad_type, enum sl_number param_type, int kind, int adam) {
  static float p[MN], m[MN], v[MN], wide[MN], flat_p[MN], flat_m[MN], flat_v[MN];
  static double rp[MN], rm[MN], rv[MN];
  static uint32_t grad[MN], param[MN], expected[MN];
  struct sl_adam a = {1e-2, 0.87, 0.993, 1e-7, 0.13, 0.37, 1, 1, 0};
  struct sl_sgd s = {0.05, 0.9, 0, 0.11, 0.37, 0, 0};
  memset(m, 0, sizeof m), memset(v, 0, sizeof v), memset(flat_m, 0, sizeof m), memset(flat_v, 0, sizeof v);
  memset(rm, 0, sizeof rm), memset(rv, 0, sizeof rv);
  sl_philox_uniform(p, &(struct sl_philox_key){8, 1, 0, 0}, 0, MN, -1, 1);
  memcpy(flat_p, p, sizeof p);
  for (size_t i = 0; i < MN; i++) rp[i] = p[i];
  for (int t = 1; t <= STEPS; t++) {
    a.step = s.step = t;
    sl_philox_uniform(wide, &(struct sl_philox_key){8, 1, (uint32_t)t, 1}, 0, MN, -2, 2);
    sl_convert(grad, grad_type, wide, SL_NUMBER_F32, MN), sl_convert(wide, SL_NUMBER_F32, grad, grad_type, MN);
    if (adam) {
      sl_master_adam(p, m, v, grad, grad_type, kind ? param : NULL, param_type, MN, &a);
      sl_optimizer_adam(flat_p, flat_m, flat_v, wide, MN, &a);
    } else {
      sl_master_sgd(p, m, grad, grad_type, kind ? param : NULL, param_type, MN, &s);
      sl_optimizer_sgd(flat_p, flat_m, wide, MN, &s);
    }
    for (size_t i = 0; i < MN; i++) plain_update(&rp[i], &rm[i], &rv[i], wide[i], adam, t);
  }
  double difference = 0, size = 0;
  for (size_t i = 0; i < MN; i++) difference += (p[i] - rp[i]) * (p[i] - rp[i]), size += rp[i] * rp[i];
  assert_true(sqrt(difference / size) < 5e-7);
  assert_memory_equal(p, flat_p, sizeof p);
  if (!kind) return;
  sl_convert(expected, param_type, p, SL_NUMBER_F32, MN);
  assert_memory_equal(param, expected, MN * sl_convert_bytes(param_type));
}

static void master_weights_follow_the_formulas(void **state) {
  (void)state;
  for (int adam = 0; adam < 2; adam++) {
    for (int g = 0; g < 3; g++) {
      for (int p = -1; p < 3; p++) check_master((enum sl_number)g, (enum sl_number)(p < 0 ? 0 : p), p >= 0, adam);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(master_weights_follow_the_formulas),
  };
  return cmocka_run_group_tests_name("master weights", tests, NULL, NULL);
}

/* One-bit momentum on the GPU against the host's. Numbers are codes times powers of two, and so are their sums, scales
 * and errors: all is equal byte by byte. A step that is skipped changes nothing. */
#include "tests/kernels/gpu/cases.h"

#include "kernels/onebit.h"

enum { N = 1000, CHUNK = 168, PIECES = 6, STRIDE = 4 + 24, PADDED = CHUNK * PIECES };

static const struct sl_signs shape = {CHUNK, PIECES, STRIDE};

/* Multiples of 1/64 below 2, none of them 0. */
static void fill(float *x, size_t n, size_t shift) {
  for (size_t i = 0; i < n; i++) x[i] = ((float)((i * 37 + shift) % 255) - 127.5F) / 64;
}

static void moments(enum sl_number type) {
  (void)type;
  float error[PADDED], m[N], grad[N];
  double factors[2] = {0.5, -1}, squares = 4.0 * PADDED;
  unsigned char packed[PIECES * STRIDE] = {0};
  fill(error, PADDED, 3), fill(m, N, 5), fill(grad, N, 11);
  float *d_error = device_copy(error, sizeof error), *d_m = device_copy(m, sizeof m);
  void *d_grad = device_copy(grad, sizeof grad), *d_packed = device_copy(packed, sizeof packed);
  double *d_factors = device_copy(factors, sizeof factors), *d_squares = device_copy(&squares, sizeof squares);
  const struct sl_cuda_update taken = {.grad_factor = d_factors}, skipped = {.grad_factor = d_factors + 1};
  RUN(sl_cuda_onebit_blend(NULL, d_error, d_m, d_grad, SL_NUMBER_F32, N, 4, 0.5, &skipped));
  RUN(sl_cuda_onebit_pack(NULL, d_packed, d_error, d_squares, &shape, d_factors + 1));
  bytes_same(d_error, error, sizeof error, "errors of a skipped step");
  RUN(sl_cuda_onebit_blend(NULL, d_error, d_m, d_grad, SL_NUMBER_F32, N, 4, 0.5, &taken));
  sl_onebit_blend(error, m, grad, SL_NUMBER_F32, N, 2, 0.5);
  bytes_same(d_error, error, sizeof error, "momentum and error");
  RUN(sl_cuda_onebit_pack(NULL, d_packed, d_error, d_squares, &shape, NULL));
  sl_onebit_pack(packed, error, squares, &shape);
  bytes_same(d_packed, packed, sizeof packed, "packed");
  bytes_same(d_error, error, sizeof error, "errors");
  RUN(sl_cuda_onebit_average(NULL, d_error, d_packed, &(struct sl_signs){CHUNK, 4, STRIDE}, NULL));
  sl_onebit_average(error, packed, &(struct sl_signs){CHUNK, 4, STRIDE});
  bytes_same(d_error, error, sizeof error, "means");
}

static void update(enum sl_number type) {
  float p[N], m[N], v[N], error[PADDED], got[N];
  uint32_t param[N] = {0};
  unsigned char packed[PIECES * STRIDE] = {0};
  const struct sl_adam a = {0.25, 0.5, 0.5, 0.5, 0.5, 1, 1, 0, 3};
  fill(p, N, 1), fill(m, N, 2), fill(error, PADDED, 7);
  sl_onebit_pack(packed, error, PADDED, &shape);
  for (size_t i = 0; i < N; i++) v[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? 4 : 0.25F;
  float *d_p = device_copy(p, sizeof p), *d_m = device_copy(m, sizeof m), *d_v = device_copy(v, sizeof v);
  void *d_param = device_copy(param, sizeof param), *d_packed = device_copy(packed, sizeof packed);
  RUN(sl_cuda_onebit_adam(NULL, d_p, d_m, d_v, d_packed, &shape, d_param, type, N, &a, NULL));
  sl_onebit_adam(p, m, v, packed, &shape, param, type, N, &a);
  device_read(got, d_p, sizeof got);
  for (size_t i = 0; i < N; i++) number_check((double)got[i], (double)p[i], 1e-6, "parameter");
  bytes_same(d_m, m, sizeof m, "momentum");
  bytes_same(d_v, v, sizeof v, "variance");
  bytes_check(d_param, N * sl_convert_bytes(type), "16-bit parameter");
}

int main(int argc, char **argv) {
  static const struct cuda_case cases[] = {{"onebit_moments", moments, UNTYPED}, {"onebit_update", update, EACH_TYPE}};
  return cases_main("test_cuda_onebit", cases, sizeof cases / sizeof *cases, argc, argv);
}

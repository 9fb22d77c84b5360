/* label: unit
   libs: kernels
 * bf16 and fp16: every conversion against plain arithmetic, and every kernel on 16-bit tensors against the float kernel
 * on the same numbers.
 *
 * The bound on a kernel: both compute in float and differ in the order of a few sums; then the 16-bit one rounds once.
 * So |y16 - y| <= u |y| + 2e-6 max|y| + half the smallest number, u = 2^-8 for bf16 and 2^-11 for fp16. */
#include "kernels/all.h"
#include "kernels/numbers/every.h"

#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- conversions ---- */

struct format {
  const char *name;
  enum sl_number type;
  int fraction_bits, min_exponent, max_exponent; /* of normal numbers 1.f * 2^e */
};

static const struct format formats[] = {{"bf16", SL_NUMBER_BF16, 7, -126, 127}, {"fp16", SL_NUMBER_F16, 10, -14, 15}};

/* The number that the bits say, by the definition of the format; NaN for a NaN. */
static double plain_value(const struct format *f, uint16_t bits) {
  const int exponent = (bits & 0x7fff) >> f->fraction_bits;
  const int fraction = bits & ((1 << f->fraction_bits) - 1), all_ones = (1 << (15 - f->fraction_bits)) - 1;
  double x = exponent == 0
                 ? ldexp(fraction, f->min_exponent - f->fraction_bits)
                 : ldexp((1 << f->fraction_bits) + fraction, exponent - 1 + f->min_exponent - f->fraction_bits);
  if (exponent == all_ones) x = fraction ? NAN : INFINITY;
  return bits & 0x8000u ? -x : x;
}

/* x rounded to the format, by rounding the multiple of the last place (ties to even) in double. */
static double plain_round(const struct format *f, float x) {
  int e;
  if (x == 0 || !isfinite(x)) return x;
  frexp((double)x, &e);
  e = e - 1 < f->min_exponent ? f->min_exponent : e - 1;
  double place = ldexp(1, e - f->fraction_bits), y = nearbyint((double)x / place) * place;
  return fabs(y) >= ldexp(1, f->max_exponent + 1) ? copysign(INFINITY, y) : y;
}

static int same(double a, double b) {
  return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static float widen(const struct format *f, uint16_t bits) {
  return f->type == SL_NUMBER_BF16 ? sl_half_from_bf16(bits) : sl_half_from_f16(bits);
}

static void all_16_bit_numbers_widen_exactly_and_come_back(void **state) {
  (void)state;
  static uint16_t bits[65536], back[65536];
  static float wide[65536];
  for (size_t k = 0; k < 2; k++) {
    const struct format *f = &formats[k];
    for (size_t i = 0; i < 65536; i++) bits[i] = (uint16_t)i;
    sl_convert(wide, SL_NUMBER_F32, bits, f->type, 65536);
    sl_convert(back, f->type, wide, SL_NUMBER_F32, 65536);
    for (size_t i = 0; i < 65536; i++) {
      const double x = plain_value(f, bits[i]);
      if (!same(wide[i], x) || !same(widen(f, bits[i]), x)) fail_msg("%s %04zx: %g, not %g", f->name, i, wide[i], x);
      if (isnan(x)) {
        assert_true(isnan(widen(f, back[i])) && back[i] >> (f->fraction_bits - 1) & 1); /* quiet */
      } else {
        assert_int_equal(back[i], bits[i]);
      }
    }
    memset(back, 0x5a, sizeof back);
    sl_convert(back, f->type, bits, f->type, 65536);
    for (size_t i = 0; i < 65536; i++) assert_true(same(plain_value(f, back[i]), plain_value(f, bits[i])));
  }
}

static void check_rounding(const struct format *f, const float *x, size_t n) {
  uint16_t *y = malloc(n * sizeof *y);
  assert_non_null(y);
  sl_convert(y, f->type, x, SL_NUMBER_F32, n);
  for (size_t i = 0; i < n; i++) {
    const double expected = plain_round(f, x[i]), got = plain_value(f, y[i]);
    const uint16_t one = f->type == SL_NUMBER_BF16 ? sl_half_to_bf16(x[i]) : sl_half_to_f16(x[i]);
    if (!same(got, expected) || one != y[i])
      fail_msg("%s of %a: %a, expected %a", f->name, (double)x[i], got, expected);
  }
  free(y);
}

/* Every midpoint between neighbours, both of its float neighbours, and a million random bit patterns. */
static void floats_round_to_nearest_even(void **state) {
  (void)state;
  enum { RANDOM = 1000003 };
  float *x = malloc((RANDOM + 6) * sizeof *x);
  assert_non_null(x);
  sl_philox_words((uint32_t *)(void *)x, &(struct sl_philox_key){23, 85, 0, 1}, 0, RANDOM);
  for (size_t k = 0; k < 2; k++) {
    const struct format *f = &formats[k];
    check_rounding(f, x, RANDOM);
    size_t n = 0;
    const uint16_t infinity = (uint16_t)(0x7fff & ~((1 << f->fraction_bits) - 1));
    for (uint16_t bits = 0; bits < infinity; bits++) {
      /* past the largest number lies the one that its successor would be */
      const double next = bits + 1 < infinity ? plain_value(f, (uint16_t)(bits + 1)) : ldexp(1, f->max_exponent + 1);
      const float middle = (float)((plain_value(f, bits) + next) / 2);
      const float near[6] = {middle,  nextafterf(middle, 0),  nextafterf(middle, INFINITY),
                             -middle, nextafterf(-middle, 0), nextafterf(-middle, -INFINITY)};
      if (n + 6 > RANDOM) check_rounding(f, x, n), n = 0;
      memcpy(x + n, near, sizeof near), n += 6;
    }
    check_rounding(f, x, n);
    sl_philox_words((uint32_t *)(void *)x, &(struct sl_philox_key){23, 85, 0, 1}, 0, RANDOM);
  }
  free(x);
}

/* The machine's instructions and the portable code give the same bits, for every 16-bit number and for floats 1009 apart: all
 * signs and exponents, NaNs and subnormal numbers among them, in runs of every length up to three vectors. */
static void instructions_give_the_portable_bits(void **state) {
  (void)state;
  enum { RUN = 49 };
  static uint16_t bits[65536];
  static float wide[65536];
  for (size_t i = 0; i < 65536; i++) bits[i] = (uint16_t)i;
  for (size_t k = 0; k < 2; k++) {
    const int bf16 = formats[k].type == SL_NUMBER_BF16;
    sl_convert(wide, SL_NUMBER_F32, bits, formats[k].type, 65536);
    for (size_t i = 0; i < 65536; i++) {
      const uint32_t got = sl_half_bits_of(wide[i]), expected = sl_half_bits_of(widen(&formats[k], bits[i]));
      if (got != expected) fail_msg("%s %04zx widens to %08x, portably %08x", formats[k].name, i, got, expected);
    }
    size_t n = 1;
    for (uint64_t first = 0; first < 0x100000000u; first += 1009 * n, n = n % RUN + 1) {
      float x[RUN];
      uint16_t y[RUN + 1] = {0};
      for (size_t i = 0; i < n; i++) x[i] = sl_half_float_of((uint32_t)(first + 1009 * i));
      y[n] = 0x5a5a;
      sl_convert_chunk(y, formats[k].type, x, SL_NUMBER_F32, n);
      for (size_t i = 0; i < n; i++) {
        const uint16_t expected = bf16 ? sl_half_to_bf16(x[i]) : sl_half_to_f16(x[i]);
        if (y[i] != expected)
          fail_msg("%s of %08x is %04x, portably %04x", formats[k].name, sl_half_bits_of(x[i]), y[i], expected);
      }
      assert_int_equal(y[n], 0x5a5a);
    }
  }
}

static void sums_across_types_round_once(void **state) {
  (void)state;
  enum { N = 37 * 1201 };
  static float values[2][N];
  static uint32_t flat_dst[N], flat_src[N];
  for (uint32_t i = 0; i < 2; i++) sl_philox_uniform(values[i], &(struct sl_philox_key){4, 1, 0, i}, 0, N, -2, 2);
  for (int d = 0; d < 3; d++) {
    for (int s = 0; s < 3; s++) {
      const enum sl_number to = (enum sl_number)d, from = (enum sl_number)s;
      static float a[N], b[N], got[N];
      sl_convert(flat_dst, to, values[0], SL_NUMBER_F32, N), sl_convert(a, SL_NUMBER_F32, flat_dst, to, N);
      sl_convert(flat_src, from, values[1], SL_NUMBER_F32, N), sl_convert(b, SL_NUMBER_F32, flat_src, from, N);
      sl_convert_add(flat_dst, to, flat_src, from, N);
      sl_convert(got, SL_NUMBER_F32, flat_dst, to, N);
      for (size_t i = 0; i < N; i++) {
        const float sum = a[i] + b[i];
        assert_true((double)got[i] == (d == 0 ? (double)sum : plain_round(&formats[d - 1], sum)));
      }
    }
  }
}

/* ---- every kernel on the same numbers ---- */

enum { B = 5, T = 71, H = 6, KV = 2, D = 13, C = H * D, N = B * T, V = 1031, P = 80, CELLS = N * C };

/*  name       elements     low  high */
#define TENSORS(X)                                                                                                     \
  X(x, CELLS, -2, 3)                                                                                                   \
  X(dout, CELLS, -1, 1)                                                                                                \
  X(weight, C, -1, 1)                                                                                                  \
  X(bias, C, -1, 1)                                                                                                    \
  X(residual, CELLS, -1, 1)                                                                                            \
  X(gate_up, 2 * CELLS, -4, 4)                                                                                         \
  X(qkv, 3 * CELLS, -2, 2)                                                                                             \
  X(wte, V *C, -1, 1)                                                                                                  \
  X(wpe, P *C, -1, 1)                                                                                                  \
  X(logits, N *V, -4, 4)                                                                                               \
  X(ln, CELLS, 0, 0)                                                                                                   \
  X(dln, CELLS, -1, 1)                                                                                                 \
  X(ln_grads, 2 * C, -1, 1)                                                                                            \
  X(rms, CELLS, 0, 0)                                                                                                  \
  X(drms, CELLS, -1, 1)                                                                                                \
  X(rms_grad, C, -1, 1)                                                                                                \
  X(rope, CELLS, -1, 1)                                                                                                \
  X(swiglu, CELLS, 0, 0)                                                                                               \
  X(dgate_up, 2 * CELLS, 0, 0)                                                                                         \
  X(gelu, CELLS, 0, 0)                                                                                                 \
  X(dgelu, CELLS, 0, 0)                                                                                                \
  X(relu, CELLS, 0, 0)                                                                                                 \
  X(drelu, CELLS, 0, 0)                                                                                                \
  X(dmse, CELLS, 0, 0)                                                                                                 \
  X(dropped, CELLS, 0, 0)                                                                                              \
  X(sum, CELLS, 0, 0)                                                                                                  \
  X(masked_sum, CELLS, 0, 0)                                                                                           \
  X(embedding, CELLS, 0, 0)                                                                                            \
  X(masked_embedding, CELLS, 0, 0)                                                                                     \
  X(dwte, V *C, -1, 1)                                                                                                 \
  X(dwpe, P *C, -1, 1)                                                                                                 \
  X(masked_dwte, V *C, -1, 1)                                                                                          \
  X(probs, B *H *T *T, 0, 1)                                                                                           \
  X(given_probs, B *H *T *T, 0, 1)                                                                                     \
  X(attention, CELLS, 0, 0)                                                                                            \
  X(dqkv, 3 * CELLS, 0, 0)                                                                                             \
  X(dqkv_masked, 3 * CELLS, 0, 0)                                                                                      \
  X(flash, CELLS, 0, 0)                                                                                                \
  X(dflash, 3 * CELLS, 0, 0)                                                                                           \
  X(dflash_masked, 3 * CELLS, 0, 0)                                                                                    \
  X(filled, CELLS, 0, 0)                                                                                               \
  X(biased, CELLS, -1, 1)                                                                                              \
  X(dbias, C, -1, 1)

enum name {
#define X(name, n, low, high) t_##name,
  TENSORS(X)
#undef X
      TENSOR_COUNT
};

static const struct {
  const char *name;
  size_t n;
  float low, high;
} tensors[] = {
#define X(name, n, low, high) {#name, n, low, high},
    TENSORS(X)
#undef X
};

struct set {
  void *t[TENSOR_COUNT];
  float mean[N], rstd[N], rms_rstd[N], lse[B * H * T];
  double losses[N], squares, mse, loss;
};

/* Numbers that `rounded_to` holds exactly, in memory as `type`. */
static struct set *new_set(enum sl_number type, enum sl_number rounded_to) {
  struct set *set = calloc(1, sizeof *set);
  assert_non_null(set);
  for (size_t i = 0; i < TENSOR_COUNT; i++) {
    const size_t n = tensors[i].n;
    float *wide = malloc(n * sizeof *wide);
    uint16_t *narrow = malloc(n * sizeof *narrow);
    assert_true(wide && narrow && (set->t[i] = malloc(n * sizeof *wide)));
    sl_philox_uniform(wide, &(struct sl_philox_key){5, 2, 0, (uint32_t)i}, 0, n, tensors[i].low, tensors[i].high);
    sl_convert(narrow, rounded_to, wide, SL_NUMBER_F32, n);
    sl_convert(set->t[i], type, narrow, rounded_to, n);
    free(wide), free(narrow);
  }
  return set;
}

static void free_set(struct set *set) {
  for (size_t i = 0; i < TENSOR_COUNT; i++) free(set->t[i]);
  free(set);
}

static const struct sl_dropout drop = {.p = 0.3f, .key = {21, 2, 5, 13}, .first_element = 4099, .row_stride = C + 4};
static const struct sl_attention_shape heads = {B, T, H, KV, D, 3 * C, 3 * C, 3 * C, C, H};

static void *at(void *tensor, enum sl_number type, size_t element) {
  return (char *)tensor + element * sl_convert_bytes(type);
}

#define TENSOR(name) (s->t[t_##name])

static void run_rows(const struct sl_kernels *k, struct set *s, enum sl_number type, void *work) {
  k->layernorm_forward(TENSOR(ln), s->mean, s->rstd, TENSOR(x), TENSOR(weight), TENSOR(bias), N, C, 1e-5f);
  k->layernorm_backward(TENSOR(dln), 1, TENSOR(ln_grads), at(TENSOR(ln_grads), type, C), 1, TENSOR(dout), TENSOR(x),
                        TENSOR(weight), s->mean, s->rstd, N, C, work);
  k->llama_rmsnorm_forward(TENSOR(rms), s->rms_rstd, TENSOR(x), TENSOR(weight), N, C, 1e-5f);
  k->llama_rmsnorm_backward(TENSOR(drms), 1, TENSOR(rms_grad), 1, TENSOR(dout), TENSOR(x), TENSOR(weight), s->rms_rstd,
                            N, C, work);
  k->llama_rope(TENSOR(rope), B, T, 3, 26, C, 7, 10000, -1);
  k->llama_swiglu_forward(TENSOR(swiglu), TENSOR(gate_up), at(TENSOR(gate_up), type, C), N, C, 2 * C);
  k->llama_swiglu_backward(TENSOR(dgate_up), at(TENSOR(dgate_up), type, C), TENSOR(dout), TENSOR(gate_up),
                           at(TENSOR(gate_up), type, C), N, C, 2 * C);
  k->gelu_forward(TENSOR(gelu), TENSOR(x), TENSOR(bias), N, C);
  k->gelu_backward(TENSOR(dgelu), TENSOR(dout), TENSOR(x), TENSOR(bias), N, C);
  k->mlp_relu_forward(TENSOR(relu), TENSOR(x), TENSOR(bias), N, C);
  k->mlp_relu_backward(TENSOR(drelu), TENSOR(dout), TENSOR(x), N, C);
  k->mlp_mse(&s->mse, TENSOR(dmse), TENSOR(x), TENSOR(residual), CELLS, 0.37f, 0, work);
  k->dropout_forward(TENSOR(dropped), TENSOR(x), N, C, &drop);
  k->dropout_residual(TENSOR(sum), TENSOR(residual), TENSOR(x), TENSOR(bias), N, C, NULL);
  k->dropout_residual(TENSOR(masked_sum), TENSOR(residual), TENSOR(x), TENSOR(bias), N, C, &drop);
}

static void run_all(enum sl_number type, struct set *s) {
  const struct sl_kernels *k = sl_kernels_of(type);
  const struct sl_embedding_shape table = {B, T, C, 0, V, 3};
  int32_t tokens[N], targets[N];
  const size_t bytes = sl_attention_backward_scratch_bytes(&heads, 3) +
                       sl_flash_attention_backward_scratch_bytes(&heads, 3) + sl_layernorm_scratch_bytes(N, C);
  void *work = malloc(bytes);
  assert_non_null(work);
  /* One token stands in most places: a sum that is rounded at each occurrence would stop growing. */
  for (int i = 0; i < N; i++) tokens[i] = i % 3 ? 17 : i * 7919 % V, targets[i] = i % 11 ? i * 31 % V : -1;
  run_rows(k, s, type, work);
  k->embedding_forward(TENSOR(embedding), tokens, TENSOR(wte), TENSOR(wpe), &table, NULL);
  k->embedding_forward(TENSOR(masked_embedding), tokens, TENSOR(wte), TENSOR(wpe), &table, &drop);
  k->embedding_backward(TENSOR(dwte), 1, TENSOR(dwpe), P, 0, TENSOR(dout), tokens, &table, NULL);
  k->embedding_backward(TENSOR(masked_dwte), 1, NULL, 0, 0, TENSOR(dout), tokens, &table, &drop);
  k->classifier_fused(&s->loss, s->losses, TENSOR(logits), targets, N, V, V, 0.25f, 0);
  for (int masked = 0; masked < 2; masked++) {
    void *q = TENSOR(qkv), *dq = masked ? TENSOR(dqkv_masked) : TENSOR(dqkv);
    const struct sl_dropout *dropout = masked ? &drop : NULL;
    k->attention_forward(TENSOR(attention), TENSOR(probs), NULL, q, at(q, type, C), at(q, type, 2 * C), &heads, dropout,
                         work, bytes);
    k->attention_backward(dq, at(dq, type, C), at(dq, type, 2 * C), TENSOR(dout), q, at(q, type, C), at(q, type, 2 * C),
                          TENSOR(given_probs), NULL, &heads, dropout, work, bytes);
    dq = masked ? TENSOR(dflash_masked) : TENSOR(dflash);
    k->flash_attention_forward(TENSOR(flash), s->lse, q, at(q, type, C), at(q, type, 2 * C), &heads, dropout, work,
                               bytes);
    k->flash_attention_backward(dq, at(dq, type, C), at(dq, type, 2 * C), TENSOR(dout), q, at(q, type, C),
                                at(q, type, 2 * C), TENSOR(residual), s->lse, &heads, dropout, work, bytes);
  }
  k->reduce_sum_squares(&s->squares, TENSOR(x), CELLS, 0, work);
  k->reduce_fill(TENSOR(filled), 0.37f, CELLS);
  k->reduce_bias_add(TENSOR(biased), TENSOR(bias), N, C);
  k->reduce_bias_backward(TENSOR(dbias), TENSOR(dout), N, C, 1);
  free(work);
}

static void compare(const struct format *f, size_t i, const void *narrow, const float *exact) {
  const size_t n = tensors[i].n;
  const double u = ldexp(0.5, -f->fraction_bits), smallest = ldexp(1, f->min_exponent - f->fraction_bits);
  float *y = malloc(n * sizeof *y);
  double largest = 0;
  assert_non_null(y);
  sl_convert(y, SL_NUMBER_F32, narrow, f->type, n);
  for (size_t j = 0; j < n; j++) largest = fmax(largest, fabs((double)exact[j]));
  for (size_t j = 0; j < n; j++) {
    const double bound = u * fabs((double)exact[j]) + 2e-6 * largest + smallest / 2;
    if (!(fabs((double)y[j] - (double)exact[j]) <= bound)) {
      fail_msg("%s %s[%zu]: %.9g, in float %.9g", f->name, tensors[i].name, j, (double)y[j], (double)exact[j]);
    }
  }
  free(y);
}

static void kernels_on_16_bit_tensors_round_what_the_float_kernels_say(void **state) {
  (void)state;
  for (size_t k = 0; k < 2; k++) {
    struct set *narrow = new_set(formats[k].type, formats[k].type), *wide = new_set(SL_NUMBER_F32, formats[k].type);
    run_all(formats[k].type, narrow);
    run_all(SL_NUMBER_F32, wide);
    for (size_t i = 0; i < TENSOR_COUNT; i++) compare(&formats[k], i, narrow->t[i], wide->t[i]);
    for (size_t i = 0; i < N; i++) {
      assert_true(fabsf(narrow->mean[i] - wide->mean[i]) < 1e-6f);
      assert_true(fabsf(narrow->rstd[i] / wide->rstd[i] - 1) < 1e-6f);
      assert_true(fabsf(narrow->rms_rstd[i] / wide->rms_rstd[i] - 1) < 1e-6f);
      assert_true(fabs(narrow->losses[i] - wide->losses[i]) <= 1e-6 * fabs(wide->losses[i]));
    }
    assert_true(fabs(narrow->loss / wide->loss - 1) < 1e-6);
    assert_true(fabs(narrow->squares / wide->squares - 1) < 1e-12);
    assert_true(fabs(narrow->mse / wide->mse - 1) < 1e-12);
    free_set(narrow), free_set(wide);
  }
}

static void the_number_of_threads_does_not_show(void **state) {
  (void)state;
  const int before = omp_get_max_threads();
  for (size_t k = 0; k < 2; k++) {
    struct set *one = NULL;
    for (int threads = 1; threads <= 3; threads++) {
      struct set *many = new_set(formats[k].type, formats[k].type);
      omp_set_num_threads(threads);
      run_all(formats[k].type, many);
      for (size_t i = 0; one && i < TENSOR_COUNT; i++) {
        if (memcmp(many->t[i], one->t[i], tensors[i].n * 2)) fail_msg("%s on %d threads", tensors[i].name, threads);
      }
      if (one) assert_memory_equal(many->losses, one->losses, sizeof one->losses);
      if (one) free_set(many);
      if (!one) one = many;
    }
    free_set(one);
  }
  omp_set_num_threads(before);
}

/* ---- non-finite numbers ---- */

/* Large numbers of the format, then one infinity or NaN anywhere. */
static void a_sum_of_squares_is_finite_exactly_when_every_number_is(void **state) {
  (void)state;
  enum { M = 30011 };
  static uint16_t x[M];
  static const uint16_t bad[2][3] = {{0x7f80, 0xff80, 0x7fc1}, {0x7c00, 0xfc00, 0x7e01}}, large[2] = {0x7f7f, 0xfbff};
  double sum, *work = malloc(sl_reduce_scratch_bytes(M));
  for (size_t k = 0; k < 2; k++) {
    const struct sl_kernels *kernels = sl_kernels_of(formats[k].type);
    for (size_t i = 0; i < 4; i++) {
      for (size_t j = 0; j < M; j++) x[j] = large[k];
      if (i < 3) x[M - 1 - 10007 * i] = bad[k][i];
      kernels->reduce_sum_squares(&sum, x, M, 0, work);
      assert_int_equal(isfinite(sum) != 0, i == 3);
    }
    assert_true(fabs(sum / (M * pow(plain_value(&formats[k], large[k]), 2)) - 1) < 1e-12);
  }
  free(work);
}

/* ---- optimizers with master weights ---- */

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

/* The table and the names with a suffix are the same kernels. */
static void suffixed_names_are_the_table(void **state) {
  (void)state;
  uint16_t x[7], y[7], z[7];
  for (int i = 0; i < 7; i++) x[i] = (uint16_t)(0x3c01 + 97 * i);
  sl_gelu_forward_bf16(y, x, NULL, 1, 7);
  sl_kernels_bf16.gelu_forward(z, x, NULL, 1, 7);
  assert_memory_equal(y, z, sizeof y);
  sl_gelu_forward_f16(y, x, NULL, 1, 7);
  assert_memory_not_equal(y, z, sizeof y);
  sl_kernels_f16.gelu_forward(z, x, NULL, 1, 7);
  assert_memory_equal(y, z, sizeof y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_16_bit_numbers_widen_exactly_and_come_back),
      cmocka_unit_test(floats_round_to_nearest_even),
      cmocka_unit_test(instructions_give_the_portable_bits),
      cmocka_unit_test(sums_across_types_round_once),
      cmocka_unit_test(kernels_on_16_bit_tensors_round_what_the_float_kernels_say),
      cmocka_unit_test(the_number_of_threads_does_not_show),
      cmocka_unit_test(a_sum_of_squares_is_finite_exactly_when_every_number_is),
      cmocka_unit_test(master_weights_follow_the_formulas),
      cmocka_unit_test(suffixed_names_are_the_table),
  };
  return cmocka_run_group_tests_name("16-bit kernels", tests, NULL, NULL);
}

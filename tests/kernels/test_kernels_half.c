/* label: unit
   libs: kernels
 * Every kernel on 16-bit tensors against the float kernel on the same numbers.
 *
 * The bound on a kernel: both compute in float and differ in the order of a few sums; then the 16-bit one rounds once.
 * So |y16 - y| <= u |y| + 2e-6 max|y| + half the smallest number, u = 2^-8 for bf16 and 2^-11 for fp16. */
#include "kernels/numbers/every.h"
#include "tests/support/half_formats.h"

#include <omp.h>

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
static const struct sl_attention_shape heads = {B, T, H, KV, D, 3 * C, 3 * C, 3 * C, C, H, .scale = 0};

static void *at(void *tensor, enum sl_number type, size_t element) {
  return (char *)tensor + element * sl_convert_bytes(type);
}

#define TENSOR(name) (s->t[t_##name])

static void run_rows(const struct sl_kernels *k, struct set *s, enum sl_number type, void *work) {
  k->layernorm_forward(TENSOR(ln), s->mean, s->rstd, TENSOR(x), TENSOR(weight), TENSOR(bias), N, C, 1e-5f, 0);
  k->layernorm_backward(TENSOR(dln), 1, TENSOR(ln_grads), at(TENSOR(ln_grads), type, C), 0, 1, TENSOR(dout), TENSOR(x),
                        TENSOR(weight), s->mean, s->rstd, N, C, 0, work);
  k->llama_rmsnorm_forward(TENSOR(rms), s->rms_rstd, TENSOR(x), TENSOR(weight), N, C, 1e-5f, 0);
  k->llama_rmsnorm_backward(TENSOR(drms), 1, TENSOR(rms_grad), 0, 1, TENSOR(dout), TENSOR(x), TENSOR(weight),
                            s->rms_rstd, N, C, 0, work);
  const struct sl_rope_shape turned = {.B = B, .T = T, .heads = 3, .D = 26, .stride = C, .step = 26};
  const struct sl_rope by = {.base = 10000};
  k->llama_rope(TENSOR(rope), &turned, 7, &by, -1);
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

/* The gradients of tables of 16 bits in fp32 are those of fp32 kernels, unrounded; with dropout, and one table of two
 * added to. */
static void embedding_gradients_in_fp32(void **state) {
  (void)state;
  const struct sl_embedding_shape table = {B, T, C, 0, V, 3, .scale = 0};
  int32_t tokens[N];
  for (int i = 0; i < N; i++) tokens[i] = i % 3 ? 17 : i * 7919 % V;
  for (enum sl_number type = SL_NUMBER_BF16; type <= SL_NUMBER_F16; type++) {
    static float sums[2][(V + P) * C];
    for (int narrow = 0; narrow < 2; narrow++) {
      struct set *s = new_set(narrow ? type : SL_NUMBER_F32, type);
      const struct sl_kernels *k = sl_kernels_of(narrow ? type : SL_NUMBER_F32);
      for (size_t i = 0; i < (V + P) * C; i++) sums[narrow][i] = 0.125f + (float)i * 0x1p-20f;
      for (int dropped = 0; dropped < 2; dropped++)
        k->embedding_backward(sums[narrow], 1, sums[narrow] + V * C, P, dropped, 1, TENSOR(dout), tokens, &table,
                              dropped ? &drop : NULL);
      free_set(s);
    }
    assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
  }
}

/* Norms leave the gradients of 16-bit weights in fp32, where they are asked to, as fp32 kernels do, unrounded. */
static void norm_gradients_in_fp32(void **state) {
  (void)state;
  void *work = malloc(sl_layernorm_scratch_bytes(N, C));
  assert_non_null(work);
  for (enum sl_number type = SL_NUMBER_BF16; type <= SL_NUMBER_F16; type++) {
    float sums[2][3 * C];
    for (int narrow = 0; narrow < 2; narrow++) {
      const enum sl_number of = narrow ? type : SL_NUMBER_F32;
      const struct sl_kernels *k = sl_kernels_of(of);
      struct set *s = new_set(of, type);
      float *sum = sums[narrow];
      for (size_t c = 0; c < 3 * C; c++) sum[c] = 0.125f + (float)c * 0x1p-20f;
      k->layernorm_forward(TENSOR(ln), s->mean, s->rstd, TENSOR(x), TENSOR(weight), TENSOR(bias), N, C, 1e-5f, 0);
      k->llama_rmsnorm_forward(TENSOR(rms), s->rms_rstd, TENSOR(x), TENSOR(weight), N, C, 1e-5f, 0);
      k->layernorm_backward(TENSOR(dln), 1, sum, sum + C, 1, 1, TENSOR(dout), TENSOR(x), TENSOR(weight), s->mean,
                            s->rstd, N, C, 0, work);
      k->llama_rmsnorm_backward(TENSOR(drms), 1, sum + 2 * C, 1, 0, TENSOR(dout), TENSOR(x), TENSOR(weight),
                                s->rms_rstd, N, C, 0, work);
      free_set(s);
    }
    /* up to the order of sums, which a compiler may choose for each type */
    for (size_t c = 0; c < 3 * C; c++) assert_true(fabsf(sums[0][c] - sums[1][c]) <= 1e-5f * (1 + fabsf(sums[0][c])));
  }
  free(work);
}

static void run_all(enum sl_number type, struct set *s) {
  const struct sl_kernels *k = sl_kernels_of(type);
  const struct sl_embedding_shape table = {B, T, C, 0, V, 3, .scale = 0};
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
  k->embedding_backward(TENSOR(dwte), 1, TENSOR(dwpe), P, 0, 0, TENSOR(dout), tokens, &table, NULL);
  k->embedding_backward(TENSOR(masked_dwte), 1, NULL, 0, 0, 0, TENSOR(dout), tokens, &table, &drop);
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
      cmocka_unit_test(norm_gradients_in_fp32),
      cmocka_unit_test(embedding_gradients_in_fp32),
      cmocka_unit_test(kernels_on_16_bit_tensors_round_what_the_float_kernels_say),
      cmocka_unit_test(the_number_of_threads_does_not_show),
      cmocka_unit_test(a_sum_of_squares_is_finite_exactly_when_every_number_is),
      cmocka_unit_test(suffixed_names_are_the_table),
  };
  return cmocka_run_group_tests_name("16-bit kernels", tests, NULL, NULL);
}

/* Rates of the host kernels at the shapes of GPT-2 124M: B=4, T=256, C=768, H=12, V=50257.
 *
 * Prints one line per kernel: median time, and GB/s counted from the bytes that must move once, or GFLOP/s. Not a test.
 * usage: bench_kernels [NAME-PREFIX] */
#include "kernels/all.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { B = 4, T = 256, C = 768, H = 12, D = C / H, V = 50257, ROWS = B * T, REPEATS = 9 };

static const size_t adam_n = (size_t)32 << 20;

static float *a, *b, *c, *d, *e, *probs;
static double *losses;
static int32_t tokens[ROWS];
static void *scratch;
static size_t scratch_bytes;
static double sum;
static const struct sl_dropout drop = {.p = 0.1f, .key = {7, 1, 3, 5}, .row_stride = C};
static const struct sl_attention_shape heads = {B, T, H, H, D, 3 * C, 3 * C, 3 * C, C, H, .scale = 0};
static const struct sl_embedding_shape table = {B, T, C, 0, V, 0, .scale = 0};
static const struct sl_adam adam = {1e-4, 0.9, 0.95, 1e-8, 0.1, 1, 1, 1, 7};
static const struct sl_sgd sgd = {1e-4, 0.9, 0, 0.1, 1, 0, 7};

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *x, const void *y) {
  double p = *(const double *)x, q = *(const double *)y;
  return (p > q) - (p < q);
}

static void measure(const char *only, const char *name, void (*run)(void), double amount, const char *unit) {
  if (only && strncmp(only, name, strlen(only)) != 0) return;
  double t[REPEATS];
  run();
  for (int i = 0; i < REPEATS; i++) {
    double start = seconds();
    run();
    t[i] = seconds() - start;
  }
  qsort(t, REPEATS, sizeof *t, by_value);
  printf("%-22s %10.3f ms %9.2f %s\n", name, 1e3 * t[REPEATS / 2], amount / t[REPEATS / 2] * 1e-9, unit);
}

static void run_copy(void) {
  sl_convert(a, SL_NUMBER_F32, b, SL_NUMBER_F32, adam_n);
}
static void run_add(void) {
  sl_convert_add(a, SL_NUMBER_F32, b, SL_NUMBER_F32, adam_n);
}
static void run_sum_squares(void) {
  sl_reduce_sum_squares(&sum, b, adam_n, 0, scratch);
}
static void run_adam(void) {
  sl_optimizer_adam(a, c, d, b, adam_n, &adam);
}
static void run_sgd(void) {
  sl_optimizer_sgd(a, c, b, adam_n, &sgd);
}
static void run_normal(void) {
  sl_philox_normal(e, &drop.key, 1, (size_t)ROWS * 4 * C, 0, 0.02f);
}
static void run_layernorm(void) {
  sl_layernorm_forward(a, e, e + ROWS, b, c, c + C, ROWS, C, 1e-5f, 0);
}
static void run_layernorm_backward(void) {
  sl_layernorm_backward(a, 1, c, c + C, 0, 1, b, d, d, e, e + ROWS, ROWS, C, 0, scratch);
}
static void run_gelu(void) {
  sl_gelu_forward(a, b, c, ROWS, 4 * (size_t)C);
}
static void run_gelu_backward(void) {
  sl_gelu_backward(a, b, d, c, ROWS, 4 * (size_t)C);
}
static void run_bias_backward(void) {
  sl_reduce_bias_backward(c, b, ROWS, 4 * (size_t)C, 1);
}
static void run_residual(void) {
  sl_dropout_residual(a, b, d, c, ROWS, C, NULL);
}
static void run_residual_dropout(void) {
  sl_dropout_residual(a, b, d, c, ROWS, C, &drop);
}
static void run_embedding(void) {
  sl_embedding_forward(e, tokens, a, b, &table, NULL);
}
static void run_embedding_backward(void) {
  sl_embedding_backward(a, 1, b, T, 0, 0, e, tokens, &table, NULL);
}
static void run_classifier(void) {
  sl_classifier_fused(&sum, losses, a, tokens, ROWS, V, V, 1.0f / ROWS, 0);
}
static void run_attention(void) {
  sl_attention_forward(b, probs, NULL, a, a + C, a + 2 * C, &heads, NULL, scratch, scratch_bytes);
}
static void run_attention_backward(void) {
  sl_attention_backward(c, c + C, c + 2 * C, b, a, a + C, a + 2 * C, probs, NULL, &heads, NULL, scratch, scratch_bytes);
}
static void run_attention_dropout(void) {
  sl_attention_forward(b, probs, NULL, a, a + C, a + 2 * C, &heads, &drop, scratch, scratch_bytes);
}

static void run_flash(void) {
  sl_flash_attention_forward(b, e, a, a + C, a + 2 * C, &heads, NULL, scratch, scratch_bytes);
}
static void run_flash_backward(void) {
  sl_flash_attention_backward(c, c + C, c + 2 * C, d, a, a + C, a + 2 * C, b, e, &heads, NULL, scratch, scratch_bytes);
}
static void run_flash_dropout(void) {
  sl_flash_attention_forward(b, e, a, a + C, a + 2 * C, &heads, &drop, scratch, scratch_bytes);
}

/* ---- 16-bit tensors: the same arrays, their front halves ---- */

static enum sl_number type;
static const struct sl_kernels *k;

static void *part(void *tensor, size_t element) {
  return (uint16_t *)tensor + element;
}
static void run_narrow(void) {
  sl_convert(a, type, b, SL_NUMBER_F32, adam_n);
}
static void run_widen(void) {
  sl_convert(b, SL_NUMBER_F32, a, type, adam_n);
}
static void run_master_adam(void) {
  sl_master_adam(b, c, d, a, type, a, type, adam_n, &adam);
}
static void run_stored_sum_squares(void) {
  k->reduce_sum_squares(&sum, a, adam_n, 0, scratch);
}
static void run_stored_layernorm(void) {
  k->layernorm_forward(b, e, e + ROWS, a, c, c + C, ROWS, C, 1e-5f, 0);
}
static void run_stored_layernorm_backward(void) {
  k->layernorm_backward(a, 1, c, c + C, 0, 1, b, d, d, e, e + ROWS, ROWS, C, 0, scratch);
}
static void run_stored_gelu(void) {
  k->gelu_forward(b, a, c, ROWS, 4 * (size_t)C);
}
static void run_stored_gelu_backward(void) {
  k->gelu_backward(b, a, d, c, ROWS, 4 * (size_t)C);
}
static void run_stored_classifier(void) {
  k->classifier_fused(&sum, losses, a, tokens, ROWS, V, V, 1.0f / ROWS, 0);
}
static void run_stored_bias_backward(void) {
  k->reduce_bias_backward(c, b, ROWS, 4 * (size_t)C, 1);
}
static void run_stored_residual(void) {
  k->dropout_residual(a, b, d, c, ROWS, C, NULL);
}
static void run_stored_residual_dropout(void) {
  k->dropout_residual(a, b, d, c, ROWS, C, &drop);
}
static void run_stored_embedding(void) {
  k->embedding_forward(e, tokens, a, b, &table, NULL);
}
static void run_stored_embedding_backward(void) {
  k->embedding_backward(a, 1, b, T, 0, 0, e, tokens, &table, NULL);
}
static void run_stored_attention(void) {
  k->attention_forward(b, probs, NULL, a, part(a, C), part(a, 2 * C), &heads, NULL, scratch, scratch_bytes);
}
static void run_stored_attention_backward(void) {
  k->attention_backward(c, part(c, C), part(c, 2 * C), b, a, part(a, C), part(a, 2 * C), probs, NULL, &heads, NULL,
                        scratch, scratch_bytes);
}
static void run_stored_flash(void) {
  k->flash_attention_forward(b, e, a, part(a, C), part(a, 2 * C), &heads, NULL, scratch, scratch_bytes);
}
static void run_stored_flash_backward(void) {
  k->flash_attention_backward(c, part(c, C), part(c, 2 * C), d, a, part(a, C), part(a, 2 * C), b, e, &heads, NULL,
                              scratch, scratch_bytes);
}

/* Each kernel reads what the one before left; numbers that have grown are drawn anew where that matters. */
static void measure_stored(const char *only, const char *name, double pairs) {
  static const struct {
    const char *name;
    void (*run)(void);
    double amount; /* bytes per element, or flops per pair of query and key */
    int flops;
  } rows[] = {{"narrow", run_narrow, 6.0, 0},
              {"widen", run_widen, 6.0, 0},
              {"sum_squares", run_stored_sum_squares, 2.0, 0},
              {"master_adamw", run_master_adam, 28.0, 0},
              {"classifier", run_stored_classifier, 4.0 * V / 4 / C, 0},
              {"gelu", run_stored_gelu, 4.0, 0},
              {"gelu_backward", run_stored_gelu_backward, 6.0, 0},
              {"layernorm", run_stored_layernorm, 1.0, 0},
              {"layernorm_backward", run_stored_layernorm_backward, 2.0, 0},
              {"bias_backward", run_stored_bias_backward, 2.0, 0},
              {"residual", run_stored_residual, 1.5, 0},
              {"residual_dropout", run_stored_residual_dropout, 1.5, 0},
              {"embedding", run_stored_embedding, 1.0, 0},
              {"embedding_backward", run_stored_embedding_backward, 1.5, 0},
              {"attention", run_stored_attention, 4, 1},
              {"attention_backward", run_stored_attention_backward, 8, 1},
              {"flash", run_stored_flash, 4, 1},
              {"flash_backward", run_stored_flash_backward, 10, 1}};
  k = sl_kernels_of(type);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char label[64];
    const double elements = i < 4 ? (double)adam_n : ROWS * 4.0 * C;
    snprintf(label, sizeof label, "%s_%s", name, rows[i].name);
    sl_philox_uniform(b, &drop.key, 0, adam_n, -1, 1);
    sl_convert(a, type, b, SL_NUMBER_F32, adam_n), sl_convert_chunk(c, type, b, SL_NUMBER_F32, 4 * (size_t)C * ROWS);
    if (i == 3) sl_reduce_fill(d, 0.5f, adam_n);
    if (i > 3) sl_convert(d, type, b, SL_NUMBER_F32, adam_n), memcpy(b, a, adam_n * sizeof(uint16_t));
    if (rows[i].run == run_stored_flash_backward) run_stored_flash();
    if (rows[i].run == run_stored_attention_backward) run_stored_attention();
    measure(only, label, rows[i].run, rows[i].flops ? rows[i].amount * pairs : rows[i].amount * elements,
            rows[i].flops ? "GFLOP/s" : "GB/s");
  }
}

static float *numbers(size_t n, uint32_t tensor) {
  float *x = malloc(n * sizeof *x);
  struct sl_philox_key key = {11, 0, 0, tensor};
  if (!x) abort();
  sl_philox_uniform(x, &key, 0, n, -1, 1);
  return x;
}

int main(int argc, char **argv) {
  const char *only = argc > 1 ? argv[1] : NULL;
  const double n = (double)adam_n, x = 4.0 * ROWS * C, wide = 4 * x, logits = 4.0 * ROWS * V;
  const double pairs = (double)B * H * T * (T + 1) / 2 * D;
  size_t large = (size_t)ROWS * V > adam_n ? (size_t)ROWS * V : adam_n;
  a = numbers(large, 1), b = numbers(adam_n, 2), c = numbers(adam_n, 3), d = numbers(adam_n, 4);
  e = numbers((size_t)ROWS * 4 * C, 5), probs = numbers((size_t)B * H * T * T, 6);
  losses = malloc(ROWS * sizeof *losses);
  scratch_bytes = sl_attention_backward_scratch_bytes(&heads, omp_get_max_threads()) +
                  sl_flash_attention_backward_scratch_bytes(&heads, omp_get_max_threads()) + ((size_t)1 << 22);
  scratch = malloc(scratch_bytes);
  if (!losses || !scratch) abort();
  sl_reduce_fill(d, 0.5f, adam_n); /* Adam's second moment is not negative */
  for (int i = 0; i < ROWS; i++) tokens[i] = (i * 7919) % V;
  printf("threads: %d\n", omp_get_max_threads());
  measure(only, "copy", run_copy, 8 * n, "GB/s");
  measure(only, "add", run_add, 12 * n, "GB/s");
  measure(only, "sum_squares", run_sum_squares, 4 * n, "GB/s");
  measure(only, "adamw", run_adam, 28 * n, "GB/s");
  measure(only, "sgd", run_sgd, 20 * n, "GB/s");
  measure(only, "normal", run_normal, ROWS * 4.0 * C, "Gnumber/s");
  measure(only, "classifier", run_classifier, 2 * logits, "GB/s");
  sl_philox_uniform(a, &drop.key, 0, (size_t)ROWS * 4 * C, -1, 1);
  measure(only, "layernorm", run_layernorm, 2 * x, "GB/s");
  measure(only, "layernorm_backward", run_layernorm_backward, 4 * x, "GB/s");
  measure(only, "gelu", run_gelu, 2 * wide, "GB/s");
  measure(only, "gelu_backward", run_gelu_backward, 3 * wide, "GB/s");
  measure(only, "bias_backward", run_bias_backward, wide, "GB/s");
  measure(only, "residual", run_residual, 3 * x, "GB/s");
  measure(only, "residual_dropout", run_residual_dropout, 3 * x, "GB/s");
  measure(only, "embedding", run_embedding, 2 * x, "GB/s");
  measure(only, "embedding_backward", run_embedding_backward, 3 * x, "GB/s");
  sl_philox_uniform(a, &drop.key, 0, (size_t)ROWS * 4 * C, -1, 1);
  measure(only, "attention", run_attention, 4 * pairs, "GFLOP/s");
  measure(only, "attention_dropout", run_attention_dropout, 4 * pairs, "GFLOP/s");
  measure(only, "attention_backward", run_attention_backward, 8 * pairs, "GFLOP/s");
  measure(only, "flash", run_flash, 4 * pairs, "GFLOP/s");
  measure(only, "flash_dropout", run_flash_dropout, 4 * pairs, "GFLOP/s");
  measure(only, "flash_backward", run_flash_backward, 10 * pairs, "GFLOP/s");
  type = SL_NUMBER_BF16, measure_stored(only, "bf16", pairs);
  type = SL_NUMBER_F16, measure_stored(only, "fp16", pairs);
  free(a), free(b), free(c), free(d), free(e), free(probs), free(losses), free(scratch);
  return 0;
}

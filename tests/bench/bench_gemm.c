/* GEMM rate on the shapes of a GPT-2's step, the yardstick of a training step: what OpenBLAS reaches for the products
 * of forward and backward with its own threads or with a block of the result a thread, whichever is faster for the
 * shape. Prints one JSON object.
 *
 *   bench_gemm TOKENS LAYERS CHANNELS VOCABULARY [THREADS] [REPEATS]
 *
 * Each linear layer of a step is three products: forward (rows x out x in), the gradient of its input and that of its
 * weight. Every shape is timed REPEATS times (the median counts) and weighs as often as it stands in the step. */
#include "backend/host/product.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_REPEATS = 99 };

struct product {
  CBLAS_TRANSPOSE ta, tb;
  int m, n, k;
};

static double wall(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *x, const void *y) {
  const double p = *(const double *)x, q = *(const double *)y;
  return (p > q) - (p < q);
}

static float *numbers(size_t n) {
  float *x = malloc(n * sizeof *x);
  if (x == NULL) exit(1);
  for (size_t i = 0; i < n; i++) x[i] = (float)(i % 251) / 251 - 0.5f;
  return x;
}

static void by_openblas(const struct product *p, const float *a, const float *b, float *c) {
  cblas_sgemm(CblasRowMajor, p->ta, p->tb, p->m, p->n, p->k, 1, a, p->ta == CblasTrans ? p->m : p->k, b,
              p->tb == CblasTrans ? p->k : p->n, 0, c, p->n);
}

static void by_blocks(const struct product *p, const float *a, const float *b, float *c) {
  sl_host_product(&(struct sl_product){.m = p->m,
                                       .n = p->n,
                                       .k = p->k,
                                       .trans_a = p->ta == CblasTrans,
                                       .trans_b = p->tb == CblasTrans,
                                       .scale = 1,
                                       .a = a,
                                       .b = b,
                                       .c = c});
}

/* Median seconds of one product, the faster way. */
static double time_product(const struct product *p, const float *a, const float *b, float *c, int repeats) {
  void (*const ways[])(const struct product *, const float *, const float *, float *) = {by_openblas, by_blocks};
  double best = INFINITY;
  for (int way = 0; way < 2; way++) {
    double t[MAX_REPEATS];
    for (int i = -1; i < repeats; i++) { /* the first warms up */
      const double start = wall();
      ways[way](p, a, b, c);
      if (i >= 0) t[i] = wall() - start;
    }
    qsort(t, (size_t)repeats, sizeof *t, by_value);
    best = fmin(best, t[repeats / 2]);
  }
  return best;
}

/* Seconds of a linear layer from `in` to `out` features over `rows` rows, forward and backward. */
static double time_layer(int rows, int in, int out, const float *a, const float *b, float *c, int repeats) {
  const struct product products[] = {{CblasNoTrans, CblasNoTrans, rows, out, in},
                                     {CblasNoTrans, CblasTrans, rows, in, out},
                                     {CblasTrans, CblasNoTrans, in, out, rows}};
  double seconds = 0;
  for (int i = 0; i < 3; i++) seconds += time_product(&products[i], a, b, c, repeats);
  return seconds;
}

int main(int argc, char **argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: bench_gemm TOKENS LAYERS CHANNELS VOCABULARY [THREADS] [REPEATS]\n");
    return 2;
  }
  const int rows = atoi(argv[1]), layers = atoi(argv[2]), width = atoi(argv[3]), vocabulary = atoi(argv[4]);
  const int threads = argc > 5 ? atoi(argv[5]) : omp_get_max_threads(), repeats = argc > 6 ? atoi(argv[6]) : 5;
  if (rows < 1 || layers < 1 || width < 1 || vocabulary < 1 || threads < 1 || repeats < 1 || repeats > MAX_REPEATS) {
    fprintf(stderr, "bench_gemm: numbers from 1, REPEATS up to %d\n", MAX_REPEATS);
    return 2;
  }
  openblas_set_num_threads(threads);
  omp_set_num_threads(threads);
  const size_t widest = (size_t)(vocabulary > 4 * width ? vocabulary : 4 * width);
  const size_t tall = (size_t)(rows > 4 * width ? rows : 4 * width);
  float *a = numbers(tall * widest), *b = numbers(tall * widest), *c = numbers(tall * widest);
  const struct {
    int in, out, count;
  } layer[] = {{width, 3 * width, layers},
               {width, width, layers},
               {width, 4 * width, layers},
               {4 * width, width, layers},
               {width, vocabulary, 1}};
  double seconds = 0, flops = 0;
  for (size_t i = 0; i < sizeof layer / sizeof *layer; i++) {
    seconds += layer[i].count * time_layer(rows, layer[i].in, layer[i].out, a, b, c, repeats);
    flops += layer[i].count * 6.0 * rows * layer[i].in * layer[i].out;
  }
  printf("{\"threads\": %d, \"flops\": %.6g, \"seconds\": %.6f, \"gflops\": %.3f}\n", threads, flops, seconds,
         1e-9 * flops / seconds);
  free(a), free(b), free(c);
  return 0;
}

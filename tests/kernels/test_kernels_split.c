/* label: unit
   libs: kernels_double kernels
 * Kernels on a piece of a tensor: the vocabulary split by columns or by rows, matrices cut by columns, rows of a sequence,
 * and the halves of a backward, each against the unsplit kernel. */
#include "kernels/by_dtype.h"
#include "kernels/convert.h"
#include "tests/support/kernels_support.h"

#include <omp.h>

static const enum sl_number types[] = {SL_NUMBER_F32, SL_NUMBER_BF16, SL_NUMBER_F16};

/* `x` (n) in memory as `type`, to be freed. */
static void *stored(const double *x, size_t n, enum sl_number type) {
  float *wide = malloc(n * sizeof *wide);
  void *out = malloc(n * sizeof *wide);
  assert_true(wide && out);
  to_float(wide, x, n);
  sl_convert(out, type, wide, SL_NUMBER_F32, n);
  free(wide);
  return out;
}

static void *copied(const void *x, size_t bytes) {
  void *out = malloc(bytes);
  assert_non_null(out);
  return memcpy(out, x, bytes);
}

/* ---- softmax cross-entropy ---- */

enum { N = 23, MAX_V = 5003, MAX_PARTS = 5 };

static const struct {
  size_t total, parts, columns; /* of the vocabulary; members; columns of each, padding included */
} vocabularies[] = {{13, 1, 13}, {13, 3, 5}, {13, 5, 4}, {MAX_V, 1, 5120}, {MAX_V, 2, 2502}, {4999, 3, 2501}};

static void make_logits(double *x, int32_t *targets, size_t total) {
  fill(x, N * total, 70, -5, 5);
  for (size_t r = 0; r < N; r++) targets[r] = r % 7 == 3 ? -1 : (int32_t)(r * 2659 % total);
  targets[0] = 0, targets[1] = (int32_t)total - 1;
  for (size_t v = 0; v < total; v++) x[2 * total + v] += 900; /* exp of it alone would be infinite */
  for (size_t v = 0; v < total / 2 + 2; v++)
    x[5 * total + v] -= 200;              /* the first member's are nothing beside the rest */
  x[4 * total + (size_t)targets[4]] = 30; /* nearly certain */
}

/* The columns of member m, padded with numbers that must not be seen. */
static void *piece_of(const double *x, size_t total, size_t columns, size_t m, enum sl_number type) {
  double *piece = malloc(N * columns * sizeof *piece);
  assert_non_null(piece);
  for (size_t i = 0; i < N * columns; i++) {
    const size_t v = m * columns + i % columns;
    piece[i] = v < total ? x[i / columns * total + v] : 1e4;
  }
  void *out = stored(piece, N * columns, type);
  free(piece);
  return out;
}

struct shards {
  void *logits[MAX_PARTS];
  double loss[MAX_PARTS], losses[MAX_PARTS][N];
};

static void run_shards(struct shards *s, const double *x, const int32_t *targets, size_t k, enum sl_number type) {
  const size_t total = vocabularies[k].total, P = vocabularies[k].parts, V = vocabularies[k].columns;
  const struct sl_kernels *kernels = sl_kernels_of(type);
  static float stats[MAX_PARTS * N * 3];
  for (size_t i = 0; i < MAX_PARTS * N * 3; i++) stats[i] = NAN;
  for (size_t m = 0; m < P; m++) {
    s->logits[m] = piece_of(x, total, V, m, type);
    kernels->classifier_stats(stats + m * N * 3, s->logits[m], targets, N, V, m * V, total);
  }
  for (size_t m = 0; m < P; m++) {
    s->loss[m] = 0.5;
    kernels->classifier_shard(&s->loss[m], s->losses[m], s->logits[m], targets, stats, N, V, m * V, total, P, 0.25f, 1);
  }
}

/* The gradient of member m against the plain formula in double. `u`: the rounding of the type. */
static void check_shard(const void *logits, const double *x, const int32_t *targets, size_t k, size_t m,
                        enum sl_number type, double u) {
  const size_t total = vocabularies[k].total, V = vocabularies[k].columns;
  float *d = malloc(N * V * sizeof *d);
  assert_non_null(d);
  sl_convert(d, SL_NUMBER_F32, logits, type, N * V);
  for (size_t r = 0; r < N; r++) {
    double max = x[r * total], sum = 0;
    for (size_t v = 0; v < total; v++) max = fmax(max, x[r * total + v]);
    for (size_t v = 0; v < total; v++) sum += exp(x[r * total + v] - max);
    for (size_t i = 0; i < V; i++) {
      const size_t v = m * V + i;
      double expected = 0;
      if (v < total && targets[r] >= 0)
        expected = 0.25 * (exp(x[r * total + v] - max) / sum - (v == (size_t)targets[r] ? 1 : 0));
      const double bound = u * fabs(expected) + 2e-6 * fabs(expected) + 3e-8;
      if (!(fabs((double)d[r * V + i] - expected) <= bound) || (expected == 0 && d[r * V + i] != 0))
        fail_msg("vocabulary %zu, member %zu, dlogits[%zu][%zu]: %.9g, expected %.9g", k, m, r, i, (double)d[r * V + i],
                 expected);
    }
  }
  free(d);
}

static void check_vocabulary(size_t k, enum sl_number type, double u) {
  const size_t total = vocabularies[k].total, P = vocabularies[k].parts;
  double *x = malloc(N * total * sizeof *x), losses[N], loss = 0.5;
  struct shards s;
  int32_t targets[N];
  assert_non_null(x);
  make_logits(x, targets, total);
  void *whole = stored(x, N * total, type);
  float *exact = malloc(N * total * sizeof *exact); /* what the type holds of the logits */
  assert_non_null(exact);
  sl_convert(exact, SL_NUMBER_F32, whole, type, N * total);
  for (size_t i = 0; i < N * total; i++) x[i] = (double)exact[i];
  sl_kernels_of(type)->classifier_fused(&loss, losses, whole, targets, N, total, total, 0.25f, 1);
  run_shards(&s, x, targets, k, type);
  for (size_t m = 0; m < P; m++) {
    assert_close(s.loss[m], loss, 1e-6, "loss", m);
    assert_memory_equal(s.losses[m], s.losses[0], sizeof losses); /* every member says the same */
    for (size_t r = 0; r < N; r++) assert_true(fabs(s.losses[m][r] - losses[r]) <= 1e-6 * fabs(losses[r]) + 2e-7);
    assert_true(s.losses[m][3] == 0);
    check_shard(s.logits[m], x, targets, k, m, type, u);
    free(s.logits[m]);
  }
  free(x), free(whole), free(exact);
}

static void a_vocabulary_split_by_columns_has_the_loss_and_gradient_of_the_whole(void **state) {
  (void)state;
  static const double rounding[] = {0, 0x1p-8, 0x1p-11};
  for (size_t k = 0; k < sizeof vocabularies / sizeof *vocabularies; k++) {
    for (size_t t = 0; t < 3; t++) check_vocabulary(k, types[t], rounding[t]);
  }
}

/* One member's statistics by their definition, in the double build, and those of one that has padding only. */
static void statistics_follow_their_definition(void **state) {
  (void)state;
  enum { V = 4099, FIRST = 2 * V, TOTAL = FIRST + V - 11 };
  double *x = reals(2 * V, 71), stats[6];
  const int32_t targets[2] = {FIRST + 17, FIRST - 1};
  for (size_t i = 0; i < V; i++) x[i] += 0.003 * (double)i; /* a late maximum */
  x[V - 11] = 1e6;                                          /* padding */
  sl_classifier_stats_f64(stats, x, targets, 2, V, FIRST, TOTAL);
  for (size_t r = 0; r < 2; r++) {
    double max = x[r * V], sum = 0;
    for (size_t i = 0; i < V - 11; i++) max = fmax(max, x[r * V + i]);
    for (size_t i = 0; i < V - 11; i++) sum += exp(x[r * V + i] - max);
    assert_true(stats[3 * r] == max);
    assert_close(stats[3 * r + 1], sum, 1e-12, "sum", r);
    assert_true(stats[3 * r + 2] == (r == 0 ? x[17] : 0));
  }
  const int32_t beyond[2] = {1, TOTAL - 1};
  sl_classifier_stats_f64(stats, x, beyond, 2, V, FIRST, FIRST);
  for (size_t r = 0; r < 2; r++)
    assert_true(stats[3 * r] == -INFINITY && stats[3 * r + 1] == 0 && stats[3 * r + 2] == 0);
  free(x);
}

/* An overflow on one member reaches the gradient of every member, where the norm finds it; masked columns do not
 * hurt. */
static void one_bad_logit_spoils_the_row_on_every_member(void **state) {
  (void)state;
  enum { V = 37, P = 2 };
  static const float bad[] = {NAN, INFINITY};
  const int32_t targets[2] = {3, 40};
  for (size_t b = 0; b < 3; b++) {
    float x[P][2 * V], stats[P * 2 * 3];
    double losses[2], sum;
    for (size_t i = 0; i < 2 * V; i++) x[0][i] = x[1][i] = 0.01f * (float)i;
    if (b < 2) x[1][V + 5 * b] = bad[b]; /* the first of the row, and one inside */
    for (size_t i = 0; b == 2 && i < V; i++) x[0][i] = -INFINITY;
    x[0][3] = 0.03f;
    for (size_t m = 0; m < P; m++) sl_classifier_stats(stats + m * 6, x[m], targets, 2, V, m * V, 2 * V);
    for (size_t m = 0; m < P; m++) {
      sl_classifier_shard(&sum, losses, x[m], targets, stats, 2, V, m * V, 2 * V, P, 1, 0);
      for (size_t i = 0; i < 2 * V; i++) {
        const int fine = b == 2 || i < V;
        if (fine != !!isfinite(x[m][i])) fail_msg("case %zu, member %zu, [%zu]: %g", b, m, i, (double)x[m][i]);
      }
      assert_true(!!isfinite(losses[1]) == (b == 2) && isfinite(losses[0]));
    }
  }
}

/* ---- the halves of a backward ---- */

enum { R = 137, C = 1301, CELLS = R * C };

struct halves {
  void *dx, *dweight, *dbias;
};

static struct halves make_halves(const double *before, enum sl_number type) {
  return (struct halves){stored(before, CELLS, type), stored(before + 7, C, type), stored(before + 3 * C, C, type)};
}

/* part 0: all; 1: dx, then the weights, each with what the other needs missing. */
static void run_halves(struct halves *h, const struct sl_kernels *k, int rms, int part, int add, const void *dout,
                       const void *x, const void *weight, const float *mean, const float *rstd, void *work) {
  if (rms && part == 0) {
    k->llama_rmsnorm_backward(h->dx, add, h->dweight, 0, add, dout, x, weight, rstd, R, C, 0, work);
  } else if (rms) {
    k->llama_rmsnorm_backward(h->dx, add, NULL, 0, 0, dout, x, weight, rstd, R, C, 0, NULL);
    k->llama_rmsnorm_backward(NULL, 0, h->dweight, 0, add, dout, x, NULL, rstd, R, C, 0, work);
  } else if (part == 0) {
    k->layernorm_backward(h->dx, add, h->dweight, h->dbias, 0, add, dout, x, weight, mean, rstd, R, C, 0, work);
  } else {
    k->layernorm_backward(h->dx, add, NULL, NULL, 0, 0, dout, x, weight, mean, rstd, R, C, 0, NULL);
    k->layernorm_backward(NULL, 0, h->dweight, h->dbias, 0, add, dout, x, NULL, mean, rstd, R, C, 0, work);
  }
}

static void check_halves(enum sl_number type, int rms, int add) {
  const size_t element = sl_convert_bytes(type), bytes = CELLS * element;
  double *numbers = reals(CELLS, 72), *more = reals(CELLS, 73);
  void *dout = stored(numbers, CELLS, type), *x = stored(more, CELLS, type), *weight = stored(numbers + C, C, type);
  void *work = malloc(sl_layernorm_scratch_bytes(R, C)), *out = malloc(bytes);
  float mean[R], rstd[R];
  const struct sl_kernels *k = sl_kernels_of(type);
  k->layernorm_forward(out, mean, rstd, x, weight, weight, R, C, 1e-5f, 0);
  struct halves whole = make_halves(more, type), apart = make_halves(more, type);
  run_halves(&whole, k, rms, 0, add, dout, x, weight, mean, rstd, work);
  run_halves(&apart, k, rms, 1, add, dout, x, weight, mean, rstd, work);
  assert_memory_equal(apart.dx, whole.dx, bytes);
  assert_memory_equal(apart.dweight, whole.dweight, C * element);
  assert_memory_equal(apart.dbias, whole.dbias, C * element);
  struct halves before = make_halves(more, type);
  assert_memory_not_equal(apart.dx, before.dx, bytes);
  assert_memory_not_equal(apart.dweight, before.dweight, C * element);
  if (!add && !rms) { /* dx over dout */
    k->layernorm_backward(dout, 0, apart.dweight, apart.dbias, 0, 0, dout, x, weight, mean, rstd, R, C, 0, work);
    assert_memory_equal(dout, whole.dx, bytes);
    assert_memory_equal(apart.dweight, whole.dweight, C * element);
  }
  struct halves all[] = {whole, apart, before};
  for (size_t i = 0; i < 3; i++) free(all[i].dx), free(all[i].dweight), free(all[i].dbias);
  free(numbers), free(more), free(dout), free(x), free(weight), free(work), free(out);
}

static void the_halves_of_a_norms_backward_are_the_whole_to_the_bit(void **state) {
  (void)state;
  for (size_t t = 0; t < 3; t++) {
    for (int i = 0; i < 4; i++) check_halves(types[t], i / 2, i % 2);
  }
}

/* ---- columns ---- */

static void check_columns(enum sl_number type, size_t rows, size_t cols, size_t parts) {
  const size_t n = rows * cols * parts, element = sl_convert_bytes(type);
  double *numbers = reals(n, 74);
  char *x = stored(numbers, n, type), *joined = malloc(n * element), *piece = malloc(rows * cols * element);
  assert_true(joined && piece);
  const size_t all = parts * cols;
  sl_kernels_of(type)->columns_copy(joined, all, cols, x, cols, rows * cols, rows, parts, cols);
  for (size_t i = 0; i < n; i++) {
    const size_t r = i / (parts * cols), m = i / cols % parts, c = i % cols;
    assert_memory_equal(joined + i * element, x + ((m * rows + r) * cols + c) * element, element);
  }
  for (size_t m = 0; m < parts; m++) {
    sl_kernels_of(type)->columns_copy(piece, cols, 0, joined + m * cols * element, all, 0, rows, 1, cols);
    assert_memory_equal(piece, x + m * rows * cols * element, rows * cols * element);
  }
  free(numbers), free(x), free(joined), free(piece);
}

static void columns_are_put_together_and_cut_again(void **state) {
  (void)state;
  for (size_t t = 0; t < 3; t++) {
    check_columns(types[t], 7, 5, 3);
    check_columns(types[t], 131, 67, 4);
    check_columns(types[t], 3, 11, 1);
  }
}

/* ---- the vocabulary by rows ---- */

enum { EB = 3, ET = 7, EC = 131, ROWS = 5, PARTS = 3, TOKENS = EB * ET };

static void check_embedding(enum sl_number type, const struct sl_dropout *dropout) {
  const size_t element = sl_convert_bytes(type), n = TOKENS * EC;
  const struct sl_kernels *k = sl_kernels_of(type);
  double *numbers = reals(ROWS * PARTS * EC, 75), *places = reals(ET * EC, 76), *gradient = reals(n, 77);
  char *wte = stored(numbers, ROWS * PARTS * EC, type), *dwte = copied(wte, ROWS * PARTS * EC * element);
  char *dparts = copied(wte, ROWS * PARTS * EC * element), *wpe = stored(places, ET * EC, type);
  char *dwpe = copied(wpe, ET * EC * element), *dout = stored(gradient, n, type), *sum = stored(gradient, n, type);
  char *whole = stored(gradient, n, type), *part = stored(gradient, n, type);
  struct sl_embedding_shape shape = {.B = EB, .T = ET, .C = EC, .n_rows = ROWS * PARTS};
  int32_t tokens[TOKENS];
  for (int i = 0; i < TOKENS; i++) tokens[i] = i * 11 % (ROWS * PARTS);
  k->embedding_forward(whole, tokens, wte, wpe, &shape, dropout);
  k->embedding_backward(dwte, 1, dwpe, ET, 1, 0, dout, tokens, &shape, dropout);
  memset(sum, 0, n * element);
  shape.n_rows = ROWS;
  for (size_t m = 0; m < PARTS; m++) {
    char *dwpe_here = copied(wpe, ET * EC * element);
    shape.first_row = m * ROWS;
    k->embedding_forward(part, tokens, wte + m * ROWS * EC * element, wpe, &shape, dropout);
    sl_convert_add(sum, type, part, type, n);
    k->embedding_backward(dparts + m * ROWS * EC * element, 1, dwpe_here, ET, 1, 0, dout, tokens, &shape, dropout);
    assert_memory_equal(dwpe_here, dwpe, ET * EC * element);
    free(dwpe_here);
  }
  assert_memory_equal(sum, whole, n * element);
  assert_memory_equal(dparts, dwte, ROWS * PARTS * EC * element);
  assert_memory_not_equal(dwte, wte, ROWS * PARTS * EC * element);
  free(numbers), free(places), free(gradient), free(wte), free(dwte), free(dparts), free(wpe), free(dwpe), free(dout);
  free(sum), free(whole), free(part);
}

static void a_table_split_by_rows_adds_up_to_the_bit(void **state) {
  (void)state;
  const struct sl_dropout drop = {.p = 0.3f, .key = {21, 2, 5, 13}, .first_element = 4099, .row_stride = EC};
  for (size_t t = 0; t < 3; t++) check_embedding(types[t], NULL), check_embedding(types[t], &drop);
}

/* ---- threads ---- */

static void the_number_of_threads_does_not_show(void **state) {
  (void)state;
  enum { V = 2503, P = 2, WIDE = 31 };
  const int before = omp_get_max_threads();
  double *x = reals(WIDE * V, 78);
  int32_t targets[WIDE];
  for (int r = 0; r < WIDE; r++) targets[r] = r * 157 % (P * V);
  float *first = NULL, first_stats[P * WIDE * 3];
  double losses[WIDE], loss = 0, first_loss = 0;
  for (int threads = 1; threads <= 3; threads++) {
    float *logits = stored(x, WIDE * V, SL_NUMBER_F32), stats[P * WIDE * 3];
    omp_set_num_threads(threads);
    for (size_t m = 0; m < P; m++)
      sl_classifier_stats(stats + m * WIDE * 3, logits, targets, WIDE, V, m * V, P * V - 9);
    sl_classifier_shard(&loss, losses, logits, targets, stats, WIDE, V, V, P * V - 9, P, 0.5f, 0);
    if (first) {
      assert_memory_equal(logits, first, WIDE * V * sizeof *first);
      assert_memory_equal(stats, first_stats, sizeof stats);
      assert_true(loss == first_loss);
      free(logits);
    } else {
      first = logits, first_loss = loss;
      memcpy(first_stats, stats, sizeof stats);
    }
  }
  omp_set_num_threads(before);
  free(first), free(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_vocabulary_split_by_columns_has_the_loss_and_gradient_of_the_whole),
      cmocka_unit_test(statistics_follow_their_definition),
      cmocka_unit_test(one_bad_logit_spoils_the_row_on_every_member),
      cmocka_unit_test(the_halves_of_a_norms_backward_are_the_whole_to_the_bit),
      cmocka_unit_test(columns_are_put_together_and_cut_again),
      cmocka_unit_test(a_table_split_by_rows_adds_up_to_the_bit),
      cmocka_unit_test(the_number_of_threads_does_not_show),
  };
  return cmocka_run_group_tests_name("kernels on pieces", tests, NULL, NULL);
}

/* label: unit
   libs: kernels_double kernels
 * The host kernels against formulas, finite differences (in double), their other precision and other thread counts. */
#include "tests/support/kernels_support.h"

/* ---- Philox ---- */

static void philox_known_answers(void **state) {
  (void)state;
  /* Random123's kat_vectors, philox4x32 10 rounds. */
  static const struct {
    uint32_t counter[4], key[2], expected[4];
  } known[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    uint32_t out[4];
    sl_philox_block(out, known[i].counter, known[i].key);
    assert_memory_equal(out, known[i].expected, sizeof out);
  }
}

static void philox_words_are_indexed_by_global_element(void **state) {
  (void)state;
  enum { N = 1237 };
  const struct sl_philox_key key = {17, 5, 3, 23};
  const uint64_t first = ((uint64_t)1 << 34) - 601; /* the 64-bit block index carries inside the range */
  static uint32_t whole[N], part[N];
  sl_philox_words(whole, &key, first, N);
  for (size_t i = 0; i < N; i += 97) {
    uint64_t e = first + i;
    uint32_t block[4], counter[4] = {(uint32_t)(e / 4), (uint32_t)(e / 4 >> 32), 3, 23}, k[2] = {17, 5};
    sl_philox_block(block, counter, k);
    assert_int_equal(whole[i], block[e % 4]);
  }
  sl_philox_words(part, &key, first + 713, N - 713);
  assert_memory_equal(part, whole + 713, (N - 713) * sizeof *part);
}

static void random_numbers_do_not_depend_on_the_partition(void **state) {
  (void)state;
  enum { N = 40001, CUT = 13337 };
  const struct sl_philox_key key = {3, 1, 0, 8};
  static float whole[N], parts[N];
  for (int kind = 0; kind < 2; kind++) {
    void (*draw)(float *, const struct sl_philox_key *, uint64_t, size_t, float, float) =
        kind == 0 ? sl_philox_normal : sl_philox_uniform;
    draw(whole, &key, 3, N, 0.5f, 2.0f);
    draw(parts, &key, 3, CUT, 0.5f, 2.0f);
    draw(parts + CUT, &key, 3 + CUT, N - CUT, 0.5f, 2.0f);
    assert_memory_equal(whole, parts, sizeof whole);
    double mean = 0, square = 0;
    for (size_t i = 0; i < N; i++) mean += whole[i] / (double)N;
    for (size_t i = 0; i < N; i++) square += (whole[i] - mean) * (whole[i] - mean) / (double)N;
    /* Four standard errors of the mean; the variance of U(0.5,2) is 1.5^2/12. */
    assert_true(fabs(mean - (kind == 0 ? 0.5 : 1.25)) < 4 * sqrt(square / N));
    assert_true(fabs(square / (kind == 0 ? 4.0 : 0.1875) - 1) < 0.04);
  }
}

/* ---- dropout, residual, bias ---- */

enum { ROWS = 7, COLS = 11, CELLS = ROWS * COLS };

static const struct sl_dropout drop = {.p = 0.3f, .key = {21, 2, 5, 13}, .first_element = 4099, .row_stride = 29};

static void dropout_keeps_the_right_share_and_scales_it(void **state) {
  (void)state;
  enum { N = 100003 };
  static float x[N], y[N];
  struct sl_dropout d = {.p = 0.25f, .key = {1, 2, 3, 4}};
  sl_reduce_fill(x, 3.0f, N);
  sl_dropout_forward(y, x, 1, N, &d);
  size_t kept = 0;
  for (size_t i = 0; i < N; i++) {
    assert_true(y[i] == 0 || y[i] == 4.0f);
    kept += y[i] != 0;
  }
  assert_true(fabs((double)kept / N - 0.75) < 4 * sqrt(0.25 * 0.75 / N));
  d.p = 1;
  sl_dropout_forward(y, x, 1, N, &d);
  for (size_t i = 0; i < N; i++) assert_true(y[i] == 0);
  sl_dropout_forward(y, x, 1, N, NULL);
  assert_memory_equal(x, y, sizeof x);
}

static void dropout_of_a_piece_equals_the_piece_of_the_whole(void **state) {
  (void)state;
  enum { R = 9, C = 1301, R0 = 4, C0 = 607, PR = 5, PC = 691 };
  static float x[R * C], whole[R * C], piece[PR * PC];
  struct sl_dropout d = {.p = 0.4f, .key = {1, 2, 3, 4}, .first_element = 77, .row_stride = C};
  sl_reduce_fill(x, 1.0f, R * C);
  sl_dropout_forward(whole, x, R, C, &d);
  d.first_element += R0 * C + C0;
  sl_dropout_forward(piece, x, PR, PC, &d);
  for (size_t r = 0; r < PR; r++) assert_memory_equal(piece + r * PC, whole + (R0 + r) * C + C0, PC * sizeof *piece);
}

struct residual_case {
  double x[CELLS], bias[COLS], residual[CELLS], out[CELLS], w[CELLS];
};

static double residual_loss(void *context) {
  struct residual_case *c = context;
  sl_dropout_residual_f64(c->out, c->residual, c->x, c->bias, ROWS, COLS, &drop);
  return dot(c->w, c->out, CELLS);
}

static void residual_and_bias_gradients(void **state) {
  (void)state;
  struct residual_case c;
  double dx[CELLS], dbias[COLS], twice[COLS];
  fill(c.x, CELLS, 1, -1, 1), fill(c.bias, COLS, 2, -1, 1), fill(c.residual, CELLS, 3, -1, 1),
      fill(c.w, CELLS, 4, -1, 1);
  sl_dropout_backward_f64(dx, c.w, ROWS, COLS, &drop);
  sl_reduce_bias_backward_f64(dbias, dx, ROWS, COLS, 0);
  check_gradient("dx", residual_loss, &c, c.x, CELLS, dx);
  check_gradient("dbias", residual_loss, &c, c.bias, COLS, dbias);
  check_gradient("dresidual", residual_loss, &c, c.residual, CELLS, c.w);
  memcpy(twice, dbias, sizeof twice);
  sl_reduce_bias_backward_f64(twice, dx, ROWS, COLS, 1);
  for (size_t i = 0; i < COLS; i++) assert_close(twice[i], 2 * dbias[i], 1e-14, "accumulated dbias", i);
  /* Without bias and dropout it is a plain sum; bias_add adds what the fused form would. */
  sl_dropout_residual_f64(c.out, c.residual, c.x, NULL, ROWS, COLS, NULL);
  sl_reduce_bias_add_f64(c.out, c.bias, ROWS, COLS);
  for (size_t i = 0; i < CELLS; i++) assert_close(c.out[i], c.residual[i] + c.x[i] + c.bias[i % COLS], 1e-14, "sum", i);
}

/* Rows longer, and more of them, than the chunks in which the kernels work. */
static void wide_rows_equal_their_parts_one_by_one(void **state) {
  (void)state;
  enum { R = 139, W = 1301 };
  static double x[R * W], bias[W], residual[R * W], fused[R * W], plain[R * W], dbias[W];
  struct sl_dropout d = {.p = 0.4f, .key = {1, 2, 3, 4}, .first_element = 77, .row_stride = 1409};
  fill(x, R * W, 60, -1, 1), fill(bias, W, 61, -1, 1), fill(residual, R * W, 62, -1, 1);
  sl_dropout_residual_f64(fused, residual, x, bias, R, W, &d);
  memcpy(plain, x, sizeof plain);
  sl_reduce_bias_add_f64(plain, bias, R, W);
  sl_dropout_forward_f64(plain, plain, R, W, &d);
  for (size_t i = 0; i < (size_t)R * W; i++) plain[i] += residual[i];
  for (size_t i = 0; i < R * W; i++) assert_close(fused[i], plain[i], 1e-12, "fused", i);
  sl_reduce_bias_backward_f64(dbias, x, R, W, 0);
  for (size_t c = 0; c < W; c++) {
    double sum = 0;
    for (size_t r = 0; r < R; r++) sum += x[r * W + c];
    assert_close(dbias[c], sum, 1e-11, "dbias", c);
  }
}

static void wide_embedding_equals_dropout_then_embedding(void **state) {
  (void)state;
  enum { W = 301, ROWS_V = 4, TOKENS = 6 };
  static const int32_t tokens[TOKENS] = {3, 1, 1, 0, 3, 3};
  const struct sl_embedding_shape shape = {2, 3, W, 0, ROWS_V, 0};
  const struct sl_dropout d = {.p = 0.4f, .key = {1, 2, 3, 4}, .first_element = 77, .row_stride = 1409};
  static double dout[TOKENS * W], masked[TOKENS * W], a[ROWS_V * W], b[ROWS_V * W], pa[3 * W], pb[3 * W];
  fill(dout, TOKENS * W, 63, -1, 1);
  sl_embedding_backward_f64(a, 0, pa, 3, 0, dout, tokens, &shape, &d);
  sl_dropout_backward_f64(masked, dout, TOKENS, W, &d);
  sl_embedding_backward_f64(b, 0, pb, 3, 0, masked, tokens, &shape, NULL);
  assert_memory_equal(a, b, sizeof a);
  assert_memory_equal(pa, pb, sizeof pa);
}

/* ---- GELU, ReLU, MSE ---- */

struct activation_case {
  double x[CELLS], bias[COLS], out[CELLS], w[CELLS];
  int relu;
};

static double activation_loss(void *context) {
  struct activation_case *c = context;
  if (c->relu) {
    sl_mlp_relu_forward_f64(c->out, c->x, c->bias, ROWS, COLS);
  } else {
    sl_gelu_forward_f64(c->out, c->x, c->bias, ROWS, COLS);
  }
  return dot(c->w, c->out, CELLS);
}

static void activation_gradients(void **state) {
  (void)state;
  struct activation_case c;
  double dx[CELLS], dbias[COLS];
  fill(c.x, CELLS, 5, -3, 3), fill(c.bias, COLS, 6, -1, 1), fill(c.w, CELLS, 7, -1, 1);
  for (c.relu = 0; c.relu < 2; c.relu++) {
    activation_loss(&c);
    if (c.relu) {
      sl_mlp_relu_backward_f64(dx, c.w, c.out, ROWS, COLS);
    } else {
      sl_gelu_backward_f64(dx, c.w, c.x, c.bias, ROWS, COLS);
    }
    sl_reduce_bias_backward_f64(dbias, dx, ROWS, COLS, 0);
    check_gradient(c.relu ? "relu dx" : "gelu dx", activation_loss, &c, c.x, CELLS, dx);
    check_gradient(c.relu ? "relu dbias" : "gelu dbias", activation_loss, &c, c.bias, COLS, dbias);
  }
}

static void gelu_follows_its_formula_to_both_tails(void **state) {
  (void)state;
  float x[513], y[513], dx[513], one[513];
  for (int i = 0; i < 513; i++) x[i] = (float)(i - 256) / 21.0f, one[i] = 1;
  sl_gelu_forward(y, x, NULL, 27, 19);
  sl_gelu_backward(dx, one, x, NULL, 27, 19);
  for (size_t i = 0; i < 513; i++) {
    double v = (double)x[i], k = sqrt(2 / acos(-1.0)), u = k * (v + 0.044715 * v * v * v);
    double s = 1 / (1 + exp(-2 * u)), slope = s + 2 * v * s * (1 - s) * k * (1 + 3 * 0.044715 * v * v);
    /* The exponent carries a rounding of u, so the relative error grows with |u|. */
    assert_true(fabs(y[i] - v * s) <= 2e-7 * (1 + fabs(u)) * fabs(v * s) + 1e-33);
    assert_true(fabs(dx[i] - slope) <= 4e-7);
  }
  float far[4] = {-1e4f, -40, 40, 1e4f}, out[4];
  sl_gelu_forward(out, far, NULL, 1, 4);
  assert_true(fabsf(out[0]) < 1e-25f && fabsf(out[1]) < 1e-30f && out[2] == 40 && out[3] == 1e4f);
}

struct mse_case {
  double prediction[CELLS], target[CELLS], scratch[1];
};

static double mse_loss(void *context) {
  struct mse_case *c = context;
  double sum;
  sl_mlp_mse_f64(&sum, NULL, c->prediction, c->target, CELLS, 0, 0, c->scratch);
  return sum / CELLS;
}

static void mse_gradient(void **state) {
  (void)state;
  struct mse_case c;
  double d[CELLS], sum = 2.5;
  fill(c.prediction, CELLS, 8, -1, 1), fill(c.target, CELLS, 9, -1, 1);
  sl_mlp_mse_f64(&sum, d, c.prediction, c.target, CELLS, 1.0 / CELLS, 1, c.scratch);
  double expected = 2.5;
  for (size_t i = 0; i < CELLS; i++) expected += (c.prediction[i] - c.target[i]) * (c.prediction[i] - c.target[i]);
  assert_close(sum, expected, 1e-14, "sum of squares", 0);
  check_gradient("dprediction", mse_loss, &c, c.prediction, CELLS, d);
}

/* ---- LayerNorm ---- */

enum { LN_MAX_ROWS = 29, LN_MAX_C = 1301, LN_MAX_CELLS = 2 * LN_MAX_C };

static struct layernorm_case {
  size_t rows, C;
  double x[LN_MAX_CELLS], weight[LN_MAX_C], bias[LN_MAX_C], out[LN_MAX_CELLS], w[LN_MAX_CELLS];
  double mean[LN_MAX_ROWS], rstd[LN_MAX_ROWS];
} ln;

static double layernorm_loss(void *context) {
  (void)context;
  sl_layernorm_forward_f64(ln.out, ln.mean, ln.rstd, ln.x, ln.weight, ln.bias, ln.rows, ln.C, 1e-5f);
  return dot(ln.w, ln.out, ln.rows * ln.C);
}

static void layernorm_statistics(void) {
  for (size_t r = 0; r < ln.rows; r++) {
    const double *x = ln.x + r * ln.C;
    double mean = 0, var = 0;
    for (size_t i = 0; i < ln.C; i++) mean += x[i] / (double)ln.C;
    for (size_t i = 0; i < ln.C; i++) var += (x[i] - mean) * (x[i] - mean) / (double)ln.C;
    assert_close(ln.mean[r], mean, 1e-12, "mean", r);
    assert_close(ln.rstd[r], 1 / sqrt(var + (double)1e-5f), 1e-12, "rstd", r);
  }
}

/* The second size is wider than the chunks in which a row is summed. */
static void layernorm_gradients(void **state) {
  (void)state;
  static const size_t sizes[][2] = {{LN_MAX_ROWS, 6}, {2, LN_MAX_C}};
  static double dx[LN_MAX_CELLS], dw[LN_MAX_C], db[LN_MAX_C], dx2[LN_MAX_CELLS], dw2[LN_MAX_C], db2[LN_MAX_C];
  for (size_t k = 0; k < 2; k++) {
    const size_t R = ln.rows = sizes[k][0], C = ln.C = sizes[k][1], n = R * C;
    fill(ln.x, n, 10, -2, 3), fill(ln.weight, C, 11, -1, 1), fill(ln.bias, C, 12, -1, 1), fill(ln.w, n, 13, -1, 1);
    void *scratch = malloc(sl_layernorm_scratch_bytes_f64(R, C));
    layernorm_loss(NULL);
    layernorm_statistics();
    sl_layernorm_backward_f64(dx, 0, dw, db, 0, ln.w, ln.x, ln.weight, ln.mean, ln.rstd, R, C, scratch);
    memcpy(dx2, ln.w, n * sizeof *dx2), memcpy(dw2, dw, C * sizeof *dw), memcpy(db2, db, C * sizeof *db);
    sl_layernorm_backward_f64(dx2, 1, dw2, db2, 1, ln.w, ln.x, ln.weight, ln.mean, ln.rstd, R, C, scratch);
    for (size_t i = 0; i < n; i++) assert_close(dx2[i], ln.w[i] + dx[i], 1e-12, "accumulated dx", i);
    for (size_t i = 0; i < C; i++) {
      assert_close(dw2[i], 2 * dw[i], 1e-12, "accumulated dweight", i);
      assert_close(db2[i], 2 * db[i], 1e-12, "accumulated dbias", i);
    }
    check_gradient("dx", layernorm_loss, NULL, ln.x, n, dx);
    check_gradient("dweight", layernorm_loss, NULL, ln.weight, C, dw);
    check_gradient("dbias", layernorm_loss, NULL, ln.bias, C, db);
    free(scratch);
  }
}

/* ---- embedding ---- */

enum { EB = 2, ET = 5, EC = 6, EV = 9, EP = 8, EN = EB * ET };

struct embedding_case {
  double wte[EV * EC], wpe[EP * EC], out[EN * EC], w[EN * EC];
};

static const int32_t embedding_tokens[EN] = {3, 8, 3, 0, 7, 7, 3, 1, 8, 5};
static const struct sl_embedding_shape embedding_shape = {EB, ET, EC, 0, EV, 2};

static double embedding_loss(void *context) {
  struct embedding_case *c = context;
  sl_embedding_forward_f64(c->out, embedding_tokens, c->wte, c->wpe, &embedding_shape, &drop);
  return dot(c->w, c->out, EN * EC);
}

static void embedding_gradients(void **state) {
  (void)state;
  struct embedding_case c;
  double dwte[EV * EC], dwpe[EP * EC], before[EV * EC], sum[EV * EC], sum_p[EP * EC];
  fill(c.wte, EV * EC, 14, -1, 1), fill(c.wpe, EP * EC, 15, -1, 1), fill(c.w, EN * EC, 16, -1, 1);
  fill(dwte, EV * EC, 17, -1, 1), fill(dwpe, EP * EC, 18, -1, 1); /* overwritten */
  sl_embedding_backward_f64(dwte, 0, dwpe, EP, 0, c.w, embedding_tokens, &embedding_shape, &drop);
  check_gradient("dwte", embedding_loss, &c, c.wte, EV * EC, dwte);
  check_gradient("dwpe", embedding_loss, &c, c.wpe, EP * EC, dwpe);
  fill(before, EV * EC, 19, -1, 1);
  memcpy(sum, before, sizeof sum), memcpy(sum_p, dwpe, sizeof sum_p);
  sl_embedding_backward_f64(sum, 1, sum_p, EP, 1, c.w, embedding_tokens, &embedding_shape, &drop);
  for (size_t i = 0; i < EV * EC; i++) assert_close(sum[i], before[i] + dwte[i], 1e-13, "accumulated dwte", i);
  for (size_t i = 0; i < EP * EC; i++) assert_close(sum_p[i], 2 * dwpe[i], 1e-13, "accumulated dwpe", i);
}

static void embedding_parts_of_the_vocabulary_add_up(void **state) {
  (void)state;
  struct embedding_case c;
  double whole[EN * EC], part[EN * EC], dwhole[EV * EC], dparts[EV * EC], dwpe[EP * EC], dwpe_part[EP * EC];
  fill(c.wte, EV * EC, 14, -1, 1), fill(c.wpe, EP * EC, 15, -1, 1), fill(c.w, EN * EC, 16, -1, 1);
  sl_embedding_forward_f64(whole, embedding_tokens, c.wte, c.wpe, &embedding_shape, NULL);
  for (size_t i = 0; i < EN * EC; i++) {
    double expected = c.wte[(size_t)embedding_tokens[i / EC] * EC + i % EC] + c.wpe[(2 + i / EC % ET) * EC + i % EC];
    assert_close(whole[i], expected, 1e-14, "embedding", i);
  }
  sl_embedding_backward_f64(dwhole, 0, dwpe, EP, 0, c.w, embedding_tokens, &embedding_shape, &drop);
  for (size_t first = 0; first < EV; first += 4) {
    struct sl_embedding_shape shape = embedding_shape;
    shape.first_row = first;
    shape.n_rows = EV - first < 4 ? EV - first : 4;
    sl_embedding_forward_f64(part, embedding_tokens, c.wte + first * EC, c.wpe, &shape, NULL);
    for (size_t i = 0; i < EN * EC; i++) whole[i] -= part[i];
    sl_embedding_backward_f64(dparts + first * EC, 0, dwpe_part, EP, 0, c.w, embedding_tokens, &shape, &drop);
    assert_memory_equal(dwpe_part, dwpe, sizeof dwpe);
  }
  for (size_t i = 0; i < EN * EC; i++) assert_true(whole[i] == 0); /* one part has the row and its position */
  assert_memory_equal(dparts, dwhole, sizeof dwhole);
}

/* ---- classifier ---- */

enum { KN = 5, KV = 13 };

static const int32_t classes[KN] = {3, 12, -1, 0, 7};

static double classifier_loss(void *context) {
  double sum, losses[KN], logits[KN * KV];
  memcpy(logits, context, sizeof logits);
  sl_classifier_fused_f64(&sum, losses, logits, classes, KN, KV, KV, 1, 0);
  return sum / 4;
}

static void classifier_gradient(void **state) {
  (void)state;
  double x[KN * KV], d[KN * KV], losses[KN], sum = 1.5;
  fill(x, KN * KV, 20, -4, 4);
  x[KV + 12] = 19; /* nearly certain */
  memcpy(d, x, sizeof d);
  sl_classifier_fused_f64(&sum, losses, d, classes, KN, KV, KV, 0.25, 1);
  double total = 1.5;
  for (size_t n = 0; n < KN; n++) {
    double z = 0;
    for (size_t v = 0; v < KV; v++) z += exp(x[n * KV + v]);
    double loss = classes[n] < 0 ? 0 : log(z) - x[n * KV + (size_t)classes[n]];
    assert_close(losses[n], loss, 1e-10, "loss", n);
    total += loss;
  }
  assert_close(sum, total, 1e-12, "loss sum", 0);
  check_gradient("dlogits", classifier_loss, x, x, KN * KV, d);
  for (size_t v = 0; v < KV; v++) assert_true(d[2 * KV + v] == 0);
}

/* What stands in the columns from `total` on is no part of the softmax, and its gradient is 0, also in an ignored row. */
static void classifier_ignores_padding(void **state) {
  (void)state;
  enum { KP = KV + 6 };
  double dense[KN * KV], padded[KN * KP], losses[2][KN], sum[2];
  fill(dense, KN * KV, 22, -4, 4);
  fill(padded, KN * KP, 23, 30, 40);
  for (size_t n = 0; n < KN; n++) memcpy(padded + n * KP, dense + n * KV, KV * sizeof *dense);
  sl_classifier_fused_f64(&sum[0], losses[0], dense, classes, KN, KV, KV, 0.25, 0);
  sl_classifier_fused_f64(&sum[1], losses[1], padded, classes, KN, KP, KV, 0.25, 0);
  assert_true(sum[0] > 0 && sum[1] == sum[0]);
  assert_memory_equal(losses[0], losses[1], sizeof losses[0]);
  for (size_t n = 0; n < KN; n++) {
    assert_memory_equal(padded + n * KP, dense + n * KV, KV * sizeof *dense);
    for (size_t v = KV; v < KP; v++) assert_true(padded[n * KP + v] == 0);
  }
}

static void classifier_survives_large_logits_and_vocabularies(void **state) {
  (void)state;
  enum { V = 50257 };
  static double x[V];
  static float f[V];
  const int32_t target = 40009;
  double sum, loss;
  fill(x, V, 21, -3, 3);
  for (size_t i = 0; i < V; i++) x[i] = (double)(float)(1000 + 0.0003 * (double)i + x[i]); /* a late maximum */
  to_float(f, x, V);
  double z = 0;
  for (size_t i = 0; i < V; i++) z += exp(x[i] - 1010);
  sl_classifier_fused(&sum, &loss, f, &target, 1, V, V, 1, 0);
  assert_close(sum, log(z) + 1010 - x[target], 3e-7, "loss", 0);
  for (size_t i = 0; i < V; i++) x[i] = exp(x[i] - 1010) / z - (i == (size_t)target);
  assert_true(distance(f, x, V) < 3e-7);
  /* A masked part of the vocabulary has probability 0, also where it fills a chunk of the row. */
  for (size_t i = 0; i < V; i++) f[i] = i % 2 || i < 30000 ? -INFINITY : 1.5f;
  double kept = 0, masked = 0;
  const int32_t even = 40010;
  sl_classifier_fused(&sum, &loss, f, &even, 1, V, V, 1, 0);
  for (size_t i = 0; i < V; i++) *(i % 2 || i < 30000 ? &masked : &kept) += fabs((double)f[i]);
  assert_close(loss, log(10129), 1e-6, "masked loss", 0);
  assert_true(masked == 0);
  assert_close(kept, 2 - 2 / 10129.0, 1e-6, "masked gradient", 0);
}

/* ---- attention ---- */

struct attention_case {
  struct sl_attention_shape shape;
  const struct sl_dropout *dropout;
  double *q, *k, *v, *out, *probs, *w;
  void *scratch;
  size_t scratch_bytes, q_n, k_n, out_n;
};

/* Strides are larger than the rows, so that a kernel that ignores them reads the gaps. */
static struct attention_case attention_case(size_t B, size_t T, size_t H, size_t KVH, size_t D) {
  struct attention_case c = {.shape = {B, T, H, KVH, D, H * D + 3, KVH * D + 2, KVH * D + 5, H * D + 1, H + 2}};
  c.q_n = B * T * c.shape.q_stride;
  c.k_n = B * T * c.shape.v_stride; /* the larger of k and v */
  c.out_n = B * T * c.shape.out_stride;
  c.q = reals(c.q_n, 22), c.k = reals(c.k_n, 23), c.v = reals(c.k_n, 24), c.w = reals(c.out_n, 25);
  c.out = reals(c.out_n, 26), c.probs = reals(B * H * T * T, 27);
  c.scratch_bytes = sl_attention_backward_scratch_bytes_f64(&c.shape, 3);
  assert_true(sl_attention_forward_scratch_bytes_f64(&c.shape, 3) <= c.scratch_bytes);
  c.scratch = malloc(c.scratch_bytes);
  for (size_t row = 0; row < B * T; row++) {
    for (size_t gap = H * D; gap < c.shape.out_stride; gap++) c.w[row * c.shape.out_stride + gap] = 0;
  }
  return c;
}

static void attention_free(struct attention_case *c) {
  free(c->q), free(c->k), free(c->v), free(c->w), free(c->out), free(c->probs), free(c->scratch);
}

static double attention_loss(void *context) {
  struct attention_case *c = context;
  sl_attention_forward_f64(c->out, c->probs, NULL, c->q, c->k, c->v, &c->shape, c->dropout, c->scratch,
                           c->scratch_bytes);
  return dot(c->w, c->out, c->out_n);
}

/* The definition, one number at a time. */
static double plain_attention(const struct attention_case *c, double *probs, size_t b, size_t h, size_t t, size_t d) {
  const struct sl_attention_shape s = c->shape;
  const size_t g = h / (s.H / s.KV) * s.D;
  double z = 0, out = 0;
  for (size_t j = 0; j <= t; j++) {
    const double *q = c->q + (b * s.T + t) * s.q_stride + h * s.D, *k = c->k + (b * s.T + j) * s.k_stride + g;
    probs[j] = exp(dot(q, k, s.D) / sqrt((double)s.D));
    z += probs[j];
  }
  for (size_t j = 0; j <= t; j++) {
    double one = 1, keep = 1;
    probs[j] /= z;
    if (c->dropout) {
      struct sl_dropout at = *c->dropout;
      at.first_element += ((b * s.global_heads + h) * s.T + t) * s.T + j;
      sl_dropout_forward_f64(&keep, &one, 1, 1, &at);
    }
    out += probs[j] * keep * c->v[(b * s.T + j) * s.v_stride + g + d];
  }
  return out;
}

static void check_attention(struct attention_case *c) {
  const struct sl_attention_shape s = c->shape;
  double row[128];
  attention_loss(c);
  for (size_t i = 0; i < s.B * s.H * s.T; i++) {
    size_t t = i % s.T, h = i / s.T % s.H, b = i / s.T / s.H, d = i % s.D;
    double out = plain_attention(c, row, b, h, t, d);
    assert_close(c->out[(b * s.T + t) * s.out_stride + h * s.D + d], out, 1e-12, "out", i);
    for (size_t j = 0; j < s.T; j++) assert_close(c->probs[i * s.T + j], j <= t ? row[j] : 0, 1e-12, "probs", j);
  }
}

static void check_attention_gradients(struct attention_case *c) {
  double *dq = calloc(c->q_n, sizeof *dq), *dk = calloc(c->k_n, sizeof *dk), *dv = calloc(c->k_n, sizeof *dv);
  attention_loss(c);
  sl_attention_backward_f64(dq, dk, dv, c->w, c->q, c->k, c->v, c->probs, NULL, &c->shape, c->dropout, c->scratch,
                            c->scratch_bytes);
  check_gradient("dq", attention_loss, c, c->q, c->q_n, dq);
  check_gradient("dk", attention_loss, c, c->k, c->k_n, dk);
  check_gradient("dv", attention_loss, c, c->v, c->k_n, dv);
  free(dq), free(dk), free(dv);
}

static void attention_forward_and_gradients(void **state) {
  (void)state;
  const struct sl_dropout attention_drop = {.p = 0.2f, .key = {21, 2, 5, 14}, .first_element = 1003};
  static const size_t sizes[][5] = {
      {2, 5, 3, 3, 2}, {1, 37, 2, 2, 3}, {2, 7, 6, 2, 5}, {1, 67, 3, 1, 9}, {1, 35, 1, 1, 37}};
  for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
    const size_t *n = sizes[i / 2];
    struct attention_case c = attention_case(n[0], n[1], n[2], n[3], n[4]);
    c.dropout = i % 2 ? &attention_drop : NULL;
    check_attention(&c);
    check_attention_gradients(&c);
    attention_free(&c);
  }
}

static void attention_does_not_see_the_future(void **state) {
  (void)state;
  struct attention_case c = attention_case(1, 41, 1, 1, 4);
  double before[21 * 5];
  attention_loss(&c);
  memcpy(before, c.out, sizeof before);
  for (size_t t = 21; t < 41; t++) c.k[t * c.shape.k_stride] += 1, c.v[t * c.shape.v_stride] += 1;
  attention_loss(&c);
  assert_memory_equal(before, c.out, sizeof before);
  attention_free(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(philox_known_answers),
      cmocka_unit_test(philox_words_are_indexed_by_global_element),
      cmocka_unit_test(random_numbers_do_not_depend_on_the_partition),
      cmocka_unit_test(dropout_keeps_the_right_share_and_scales_it),
      cmocka_unit_test(dropout_of_a_piece_equals_the_piece_of_the_whole),
      cmocka_unit_test(residual_and_bias_gradients),
      cmocka_unit_test(wide_rows_equal_their_parts_one_by_one),
      cmocka_unit_test(wide_embedding_equals_dropout_then_embedding),
      cmocka_unit_test(activation_gradients),
      cmocka_unit_test(gelu_follows_its_formula_to_both_tails),
      cmocka_unit_test(mse_gradient),
      cmocka_unit_test(layernorm_gradients),
      cmocka_unit_test(embedding_gradients),
      cmocka_unit_test(embedding_parts_of_the_vocabulary_add_up),
      cmocka_unit_test(classifier_gradient),
      cmocka_unit_test(classifier_ignores_padding),
      cmocka_unit_test(classifier_survives_large_logits_and_vocabularies),
      cmocka_unit_test(attention_forward_and_gradients),
      cmocka_unit_test(attention_does_not_see_the_future),
  };
  return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}

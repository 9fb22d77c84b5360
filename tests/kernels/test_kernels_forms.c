/* label: unit
   libs: kernels_double kernels
 * What model families ask of kernels beside GPT-2 and Llama, in double: scores that are capped, tilted, scaled and windowed, heads
 * in groups, activations, norms from one, frequencies of rotary positions - against definitions and finite differences. */
#include "tests/support/kernels_support.h"

#include "kernels/rotary.h"
#include "kernels/scores.h"

#include <stdbool.h>

/* ---- attention ---- */

enum {
  B = 2,
  T = 41,
  H = 6,
  KV = 2,
  D = 5,
  GROUP = H / KV,
  ROW = (H + 2 * KV) * D,
  N = B * T * ROW,
  OUT = B * T * H * D
};

struct attention {
  struct sl_attention_shape shape;
  const struct sl_dropout *dropout;
  bool flash;
  double *qkv, *out, *probs, *w, *lse;
  size_t k, v; /* where the first of each stands in a row */
  void *scratch;
  size_t scratch_bytes;
};

static struct attention new_attention(struct sl_attention_shape form, bool grouped) {
  struct attention a = {.shape = form};
  struct sl_attention_shape *s = &a.shape;
  s->B = B, s->T = T, s->H = H, s->KV = KV, s->D = D, s->global_heads = 12, s->first_head = H;
  s->q_stride = s->k_stride = s->v_stride = ROW, s->out_stride = H * D;
  a.k = grouped ? GROUP * D : H * D, a.v = a.k + (grouped ? 1 : KV) * D;
  if (grouped) s->q_gap = 2 * D, s->kv_step = (GROUP + 2) * D;
  a.qkv = reals(N, 31), a.out = reals(OUT, 32), a.w = reals(OUT, 33);
  for (size_t i = 0; i < N; i++) a.qkv[i] *= 2; /* scores that the cap bends */
  a.probs = calloc(B * H * T * T, sizeof(double)), a.lse = calloc(B * H * T, sizeof(double));
  a.scratch_bytes = sl_attention_backward_scratch_bytes_f64(s, 2) + sl_flash_attention_backward_scratch_bytes_f64(s, 2);
  a.scratch = malloc(a.scratch_bytes);
  assert_true(a.probs && a.lse && a.scratch);
  return a;
}

static void free_attention(struct attention *a) {
  free(a->qkv), free(a->out), free(a->w), free(a->probs), free(a->lse), free(a->scratch);
}

static double attention_loss(void *context) {
  struct attention *a = context;
  if (a->flash)
    sl_flash_attention_forward_f64(a->out, a->lse, a->qkv, a->qkv + a->k, a->qkv + a->v, &a->shape, a->dropout,
                                   a->scratch, a->scratch_bytes);
  else
    sl_attention_forward_f64(a->out, a->probs, NULL, a->qkv, a->qkv + a->k, a->qkv + a->v, &a->shape, a->dropout,
                             a->scratch, a->scratch_bytes);
  return dot(a->w, a->out, OUT);
}

static void attention_backward(struct attention *a, double *d) {
  if (a->flash)
    sl_flash_attention_backward_f64(d, d + a->k, d + a->v, a->w, a->qkv, a->qkv + a->k, a->qkv + a->v, a->out, a->lse,
                                    &a->shape, a->dropout, a->scratch, a->scratch_bytes);
  else
    sl_attention_backward_f64(d, d + a->k, d + a->v, a->w, a->qkv, a->qkv + a->k, a->qkv + a->v, a->probs, NULL,
                              &a->shape, a->dropout, a->scratch, a->scratch_bytes);
}

/* The definition: where the heads stand, which keys are seen, and what becomes of a score. */
static double plain_score(const struct attention *a, bool grouped, size_t b, size_t h, size_t t, size_t j) {
  const struct sl_attention_shape *s = &a->shape;
  const size_t g = h / GROUP, head = 6 + h; /* of 12: the second half */
  const double *row = a->qkv + (b * T + t) * ROW, *other = a->qkv + (b * T + j) * ROW;
  const double *q = row + (grouped ? (g * (GROUP + 2) + h % GROUP) * D : h * D);
  const double *k = other + (grouped ? (g * (GROUP + 2) + GROUP) * D : (H + g) * D);
  double x = dot(q, k, D) * (s->scale > 0 ? (double)s->scale : 1 / sqrt(D));
  if (s->cap > 0) x = (double)s->cap * tanh(x / (double)s->cap);
  /* 12 heads: eight have 2^-1 ... 2^-8 (max 8), the others 2^-0.5, 2^-1.5 ... */
  const double exponent = head < 8 ? (double)(head + 1) / 8 : (double)(2 * (head - 8) + 1) / 16;
  return s->alibi_max > 0 ? x - exp2(-(double)s->alibi_max * exponent) * (double)(t - j) : x;
}

static void check_forward(struct attention *a, bool grouped) {
  const struct sl_attention_shape *s = &a->shape;
  a->flash = false;
  attention_loss(a);
  for (size_t i = 0; i < B * H * T; i++) {
    const size_t t = i % T, h = i / T % H, b = i / T / H,
                 from = s->window > 0 && t + 1 > s->window ? t + 1 - s->window : 0;
    double p[T] = {0}, sum = 0;
    for (size_t j = from; j <= t; j++) sum += p[j] = exp(plain_score(a, grouped, b, h, t, j));
    for (size_t j = 0; j < T; j++) assert_close(a->probs[i * T + j], p[j] / sum, 1e-11, "probs", i * T + j);
  }
}

static const struct sl_attention_shape forms[] = {{.window = 7},
                                                  {.cap = 1.5f},
                                                  {.alibi_max = 8},
                                                  {.scale = 0.25f},
                                                  {.window = 33, .cap = 3, .alibi_max = 8, .scale = 0.7f}};
enum { FORMS = sizeof forms / sizeof *forms };

static void attention_has_the_forms_of_its_models(void **state) {
  (void)state;
  for (int i = 0; i < 2 * FORMS; i++) {
    struct attention a = new_attention(forms[i / 2], i % 2);
    check_forward(&a, i % 2);
    free_attention(&a);
  }
}

/* Every gradient of the last form against differences; flash attention against the materialised one in every form, with
 * dropout. */
static void attention_gradients(void **state) {
  (void)state;
  static const struct sl_dropout drop = {.p = 0.2f, .key = {21, 2, 5, 14}, .first_element = 1003};
  for (int i = 0; i < 2 * FORMS; i++) {
    struct attention a = new_attention(forms[i / 2], i % 2);
    double *plain = calloc(N, sizeof *plain), *flash = calloc(N, sizeof *flash), *out = malloc(OUT * sizeof *out);
    a.dropout = i % 4 == 3 ? &drop : NULL;
    attention_loss(&a), attention_backward(&a, plain);
    if (i / 2 == FORMS - 1) check_gradient("dqkv", attention_loss, &a, a.qkv, 3 * ROW, plain);
    attention_loss(&a);
    memcpy(out, a.out, OUT * sizeof *out);
    a.flash = true;
    attention_loss(&a), attention_backward(&a, flash);
    for (size_t k = 0; k < OUT; k++) assert_close(a.out[k], out[k], 1e-11, "flash out", k);
    for (size_t k = 0; k < N; k++) assert_close(flash[k], plain[k], 1e-9, "flash dqkv", k);
    free(plain), free(flash), free(out), free_attention(&a);
  }
}

/* ---- activations ---- */

enum { R = 3, C = 11 };
struct activation {
  enum sl_act act;
  double x[R * C], up[R * C], out[R * C], w[R * C];
};

static double act_loss(void *context) {
  struct activation *a = context;
  sl_act_forward_f64(a->out, a->x, R, C, a->act, 2.5f);
  return dot(a->w, a->out, R * C);
}

static double gated_loss(void *context) {
  struct activation *a = context;
  sl_act_gated_forward_f64(a->out, a->x, a->up, R, C, C, a->act);
  return dot(a->w, a->out, R * C);
}

static double plain_act(double x, enum sl_act act) {
  switch (act) {
  case SL_ACT_GELU_TANH:
    return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
  case SL_ACT_GELU:
    return 0.5 * x * (1 + erf(x / sqrt(2)));
  case SL_ACT_SILU:
    return x / (1 + exp(-x));
  case SL_ACT_RELU:
    return x > 0 ? x : 0;
  case SL_ACT_RELU2:
    return x > 0 ? x * x : 0;
  default:
    return 2.5 * tanh(x / 2.5);
  }
}

static void activations(void **state) {
  (void)state;
  for (int act = SL_ACT_GELU_TANH; act <= SL_ACT_CAP; act++) {
    struct activation a = {.act = (enum sl_act)act};
    double dx[R * C], dup[R * C];
    fill(a.x, R * C, 41, -4, 4), fill(a.up, R * C, 42, -1, 1), fill(a.w, R * C, 43, -1, 1);
    act_loss(&a);
    for (size_t i = 0; i < R * C; i++) assert_close(a.out[i], plain_act(a.x[i], a.act), 1e-12, "act", i);
    sl_act_backward_f64(dx, a.w, a.x, R, C, a.act, 2.5f);
    check_gradient("act", act_loss, &a, a.x, R * C, dx);
    if (act == SL_ACT_CAP) continue;
    sl_act_gated_backward_f64(dx, dup, a.w, a.x, a.up, R, C, C, a.act);
    check_gradient("gate", gated_loss, &a, a.x, R * C, dx);
    check_gradient("up", gated_loss, &a, a.up, R * C, dup);
  }
}

/* ---- norms ---- */

struct norm {
  double x[R * C], weight[C], out[R * C], mean[R], rstd[R], w[R * C];
  int rms; /* else a LayerNorm */
};

static void norm_forward(struct norm *n, double *out, const double *weight, int from_one) {
  if (n->rms)
    sl_llama_rmsnorm_forward_f64(out, n->rstd, n->x, weight, R, C, 1e-5f, from_one);
  else
    sl_layernorm_forward_f64(out, n->mean, n->rstd, n->x, weight, NULL, R, C, 1e-5f, from_one);
}

static double from_one_loss(void *context) {
  struct norm *n = context;
  norm_forward(n, n->out, n->weight, 1);
  return dot(n->w, n->out, R * C);
}

static void norm_from_one(void **state) {
  (void)state;
  double dx[R * C], dw[C], whole[C], out[R * C];
  void *scratch = malloc(sl_layernorm_scratch_bytes_f64(R, C) + sl_llama_rmsnorm_scratch_bytes_f64(R, C));
  for (int rms = 0; rms < 2; rms++) {
    struct norm n = {.rms = rms};
    fill(n.x, R * C, 51, -2, 3), fill(n.weight, C, 52, -1, 1), fill(n.w, R * C, 53, -1, 1);
    from_one_loss(&n);
    for (size_t c = 0; c < C; c++) whole[c] = 1 + n.weight[c];
    norm_forward(&n, out, whole, 0);
    for (size_t i = 0; i < R * C; i++) assert_close(n.out[i], out[i], 1e-14, "from one", i);
    if (rms)
      sl_llama_rmsnorm_backward_f64(dx, 0, dw, 0, 0, n.w, n.x, n.weight, n.rstd, R, C, 1, scratch);
    else
      sl_layernorm_backward_f64(dx, 0, dw, NULL, 0, 0, n.w, n.x, n.weight, n.mean, n.rstd, R, C, 1, scratch);
    check_gradient("dx", from_one_loss, &n, n.x, R * C, dx);
    check_gradient("dweight", from_one_loss, &n, n.weight, C, dw);
  }
  free(scratch);
}

/* A LayerNorm without a bias is one whose bias is 0. */
static void norm_without_bias(void **state) {
  (void)state;
  double x[R * C], weight[C], bias[C] = {0}, out[2][R * C], mean[R], rstd[R], w[R * C], dw[2][C], db[C], dx[2][R * C];
  void *scratch = malloc(sl_layernorm_scratch_bytes_f64(R, C));
  fill(x, R * C, 54, -2, 3), fill(weight, C, 55, -1, 1), fill(w, R * C, 56, -1, 1);
  for (int i = 0; i < 2; i++) {
    sl_layernorm_forward_f64(out[i], mean, rstd, x, weight, i ? bias : NULL, R, C, 1e-5f, 0);
    sl_layernorm_backward_f64(dx[i], 0, dw[i], i ? db : NULL, 0, 0, w, x, weight, mean, rstd, R, C, 0, scratch);
  }
  assert_memory_equal(out[0], out[1], sizeof out[0]);
  assert_memory_equal(dx[0], dx[1], sizeof dx[0]);
  assert_memory_equal(dw[0], dw[1], sizeof dw[0]);
  free(scratch);
}

/* ---- rotary positions ---- */

/* Frequencies as transformers' modeling_rope_utils.py has them, written out once more. */
static double plain_frequency(const struct sl_rope *r, double dim, double i) {
  const double f = pow(r->base, -2 * i / dim), pi = 3.14159265358979323846;
  if (r->scaling == SL_ROPE_LINEAR) return f / r->factor;
  if (r->scaling == SL_ROPE_LLAMA3) {
    const double wavelength = 2 * pi / f;
    if (wavelength < r->original / r->high) return f;
    if (wavelength > r->original / r->low) return f / r->factor;
    const double smooth = (r->original / wavelength - r->low) / (r->high - r->low);
    return (1 - smooth) * f / r->factor + smooth * f;
  }
  if (r->scaling != SL_ROPE_YARN) return f;
  double low = floor(dim * log(r->original / (r->high * 2 * pi)) / (2 * log(r->base)));
  double high = ceil(dim * log(r->original / (r->low * 2 * pi)) / (2 * log(r->base)));
  low = fmax(low, 0), high = fmin(high, dim - 1);
  const double ramp = fmin(fmax((i - low) / (high - low), 0), 1), keep = 1 - ramp;
  return f / r->factor * (1 - keep) + f * keep;
}

static void frequencies(void **state) {
  (void)state;
  static const struct sl_rope ropes[] = {
      {.base = 1e4},
      {.base = 1e4, .scaling = SL_ROPE_LINEAR, .factor = 8},
      {.base = 1e4, .scaling = SL_ROPE_DYNAMIC, .factor = 8},
      {.base = 5e5, .scaling = SL_ROPE_LLAMA3, .factor = 8, .low = 1, .high = 4, .original = 8192},
      {.base = 1e6, .scaling = SL_ROPE_YARN, .factor = 4, .low = 1, .high = 32, .original = 32768, .whole = 1}};
  for (size_t k = 0; k < sizeof ropes / sizeof *ropes; k++)
    for (size_t i = 0; i < 64; i++) {
      const double got = sl_rope_frequency(&ropes[k], 128, i), want = plain_frequency(&ropes[k], 128, (double)i);
      if (!(fabs(got / want - 1) < 1e-12)) fail_msg("rope %zu, pair %zu: %.17g, not %.17g", k, i, got, want);
    }
}

/* Neighbours of the first 4 of 6 elements, in two groups of two heads with a gap behind each; the rest stays. */
static void rope_turns_parts_neighbours_and_groups(void **state) {
  (void)state;
  enum { RT = 5, RD = 6, STRIDE = 6 * RD, RN = RT * STRIDE };
  const struct sl_rope_shape shape = {
      .B = 1, .T = RT, .heads = 4, .D = RD, .stride = STRIDE, .step = RD, .group = 2, .gap = RD};
  const struct sl_rope rope = {.base = 500, .dim = 4, .interleaved = 1, .attention = 1.25};
  double x[RN], y[RN];
  fill(x, RN, 61, -1, 1);
  memcpy(y, x, sizeof y);
  sl_llama_rope_f64(y, &shape, 3, &rope, 1);
  for (size_t i = 0; i < RN; i++) {
    const size_t t = i / STRIDE, head = i % STRIDE / RD, d = i % RD;
    const double angle = (double)(3 + t) * pow(500, -2.0 * (double)(d / 2) / 4), c = 1.25 * cos(angle),
                 s = 1.25 * sin(angle);
    const bool turned = d < 4 && head % 3 != 2;
    const double want = !turned ? x[i] : d % 2 == 0 ? x[i] * c - x[i + 1] * s : x[i] * c + x[i - 1] * s;
    assert_close(y[i], want, 1e-12, "rope", i);
  }
  sl_llama_rope_f64(y, &shape, 3, &rope, -1); /* the transpose: back, and times 1.25 once more */
  for (size_t i = 0; i < RN; i++) {
    const bool turned = i % RD < 4 && i % STRIDE / RD % 3 != 2;
    assert_close(y[i], turned ? 1.25 * 1.25 * x[i] : x[i], 1e-12, "rope and back", i);
  }
}

/* ---- embedding ---- */

struct embedding {
  struct sl_embedding_shape shape;
  const struct sl_dropout *dropout;
  double table[7 * C], positions[8 * C], out[6 * C], w[6 * C];
};
static const int32_t tokens[6] = {3, 1, 3, 0, 6, 3};

static double embedding_loss(void *context) {
  struct embedding *e = context;
  sl_embedding_forward_f64(e->out, tokens, e->table, e->positions, &e->shape, e->dropout);
  return dot(e->w, e->out, 6 * C);
}

/* Rows of the token table are scaled, those of the positions, which begin behind two others, are not. */
static void embedding_scale(void **state) {
  (void)state;
  static const struct sl_dropout drop = {.p = 0.3f, .key = {21, 2, 5, 14}, .first_element = 77, .row_stride = C};
  for (int i = 0; i < 2; i++) {
    struct embedding e = {.shape = {.B = 2, .T = 3, .C = C, .n_rows = 7, .first_position = 2, .scale = 3.5f},
                          .dropout = i ? &drop : NULL};
    double dtable[7 * C], dpositions[8 * C];
    fill(e.table, 7 * C, 71, -1, 1), fill(e.positions, 8 * C, 72, -1, 1), fill(e.w, 6 * C, 73, -1, 1);
    embedding_loss(&e);
    if (i == 0) assert_close(e.out[C + 2], 3.5 * e.table[C + 2] + e.positions[3 * C + 2], 1e-13, "embedding", 0);
    sl_embedding_backward_f64(dtable, 0, dpositions, 8, 0, 0, e.w, tokens, &e.shape, e.dropout);
    check_gradient("table", embedding_loss, &e, e.table, 7 * C, dtable);
    check_gradient("positions", embedding_loss, &e, e.positions, 8 * C, dpositions);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attention_has_the_forms_of_its_models),
      cmocka_unit_test(attention_gradients),
      cmocka_unit_test(activations),
      cmocka_unit_test(norm_from_one),
      cmocka_unit_test(norm_without_bias),
      cmocka_unit_test(frequencies),
      cmocka_unit_test(rope_turns_parts_neighbours_and_groups),
      cmocka_unit_test(embedding_scale),
  };
  return cmocka_run_group_tests_name("kernels_forms", tests, NULL, NULL);
}

/* label: unit
   libs: kernels_double kernels
 * Attention with materialised probabilities against its definition and finite differences (in double). */
#include "tests/support/kernels_support.h"

struct attention_case {
  struct sl_attention_shape shape;
  const struct sl_dropout *dropout;
  double *q, *k, *v, *out, *probs, *w;
  void *scratch;
  size_t scratch_bytes, q_n, k_n, out_n;
};

/* Strides are larger than the rows, so that a kernel that ignores them reads the gaps. */
static struct attention_case attention_case(size_t B, size_t T, size_t H, size_t KVH, size_t D) {
  struct attention_case c = {.shape = {.B = B,
                                       .T = T,
                                       .H = H,
                                       .KV = KVH,
                                       .D = D,
                                       .q_stride = H * D + 3,
                                       .k_stride = KVH * D + 2,
                                       .v_stride = KVH * D + 5,
                                       .out_stride = H * D + 1,
                                       .global_heads = H + 2}};
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
      cmocka_unit_test(attention_forward_and_gradients),
      cmocka_unit_test(attention_does_not_see_the_future),
  };
  return cmocka_run_group_tests_name("attention", tests, NULL, NULL);
}

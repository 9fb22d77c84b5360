/* label: unit
   libs: kernels_double kernels
 * The embedding, whole, in parts of the vocabulary and with dropout: gradients by finite differences (in double). */
#include "tests/support/kernels_support.h"

static const struct sl_dropout drop = {.p = 0.3f, .key = {21, 2, 5, 13}, .first_element = 4099, .row_stride = 29};

enum { EB = 2, ET = 5, EC = 6, EV = 9, EP = 8, EN = EB * ET };

struct embedding_case {
  double wte[EV * EC], wpe[EP * EC], out[EN * EC], w[EN * EC];
};

static const int32_t embedding_tokens[EN] = {3, 8, 3, 0, 7, 7, 3, 1, 8, 5};
static const struct sl_embedding_shape embedding_shape = {EB, ET, EC, 0, EV, 2, .scale = 0};

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
  sl_embedding_backward_f64(dwte, 0, dwpe, EP, 0, 0, c.w, embedding_tokens, &embedding_shape, &drop);
  check_gradient("dwte", embedding_loss, &c, c.wte, EV * EC, dwte);
  check_gradient("dwpe", embedding_loss, &c, c.wpe, EP * EC, dwpe);
  fill(before, EV * EC, 19, -1, 1);
  memcpy(sum, before, sizeof sum), memcpy(sum_p, dwpe, sizeof sum_p);
  sl_embedding_backward_f64(sum, 1, sum_p, EP, 1, 0, c.w, embedding_tokens, &embedding_shape, &drop);
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
  sl_embedding_backward_f64(dwhole, 0, dwpe, EP, 0, 0, c.w, embedding_tokens, &embedding_shape, &drop);
  for (size_t first = 0; first < EV; first += 4) {
    struct sl_embedding_shape shape = embedding_shape;
    shape.first_row = first;
    shape.n_rows = EV - first < 4 ? EV - first : 4;
    sl_embedding_forward_f64(part, embedding_tokens, c.wte + first * EC, c.wpe, &shape, NULL);
    for (size_t i = 0; i < EN * EC; i++) whole[i] -= part[i];
    sl_embedding_backward_f64(dparts + first * EC, 0, dwpe_part, EP, 0, 0, c.w, embedding_tokens, &shape, &drop);
    assert_memory_equal(dwpe_part, dwpe, sizeof dwpe);
  }
  for (size_t i = 0; i < EN * EC; i++) assert_true(whole[i] == 0); /* one part has the row and its position */
  assert_memory_equal(dparts, dwhole, sizeof dwhole);
}

static void wide_embedding_equals_dropout_then_embedding(void **state) {
  (void)state;
  enum { W = 301, ROWS_V = 4, TOKENS = 6 };
  static const int32_t tokens[TOKENS] = {3, 1, 1, 0, 3, 3};
  const struct sl_embedding_shape shape = {2, 3, W, 0, ROWS_V, 0, .scale = 0};
  const struct sl_dropout d = {.p = 0.4f, .key = {1, 2, 3, 4}, .first_element = 77, .row_stride = 1409};
  static double dout[TOKENS * W], masked[TOKENS * W], a[ROWS_V * W], b[ROWS_V * W], pa[3 * W], pb[3 * W];
  fill(dout, TOKENS * W, 63, -1, 1);
  sl_embedding_backward_f64(a, 0, pa, 3, 0, 0, dout, tokens, &shape, &d);
  sl_dropout_backward_f64(masked, dout, TOKENS, W, &d);
  sl_embedding_backward_f64(b, 0, pb, 3, 0, 0, masked, tokens, &shape, NULL);
  assert_memory_equal(a, b, sizeof a);
  assert_memory_equal(pa, pb, sizeof pa);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(embedding_gradients),
      cmocka_unit_test(embedding_parts_of_the_vocabulary_add_up),
      cmocka_unit_test(wide_embedding_equals_dropout_then_embedding),
  };
  return cmocka_run_group_tests_name("embedding", tests, NULL, NULL);
}

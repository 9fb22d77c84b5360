/* label: unit
   libs: kernels_double kernels
 * Kernels of context parallelism: what each member of a cp group makes of its two chunks of every sequence, against the
 * same kernel on whole sequences, and the copies that put chunks in order, against plain loops. */
#include "kernels/by_dtype.h"
#include "tests/support/kernels_support.h"

/* Where member i of cp has its tokens: chunks i and 2 cp - 1 - i. */
static struct sl_token_places member_places(size_t cp, size_t i, size_t chunk) {
  return (struct sl_token_places){chunk, {i * chunk, (2 * cp - 1 - i) * chunk}};
}

/* The position of a member's token t, by the definition. */
static size_t position_of(size_t cp, size_t i, size_t chunk, size_t t) {
  return t / chunk == 0 ? i * chunk + t : (2 * cp - 1 - i) * chunk + t - chunk;
}

/* The rows, of `row` numbers, that member i has of whole (n, 2 cp chunk, row), and the way back. */
struct cut {
  size_t cp, i, chunk, n, row;
};

static double *cut_out(const struct cut *c, const double *whole) {
  const size_t T = 2 * c->chunk;
  double *x = calloc(c->n * T * c->row, sizeof *x);
  assert_non_null(x);
  for (size_t r = 0; r < c->n * T; r++) {
    const size_t at = r / T * c->cp * T + position_of(c->cp, c->i, c->chunk, r % T);
    memcpy(x + r * c->row, whole + at * c->row, c->row * sizeof *x);
  }
  return x;
}

/* Asserts that x is what cut_out() takes from `whole`; of each row the first `used` numbers. */
static void assert_cut(const struct cut *c, const double *x, const double *whole, size_t used, double relative,
                       const char *what) {
  double *expected = cut_out(c, whole);
  for (size_t k = 0; k < c->n * 2 * c->chunk * c->row; k++) {
    if (k % c->row < used && !(fabs(x[k] - expected[k]) <= relative * (1 + fabs(expected[k]))))
      fail_msg("%s, member %zu of %zu, chunks of %zu, [%zu]: %.17g, not %.17g", what, c->i, c->cp, c->chunk, k, x[k],
               expected[k]);
  }
  free(expected);
}

/* ---- flash attention ---- */

enum { B = 2, H = 4, KV = 2, D = 7, Q_ROW = H * D + 3, K_ROW = KV * D + 2, V_ROW = KV * D + 5, OUT_ROW = H * D + 1 };

static const struct sl_dropout drop = {.p = 0.2f, .key = {21, 2, 5, 14}, .first_element = 1003};

/* Of all lengths: a window within a chunk, and one that reaches over several. */
static const struct sl_attention_shape forms[] = {{.window = 0},
                                                  {.window = 4},
                                                  {.window = 3, .alibi_max = 8},
                                                  {.alibi_max = 8},
                                                  {.cap = 2.5f, .scale = 0.7f},
                                                  {.window = SIZE_MAX, .cap = 3, .alibi_max = 4, .first_head = 2}};
enum { FORMS = sizeof forms / sizeof *forms };

/* Keys and values are whole; the rest is of `T` tokens a sequence. */
struct attention {
  struct sl_attention_shape shape;
  const struct sl_dropout *dropout;
  double *q, *k, *v, *dout, *out, *lse, *dq, *dk, *dv;
};

static double *numbers(size_t n) {
  double *x = malloc(n * sizeof *x);
  assert_non_null(x);
  for (size_t i = 0; i < n; i++) x[i] = NAN; /* what a kernel leaves out is found */
  return x;
}

static void attend(struct attention *a) {
  const size_t T = a->shape.T, S = a->shape.keys ? a->shape.keys : T;
  const size_t bytes[] = {sl_flash_attention_forward_scratch_bytes_f64(&a->shape, 1),
                          sl_flash_attention_backward_scratch_bytes_f64(&a->shape, 1)};
  void *forward = malloc(bytes[0]), *backward = malloc(bytes[1]); /* exact: a sanitizer sees one byte more */
  a->out = numbers(B * T * OUT_ROW), a->lse = numbers(B * H * T), a->dq = numbers(B * T * Q_ROW);
  a->dk = numbers(B * S * K_ROW), a->dv = numbers(B * S * V_ROW);
  sl_flash_attention_forward_f64(a->out, a->lse, a->q, a->k, a->v, &a->shape, a->dropout, forward, bytes[0]);
  sl_flash_attention_backward_f64(a->dq, a->dk, a->dv, a->dout, a->q, a->k, a->v, a->out, a->lse, &a->shape, a->dropout,
                                  backward, bytes[1]);
  free(forward), free(backward);
}

static void free_results(struct attention *a) {
  free(a->out), free(a->lse), free(a->dq), free(a->dk), free(a->dv);
}

/* sum (rows of `row`) += x, or is set to it by the first; the gaps are left as they are. */
static void add_up(double *sum, const double *x, size_t n, size_t row, size_t used, int first) {
  for (size_t i = 0; i < n; i++)
    if (i % row < used) sum[i] = first ? x[i] : sum[i] + x[i];
}

static void assert_sum(const double *x, const double *y, size_t n, size_t row, size_t used, const char *what) {
  for (size_t i = 0; i < n; i++)
    if (i % row < used && !(fabs(x[i] - y[i]) <= 1e-12 * (1 + fabs(y[i]))))
      fail_msg("%s[%zu] of all members: %.17g, not %.17g", what, i, x[i], y[i]);
}

/* The members' attention against that of the whole, whose results are there. */
static void check_members(const struct attention *whole, size_t cp, size_t chunk) {
  const size_t S = 2 * cp * chunk;
  double *dk = numbers(B * S * K_ROW), *dv = numbers(B * S * V_ROW);
  for (size_t i = 0; i < cp; i++) {
    const struct cut q = {cp, i, chunk, B, Q_ROW}, out = {cp, i, chunk, B, OUT_ROW}, lse = {cp, i, chunk, B * H, 1};
    struct attention a = *whole;
    a.shape.T = 2 * chunk, a.shape.keys = S, a.shape.at = member_places(cp, i, chunk);
    a.q = cut_out(&q, whole->q), a.dout = cut_out(&out, whole->dout);
    attend(&a);
    assert_cut(&out, a.out, whole->out, (size_t)H * D, 1e-12, "out");
    assert_cut(&lse, a.lse, whole->lse, 1, 1e-12, "lse");
    assert_cut(&q, a.dq, whole->dq, (size_t)H * D, 1e-12, "dq");
    add_up(dk, a.dk, B * S * K_ROW, K_ROW, KV * D, i == 0);
    add_up(dv, a.dv, B * S * V_ROW, V_ROW, KV * D, i == 0);
    free(a.q), free(a.dout);
    free_results(&a);
  }
  assert_sum(dk, whole->dk, B * S * K_ROW, K_ROW, KV * D, "dk");
  assert_sum(dv, whole->dv, B * S * V_ROW, V_ROW, KV * D, "dv");
  free(dk), free(dv);
}

static void check_attention(size_t cp, size_t chunk, const struct sl_attention_shape *form,
                            const struct sl_dropout *dropout) {
  const size_t S = 2 * cp * chunk;
  struct attention whole = {.shape = *form, .dropout = dropout};
  struct sl_attention_shape *s = &whole.shape;
  s->B = B, s->T = S, s->H = H, s->KV = KV, s->D = D, s->global_heads = H + 2;
  s->q_stride = Q_ROW, s->k_stride = K_ROW, s->v_stride = V_ROW, s->out_stride = OUT_ROW;
  if (form->window == SIZE_MAX) s->window = chunk + 7;
  whole.q = reals(B * S * Q_ROW, 22), whole.k = reals(B * S * K_ROW, 23);
  whole.v = reals(B * S * V_ROW, 24), whole.dout = reals(B * S * OUT_ROW, 25);
  for (size_t i = 0; i < B * S * Q_ROW; i++) whole.q[i] *= 3; /* peaked rows: the largest score moves */
  attend(&whole);
  check_members(&whole, cp, chunk);
  free(whole.q), free(whole.k), free(whole.v), free(whole.dout);
  free_results(&whole);
}

/* Chunks that no block of queries divides, so that some blocks have tokens of both, and one that a block does. Long
 * sequences have every second form. */
static void members_attend_as_the_whole(void **state) {
  (void)state;
  static const size_t chunks[] = {5, 37, 150, 32};
  size_t done = 0;
  for (size_t cp = 2; cp <= 4; cp++) {
    for (size_t k = 0; k < sizeof chunks / sizeof *chunks; k++) {
      for (size_t f = 0; f < FORMS; f++) {
        if (chunks[k] == 150 && cp > 2 && (f + cp) % 2) continue;
        if (done++ % SL_EVERY == 0) check_attention(cp, chunks[k], &forms[f], f / 2 % 2 ? NULL : &drop);
      }
    }
  }
}

/* A member's gradients by themselves, so that no fault of both can hide. */
static double member_loss(void *context) {
  struct attention *a = context;
  const size_t bytes = sl_flash_attention_forward_scratch_bytes_f64(&a->shape, 1);
  void *scratch = malloc(bytes);
  sl_flash_attention_forward_f64(a->out, a->lse, a->q, a->k, a->v, &a->shape, a->dropout, scratch, bytes);
  free(scratch);
  double sum = 0;
  for (size_t i = 0; i < B * a->shape.T * OUT_ROW; i++) sum += i % OUT_ROW < H * D ? a->dout[i] * a->out[i] : 0;
  return sum;
}

static void gradients_of_a_member(void **state) {
  (void)state;
  enum { CHUNK = 3, T = 2 * CHUNK, S = 2 * T };
  struct attention a = {.dropout = &drop,
                        .shape = {.B = B,
                                  .T = T,
                                  .H = H,
                                  .KV = KV,
                                  .D = D,
                                  .q_stride = Q_ROW,
                                  .k_stride = K_ROW,
                                  .v_stride = V_ROW,
                                  .out_stride = OUT_ROW,
                                  .global_heads = H,
                                  .window = 8,
                                  .alibi_max = 8,
                                  .keys = S,
                                  .at = member_places(2, 0, CHUNK)}};
  a.q = reals((size_t)B * T * Q_ROW, 22), a.k = reals((size_t)B * S * K_ROW, 23),
  a.v = reals((size_t)B * S * V_ROW, 24);
  a.dout = reals((size_t)B * T * OUT_ROW, 25);
  attend(&a);
  for (size_t i = 0; i < (size_t)B * T * Q_ROW; i++) a.dq[i] = i % Q_ROW < H * D ? a.dq[i] : 0;
  for (size_t i = 0; i < (size_t)B * S * K_ROW; i++) a.dk[i] = i % K_ROW < KV * D ? a.dk[i] : 0;
  for (size_t i = 0; i < (size_t)B * S * V_ROW; i++) a.dv[i] = i % V_ROW < KV * D ? a.dv[i] : 0;
  check_gradient("dq", member_loss, &a, a.q, (size_t)B * T * Q_ROW, a.dq);
  check_gradient("dk", member_loss, &a, a.k, (size_t)B * S * K_ROW, a.dk);
  check_gradient("dv", member_loss, &a, a.v, (size_t)B * S * V_ROW, a.dv);
  free(a.q), free(a.k), free(a.v), free(a.dout);
  free_results(&a);
}

/* ---- rotary positions ---- */

static void members_rotate_as_the_whole(void **state) {
  (void)state;
  enum { ROW = 3 * 6 + 1 };
  const struct sl_rope rope = {.base = 500};
  for (size_t cp = 2; cp <= 4; cp++) {
    for (size_t chunk = 1; chunk <= 37; chunk += 12) {
      const size_t S = 2 * cp * chunk;
      double *x = reals(B * S * ROW, 4), *turned = reals(B * S * ROW, 4);
      struct sl_rope_shape shape = {.B = B, .T = S, .heads = 3, .D = 6, .stride = ROW, .step = 6};
      sl_llama_rope_f64(turned, &shape, 3, &rope, 1);
      shape.T = 2 * chunk;
      for (size_t i = 0; i < cp; i++) {
        const struct cut rows = {cp, i, chunk, B, ROW};
        double *mine = cut_out(&rows, x);
        shape.at = member_places(cp, i, chunk);
        sl_llama_rope_f64(mine, &shape, 3, &rope, 1);
        assert_cut(&rows, mine, turned, ROW, 0, "rope");
        sl_llama_rope_f64(mine, &shape, 3, &rope, -1);
        assert_cut(&rows, mine, x, ROW, 1e-12, "rope and back");
        free(mine);
      }
      free(x), free(turned);
    }
  }
}

/* ---- embedding ---- */

enum { V = 11, C = 131, FIRST = 2, CHUNK = 9, MOST_CP = 4, MOST = B * 2 * MOST_CP * CHUNK };

/* Gradients of the member of `rows`, from its rows of dout, added to those of the tokens; of the positions its own must
 * be the whole's, and the others nothing or, with `add`, what they were. */
static void check_embedding_backward(const struct cut *rows, const struct sl_embedding_shape *shape,
                                     const int32_t *tokens, const double *dout, double *dwte, const double *dwpe,
                                     int add) {
  const size_t positions = FIRST + 2 * rows->cp * CHUNK + 3;
  double *mine = cut_out(rows, dout), *at = reals(positions * C, 18), *before = reals(positions * C, 18);
  unsigned char has[FIRST + 2 * MOST_CP * CHUNK + 3] = {0};
  sl_embedding_backward_f64(dwte, 1, at, positions, add, 0, mine, tokens, shape, NULL);
  for (size_t t = 0; t < shape->T; t++) has[FIRST + position_of(rows->cp, rows->i, CHUNK, t)] = 1;
  for (size_t k = 0; k < positions * C; k++) {
    const double was = add ? before[k] : 0, expected = has[k / C] ? was + dwpe[k] : was;
    assert_close(at[k], expected, 1e-13, "dwpe", k);
  }
  free(mine), free(at), free(before);
}

static void check_embedding(size_t cp) {
  const size_t S = 2 * cp * CHUNK, n = B * S * C, positions = FIRST + S + 3;
  const struct sl_dropout d = {.p = 0.4f, .key = {1, 2, 3, 4}, .first_element = 77, .row_stride = 1409};
  double *wte = reals((size_t)V * C, 14), *wpe = reals(positions * C, 15), *dout = reals(n, 16), *out = reals(n, 17);
  double *dwte = calloc((size_t)V * C, sizeof *dwte), *dwpe = calloc(positions * C, sizeof *dwpe);
  double *sum = calloc((size_t)V * C, sizeof *sum);
  int32_t tokens[MOST], mine[MOST];
  for (size_t k = 0; k < B * S; k++) tokens[k] = (int32_t)(k * 7 % V);
  struct sl_embedding_shape shape = {.B = B, .T = S, .C = C, .n_rows = V, .first_position = FIRST, .scale = 1.5f};
  sl_embedding_forward_f64(out, tokens, wte, wpe, &shape, NULL);
  sl_embedding_backward_f64(dwte, 0, dwpe, positions, 0, 0, dout, tokens, &shape, NULL);
  shape.T = 2 * CHUNK;
  for (size_t i = 0; i < cp; i++) {
    const struct cut rows = {cp, i, CHUNK, B, C};
    double *own = numbers(B * shape.T * C), *dropped = numbers(B * shape.T * C);
    shape.at = member_places(cp, i, CHUNK);
    for (size_t r = 0; r < B * shape.T; r++) mine[r] = tokens[r / shape.T * S + position_of(cp, i, CHUNK, r % shape.T)];
    sl_embedding_forward_f64(own, mine, wte, wpe, &shape, NULL);
    assert_cut(&rows, own, out, C, 0, "embedding");
    sl_embedding_forward_f64(dropped, mine, wte, wpe, &shape, &d);
    sl_dropout_forward_f64(own, own, B * shape.T, C, &d);
    assert_memory_equal(dropped, own, B * shape.T * C * sizeof *own);
    check_embedding_backward(&rows, &shape, mine, dout, sum, dwpe, i % 2 == 1);
    free(own), free(dropped);
  }
  for (size_t k = 0; k < (size_t)V * C; k++) assert_close(sum[k], dwte[k], 1e-12, "dwte of all members", k);
  free(wte), free(wpe), free(dout), free(out), free(dwte), free(dwpe), free(sum);
}

static void members_embed_as_the_whole(void **state) {
  (void)state;
  for (size_t cp = 2; cp <= MOST_CP; cp++) check_embedding(cp);
}

/* ---- copies ---- */

/* n numbers of `element` bytes, all different as long as n is below 65536. */
static unsigned char *marked(size_t n, size_t element) {
  unsigned char *x = malloc(n * element);
  assert_non_null(x);
  for (size_t i = 0; i < n * element; i++) x[i] = (unsigned char)(i % element ? i / element / 256 : i / element);
  return x;
}

static void check_order(enum sl_number type, size_t sequences, size_t chunk, size_t width, size_t cp) {
  const size_t T = 2 * chunk, n = sequences * T * cp * width, element = sl_convert_bytes(type), row = width * element;
  unsigned char *x = marked(n, element), *out = calloc(n, element), *back = calloc(n, element);
  assert_true(out && back);
  sl_kernels_of(type)->context_order(out, x, sequences, T, width, cp, 1);
  for (size_t k = 0; k < cp * sequences * T; k++) { /* token t of sequence b of member i */
    const size_t i = k / T / sequences, b = k / T % sequences, t = k % T;
    assert_memory_equal(out + (b * cp * T + position_of(cp, i, chunk, t)) * row, x + k * row, row);
  }
  sl_kernels_of(type)->context_order(back, out, sequences, T, width, cp, -1);
  assert_memory_equal(back, x, n * element);
  free(x), free(out), free(back);
}

/* Runs from packed rows and back; what lies between them stays. */
static void check_runs(enum sl_number type, size_t rows, size_t groups, size_t width) {
  const size_t element = sl_convert_bytes(type), step = width + 3, packed = groups * step + 2, apart = groups * width;
  unsigned char *x = marked(rows * packed, element), *out = marked(rows * apart + 1, element);
  unsigned char *back = calloc(rows * packed, element), *at;
  assert_non_null(back);
  memset(out, 0xee, (rows * apart + 1) * element);
  const struct sl_kernels *k = sl_kernels_of(type);
  k->columns_copy(out, apart, width, x + element, packed, step, rows, groups, width);
  k->columns_copy(back + element, packed, step, out, apart, width, rows, groups, width);
  for (size_t i = 0; i < rows * packed; i++) {
    const size_t r = i / packed, c = i % packed, g = (c + step - 1) / step - 1, w = c - 1 - g * step;
    const int in_run = c > 0 && g < groups && w < width;
    const unsigned char nothing[4] = {0};
    at = in_run ? out + (r * apart + g * width + w) * element : x + i * element;
    assert_memory_equal(at, x + i * element, element);
    assert_memory_equal(back + i * element, in_run ? x + i * element : nothing, element);
  }
  assert_true(out[rows * apart * element] == 0xee);
  free(x), free(out), free(back);
}

static void chunks_are_put_in_order_and_runs_taken_apart(void **state) {
  (void)state;
  static const enum sl_number types[] = {SL_NUMBER_F32, SL_NUMBER_BF16, SL_NUMBER_F16};
  for (size_t t = 0; t < 3; t++) {
    for (size_t cp = 1; cp <= 4; cp++) check_order(types[t], 3, 5, 7, cp), check_order(types[t], 1, 1, 1, cp);
    check_order(types[t], 2, 37, 131, 3); /* on all threads */
    check_runs(types[t], 3, 1, 5), check_runs(types[t], 7, 4, 6), check_runs(types[t], 131, 3, 50);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(members_attend_as_the_whole),
      cmocka_unit_test(gradients_of_a_member),
      cmocka_unit_test(members_rotate_as_the_whole),
      cmocka_unit_test(members_embed_as_the_whole),
      cmocka_unit_test(chunks_are_put_in_order_and_runs_taken_apart),
  };
  return cmocka_run_group_tests_name("kernels on chunks of sequences", tests, NULL, NULL);
}

#include "tests/kernels/gpu/chunks.h"

/* Member i of cp: its chunks i and 2 cp - 1 - i. */
static struct sl_token_places member(size_t cp, size_t i, size_t chunk) {
  return (struct sl_token_places){chunk, {i * chunk, (2 * cp - 1 - i) * chunk}};
}

/* --- copies --- */

static void runs(enum sl_number type, size_t rows, size_t groups, size_t width, size_t gap, size_t shift) {
  const size_t step = width + gap, row = groups * step + gap;
  struct tensor packed = tensor_new(type, rows * row, shift, -2, 2);
  struct tensor apart = tensor_new(type, rows * groups * width, shift, -2, 2);
  sl_columns_copy_f64(apart.x, groups * width, width, packed.x + gap, row, step, rows, groups, width);
  RUN(sl_cuda_columns_copy(NULL, type, apart.d, groups * width, width, tensor_at(&packed, gap), row, step, rows, groups,
                           width));
  tensor_check(&apart, 0, "runs");
  struct tensor other = tensor_new(type, apart.n, shift, -2, 2);
  sl_columns_copy_f64(packed.x + gap, row, step, other.x, groups * width, width, rows, groups, width);
  RUN(sl_cuda_columns_copy(NULL, type, tensor_at(&packed, gap), row, step, other.d, groups * width, width, rows, groups,
                           width));
  tensor_check(&packed, 0, "packed rows"); /* with what is between the runs */
}

static void order(enum sl_number type, size_t sequences, size_t chunk, size_t width, size_t cp, size_t shift) {
  const size_t n = cp * sequences * 2 * chunk * width;
  for (int direction = -1; direction <= 1; direction += 2) {
    struct tensor x = tensor_new(type, n, shift, -2, 2), out = tensor_new(type, n, shift, -2, 2);
    struct tensor *from = direction > 0 ? &x : &out, *to = direction > 0 ? &out : &x;
    sl_context_order_f64(out.x, x.x, sequences, 2 * chunk, width, cp, direction);
    RUN(sl_cuda_context_order(NULL, type, out.d, x.d, sequences, 2 * chunk, width, cp, direction));
    tensor_check(to, 0, direction > 0 ? "chunks in order" : "chunks by member");
    tensor_check(from, 0, "what was copied");
  }
}

void chunk_copies(enum sl_number type) {
  runs(type, 7, 1, 16, 8, 0), runs(type, 5, 3, 8, 8, 0); /* 16 bytes at a time */
  runs(type, 7, 3, 5, 2, 1), runs(type, 5, 2, 8, 3, 0), runs(type, 3, 4, 8, 8, 1);
  order(type, 3, 5, 16, 3, 0), order(type, 2, 3, 8, 1, 0), order(type, 1, 1, 24, 4, 0);
  order(type, 2, 7, 5, 2, 0), order(type, 3, 3, 16, 3, 1);
}

/* --- positions --- */

void chunk_rope(enum sl_number type) {
  /* cp, i, chunk, heads, D, shift: at even addresses and odd ones; tiles of positions with tokens of both chunks */
  static const size_t members[][6] = {{2, 0, 9, 4, 16, 0}, {3, 1, 5, 3, 64, 0}, {4, 3, 11, 2, 26, 1}};
  const struct sl_rope by = {.base = 10000};
  for (size_t k = 0; k < sizeof members / sizeof *members; k++) {
    const size_t *m = members[k];
    const struct sl_rope_shape heads = {.B = 2,
                                        .T = 2 * m[2],
                                        .heads = m[3],
                                        .D = m[4],
                                        .stride = m[3] * m[4],
                                        .step = m[4],
                                        .at = member(m[0], m[1], m[2])};
    for (int direction = -1; direction <= 1; direction += 2) {
      struct tensor x = tensor_new(type, heads.B * heads.T * heads.stride, m[5], -1, 1);
      float *wide = malloc(x.n * sizeof *wide); /* the float kernel: its angles are rounded to float */
      assert_non_null(wide);
      for (size_t i = 0; i < x.n; i++) wide[i] = (float)x.x[i];
      sl_llama_rope(wide, &heads, 1000, &by, direction);
      for (size_t i = 0; i < x.n; i++) x.x[i] = (double)wide[i];
      free(wide);
      RUN(sl_cuda_llama_rope(NULL, type, x.d, &heads, 1000, &by, direction));
      tensor_check(&x, 1e-6, "rope of a member");
    }
  }
}

void chunk_embedding(enum sl_number type) {
  enum { B = 3, CHUNK = 19, T = 2 * CHUNK, V = 41, FIRST = 3 };
  static const struct sl_dropout drop = {.p = 0.3f, .key = {21, 2, 5, 13}, .first_element = 4099, .row_stride = 81};
  int32_t tokens[B * T];
  for (int i = 0; i < B * T; i++) tokens[i] = i % 3 ? 17 : i * 7919 % V;
  const int32_t *device_tokens = device_copy(tokens, sizeof tokens);
  for (size_t k = 0; k < 6; k++) { /* every member of three, by vectors and one by one */
    const size_t cp = 3, P = FIRST + cp * T + 5;
    const struct sl_embedding_shape s = {
        .B = B, .T = T, .C = k < cp ? 24 : 29, .n_rows = V, .first_position = FIRST, .at = member(cp, k % cp, CHUNK)};
    const struct sl_dropout *d = k % 2 ? &drop : NULL;
    const int add = k % 3 == 1, in_fp32 = k % 2 == 0;
    const enum sl_number kept = in_fp32 ? SL_NUMBER_F32 : type;
    struct tensor wte = tensor_new(type, V * s.C, k, -1, 1), wpe = tensor_new(type, P * s.C, k, -1, 1);
    struct tensor out = tensor_new(type, B * T * s.C, k, -1, 1), dout = tensor_new(type, B * T * s.C, k, -1, 1);
    sl_embedding_forward_f64(out.x, tokens, wte.x, wpe.x, &s, d);
    RUN(sl_cuda_embedding_forward(NULL, type, out.d, device_tokens, wte.d, wpe.d, &s, d, NULL));
    tensor_check(&out, 1e-6, "embedding of a member");
    struct tensor dwte = tensor_new(kept, wte.n, k, -1, 1), dwpe = tensor_new(kept, wpe.n, k, -1, 1);
    sl_embedding_backward_f64(dwte.x, add, dwpe.x, P, add, 0, dout.x, tokens, &s, d);
    RUN(sl_cuda_embedding_backward(NULL, type, dwte.d, add, dwpe.d, P, add, in_fp32, dout.d, device_tokens, &s, d,
                                   NULL));
    tensor_check(&dwte, 2e-6, "dwte of a member");
    tensor_check(&dwpe, 2e-6, "dwpe of a member");
  }
}

/* Every GPU kernel against the host's double kernel on the same numbers, in three number types, on odd shapes at odd
 * addresses and on even ones, and each of them twice for equal bits. The same program tests the kernels on a GPU and,
 * emulated, without one. Attention stands in test_cuda_attention.c. */
#include "tests/kernels/gpu/chunks.h"
#include "tests/kernels/gpu/norms.h"
#include "tests/kernels/gpu/shapes.h"

static const struct sl_dropout drops[] = {
    {.p = 0.3f, .key = {21, 2, 5, 13}, .first_element = 4099, .row_stride = 81},
    {.p = 0.45f, .key = {22, 2, 6, 13}, .first_element = (uint64_t)3 << 33, .row_stride = 640},
    {.p = 0},
};
#define EACH_DROP(d) for (const struct sl_dropout *d = drops; d < drops + sizeof drops / sizeof *drops; d++)

static double *device_doubles(size_t n) {
  return (double *)device_floats(2 * n + 2);
}

/* --- element by element --- */

static void activations(enum sl_number type) {
  EACH_SHAPE(s) {
    const size_t n = s->rows * s->C;
    struct tensor x = tensor_new(type, n, s->shift, -6, 6), b = tensor_new(type, s->C, s->shift, -1, 1);
    struct tensor out = tensor_new(type, n, s->shift, -1, 1), d = tensor_new(type, n, s->shift, -1, 1);
    for (int bias = 0; bias < 2; bias++) {
      sl_gelu_forward_f64(out.x, x.x, bias ? b.x : NULL, s->rows, s->C);
      RUN(sl_cuda_gelu_forward(NULL, type, out.d, x.d, bias ? b.d : NULL, s->rows, s->C));
      tensor_check(&out, 1e-6, "gelu");
      struct tensor dx = tensor_new(type, n, s->shift, -1, 1);
      sl_gelu_backward_f64(dx.x, dx.x, x.x, bias ? b.x : NULL, s->rows, s->C);
      RUN(sl_cuda_gelu_backward(NULL, type, dx.d, dx.d, x.d, bias ? b.d : NULL, s->rows, s->C));
      tensor_check(&dx, 1e-6, "gelu backward, in place");
      sl_mlp_relu_forward_f64(out.x, x.x, bias ? b.x : NULL, s->rows, s->C);
      RUN(sl_cuda_mlp_relu_forward(NULL, type, out.d, x.d, bias ? b.d : NULL, s->rows, s->C));
      tensor_check(&out, 1e-6, "relu");
    }
    sl_mlp_relu_backward_f64(d.x, d.x, x.x, s->rows, s->C);
    RUN(sl_cuda_mlp_relu_backward(NULL, type, d.d, d.d, x.d, s->rows, s->C));
    tensor_check(&d, 0, "relu backward");
  }
}

/* kernels/act.h: all of them, alone and gating. */
static void acts(enum sl_number type) {
  EACH_SHAPE(s) for (int act = SL_ACT_GELU_TANH; act <= SL_ACT_CAP; act++) {
    const size_t n = s->rows * s->C, stride = 2 * s->C;
    struct tensor x = tensor_new(type, n, s->shift, -6, 6), out = tensor_new(type, n, s->shift, -1, 1);
    struct tensor dx = tensor_new(type, n, s->shift, -1, 1), both = tensor_new(type, 2 * n, s->shift, -4, 4);
    double *up = both.x + s->C;
    void *dup = tensor_at(&both, s->C);
    sl_act_forward_f64(out.x, x.x, s->rows, s->C, (enum sl_act)act, 5);
    RUN(sl_cuda_act_forward(NULL, type, out.d, x.d, s->rows, s->C, (enum sl_act)act, 5));
    tensor_check(&out, 1e-6, "act");
    sl_act_backward_f64(dx.x, dx.x, x.x, s->rows, s->C, (enum sl_act)act, 5);
    RUN(sl_cuda_act_backward(NULL, type, dx.d, dx.d, x.d, s->rows, s->C, (enum sl_act)act, 5));
    tensor_check(&dx, 1e-6, "act backward, in place");
    if (act == SL_ACT_CAP) continue;
    struct tensor d = tensor_new(type, n, s->shift, -1, 1);
    sl_act_gated_forward_f64(out.x, both.x, up, s->rows, s->C, stride, (enum sl_act)act);
    RUN(sl_cuda_act_gated_forward(NULL, type, out.d, both.d, dup, s->rows, s->C, stride, (enum sl_act)act));
    tensor_check(&out, 1e-6, "gated");
    sl_act_gated_backward_f64(both.x, up, d.x, both.x, up, s->rows, s->C, stride, (enum sl_act)act);
    RUN(sl_cuda_act_gated_backward(NULL, type, both.d, dup, d.d, both.d, dup, s->rows, s->C, stride, (enum sl_act)act));
    tensor_check(&both, 1e-6, "gated backward, in place");
  }
}

static void swiglu(enum sl_number type) {
  EACH_SHAPE(s) {
    const size_t n = s->rows * s->C, stride = 2 * s->C;
    struct tensor both = tensor_new(type, 2 * n, s->shift, -9, 9), out = tensor_new(type, n, s->shift, -1, 1);
    struct tensor d = tensor_new(type, n, s->shift, -1, 1);
    sl_llama_swiglu_forward_f64(out.x, both.x, both.x + s->C, s->rows, s->C, stride);
    RUN(sl_cuda_llama_swiglu_forward(NULL, type, out.d, both.d, tensor_at(&both, s->C), s->rows, s->C, stride));
    tensor_check(&out, 1e-6, "swiglu");
    double *up = both.x + s->C;
    sl_llama_swiglu_backward_f64(both.x, up, d.x, both.x, up, s->rows, s->C, stride);
    void *dup = tensor_at(&both, s->C);
    RUN(sl_cuda_llama_swiglu_backward(NULL, type, both.d, dup, d.d, both.d, dup, s->rows, s->C, stride));
    tensor_check(&both, 1e-6, "swiglu backward, in place");
  }
}

static void rope(enum sl_number type) {
  /* B T heads D stride shift: rows at odd addresses; vectors, in tiles of positions of which the last is not full */
  static const size_t sizes[][6] = {{3, 7, 5, 26, 133, 1}, {2, 9, 4, 16, 64, 0}, {2, 11, 3, 64, 256, 0}};
  /* all of a head; then neighbours of a part of each, in groups of heads with a gap behind each, by scaled
   * frequencies */
  static const struct sl_rope ropes[] = {
      {.base = 10000},
      {.base = 10000, .dim = 10, .interleaved = 1, .scaling = SL_ROPE_LINEAR, .factor = 4},
      {.base = 10000, .dim = 16, .interleaved = 1},
      {.base = 500000, .scaling = SL_ROPE_LLAMA3, .factor = 8, .low = 1, .high = 4, .original = 64},
      {.base = 10000,
       .scaling = SL_ROPE_YARN,
       .factor = 4,
       .low = 1,
       .high = 32,
       .original = 512,
       .attention = 1.1386,
       .whole = 1}};
  enum { SIZES = sizeof sizes / sizeof *sizes, KINDS = sizeof ropes / sizeof *ropes };
  for (size_t k = 0; k < (size_t)SIZES * KINDS; k++) {
    const size_t *z = sizes[k % SIZES], whole = k < SIZES;
    const struct sl_rope *by = &ropes[k / SIZES];
    const struct sl_rope_shape heads = {z[0], z[1], whole ? z[2] : 2, z[3], z[4], z[3], whole ? 0 : 1, z[3], {0}};
    for (int direction = -1; direction <= 1; direction += 2) {
      struct tensor x = tensor_new(type, z[0] * z[1] * z[4], z[5], -1, 1);
      /* the float kernel: its angles are rounded to float, which double's are not */
      float *wide = malloc(x.n * sizeof *wide);
      for (size_t i = 0; i < x.n; i++) wide[i] = (float)x.x[i];
      sl_llama_rope(wide, &heads, 1000, by, direction);
      for (size_t i = 0; i < x.n; i++) x.x[i] = (double)wide[i];
      free(wide);
      RUN(sl_cuda_llama_rope(NULL, type, x.d, &heads, 1000, by, direction));
      tensor_check(&x, 1e-6, "rope");
    }
  }
}

static void dropout(enum sl_number type) {
  const int64_t step = ((int64_t)9 << 32) + 6;
  const int64_t *device_step = device_copy(&step, sizeof step);
  EACH_SHAPE(s) EACH_DROP(d) {
    const size_t n = s->rows * s->C;
    struct tensor x = tensor_new(type, n, s->shift, -2, 2), res = tensor_new(type, n, s->shift, -2, 2);
    struct tensor b = tensor_new(type, s->C, s->shift, -1, 1), out = tensor_new(type, n, s->shift, -1, 1);
    for (int bias = 0; bias < 2; bias++) {
      sl_dropout_residual_f64(out.x, res.x, x.x, bias ? b.x : NULL, s->rows, s->C, d);
      RUN(sl_cuda_dropout_residual(NULL, type, out.d, res.d, x.d, bias ? b.d : NULL, s->rows, s->C, d, NULL));
      tensor_check(&out, 1e-6, "dropout and residual");
    }
    struct sl_dropout later = *d; /* the step of the key comes from the device */
    later.key.step = 6;
    sl_dropout_forward_f64(x.x, x.x, s->rows, s->C, &later);
    later.key.step = 99;
    RUN(sl_cuda_dropout_forward(NULL, type, x.d, x.d, s->rows, s->C, &later, device_step));
    tensor_check(&x, 1e-7, "dropout, in place");
  }
}

/* --- embedding --- */

static void embedding(enum sl_number type) {
  enum { B = 5, T = 53, V = 103, P = 80 }; /* more tokens than the 256 of a window */
  static int32_t tokens[B * T];
  for (int i = 0; i < B * T; i++) tokens[i] = i % 3 ? 17 : i * 7919 % V; /* one stands in most places */
  const int32_t *device_tokens = device_copy(tokens, sizeof tokens);
  static const struct sl_embedding_shape tables[] = {
      {B, T, 77, 0, V, 3, 0, {0}}, {B, T, 64, 10, 40, 0, 1.5f, {0}}, {B, T, 1030, 0, V, 9, 3, {0}}};
  for (size_t k = 0; k < 3; k++) EACH_DROP(d) {
      const size_t drop = (size_t)(d - drops);
      if (cases_for_threads() && (k + drop) % 2 != 0) continue; /* each table with dropout or without */
      const struct sl_embedding_shape *s = &tables[k];
      const int add = k != 1, positions = k != 2;
      struct tensor wte = tensor_new(type, s->n_rows * s->C, k, -1, 1), wpe = tensor_new(type, P * s->C, k, -1, 1);
      struct tensor out = tensor_new(type, B * T * s->C, k, -1, 1);
      sl_embedding_forward_f64(out.x, tokens, wte.x, positions ? wpe.x : NULL, s, d);
      RUN(sl_cuda_embedding_forward(NULL, type, out.d, device_tokens, wte.d, positions ? wpe.d : NULL, s, d, NULL));
      tensor_check(&out, 1e-6, "embedding");
      struct tensor dout = tensor_new(type, B * T * s->C, k, -1, 1);
      const int in_fp32 = (k + drop) % 2 == 0; /* the gradients' type */
      const enum sl_number kept = in_fp32 ? SL_NUMBER_F32 : type;
      struct tensor dwte = tensor_new(kept, wte.n, k, -1, 1), dwpe = tensor_new(kept, wpe.n, k, -1, 1);
      sl_embedding_backward_f64(dwte.x, add, positions ? dwpe.x : NULL, P, !add, 0, dout.x, tokens, s, d);
      RUN(sl_cuda_embedding_backward(NULL, type, dwte.d, add, positions ? dwpe.d : NULL, P, !add, in_fp32, dout.d,
                                     device_tokens, s, d, NULL));
      tensor_check(&dwte, 2e-6, "dwte");
      tensor_check(&dwpe, 2e-6, "dwpe");
    }
}

/* --- losses --- */

static void classifier(enum sl_number type) {
  enum { N = 23 };
  static const size_t vocabularies[][2] = {{1031, 1031}, {4096, 4096}, {7, 7}, {1040, 1031}, {192, 130}}; /* V, total */
  double scale = 4, *loss_scale = device_copy(&scale, sizeof scale);
  for (size_t k = 0; k < 5; k++) {
    const size_t V = vocabularies[k][0], total = vocabularies[k][1];
    struct tensor logits = tensor_new(type, N * V, k, -9, 9);
    int32_t targets[N];
    double losses[N], sum = 0, before = 3;
    for (int i = 0; i < N; i++) targets[i] = i % 5 == 3 ? -1 : (int32_t)((size_t)i * 31 % total);
    const int32_t *device_targets = device_copy(targets, sizeof targets);
    double *device_losses = device_doubles(N), *device_sum = device_copy(&before, sizeof before);
    sl_classifier_fused_f64(&sum, losses, logits.x, targets, N, V, total, 0.25 * scale, 0);
    RUN(sl_cuda_classifier_fused(NULL, type, device_sum, device_losses, logits.d, device_targets, N, V, total, 0.25,
                                 loss_scale));
    tensor_check(&logits, 1e-7, "dlogits");
    doubles_check(device_losses, losses, N, 1e-5, "losses");
    doubles_check(device_sum, &(double){3 + 0.25 * sum}, 1, 1e-5, "sum of the losses");
  }
}

/* Three members with 400 columns each of 1031: the last has padding; then four of 600, of which two have none. */
static void classifier_shards(enum sl_number type) {
  enum { N = 11 };
  static const size_t cuts[][2] = {{400, 3}, {600, 4}};
  for (size_t k = 0; k < 2; k++) {
    const size_t V = cuts[k][0], members = cuts[k][1], total = 1031;
    struct tensor logits[4];
    int32_t targets[N];
    double stats[4 * N * 3], losses[N], sum;
    for (int i = 0; i < N; i++) targets[i] = i % 5 == 3 ? -1 : (int32_t)((size_t)i * 311 % total);
    const int32_t *device_targets = device_copy(targets, sizeof targets);
    float *device_stats = device_floats(members * N * 3);
    for (size_t m = 0; m < members; m++) {
      logits[m] = tensor_new(type, N * V, m, -9, 9);
      sl_classifier_stats_f64(stats + m * N * 3, logits[m].x, targets, N, V, m * V, total);
      RUN(sl_cuda_classifier_stats(NULL, type, device_stats + m * N * 3, logits[m].d, device_targets, N, V, m * V,
                                   total));
    }
    floats_check(device_stats, stats, members * N * 3, 2e-6, "statistics");
    for (size_t m = 0; m < members; m++) {
      double zero = 0, *device_losses = device_doubles(N), *device_sum = device_copy(&zero, sizeof zero);
      sl_classifier_shard_f64(&sum, losses, logits[m].x, targets, stats, N, V, m * V, total, members, 0.5, 0);
      RUN(sl_cuda_classifier_shard(NULL, type, device_sum, device_losses, logits[m].d, device_targets, device_stats, N,
                                   V, m * V, total, members, 0.5, NULL));
      tensor_check(&logits[m], 1e-7, "dlogits of a shard");
      doubles_check(device_losses, losses, N, 1e-5, "losses of a shard");
      doubles_check(device_sum, &(double){0.5 * sum}, 1, 1e-5, "their sum");
    }
  }
}

static void mean_squared_error(enum sl_number type) {
  static const size_t sizes[] = {77, 4096, 12289};
  for (size_t k = 0; k < 3; k++) {
    const size_t n = sizes[k];
    struct tensor p = tensor_new(type, n, k, -2, 2), t = tensor_new(type, n, k, -2, 2);
    double sum, scale = 8, zero = 0.5, *host = malloc(sl_reduce_scratch_bytes_f64(n));
    double *device_sum = device_copy(&zero, sizeof zero), *loss_scale = device_copy(&scale, sizeof scale);
    sl_mlp_mse_f64(&sum, p.x, p.x, t.x, n, 0.37 * scale, 0, host);
    double *work = device_doubles(sl_cuda_reduce_scratch_bytes(n) / 8);
    RUN(sl_cuda_mlp_mse(NULL, type, device_sum, p.d, p.d, t.d, n, 0.37, loss_scale, work));
    tensor_check(&p, 1e-6, "mse gradient");
    doubles_check(device_sum, &(double){0.5 + 0.37 * sum}, 1, 1e-12, "mse");
    free(host);
  }
}

/* --- flat ranges --- */

static void sums(enum sl_number type) {
  static const size_t sizes[] = {1, 4096, 30011};
  for (size_t k = 0; k < 3; k++) {
    const size_t n = sizes[k];
    struct tensor x = tensor_new(type, n, k, -2, 2);
    double sum, zero = 0.5, *host = malloc(sl_reduce_scratch_bytes_f64(n));
    double *total = device_copy(&zero, sizeof zero), *overflow = device_copy(&zero, sizeof zero);
    double *work = device_doubles(sl_cuda_reduce_scratch_bytes(n) / 8);
    sl_reduce_sum_squares_f64(&sum, x.x, n, 0, host);
    RUN(sl_cuda_reduce_sum_squares(NULL, type, total, overflow, x.d, n, 0.25, work));
    RUN(sl_cuda_reduce_sum_squares(NULL, type, total, NULL, x.d, n, 0.25, work));
    doubles_check(total, &(double){0.5 + 0.5 * sum}, 1, 1e-12, "sum of squares");
    doubles_check(overflow, &zero, 1, 0, "no overflow");
    /* an infinity or a NaN in one place */
    static const uint32_t bad[3][2] = {{0x7f800000, 0x7fc00000}, {0x7f80, 0xffc1}, {0xfc00, 0x7e01}};
    for (int b = 0; b < 2; b++) {
      double *flag = device_copy(&zero, sizeof zero);
      device_write(tensor_at(&x, n - 1), &bad[type][b], sl_convert_bytes(type));
      RUN(sl_cuda_reduce_sum_squares(NULL, type, total, flag, x.d, n, 1, work));
      doubles_check(flag, &(double){1.5}, 1, 0, "overflow");
    }
    free(host);
  }
}

static void flat(enum sl_number type) {
  static const size_t sizes[] = {1, 1024, 3001};
  for (size_t k = 0; k < 3; k++) {
    const size_t n = sizes[k];
    struct tensor y = tensor_new(type, n, 0, -2, 2);
    sl_reduce_fill_f64(y.x, (double)0.37f, n);
    RUN(sl_cuda_reduce_fill(NULL, type, y.d, 0.37f, n));
    tensor_check(&y, 0, "fill");
    for (int from = 0; from < 3; from++) {
      struct tensor src = tensor_new((enum sl_number)from, n, k % 2, -2, 2), sum = tensor_new(type, n, 0, -2, 2);
      for (size_t i = 0; i < n; i++) sum.x[i] += src.x[i];
      RUN(sl_cuda_convert_add(NULL, sum.d, type, src.d, src.type, n));
      tensor_check(&sum, 0, "convert and add");
      memcpy(sum.x, src.x, n * sizeof *sum.x);
      RUN(sl_cuda_convert(NULL, sum.d, type, src.d, src.type, n));
      tensor_check(&sum, 0, "convert");
    }
  }
}

/* In dout's type and in float, over one block of rows and several, of which the last is not full. */
static void bias_gradient(enum sl_number type, struct shape s) {
  struct tensor x = tensor_new(type, s.rows * s.C, s.shift, -2, 2);
  float *scratch = device_floats(sl_cuda_reduce_bias_scratch_bytes(s.rows, s.C) / sizeof(float));
  for (int k = 0; k < 4; k++) {
    const enum sl_number wanted = k / 2 ? SL_NUMBER_F32 : type;
    struct tensor db = tensor_new(wanted, s.C, s.shift, -1, 1);
    sl_reduce_bias_backward_f64(db.x, x.x, s.rows, s.C, k % 2);
    RUN(sl_cuda_reduce_bias_backward(NULL, type, db.d, wanted, k % 2, x.d, s.rows, s.C, scratch));
    tensor_check(&db, 1e-6, "bias backward");
  }
}

static void biases(enum sl_number type) {
  bias_gradient(type, (struct shape){2 * SL_CUDA_SUMMED_ROWS + 71, 48, 0});
  bias_gradient(type, (struct shape){SL_CUDA_SUMMED_ROWS + 1, 9, 1});
  EACH_SHAPE(s) {
    bias_gradient(type, *s);
    struct tensor x = tensor_new(type, s->rows * s->C, s->shift, -2, 2), b = tensor_new(type, s->C, s->shift, -2, 2);
    sl_reduce_bias_add_f64(x.x, b.x, s->rows, s->C);
    RUN(sl_cuda_reduce_bias_add(NULL, type, x.d, b.d, s->rows, s->C));
    tensor_check(&x, 1e-7, "bias");
  }
}

static void columns(enum sl_number type) {
  EACH_SHAPE(s) {
    const size_t members = 3, n = s->rows * s->C, all = members * s->C;
    struct tensor x = tensor_new(type, n * members, s->shift, -2, 2), out = tensor_new(type, n * members, 1, -2, 2);
    struct tensor even = tensor_new(type, n * members, 0, -2, 2), piece = tensor_new(type, n, s->shift, -2, 2);
    struct tensor *const whole[] = {&out, &even};
    for (int i = 0; i < 2; i++) {
      sl_columns_copy_f64(whole[i]->x, all, s->C, x.x, s->C, n, s->rows, members, s->C);
      RUN(sl_cuda_columns_copy(NULL, type, whole[i]->d, all, s->C, x.d, s->C, n, s->rows, members, s->C));
      tensor_check(whole[i], 0, i == 0 ? "columns of members" : "columns of members at even addresses");
    }
    sl_columns_copy_f64(piece.x, s->C, 0, x.x + 2 * s->C, all, 0, s->rows, 1, s->C);
    RUN(sl_cuda_columns_copy(NULL, type, piece.d, s->C, 0, tensor_at(&x, 2 * s->C), all, 0, s->rows, 1, s->C));
    tensor_check(&piece, 0, "a member's columns");
  }
}

static void normal_numbers(enum sl_number type) {
  const struct sl_philox_key key = {23, 5, 7, 11};
  static const uint64_t firsts[] = {0, 1, 4294967295u * (uint64_t)4 + 3};
  for (size_t k = 0; k < 3; k++) {
    struct tensor x = tensor_new(type, 3001, k, 0, 1);
    float *wide = malloc(x.n * sizeof *wide);
    sl_philox_normal(wide, &key, firsts[k], x.n, 0.5f, 2);
    for (size_t i = 0; i < x.n; i++) x.x[i] = (double)wide[i];
    free(wide);
    RUN(sl_cuda_philox_normal(NULL, type, x.d, &key, firsts[k], x.n, 0.5f, 2));
    tensor_check(&x, 1e-7, "normal numbers");
  }
}

/* --- optimizers: the gradient's type is the case's, the parameter's runs over all --- */

enum { MN = 5003 };

/* What an update reads on the device. */
struct control {
  double factor, lr, beta1;
  int64_t step;
};

static struct sl_cuda_update update_of(const struct control *host) {
  struct control *d = device_copy(host, sizeof *host);
  return (struct sl_cuda_update){.grad_factor = &d->factor, .lr = &d->lr, .beta1 = &d->beta1, .step = &d->step};
}

static void optimizers(enum sl_number type) {
  for (int k = 0; k < 9; k++) {
    const enum sl_number param_type = (enum sl_number)(k % 3);
    const int adam = k % 2, skip = k >= 7, first = k == 2;
    struct tensor master = tensor_new(SL_NUMBER_F32, MN, k % 3, -1, 1), grad = tensor_new(type, MN, k % 3, -1, 1);
    struct tensor m = tensor_new(SL_NUMBER_F32, MN, k % 3, -1, 1), v = tensor_new(SL_NUMBER_F32, MN, k % 3, 0, 1);
    struct tensor param = tensor_new(param_type, MN, k % 3, -1, 1);
    const struct control control = {skip ? -1 : 0.37, 1e-2, 0.81, first ? 1 : 5};
    const struct sl_cuda_update update = update_of(&control);
    struct sl_adam a = {1e-2, 0.81, 0.993, 1e-7, 0.13, 0.37, k != 3, k != 5, control.step};
    struct sl_sgd s = {1e-2, k == 4 ? 0 : 0.9, 0.1, 0.11, 0.37, k == 6, control.step};
    if (!skip && adam) sl_optimizer_adam_f64(master.x, m.x, v.x, grad.x, MN, &a);
    if (!skip && !adam) sl_optimizer_sgd_f64(master.x, m.x, grad.x, MN, &s);
    memcpy(param.x, master.x,
           MN * sizeof *param.x); /* of a skipped step too: who reads it may have had rubbish there */
    a.lr = a.grad_scale = a.beta1 = s.lr = s.grad_scale = 7, a.step = s.step = 77; /* the device's count */
    if (adam)
      RUN(sl_cuda_master_adam(NULL, master.d, m.d, v.d, grad.d, type, param.d, param_type, MN, &a, &update));
    else
      RUN(sl_cuda_master_sgd(NULL, master.d, k == 4 ? NULL : m.d, grad.d, type, param.d, param_type, MN, &s, &update));
    tensor_check(&master, 1e-6, "master");
    tensor_check(&param, 1e-6, "parameter");
    tensor_check(&m, 1e-6, "first moment");
    tensor_check(&v, 1e-6, "second moment");
  }
}

/* Without an update the settings are the host's; without a parameter none is written. */
static void optimizers_by_the_host(enum sl_number type) {
  struct tensor master = tensor_new(SL_NUMBER_F32, MN, 0, -1, 1), grad = tensor_new(type, MN, 0, -1, 1);
  struct tensor m = tensor_new(SL_NUMBER_F32, MN, 0, -1, 1), v = tensor_new(SL_NUMBER_F32, MN, 0, 0, 1);
  const struct sl_adam a = {1e-2, 0.87, 0.993, 1e-7, 0.13, 0.37, 1, 1, 3};
  sl_optimizer_adam_f64(master.x, m.x, v.x, grad.x, MN, &a);
  RUN(sl_cuda_master_adam(NULL, master.d, m.d, v.d, grad.d, type, NULL, SL_NUMBER_F32, MN, &a, NULL));
  tensor_check(&master, 1e-6, "master");
  const struct sl_sgd s = {1e-2, 0.9, 0, 0, 1, 0, 1};
  float nan = NAN; /* at the first step the buffer is not read */
  device_write(tensor_at(&m, 5), &nan, sizeof nan);
  sl_optimizer_sgd_f64(master.x, m.x, grad.x, MN, &s);
  RUN(sl_cuda_master_sgd(NULL, master.d, m.d, grad.d, type, NULL, SL_NUMBER_F32, MN, &s, NULL));
  tensor_check(&master, 1e-6, "master after sgd");
  tensor_check(&m, 1e-6, "momentum");
}

int main(int argc, char **argv) {
  static const struct cuda_case cases[] = {
      {"norms", norms, EACH_TYPE},
      {"norm_halves", norm_halves, EACH_TYPE},
      {"norms_taken_in", norms_taken_in, EACH_TYPE},
      {"activations", activations, EACH_TYPE},
      {"acts", acts, EACH_TYPE},
      {"swiglu", swiglu, EACH_TYPE},
      {"rope", rope, EACH_TYPE},
      {"dropout", dropout, EACH_TYPE},
      {"embedding", embedding, EACH_TYPE},
      {"chunk_copies", chunk_copies, EACH_TYPE},
      {"chunk_rope", chunk_rope, EACH_TYPE},
      {"chunk_embedding", chunk_embedding, EACH_TYPE},
      {"classifier", classifier, EACH_TYPE},
      {"classifier_shards", classifier_shards, EACH_TYPE},
      {"mean_squared_error", mean_squared_error, EACH_TYPE},
      {"sums", sums, EACH_TYPE},
      {"flat", flat, EACH_TYPE},
      {"biases", biases, EACH_TYPE},
      {"columns", columns, EACH_TYPE},
      {"normal_numbers", normal_numbers, EACH_TYPE},
      {"optimizers", optimizers, EACH_TYPE},
      {"optimizers_by_the_host", optimizers_by_the_host, EACH_TYPE},
  };
  return cases_main("test_cuda_kernels", cases, sizeof cases / sizeof *cases, argc, argv);
}

#include "tests/kernels/gpu/norms.h"

#include "tests/kernels/gpu/shapes.h"

/* Double results of one shape of LayerNorm or, without b, RMSNorm, for its backward. */
struct norm {
  const struct shape *s;
  enum sl_number type;
  struct tensor x, w, b;
  double mean[MOST_ROWS], rstd[MOST_ROWS];
  float *dmean, *drstd;
  int from_one;
};

/* Two tensors on the device have the same bits. */
static void tensor_same(const struct tensor *a, const struct tensor *b, const char *what) {
  const size_t bytes = a->n * sl_convert_bytes(a->type);
  void *read = malloc(bytes);
  assert_non_null(read);
  device_read(read, a->d, bytes);
  bytes_same(b->d, read, bytes, what);
  free(read);
}

/* The weights' gradients are of the type or, every other time, in fp32. */
static void norm_backward(const struct norm *k, int rms, int add) {
  const int in_fp32 = (k->s->shift + k->s->C + (size_t)add) % 2 == 0;
  const enum sl_number type = in_fp32 ? SL_NUMBER_F32 : k->type;
  const size_t n = k->s->rows * k->s->C, rows = k->s->rows, C = k->s->C, shift = k->s->shift;
  struct tensor dout = tensor_new(k->type, n, shift, -1, 1), dx = tensor_new(k->type, n, shift, -1, 1);
  struct tensor dw = tensor_new(type, C, shift, -1, 1), db = tensor_new(type, C, shift, -1, 1);
  void *host = malloc(sl_layernorm_scratch_bytes_f64(rows, C) + 1);
  if (rms) {
    float *work = device_floats(sl_cuda_llama_rmsnorm_scratch_bytes(rows, C) / 4);
    RUN(sl_cuda_llama_rmsnorm_backward(NULL, k->type, NULL, 0, dw.d, in_fp32, add, dout.d, k->x.d, NULL, k->drstd, rows,
                                       C, k->from_one, work, NULL));
    RUN(sl_cuda_llama_rmsnorm_backward(NULL, k->type, dx.d, add, NULL, 0, 0, dout.d, k->x.d, k->w.d, k->drstd, rows, C,
                                       k->from_one, NULL, NULL));
    sl_llama_rmsnorm_backward_f64(dx.x, add, dw.x, 0, add, dout.x, k->x.x, k->w.x, k->rstd, rows, C, k->from_one, host);
  } else {
    float *work = device_floats(sl_cuda_layernorm_scratch_bytes(rows, C) / 4);
    void *in_place = add ? dx.d : dout.d;
    RUN(sl_cuda_layernorm_backward(NULL, k->type, in_place, add, dw.d, db.d, in_fp32, add, dout.d, k->x.d, k->w.d,
                                   k->dmean, k->drstd, rows, C, k->from_one, work, NULL));
    sl_layernorm_backward_f64(dx.x, add, dw.x, db.x, 0, add, dout.x, k->x.x, k->w.x, k->mean, k->rstd, rows, C,
                              k->from_one, host);
    tensor_check(&db, 4e-6, "layernorm dbias");
    dx.d = in_place;
  }
  tensor_check(&dx, 4e-6, "norm dx");
  tensor_check(&dw, 4e-6, "norm dweight");
  free(host);
}

void norms(enum sl_number type) {
  EACH_SHAPE(s) {
    const size_t n = s->rows * s->C;
    struct norm k = {.s = s, .type = type, .dmean = device_floats(s->rows), .drstd = device_floats(s->rows)};
    k.x = tensor_new(type, n, s->shift, -2, 3);
    k.w = tensor_new(type, s->C, s->shift, 0, 2);
    k.b = tensor_new(type, s->C, s->shift, -1, 1);
    struct tensor out = tensor_new(type, n, s->shift, -1, 1);
    for (k.from_one = 0; k.from_one < 2; k.from_one++) {
      sl_layernorm_forward_f64(out.x, k.mean, k.rstd, k.x.x, k.w.x, k.b.x, s->rows, s->C, 1e-5f, k.from_one);
      RUN(sl_cuda_layernorm_forward(NULL, type, out.d, k.dmean, k.drstd, k.x.d, k.w.d, k.b.d, s->rows, s->C, 1e-5f,
                                    k.from_one, NULL));
      tensor_check(&out, 2e-6, "layernorm");
      floats_check(k.dmean, k.mean, s->rows, 1e-5, "mean");
      floats_check(k.drstd, k.rstd, s->rows, 1e-5, "rstd");
      for (int add = 0; add < 2; add++) norm_backward(&k, 0, add);
      sl_llama_rmsnorm_forward_f64(out.x, k.rstd, k.x.x, k.w.x, s->rows, s->C, 1e-5f, k.from_one);
      RUN(sl_cuda_llama_rmsnorm_forward(NULL, type, out.d, k.drstd, k.x.d, k.w.d, s->rows, s->C, 1e-5f, k.from_one,
                                        NULL));
      tensor_check(&out, 2e-6, "rmsnorm");
      floats_check(k.drstd, k.rstd, s->rows, 1e-5, "rms rstd");
      for (int add = 0; add < 2; add++) norm_backward(&k, 1, add);
    }
  }
}

/* Backward's halves alone have the bits of the whole; rows that registers hold, many to a thread, several to a block,
 * one, and one in more vectors than it has threads, longer ones, and those without vectors. */
void norm_halves(enum sl_number type) {
  static const struct shape halves[] = {{1100, 24, 0}, {259, 1032, 0}, {129, 2056, 0},
                                        {9, 4104, 0},  {3, 8200, 0},   {9, 35, 1}};
  /* Only threads of a block can race, and blocks run one after another: blocks of three rows each, two of one row, and
   * of those with a row for each warp two that are full and one that is not. */
  static const size_t rows_for_threads[] = {275, 2, 2, 2, 2, 9};
  for (size_t which = 0; which < sizeof halves / sizeof *halves; which++) {
    struct shape few = halves[which];
    if (cases_for_threads()) few.rows = rows_for_threads[which];
    const struct shape *s = &few;
    const size_t n = s->rows * s->C;
    struct tensor x = tensor_new(type, n, s->shift, -2, 3), w = tensor_new(type, s->C, s->shift, 0, 2);
    struct tensor dout = tensor_new(type, n, s->shift, -1, 1), dx[2], dw[2], db[2];
    struct tensor mean = tensor_new(SL_NUMBER_F32, s->rows, 0, 0, 1),
                  rstd = tensor_new(SL_NUMBER_F32, s->rows, 0, 1, 2);
    float *work = device_floats(sl_cuda_layernorm_scratch_bytes(s->rows, s->C) / 4);
    void *host = malloc(sl_layernorm_scratch_bytes_f64(s->rows, s->C) + 1);
    for (int k = 0; k < 2; k++) {
      dx[k] = tensor_new(type, n, s->shift, -1, 1);
      dw[k] = tensor_new(type, s->C, s->shift, -1, 1), db[k] = tensor_new(type, s->C, s->shift, -1, 1);
      RUN(sl_cuda_layernorm_backward(NULL, type, dx[k].d, 0, k ? NULL : dw[k].d, k ? NULL : db[k].d, 0, 0, dout.d, x.d,
                                     w.d, mean.d, rstd.d, s->rows, s->C, 0, k ? NULL : work, NULL));
      sl_layernorm_backward_f64(dx[k].x, 0, dw[k].x, db[k].x, 0, 0, dout.x, x.x, w.x, mean.x, rstd.x, s->rows, s->C, 0,
                                host);
    }
    RUN(sl_cuda_layernorm_backward(NULL, type, NULL, 0, dw[1].d, db[1].d, 0, 0, dout.d, x.d, NULL, mean.d, rstd.d,
                                   s->rows, s->C, 0, work, NULL));
    tensor_check(&dx[0], 4e-6, "whole dx"), tensor_check(&dw[0], 4e-6, "whole dweight");
    tensor_check(&db[0], 4e-6, "whole dbias");
    tensor_same(&dx[0], &dx[1], "half dx"), tensor_same(&dw[0], &dw[1], "half dweight");
    tensor_same(&db[0], &db[1], "half dbias");
    free(host);
  }
}

/* What a norm takes in: a pair of ops, and one that is to leave the same bits. */
struct pair {
  const struct shape *s;
  enum sl_number type;
  struct tensor residual, branch, bias, weight, weight_bias;
  struct tensor x[2], out[2], stats[2]; /* forward */
  struct tensor dx[2], dbranch[2], dw[2], db[2];
  void *scratch;
  int rms;
};

static void norm_of(struct pair *k, int i, const struct sl_cuda_taken_in *from) {
  float *stats = k->stats[i].d;
  const size_t rows = k->s->rows, C = k->s->C;
  if (k->rms)
    RUN(sl_cuda_llama_rmsnorm_forward(NULL, k->type, k->out[i].d, stats, k->x[i].d, k->weight.d, rows, C, 1e-5f, 1,
                                      from));
  else
    RUN(sl_cuda_layernorm_forward(NULL, k->type, k->out[i].d, stats, stats + rows, k->x[i].d, k->weight.d,
                                  k->weight_bias.d, rows, C, 1e-5f, 0, from));
}

static void norm_back(struct pair *k, int i, int add, const struct sl_cuda_taken_in *from) {
  const float *stats = k->stats[0].d;
  const size_t rows = k->s->rows, C = k->s->C;
  if (k->rms)
    RUN(sl_cuda_llama_rmsnorm_backward(NULL, k->type, k->dx[i].d, add, k->dw[i].d, 0, 0, k->branch.d, k->x[0].d,
                                       k->weight.d, stats, rows, C, 1, k->scratch, from));
  else
    RUN(sl_cuda_layernorm_backward(NULL, k->type, k->dx[i].d, add, k->dw[i].d, k->db[i].d, 0, 0, k->branch.d, k->x[0].d,
                                   k->weight.d, stats, stats + rows, rows, C, 0, k->scratch, from));
}

static void compare_pair(struct pair *k, const struct sl_dropout *dropout, const int64_t *step, int biased) {
  const void *bias = biased ? k->bias.d : NULL;
  const size_t rows = k->s->rows, C = k->s->C;
  struct sl_cuda_taken_in from = {k->residual.d, k->branch.d, bias, NULL, dropout, step};
  RUN(sl_cuda_dropout_residual(NULL, k->type, k->x[0].d, k->residual.d, k->branch.d, bias, rows, C, dropout, step));
  norm_of(k, 0, NULL);
  norm_of(k, 1, &from);
  tensor_same(&k->x[0], &k->x[1], "x, taken in");
  tensor_same(&k->out[0], &k->out[1], "norm of what was taken in");
  tensor_same(&k->stats[0], &k->stats[1], "its statistics");
  from = (struct sl_cuda_taken_in){.dbranch = k->dbranch[1].d, .dropout = dropout, .step = step};
  norm_back(k, 0, biased, NULL);
  norm_back(k, 1, biased, &from);
  RUN(sl_cuda_dropout_forward(NULL, k->type, k->dbranch[0].d, k->dx[0].d, rows, C, dropout, step));
  tensor_same(&k->dx[0], &k->dx[1], "dx before dropout");
  tensor_same(&k->dbranch[0], &k->dbranch[1], "dropout of dx");
  tensor_same(&k->dw[0], &k->dw[1], "dweight beside dropout");
  if (biased) return; /* dx has been added to */
  from.dbranch = k->branch.d;
  norm_back(k, 1, 0, &from);
  tensor_same(&k->dbranch[0], &k->branch, "dropout of dx, over dout");
  tensor_same(&k->dw[0], &k->dw[1], "dweight, its dout overwritten");
}

static struct pair pair_new(const struct shape *s, enum sl_number type, int rms) {
  const size_t n = s->rows * s->C;
  struct pair k = {.s = s, .type = type, .rms = rms, .scratch = device_floats(2 * 128 * s->C)};
  k.residual = tensor_new(type, n, s->shift, -2, 3), k.branch = tensor_new(type, n, s->shift, -1, 1);
  k.bias = tensor_new(type, s->C, s->shift, -1, 1), k.weight = tensor_new(type, s->C, s->shift, 0, 2);
  k.weight_bias = tensor_new(type, s->C, s->shift, -1, 1);
  for (int i = 0; i < 2; i++) {
    k.x[i] = tensor_new(type, n, s->shift, -1, 1), k.out[i] = tensor_new(type, n, s->shift, -1, 1);
    k.stats[i] = tensor_new(SL_NUMBER_F32, (rms ? 1 : 2) * s->rows, 0, 0, 0.5);
    k.dx[i] = tensor_new(type, n, s->shift, -1, 1), k.dbranch[i] = tensor_new(type, n, s->shift, -1, 1);
    k.dw[i] = tensor_new(type, s->C, s->shift, -1, 1), k.db[i] = tensor_new(type, s->C, s->shift, -1, 1);
  }
  void *bits = malloc(n * sl_convert_bytes(type)); /* both add to the same gradient */
  assert_non_null(bits);
  device_read(bits, k.dx[0].d, n * sl_convert_bytes(type));
  device_write(k.dx[1].d, bits, n * sl_convert_bytes(type));
  free(bits);
  return k;
}

/* Rows that a warp's registers hold, few and many columns of them, those that a block's hold, and longer ones; those
 * without vectors. */
void norms_taken_in(enum sl_number type) {
  static const struct shape rows[] = {{37, 40, 0}, {6, 1032, 0}, {1, 2056, 0}, {2, 4104, 0}, {1, 8200, 0}, {9, 35, 1}};
  static const int64_t replayed = 9;
  const int64_t *step = device_copy(&replayed, sizeof replayed);
  for (const struct shape *s = rows; s < rows + sizeof rows / sizeof *rows; s++)
    for (int rms = 0; rms < 2; rms++)
      for (int way = 0; way < 2; way++) {
        if (cases_for_threads() && (rms + way + (s - rows)) % 2 != 0)
          continue; /* each row by both norms, and each way by some */
        struct shape few = *s;
        if (cases_for_threads() && few.rows > 5)
          few.rows = 5; /* a block with a row for each warp, and one that is not full */
        struct pair k = pair_new(&few, type, rms);
        const struct sl_dropout drops = {
            .p = way == 0 ? 0.3F : 0, .key = {5, 1, 3, 11}, .first_element = 12 * s->C, .row_stride = s->C};
        compare_pair(&k, &drops, way == 0 ? step : NULL, way);
      }
}

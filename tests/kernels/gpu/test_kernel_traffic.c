/* The kernels that memory bounds read and write at most 1.1 times the bytes that they must: counted in the emulated
 * kernels (traffic.h), each access for itself, on sizes that are no multiple of anything. */
#include "tests/kernels/gpu/cases.h"
#include "tests/kernels/gpu/traffic.h"

static size_t bytes_of(const struct tensor *t) {
  return t->n * sl_convert_bytes(t->type);
}
static void watch(const struct tensor *t) {
  traffic_watch(t->d, bytes_of(t));
}

/* What was counted, as a multiple of what is necessary; fewer bytes than those mean that the counter does not see. */
static void judge_traffic(size_t necessary, const char *what) {
  const size_t taken = traffic_taken();
  print_message("%s: %zu bytes, %.3f of what is necessary\n", what, taken, (double)taken / (double)necessary);
  assert_true(taken >= necessary);
  assert_true((double)taken <= 1.1 * (double)necessary);
}

static void gradient_norm(enum sl_number type) {
  struct tensor x = tensor_new(type, 20011, 0, -1, 1);
  double *sum = device_copy(&(double){0}, sizeof *sum);
  void *scratch = device_new(sl_cuda_reduce_scratch_bytes(x.n));
  watch(&x);
  traffic_watch(scratch, sl_cuda_reduce_scratch_bytes(x.n));
  RUN(sl_cuda_reduce_sum_squares(NULL, type, sum, NULL, x.d, x.n, 1, scratch));
  judge_traffic(bytes_of(&x), "gradient norm");
  device_delete(scratch);
}

static void adam(enum sl_number type) {
  const size_t n = 10007;
  struct tensor master = tensor_new(SL_NUMBER_F32, n, 0, -1, 1), m = tensor_new(SL_NUMBER_F32, n, 0, -1, 1);
  struct tensor v = tensor_new(SL_NUMBER_F32, n, 0, 0, 1), grad = tensor_new(type, n, 0, -1, 1);
  struct tensor param = tensor_new(type, n, 0, -1, 1);
  const struct sl_adam a = {1e-2, 0.87, 0.993, 1e-7, 0.13, 0.37, 1, 1, 3};
  watch(&master), watch(&m), watch(&v), watch(&grad), watch(&param);
  RUN(sl_cuda_master_adam(NULL, master.d, m.d, v.d, grad.d, type, param.d, type, n, &a, NULL));
  judge_traffic(6 * bytes_of(&master) + bytes_of(&grad) + bytes_of(&param), "Adam");
}

/* A row is read twice, the second time out of a cache, and written once. */
static void classifier(enum sl_number type) {
  const size_t rows = 3, V = 5003;
  struct tensor logits = tensor_new(type, rows * V, 0, -4, 4);
  double *losses = device_new(rows * sizeof *losses);
  const int32_t *targets = device_copy((const int32_t[]){7, 5002, 0}, rows * sizeof *targets);
  watch(&logits);
  RUN(sl_cuda_classifier_fused(NULL, type, NULL, losses, logits.d, targets, rows, V, V, 1, NULL));
  judge_traffic(3 * bytes_of(&logits), "classifier");
  device_delete(losses);
}

/* The gradient once for its tokens and once for its positions, and each row of the tables that is met read and written.
 * Tokens themselves are not counted: every block reads them, out of a cache. */
static void embedding_backward(enum sl_number type) {
  enum { ROWS = 70, KINDS = 9 };
  const struct sl_embedding_shape shape = {.B = 1, .T = ROWS, .C = 520, .n_rows = 50};
  struct tensor table = tensor_new(type, shape.n_rows * shape.C, 0, -1, 1),
                dout = tensor_new(type, ROWS * shape.C, 0, -1, 1);
  struct tensor positions = tensor_new(type, ROWS * shape.C, 0, -1, 1);
  int32_t tokens[ROWS];
  for (int i = 0; i < ROWS; i++) tokens[i] = i * i % KINDS * 5; /* 0, 1, 4, 7 times five */
  const int32_t *device = device_copy(tokens, sizeof tokens);
  watch(&table), watch(&dout), watch(&positions);
  RUN(sl_cuda_embedding_backward(NULL, type, table.d, 1, positions.d, ROWS, 1, 0, dout.d, device, &shape, NULL, NULL));
  const size_t row = shape.C * sl_convert_bytes(type);
  judge_traffic(2 * bytes_of(&dout) + 2 * bytes_of(&positions) + 2 * 4 * row, "embedding backward");
}

/* A row of x is read once, or made of two others and written, and its norm is written. */
static void norms_forward(enum sl_number type) {
  const size_t rows = 70, C = 1032;
  struct tensor x = tensor_new(type, rows * C, 0, -1, 1), out = tensor_new(type, rows * C, 0, -1, 1);
  struct tensor residual = tensor_new(type, rows * C, 0, -1, 1), branch = tensor_new(type, rows * C, 0, -1, 1);
  struct tensor w = tensor_new(type, C, 0, -1, 1), stats = tensor_new(SL_NUMBER_F32, 2 * rows, 0, -1, 1);
  const struct sl_dropout drops = {.p = 0.1F, .row_stride = C};
  const struct sl_cuda_taken_in from = {.residual = residual.d, .branch = branch.d, .dropout = &drops};
  float *mean = stats.d;
  watch(&x), watch(&out);
  RUN(sl_cuda_layernorm_forward(NULL, type, out.d, mean, mean + rows, x.d, w.d, w.d, rows, C, 1e-5F, 0, NULL));
  judge_traffic(2 * bytes_of(&x), "LayerNorm");
  watch(&x), watch(&out), watch(&residual), watch(&branch);
  RUN(sl_cuda_layernorm_forward(NULL, type, out.d, mean, mean + rows, x.d, w.d, w.d, rows, C, 1e-5F, 0, &from));
  judge_traffic(4 * bytes_of(&x), "residual and LayerNorm");
  watch(&x), watch(&out);
  RUN(sl_cuda_llama_rmsnorm_forward(NULL, type, out.d, mean, x.d, w.d, rows, C, 1e-5F, 0, NULL));
  judge_traffic(2 * bytes_of(&x), "RMSNorm");
}

/* Of a row that registers hold: x and the gradient read, dx written. Partial sums of the weights are at most 128 rows
 * of floats, whatever the rows, and not counted. */
static void layernorm_backward(enum sl_number type) {
  const size_t rows = 2560, C = 64;
  struct tensor x = tensor_new(type, rows * C, 0, -1, 1), dout = tensor_new(type, rows * C, 0, -1, 1);
  struct tensor dx = tensor_new(type, rows * C, 0, -1, 1), w = tensor_new(type, C, 0, -1, 1);
  struct tensor dw = tensor_new(type, C, 0, -1, 1), db = tensor_new(type, C, 0, -1, 1);
  struct tensor mean = tensor_new(SL_NUMBER_F32, rows, 0, -1, 1), rstd = tensor_new(SL_NUMBER_F32, rows, 0, 1, 2);
  struct tensor dbranch = tensor_new(type, rows * C, 0, -1, 1);
  const struct sl_dropout drops = {.p = 0.1F, .row_stride = C};
  const struct sl_cuda_taken_in from = {.dbranch = dbranch.d, .dropout = &drops};
  void *scratch = device_new(sl_cuda_layernorm_scratch_bytes(rows, C));
  watch(&x), watch(&dout), watch(&dx), watch(&dw), watch(&db);
  RUN(sl_cuda_layernorm_backward(NULL, type, dx.d, 0, dw.d, db.d, 0, 0, dout.d, x.d, w.d, mean.d, rstd.d, rows, C, 0,
                                 scratch, NULL));
  judge_traffic(3 * bytes_of(&x), "LayerNorm backward");
  watch(&x), watch(&dout), watch(&dx), watch(&dbranch);
  RUN(sl_cuda_layernorm_backward(NULL, type, dx.d, 0, dw.d, db.d, 0, 0, dout.d, x.d, w.d, mean.d, rstd.d, rows, C, 0,
                                 scratch, &from));
  judge_traffic(4 * bytes_of(&x), "LayerNorm backward and dropout");
  watch(&x), watch(&dout), watch(&dx), watch(&dw);
  RUN(sl_cuda_llama_rmsnorm_backward(NULL, type, dx.d, 0, dw.d, 0, 0, dout.d, x.d, w.d, rstd.d, rows, C, 0, scratch,
                                     NULL));
  judge_traffic(3 * bytes_of(&x), "RMSNorm backward");
  device_delete(scratch);
}

/* Kernels of elements, which pass over their operands once: `n` matrices of one size are read or written. */
enum { ROWS = 70, COLUMNS = 520 };
static struct tensor pass[5];

static void watch_passes(int n, enum sl_number type) {
  for (int i = 0; i < n; i++) {
    pass[i] = tensor_new(type, ROWS * COLUMNS, 0, -1, 1);
    watch(&pass[i]);
  }
}

#define EACH_ONCE(type, n, what, call)                                                                                 \
  do {                                                                                                                 \
    watch_passes(n, type);                                                                                             \
    RUN(call);                                                                                                         \
    judge_traffic((n)*bytes_of(&pass[0]), what);                                                                       \
  } while (0)

static void elements(enum sl_number type) {
  const struct sl_dropout drops = {.p = 0.1F, .row_stride = COLUMNS};
  const size_t n = ROWS * COLUMNS;
  EACH_ONCE(type, 3, "residual",
            sl_cuda_dropout_residual(NULL, type, pass[0].d, pass[1].d, pass[2].d, NULL, ROWS, COLUMNS, &drops, NULL));
  EACH_ONCE(type, 2, "dropout", sl_cuda_dropout_forward(NULL, type, pass[0].d, pass[1].d, ROWS, COLUMNS, &drops, NULL));
  EACH_ONCE(type, 2, "GELU", sl_cuda_gelu_forward(NULL, type, pass[0].d, pass[1].d, NULL, ROWS, COLUMNS));
  EACH_ONCE(type, 3, "GELU backward",
            sl_cuda_gelu_backward(NULL, type, pass[0].d, pass[1].d, pass[2].d, NULL, ROWS, COLUMNS));
  EACH_ONCE(type, 2, "activation",
            sl_cuda_act_forward(NULL, type, pass[0].d, pass[1].d, ROWS, COLUMNS, SL_ACT_SILU, 0));
  EACH_ONCE(type, 3, "activation backward",
            sl_cuda_act_backward(NULL, type, pass[0].d, pass[1].d, pass[2].d, ROWS, COLUMNS, SL_ACT_SILU, 0));
  EACH_ONCE(type, 3, "SwiGLU",
            sl_cuda_llama_swiglu_forward(NULL, type, pass[0].d, pass[1].d, pass[2].d, ROWS, COLUMNS, COLUMNS));
  EACH_ONCE(type, 5, "SwiGLU backward",
            sl_cuda_llama_swiglu_backward(NULL, type, pass[0].d, pass[1].d, pass[2].d, pass[3].d, pass[4].d, ROWS,
                                          COLUMNS, COLUMNS));
  EACH_ONCE(type, 2, "ReLU", sl_cuda_mlp_relu_forward(NULL, type, pass[0].d, pass[1].d, NULL, ROWS, COLUMNS));
  EACH_ONCE(type, 2, "copy", sl_cuda_convert(NULL, pass[0].d, type, pass[1].d, type, n));
  watch_passes(2, type);
  RUN(sl_cuda_convert_add(NULL, pass[0].d, type, pass[1].d, type, n));
  judge_traffic(3 * bytes_of(&pass[0]), "addition");
  EACH_ONCE(type, 1, "fill", sl_cuda_reduce_fill(NULL, type, pass[0].d, 0.5F, n));
  EACH_ONCE(type, 2, "columns put together",
            sl_cuda_columns_copy(NULL, type, pass[0].d, COLUMNS, COLUMNS / 2, pass[1].d, COLUMNS / 2,
                                 ROWS * COLUMNS / 2, ROWS, 2, COLUMNS / 2));
}

/* A bias is one row beside the matrix. */
static void biases(enum sl_number type) {
  struct tensor bias = tensor_new(type, COLUMNS, 0, -1, 1);
  float *scratch =
      tensor_new(SL_NUMBER_F32, sl_cuda_reduce_bias_scratch_bytes(ROWS, COLUMNS) / sizeof(float), 0, 0, 1).d;
  EACH_ONCE(type, 1, "bias gradient",
            sl_cuda_reduce_bias_backward(NULL, type, bias.d, type, 0, pass[0].d, ROWS, COLUMNS, scratch));
}

int main(int argc, char **argv) {
  static const struct cuda_case all[] = {{"gradient_norm", gradient_norm, 0},
                                         {"adam", adam, 0},
                                         {"classifier", classifier, 0},
                                         {"norms_forward", norms_forward, 0},
                                         {"layernorm_backward", layernorm_backward, 0},
                                         {"embedding_backward", embedding_backward, 0},
                                         {"elements", elements, 0},
                                         {"biases", biases, 0}};
  return cases_main("test_kernel_traffic", all, sizeof all / sizeof *all, argc, argv);
}

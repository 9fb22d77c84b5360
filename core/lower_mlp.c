/* What one micro-batch of the MLP computes: linear layers with ReLU between them and a mean squared error at the end.
 * B samples; weights are (out, in) as torch.nn.Linear keeps them, so out(B, N) = x(B, K) w(N, K)^T + b(N). */
#include "core/lower.h"
#include "core/scratch.h"

static struct sl_op op_of(const struct sl_lowering *l, enum sl_op_kind kind, enum sl_phase phase, int layer,
                          int64_t rows, int64_t columns) {
  return (struct sl_op){.kind = kind,
                        .lane = SL_LANE_COMPUTE,
                        .group = SL_GROUP_NONE,
                        .place_group = SL_GROUP_NONE,
                        .dtype = l->dtype,
                        .phase = phase,
                        .dim = {rows, columns},
                        .tensor = -1,
                        .layer = layer};
}

static struct sl_op gemm_op(const struct sl_lowering *l, enum sl_phase phase, int layer, unsigned flags) {
  struct sl_op op = op_of(l, SL_OP_GEMM, phase, layer, 0, 0);
  op.flags = flags;
  op.tensor = 2 * layer;
  return op;
}

static enum sl_status activation(struct sl_lowering *l, int32_t *out, int64_t count, int slots, int layer,
                                 const char *name) {
  return sl_lower_buffer(l, out, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, l->dtype, count, slots, "layers.%d.%s", layer,
                         name);
}

static enum sl_status forward(struct sl_lowering *l, int layers, int32_t *x, int32_t targets) {
  const struct sl_plan *plan = l->plan;
  const int64_t *dims = plan->model->dims, b = plan->micro_batch;
  int32_t scratch;
  for (int i = 0; i < layers; i++) {
    SL_TRY(activation(l, &x[i + 1], b * dims[i + 1], l->slots, i, "out"));
    const struct sl_operand bias = sl_param(l, 2 * i + 1);
    SL_TRY(sl_lower_gemm(l, &l->forward, gemm_op(l, SL_PHASE_FORWARD, i, SL_OP_TRANS_B),
                         (int64_t[]){b, dims[i + 1], dims[i]}, sl_read(l, x[i]), sl_param(l, 2 * i),
                         sl_write(l, x[i + 1]), &bias));
    if (i + 1 == layers) break;
    SL_TRY(
        SL_DRAFT(&l->forward, op_of(l, SL_OP_RELU_FWD, SL_PHASE_FORWARD, i, b, dims[i + 1]), sl_update(l, x[i + 1])));
  }
  struct sl_op mse = op_of(l, SL_OP_MSE, SL_PHASE_FORWARD, layers, b, dims[layers]);
  mse.scale = 1.0 / ((double)plan->global_batch * (double)dims[layers]);
  SL_TRY(sl_lower_buffer(l, &scratch, SL_SCOPE_MICRO, SL_CATEGORY_WORKSPACE, SL_U8, sl_scratch_sum(b * dims[layers]), 1,
                         "mse.scratch"));
  return SL_DRAFT(&l->forward, mse, sl_update(l, x[layers]), sl_read(l, targets), sl_update(l, l->rank_class->control),
                  sl_write(l, scratch));
}

static enum sl_status backward(struct sl_lowering *l, int layers, const int32_t *x) {
  const int64_t *dims = l->plan->model->dims, b = l->plan->micro_batch;
  int32_t dout = x[layers], dx; /* the loss left its gradient in place of the prediction */
  for (int i = layers - 1; i >= 0; i--) {
    SL_TRY(sl_lower_gemm(l, &l->backward, gemm_op(l, SL_PHASE_BACKWARD, i, SL_OP_TRANS_A),
                         (int64_t[]){dims[i + 1], dims[i], b}, sl_read(l, dout), sl_read(l, x[i]), sl_grad(l, 2 * i),
                         NULL));
    SL_TRY(SL_DRAFT(&l->backward, op_of(l, SL_OP_BIAS_BWD, SL_PHASE_BACKWARD, i, b, dims[i + 1]), sl_read(l, dout),
                    sl_grad(l, 2 * i + 1)));
    if (i == 0) break;
    SL_TRY(activation(l, &dx, b * dims[i], 1, i, "dx"));
    SL_TRY(sl_lower_gemm(l, &l->backward, gemm_op(l, SL_PHASE_BACKWARD, i, 0), (int64_t[]){b, dims[i], dims[i + 1]},
                         sl_read(l, dout), sl_param(l, 2 * i), sl_write(l, dx), NULL));
    SL_TRY(SL_DRAFT(&l->backward, op_of(l, SL_OP_RELU_BWD, SL_PHASE_BACKWARD, i - 1, b, dims[i]), sl_update(l, dx),
                    sl_read(l, x[i])));
    dout = dx;
  }
  return SL_OK;
}

enum sl_status sl_lower_mlp(struct sl_lowering *l) {
  const struct sl_model *m = l->plan->model;
  const int layers = m->n_dims - 1;
  const int64_t b = l->plan->micro_batch;
  int32_t x[SL_MLP_MAX_DIMS], targets;
  struct sl_op load = op_of(l, SL_OP_LOAD_BATCH, SL_PHASE_FORWARD, -1, b, 1);
  load.dim[2] = m->dims[0];
  load.dim[3] = m->dims[layers];
  SL_TRY(
      sl_lower_buffer(l, &x[0], SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, l->dtype, b * m->dims[0], l->slots, "inputs"));
  SL_TRY(sl_lower_buffer(l, &targets, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, l->dtype, b * m->dims[layers], l->slots,
                         "targets"));
  SL_TRY(SL_DRAFT(&l->forward, load, sl_write(l, x[0]), sl_write(l, targets)));
  SL_TRY(forward(l, layers, x, targets));
  return backward(l, layers, x);
}

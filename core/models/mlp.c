/* What one micro-batch of the MLP computes on a stage: linear layers with ReLU between them and a mean squared error at the
 * end. B samples; weights are (out, in) as torch.nn.Linear keeps them, so out(B, N) = x(B, K) w(N, K)^T + b(N).
 *
 * Under tensor parallelism every layer is a ColumnParallelLinear with its output gathered: a member computes N / tp columns,
 * which an all_gather and a rearrangement put together. (A sum would add unlike columns.) */
#include "core/models/models.h"
#include "core/op/workspace.h"

struct mlp {
  struct sl_lowering *l;
  const int64_t *dims; /* of the model */
  int64_t b;
  int first, end; /* linears of the stage */
  int tp;
  enum sl_phase phase;
  struct sl_drafts *drafts;
  struct sl_operand x[SL_MLP_MAX_DIMS]; /* input of each linear; behind the last one the prediction */
  int32_t targets;
};

static struct sl_op op_of(const struct mlp *m, enum sl_op_kind kind, int layer, int64_t rows, int64_t columns) {
  struct sl_op op = sl_op_plain(kind, m->l->dtype, m->phase);
  op.dim[0] = rows, op.dim[1] = columns;
  op.layer = layer;
  return op;
}

static struct sl_op gemm_op(const struct mlp *m, int layer, unsigned flags) {
  struct sl_op op = op_of(m, SL_OP_GEMM, layer, 0, 0);
  op.flags = flags;
  op.tensor = m->l->pp_rank->placed_of[2 * layer];
  return op;
}

/* Kept for the backward, or used up by the action (in a split backward, by its W half). */
static enum sl_status buffer(struct mlp *m, struct sl_operand *out, int64_t count, int layer, const char *name,
                             bool kept) {
  int32_t b;
  SL_TRY(sl_build_buffer(m->l, &b, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, m->l->dtype, count, "layers.%d.%s", layer,
                         name));
  if (kept)
    sl_build_slots(m->l, b, SL_SLOT_ACTIVATION);
  else if (m->l->stage->split && m->phase == SL_PHASE_BACKWARD)
    sl_build_slots(m->l, b, SL_SLOT_WEIGHT);
  *out = sl_build_write(m->l, b);
  return SL_OK;
}

static enum sl_status tp_call(struct mlp *m, enum sl_op_kind kind, int layer, int64_t count, int operand_count,
                              const struct sl_operand *operands) {
  struct sl_op op = op_of(m, kind, layer, count, 0);
  op.lane = SL_LANE_TP;
  op.group = SL_GROUP_TP;
  op.payload = SL_PAYLOAD_ACTIVATION;
  return sl_build_draft(m->drafts, op, operand_count, operands);
}

/* out = x w^T + b */
static enum sl_status linear(struct mlp *m, int i, struct sl_operand x, struct sl_operand out) {
  const struct sl_operand bias = sl_build_param(m->l, 2 * i + 1);
  return sl_build_gemm(m->l, m->drafts, gemm_op(m, i, SL_OP_TRANS_B),
                       (int64_t[]){m->b, m->dims[i + 1] / m->tp, m->dims[i]}, sl_build_as(x, SL_READ),
                       sl_build_param(m->l, 2 * i), out, &bias);
}

static enum sl_status column_linear(struct mlp *m, int i, struct sl_operand x, struct sl_operand out) {
  const int64_t columns = m->dims[i + 1] / m->tp;
  struct sl_operand own, parts;
  if (m->tp == 1) return linear(m, i, x, out);
  SL_TRY(buffer(m, &own, m->b * columns, i, "own", false));
  SL_TRY(buffer(m, &parts, m->b * m->dims[i + 1], i, "parts", false));
  SL_TRY(linear(m, i, x, own));
  SL_TRY(tp_call(m, SL_OP_ALL_GATHER, i, m->b * m->dims[i + 1], 2,
                 (struct sl_operand[]){sl_build_as(own, SL_READ), parts}));
  struct sl_op op = op_of(m, SL_OP_CONCAT_COLUMNS, i, m->b, columns);
  op.dim[2] = m->tp;
  return SL_BUILD_DRAFT(m->drafts, op, sl_build_as(parts, SL_READ), out);
}

/* Where the output of linear `i` goes: to the next stage, or to the next linear. */
static enum sl_status output(struct mlp *m, int i, struct sl_operand *out) {
  if (i + 1 < m->end || m->l->stage->stage->head) return buffer(m, out, m->b * m->dims[i + 1], i, "out", true);
  *out = sl_build_stream(m->l, SL_SLOT_OUT, SL_WRITE, m->b * m->dims[i + 1]);
  return SL_OK;
}

static enum sl_status loss(struct mlp *m) {
  struct sl_lowering *l = m->l;
  const int64_t width = m->dims[m->end];
  struct sl_op op = op_of(m, SL_OP_MSE, m->end, m->b, width);
  int32_t scratch;
  op.scale = 1.0 / ((double)l->plan->global_batch * (double)width);
  if (m->tp > 1) op.place_group = SL_GROUP_TP;
  SL_TRY(sl_build_buffer(l, &scratch, SL_SCOPE_MICRO, SL_CATEGORY_WORKSPACE, SL_U8, sl_op_workspace(&op, 1),
                         "mse.scratch"));
  return SL_BUILD_DRAFT(m->drafts, op, sl_build_as(m->x[m->end], SL_READ_WRITE), sl_build_read(l, m->targets),
                        sl_build_update(l, l->rank_class->control), sl_build_write(l, scratch));
}

static enum sl_status forward(struct mlp *m) {
  const bool head = m->l->stage->stage->head;
  for (int i = m->first; i < m->end; i++) {
    SL_TRY(output(m, i, &m->x[i + 1]));
    SL_TRY(column_linear(m, i, m->x[i], m->x[i + 1]));
    if (head && i + 1 == m->end) return loss(m);
    SL_TRY(SL_BUILD_DRAFT(m->drafts, op_of(m, SL_OP_RELU_FWD, i, m->b, m->dims[i + 1]),
                          sl_build_as(m->x[i + 1], SL_READ_WRITE)));
  }
  return SL_OK;
}

/* This member's columns of a gradient, (B, N / tp). */
static enum sl_status own_columns(struct mlp *m, int i, struct sl_operand dout, struct sl_operand *own) {
  const int64_t columns = m->dims[i + 1] / m->tp;
  struct sl_op op = op_of(m, SL_OP_SPLIT_COLUMNS, i, m->b, columns);
  *own = sl_build_as(dout, SL_READ);
  if (m->tp == 1) return SL_OK;
  SL_TRY(buffer(m, own, m->b * columns, i, "down", false));
  op.dim[2] = m->tp;
  op.place_group = SL_GROUP_TP;
  SL_TRY(SL_BUILD_DRAFT(m->drafts, op, sl_build_as(dout, SL_READ), *own));
  *own = sl_build_as(*own, SL_READ);
  return SL_OK;
}

static enum sl_status weight_gradients(struct mlp *m, int i, struct sl_operand own) {
  const int64_t columns = m->dims[i + 1] / m->tp;
  SL_TRY(sl_build_gemm(m->l, m->drafts, gemm_op(m, i, SL_OP_TRANS_A), (int64_t[]){columns, m->dims[i], m->b}, own,
                       sl_build_as(m->x[i], SL_READ), sl_build_grad(m->l, 2 * i), NULL));
  return SL_BUILD_DRAFT(m->drafts, op_of(m, SL_OP_BIAS_BWD, i, m->b, columns), own, sl_build_grad(m->l, 2 * i + 1));
}

/* The gradient of linear `i`'s input, through the ReLU in front of it; its sum over the tp group runs beside the weights'
 * gradients. */
static enum sl_status backward_linear(struct mlp *m, int i, struct sl_operand dout, struct sl_operand *dx) {
  const int64_t width = m->b * m->dims[i];
  struct sl_operand own;
  SL_TRY(own_columns(m, i, dout, &own));
  if (i == 0) return weight_gradients(m, i, own);
  SL_TRY(buffer(m, dx, width, i, "dx", false));
  SL_TRY(sl_build_gemm(m->l, m->drafts, gemm_op(m, i, 0), (int64_t[]){m->b, m->dims[i], m->dims[i + 1] / m->tp}, own,
                       sl_build_param(m->l, 2 * i), *dx, NULL));
  *dx = sl_build_as(*dx, SL_READ_WRITE);
  if (m->tp > 1) SL_TRY(tp_call(m, SL_OP_ALL_REDUCE, i, width, 1, dx));
  SL_TRY(weight_gradients(m, i, own));
  return SL_BUILD_DRAFT(m->drafts, op_of(m, SL_OP_RELU_BWD, i - 1, m->b, m->dims[i]), *dx,
                        sl_build_as(m->x[i], SL_READ));
}

static enum sl_status copy(struct mlp *m, int layer, struct sl_operand from, struct sl_operand to, int64_t count) {
  return SL_BUILD_DRAFT(m->drafts, op_of(m, SL_OP_COPY, layer, count, 0), sl_build_as(from, SL_READ),
                        sl_build_as(to, SL_WRITE));
}

static enum sl_status backward(struct mlp *m) {
  struct sl_lowering *l = m->l;
  const int64_t last = m->b * m->dims[m->end];
  struct sl_operand d = m->x[m->end]; /* the loss left its gradient in place of the prediction */
  if (!l->stage->stage->head) {
    d = sl_build_stream(l, SL_SLOT_DX, SL_READ, last);
    if (l->stage->split) { /* W reads it after it has gone on */
      struct sl_operand held;
      SL_TRY(buffer(m, &held, last, m->end, "dx.held", false));
      SL_TRY(copy(m, m->end, d, held, last));
      d = held;
    }
  }
  for (int i = m->end - 1; i >= m->first; i--) {
    struct sl_operand dx;
    SL_TRY(backward_linear(m, i, d, &dx));
    d = dx;
    if (i == 0) return SL_OK;
  }
  const int64_t first = m->b * m->dims[m->first];
  return copy(m, m->first, d, sl_build_stream(l, SL_SLOT_DX, SL_WRITE, first), first);
}

/* Inputs in the model's first stage, targets in its last. */
static enum sl_status begin(struct mlp *m) {
  struct sl_lowering *l = m->l;
  const struct sl_model *model = l->plan->model;
  const struct sl_stage *stage = l->stage->stage;
  const int64_t targets = m->b * m->dims[model->n_dims - 1];
  struct sl_op op = op_of(m, SL_OP_LOAD_BATCH, -1, m->b, 1);
  struct sl_operand operands[2];
  int n = 0;
  op.dim[2] = m->dims[0];
  op.dim[3] = m->dims[model->n_dims - 1];
  if (stage->embedding) {
    SL_TRY(buffer(m, &m->x[0], m->b * m->dims[0], -1, "inputs", true));
    operands[n++] = m->x[0];
  } else {
    m->x[m->first] = sl_build_stream(l, SL_SLOT_IN, SL_READ, m->b * m->dims[m->first]);
  }
  if (stage->head) {
    SL_TRY(sl_build_buffer(l, &m->targets, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, l->dtype, targets, "targets"));
    operands[n++] = sl_build_write(l, m->targets);
  }
  if (n == 0) return SL_OK;
  if (n == 1) op.flags = stage->embedding ? SL_OP_INPUTS_ONLY : SL_OP_TARGETS_ONLY;
  return sl_build_draft(m->drafts, op, n, operands);
}

enum sl_status sl_models_mlp(struct sl_lowering *l) {
  const struct sl_stage *stage = l->stage->stage;
  struct mlp m = {.l = l,
                  .dims = l->plan->model->dims,
                  .b = l->plan->micro_batch,
                  .first = stage->first_layer,
                  .end = stage->first_layer + stage->layer_count,
                  .tp = l->plan->tp,
                  .phase = SL_PHASE_FORWARD,
                  .drafts = &l->stage->forward};
  SL_TRY(begin(&m));
  SL_TRY(forward(&m));
  m.phase = SL_PHASE_BACKWARD;
  m.drafts = &l->stage->backward;
  return backward(&m);
}

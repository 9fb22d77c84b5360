/* What ops need beside their operands; see workspace.h. Bounds of the kernels' scratch are core's. */
#include "backend/cuda/workspace.h"

#include "backend/common/tensor.h"
#include "core/program/workspace.h"

int64_t sl_cuda_workspace_scratch(const struct sl_op *op, int *operand) {
  const bool halved = op->flags & SL_OP_WEIGHT_GRAD; /* without weight and dx */
  *operand = -1;
  switch (op->kind) {
  case SL_OP_LAYERNORM_BWD:
    if (op->flags & SL_OP_INPUT_GRAD) return 0;
    return *operand = halved ? 5 : 7, sl_scratch_layernorm_bwd(op->dim[0], op->dim[1]);
  case SL_OP_RMSNORM_BWD:
    if (op->flags & SL_OP_INPUT_GRAD) return 0;
    return *operand = halved ? 4 : 6, sl_scratch_rmsnorm_bwd(op->dim[0], op->dim[1]);
  case SL_OP_CLASSIFIER:
    return *operand = 3, op->dim[0] * (int64_t)sizeof(double);
  case SL_OP_CLASSIFIER_SHARD:
    return *operand = 4, op->dim[0] * (int64_t)sizeof(double);
  case SL_OP_MSE:
    return *operand = 3, sl_scratch_sum(op->dim[0] * op->dim[1]);
  case SL_OP_NORM:
    return *operand = 2, sl_scratch_sum(op->dim[0]);
  default:
    return 0;
  }
}

int64_t sl_cuda_workspace_batch(const struct sl_program *program, const struct sl_op *op) {
  int64_t bytes = 0;
  for (int i = 0; i < op->slice_count; i++)
    bytes += (program->slices[op->slice + i].bytes + SL_ALIGN - 1) / SL_ALIGN * SL_ALIGN;
  return bytes;
}

static void add_program(struct sl_cuda_workspace *w, const struct sl_program *p) {
  int64_t staging = 0;
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_op *op = &p->ops[p->issues[i].op];
    if (op->kind == SL_OP_LOAD_BATCH) staging += sl_cuda_workspace_batch(p, op);
  }
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    int operand;
    const int64_t need = sl_cuda_workspace_scratch(op, &operand);
    const int64_t given = operand >= 0 && operand < op->slice_count ? p->slices[op->slice + operand].bytes : 0;
    if (need > given && need > w->scratch_bytes) w->scratch_bytes = need;
    if (op->kind == SL_OP_GEMM) w->gemm_bytes = SL_CUDA_GEMM_WORKSPACE;
    if (op->kind == SL_OP_INIT_TENSOR || op->kind == SL_OP_SAVE_TENSOR)
      w->values_bytes = SL_TENSOR_CHUNK * (int64_t)sizeof(float);
  }
  if (staging > w->staging_bytes) w->staging_bytes = staging;
}

struct sl_cuda_workspace sl_cuda_workspace_plan(const struct sl_class *rank_class) {
  struct sl_cuda_workspace w = {0};
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) add_program(&w, &rank_class->programs[kind]);
  return w;
}

/* Memory that ops need beside their operands; see workspace.h. The upper bounds of most kernels' scratch come from
 * core/op. */
#include "backend/cuda/workspace.h"

#include "backend/common/tensor.h"
#include "core/op/operands.h"
#include "core/op/workspace.h"
#include "kernels/gpu/cuda.h"

/* For a bias gradient, which may also be the epilogue of a product and computed by its own kernel. */
static int64_t bias_scratch(const struct sl_op *op) {
  const struct sl_op epilogue = sl_op_epilogue(op), *sums = op->kind == SL_OP_BIAS_BWD ? op : &epilogue;
  if (sums->kind != SL_OP_BIAS_BWD) return 0;
  return (int64_t)sl_cuda_reduce_bias_scratch_bytes((size_t)sums->dim[0], (size_t)sums->dim[1]);
}

/* The scratch that the backend must provide for the GPU's kernel of `op`: 0 if the op has a sufficient operand for
 * it. */
static int64_t scratch_of(const struct sl_program *p, const struct sl_op *op) {
  const int at = sl_op_at(op, SL_AT_SCRATCH);
  const int64_t bias = bias_scratch(op), need = sl_op_workspace(op, 1);
  if (bias > 0) return bias;
  return at >= 0 && at < op->slice_count && p->slices[op->slice + at].bytes >= need ? 0 : need;
}

int64_t sl_cuda_workspace_batch(const struct sl_program *program, const struct sl_op *op) {
  int64_t bytes = 0;
  for (int i = 0; i < op->slice_count; i++) bytes += sl_aligned(program->slices[op->slice + i].bytes);
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
    const int64_t scratch = scratch_of(p, op);
    if (scratch > w->scratch_bytes) w->scratch_bytes = scratch;
    if (op->kind == SL_OP_GEMM) w->gemm_bytes = SL_CUDA_GEMM_WORKSPACE;
    if (op->kind == SL_OP_INIT_TENSOR || op->kind == SL_OP_SAVE_TENSOR)
      w->values_bytes = SL_TENSOR_CHUNK * (int64_t)sizeof(float);
  }
  if (staging > w->staging_bytes) w->staging_bytes = staging;
}

struct sl_cuda_workspace sl_cuda_workspace_plan(const struct sl_class *rank_class) {
  struct sl_cuda_workspace w = {.scratch_bytes = SL_CUDA_SCRATCH};
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) add_program(&w, &rank_class->programs[kind]);
  return w;
}

/* Runs each compute op of the step once, before the first program, in memory that is cleared again. The driver loads
 * a kernel's code to the device at its first launch, and may first wait for the kernels that run there: if one of
 * them is a receive that spins for its peer, the peer could wait for us in turn. It also makes the first step like
 * any other, and the memory of the code is counted as part of the context. Products' algorithms are chosen here,
 * because here alone a product may run more often than once. */
#include "backend/cuda/cuda.h"

#include "backend/cuda/mark.h"
#include "kernels/gpu/cuda.h"

#include <stdlib.h>
#include <string.h>

static bool runs_here(const struct sl_op *op) {
  return !sl_op_is_comm(op->kind) && op->kind != SL_OP_LOAD_BATCH && op->kind != SL_OP_INIT_TENSOR &&
         op->kind != SL_OP_SAVE_TENSOR && op->kind != SL_OP_JOIN && !sl_cuda_helps(op->lane);
}

/* Tokens and targets are indices. They are set to 0 in every micro-batch, even if an earlier op has left other bytes
 * there. */
static enum sl_status load_zeros(struct sl_cuda *cuda, const struct sl_issued *it, cudaStream_t stream) {
  for (int i = 0; i < it->op->slice_count; i++)
    SL_CUDA_TRY(
        cudaMemsetAsync(sl_cuda_operand(cuda, it, i), 0, (size_t)it->program->slices[it->op->slice + i].bytes, stream));
  return SL_OK;
}

/* Runs one op and waits for it, so that a failure here is this op's. */
static enum sl_status run_one(struct sl_cuda *cuda, const struct sl_issued *it, cudaStream_t stream) {
  SL_TRY(it->op->kind == SL_OP_LOAD_BATCH ? load_zeros(cuda, it, stream) : sl_cuda_run(cuda, stream, it));
  SL_CUDA_TRY(cudaStreamSynchronize(stream));
  return SL_OK;
}

static enum sl_status run_each(struct sl_cuda *cuda, const struct sl_program *p, bool *done, cudaStream_t stream) {
  for (uint32_t i = 0; i < p->issue_count; i++) {
    const struct sl_issue *e = &p->issues[i];
    const bool loads = p->ops[e->op].kind == SL_OP_LOAD_BATCH;
    if (!loads && (done[e->op] || !runs_here(&p->ops[e->op]))) continue;
    done[e->op] = true;
    const struct sl_issued it = {.rank_class = cuda->rank_class,
                                 .program = p,
                                 .op = &p->ops[e->op],
                                 .instance = &p->instances[e->instance],
                                 .lane_index = e->lane_index,
                                 .index = i};
    const enum sl_status status = run_one(cuda, &it, stream);
    if (status != SL_OK) return sl_cuda_name_op(cuda, p, i, status);
  }
  return SL_OK;
}

/* The kernels that add a received sum to a shard (collect.c), and that of marks. */
static enum sl_status run_sums(struct sl_cuda *cuda, cudaStream_t stream) {
  char *at = cuda->arena[SL_SPACE_DEVICE];
  for (int type = SL_NUMBER_F32; type <= SL_NUMBER_F16 && cuda->arena_bytes[SL_SPACE_DEVICE] >= 64; type++) {
    const int code = sl_cuda_convert_add(stream, at, (enum sl_number)type, at + 32, (enum sl_number)type, 1);
    if (code != 0) return sl_cuda_failed("a kernel that adds", (cudaError_t)code);
  }
  const int code = sl_cuda_mark(stream, cuda->marks.over, 0);
  return code == 0 ? SL_OK : sl_cuda_failed("a mark", (cudaError_t)code);
}

static enum sl_status clear(struct sl_cuda *cuda, cudaStream_t stream) {
  const int64_t bytes = cuda->arena_bytes[SL_SPACE_DEVICE], pinned = cuda->arena_bytes[SL_SPACE_HOST];
  if (bytes > 0) SL_CUDA_TRY(cudaMemsetAsync(cuda->arena[SL_SPACE_DEVICE], 0, (size_t)bytes, stream));
  SL_CUDA_TRY(cudaStreamSynchronize(stream));
  if (pinned > 0) memset(cuda->arena[SL_SPACE_HOST], 0, (size_t)pinned);
  return SL_OK;
}

enum sl_status sl_cuda_warm(struct sl_cuda *cuda) {
  const struct sl_program *p = &cuda->rank_class->programs[SL_PROGRAM_STEP];
  const cudaStream_t stream = cuda->lanes[SL_LANE_COMPUTE];
  bool *done;
  SL_CUDA_TRY(cudaDeviceSynchronize()); /* the default stream clears the arena, and lanes do not wait for it */
  SL_TRY(sl_calloc(&done, p->op_count, sizeof *done));
  sl_cuda_gemm_time(cuda->gemm, true);
  enum sl_status status = run_each(cuda, p, done, stream);
  sl_cuda_gemm_time(cuda->gemm, false);
  free(done);
  if (status == SL_OK) status = run_sums(cuda, stream);
  return status == SL_OK ? clear(cuda, stream) : status;
}

/* Runs the communication ops of one rank of a large plan that runs alone. The data that peers would send is copied from
 * blocks of random normal numbers, so that the memory traffic is real and the kernels that follow see numbers of
 * realistic size (zeros run faster than real data). Scalars, such as losses and flags, keep the rank's own value, as if
 * every peer had sent 0. */
#include "backend/cuda/cuda.h"

#include "core/op/operands.h"
#include "core/op/wire.h"
#include "kernels/gpu/cuda.h"

#include <stdlib.h>

enum { NOISE_BYTES = 4 << 20, TYPES = 3 };

/* By type (core/base/dtype.h: fp32, bf16, fp16), and by use: states have a standard deviation of 0.02, activations of
 * 1. */
struct sl_cuda_noise {
  char *blocks[TYPES][2];
};

enum sl_status sl_cuda_noise_open(struct sl_cuda *cuda) {
  const float widths[2] = {0.02F, 1};
  if (!cuda->alone) return SL_OK;
  SL_TRY(sl_calloc(&cuda->noise, 1, sizeof *cuda->noise));
  for (int type = 0; type < TYPES; type++) {
    for (int use = 0; use < 2; use++) {
      const struct sl_philox_key key = {4711, SL_STREAM_DATA, 0, (uint32_t)(2 * type + use)};
      void *at = NULL;
      SL_CUDA_TRY(cudaMalloc(&at, NOISE_BYTES));
      cuda->noise->blocks[type][use] = at;
      const size_t n = NOISE_BYTES / (size_t)sl_dtype_bytes((enum sl_dtype)type);
      const int code = sl_cuda_philox_normal(NULL, (enum sl_number)type, at, &key, 0, n, 0, widths[use]);
      if (code != 0) return sl_cuda_failed("a kernel that makes noise", (cudaError_t)code);
    }
  }
  SL_CUDA_TRY(cudaDeviceSynchronize());
  return SL_OK;
}

void sl_cuda_noise_close(struct sl_cuda *cuda) {
  for (int i = 0; cuda->noise && i < 2 * TYPES; i++)
    if (cuda->noise->blocks[i / 2][i % 2]) sl_cuda_release("cudaFree", cudaFree(cuda->noise->blocks[i / 2][i % 2]));
  free(cuda->noise);
}

static enum sl_status receive(const struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it, char *to,
                              int64_t bytes) {
  const struct sl_op *op = it->op;
  if (op->dtype == SL_U8) { /* packed numbers (kernels/quantize.h), with scale 0 */
    SL_CUDA_TRY(cudaMemsetAsync(to, 0, (size_t)bytes, stream));
    return SL_OK;
  }
  if (op->dtype > SL_F16 || op->payload == SL_PAYLOAD_SCALAR) return SL_OK;
  const char *from = cuda->noise->blocks[op->dtype][op->payload == SL_PAYLOAD_ACTIVATION];
  for (int64_t at = 0; at < bytes; at += NOISE_BYTES) {
    const size_t n = (size_t)(bytes - at < NOISE_BYTES ? bytes - at : NOISE_BYTES);
    SL_CUDA_TRY(cudaMemcpyAsync(to + at, from, n, cudaMemcpyDeviceToDevice, stream));
  }
  return SL_OK;
}

enum sl_status sl_cuda_loop_back(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it,
                                 int64_t *bytes) {
  const struct sl_op *op = it->op;
  const bool pairs = !sl_op_in_place(op->kind), scatters = sl_op_moves(op->kind) == SL_MOVE_REDUCE;
  *bytes = 0;
  for (int part = 0; part < sl_op_parts(op); part++) {
    /* the whole arrives, or, for a reduce-scatter, this rank's piece of the shard */
    const int whole = sl_op_part_at(op, pairs ? SL_AT_WHOLE : SL_AT_X, part);
    const int target = scatters ? sl_op_part_at(op, SL_AT_SHARD, part) : whole;
    char *to = sl_cuda_operand(cuda, it, target);
    int64_t arriving = it->program->slices[op->slice + target].bytes;
    *bytes += it->program->slices[op->slice + whole].bytes;
    if (op->kind == SL_OP_SEND) continue;
    if (scatters) {
      const struct sl_share piece =
          sl_share_piece(op, sl_op_slices(it->program, op), part, cuda->members[op->group].index);
      to += piece.shard_first * sl_dtype_bytes(op->dtype);
      arriving = piece.count * sl_dtype_bytes(op->dtype);
    }
    SL_TRY(receive(cuda, stream, it, to, arriving));
  }
  return SL_OK;
}

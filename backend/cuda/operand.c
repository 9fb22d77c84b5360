/* Where the operands of an op are in memory. */
#include "backend/cuda/cuda.h"

struct sl_call_rank sl_cuda_call_rank(const struct sl_cuda *cuda) {
  return (struct sl_call_rank){.plan = cuda->job->plan,
                               .coord = cuda->coord,
                               .members = cuda->members,
                               .arena = cuda->arena,
                               .scratch = cuda->scratch,
                               .scratch_bytes = (size_t)cuda->workspace.scratch_bytes,
                               .step = cuda->step};
}

enum sl_space sl_cuda_space(const struct sl_issued *it, int i) {
  return it->rank_class->buffers[sl_op_slices(it->program, it->op)[i].buffer].space;
}

void *sl_cuda_operand(const struct sl_cuda *cuda, const struct sl_issued *it, int i) {
  const struct sl_call_rank rank = sl_cuda_call_rank(cuda);
  return sl_call_operand(&rank, it, i);
}

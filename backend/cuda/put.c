/* Enqueues an op on its lane's stream, behind the events that it waits for. The op is launched at once, or captured
 * while a graph is recorded. */
#include "backend/cuda/cuda.h"

#include <nvtx3/nvToolsExt.h>

/* Profilers show the host's time in an NVTX range with the action's name. */
static void name_range(struct sl_cuda *cuda, const struct sl_instance *instance) {
  char action[64];
  if (instance == cuda->named) return;
  if (cuda->named) nvtxRangePop();
  if (instance) {
    sl_action_print(action, sizeof action, &instance->action);
    nvtxRangePushA(action);
  }
  cuda->named = instance;
}

static enum sl_status communicate(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it) {
  int64_t *bytes = &cuda->comm_bytes[cuda->kind][it->index];
  SL_TRY(cuda->alone ? sl_cuda_loop_back(cuda, stream, it, bytes) : sl_cuda_collect(cuda, stream, it, bytes));
  if (sl_program_is_step(cuda->kind))
    cuda->call_hash = sl_hash_call(cuda->call_hash, it->op->group, it->op->kind, *bytes);
  return SL_OK;
}

/* Hands the op to NCCL, a thread of the host, or the GPU. */
static enum sl_status put_op(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it) {
  if (sl_op_is_comm(it->op->kind)) return communicate(cuda, stream, it);
  return sl_cuda_helps(it->op->lane) ? sl_cuda_helpers_put(cuda, stream, it) : sl_cuda_run(cuda, stream, it);
}

enum sl_status sl_cuda_put(struct sl_cuda *cuda, const struct sl_issued *it) {
  const struct sl_cuda_events *plan = &cuda->plans[cuda->kind];
  const cudaStream_t stream = cuda->lanes[it->op->lane];
  const uint32_t i = it->index;
  name_range(cuda, it->instance);
  for (uint32_t w = plan->wait_first[i]; w < plan->wait_first[i + 1]; w++)
    SL_CUDA_TRY(cudaStreamWaitEvent(stream, cuda->events[plan->waits[w]], 0));
  if (cuda->timed) SL_CUDA_TRY(cudaEventRecord(cuda->times[2 * i], stream));
  SL_TRY(put_op(cuda, stream, it));
  if (cuda->timed) SL_CUDA_TRY(cudaEventRecord(cuda->times[2 * i + 1], stream));
  SL_TRY(sl_cuda_marks_put(&cuda->marks, stream, it));
  SL_TRY(sl_cuda_look(cuda, stream, it));
  /* another lane waits for this op, or the watch thread checks it */
  if (plan->event_of[i] != SL_CUDA_NO_EVENT) SL_CUDA_TRY(cudaEventRecord(cuda->events[plan->event_of[i]], stream));
  atomic_store(&cuda->issued, i + 1);
  return SL_OK;
}

void sl_cuda_put_end(struct sl_cuda *cuda) {
  name_range(cuda, NULL);
}

/* The messages of failed CUDA and NCCL calls, and the op that each call was made for. */
#include "backend/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

enum sl_status sl_cuda_failed(const char *call, cudaError_t code) {
  return sl_fail(code == cudaErrorMemoryAllocation ? SL_ERR_MEMORY : SL_ERR_INTERNAL, "CUDA: %.*s: %s",
                 (int)strcspn(call, "("), call, cudaGetErrorString(code));
}

enum sl_status sl_cuda_nccl_failed(const char *call, ncclResult_t code) {
  const char *more = ncclGetLastError(NULL);
  return sl_fail(SL_ERR_PEER, "NCCL: %.*s: %s%s%s", (int)strcspn(call, "("), call, ncclGetErrorString(code),
                 more && *more ? "; " : "", more ? more : "");
}

void sl_cuda_release(const char *call, cudaError_t code) {
  if (code != cudaSuccess && *sl_error_message() == '\0') sl_warn("CUDA: %s: %s", call, cudaGetErrorString(code));
}

void sl_cuda_describe(const struct sl_cuda *cuda, const struct sl_program *program, uint32_t issue, char *out,
                      size_t size) {
  const struct sl_issue *e = &program->issues[issue];
  const struct sl_op *op = &program->ops[e->op];
  char action[64], with[64] = "";
  sl_action_print(action, sizeof action, &program->instances[e->instance].action);
  if (op->group != SL_GROUP_NONE)
    snprintf(with, sizeof with, " of group %s (member %d of %d)", sl_group_name(op->group),
             cuda->members[op->group].index, cuda->members[op->group].size);
  else if (sl_op_class_of(op->kind) == SL_CLASS_P2P)
    snprintf(with, sizeof with, " with stage %d", (int)op->peer);
  snprintf(out, size, "#%u %s%s on lane %s in action %s", issue, sl_op_name(op->kind), with, sl_lane_name(op->lane),
           action);
}

enum sl_status sl_cuda_name_op(const struct sl_cuda *cuda, const struct sl_program *program, uint32_t issue,
                               enum sl_status status) {
  char op[256], reason[1024];
  sl_cuda_describe(cuda, program, issue, op, sizeof op);
  snprintf(reason, sizeof reason, "%s", sl_error_message());
  sl_error_clear();
  return sl_fail(status, "issuing %s: %s", op, reason);
}

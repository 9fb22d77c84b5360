/* Marks that streams write after ops, and the error message built from them when the device is lost; see marks.h. */
#include "backend/cuda/marks.h"

#include "backend/cuda/cuda.h"
#include "backend/cuda/mark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_set(const char *name) {
  const char *text = getenv(name);
  return text && *text && strcmp(text, "0") != 0;
}

static void clear(struct sl_cuda_marks *marks) {
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) marks->over[lane] = 0;
}

enum sl_status sl_cuda_marks_open(struct sl_cuda_marks *marks) {
  void *at = NULL;
  marks->always = is_set("SHARDLAB_MARK_OPS") || is_set("CUDA_LAUNCH_BLOCKING");
  SL_CUDA_TRY(cudaMallocHost(&at, SL_LANE_COUNT * sizeof *marks->over));
  marks->over = at;
  clear(marks);
  return SL_OK;
}

void sl_cuda_marks_close(struct sl_cuda_marks *marks) {
  if (marks->over) sl_cuda_release("cudaFreeHost", cudaFreeHost((void *)(uintptr_t)marks->over));
  marks->over = NULL;
}

void sl_cuda_marks_begin(struct sl_cuda_marks *marks, enum sl_program_kind kind) {
  marks->on = marks->always || !sl_program_is_step(kind) || !marks->stepped;
  if (sl_program_is_step(kind)) marks->stepped = true;
  clear(marks);
}

enum sl_status sl_cuda_marks_put(struct sl_cuda_marks *marks, cudaStream_t stream, const struct sl_issued *it) {
  if (!marks->on && !(marks->communication && sl_op_is_comm(it->op->kind))) return SL_OK;
  const int code = sl_cuda_mark(stream, &marks->over[it->op->lane], it->lane_index + 1);
  return code == 0 ? SL_OK : sl_cuda_failed("a mark", (cudaError_t)code);
}

/* --- which op failed --- */

/* The error that every call returns once the context is lost; cudaSuccess if it is still alive, as after a refused
 * call. */
static cudaError_t lost(const struct sl_cuda *cuda) {
  const cudaError_t code = cudaEventQuery(cuda->base);
  return code == cudaErrorNotReady ? cudaSuccess : code;
}

/* The op was running: it is not complete, is the first such op of its lane, and everything that it waits for is
 * complete. */
static bool ran(const struct sl_cuda *cuda, uint32_t issue) {
  const struct sl_program *p = cuda->program;
  const struct sl_issue *e = &p->issues[issue];
  const volatile uint32_t *over = cuda->marks.over;
  if (over[p->ops[e->op].lane] != e->lane_index) return false;
  for (uint32_t w = 0; w < e->wait_count; w++)
    if (over[p->waits[e->wait + w].lane] < p->waits[e->wait + w].count) return false;
  return true;
}

/* Appends the running ops that do communicate, or those that do not. The latter come first in the message, because a
 * running collective was more likely waiting for others than failing. */
static size_t append_ran(const struct sl_cuda *cuda, bool communicates, char *out, size_t size, size_t length) {
  const struct sl_program *p = cuda->program;
  const uint32_t issued = atomic_load(&cuda->issued);
  for (uint32_t i = 0; i <= issued && i < p->issue_count; i++) {
    char op[256];
    if (sl_op_is_comm(p->ops[p->issues[i].op].kind) != communicates || !ran(cuda, i)) continue;
    sl_cuda_describe(cuda, p, i, op, sizeof op);
    const int more = snprintf(out + length, size - length, "%s%s", length > 0 ? ", or in " : "", op);
    length = more < 0 || (size_t)more >= size - length ? size - 1 : length + (size_t)more;
  }
  return length;
}

bool sl_cuda_marks_blame(const struct sl_cuda *cuda, enum sl_status *status) {
  char found[512], ops[1024] = "";
  const cudaError_t code = lost(cuda);
  if (code == cudaSuccess || !cuda->program || cuda->ended) return false;
  snprintf(found, sizeof found, "%s", sl_error_message());
  sl_error_clear();
  if (!cuda->marks.on) {
    *status = sl_fail(SL_ERR_DEVICE, "CUDA: %s, in an op of step %lld that is not known; it showed as: %s",
                      cudaGetErrorString(code), (long long)cuda->step, found);
    return true;
  }
  if (append_ran(cuda, true, ops, sizeof ops, append_ran(cuda, false, ops, sizeof ops, 0)) == 0)
    snprintf(ops, sizeof ops, "none of the program's ops, which are all over");
  *status = sl_fail(SL_ERR_INTERNAL, "CUDA: %s, in %s; it showed as: %s", cudaGetErrorString(code), ops, found);
  return true;
}

/* The executor table of the CUDA backend. A lane is a stream. issue() enqueues an op on it, behind the events that the
 * op waits for, and returns at once; advance() waits once, for the end of the program, and then reports the completions
 * of all its ops.
 *
 * Steps before options.timed_from are not timed op by op, because two events per op would separate kernels that
 * otherwise run back to back. Their completions carry the time at which the step ended. The time that an event itself
 * takes is measured and excluded from an op's time. */
#include "backend/common/module.h"
#include "backend/common/rank.h"
#include "backend/cuda/cuda.h"
#include "core/base/machine.h"
#include "core/op/wire.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void *state) {
  return sl_machine_clock() - ((struct sl_cuda *)state)->epoch_s;
}

static enum sl_status open_cuda(void **state, const struct sl_job *job, const struct sl_exec_options *options,
                                const int **local_ranks, int *local_count) {
  struct sl_cuda *cuda;
  SL_TRY(sl_cuda_open(&cuda, job, options));
  *state = cuda;
  *local_ranks = &cuda->rank;
  *local_count = 1;
  return SL_OK;
}

/* --- a program begins --- */

/* Memory of the device in use beyond that before the arena was allocated. It is not sampled on a shared device, where
 * the allocations of other ranks would count too. */
static void sample_memory(struct sl_cuda *cuda) {
  const int64_t bytes = sl_cuda_used_bytes(cuda->device) - cuda->base_bytes;
  if (!cuda->shared && bytes > cuda->peak_bytes) cuda->peak_bytes = bytes;
}

static enum sl_status grow_times(struct sl_cuda *cuda, size_t count) {
  if (count <= cuda->time_count) return SL_OK;
  cudaEvent_t *grown = realloc(cuda->times, count * sizeof *grown);
  if (!grown) return sl_fail(SL_ERR_MEMORY, "no memory for %zu events", count);
  cuda->times = grown;
  memset(grown + cuda->time_count, 0, (count - cuda->time_count) * sizeof *grown);
  for (size_t i = cuda->time_count; i < count; i++) {
    cuda->time_count = i + 1;
    SL_CUDA_TRY(cudaEventCreate(&cuda->times[i]));
  }
  return SL_OK;
}

/* The time that an event takes when recorded right behind another: the shortest of several pairs with nothing between
 * them. */
static enum sl_status weigh_events(struct sl_cuda *cuda) {
  const size_t n = cuda->time_count < 64 ? cuda->time_count : 64;
  cuda->event_s = 0;
  for (int round = 0; round < 2; round++)
    for (size_t i = 0; i < n; i++) SL_CUDA_TRY(cudaEventRecord(cuda->times[i], cuda->lanes[SL_LANE_COMPUTE]));
  SL_CUDA_TRY(cudaStreamSynchronize(cuda->lanes[SL_LANE_COMPUTE])); /* once per run, before its first timed step */
  for (size_t i = 0; i + 1 < n; i++) {
    float ms = 0;
    SL_CUDA_TRY(cudaEventElapsedTime(&ms, cuda->times[i], cuda->times[i + 1]));
    if (i == 0 || 1e-3 * (double)ms < cuda->event_s) cuda->event_s = 1e-3 * (double)ms;
  }
  return SL_OK;
}

/* Device times count from the event `base`, which is complete when the host reads its own clock. */
static enum sl_status start_clock(struct sl_cuda *cuda) {
  cuda->timed = sl_program_is_step(cuda->kind) && cuda->step >= cuda->options.timed_from;
  if (!cuda->timed) return SL_OK;
  const bool first = cuda->time_count == 0;
  SL_TRY(grow_times(cuda, 2 * cuda->program->issue_count));
  if (first) SL_TRY(weigh_events(cuda));
  SL_CUDA_TRY(cudaEventRecord(cuda->base, cuda->lanes[SL_LANE_COMPUTE]));
  SL_CUDA_TRY(cudaEventSynchronize(cuda->base)); /* here the two clocks are read at the same moment */
  cuda->base_s = now(cuda);
  return SL_OK;
}

static enum sl_status begin_program(struct sl_cuda *cuda) {
  /* libraries allocate their memory in the first steps; later steps should not wait for the driver's answer */
  if (!sl_program_is_step(cuda->kind) || cuda->step < 2) sample_memory(cuda);
  cuda->program = &cuda->rank_class->programs[cuda->kind];
  cuda->staged = 0;
  cuda->reported = 0;
  cuda->anomaly = (struct sl_anomaly){0};
  cuda->ended = false;
  atomic_store(&cuda->issued, 0);
  if (sl_program_is_step(cuda->kind)) {
    cuda->call_hash = SL_HASH_CALLS;
    if (cuda->options.fail_rank == cuda->rank && cuda->options.fail_step == cuda->step) raise(SIGKILL);
  }
  if (sl_program_counts(cuda->kind)) {
    sl_traffic_reset(&cuda->traffic, cuda->kind);
    if (cuda->nvme) SL_TRY(sl_nvme_checksum(cuda->nvme));
  }
  if (cuda->kind == SL_PROGRAM_SAVE) SL_TRY(sl_tensors_save_open(&cuda->tensors));
  sl_cuda_marks_begin(&cuda->marks, cuda->kind);
  sl_cuda_helpers_begin(cuda);
  SL_TRY(start_clock(cuda));
  sl_cuda_graphs_begin(cuda);
  sl_cuda_watch_program(cuda, true);
  return SL_OK;
}

static enum sl_status begin(void *state, int local, enum sl_program_kind kind, int64_t step) {
  struct sl_cuda *cuda = state;
  (void)local;
  cuda->kind = kind;
  cuda->step = step;
  const enum sl_status status = begin_program(cuda);
  return status == SL_OK ? SL_OK : sl_cuda_die(cuda, status);
}

/* --- ops --- */

/* A failure seen while `it` is issued may be its own or that of an earlier op. */
static enum sl_status failed(struct sl_cuda *cuda, const struct sl_issued *it, enum sl_status status) {
  if (!sl_cuda_marks_blame(cuda, &status)) status = sl_cuda_name_op(cuda, cuda->program, it->index, status);
  return sl_cuda_die(cuda, status);
}

static enum sl_status issue(void *state, int local, const struct sl_issued *it) {
  struct sl_cuda *cuda = state;
  (void)local;
  const enum sl_status status = cuda->graphs.replaying ? sl_cuda_graphs_issue(cuda, it) : sl_cuda_put(cuda, it);
  return status == SL_OK ? SL_OK : failed(cuda, it, status);
}

/* --- a program ends --- */

/* Waits until all lanes are idle. It spins for the first 2 ms, so that a sleep does not lengthen the step's measured
 * time. */
static enum sl_status wait_for_end(struct sl_cuda *cuda) {
  const double start = sl_machine_clock();
  if (cuda->graphs.replaying) return sl_cuda_graphs_wait(cuda);
  for (int lane = 0; lane < SL_LANE_COUNT; lane++)
    if (cuda->plans[cuda->kind].uses[lane]) SL_CUDA_TRY(cudaEventRecord(cuda->ends[lane], cuda->lanes[lane]));
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    while (cuda->plans[cuda->kind].uses[lane]) {
      const cudaError_t code = cudaEventQuery(cuda->ends[lane]);
      if (code == cudaSuccess) break;
      if (code != cudaErrorNotReady) return sl_cuda_failed("a kernel of this program", code);
      if (sl_machine_clock() - start < 2e-3)
        sched_yield();
      else
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
  }
  return SL_OK;
}

static enum sl_status time_of(const struct sl_cuda *cuda, uint32_t i, struct sl_completion *done) {
  float start_ms = 0, end_ms = 0;
  *done = (struct sl_completion){.index = i, .start_s = cuda->end_s, .end_s = cuda->end_s};
  if (!cuda->timed) return SL_OK;
  SL_CUDA_TRY(cudaEventElapsedTime(&start_ms, cuda->base, cuda->times[2 * i]));
  SL_CUDA_TRY(cudaEventElapsedTime(&end_ms, cuda->base, cuda->times[2 * i + 1]));
  done->start_s = cuda->base_s + 1e-3 * (double)start_ms + cuda->event_s;
  done->end_s = cuda->base_s + 1e-3 * (double)end_ms;
  if (done->start_s > done->end_s) done->start_s = done->end_s;
  return SL_OK;
}

/* The bytes of NCCL calls were noted when the calls were made. NCCL does not tell how many it sent over the network, so
 * a ring's share is counted. */
static enum sl_status count(struct sl_cuda *cuda, const struct sl_completion *done) {
  const struct sl_program *p = cuda->program;
  const struct sl_op *op = &p->ops[p->issues[done->index].op];
  if (!sl_program_counts(cuda->kind) || !sl_traffic_counts(op)) return SL_OK;
  if (!sl_op_is_comm(op->kind)) {
    const int64_t bytes = sl_op_copy_bytes(op, sl_op_slices(p, op));
    return sl_traffic_add(&cuda->traffic, op, bytes, bytes, done->end_s - done->start_s);
  }
  const struct sl_members *m = &cuda->members[op->group];
  return sl_traffic_add(&cuda->traffic, op, cuda->comm_bytes[cuda->kind][done->index],
                        sl_op_wire_bytes(op, sl_op_slices(p, op), m->size, m->index), done->end_s - done->start_s);
}

static enum sl_status end_program(struct sl_cuda *cuda) {
  sl_cuda_put_end(cuda);
  SL_TRY(wait_for_end(cuda));
  SL_TRY(sl_cuda_helpers_failed(cuda));
  cuda->end_s = now(cuda);
  cuda->ended = true;
  sl_cuda_watch_program(cuda, false);
  return sl_cuda_graphs_record(cuda);
}

static enum sl_status harvest(struct sl_cuda *cuda, struct sl_completion *out, int max, int *count_out) {
  const uint32_t issued = atomic_load(&cuda->issued);
  if (!cuda->program || cuda->reported == issued) return SL_DONE;
  if (!cuda->ended) SL_TRY(end_program(cuda));
  while (cuda->reported < issued && *count_out < max) {
    SL_TRY(time_of(cuda, cuda->reported, &out[*count_out]));
    SL_TRY(count(cuda, &out[*count_out]));
    cuda->reported++;
    (*count_out)++;
  }
  return SL_OK;
}

static enum sl_status advance(void *state, struct sl_completion *out, int max, int *count_out) {
  *count_out = 0;
  enum sl_status status = harvest(state, out, max, count_out);
  if (status == SL_OK || status == SL_DONE) return status;
  sl_cuda_marks_blame(state, &status);
  return sl_cuda_die(state, status);
}

/* --- queries --- */

static enum sl_status read_back(void *state, int local, int32_t buffer, int64_t offset, int64_t bytes, void *dst) {
  const struct sl_cuda *cuda = state;
  char *at;
  (void)local;
  SL_TRY(sl_rank_bytes(cuda->rank_class, cuda->arena, buffer, offset, bytes, &at));
  if (cuda->rank_class->buffers[buffer].space == SL_SPACE_DEVICE)
    SL_CUDA_TRY(cudaMemcpy(dst, at, (size_t)bytes, cudaMemcpyDefault));
  else
    memcpy(dst, at, (size_t)bytes);
  return SL_OK;
}

static enum sl_status write_over(void *state, int local, int32_t buffer, int64_t offset, int64_t bytes,
                                 const void *src) {
  const struct sl_cuda *cuda = state;
  char *at;
  (void)local;
  SL_TRY(sl_rank_bytes(cuda->rank_class, cuda->arena, buffer, offset, bytes, &at));
  if (cuda->rank_class->buffers[buffer].space != SL_SPACE_DEVICE) {
    memcpy(at, src, (size_t)bytes);
    return SL_OK;
  }
  SL_CUDA_TRY(cudaMemcpy(at, src, (size_t)bytes, cudaMemcpyDefault));
  SL_CUDA_TRY(cudaStreamSynchronize(0)); /* `src` may be staged and its copy in flight, and lanes do not wait for this
                                          * stream */
  return SL_OK;
}

static enum sl_status report(void *state, int local, struct sl_exec_report *out) {
  struct sl_cuda *cuda = state;
  (void)local;
  sample_memory(cuda);
  *out = (struct sl_exec_report){.call_hash = cuda->call_hash,
                                 .context_bytes = cuda->context_bytes,
                                 .process_bytes = cuda->peak_bytes,
                                 .launches = sl_cuda_graphs_say(cuda),
                                 .functional = cuda->shared};
  memcpy(out->arena_bytes, cuda->arena_bytes, sizeof out->arena_bytes);
  return sl_traffic_copy(&cuda->traffic, &out->traffic, &out->traffic_count);
}

static enum sl_status anomaly(const void *state, struct sl_anomaly *out) {
  *out = ((const struct sl_cuda *)state)->anomaly;
  return SL_OK;
}

static enum sl_status exchange(void *state, const void *mine, size_t bytes, void *all) {
  return sl_star_exchange(&((struct sl_cuda *)state)->star, mine, bytes, all);
}

static enum sl_status agree(void *state, enum sl_status mine) {
  return sl_cuda_agree(state, mine);
}

static enum sl_status probe(struct sl_exec_devices *out) {
  struct sl_exec_devices devices = {0};
  SL_TRY(sl_cuda_probe(&devices.count));
  SL_TRY(sl_cuda_describe_device(&devices));
  if (out) *out = devices;
  return SL_OK;
}

static void close_cuda(void *state) {
  sl_cuda_close(state);
}

SL_BACKEND_MODULE(cuda, .probe = probe)

/* Steps as CUDA graphs; see graph.h. */
#include "backend/cuda/graph.h"

#include "backend/cuda/cuda.h"
#include "core/base/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- whether graphs can be used ---- */

static bool needs_helpers(const struct sl_cuda *cuda) {
  const struct sl_program *programs = cuda->rank_class->programs;
  for (int lane = 0; lane < SL_LANE_COUNT; lane++)
    for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++)
      if (sl_program_is_step((enum sl_program_kind)kind) && sl_cuda_helps((enum sl_lane)lane) &&
          programs[kind].lane_ops[lane] > 0)
        return true;
  return false;
}

static const char *reason_against(const struct sl_cuda *cuda) {
  if (!cuda->job->plan->config->sl.cuda_graph) return "shardlab.cuda_graph is false";
  if (cuda->options.detect_anomaly) return "what each op has written is looked at";
  if (cuda->marks.always) return "launches block, or every op is marked";
  if (needs_helpers(cuda)) return "the CPU or NVMe has ops between kernels";
  return NULL;
}

static void refuse(struct sl_cuda_graphs *g, const char *reason) {
  g->possible = false;
  snprintf(g->reason, sizeof g->reason, "%s", reason);
}

enum sl_status sl_cuda_graphs_open(struct sl_cuda *cuda) {
  struct sl_cuda_graphs *g = &cuda->graphs;
  const char *reason = reason_against(cuda);
  void *at = NULL;
  SL_CUDA_TRY(cudaMallocHost(&at, sizeof *g->step));
  g->step = at;
  SL_CUDA_TRY(cudaMalloc(&at, sizeof *g->step_here));
  g->step_here = at;
  g->possible = reason == NULL;
  if (reason) refuse(g, reason);
  return SL_OK;
}

/* Sets *all to whether `mine` is true on every rank. */
static enum sl_status of_all(struct sl_cuda *cuda, bool mine, bool *all) {
  const int32_t own = mine;
  int32_t *each;
  *all = mine;
  if (cuda->place.world <= 1) return SL_OK;
  SL_TRY(sl_calloc(&each, (size_t)cuda->place.world, sizeof *each));
  const enum sl_status status = sl_star_exchange(&cuda->star, &own, sizeof own, each);
  for (int i = 0; i < cuda->place.world; i++) *all &= each[i] != 0;
  free(each);
  return status;
}

enum sl_status sl_cuda_graphs_agree(struct sl_cuda *cuda) {
  bool all;
  SL_TRY(of_all(cuda, cuda->graphs.possible, &all));
  if (cuda->graphs.possible && !all) refuse(&cuda->graphs, "another rank launches so");
  return SL_OK;
}

void sl_cuda_graphs_close(struct sl_cuda *cuda) {
  struct sl_cuda_graphs *g = &cuda->graphs;
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++)
    if (g->steps[kind]) sl_cuda_release("cudaGraphExecDestroy", cudaGraphExecDestroy(g->steps[kind]));
  if (g->step_here) sl_cuda_release("cudaFree", cudaFree(g->step_here));
  if (g->step) sl_cuda_release("cudaFreeHost", cudaFreeHost(g->step));
}

/* ---- recording ---- */

static enum sl_status put_all(struct sl_cuda *cuda) {
  const struct sl_program *p = cuda->program;
  for (uint32_t i = 0; i < p->issue_count; i++) {
    const struct sl_issue *e = &p->issues[i];
    const struct sl_issued it = {.rank_class = cuda->rank_class,
                                 .program = p,
                                 .op = &p->ops[e->op],
                                 .instance = &p->instances[e->instance],
                                 .lane_index = e->lane_index,
                                 .index = i};
    const enum sl_status status = sl_cuda_put(cuda, &it);
    if (status != SL_OK) return sl_cuda_name_op(cuda, p, i, status);
  }
  return SL_OK;
}

/* The recording starts and ends on the compute lane: the other lanes fork from it, and a program's last op, JOIN, makes
 * it wait for all of them. */
static enum sl_status fill(struct sl_cuda *cuda) {
  const bool *uses = cuda->plans[cuda->kind].uses;
  const cudaStream_t first = cuda->lanes[SL_LANE_COMPUTE];
  SL_CUDA_TRY(
      cudaMemcpyAsync(cuda->graphs.step_here, cuda->graphs.step, sizeof *cuda->graphs.step, cudaMemcpyDefault, first));
  SL_CUDA_TRY(
      cudaEventRecord(cuda->ends[SL_LANE_COMPUTE], first)); /* capture of another lane begins when it waits for this
                                                             * event */
  for (int lane = 0; lane < SL_LANE_COUNT; lane++)
    if (uses[lane] && lane != SL_LANE_COMPUTE)
      SL_CUDA_TRY(cudaStreamWaitEvent(cuda->lanes[lane], cuda->ends[SL_LANE_COMPUTE], 0));
  return put_all(cuda);
}

/* Captures calls of this thread only, because NCCL's threads and the watch thread may call CUDA meanwhile. */
static enum sl_status capture(struct sl_cuda *cuda, cudaGraph_t *graph) {
  const cudaStream_t first = cuda->lanes[SL_LANE_COMPUTE];
  SL_CUDA_TRY(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
  const enum sl_status status = fill(cuda);
  const cudaError_t code = cudaStreamEndCapture(first, graph); /* also after a failure: no lane must stay in capture
                                                                * mode */
  SL_TRY(status);
  return code == cudaSuccess ? SL_OK : sl_cuda_failed("cudaStreamEndCapture", code);
}

static enum sl_status make_graph(struct sl_cuda *cuda, cudaGraphExec_t *out) {
  cudaGraph_t graph = NULL;
  SL_TRY(capture(cuda, &graph));
  const cudaError_t code = cudaGraphInstantiate(out, graph, 0);
  sl_cuda_release("cudaGraphDestroy", cudaGraphDestroy(graph));
  if (code != cudaSuccess) return sl_cuda_failed("cudaGraphInstantiate", code);
  SL_CUDA_TRY(cudaGraphUpload(*out, cuda->lanes[SL_LANE_COMPUTE])); /* otherwise the first launch would take longer */
  return SL_OK;
}

/* Records the program that has just ended and keeps its call hash. */
static enum sl_status record_step(struct sl_cuda *cuda) {
  struct sl_cuda_graphs *g = &cuda->graphs;
  g->recording = true;
  cuda->marks.on = false;
  cuda->marks.communication = cuda->place.world > 1;
  cuda->staged = 0;
  g->call_hash[cuda->kind] = cuda->call_hash;
  const enum sl_status status = make_graph(cuda, &g->steps[cuda->kind]);
  cuda->call_hash = g->call_hash[cuda->kind];
  cuda->marks.communication = false;
  g->recording = false;
  return status;
}

static void give_up(struct sl_cuda *cuda, bool mine) {
  struct sl_cuda_graphs *g = &cuda->graphs;
  char reason[200];
  snprintf(reason, sizeof reason, "a step cannot be recorded%s%s", mine ? " on another rank" : ": ",
           mine ? "" : sl_error_message());
  refuse(g, reason);
  sl_error_clear();
  if (!mine) sl_warn("%s; steps are launched op by op", reason);
  /* clears CUDA's last error: a refused capture must not fail a later call */
  if (cudaGetLastError() != cudaSuccess) sl_error_clear();
  if (g->steps[cuda->kind]) sl_cuda_release("cudaGraphExecDestroy", cudaGraphExecDestroy(g->steps[cuda->kind]));
  g->steps[cuda->kind] = NULL;
}

static bool is_due(const struct sl_cuda *cuda) {
  const struct sl_cuda_graphs *g = &cuda->graphs;
  return g->possible && sl_program_is_step(cuda->kind) && !cuda->timed && !g->tried[cuda->kind] &&
         cuda->step + 1 < cuda->options.timed_from;
}

enum sl_status sl_cuda_graphs_record(struct sl_cuda *cuda) {
  bool all;
  if (!is_due(cuda)) return SL_OK;
  cuda->graphs.tried[cuda->kind] = true;
  sl_cuda_watch_phase(cuda, "another rank's recording of a step");
  const bool mine = record_step(cuda) == SL_OK;
  SL_TRY(of_all(cuda, mine, &all));
  if (!all) give_up(cuda, mine);
  sl_cuda_watch_phase(cuda, NULL);
  return SL_OK;
}

/* ---- launching ---- */

void sl_cuda_graphs_begin(struct sl_cuda *cuda) {
  struct sl_cuda_graphs *g = &cuda->graphs;
  g->replaying = sl_program_is_step(cuda->kind) && g->steps[cuda->kind] && !cuda->timed;
  if (!g->replaying) return;
  *g->step = cuda->step; /* no program runs, so this may be overwritten */
  cuda->call_hash = g->call_hash[cuda->kind];
  g->used = true;
}

enum sl_status sl_cuda_graphs_issue(struct sl_cuda *cuda, const struct sl_issued *it) {
  struct sl_cuda_graphs *g = &cuda->graphs;
  if (it->op->kind == SL_OP_LOAD_BATCH) SL_TRY(sl_cuda_load_batch(cuda, cuda->lanes[it->op->lane], it));
  if (it->index + 1 < it->program->issue_count) return SL_OK;
  g->launched_s = sl_machine_clock();
  SL_CUDA_TRY(cudaGraphLaunch(g->steps[cuda->kind], cuda->lanes[SL_LANE_COMPUTE]));
  atomic_store(&cuda->issued, it->index + 1);
  return SL_OK;
}

/* The host sleeps for nine tenths of the shortest step so far, and then waits as precisely as the driver can. */
static void nap(const struct sl_cuda_graphs *g) {
  const double seconds = 0.9 * g->least_s - (sl_machine_clock() - g->launched_s);
  if (g->least_s < 4e-3 || seconds <= 0) return;
  const time_t whole = (time_t)seconds;
  nanosleep(&(struct timespec){whole, (long)(1e9 * (seconds - (double)whole))}, NULL);
}

enum sl_status sl_cuda_graphs_wait(struct sl_cuda *cuda) {
  struct sl_cuda_graphs *g = &cuda->graphs;
  nap(g);
  const cudaError_t code = cudaStreamSynchronize(cuda->lanes[SL_LANE_COMPUTE]); /* its end is the end of the step */
  if (code != cudaSuccess) return sl_cuda_failed("a kernel of this program", code);
  const double took = sl_machine_clock() - g->launched_s;
  if (g->least_s == 0 || took < g->least_s) g->least_s = took;
  return SL_OK;
}

const char *sl_cuda_graphs_say(struct sl_cuda *cuda) {
  struct sl_cuda_graphs *g = &cuda->graphs;
  if (g->used)
    snprintf(g->said, sizeof g->said, "one CUDA graph a step, but for the first and for those timed op by op");
  else
    snprintf(g->said, sizeof g->said, "op by op: %s",
             g->possible ? "of so few steps none comes after the recorded one" : g->reason);
  return g->said;
}

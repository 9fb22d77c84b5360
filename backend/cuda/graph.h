/* Runs a step as one CUDA graph. Hundreds of launches per step keep the host busy, and the device idles while it waits
 * for the next launch. The program never changes, so it is captured once after its first step and from then on launched
 * by one call.
 *
 *   capture    The compute lane's stream begins, the other lanes' streams join it by an event, and it waits for them at
 *              the end as in any program. Nothing executes meanwhile. NCCL calls are captured like any others.
 *   launch     The host writes the inputs of the step into the pinned memory that the graph copies from: its
 *              micro-batches and its number, which is part of dropout's key. All other values that change from step to
 *              step are in the step state on the device. Then follow one launch, one wait, and the read-back of the
 *              step state.
 *
 * Ops are launched one by one, with the reason in the run record, where something has to happen between them: marks and
 * CUDA_LAUNCH_BLOCKING (marks.h), --detect-anomaly, ops of the CPU or of NVMe (helpers.h), or times of every op
 * (options.timed_from); also where shardlab.cuda_graph forbids graphs. All ranks of a job do the same.
 *
 * While a graph runs, no event shows its progress. In a job of several ranks the graph therefore has a mark after each
 * communication op, by which the watch thread sees how far the rank is. */
#pragma once

#include "core/program/program.h"
#include "core/run/executor.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

struct sl_cuda;

struct sl_cuda_graphs {
  cudaGraphExec_t steps[SL_PROGRAM_COUNT]; /* NULL: not recorded */
  bool tried[SL_PROGRAM_COUNT];
  uint64_t call_hash[SL_PROGRAM_COUNT];
  bool possible, used;
  bool recording, replaying;  /* now */
  int64_t *step, *step_here;  /* the step's number: pinned, and on the device; owned */
  double launched_s, least_s; /* least_s: the shortest step so far */
  char reason[256];           /* why it is not possible */
  char said[320];
};

/* Decides whether graphs are possible on this rank, and allocates. Errors: SL_ERR_MEMORY, errors of the device. */
enum sl_status sl_cuda_graphs_open(struct sl_cuda *cuda);
/* Collective: graphs are used if they are possible on all ranks. Errors: SL_ERR_PEER. */
enum sl_status sl_cuda_graphs_agree(struct sl_cuda *cuda);
void sl_cuda_graphs_close(struct sl_cuda *cuda); /* accepts a half-built one */

/* A program begins; sets `replaying` if it is to run as a graph. */
void sl_cuda_graphs_begin(struct sl_cuda *cuda);
/* Issues an op of a program that runs as a graph: a micro-batch is staged; the last op launches the graph. */
enum sl_status sl_cuda_graphs_issue(struct sl_cuda *cuda, const struct sl_issued *it);
/* Waits until the graph is complete. */
enum sl_status sl_cuda_graphs_wait(struct sl_cuda *cuda);
/* Collective, after a program's end: captures the program if its next step is to run as a graph. If that fails there is
 * a warning, and steps go on op by op. Errors: SL_ERR_PEER. */
enum sl_status sl_cuda_graphs_record(struct sl_cuda *cuda);
/* What the run record says about graphs. */
const char *sl_cuda_graphs_say(struct sl_cuda *cuda);

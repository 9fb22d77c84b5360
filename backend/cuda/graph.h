/* A step as one CUDA graph. Hundreds of launches a step keep the host busy, and a device that waits for the next one idles;
 * the program never changes, so after its first step it is recorded once and from then on launched by one call.
 *
 *   recorded   the lanes are captured: the compute lane begins, the others join it behind an event, and it waits for them at
 *              the end as in any program. Nothing runs meanwhile. NCCL's calls are captured like any other.
 *   launched   the host writes what a step brings along into the pinned memory that the graph copies from: its micro-batches
 *              and its number, which keys dropout. All else that changes from step to step stands in the step state on the
 *              device. Then one launch, one wait, and the read-back of the step state.
 *
 * Ops are launched one by one, as the record says with the reason, where something has to happen between them: marks and
 * CUDA_LAUNCH_BLOCKING (marks.h), a look at what each op has written, an op of the CPU or of NVMe (helpers.h), times of every
 * op (options.timed_from), and by shardlab.cuda_graph. The ranks of a job all do the same.
 *
 * While a graph runs, no event tells how far it is. Of a job of several ranks each communication op of the graph has a mark
 * behind it, by which the watch thread sees where the rank stands. */
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

/* What this rank alone knows. Errors: SL_ERR_MEMORY, the device's. */
enum sl_status sl_cuda_graphs_open(struct sl_cuda *cuda);
/* Collective: possible where it is for all. Errors: SL_ERR_PEER. */
enum sl_status sl_cuda_graphs_agree(struct sl_cuda *cuda);
void sl_cuda_graphs_close(struct sl_cuda *cuda); /* accepts a half-built one */

/* A program begins; afterwards `replaying` tells whether it is a graph's. */
void sl_cuda_graphs_begin(struct sl_cuda *cuda);
/* An op of a program that is a graph's: a micro-batch is staged, and behind the last op the graph is launched. */
enum sl_status sl_cuda_graphs_issue(struct sl_cuda *cuda, const struct sl_issued *it);
/* Wait for its end. */
enum sl_status sl_cuda_graphs_wait(struct sl_cuda *cuda);
/* Collective, behind a program's end: record it where its next step will be a graph's. What cannot be recorded is warned of,
 * and its steps go on op by op. Errors: SL_ERR_PEER. */
enum sl_status sl_cuda_graphs_record(struct sl_cuda *cuda);
/* For the record. */
const char *sl_cuda_graphs_say(struct sl_cuda *cuda);

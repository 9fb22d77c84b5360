/* Which op of a program failed on the device. A kernel that reads where it may not ends the whole context, the call that
 * hears of it is any later one, and from then on every event answers with the same error. So while marks are on, each
 * stream writes behind each op how many ops of its lane are over, into memory of the host that stays readable: what was
 * not over, though nothing kept it waiting, is what failed.
 *
 * A mark costs a launch between two kernels, so marks are on where nothing is timed: in the first step, in which nearly
 * all such errors show, and in the programs before and after the steps. SHARDLAB_MARK_OPS=1, as CUDA_LAUNCH_BLOCKING=1,
 * turns them on throughout; `shardlab measure` runs again with it by itself when an op could not be named. */
#pragma once

#include "core/program/program.h"
#include "core/run/executor.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

struct sl_cuda;

struct sl_cuda_marks {
  volatile uint32_t *over; /* (SL_LANE_COUNT): ops of the lane that are over; pinned, owned */
  bool always, on;         /* on: in the program that runs */
  bool communication;      /* behind communication ops also where marks are off: of a graph (graph.h) */
  bool stepped;            /* a step has begun before */
};

enum sl_status sl_cuda_marks_open(struct sl_cuda_marks *marks);
void sl_cuda_marks_close(struct sl_cuda_marks *marks); /* accepts a zeroed one */
/* A program of this kind begins; nothing runs on the device. */
void sl_cuda_marks_begin(struct sl_cuda_marks *marks, enum sl_program_kind kind);
/* Behind the op on its stream, before an event that others wait for. Nothing where marks are off. */
enum sl_status sl_cuda_marks_put(struct sl_cuda_marks *marks, cudaStream_t stream, const struct sl_issued *it);

/* The recorded message is of a failure in the program that runs. Was it an earlier op's, which the device told only now?
 * Then the message becomes one that names that op, and *status SL_ERR_DEVICE where marks are off and it cannot be named.
 * False: it was the call's own, and nothing is changed. From any thread. */
bool sl_cuda_marks_blame(const struct sl_cuda *cuda, enum sl_status *status);

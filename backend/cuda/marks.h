/* Finds which op of a program failed on the device. A kernel with an illegal access destroys the whole context; some
 * later call reports the error, and from then on every event does. While marks are on, each stream therefore writes,
 * after each op, how many ops of its lane are complete, into host memory that stays readable. The op that is not
 * complete although all that it waited for is complete is the one that failed.
 *
 * A mark costs a launch between two kernels, so marks are on only where nothing is timed: in the first step, in which
 * nearly all such errors occur, and in the programs before and after the steps. SHARDLAB_MARK_OPS=1 or
 * CUDA_LAUNCH_BLOCKING=1 turns them on throughout; `shardlab measure` repeats a run with it when the failed op could
 * not be named. */
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
/* Enqueues a mark after the op on its stream; call it before recording the op's event. Does nothing where marks are
 * off. */
enum sl_status sl_cuda_marks_put(struct sl_cuda_marks *marks, cudaStream_t stream, const struct sl_issued *it);

/* Call with the recorded message of a failure in the running program. If an earlier op caused it and the device
 * reported it only now, returns true and replaces the message by one that names that op; where marks are off it cannot
 * be named, and *status becomes SL_ERR_DEVICE. If the failing call itself caused it, returns false and changes nothing.
 * May be called from any thread. */
bool sl_cuda_marks_blame(const struct sl_cuda *cuda, enum sl_status *status);

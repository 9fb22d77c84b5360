/* Graphs of the stand-in: what a capture adds to a graph instead of its streams, and when a runtime refuses. Internal
 * to tests/stand_ins.
 *
 * There is one capture at a time, by the thread that began it. Its pieces of work are kept with their predecessors: the
 * previous piece on their stream, and those of events waited for. A launch is one piece of work of its stream, which
 * executes copies of all of them in a random order that this allows; for the priorities of streams see queue.h. */
#pragma once

#include "tests/stand_ins/queue.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

/* A set of pieces of a graph, by number. */
struct stand_in_set {
  size_t *at; /* owned */
  size_t count;
};
void stand_in_set_free(struct stand_in_set *set);

bool stand_in_is_capturing(cudaStream_t stream);
/* Whether this thread captures: 0 if not, otherwise which of its captures it is. */
int stand_in_open_capture(void);
/* Invalidates the capture because of a call that no capture allows; returns `code`. */
cudaError_t stand_in_spoil(cudaError_t code);
#define STAND_IN_ENTER_UNCAPTURED()                                                                                    \
  do {                                                                                                                 \
    STAND_IN_ENTER();                                                                                                  \
    if (stand_in_open_capture() != 0) return stand_in_spoil(cudaErrorStreamCaptureUnsupported);                        \
  } while (0)

/* Adds a piece to the graph of a stream that is captured; the graph owns the context. */
cudaError_t stand_in_capture(cudaStream_t stream, const struct stand_in_work *work, void *context);
/* The pieces that an event on such a stream stands for; and a stream that waits for them, which joins the capture. */
struct stand_in_set stand_in_captured(cudaStream_t stream);
void stand_in_join_capture(cudaStream_t stream, const struct stand_in_set *after);

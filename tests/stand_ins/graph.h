/* Graphs of the stand-in: what a capture puts into one instead of on its streams, and when a runtime refuses. Internal to
 * stand_in_*.c.
 *
 * One capture at a time, by the thread that began it. Its pieces of work are kept with what they come after: the piece
 * before on their stream and those that an event stood for. A launch is one piece of work of its stream, which does copies
 * of all of them in a random order that this allows; of a stream's priorities, see queue.h. */
#pragma once

#include "tests/stand_ins/queue.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

/* Pieces of a graph, by number. */
struct stand_in_set {
  size_t *at; /* owned */
  size_t count;
};
void stand_in_set_free(struct stand_in_set *set);

bool stand_in_is_capturing(cudaStream_t stream);
/* Does this thread capture? 0: no, else which of its captures. */
int stand_in_open_capture(void);
/* The capture is spoilt by a call that no capture allows; returns `code`. */
cudaError_t stand_in_spoil(cudaError_t code);
#define STAND_IN_ENTER_UNCAPTURED()                                                                                    \
  do {                                                                                                                 \
    STAND_IN_ENTER();                                                                                                  \
    if (stand_in_open_capture() != 0) return stand_in_spoil(cudaErrorStreamCaptureUnsupported);                        \
  } while (0)

/* Of a stream that is captured: one more piece; the context is the graph's. */
cudaError_t stand_in_capture(cudaStream_t stream, const struct stand_in_work *work, void *context);
/* What an event on such a stream stands for, and a stream that waits for that, which makes it one of the capture's. */
struct stand_in_set stand_in_captured(cudaStream_t stream);
void stand_in_join_capture(cudaStream_t stream, const struct stand_in_set *after);

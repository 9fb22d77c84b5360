/* Communicators of the pipeline: one of two ranks for each ordered pair of stages and direction.
 *
 * NCCL runs the calls of one communicator one after another in the order of their issue, whatever their streams. On a
 * communicator that several lanes shared, a send would hold up the receive that its peer waits for. On a pair's own, the
 * sender only sends and the receiver only receives, in the order of their lanes, which is all that `check` has proved.
 *
 * A round is one ncclCommSplit of the world, in which a rank can be in one pair only; rounds and pairs come in the same
 * order on every rank. A pure function of the job. */
#pragma once

#include "core/program/program.h"

struct sl_cuda_link {
  int from, to;  /* pipeline ranks */
  bool backward; /* lanes send_b and recv_b, else send_f and recv_f */
  int round;
};

struct sl_cuda_links {
  struct sl_cuda_link *items; /* owned */
  size_t count, capacity;
  int rounds;
};

/* Errors: SL_ERR_MEMORY; SL_ERR_INTERNAL for a send to oneself. */
enum sl_status sl_cuda_links_plan(struct sl_cuda_links *out, const struct sl_job *job);
void sl_cuda_links_free(struct sl_cuda_links *links); /* accepts a zeroed one */
/* Which link a SEND or RECV op of pipeline rank `stage` uses; -1: none was planned. */
int sl_cuda_links_of(const struct sl_cuda_links *links, int stage, const struct sl_op *op);

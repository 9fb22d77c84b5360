/* Plans the NCCL communicators of the pipeline: one of two ranks for each ordered pair of stages and each direction.
 *
 * NCCL runs the calls of one communicator in the order of their issue, whatever their streams. On a communicator shared
 * by several lanes, a send could therefore block the receive that its peer waits for. On a communicator per pair, the
 * sender only sends and the receiver only receives, in the order of their lanes, which is the order that core/check has
 * proved safe.
 *
 * A round is one ncclCommSplit of the world, in which a rank can belong to one pair only. All ranks go through rounds
 * and pairs in the same order. The plan is a pure function of the job. */
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
/* The index of the link that a SEND or RECV op of pipeline rank `stage` uses; -1 if none was planned. */
int sl_cuda_links_of(const struct sl_cuda_links *links, int stage, const struct sl_op *op);

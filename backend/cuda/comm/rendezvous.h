/* A rendezvous of the job's ranks over TCP, independent of NCCL and CUDA: rank 0 listens, and the others stay connected
 * to it. Ranks exchange small blocks (first NCCL's unique id, later what the record gathers), agree on success, and
 * notice within milliseconds when a peer dies, because its connection ends.
 *
 * Exchanges are collective and must come in the same order on every rank. A lock separates them from sl_star_watch,
 * which another thread may call at any time. */
#pragma once

#include "core/base/status.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct sl_star {
  int rank, world;
  int *sockets; /* rank 0: world of them, its own -1; others: one; owned */
  double timeout_s;
  pthread_mutex_t lock;
  int open; /* the lock exists */
};

/* Connects all ranks at `host`:`port`; a world of 1 needs neither. Rank 0 listens at that address or, where ranks are
 * `spread` over several nodes, at every address of its node. Errors: SL_ERR_PEER if a rank is missing when time runs
 * out, if the port belongs to another job, if two processes have the same rank, or if world sizes differ. */
enum sl_status sl_star_open(struct sl_star *star, int rank, int world, bool spread, const char *host, int port,
                            double timeout_s);
/* All-gather of `bytes` bytes per rank into `all`, in rank order. Errors: SL_ERR_PEER naming the rank that died or is
 * late. */
enum sl_status sl_star_exchange(struct sl_star *star, const void *mine, size_t bytes, void *all);
/* SL_OK when all ranks pass SL_OK, else the lowest failing rank's status and message on all of them; *culprit (may be
 * NULL) is that rank. */
enum sl_status sl_star_agree(struct sl_star *star, enum sl_status mine, int *culprit);
/* Checks without blocking that all peers are alive. SL_ERR_PEER names the rank that is gone and, if it gave one, its
 * reason. While an exchange is in progress it checks nothing, since the exchange itself reports a failure. */
enum sl_status sl_star_watch(struct sl_star *star);
/* Tells all ranks why this rank ends: their sl_star_watch and exchanges fail with `text`. */
void sl_star_abort(struct sl_star *star, const char *text);
void sl_star_close(struct sl_star *star); /* accepts a zeroed one */

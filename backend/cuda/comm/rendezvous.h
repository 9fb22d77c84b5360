/* The ranks of a job among themselves, over TCP, apart from NCCL: rank 0 listens, the others stay connected to it. They
 * exchange small blocks (NCCL's id first of all, then what the record gathers), agree on success, and learn within
 * milliseconds that a peer is gone: its connection ends. No CUDA.
 *
 * Exchanges are collective and come in the same order on every rank; a lock keeps them apart from sl_star_watch, which
 * another thread may call at any time. */
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

/* Meet at `host`:`port`. World 1 needs neither. Rank 0 listens at that address, or, of ranks `spread` over
 * several nodes, at every one of its node. Errors: SL_ERR_PEER: nobody there within the time, another job's port,
 * two processes of one rank, another world. */
enum sl_status sl_star_open(struct sl_star *star, int rank, int world, bool spread, const char *host, int port,
                            double timeout_s);
/* Each passes `bytes`; `all` receives them in rank order. Errors: SL_ERR_PEER naming the rank that is gone or late. */
enum sl_status sl_star_exchange(struct sl_star *star, const void *mine, size_t bytes, void *all);
/* SL_OK when all ranks pass SL_OK, else the lowest failing rank's status and message on all of them; *culprit (may be
 * NULL) is that rank. */
enum sl_status sl_star_agree(struct sl_star *star, enum sl_status mine, int *culprit);
/* Is everybody there? SL_ERR_PEER with who is gone and, if it said so, why. Does not block; an exchange under way answers
 * for itself. */
enum sl_status sl_star_watch(struct sl_star *star);
/* Tell everybody why this rank ends: sl_star_watch and exchanges fail there with `text`. */
void sl_star_abort(struct sl_star *star, const char *text);
void sl_star_close(struct sl_star *star); /* accepts a zeroed one */

/* See parallel.h. */
#include "core/base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct sl_parallel {
  enum sl_status (*work)(void *context, int i);
  void *context;
  atomic_int next;
  pthread_mutex_t lock; /* protects what follows */
  int failed;           /* the lowest number that failed so far; initially the count */
  enum sl_status status;
  char message[2048];
  pthread_t *others;
  int started; /* of them, that are not joined */
};

static void note_failure(struct sl_parallel *p, int i, enum sl_status status) {
  pthread_mutex_lock(&p->lock);
  if (i < p->failed) {
    p->failed = i;
    p->status = status;
    snprintf(p->message, sizeof p->message, "%s", sl_error_message());
  }
  pthread_mutex_unlock(&p->lock);
  sl_error_clear();
}

static bool is_behind_failure(struct sl_parallel *p, int i) {
  pthread_mutex_lock(&p->lock);
  const bool behind = i >= p->failed;
  pthread_mutex_unlock(&p->lock);
  return behind;
}

/* Numbers are handed out in order: after a failure there is nothing left to do. */
static void *take_pieces(void *pieces) {
  struct sl_parallel *p = pieces;
  for (;;) {
    const int i = atomic_fetch_add(&p->next, 1);
    if (is_behind_failure(p, i)) return NULL;
    const enum sl_status status = p->work(p->context, i);
    if (status != SL_OK) note_failure(p, i, status);
  }
}

enum sl_status sl_parallel_begin(struct sl_parallel **out, int count, int threads,
                                 enum sl_status (*work)(void *context, int i), void *context) {
  enum sl_status status;
  struct sl_parallel *p;
  SL_TRY(sl_calloc(&p, 1, sizeof *p));
  p->work = work, p->context = context, p->failed = count;
  pthread_mutex_init(&p->lock, NULL);
  if (threads > count) threads = count;
  if (threads > 1) SL_GO_FAIL(sl_calloc(&p->others, (size_t)threads, sizeof *p->others));
  while (p->started < threads - 1 && pthread_create(&p->others[p->started], NULL, take_pieces, p) == 0) p->started++;
  *out = p;
  return SL_OK;
fail:
  sl_parallel_free(p);
  return status;
}

enum sl_status sl_parallel_join(struct sl_parallel *p) {
  if (p == NULL) return SL_OK;
  take_pieces(p);
  while (p->started > 0) pthread_join(p->others[--p->started], NULL);
  return p->status == SL_OK ? SL_OK : sl_error_relay(p->status, p->message);
}

void sl_parallel_free(struct sl_parallel *p) {
  if (p == NULL) return;
  pthread_mutex_lock(&p->lock);
  p->failed = -1; /* no other piece is started */
  pthread_mutex_unlock(&p->lock);
  while (p->started > 0) pthread_join(p->others[--p->started], NULL);
  pthread_mutex_destroy(&p->lock);
  free(p->others);
  free(p);
}

enum sl_status sl_parallel(int count, int threads, enum sl_status (*work)(void *context, int i), void *context) {
  struct sl_parallel *p;
  SL_TRY(sl_parallel_begin(&p, count, threads, work, context));
  const enum sl_status status = sl_parallel_join(p);
  sl_parallel_free(p);
  return status;
}

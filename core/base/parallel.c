/* See parallel.h. */
#include "core/base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct pieces {
  enum sl_status (*work)(void *context, int i);
  void *context;
  atomic_int next;
  pthread_mutex_t lock; /* protects what follows */
  int failed;           /* the lowest number that failed so far; initially the count */
  enum sl_status status;
  char message[2048];
};

static void note_failure(struct pieces *p, int i, enum sl_status status) {
  pthread_mutex_lock(&p->lock);
  if (i < p->failed) {
    p->failed = i;
    p->status = status;
    snprintf(p->message, sizeof p->message, "%s", sl_error_message());
  }
  pthread_mutex_unlock(&p->lock);
  sl_error_clear();
}

static bool is_behind_failure(struct pieces *p, int i) {
  pthread_mutex_lock(&p->lock);
  const bool behind = i >= p->failed;
  pthread_mutex_unlock(&p->lock);
  return behind;
}

/* Numbers are handed out in order: after a failure there is nothing left to do. */
static void *take_pieces(void *pieces) {
  struct pieces *p = pieces;
  for (;;) {
    const int i = atomic_fetch_add(&p->next, 1);
    if (is_behind_failure(p, i)) return NULL;
    const enum sl_status status = p->work(p->context, i);
    if (status != SL_OK) note_failure(p, i, status);
  }
}

enum sl_status sl_parallel(int count, int threads, enum sl_status (*work)(void *context, int i), void *context) {
  struct pieces p = {.work = work, .context = context, .lock = PTHREAD_MUTEX_INITIALIZER, .failed = count};
  pthread_t *others = NULL;
  int started = 0;
  if (threads > count) threads = count;
  if (threads > 1) SL_TRY(sl_calloc(&others, (size_t)threads, sizeof *others));
  while (started < threads - 1 && pthread_create(&others[started], NULL, take_pieces, &p) == 0) started++;
  take_pieces(&p);
  for (int i = 0; i < started; i++) pthread_join(others[i], NULL);
  free(others);
  return p.status == SL_OK ? SL_OK : sl_error_relay(p.status, p.message);
}
